"""Effects back into a keyspace: what records and snapshot entries say is done to tables and entries, and logged nowhere.

A Replay takes the records of one shard of the log, in order; several run side by side. Where the keyspace has as many shards as the log all its
keys belong to one shard, which is locked for a batch at a time; otherwise each record locks the shard that its key has now.

Whole databases are never moved or emptied here. SWAP and FLUSH are known before (store.recovery has read the whole log by then): a database is
loaded where its content ends up after all swaps, and what a later FLUSH removes is not loaded in the first place. So another number of shards
needs no other way.

Deadlines are not looked at: what is over now may be prolonged by a later record. replay_expire ends that when everything is there.
LOCK: a Replay holds at most one shard's lock, and none between replay_batch and the next.
"""
from libc.stdint cimport UINT32_MAX, uint8_t, uint32_t, uint64_t

from tellstone._core.store.entry cimport DATABASES, TYPE_STRING
from tellstone._core.store.keyspace cimport Keyspace
from tellstone._core.store.record cimport RECORD_PATCH, RECORD_PUT, Record

cdef enum:
    REPLAY_BATCH = 32

cdef enum ReplayResult:
    REPLAY_OK = 0
    REPLAY_NOMEM = 1

cdef struct Replay:
    Keyspace* ks
    uint32_t shard                  # of the log
    bint own                        # and of the keyspace
    uint32_t clock                  # time of access for what is loaded
    uint8_t place[DATABASES]        # where the content of a database ends up; SWAPs change it as they pass
    uint64_t flushed[DATABASES]     # by that place: the number of the last FLUSH, 0 for none
    uint32_t count                  # records that wait
    Record records[REPLAY_BATCH]    # their db is the place
    uint64_t hashes[REPLAY_BATCH]
    uint64_t done                   # records since replay_init

cdef inline bint replay_knows(const Record* r) noexcept nogil:
    """The record is one that can be replayed: other bytes with a right checksum may come from a later version, or from anybody."""
    if r.kind == RECORD_PUT:
        return r.type == TYPE_STRING
    return r.kind != RECORD_PATCH or r.size_after <= UINT32_MAX

cdef void replay_init(Replay* p, Keyspace* ks, uint32_t shard, bint own) noexcept nogil
# Take a record that replay_knows, or an entry (seq 0). LIFETIME: its views must last until replay_batch. True: the batch is full.
cdef bint replay_take(Replay* p, const Record* r) noexcept nogil
cdef ReplayResult replay_batch(Replay* p) noexcept nogil
# Remove what is over from a shard of the keyspace; answers how many keys. With no log to tell: they are over for every reader of it.
cdef uint64_t replay_expire(Keyspace* ks, uint32_t shard) noexcept nogil
