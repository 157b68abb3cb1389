"""Handlers of the commands on keys of any type, and on whole databases.

Each answers what Redis 7.2 answers, errors and the order of checks included. A command on several keys is atomic: it
holds the locks of all their shards. KEYS, FLUSHDB, FLUSHALL, SWAPDB and RANDOMKEY hold every shard's; SCAN and DBSIZE
take one after the other.
"""
from tellstone._core.command.command cimport Context

cdef int cmd_del(Context* c) noexcept nogil
cdef int cmd_unlink(Context* c) noexcept nogil
cdef int cmd_exists(Context* c) noexcept nogil
cdef int cmd_touch(Context* c) noexcept nogil
cdef int cmd_type(Context* c) noexcept nogil

cdef int cmd_ttl(Context* c) noexcept nogil
cdef int cmd_pttl(Context* c) noexcept nogil
cdef int cmd_expiretime(Context* c) noexcept nogil
cdef int cmd_pexpiretime(Context* c) noexcept nogil
cdef int cmd_expire(Context* c) noexcept nogil
cdef int cmd_pexpire(Context* c) noexcept nogil
cdef int cmd_expireat(Context* c) noexcept nogil
cdef int cmd_pexpireat(Context* c) noexcept nogil
cdef int cmd_persist(Context* c) noexcept nogil

cdef int cmd_rename(Context* c) noexcept nogil
cdef int cmd_renamenx(Context* c) noexcept nogil
cdef int cmd_move(Context* c) noexcept nogil
cdef int cmd_copy(Context* c) noexcept nogil

cdef int cmd_keys(Context* c) noexcept nogil
cdef int cmd_scan(Context* c) noexcept nogil
cdef int cmd_randomkey(Context* c) noexcept nogil
cdef int cmd_dbsize(Context* c) noexcept nogil
cdef int cmd_flushdb(Context* c) noexcept nogil
cdef int cmd_flushall(Context* c) noexcept nogil
cdef int cmd_swapdb(Context* c) noexcept nogil

# DEL of one key, argv[1], but for its reply: whether it was there.
cdef bint key_remove(Context* c) noexcept nogil
