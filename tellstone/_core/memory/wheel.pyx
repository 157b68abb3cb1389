"""The timing wheel (see wheel.pxd)."""
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from tellstone._core.base.bytesops cimport get_u32, get_u64, put_u32, put_u64
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.memory.arena cimport arena_ptr

check_layout(__name__)


cdef void wheel_init(Wheel* w, int64_t tick_ms, uint32_t slots) noexcept nogil:
    memset(w, 0, sizeof(Wheel))
    w.tick_ms = tick_ms if tick_ms > 0 else 1000
    w.slots = slots


cdef void wheel_destroy(Wheel* w) noexcept nogil:
    free(w.heads)
    w.heads = NULL
    w.count = 0
    w.sum = 0
    w.sum_high = 0


cdef bint wheel_ready(Wheel* w, int64_t now_ms) noexcept nogil:
    if w.heads == NULL:
        w.heads = <uint32_t*>calloc(WHEEL_LEVELS * w.slots, sizeof(uint32_t))
        if w.heads == NULL:
            return False
        w.tick = now_ms // w.tick_ms
    return True


cdef inline uint32_t bucket_of(const Wheel* w, int64_t deadline) noexcept nogil:
    """Where a deadline is filed now. A node fires in the first tick that begins after its deadline."""
    cdef int64_t due = deadline // w.tick_ms + 1
    cdef int64_t unit = 1
    cdef uint32_t level = 0
    cdef int64_t span = w.slots
    if due < w.tick:
        due = w.tick
    while due - w.tick >= span and level < WHEEL_LEVELS - 1:
        unit *= w.slots
        span *= w.slots
        level += 1
    if due - w.tick >= span:            # beyond the horizon: the last bucket of the coarsest level, to be filed again
        due = w.tick + span - unit
    return level * w.slots + <uint32_t>((due // unit) % w.slots)


cdef inline void bucket_push(Wheel* w, Arena* a, uint32_t bucket, uint32_t handle) noexcept nogil:
    cdef char* node = arena_ptr(a, handle) + WHEEL_NODE_AT
    cdef uint32_t head = w.heads[bucket]
    put_u32(node, head)
    put_u32(node + 4, bucket + 1)
    if head:
        put_u32(arena_ptr(a, head) + WHEEL_NODE_AT + 4, handle)
    w.heads[bucket] = handle


cdef inline int64_t node_deadline(Arena* a, uint32_t handle) noexcept nogil:
    return <int64_t>get_u64(arena_ptr(a, handle) + WHEEL_NODE_AT + 8)


cdef inline void node_unlink(Wheel* w, Arena* a, uint32_t handle) noexcept nogil:
    cdef char* node = arena_ptr(a, handle) + WHEEL_NODE_AT
    cdef uint32_t next = get_u32(node), prev = get_u32(node + 4)
    if next:
        put_u32(arena_ptr(a, next) + WHEEL_NODE_AT + 4, prev)
    if prev <= WHEEL_LEVELS * w.slots:
        w.heads[prev - 1] = next
    else:
        put_u32(arena_ptr(a, prev) + WHEEL_NODE_AT, next)


cdef inline void count_in(Wheel* w, int64_t deadline) noexcept nogil:
    w.count += 1
    w.sum += <uint64_t>deadline
    w.sum_high += w.sum < <uint64_t>deadline


cdef inline void count_out(Wheel* w, int64_t deadline) noexcept nogil:
    w.count -= 1
    w.sum_high -= w.sum < <uint64_t>deadline
    w.sum -= <uint64_t>deadline


cdef void wheel_add(Wheel* w, Arena* a, uint32_t handle, int64_t deadline) noexcept nogil:
    put_u64(arena_ptr(a, handle) + WHEEL_NODE_AT + 8, <uint64_t>deadline)
    bucket_push(w, a, bucket_of(w, deadline), handle)
    count_in(w, deadline)


cdef void wheel_cancel(Wheel* w, Arena* a, uint32_t handle) noexcept nogil:
    node_unlink(w, a, handle)
    count_out(w, node_deadline(a, handle))


cdef void wheel_moved(Wheel* w, Arena* a, uint32_t was, uint32_t now) noexcept nogil:
    """The object's bytes are at the new handle already; its neighbours still name the old one."""
    cdef char* node = arena_ptr(a, now) + WHEEL_NODE_AT
    cdef uint32_t next = get_u32(node), prev = get_u32(node + 4)
    if next:
        put_u32(arena_ptr(a, next) + WHEEL_NODE_AT + 4, now)
    if prev <= WHEEL_LEVELS * w.slots:
        w.heads[prev - 1] = now
    else:
        put_u32(arena_ptr(a, prev) + WHEEL_NODE_AT, now)


cdef inline bint bucket_empties(Wheel* w, Arena* a, uint32_t bucket, int64_t now_ms, uint32_t* budget, WheelExpire expire,
                                void* owner) noexcept nogil:
    """Work off one bucket: what is due expires, the rest is filed again. False when the budget ran out first."""
    cdef uint32_t handle
    cdef int64_t deadline
    while w.heads[bucket]:
        if budget[0] == 0:
            return False
        budget[0] -= 1
        handle = w.heads[bucket]
        deadline = node_deadline(a, handle)
        node_unlink(w, a, handle)
        if deadline < now_ms:
            count_out(w, deadline)
            expire(owner, handle)
        else:
            bucket_push(w, a, bucket_of(w, deadline), handle)
    return True


cdef bint wheel_advance(Wheel* w, Arena* a, int64_t now_ms, uint32_t budget, WheelExpire expire, void* owner) noexcept nogil:
    """Tick by tick: first the coarse buckets whose turn begins, coarsest first, then the finest level's bucket.

    A tick counts as worked off only when all of its buckets are empty, so a stop in the middle loses nothing.
    """
    cdef int64_t now_tick = now_ms // w.tick_ms
    cdef int64_t unit
    cdef uint32_t level
    if w.heads == NULL:
        return False
    while w.tick <= now_tick:
        if w.count == 0:
            w.tick = now_tick + 1
            return False
        if budget == 0:
            return True
        budget -= 1
        level = WHEEL_LEVELS - 1
        while level > 0:
            unit = power(w.slots, level)
            if w.tick % unit == 0 and not bucket_empties(
                    w, a, level * w.slots + <uint32_t>((w.tick // unit) % w.slots), now_ms, &budget, expire, owner):
                return True
            level -= 1
        if not bucket_empties(w, a, <uint32_t>(w.tick % w.slots), now_ms, &budget, expire, owner):
            return True
        w.tick += 1
    return False


cdef inline int64_t power(int64_t base, uint32_t exponent) noexcept nogil:
    cdef int64_t result = 1
    while exponent:
        result *= base
        exponent -= 1
    return result


# Looking for nodes ----------------------------------------------------------------------------------------------


cdef uint32_t wheel_first(const Wheel* w, uint32_t* bucket) noexcept nogil:
    cdef uint32_t buckets = WHEEL_LEVELS * w.slots
    cdef uint32_t at = bucket[0] % buckets
    while w.heads[at] == 0:
        at = (at + 1) % buckets
    bucket[0] = at
    return w.heads[at]


cdef uint32_t wheel_next(const Arena* a, uint32_t handle) noexcept nogil:
    return get_u32(arena_ptr(a, handle) + WHEEL_NODE_AT)


cdef inline uint32_t first_of_level(const Wheel* w, uint32_t level) noexcept nogil:
    """The head of the bucket of a level whose turn comes first; 0: the level is empty. The bucket of the present turn of a coarse level
    has been worked off when the turn began: what it holds now is a whole turn of the level away, and comes last."""
    cdef int64_t unit = power(w.slots, level)
    cdef uint32_t begin = <uint32_t>((w.tick // unit) % w.slots) + (1 if w.tick % unit else 0)
    cdef uint32_t i, head
    for i in range(w.slots):
        head = w.heads[level * w.slots + (begin + i) % w.slots]
        if head:
            return head
    return 0


cdef uint32_t wheel_nearest(const Wheel* w, const Arena* a, uint32_t most) noexcept nogil:
    cdef uint32_t level, left, handle, best = 0
    cdef int64_t deadline, nearest = 0
    for level in range(<uint32_t>WHEEL_LEVELS):
        handle = first_of_level(w, level)
        left = most
        while handle and left:
            deadline = <int64_t>get_u64(arena_ptr(a, handle) + WHEEL_NODE_AT + 8)
            if best == 0 or deadline < nearest:
                best = handle
                nearest = deadline
            handle = wheel_next(a, handle)
            left -= 1
    return best
