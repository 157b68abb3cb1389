"""The file of a snapshot, field by field: written by store.snapshot, read by store.recovery (docs/format.md has the page).

    head       8 bytes magic · u32 version · u32 shards · u64 generation · i64 Unix ms of the beginning · u32 0 · u32 CRC-32C of the head before it
    blocks     u32 CRC-32C of everything behind it in the block · u32 size of the entries · u32 shard · u8 database · 3 bytes 0 · u64 number
               noted for the shard · entries: u32 size · the body of a PUT record (store.record), as often as fit
    foot       per shard: u64 number noted for the shard · u64 offset of its first block · u64 entries · u32 CRC-32C over the checksums of its
               blocks, as they stand in the file · u32 records that came while it was read; behind the last: u64 entries · u64 bytes before the
               foot · u32 ms from the beginning to when all of those were on the disk · u32 CRC-32C of the foot before it · 8 bytes magic

Blocks of a shard follow one another, and shards come in order, so shards can be read side by side. Integers are little-endian.
Whoever reads trusts nothing before its checksum has agreed. The number of a shard stands in its blocks as well: a file without its foot can
still be used.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tellstone._core.store.record cimport Record
from tellstone._core.store.window cimport Window

cdef enum:
    SNAPSHOT_VERSION = 1
    SNAPSHOT_HEAD = 40
    BLOCK_HEAD = 24
    ENTRY_SIZE = 4                  # bytes of an entry's size
    FOOT_SHARD = 32
    FOOT_END = 32

cdef struct SnapshotHead:
    uint32_t version
    uint32_t shards
    uint64_t generation
    int64_t begun_ms

cdef struct ShardFoot:
    uint64_t seq
    uint64_t offset
    uint64_t entries
    uint32_t sum
    uint32_t seen                   # records behind `seq` that entries may show already; UINT32_MAX: so many or more

cdef struct BlockHead:
    uint32_t checksum
    uint32_t size                   # of the entries
    uint32_t shard
    uint8_t db
    uint64_t seq

cdef enum BlockRead:
    BLOCK_WHOLE = 0
    BLOCK_HURT = 1
    BLOCK_FAILED = 2                # reading has, see the window

cdef inline size_t foot_size(uint32_t shards) noexcept nogil:
    return <size_t>shards * FOOT_SHARD + FOOT_END

# Writing: into memory of the sizes above.
cdef void snapshot_head_write(char* out, const SnapshotHead* h) noexcept nogil
cdef void block_head_write(char* out, const BlockHead* h) noexcept nogil       # checksum included
# The checksum of a block whose head (but for that) stands at `block` and whose entries begin behind it, in one piece.
cdef uint32_t block_seal(char* block, size_t size) noexcept nogil
cdef void foot_write(char* out, uint32_t shards, const ShardFoot* each, uint64_t bytes_, uint32_t took_ms) noexcept nogil   # foot_size(shards)

# Reading. Head and foot: 0, or the FaultKind, or -1: reading has failed (w.error). With FAULT_NEWER the head is there.
cdef int snapshot_head_read(Window* w, SnapshotHead* h) noexcept nogil
cdef uint32_t foot_shards(Window* w) noexcept nogil        # how many the foot is for, as far as its end can be read; else 0
cdef int foot_read(Window* w, uint32_t shards, ShardFoot* each, uint32_t* took_ms) noexcept nogil
# The block at an offset, before `end`; its entries stand at *entries.
cdef BlockRead block_read(Window* w, uint64_t offset, uint64_t end, uint32_t shards, BlockHead* h, const char** entries) noexcept nogil
# The first whole block from an offset on, before `end`; its offset, or `end`: there is none.
cdef BlockRead block_search(Window* w, uint64_t* offset, uint64_t end, uint32_t shards) noexcept nogil
# The entry at p of a block's; answers its size in all, 0: it makes no sense.
cdef size_t entry_read(const char* p, size_t len, uint8_t db, Record* r) noexcept nogil
