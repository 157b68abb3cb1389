"""Reading snapshots (see unpack.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from tellstone._core.base.atomics cimport add_u64
from tellstone._core.base.bytesops cimport put_u32
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.memory.checksum cimport crc32c
from tellstone._core.store.blocks cimport (
    BLOCK_FAILED, BLOCK_HEAD, BLOCK_HURT, BLOCK_WHOLE, SNAPSHOT_HEAD, SNAPSHOT_VERSION, BlockHead, BlockRead, block_read, block_search, entry_read, foot_read, foot_shards,
    foot_size, snapshot_head_read,
)
from tellstone._core.store.catalog cimport (
    FAULT_BLOCK, FAULT_ENTRY, FAULT_HEAD, FAULT_NAME, FAULT_NEWER, FAULT_SUM, FAULT_TYPE, NO_SHARD, PATH_ROOM, Fault, FaultKind, SnapshotFile, fault_set,
    faults_add, full_path, snapshot_name,
)
from tellstone._core.store.keyspace cimport SHARDS_MAX
from tellstone._core.store.record cimport Record
from tellstone._core.store.replay cimport REPLAY_OK, replay_batch, replay_knows, replay_take
from tellstone._core.store.window cimport window_open

check_layout(__name__)

cdef struct Tally:                  # of the blocks of a shard
    uint64_t entries
    uint32_t sum
    bint hurt


cdef UnpackRead fault(Unpack* u, FaultKind kind, uint32_t shard, uint64_t offset, uint64_t length) noexcept nogil:
    """Note it; what it means for the reader."""
    cdef Fault f
    if u.faults != NULL:
        fault_set(&f, kind, u.name, shard, offset, length)
        f.version = u.head.version if kind == FAULT_NEWER else 0
        faults_add(u.faults, &f)
    return UNPACK_OK if u.lenient else UNPACK_STOP


# Head and foot --------------------------------------------------------------------------------------------------


cdef bint open_file(const Unpack* u, Window* w) noexcept nogil:
    cdef char path[PATH_ROOM + NAME_ROOM]
    full_path(path, u.catalog, u.name)
    return window_open(w, path)


cdef UnpackRead open_head(Unpack* u, const SnapshotFile* f, Window* w) noexcept nogil:
    cdef int got = snapshot_head_read(w, &u.head)
    if got < 0:
        return UNPACK_FAILED
    if got == FAULT_HEAD:
        u.head.version = SNAPSHOT_VERSION       # as far as it is known
    if got == 0 and u.head.generation != f.generation:
        got = FAULT_NAME
    elif got == 0 and not 1 <= u.head.shards <= SHARDS_MAX:
        got = FAULT_HEAD
    if got == 0:
        return UNPACK_OK
    fault(u, <FaultKind>got, NO_SHARD, 0, SNAPSHOT_HEAD if SNAPSHOT_HEAD < w.size else w.size)
    u.head.shards = 0
    return UNPACK_STOP


cdef UnpackRead open_foot(Unpack* u, Window* w) noexcept nogil:
    cdef size_t size = foot_size(u.head.shards)
    cdef uint32_t took_ms = 0
    cdef int got
    u.feet = <ShardFoot*>calloc(u.head.shards, sizeof(ShardFoot))
    if u.feet == NULL:
        return UNPACK_NOMEM
    got = foot_read(w, u.head.shards, u.feet, &took_ms)
    if got == 0:
        u.end = w.size - size
        u.whole_ms = u.head.begun_ms + took_ms
        return UNPACK_OK
    free(u.feet)
    u.feet = NULL
    if got < 0:
        return UNPACK_FAILED
    if size > w.size:
        size = <size_t>w.size
    fault(u, <FaultKind>got, NO_SHARD, w.size - size, size)
    return UNPACK_STOP


cdef UnpackRead unpack_open(Unpack* u, const Catalog* catalog, uint32_t i, bint lenient, Faults* faults, Window* w) noexcept nogil:
    cdef UnpackRead result
    memset(u, 0, sizeof(Unpack))
    u.catalog = catalog
    u.lenient = lenient
    u.faults = faults
    snapshot_name(u.name, &catalog.snapshots[i])
    if not open_file(u, w):
        return UNPACK_FAILED
    u.end = w.size
    result = open_head(u, &catalog.snapshots[i], w)
    if result == UNPACK_STOP and lenient and u.head.version <= SNAPSHOT_VERSION:
        u.head.generation = catalog.snapshots[i].generation
        u.head.shards = foot_shards(w)          # the foot says as much as the head
        if u.head.shards:
            return open_foot(u, w)
    return open_foot(u, w) if result == UNPACK_OK else result


cdef void unpack_close(Unpack* u) noexcept nogil:
    free(u.feet)
    u.feet = NULL


# Blocks ---------------------------------------------------------------------------------------------------------


cdef UnpackRead replay(Replay* p) noexcept nogil:
    return UNPACK_OK if replay_batch(p) == REPLAY_OK else UNPACK_NOMEM


cdef UnpackRead read_entries(Unpack* u, const BlockHead* h, uint64_t offset, const char* entries, Replay* p, Tally* tally) noexcept nogil:
    cdef Record r
    cdef size_t at = 0, size
    cdef uint64_t count = 0
    cdef UnpackRead result = UNPACK_OK
    while at < h.size and result == UNPACK_OK:
        size = entry_read(entries + at, h.size - at, h.db, &r)
        if size == 0:
            tally.hurt = True
            return fault(u, FAULT_ENTRY, h.shard, offset + BLOCK_HEAD + at, h.size - at)
        if not replay_knows(&r):
            tally.hurt = True
            result = fault(u, FAULT_TYPE, h.shard, offset + BLOCK_HEAD + at, size)
        elif p != NULL and replay_take(p, &r):
            result = replay(p)
        at += size
        count += 1
    if p != NULL and result == UNPACK_OK:
        result = replay(p)                      # LIFETIME: before the window moves
    tally.entries += count
    if u.keys != NULL:
        add_u64(u.keys, count)
    return result


cdef void count_block(Unpack* u, const BlockHead* h, Tally* tally) noexcept nogil:
    cdef char text[4]
    put_u32(text, h.checksum)
    tally.sum = crc32c(tally.sum, text, 4)
    if u.bytes != NULL:
        add_u64(u.bytes, BLOCK_HEAD + h.size)


cdef UnpackRead pass_hurt(Unpack* u, Window* w, uint32_t shard, uint32_t shards, uint64_t* offset, uint64_t end) noexcept nogil:
    """Note what is hurt, up to the next whole block."""
    cdef uint64_t at = offset[0]
    offset[0] += 1
    if block_search(w, offset, end, shards) == BLOCK_FAILED:
        return UNPACK_FAILED
    if u.feet == NULL and offset[0] == w.size and w.size - at <= foot_size(shards):
        return UNPACK_OK                        # what is left of the foot, which has been noted
    return fault(u, FAULT_BLOCK, shard, at, offset[0] - at)


cdef UnpackRead unpack_shard(Unpack* u, Window* w, uint32_t shard, Replay* p) noexcept nogil:
    cdef uint64_t at = u.feet[shard].offset
    cdef uint64_t end = u.feet[shard + 1].offset if shard + 1 < u.head.shards else u.end
    cdef Tally tally
    cdef BlockHead h
    cdef const char* entries
    cdef BlockRead read
    cdef UnpackRead result = UNPACK_OK
    memset(&tally, 0, sizeof(Tally))
    if not open_file(u, w):
        return UNPACK_FAILED
    while at < end and result == UNPACK_OK:
        read = block_read(w, at, end, u.head.shards, &h, &entries)
        if read == BLOCK_FAILED:
            return UNPACK_FAILED
        if read == BLOCK_HURT:
            tally.hurt = True
            result = pass_hurt(u, w, shard, u.head.shards, &at, end)
            continue
        if h.shard != shard or h.seq != u.feet[shard].seq:
            tally.hurt = True
            result = fault(u, FAULT_SUM, shard, at, BLOCK_HEAD + h.size)
        else:
            count_block(u, &h, &tally)
            result = read_entries(u, &h, at, entries, p, &tally)
        at += BLOCK_HEAD + h.size
    if result == UNPACK_OK and not tally.hurt and (tally.sum != u.feet[shard].sum or tally.entries != u.feet[shard].entries):
        result = fault(u, FAULT_SUM, shard, u.feet[shard].offset, end - u.feet[shard].offset)
    return result


cdef UnpackRead unpack_walk(Unpack* u, Window* w, uint32_t shards, uint64_t* seqs, Replay* each) noexcept nogil:
    cdef uint64_t at = SNAPSHOT_HEAD if SNAPSHOT_HEAD < u.end else u.end    # the head has been read, or its fault noted
    cdef Tally tally
    cdef BlockHead h
    cdef const char* entries
    cdef BlockRead read
    cdef UnpackRead result = UNPACK_OK
    memset(&tally, 0, sizeof(Tally))
    if not open_file(u, w):
        return UNPACK_FAILED
    while at < u.end and result == UNPACK_OK:
        read = block_read(w, at, u.end, shards, &h, &entries)
        if read == BLOCK_FAILED:
            return UNPACK_FAILED
        if read == BLOCK_HURT:
            result = pass_hurt(u, w, NO_SHARD, shards, &at, u.end)
            continue
        if seqs != NULL:
            seqs[h.shard] = h.seq
        result = read_entries(u, &h, at, entries, &each[h.shard] if each != NULL else NULL, &tally)
        at += BLOCK_HEAD + h.size
    return result
