"""The keyspace: all shards and databases, how a key finds its shard, and the thread that keeps them in order.

Everything above the store works on Places: a key in a database, found, with its shard locked.

    keyspace_open(ks, db, key, hash, now, &place)      lock the key's shard, look the key up
    ... types.string and friends work on the place ...
    keyspace_close(&place)

Commands on several keys lock all their shards first (keyspace_lock), in ascending order, and use keyspace_find on each key; the
first keyspace_find of a place, or a change through another place of the same shard, makes earlier places stale: find again.

LOCK: shards in ascending order; the grace list's lock is a leaf.

A fork waits for all of these locks, so a child has the whole keyspace as it was at one instant, and no lock that nobody holds. It has no upkeep
until somebody starts it. A log is its parent's: changes are refused, and what the child forgets of expired keys stays in its memory (wal_abandon).
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tellstone._core.base.atomics cimport load_u32, load_u64, relaxed_u32, relaxed_u64
from tellstone._core.base.bytesops cimport View
from tellstone._core.base.lock cimport lock_acquire, lock_release
from tellstone._core.base.platform cimport Thread
from tellstone._core.store.access cimport access_begin, access_touch
from tellstone._core.store.commit cimport wal_commit
from tellstone._core.store.entry cimport access_clock
from tellstone._core.store.eviction cimport eviction_makes_room
from tellstone._core.store.forks cimport ForkWatch
from tellstone._core.store.log cimport WAL_SOUND, Wal, log_patch, log_put
from tellstone._core.store.policy cimport POLICY_NONE
from tellstone._core.store.shard cimport DATABASES, Found, Partition, Shard, Shared, shared_lately, shared_now
from tellstone._core.store.table cimport SlotHint

cdef enum:
    SHARDS_MAX = 1024
    SHARD_WORDS = 16                # of 64 bits, in a ShardSet

cdef enum UpkeepState:
    UPKEEP_NONE = 0
    UPKEEP_RUNS = 1
    UPKEEP_STOPS = 2
    UPKEEP_GONE = 3                 # it runs in the parent of this process

cdef struct ShardSet:               # a set of shards, for locking several
    uint64_t bits[SHARD_WORDS]

cdef struct Keyspace:
    Shared shared
    Shard* shards
    uint32_t shard_count
    uint32_t shard_mask             # shard_count - 1 when that is a power of two, else 0xFFFFFFFFULL
    uint8_t active_expiry           # the wheels turn; DEBUG SET-ACTIVE-EXPIRE. Relaxed
    uint32_t loading                # bool, relaxed: what is on disk is being read, and commands have to wait
    uint8_t cluster                 # clients are told that this is a cluster of one node; fixed once there are clients
    Wal* wal                        # the log of all shards; NULL: none. Not owned. Fixed once there are changes
    uint64_t max_value              # proto-max-bulk-len: no string grows past it. Relaxed
    Thread upkeep_thread
    int upkeep_reader               # of the grace period; upkeep runs in one thread at a time
    uint32_t upkeep_state           # UpkeepState
    ForkWatch forks
    uint64_t upkeep_rounds          # of the thread, relaxed: for tests and INFO
    uint64_t random_state           # under shard 0's lock; RANDOMKEY needs no better

cdef struct Place:
    Keyspace* ks
    Shard* shard
    Partition* part                 # NULL: the database has no key in this shard yet
    Found found                     # found.entry == NULL: no such key
    View key
    uint64_t hash
    int db
    int64_t now                     # 0: nobody has asked for it yet

cdef Keyspace* keyspace_new(uint32_t shards, int64_t evict_interval_ms, uint32_t evict_slots, uint64_t max_memory) noexcept nogil
cdef void keyspace_free(Keyspace* ks) noexcept nogil         # nobody else uses it any more
cdef bint keyspace_start_upkeep(Keyspace* ks) noexcept nogil # False: the thread cannot start
cdef void keyspace_stop_upkeep(Keyspace* ks) noexcept nogil
cdef bint keyspace_upkeep(Keyspace* ks, int64_t now) noexcept nogil    # one bounded round over all shards; True: more to do
cdef inline int64_t keyspace_now(Keyspace* ks) noexcept nogil:     # Unix ms
    return shared_now(&ks.shared)

cdef inline Shard* keyspace_shard(Keyspace* ks, uint64_t hash) noexcept nogil:
    if ks.shard_mask != 0xFFFFFFFFULL:
        return &ks.shards[<uint32_t>hash & ks.shard_mask]
    return &ks.shards[hash % ks.shard_count]

# hash is fnv1a(key). The caller holds the shard's lock for keyspace_find; keyspace_open takes it.
cdef void keyspace_find(Keyspace* ks, int db, View key, uint64_t hash, int64_t now, Place* place) noexcept nogil
cdef void keyspace_open(Keyspace* ks, int db, View key, uint64_t hash, int64_t now, Place* place) noexcept nogil
# With what look-ahead has found for this hash, or NULL.
cdef void keyspace_open_hinted(Keyspace* ks, int db, View key, uint64_t hash, int64_t now, const SlotHint* hint,
                               Place* place) noexcept nogil
cdef inline void keyspace_close(Place* place) noexcept nogil:
    lock_release(&place.shard.lock)

cdef inline bint place_exists(const Place* place) noexcept nogil:
    return place.found.entry != NULL

# For a place without an entry too: makes the partition. See shard_write for the rest. NULL without memory.
cdef char* place_write(Place* place, uint8_t type, uint8_t encoding, size_t value_len, int64_t deadline) noexcept nogil
cdef void place_remove(Place* place) noexcept nogil          # only where an entry is

# The entry has a new value, written by its type: record it. After place_write, which does not know when the value is there.
cdef inline void place_changed(const Place* place) noexcept nogil:
    log_put(place.shard.log, place.db, place.found.entry)

cdef inline void place_patched(const Place* place, uint64_t offset, uint64_t len) noexcept nogil:
    """The same for a few bytes of a string; zero bytes between its old end and the offset need not be among them."""
    log_patch(place.shard.log, place.db, place.found.entry, offset, len)

cdef inline uint32_t place_clock(const Place* place) noexcept nogil:
    """The time of an access to this place."""
    return access_clock(place.now if place.now else shared_lately(&place.ks.shared))

cdef inline void place_touch(Place* place) noexcept nogil:
    """Note an access to the key, if there is one. place_write does not, but for a new one."""
    if place.found.entry != NULL:
        access_touch(place.shard, place.found.entry, place_clock(place))

cdef inline void place_renew(Place* place) noexcept nogil:
    """A key has been written that is taken for another one than it was: what was known of accesses to it is forgotten."""
    access_begin(place.part, &place.found, place_clock(place))

cdef inline void place_count(Place* place) noexcept nogil:
    """A command that reads: counts a hit or a miss."""
    if place.found.entry != NULL:
        place.shard.hits += 1
    else:
        place.shard.misses += 1

cdef inline void shard_set_clear(ShardSet* s) noexcept nogil:
    cdef int i
    for i in range(SHARD_WORDS):
        s.bits[i] = 0

cdef inline void shard_set_add(ShardSet* s, uint32_t index) noexcept nogil:
    s.bits[index >> 6] |= (<uint64_t>1) << (index & 63)

# What changes between lock and unlock is one change: it recovers whole or not at all.
cdef void keyspace_lock(Keyspace* ks, const ShardSet* s) noexcept nogil
cdef void keyspace_unlock(Keyspace* ks, const ShardSet* s) noexcept nogil
cdef void keyspace_lock_all(Keyspace* ks) noexcept nogil
cdef void keyspace_unlock_all(Keyspace* ks) noexcept nogil

cdef uint64_t keyspace_size(Keyspace* ks, int db) noexcept nogil          # keys, expired ones that are still there included
cdef uint64_t keyspace_expires(Keyspace* ks, int db) noexcept nogil       # of these, with a deadline
cdef int64_t keyspace_average_ttl(Keyspace* ks, int db) noexcept nogil    # ms that these have left; 0: there are none
cdef void keyspace_flush(Keyspace* ks, int db) noexcept nogil             # -1: all databases. Memory goes back behind the scenes
cdef void keyspace_swap(Keyspace* ks, int a, int b) noexcept nogil
cdef inline uint64_t keyspace_used(Keyspace* ks) noexcept nogil:
    return relaxed_u64(&ks.shared.used)
cdef inline bint keyspace_is_full(Keyspace* ks) noexcept nogil:
    return relaxed_u64(&ks.shared.max_memory) != 0 and relaxed_u64(&ks.shared.used) >= relaxed_u64(&ks.shared.max_memory)
cdef inline bint keyspace_is_hurt(const Keyspace* ks) noexcept nogil:
    """The log cannot be written: no more changes."""
    cdef Wal* wal = ks.wal
    return wal != NULL and relaxed_u32(&wal.health) != WAL_SOUND
cdef inline uint64_t keyspace_failure(const Keyspace* ks) noexcept nogil:
    """0 while the log is well; else which failure since the start this is. As long as that is the same nobody can have changed anything."""
    cdef Wal* wal = ks.wal
    if wal == NULL or load_u32(&wal.health) == WAL_SOUND:
        return 0
    return load_u64(&wal.failures)
cdef inline bint keyspace_can_evict(const Keyspace* ks) noexcept nogil:
    """There is a policy for it, and a log that can take what it does."""
    return relaxed_u32(&ks.shared.rules.policy) != POLICY_NONE and not keyspace_is_hurt(ks)
cdef inline bint keyspace_has_room(Keyspace* ks) noexcept nogil:
    """For a write; made by evicting if need be. No shard's lock is held."""
    return not keyspace_is_full(ks) or (
        keyspace_can_evict(ks) and eviction_makes_room(&ks.shared, ks.shards, ks.shard_count))
