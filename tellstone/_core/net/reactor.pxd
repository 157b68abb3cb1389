"""Reactors: threads that serve connections, and never know that there is an interpreter.

A reactor waits for events with a poller, reads and writes sockets itself, and sleeps without end unless something is queued or has a
deadline. Its tick is that of net.member.
LOCK: a Reactor belongs to its thread, from start to join.
"""
from libc.stdint cimport uint32_t, uint64_t

from tellstone._core.base.platform cimport Thread
from tellstone._core.base.poller cimport Event
from tellstone._core.net.group cimport DriverGroup
from tellstone._core.net.member cimport Member

cdef enum:
    EVENTS = 256

cdef struct Reactor:
    Member* member
    uint64_t ready_listeners            # a bit each
    Thread thread
    Event events[EVENTS]

cdef class ReactorGroup(DriverGroup):
    cdef Reactor* reactors
    cdef uint32_t count
    cdef uint32_t joined                # bool, atomic
