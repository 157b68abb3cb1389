"""The processor's own clock, and log-linear buckets of durations (`ticks.h`)."""
from libc.stdint cimport uint32_t, uint64_t

cdef extern from "ticks.h" nogil:
    enum: TICK_BUCKETS "TS_TICK_BUCKETS"
    uint64_t ticks_now "ts_ticks"() noexcept
    uint32_t tick_bucket "ts_tick_bucket"(uint64_t ticks) noexcept
    uint32_t log_bucket "ts_log_bucket"(uint64_t duration, uint32_t bits) noexcept      # 2^bits buckets an octave

cdef inline uint64_t log_bucket_floor(uint32_t bucket, uint32_t bits) noexcept nogil:
    """The least duration of a bucket of log_bucket."""
    cdef uint32_t octave = bucket >> bits
    cdef uint64_t in_octave = bucket & ((1U << bits) - 1)
    return in_octave if octave == 0 else ((1ULL << bits) + in_octave) << (octave - 1)

cdef inline uint64_t bucket_floor(uint32_t bucket) noexcept nogil:
    """The least duration of a bucket of tick_bucket."""
    return log_bucket_floor(bucket, 2)
