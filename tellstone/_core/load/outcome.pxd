"""What a load has met with: requests and replies by sort, latencies, and the first of what went wrong."""
from libc.stdint cimport uint32_t, uint64_t

from tellstone._core.base.bytesops cimport View
from tellstone._core.load.histogram cimport Durations

cdef enum:
    ERROR_KEPT = 256                # bytes of the first error
    WRONG_KEPT = 64                 # and of the first wrong value

cdef struct Outcome:                # all zero is empty; of one thread, others may read the numbers meanwhile
    uint64_t sent                   # requests
    uint64_t answered
    uint64_t hits                   # reads that found a value
    uint64_t misses
    uint64_t errors
    uint64_t wrong                  # values that are not what their key must hold
    uint64_t unanswered             # requests whose connection was lost, or whose reply was not awaited
    uint64_t closed                 # connections that the server has closed
    uint64_t garbled                # connections on which something else than replies came
    uint64_t bytes_out
    uint64_t bytes_in
    Durations reads
    Durations writes
    uint64_t wrong_key              # of the first one
    uint32_t wrong_len
    uint32_t error_len
    char wrong_value[WRONG_KEPT]
    char error[ERROR_KEPT]

cdef void outcome_error(Outcome* o, View text) noexcept nogil
cdef void outcome_wrong(Outcome* o, uint64_t key, View value) noexcept nogil
cdef void outcome_merge(Outcome* into, const Outcome* more) noexcept nogil

cdef class Tally:
    cdef Outcome outcome
