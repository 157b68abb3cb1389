"""What a thread counts of its connections: one writer, readers anywhere.

LOCK: every field is relaxed, written by the thread that serves the connections alone.
"""
from libc.stdint cimport int64_t, uint64_t

from tellstone._core.base.atomics cimport relaxed_u64, store_u64

cdef enum:
    PEAK_MS = 5000                      # a peak is of the last 5 to 10 s

cdef struct Peak:                       # the largest value of late
    uint64_t now                        # of the window that began at `since`
    uint64_t before                     # of the one before
    uint64_t since                      # monotonic ms

cdef struct Traffic:
    uint64_t adopted
    uint64_t ended
    uint64_t over_output_limit
    uint64_t over_input_limit
    uint64_t timed_out
    uint64_t input_bytes
    uint64_t output_bytes
    Peak held_input
    Peak held_output

cdef inline void count(uint64_t* counter, uint64_t n) noexcept nogil:
    """Without a locked instruction: nobody else writes."""
    store_u64(counter, counter[0] + n)

cdef inline void peak_note(Peak* p, uint64_t value, int64_t mono_ms) noexcept nogil:
    cdef uint64_t age = <uint64_t>mono_ms - p.since
    if age >= PEAK_MS:
        store_u64(&p.before, p.now if age < 2 * PEAK_MS else 0)
        store_u64(&p.now, 0)
        store_u64(&p.since, <uint64_t>mono_ms)
    if value > p.now:
        store_u64(&p.now, value)

cdef inline uint64_t peak_value(const Peak* p, int64_t mono_ms) noexcept nogil:
    cdef uint64_t age = <uint64_t>mono_ms - relaxed_u64(&p.since)
    cdef uint64_t now = relaxed_u64(&p.now)
    cdef uint64_t before = relaxed_u64(&p.before)
    if age >= 2 * PEAK_MS:
        return 0
    return before if age < PEAK_MS and before > now else now
