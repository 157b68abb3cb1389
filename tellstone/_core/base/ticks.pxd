"""The processor's own clock, and log-linear buckets of durations (`ticks.h`)."""
from libc.stdint cimport uint32_t, uint64_t

cdef extern from "ticks.h" nogil:
    enum: TICK_BUCKETS "TS_TICK_BUCKETS"
    uint64_t ticks_now "ts_ticks"() noexcept
    uint32_t tick_bucket "ts_tick_bucket"(uint64_t ticks) noexcept

cdef inline uint64_t bucket_floor(uint32_t bucket) noexcept nogil:
    """The least duration of a bucket."""
    if bucket < 4:
        return bucket
    return (<uint64_t>4 + (bucket & 3)) << ((bucket >> 2) - 1)
