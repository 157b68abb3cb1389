"""Eviction: which keys go when the ceiling is reached.

A write that finds the memory full makes room first, one key after another, until there is room again or it has looked at EVICT_LOOKS
entries. What is still missing then is left to the next write and to upkeep, as long as it is less than a sixteenth of the ceiling (a large
value, or a table that grows, may take so much at once). If it is more, the write goes on to EVICT_LOOKS_MOST entries; so it waits
for a bounded time, however much has to go. Where that does not do, and where nothing may be evicted, it is refused.

Shards are emptied evenly: of two that are drawn the one with more bytes gives a key. One shard is locked at a time, and only tried at
first, so what a running command has locked stays as it is and nobody waits for it but the last hope of a write.
Evicted keys are recorded as removed, like those whose time has come.

How a shard chooses:
- lru, lfu: as Redis does. Some keys are drawn (maxmemory-samples) and the sixteen best of all that were drawn so far are kept as
  candidates; the best of these goes, if it has not been asked for meanwhile. Keys are drawn side by side from a random place of the
  table: its order is that of hashes, so neighbours have nothing in common, and one cache miss finds all their slots.
- volatile-lru, volatile-lfu: the same among keys with a deadline. Where these are fewer than one in eight they are taken from the wheel
  instead, going on where the last time ended.
- random: one such key. volatile-ttl: the nearest deadline that the wheel has, exact within its finest level.
- allkeys-s3fifo: store.s3fifo decides. For caches this is the one to take: it keeps more of what will be asked for than lru and
  lfu do, lets scans pass, and costs a read less than either (benchmarks/hit_ratio.py).
"""
from libc.stdint cimport uint32_t

from tellstone._core.store.shard cimport Shard, Shared

cdef enum:
    EVICT_LOOKS = 1024
    EVICT_LOOKS_MOST = 65536

# True: there is room, or nearly so. The caller holds no shard's lock.
cdef bint eviction_makes_room(Shared* shared, Shard* shards, uint32_t count) noexcept nogil
# The same as far as it comes with so many looks, and a few more, for upkeep.
cdef bint eviction_step(Shared* shared, Shard* shards, uint32_t count, uint32_t looks) noexcept nogil
