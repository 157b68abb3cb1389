"""A group of threads that serve connections, and what Python starts, asks and stops.

The threads are reactors (net.reactor) or event loops of asyncio (net.asyncio_driver); nobody but them, and whoever makes the group,
knows which.
"""
from libc.stdint cimport uint32_t

from tellstone._core.net.control cimport ControlBridge
from tellstone._core.net.member cimport Group
from tellstone._core.session.records cimport Records
from tellstone._core.store.keyspace cimport Store

cdef class GroupMemory:
    cdef Group* group
    cdef Store store
    cdef ControlBridge bridge

cdef class DriverGroup:
    cdef GroupMemory memory
    cdef Group* group                   # the memory's
    cdef readonly Records records
    cdef uint32_t started               # bool, atomic
