"""Commands from the program itself: what a connection is, without socket, driver and parser.

LOCK: one thread at a time uses a Caller.
LIFETIME: its counters are watched by its records from the first to the last.
"""
from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.command.client cimport Client
from tellstone._core.command.command cimport Counters
from tellstone._core.session.records cimport Records
from tellstone._core.store.keyspace cimport Store

cdef class Caller:
    cdef Store store                # LIFETIME: keeps the keyspace
    cdef Records records            # None: nobody counts
    cdef bint safe                  # commits what it changes
    cdef Client client
    cdef Counters counters
    cdef OutBuf out
