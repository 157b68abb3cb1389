"""The embedded engine: a keyspace as a Python object. It knows no protocol and no command; `execute` and `listen` are the
shell's (tellstone.engine).
"""
from libc.stdint cimport uint32_t

from tellstone._core.base.bytesops cimport View
from tellstone._core.store.keyspace cimport Keyspace, Store

cdef extern from "tellstone/_core/recent.h" nogil:
    ctypedef struct Recent "ts_recent":
        pass

cdef struct Access:
    Keyspace* ks
    Recent* recent                  # LOCK: the GIL
    uint32_t closed                 # written with every shard locked: whoever holds one reads it exactly

cdef class Engine:
    cdef readonly Store _store      # LIFETIME: as long as the engine, so `access.ks` is good in any method, closed or not
    cdef Access access

# Engine.get and Engine.set of a short value, from C; with the GIL. They answer a status: ST_MORE for what only the methods can do, a value
# that does not fit the room or a shard that is busy.
cdef int engine_get(Engine e, View key, char* room, size_t size, size_t* length) noexcept
cdef int engine_set(Engine e, View key, View value) noexcept
