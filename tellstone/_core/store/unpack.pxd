"""Reading a snapshot's file: opened once, then shard by shard, side by side.

Every block is verified before one of its entries is handed on; how many there are, and that none is missing, when the shard's last one has
been read. A strict reader stops at the first fault; a lenient one notes it and goes on with the next whole block. A lenient reader can
even do without head and foot (unpack_walk): blocks say whose they are.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.store.blocks cimport ShardFoot, SnapshotHead
from tellstone._core.store.catalog cimport NAME_ROOM, Catalog, Faults
from tellstone._core.store.replay cimport Replay
from tellstone._core.store.window cimport Window

cdef enum UnpackRead:
    UNPACK_OK = 0
    UNPACK_STOP = 1                 # a fault, which is noted
    UNPACK_FAILED = 2               # reading has failed: window.error
    UNPACK_NOMEM = 3

cdef struct Unpack:
    const Catalog* catalog
    char name[NAME_ROOM]
    bint lenient
    Faults* faults
    uint64_t* keys                  # atomic progress: entries, bytes; NULL for none
    uint64_t* bytes
    SnapshotHead head               # shards is 0 where the head is damaged
    ShardFoot* feet                 # of head.shards, or NULL: the foot is damaged
    int64_t whole_ms                # with feet: Unix time at which every record that entries show was in a log
    uint64_t end                    # of the blocks

# Read head and foot of the catalog's snapshot i. UNPACK_STOP where one of them is hurt, though a lenient reader may then go on.
cdef UnpackRead unpack_open(Unpack* u, const Catalog* catalog, uint32_t i, bint lenient, Faults* faults, Window* w) noexcept nogil
cdef void unpack_close(Unpack* u) noexcept nogil
# The blocks of a shard, with a foot: verified, and replayed where there is a Replay.
cdef UnpackRead unpack_shard(Unpack* u, Window* w, uint32_t shard, Replay* p) noexcept nogil
# All blocks without a foot, for shards below `shards`: the numbers noted for them go into seqs, where that is not NULL, and entries are handed to
# the Replays of their shards, where they are not NULL.
cdef UnpackRead unpack_walk(Unpack* u, Window* w, uint32_t shards, uint64_t* seqs, Replay* each) noexcept nogil
