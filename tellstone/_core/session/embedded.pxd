"""Commands from the program itself: what a connection is, without socket, driver and parser.

LOCK: one thread at a time uses a Caller.
"""
from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.command.client cimport Client
from tellstone._core.command.command cimport Counters
from tellstone._core.store.keyspace cimport Store

cdef class Caller:
    cdef Store store                # LIFETIME: keeps the keyspace
    cdef Client client
    cdef Counters counters
    cdef OutBuf out
