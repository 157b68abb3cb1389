"""What an access does to an entry's 24 bits, under each policy's tracking (store.policy).

A read writes only what it changes: the time when the second has, a counter that is not at its end yet. So a hot key's line is not
dirtied by every reader. Where time is tracked, which is what no policy asks for, the bits are compared with the clock as before and nothing
is looked up; bits of another tracking that happen to equal the clock cost that key one access.

LOCK: the entry's shard is locked.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.base.atomics cimport relaxed_u32
from tellstone._core.base.random cimport random_next
from tellstone._core.store.entry cimport ENTRY_ACCESS_MASK, access_clock, entry_access, entry_set_access
from tellstone._core.store.policy cimport TRACK_LFU, TRACK_S3FIFO, TRACK_TIME, EvictionRules
from tellstone._core.store.s3fifo cimport S3_COUNT_MAX, s3_begin, s3_count, s3_touched
from tellstone._core.store.shard cimport Found, Partition, Shard, Shared, shared_lately

cdef enum:
    LFU_NEW = 5                     # a new key's counter: it gets some time to be asked for
    LFU_MAX = 255

cdef inline uint32_t shared_tracking(const Shared* shared) noexcept nogil:
    return relaxed_u32(&shared.rules.tracking)

# LFU ------------------------------------------------------------------------------------------------------------

cdef inline uint32_t lfu_minutes(const Shared* shared) noexcept nogil:
    return <uint32_t>(shared_lately(shared) // 60000) & 0xFFFF

cdef inline uint32_t lfu_bits(uint32_t minutes, uint32_t counter) noexcept nogil:
    return minutes << 8 | counter

cdef inline uint32_t lfu_counter(const EvictionRules* rules, uint32_t access, uint32_t minutes) noexcept nogil:
    """What is left of a counter. The minutes come round one early, as in Redis."""
    cdef uint32_t then = access >> 8
    cdef uint32_t passed = minutes - then if minutes >= then else 65535 - then + minutes
    cdef uint32_t each = relaxed_u32(&rules.lfu_decay_time)
    cdef uint32_t lost = passed // each if each else 0
    return (access & LFU_MAX) - lost if (access & LFU_MAX) > lost else 0

cdef inline uint32_t lfu_grown(const EvictionRules* rules, uint32_t counter, uint64_t* random) noexcept nogil:
    """A step up, by chance: certain up to the counter of a new key, ever less likely above."""
    cdef uint64_t steps = counter - LFU_NEW if counter > LFU_NEW else 0
    cdef uint64_t one_in = steps * relaxed_u32(&rules.lfu_log_factor) + 1
    if counter == LFU_MAX or (one_in > 1 and random_next(random) % one_in):
        return counter
    return counter + 1

# Any ------------------------------------------------------------------------------------------------------------

cdef inline void access_note(Shard* s, char* e, uint32_t clock) noexcept nogil:
    cdef uint32_t was = entry_access(e)
    cdef uint32_t tracking = shared_tracking(s.shared)
    cdef uint32_t now = clock
    cdef uint32_t minutes
    if tracking == TRACK_S3FIFO:
        now = s3_touched(was)
    elif tracking == TRACK_LFU:
        minutes = lfu_minutes(s.shared)
        now = lfu_bits(minutes, lfu_grown(&s.shared.rules, lfu_counter(&s.shared.rules, was, minutes), &s.random))
    if now != was:
        entry_set_access(e, now)

cdef inline void access_touch(Shard* s, char* e, uint32_t clock) noexcept nogil:
    """A key that is there has been asked for, or written again. clock: access_clock of now."""
    if entry_access(e) != clock:
        access_note(s, e, clock)

cdef inline void access_begin(Partition* p, const Found* found, uint32_t clock) noexcept nogil:
    """A key is new. To be called once shard_write has made it."""
    cdef uint32_t tracking = shared_tracking(p.shard.shared)
    cdef uint32_t now = clock
    if tracking == TRACK_S3FIFO:
        now = s3_begin(&p.s3fifo, found.tag, p.table.count)
    elif tracking == TRACK_LFU:
        now = lfu_bits(lfu_minutes(p.shard.shared), LFU_NEW)
    entry_set_access(found.entry, now)

cdef inline void access_inherit(Shard* s, char* e, uint32_t access) noexcept nogil:
    """An entry takes over what was kept of the accesses to another. Its place in a queue is its own."""
    if shared_tracking(s.shared) == TRACK_S3FIFO:
        access = entry_access(e) & ~(<uint32_t>S3_COUNT_MAX) | s3_count(access)
    entry_set_access(e, access)

cdef inline void access_restore(Shard* s, char* e, int64_t now, int64_t idle, int64_t frequency) noexcept nogil:
    """So many seconds without an access, or so frequently asked for; -1: not given. What is not tracked is not kept. Redis's clock comes round one
    second early here, and in OBJECT IDLETIME."""
    cdef uint32_t tracking = shared_tracking(s.shared)
    cdef int64_t then
    if tracking == TRACK_LFU and frequency >= 0:
        entry_set_access(e, lfu_bits(lfu_minutes(s.shared), <uint32_t>frequency & LFU_MAX))
    elif tracking == TRACK_S3FIFO and frequency >= 0:
        access_inherit(s, e, <uint32_t>(frequency if frequency < S3_COUNT_MAX else S3_COUNT_MAX))
    elif tracking == TRACK_TIME and idle >= 0:
        then = <int64_t>access_clock(now) - idle
        entry_set_access(e, <uint32_t>((then if then >= 0 else then + ENTRY_ACCESS_MASK) & ENTRY_ACCESS_MASK))

cdef inline uint32_t access_idle(uint32_t access, int64_t now) noexcept nogil:
    """Seconds without an access, where time is tracked. One in what seems to be the future was one before the clock came round."""
    cdef int64_t seconds = <int64_t>access_clock(now) - access
    return <uint32_t>(seconds if seconds >= 0 else seconds + ENTRY_ACCESS_MASK)

cdef inline uint32_t access_frequency(const Shard* s, uint32_t access) noexcept nogil:
    """Where frequency is tracked: 0 to 255 by LFU, 0 to 3 by S3-FIFO."""
    if shared_tracking(s.shared) == TRACK_S3FIFO:
        return s3_count(access)
    return lfu_counter(&s.shared.rules, access, lfu_minutes(s.shared))
