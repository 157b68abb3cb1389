"""What the calls of all workers of a server leave behind, as Python reads it: counts, the slow log, the latency monitor.

A Records watches the counters of workers, and has counters of its own for the calls that Python has answered: those are counted and
gated where they came in, and only their time and their failures are added here.
LOCK: records_watch before the workers run, records_release after they have ended; `add_call` and the rest are called by one thread at a
time.
"""
from libc.stdint cimport uint32_t

from tellstone._core.command.record cimport Counters, SlowLog

cdef enum:
    WATCHED_MAX = 256

cdef class Records:
    cdef SlowLog slow
    cdef Counters own
    cdef Counters* watched[WATCHED_MAX]
    cdef uint32_t count

# LIFETIME: the counters use the slow log until records_release.
cdef int records_watch(Records r, Counters* c) except -1
cdef void records_release(Records r) noexcept
