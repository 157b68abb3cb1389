"""The file of a snapshot (see blocks.pxd)."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from tellstone._core.base.bytesops cimport get_u32, get_u64, put_u32, put_u64
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.memory.checksum cimport crc32c
from tellstone._core.store.catalog cimport FAULT_FOOT, FAULT_HEAD, FAULT_NEWER
from tellstone._core.store.entry cimport DATABASES
from tellstone._core.store.keyspace cimport SHARDS_MAX
from tellstone._core.store.record cimport RECORD_PUT, Record, record_parse
from tellstone._core.store.window cimport Window, window_at

check_layout(__name__)

cdef enum:
    MAGIC = 8
    SHARDS_AT = 12
    GENERATION_AT = 16
    BEGUN_AT = 24
    HEAD_SUM_AT = 36
    BLOCK_SUM = 4                   # bytes of a block that its checksum leaves out: itself

cdef const char* HEAD_MAGIC = b"\x89TSNAP\r\n"      # no text, and not what a transfer as text leaves of it
cdef const char* FOOT_MAGIC = b"TSNAPEND"


# Writing --------------------------------------------------------------------------------------------------------


cdef void snapshot_head_write(char* out, const SnapshotHead* h) noexcept nogil:
    memset(out, 0, SNAPSHOT_HEAD)
    memcpy(out, HEAD_MAGIC, MAGIC)
    put_u32(out + MAGIC, h.version)
    put_u32(out + SHARDS_AT, h.shards)
    put_u64(out + GENERATION_AT, h.generation)
    put_u64(out + BEGUN_AT, <uint64_t>h.begun_ms)
    put_u32(out + HEAD_SUM_AT, crc32c(0, out, HEAD_SUM_AT))


cdef void block_head_write(char* out, const BlockHead* h) noexcept nogil:
    put_u32(out, h.checksum)
    put_u32(out + 4, h.size)
    put_u32(out + 8, h.shard)
    put_u32(out + 12, h.db)         # and three zeros
    put_u64(out + 16, h.seq)


cdef uint32_t block_seal(char* block, size_t size) noexcept nogil:
    cdef uint32_t sum = crc32c(0, block + BLOCK_SUM, BLOCK_HEAD - BLOCK_SUM + size)
    put_u32(block, sum)
    return sum


cdef void foot_write(char* out, uint32_t shards, const ShardFoot* each, uint64_t bytes_, uint32_t took_ms) noexcept nogil:
    cdef uint64_t entries = 0
    cdef uint32_t i
    cdef char* p = out
    for i in range(shards):
        put_u64(p, each[i].seq)
        put_u64(p + 8, each[i].offset)
        put_u64(p + 16, each[i].entries)
        put_u32(p + 24, each[i].sum)
        put_u32(p + 28, each[i].seen)
        entries += each[i].entries
        p += FOOT_SHARD
    put_u64(p, entries)
    put_u64(p + 8, bytes_)
    put_u32(p + 16, took_ms)
    put_u32(p + 20, crc32c(0, out, <size_t>(p - out) + 20))
    memcpy(p + 24, FOOT_MAGIC, MAGIC)


# Reading --------------------------------------------------------------------------------------------------------


cdef int snapshot_head_read(Window* w, SnapshotHead* h) noexcept nogil:
    cdef const char* p
    if w.size < SNAPSHOT_HEAD:
        return FAULT_HEAD
    p = window_at(w, 0, SNAPSHOT_HEAD)
    if p == NULL:
        return -1
    if memcmp(p, HEAD_MAGIC, MAGIC) != 0 or get_u32(p + HEAD_SUM_AT) != crc32c(0, p, HEAD_SUM_AT):
        return FAULT_HEAD
    h.version = get_u32(p + MAGIC)
    h.shards = get_u32(p + SHARDS_AT)
    h.generation = get_u64(p + GENERATION_AT)
    h.begun_ms = <int64_t>get_u64(p + BEGUN_AT)
    return FAULT_NEWER if h.version > SNAPSHOT_VERSION else 0


cdef uint32_t foot_shards(Window* w) noexcept nogil:
    cdef const char* p
    cdef uint64_t foot
    if w.size < SNAPSHOT_HEAD + FOOT_END:
        return 0
    p = window_at(w, w.size - FOOT_END, FOOT_END)
    if p == NULL or memcmp(p + 24, FOOT_MAGIC, MAGIC) != 0:
        return 0
    foot = get_u64(p + 8)
    if foot < SNAPSHOT_HEAD or foot > w.size - FOOT_END or (w.size - FOOT_END - foot) // FOOT_SHARD > SHARDS_MAX:
        return 0
    return <uint32_t>((w.size - FOOT_END - foot) // FOOT_SHARD)


cdef int foot_read(Window* w, uint32_t shards, ShardFoot* each, uint32_t* took_ms) noexcept nogil:
    cdef size_t size = foot_size(shards)
    cdef const char* foot
    cdef const char* p
    cdef uint64_t entries = 0, offset = SNAPSHOT_HEAD
    cdef uint32_t i
    if w.size < SNAPSHOT_HEAD + size:
        return FAULT_FOOT
    foot = window_at(w, w.size - size, size)
    if foot == NULL:
        return -1
    p = foot + size - FOOT_END
    if memcmp(p + 24, FOOT_MAGIC, MAGIC) != 0 or get_u32(p + 20) != crc32c(0, foot, size - FOOT_END + 20):
        return FAULT_FOOT
    if get_u64(p + 8) != w.size - size:
        return FAULT_FOOT
    took_ms[0] = get_u32(p + 16)
    for i in range(shards):
        each[i].seq = get_u64(foot)
        each[i].offset = get_u64(foot + 8)
        each[i].entries = get_u64(foot + 16)
        each[i].sum = get_u32(foot + 24)
        each[i].seen = get_u32(foot + 28)
        entries += each[i].entries
        if each[i].offset < offset or each[i].offset > w.size - size:
            return FAULT_FOOT
        offset = each[i].offset
        foot += FOOT_SHARD
    return 0 if entries == get_u64(p) and (shards == 0 or each[0].offset == SNAPSHOT_HEAD) else FAULT_FOOT


cdef BlockRead block_read(Window* w, uint64_t offset, uint64_t end, uint32_t shards, BlockHead* h, const char** entries) noexcept nogil:
    cdef const char* p
    if end - offset < BLOCK_HEAD:
        return BLOCK_HURT
    p = window_at(w, offset, BLOCK_HEAD)
    if p == NULL:
        return BLOCK_FAILED
    h.checksum = get_u32(p)
    h.size = get_u32(p + 4)
    h.shard = get_u32(p + 8)
    h.db = <uint8_t>p[12]
    h.seq = get_u64(p + 16)
    if get_u32(p + 12) >= DATABASES or h.shard >= shards or h.size > end - offset - BLOCK_HEAD:
        return BLOCK_HURT
    p = window_at(w, offset, <size_t>BLOCK_HEAD + h.size)
    if p == NULL:
        return BLOCK_FAILED
    entries[0] = p + BLOCK_HEAD
    return BLOCK_WHOLE if crc32c(0, p + BLOCK_SUM, BLOCK_HEAD - BLOCK_SUM + h.size) == h.checksum else BLOCK_HURT


cdef BlockRead block_search(Window* w, uint64_t* offset, uint64_t end, uint32_t shards) noexcept nogil:
    cdef BlockHead h
    cdef const char* entries
    cdef BlockRead read
    while end - offset[0] >= BLOCK_HEAD:
        read = block_read(w, offset[0], end, shards, &h, &entries)
        if read != BLOCK_HURT:
            return read
        offset[0] += 1
    offset[0] = end
    return BLOCK_WHOLE


cdef size_t entry_read(const char* p, size_t len, uint8_t db, Record* r) noexcept nogil:
    cdef size_t size
    if len < ENTRY_SIZE:
        return 0
    size = get_u32(p)
    if size > len - ENTRY_SIZE or not record_parse(p + ENTRY_SIZE, size, r) or r.kind != RECORD_PUT or r.db != db:
        return 0
    r.seq = 0
    return ENTRY_SIZE + size
