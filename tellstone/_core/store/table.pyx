"""The table (see table.pxd for the idea and the promises)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memmove, memset

from tellstone._core.base.atomics cimport store_ptr
from tellstone._core.base.bytesops cimport View
from tellstone._core.base.debug cimport check
from tellstone._core.base.fnv cimport fnv1a
from tellstone._core.base.platform cimport map_memory, mul_fold, unmap_memory
from tellstone._core.base.siphash cimport siphash13
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.memory.arena cimport Arena, arena_ptr
from tellstone._core.store.entry cimport entry_has_key, entry_key
from tellstone._core.store.grace cimport Grace, grace_retire

check_layout(__name__)

cdef extern from "tellstone/_core/store/table_peek.h" nogil:
    enum: PROBE_WIDTH "TS_PROBE_WIDTH"
    const uint64_t* probe "ts_probe"(const uint64_t* at, uint32_t tag) noexcept

cdef enum:
    MAPPED_FROM = 65536             # arrays of this many bytes come straight from the system
    SLACK_MAX = 512

cdef uint64_t ALL_TAGS = (<uint64_t>1) << 32


# Arrays ---------------------------------------------------------------------------------------------------------


cdef inline uint64_t array_bytes(uint64_t size, uint64_t slack) noexcept nogil:
    return sizeof(SlotArray) + (size + slack + PROBE_WIDTH) * sizeof(uint64_t)


cdef SlotArray* array_new(uint64_t size) noexcept nogil:
    cdef uint64_t slack = size if size < SLACK_MAX else SLACK_MAX
    cdef uint64_t bytes = array_bytes(size, slack)
    cdef SlotArray* s
    if bytes >= MAPPED_FROM:
        s = <SlotArray*>map_memory(bytes)
    else:
        s = <SlotArray*>calloc(1, bytes)
    if s != NULL:
        s.size = size
        s.slack = slack
    return s


cdef void array_free(void* p, uint64_t bytes) noexcept nogil:
    if bytes >= MAPPED_FROM:
        unmap_memory(p, bytes)
    else:
        free(p)


cdef inline uint64_t home_of(const SlotArray* s, uint32_t tag) noexcept nogil:
    return <uint64_t>tag * s.size >> 32


cdef inline int64_t array_insert(SlotArray* s, uint64_t start, uint32_t tag, uint32_t handle) noexcept nogil:
    """Put a slot in its place, shifting the rest of its cluster. Answers the distance from home, -1 when the array is full."""
    cdef uint64_t i = <uint64_t>(probe(&s.slot[start], tag) - &s.slot[0]), j
    cdef uint64_t end = s.size + s.slack
    while s.slot[i] and slot_tag(s.slot[i]) == tag:
        i += 1
    j = i
    while s.slot[j]:
        j += 1
    if j >= end:
        return -1
    if j > i:
        memmove(&s.slot[i + 1], &s.slot[i], (j - i) * sizeof(uint64_t))
    s.slot[i] = <uint64_t>tag << 32 | handle
    return <int64_t>(i - home_of(s, tag))


# Tags -----------------------------------------------------------------------------------------------------------


cdef inline uint32_t tag_of(const Table* t, TagKind kind, View key, uint64_t hash) noexcept nogil:
    if kind == TAG_MIXED:
        return mixed_tag(t, hash)
    return <uint32_t>siphash13(t.secret, key.ptr, key.len)


# Life -----------------------------------------------------------------------------------------------------------


cdef bint table_init(Table* t, Grace* grace, const uint64_t* secret) noexcept nogil:
    memset(t, 0, sizeof(Table))
    t.now = array_new(TABLE_MIN)
    t.boundary = ALL_TAGS
    t.kind = TAG_MIXED
    t.old_kind = TAG_MIXED
    t.secret[0] = secret[0]
    t.secret[1] = secret[1] | 1
    t.grace = grace
    return t.now != NULL


cdef void table_destroy(Table* t) noexcept nogil:
    if t.now != NULL:
        array_free(t.now, array_bytes(t.now.size, t.now.slack))
    if t.old != NULL:
        array_free(t.old, array_bytes(t.old.size, t.old.slack))
    t.now = NULL
    t.old = NULL
    t.count = 0


cdef uint64_t table_bytes(const Table* t) noexcept nogil:
    cdef uint64_t bytes = array_bytes(t.now.size, t.now.slack)
    if t.old != NULL:
        bytes += array_bytes(t.old.size, t.old.slack)
    return bytes


# Looking up -----------------------------------------------------------------------------------------------------


cdef inline bint array_find(SlotArray* s, uint64_t start, Arena* a, uint32_t tag, View key, Found* found) noexcept nogil:
    cdef uint64_t* at = <uint64_t*>probe(&s.slot[start], tag)
    cdef char* e
    while at[0] and slot_tag(at[0]) == tag:
        e = arena_ptr(a, slot_handle(at[0]))
        if entry_has_key(e, key.ptr, key.len):
            found.slot = at
            found.entry = e
            found.handle = slot_handle(at[0])
            return True
        at += 1
    return False


cdef inline uint64_t old_start(const Table* t, uint32_t tag) noexcept nogil:
    cdef uint64_t home = home_of(t.old, tag)
    return home if home > t.old_pos else t.old_pos


cdef void table_find(Table* t, Arena* a, View key, uint64_t hash, Found* found) noexcept nogil:
    cdef uint32_t tag = tag_of(t, t.kind, key, hash)
    found.slot = NULL
    found.entry = NULL
    found.handle = 0
    found.tag = tag
    if tag < t.boundary:
        if array_find(t.now, home_of(t.now, tag), a, tag, key, found) or t.old == NULL or t.kind == t.old_kind:
            return
        tag = mixed_tag(t, hash)
    array_find(t.old, old_start(t, tag), a, tag, key, found)


cdef uint64_t* table_slot_of(Table* t, Arena* a, uint32_t handle, View key, uint64_t hash) noexcept nogil:
    cdef Found found
    table_find(t, a, key, hash, &found)
    return found.slot if found.handle == handle else NULL


# Changing size --------------------------------------------------------------------------------------------------


cdef void drop_old(Table* t) noexcept nogil:
    cdef SlotArray* old = t.old
    t.boundary = ALL_TAGS
    t.old_pos = 0
    t.old_kind = t.kind
    store_ptr(<void**>&t.old, NULL)
    grace_retire(t.grace, old, array_bytes(old.size, old.slack), array_free)


cdef bint begin(Table* t, uint64_t size, TagKind kind) noexcept nogil:
    """Start moving to an array of another size, or to another kind of tag."""
    cdef SlotArray* fresh
    if size < TABLE_MIN:
        size = TABLE_MIN
    fresh = array_new(size)
    if fresh == NULL:
        return False
    t.old_pos = 0
    t.old_kind = t.kind
    t.kind = kind
    store_ptr(<void**>&t.old, t.now)
    t.boundary = 0 if kind == t.old_kind else ALL_TAGS
    store_ptr(<void**>&t.now, fresh)
    return True


cdef bint pour(Table* t, Arena* a, SlotArray* into, SlotArray* s, uint64_t start, bint rehash) noexcept nogil:
    """All slots of an array into another, in order. False when they do not fit."""
    cdef uint64_t i
    cdef uint32_t tag
    cdef View key
    for i in range(start, s.size + s.slack):
        if s.slot[i] == 0:
            continue
        tag = slot_tag(s.slot[i])
        if rehash:
            key = entry_key(arena_ptr(a, slot_handle(s.slot[i])))
            tag = tag_of(t, t.kind, key, fnv1a(key.ptr, key.len))
        if array_insert(into, home_of(into, tag), tag, slot_handle(s.slot[i])) < 0:
            return False
    return True


cdef bint rebuild(Table* t, Arena* a) noexcept nogil:
    """The way out when a cluster has run into the end of its array: everything into a larger one, at once. Chance does
    not lead here; it must still be right."""
    cdef uint64_t size = t.now.size * 2
    cdef SlotArray* fresh
    cdef SlotArray* was
    while True:
        fresh = array_new(size)
        if fresh == NULL:
            return False
        if pour(t, a, fresh, t.now, 0, False) and (
                t.old == NULL or pour(t, a, fresh, t.old, t.old_pos, t.kind != t.old_kind)):
            break
        array_free(fresh, array_bytes(fresh.size, fresh.slack))
        size *= 2
    was = t.now
    store_ptr(<void**>&t.now, fresh)
    if t.old != NULL:
        drop_old(t)
    grace_retire(t.grace, was, array_bytes(was.size, was.slack), array_free)
    return True


cdef inline bint move_slot(Table* t, Arena* a, uint64_t v) noexcept nogil:
    cdef uint32_t tag = slot_tag(v)
    cdef View key
    if t.kind != t.old_kind:
        key = entry_key(arena_ptr(a, slot_handle(v)))
        tag = tag_of(t, t.kind, key, fnv1a(key.ptr, key.len))
    return array_insert(t.now, home_of(t.now, tag), tag, slot_handle(v)) >= 0


cdef bint table_work(Table* t, Arena* a, uint32_t slots) noexcept nogil:
    """Move some slots in order. INVARIANT: slots of one tag move together, so that `boundary` splits between tags."""
    cdef uint64_t end, v, pos
    cdef uint32_t looked = 0
    if t.old == NULL:
        return False
    end = t.old.size + t.old.slack
    pos = t.old_pos
    while pos < end:
        v = t.old.slot[pos]
        if v:
            if slots == 0 and (t.kind != t.old_kind or slot_tag(v) >= t.boundary):
                break
            if not move_slot(t, a, v):
                t.old_pos = pos
                rebuild(t, a)
                return t.old != NULL
            slots -= 1 if slots else 0
            if t.kind == t.old_kind:
                t.boundary = <uint64_t>slot_tag(v) + 1
        else:
            looked += 1
            if looked > 64 + slots * 8:
                break
        pos += 1
    t.old_pos = pos
    if pos < end:
        return True
    drop_old(t)
    return False


cdef void table_settle(Table* t, Arena* a) noexcept nogil:
    while table_work(t, a, 4096):
        pass


cdef bint table_insert(Table* t, Arena* a, uint32_t tag, uint32_t handle) noexcept nogil:
    """Grow when seven eighths are full; go keyed when a key lands far from home. Neither is fatal when memory is out."""
    cdef int64_t distance
    if t.old != NULL:
        table_work(t, a, TABLE_STEP)
    elif (t.count + 1) * 8 > t.now.size * 7 and begin(t, t.now.size + (t.now.size >> 1), t.kind):
        table_work(t, a, TABLE_STEP)
    if tag < t.boundary:
        distance = array_insert(t.now, home_of(t.now, tag), tag, handle)
    else:
        distance = array_insert(t.old, old_start(t, tag), tag, handle)
    if distance < 0:
        if not rebuild(t, a):
            return False
        distance = array_insert(t.now, home_of(t.now, tag), tag, handle)
        check(distance >= 0)
    t.count += 1
    if distance > TABLE_SUSPECT and t.kind == TAG_MIXED and t.old == NULL:
        begin(t, t.now.size, TAG_KEYED)
    return True


cdef void table_delete(Table* t, Arena* a, uint64_t* slot) noexcept nogil:
    """Empty a slot and shift its cluster back by one, up to the first slot that is at home."""
    cdef SlotArray* s = t.now
    cdef uint64_t i, j
    if not (&s.slot[0] <= slot <= &s.slot[s.size + s.slack]):
        s = t.old
    i = <uint64_t>(slot - &s.slot[0])
    j = i + 1
    while s.slot[j] and home_of(s, slot_tag(s.slot[j])) < j:
        j += 1
    if j - i > 1:
        memmove(&s.slot[i], &s.slot[i + 1], (j - i - 1) * sizeof(uint64_t))
    s.slot[j - 1] = 0
    t.count -= 1
    if t.old != NULL:
        table_work(t, a, TABLE_STEP)
    elif t.now.size > TABLE_MIN and t.count * 8 < t.now.size:
        begin(t, t.count * 2, t.kind)


# Scanning -------------------------------------------------------------------------------------------------------


cdef uint64_t scan_array(SlotArray* s, uint64_t start, Arena* a, uint64_t from_tag, uint64_t below, uint64_t* most,
                         TableVisit visit, void* owner) noexcept nogil:
    """Visit tags in [from_tag, below). Answers the tag to go on from; `below` when the array has no more of them."""
    cdef uint64_t i = start
    cdef uint64_t end = s.size + s.slack
    cdef uint64_t last_home = home_of(s, <uint32_t>(below - 1))
    cdef uint64_t v, last = ALL_TAGS
    while i < end:
        v = s.slot[i]
        if v == 0 and i > last_home:        # while the size changes, nothing but a long gap follows
            return below
        if v and slot_tag(v) >= from_tag:
            if slot_tag(v) >= below:
                return below
            if most[0] == 0 and slot_tag(v) != last:
                return slot_tag(v)
            visit(owner, slot_handle(v), arena_ptr(a, slot_handle(v)))
            last = slot_tag(v)
            if most[0]:
                most[0] -= 1
        i += 1
    return below


cdef uint64_t table_scan(Table* t, Arena* a, uint64_t from_tag, uint64_t most, TableVisit visit, void* owner) noexcept nogil:
    cdef uint64_t at = from_tag
    if t.old != NULL and t.kind != t.old_kind:
        if table_work(t, a, 4096):      # two orders at once: nothing can be visited until one is left
            return from_tag
    if at < t.boundary:
        at = scan_array(t.now, home_of(t.now, <uint32_t>at), a, at, t.boundary, &most, visit, owner)
        if at < t.boundary or t.old == NULL:
            return at
    return scan_array(t.old, old_start(t, <uint32_t>at), a, at, ALL_TAGS, &most, visit, owner)


cdef inline uint64_t filled_span(const Table* t) noexcept nogil:
    """How many slots of `now` may hold something. While the size changes the rest is one long gap, too long to walk."""
    if t.old == NULL or t.kind != t.old_kind:
        return t.now.size + t.now.slack
    if t.boundary == 0:
        return 0
    return home_of(t.now, <uint32_t>(t.boundary - 1)) + t.now.slack


cdef uint32_t table_sample(Table* t, uint64_t random, uint32_t most, uint64_t* slots) noexcept nogil:
    """A slot behind a gap is met more often than others, a little."""
    cdef uint64_t now_span = filled_span(t)
    cdef uint64_t old_span = t.old.size + t.old.slack - t.old_pos if t.old != NULL else 0
    cdef uint64_t i, at, v
    cdef uint32_t found = 0
    if t.count == 0:
        return 0
    at = random % (now_span + old_span)
    for i in range(now_span + old_span):
        v = t.now.slot[at] if at < now_span else t.old.slot[t.old_pos + at - now_span]
        if v:
            slots[found] = v
            found += 1
            if found == most:
                break
        at += 1
        if at == now_span + old_span:
            at = 0
    return found


cdef uint64_t* first_in(SlotArray* s, uint64_t start, uint64_t from_tag, uint64_t below) noexcept nogil:
    """The first slot from a place on whose tag is in [from_tag, below)."""
    cdef uint64_t i = start
    cdef uint64_t end = s.size + s.slack
    cdef uint64_t last_home = home_of(s, <uint32_t>(below - 1))
    cdef uint64_t v
    while i < end:
        v = s.slot[i]
        if v == 0:
            if i > last_home:
                return NULL
        elif slot_tag(v) >= from_tag:
            return &s.slot[i] if slot_tag(v) < below else NULL
        i += 1
    return NULL


cdef uint64_t* table_first(Table* t, uint64_t from_tag) noexcept nogil:
    cdef uint64_t* slot = NULL
    if from_tag < t.boundary:
        slot = first_in(t.now, home_of(t.now, <uint32_t>from_tag), from_tag, t.boundary)
    if slot == NULL and t.old != NULL and from_tag < ALL_TAGS:
        slot = first_in(t.old, old_start(t, <uint32_t>from_tag), from_tag, ALL_TAGS)
    return slot


cdef uint64_t* table_first_of(Table* t, uint32_t tag) noexcept nogil:
    cdef SlotArray* s = t.now if tag < t.boundary else t.old
    cdef uint64_t* slot = <uint64_t*>probe(&s.slot[home_of(t.now, tag) if tag < t.boundary else old_start(t, tag)], tag)
    return slot if slot[0] and slot_tag(slot[0]) == tag else NULL
