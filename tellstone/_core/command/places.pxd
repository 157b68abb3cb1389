"""How handlers reach their keys: the one place of a command on one key, or several with all their shards locked at once."""
from libc.stdint cimport uint32_t, uint64_t

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.fnv cimport fnv1a
from tellstone._core.command.command cimport Context, touch_place
from tellstone._core.store.keyspace cimport (
    Place, ShardSet, keyspace_find, keyspace_lock, keyspace_open_hinted, keyspace_shard, keyspace_unlock, shard_set_add, shard_set_clear,
)

cdef enum:
    HASHES_KEPT = 128               # of the first keys; those of more are computed again

cdef inline void open_key(Context* c, Place* place) noexcept nogil:
    """The place of argv[1], with its shard locked."""
    keyspace_open_hinted(c.ks, c.client.db, c.argv[1], c.hash, c.now, c.hint, place)
    touch_place(c, place)

cdef struct Keys:                   # of a call on several, at argv[first], argv[first + step], ...
    uint32_t first
    uint32_t step
    uint32_t count
    ShardSet shards
    uint64_t hashes[HASHES_KEPT]

cdef inline View key_at(const Context* c, const Keys* keys, uint32_t i) noexcept nogil:
    return c.argv[keys.first + i * keys.step]

cdef inline void keys_lock(Context* c, Keys* keys, uint32_t first, uint32_t step, uint32_t count) noexcept nogil:
    """`first` is the command's first key."""
    cdef View key
    cdef uint64_t hash
    cdef uint32_t i
    keys.first = first
    keys.step = step
    keys.count = count
    shard_set_clear(&keys.shards)
    for i in range(keys.count):
        key = key_at(c, keys, i)
        hash = fnv1a(key.ptr, key.len) if i else c.hash
        if i < HASHES_KEPT:
            keys.hashes[i] = hash
        shard_set_add(&keys.shards, keyspace_shard(c.ks, hash).index)
    keyspace_lock(c.ks, &keys.shards)

cdef inline void keys_find(Context* c, const Keys* keys, uint32_t i, Place* place) noexcept nogil:
    cdef View key = key_at(c, keys, i)
    keyspace_find(c.ks, c.client.db, key, keys.hashes[i] if i < HASHES_KEPT else fnv1a(key.ptr, key.len), c.now, place)
    touch_place(c, place)

cdef inline void keys_unlock(Context* c, const Keys* keys) noexcept nogil:
    keyspace_unlock(c.ks, &keys.shards)
