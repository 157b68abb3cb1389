"""Threads that keep connections busy, and never know that there is an interpreter.

A thread has every T-th connection and one poller. It waits for replies, takes them, and sends what is due in their place: in one
write, from one buffer that all its connections share; only what the kernel does not take is kept by the connection.

With a rate the requests of a thread are due in the order of its connections, round after round. The thread sleeps until the next one
is due or a reply comes.

LOCK: a Worker and its connections belong to its thread, from start to join. Others read its outcome meanwhile, and halt the course.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.base.platform cimport Thread
from tellstone._core.base.poller cimport Event
from tellstone._core.load.exchange cimport Course, Exchange, Plan
from tellstone._core.load.outcome cimport Outcome

cdef enum:
    EVENTS = 256
    WORKERS_MAX = 128
    INPUT = 262144                  # bytes of one read

cdef struct Link:                   # a connection
    int fd                          # belongs to the caller
    uint32_t interest               # what the poller watches; 0: the connection is lost
    Exchange exchange
    OutBuf rest                     # bytes that the kernel has not taken
    size_t rest_sent

cdef struct Worker:
    Course* course
    uint32_t* running               # atomic: of the generator
    uint32_t* killed                # atomic
    Link* links
    uint32_t count
    uint32_t live                   # links that are not lost
    uint64_t turn                   # with a rate: the next request is due on links[turn % count]
    int poller
    int64_t grace_ns                # when nothing more is sent: how long to wait for the next reply
    int64_t ended_ns                # the last reply
    char* input
    char* output
    Outcome outcome
    Thread thread
    Event events[EVENTS]

cdef class Generator:
    cdef Plan plan
    cdef Worker* workers
    cdef uint32_t count
    cdef uint32_t running           # atomic: threads that have not ended
    cdef uint32_t killed            # atomic
    cdef bint started
    cdef bint joined