cdef inline bint keyspace_commit(Keyspace* ks) noexcept nogil:
    """Before anybody is told of a change. False: it may be lost."""
    cdef Wal* wal = ks.wal
    return wal == NULL or wal_commit(wal)
cdef void keyspace_account(Keyspace* ks) noexcept nogil      # make keyspace_used exact for a moment
cdef void keyspace_add_used(Keyspace* ks, int64_t bytes) noexcept nogil   # connection buffers and the like

# Called under the shard's lock with a live entry; changes nothing.
ctypedef void (*KeyVisit)(void* owner, char* entry) noexcept nogil

# SCAN: visits some `count` entries from a cursor on, answers the next cursor, 0 when all shards are done. A cursor is a shard
# and a tag (see store.table), with the tags' kind. Keys that are there from first to last call are visited at least once.
cdef uint64_t keyspace_scan(Keyspace* ks, int db, uint64_t cursor, uint64_t count, int64_t now, KeyVisit visit, void* owner) noexcept nogil
# Every entry of a database, with all shards locked by the caller.
cdef void keyspace_visit_locked(Keyspace* ks, int db, int64_t now, KeyVisit visit, void* owner) noexcept nogil
# Visit one entry at random; False when there is none.
cdef bint keyspace_random(Keyspace* ks, int db, int64_t now, KeyVisit visit, void* owner) noexcept nogil

