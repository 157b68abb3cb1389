"""The log of a store, for Python: opened behind what recovery has found, attached to the store's shards, closed at the end.

It stays attached until it is freed: a store that has had a log never changes without one.

LOCK: a store's changes find their log in Shard.log, under the shard's lock; attaching and detaching take all of them. The methods may be
called from any thread, one at a time.
"""
from tellstone._core.store.keyspace cimport Store
from tellstone._core.store.log cimport Wal

cdef class StoreLog:
    cdef Store store                    # whose shards the log is attached to
    cdef Wal* wal                       # owned
    cdef bint opened
    cdef object failure(self)
