"""What calls leave behind, as Python reads it: counts, the slow log, the latency monitor.

A Records watches the counters of those who run commands, the workers of a server or the callers of an engine, and has counters of its
own. There the calls that Python has answered add their time and their failures (they are counted and gated where they came in), and
whoever ceases to run commands leaves his counts.

LOCK: the lock is of what is watched and of the counters of its own. Nobody who holds it runs Python code, which might end a caller. It comes
before that of the slow log. A fork waits for both, so that a child's calls find them free.
"""
from libc.stdint cimport uint32_t

from tellstone._core.base.lock cimport Lock
from tellstone._core.command.record cimport Counters, SlowLog
from tellstone._core.store.forks cimport ForkWatch

cdef struct RecordsFork:
    ForkWatch watch
    Lock* lock
    Lock* slow

cdef class Records:
    cdef Lock lock
    cdef RecordsFork forks
    cdef SlowLog slow
    cdef Counters own
    cdef Counters** watched
    cdef uint32_t count
    cdef uint32_t room              # of watched

# LIFETIME: the counters use the slow log until records_forget or records_release.
cdef int records_watch(Records r, Counters* c) except -1
cdef void records_forget(Records r, Counters* c) noexcept nogil      # one of them; its counts stay
cdef void records_release(Records r) noexcept                        # all of them, and their counts