cdef struct KeyspaceStats:
    uint64_t hits
    uint64_t misses
    uint64_t expired
    uint64_t expired_lazy
    uint64_t evicted
    uint64_t live_bytes             # of entries, at the size of their slots, and blocks
    uint64_t held_bytes             # of arena pages with memory behind them, and blocks
    uint64_t table_bytes
    uint64_t other_bytes            # of partitions, wheels and the queues of eviction
    uint64_t retired                # items that wait for readers to pass

cdef void keyspace_stats(Keyspace* ks, KeyspaceStats* out) noexcept nogil
cdef void keyspace_reset_stats(Keyspace* ks) noexcept nogil

# Look-ahead for a batch of n hashes, group by group: prefetch the keys' slots, and when those have arrived what they seem to name.
# `reader` comes from grace_join; from begin to end it is in a grace section, so between them nothing may wait for readers. A hash of no key
# does no harm.
cdef enum:
    SLOTS_AHEAD = 16                # requests between the prefetch of a slot and its use
    AHEAD_GROUP = 4                 # requests whose entries are fetched while as many others run: at five lines each as many
                                    # as a core has misses outstanding

cdef void keyspace_ahead_begin(Keyspace* ks, int reader, int db, const uint64_t* hashes, SlotHint* hints, uint32_t n) noexcept nogil
# Before the group of requests whose hashes are the first of the n that are left.
cdef void keyspace_ahead(Keyspace* ks, int db, const uint64_t* hashes, SlotHint* hints, uint32_t n) noexcept nogil
cdef void keyspace_ahead_end(Keyspace* ks, int reader) noexcept nogil
# The same in two steps for a single hash.
cdef void keyspace_ahead_slot(Keyspace* ks, int reader, int db, uint64_t hash) noexcept nogil
cdef void keyspace_ahead_entry(Keyspace* ks, int reader, int db, uint64_t hash) noexcept nogil

cdef class Store:
    """The owner of a keyspace for Python: engine.Engine has one, and drivers take it to serve the same data."""
    cdef Keyspace* ks
