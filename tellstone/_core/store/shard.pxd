"""A shard: one lock over a part of the keys, one partition a database, each with its own table, arena and wheel.

A partition is made when its database first gets a key in this shard, so an unused database costs one pointer a shard, and
FLUSHDB or SWAPDB move whole partitions without touching a key.

LOCK: everything below is guarded by Shard.lock, except Shared.used (atomic), Shard.bytes (written under it, read relaxed) and what
store.grace lets look-ahead read.
Every function here expects the lock to be held.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tellstone._core.base.atomics cimport relaxed_u64
from tellstone._core.base.bytesops cimport View
from tellstone._core.base.lock cimport Lock
from tellstone._core.base.platform cimport wall_ms
from tellstone._core.memory.arena cimport Arena
from tellstone._core.memory.wheel cimport Wheel
from tellstone._core.store.entry cimport DATABASES
from tellstone._core.store.grace cimport Grace
from tellstone._core.store.log cimport Log
from tellstone._core.store.policy cimport EvictionRules
from tellstone._core.store.s3fifo cimport S3Fifo
from tellstone._core.store.table cimport Found, Table

cdef enum:
    DEADLINE_KEEP = -2              # shard_write: leave the deadline as it is

cdef struct Shared:                 # what all shards of a keyspace share
    Grace grace
    uint64_t secret[2]
    uint64_t used                   # atomic: bytes of all shards, within account_step a partition
    uint64_t max_memory             # 0: no ceiling. Relaxed, as the next; written by shared_set_ceiling
    uint64_t account_step
    EvictionRules rules
    uint64_t draws                  # of shards to evict from: atomic
    int64_t tick_ms                 # of the wheels; fixed
    uint32_t wheel_slots            # fixed
    uint64_t fixed_now              # a test's clock in ms; 0: the real one. Relaxed
    uint64_t round_now              # the clock at the last round of upkeep; 0: there is none. Relaxed

cdef inline int64_t shared_now(const Shared* shared) noexcept nogil:
    cdef uint64_t fixed = relaxed_u64(&shared.fixed_now)
    return <int64_t>fixed if fixed else wall_ms()

cdef inline int64_t shared_lately(const Shared* shared) noexcept nogil:
    """The time some tenths of a second ago, without asking the system; for those who count in seconds."""
    cdef uint64_t then = relaxed_u64(&shared.round_now)
    return <int64_t>then if then and not relaxed_u64(&shared.fixed_now) else shared_now(shared)

cdef enum:
    CANDIDATES_MAX = 16

cdef struct Candidate:
    uint64_t slot                   # as it stood in its table: no such slot there, and the key is gone or has moved
    int64_t merit                   # the greater, the sooner it goes
    int db

cdef struct Candidates:             # keys of a shard that have been found worth evicting, the best last
    Candidate each[CANDIDATES_MAX]
    uint32_t count
    uint32_t policy                 # that they were looked for under

cdef struct Partition:
    int db                          # SWAPDB changes it
    Table table
    Arena arena
    Wheel wheel                     # its count is the number of keys with a deadline
    uint64_t block_bytes            # of counted blocks
    uint64_t accounted              # what of our bytes is in Shared.used
    S3Fifo s3fifo                   # empty under any other policy
    uint64_t sweep_slot             # of the key with a deadline that sampling goes on with (store.eviction); 0: with the first of
    uint32_t sweep_bucket           # this bucket of the wheel
    uint32_t compacting             # page being emptied, 0: none
    uint32_t compact_cursor
    Shard* shard

cdef struct Shard:
    Lock lock
    uint32_t index
    Shared* shared
    Partition* parts[DATABASES]
    uint8_t contents[DATABASES]     # names of what is in them: SWAPDB exchanges two, as it does in the log, and nothing else changes them
    uint64_t bytes                  # of its partitions' accounted
    uint64_t random                 # state of base.random
    Candidates* candidates          # for eviction, see store.eviction; NULL: none have been looked for
    Log* log                        # where changes are recorded; NULL: nowhere
    uint64_t hits                   # of commands that read
    uint64_t misses
    uint64_t expired                # removed because their time had come
    uint64_t expired_lazy           # of these, found by a command and not by the wheel
    uint64_t evicted                # removed to make room

cdef void shared_set_ceiling(Shared* shared, uint64_t bytes) noexcept nogil # 0: none; no lock
cdef void shard_init(Shard* s, Shared* shared, uint32_t index) noexcept nogil
cdef Partition* shard_partition(Shard* s, int db) noexcept nogil            # made if need be; NULL without memory
cdef void partition_free(Partition* p) noexcept nogil                       # with all it holds; no lock: nobody knows it any more
cdef void shard_find(Shard* s, Partition* p, View key, uint64_t hash, int64_t now, Found* found) noexcept nogil

# Make or replace the entry of a key: type, encoding, deadline (NO_DEADLINE, DEADLINE_KEEP or ms) and the length of the
# value part. Answers where the value part goes, uninitialized; the old value is gone. A new entry's bits of access are left to the
# caller (store.access), an old one keeps them. NULL: no memory, nothing changed.
# LIFETIME: `key` must not point into the partition.
cdef char* shard_write(Partition* p, View key, Found* found, uint8_t type, uint8_t encoding, size_t value_len,
                       int64_t deadline) noexcept nogil
# The same entry with a longer or shorter value part; what fits of the old one is kept. For encodings without a block.
cdef char* shard_resize(Partition* p, Found* found, size_t value_len) noexcept nogil
cdef bint shard_set_deadline(Partition* p, Found* found, int64_t deadline) noexcept nogil   # False without memory
cdef void shard_remove(Partition* p, Found* found) noexcept nogil
cdef void shard_evict(Partition* p, Found* found) noexcept nogil
cdef uint64_t partition_overhead(const Partition* p) noexcept nogil        # what counts beside its entries and its table
cdef void shard_account(Partition* p) noexcept nogil       # after a change of block_bytes by a type
cdef void shard_account_exactly(Partition* p) noexcept nogil
cdef void shard_disown(Partition* p) noexcept nogil        # it has been detached, and counts no more

# Bounded upkeep; True when there is more to do right now.
cdef bint shard_expire(Partition* p, int64_t now, uint32_t budget) noexcept nogil
cdef bint shard_compact(Partition* p, uint32_t budget) noexcept nogil
