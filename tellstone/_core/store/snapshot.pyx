"""Writing snapshots (see snapshot.pxd)."""
from libc.errno cimport EIO, ENAMETOOLONG, ENOMEM
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset, strlen, strrchr

from tellstone._core.base.atomics cimport load_u32, relaxed_u64, store_u32, store_u64
from tellstone._core.base.block cimport Block
from tellstone._core.base.bytesops cimport View, put_u32, view_of
from tellstone._core.base.disk cimport (
    DISK_CREATE, disk_close, disk_is_full, disk_open, disk_rename, disk_sync, disk_sync_all, disk_sync_directory, disk_unlink, disk_write,
)
from tellstone._core.base.lock cimport lock_acquire, lock_release
from tellstone._core.base.outbuf cimport OutBuf, outbuf_append_block, outbuf_clear, outbuf_free, outbuf_reserve
from tellstone._core.base.platform cimport mono_us, sleep_us, wall_ms
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.memory.checksum cimport crc32c
from tellstone._core.store.blocks cimport (
    BLOCK_HEAD, ENTRY_SIZE, SNAPSHOT_HEAD, SNAPSHOT_VERSION, BlockHead, ShardFoot, SnapshotHead, block_head_write, block_seal, foot_size,
    foot_write, snapshot_head_write,
)
from tellstone._core.store.catalog cimport PATH_ROOM
from tellstone._core.store.commit cimport wal_sync_all
from tellstone._core.store.entry cimport DATABASES, ENC_BLOCK, entry_block, entry_deadline, entry_encoding, entry_key, entry_type
from tellstone._core.store.keyspace cimport Keyspace, Store
from tellstone._core.store.log cimport Wal, log_cover, wal_is_lost
from tellstone._core.store.record cimport PUT_LEAST, entry_stored, put_body
from tellstone._core.store.shard cimport Partition, Shard
from tellstone._core.store.table cimport table_scan

import os

check_layout(__name__)

cdef enum:
    SYNC_BYTES = 4194304            # written between two syncs, so that the last one finds little to do
    BURST_US = 200
    NAP_MOST_US = 5000

cdef uint64_t ALL_TAGS = (<uint64_t>1) << 32

cdef struct Writer:
    Snapshot* s
    int fd
    bint gentle
    bint lost                       # the log was, when this began
    int64_t burst                   # when it began
    uint64_t offset                 # bytes written
    uint64_t unsynced
    ShardFoot* feet
    ShardFoot* foot                 # of the shard that is being written
    uint32_t shard
    int db
    uint8_t contents[DATABASES]     # of the shard, when it was begun
    OutBuf small                    # the head of a block and entries
    uint64_t entries                # of these
    OutBuf large                    # entries without their values, which are its blocks
    uint64_t visited                # entries in this slice
    uint64_t take                   # entries for the next slice


cdef bint snapshot_init(Snapshot* s, Keyspace* ks, uint64_t generation) noexcept nogil:
    memset(s, 0, sizeof(Snapshot))
    s.ks = ks
    s.generation = generation
    s.seqs = <uint64_t*>calloc(ks.shard_count, sizeof(uint64_t))
    return s.seqs != NULL


cdef void snapshot_free(Snapshot* s) noexcept nogil:
    free(s.seqs)
    s.seqs = NULL


# Files ----------------------------------------------------------------------------------------------------------


cdef SnapshotResult failed(Snapshot* s, int error) noexcept nogil:
    s.error = error if error else EIO
    return SNAPSHOT_FULL if disk_is_full(error) else SNAPSHOT_FAILED


cdef inline SnapshotResult outcome(Snapshot* s, int error) noexcept nogil:
    return failed(s, error) if error else SNAPSHOT_DONE


cdef SnapshotResult put(Writer* w, const char* p, size_t n) noexcept nogil:
    cdef int error = disk_write(w.fd, p, n, w.offset)
    if error:
        return failed(w.s, error)
    w.offset += n
    w.unsynced += n
    store_u64(&w.s.bytes, w.offset)
    if w.unsynced < SYNC_BYTES:
        return SNAPSHOT_DONE
    w.unsynced = 0
    return outcome(w.s, disk_sync(w.fd))


cdef void count_block(Writer* w, uint32_t sum, uint64_t entries) noexcept nogil:
    cdef char text[4]
    put_u32(text, sum)
    w.foot.sum = crc32c(w.foot.sum, text, 4)
    w.foot.entries += entries
    store_u64(&w.s.keys, relaxed_u64(&w.s.keys) + entries)


# Blocks ---------------------------------------------------------------------------------------------------------


cdef bint add_entry(OutBuf* into, int db, const char* entry, uint8_t encoding, View value, size_t more) noexcept nogil:
    """An entry whose value has `more` bytes than are given. False without memory, which the buffer notes."""
    cdef View key = entry_key(entry)
    cdef size_t size = PUT_LEAST + key.len + value.len
    cdef char* at = outbuf_reserve(into, ENTRY_SIZE + size)
    if at == NULL:
        return False
    put_u32(at, <uint32_t>(size + more))
    put_body(at + ENTRY_SIZE, db, entry_type(entry), encoding, entry_deadline(entry), key, value)
    into.len += ENTRY_SIZE + size
    return True


cdef void visit(void* owner, uint32_t handle, char* entry) noexcept nogil:
    """Takes what is past its time as well: a command that has read its clock earlier may still prolong it."""
    cdef Writer* w = <Writer*>owner
    cdef char scratch[8]
    cdef View value
    cdef uint8_t encoding = entry_stored(entry, scratch, &value)
    w.visited += 1
    if entry_encoding(entry) != ENC_BLOCK:
        add_entry(&w.small, w.db, entry, encoding, value, 0)
        w.entries += 1
    elif add_entry(&w.large, w.db, entry, encoding, view_of(scratch, 0), value.len):
        outbuf_append_block(&w.large, entry_block(entry))


cdef void begin_block(Writer* w) noexcept nogil:
    """Leave room for the head, if there is memory; otherwise the buffer says so later."""
    outbuf_clear(&w.small)
    w.entries = 0
    if outbuf_reserve(&w.small, BLOCK_HEAD) != NULL:
        w.small.len = BLOCK_HEAD


cdef void block_head(Writer* w, char* out, uint32_t checksum, size_t size) noexcept nogil:
    cdef BlockHead h
    h.checksum = checksum
    h.size = <uint32_t>size
    h.shard = w.shard
    h.db = <uint8_t>w.db
    h.seq = w.foot.seq
    block_head_write(out, &h)


cdef SnapshotResult write_small(Writer* w) noexcept nogil:
    cdef size_t size = w.small.len
    cdef SnapshotResult result
    if size <= BLOCK_HEAD:
        return SNAPSHOT_DONE
    block_head(w, w.small.data, 0, size - BLOCK_HEAD)
    count_block(w, block_seal(w.small.data, size - BLOCK_HEAD), w.entries)
    result = put(w, w.small.data, size)
    begin_block(w)
    return result


cdef SnapshotResult write_one_large(Writer* w, const char* entry, size_t len, const Block* block) noexcept nogil:
    """A block of its own, so that whoever reads needs no more memory than for one value."""
    cdef char head[BLOCK_HEAD]
    cdef uint32_t sum
    cdef SnapshotResult result
    block_head(w, head, 0, len + block.size)
    sum = crc32c(crc32c(crc32c(0, head + 4, BLOCK_HEAD - 4), entry, len), block.data, block.size)
    put_u32(head, sum)
    count_block(w, sum, 1)
    result = put(w, head, BLOCK_HEAD)
    if result == SNAPSHOT_DONE:
        result = put(w, entry, len)
    return put(w, block.data, block.size) if result == SNAPSHOT_DONE else result


cdef SnapshotResult write_large(Writer* w) noexcept nogil:
    cdef SnapshotResult result = SNAPSHOT_DONE
    cdef size_t at = 0
    cdef uint32_t i
    for i in range(w.large.ref_count):
        if result == SNAPSHOT_DONE:
            result = write_one_large(w, w.large.data + at, w.large.refs[i].at - at, w.large.refs[i].block)
        at = w.large.refs[i].at
    outbuf_clear(&w.large)
    return result


# Slices ---------------------------------------------------------------------------------------------------------


cdef void rest(Writer* w) noexcept nogil:
    cdef int64_t took
    if not w.gentle:
        return
    took = mono_us() - w.burst
    if took < BURST_US:
        return
    sleep_us(2 * took if 2 * took < NAP_MOST_US else NAP_MOST_US)
    w.burst = mono_us()


cdef void size_slice(Writer* w, size_t bytes_) noexcept nogil:
    """The next slice, judged by this one."""
    cdef uint64_t each = bytes_ // w.visited + 1 if w.visited else 1
    w.take = SLICE_BYTES // each
    if w.take > SLICE_ENTRIES:
        w.take = SLICE_ENTRIES
    elif w.take == 0:
        w.take = 1


cdef inline int place_of(const Shard* shard, uint8_t content) noexcept nogil:
    """The database that has a content now."""
    cdef int db = 0
    while shard.contents[db] != content:
        db += 1
    return db


cdef void take_slice(Writer* w, uint64_t* tag, int* kind) noexcept nogil:
    """Encode some entries from a tag on; the tag to go on from is left in *tag."""
    cdef Shard* shard = &w.s.ks.shards[w.shard]
    cdef Partition* p
    cdef size_t before = w.small.len
    w.visited = 0
    lock_acquire(&shard.lock)
    p = shard.parts[place_of(shard, w.contents[w.db])]
    if p == NULL:
        tag[0] = ALL_TAGS
    else:
        if kind[0] != <int>p.table.kind:
            tag[0] = 0              # the order has changed: begin the table again
            kind[0] = <int>p.table.kind
        tag[0] = table_scan(&p.table, &p.arena, tag[0], w.take, visit, w)
    lock_release(&shard.lock)
    size_slice(w, w.small.len - before)


cdef SnapshotResult write_database(Writer* w) noexcept nogil:
    cdef uint64_t tag = 0
    cdef int kind = -1
    cdef SnapshotResult result = SNAPSHOT_DONE
    begin_block(w)
    while result == SNAPSHOT_DONE and tag < ALL_TAGS:
        if load_u32(&w.s.cancelled):
            return SNAPSHOT_CANCELLED
        take_slice(w, &tag, &kind)
        if w.small.failed or w.large.failed:
            result = failed(w.s, ENOMEM)
        if result == SNAPSHOT_DONE and w.large.ref_count:
            result = write_large(w)
        if result == SNAPSHOT_DONE and w.small.len >= SNAPSHOT_BLOCK:
            result = write_small(w)
        rest(w)
    return write_small(w) if result == SNAPSHOT_DONE else result


cdef void note_shard(Writer* w) noexcept nogil:
    """Before its first slice: what the log of the shard says from here on must be replayed, on databases that are named as they are here."""
    cdef Shard* shard = &w.s.ks.shards[w.shard]
    lock_acquire(&shard.lock)
    if shard.log != NULL:
        w.foot.seq = log_cover(shard.log)
        w.s.changes += shard.log.changes
    memcpy(w.contents, shard.contents, sizeof(w.contents))
    lock_release(&shard.lock)
    w.foot.offset = w.offset
    w.s.seqs[w.shard] = w.foot.seq


cdef inline uint32_t clamped(uint64_t n) noexcept nogil:
    return <uint32_t>n if n < UINT32_MAX else UINT32_MAX


cdef void note_seen(Writer* w) noexcept nogil:
    """Behind its last slice: entries are in states of up to now."""
    cdef Shard* shard = &w.s.ks.shards[w.shard]
    cdef uint64_t seen
    lock_acquire(&shard.lock)
    seen = shard.log.buffer.seq - w.foot.seq if shard.log != NULL else 0
    lock_release(&shard.lock)
    w.foot.seen = clamped(seen)


cdef SnapshotResult write_shard(Writer* w) noexcept nogil:
    cdef SnapshotResult result = SNAPSHOT_DONE
    note_shard(w)
    w.db = 0
    while result == SNAPSHOT_DONE and w.db < DATABASES:
        result = write_database(w)
        w.db += 1
    note_seen(w)
    return result


# The whole ------------------------------------------------------------------------------------------------------


cdef SnapshotResult write_head(Writer* w) noexcept nogil:
    cdef SnapshotHead h
    cdef char out[SNAPSHOT_HEAD]
    h.version = SNAPSHOT_VERSION
    h.shards = w.s.ks.shard_count
    h.generation = w.s.generation
    h.begun_ms = w.s.begun_ms
    snapshot_head_write(out, &h)
    return put(w, out, SNAPSHOT_HEAD)


cdef SnapshotResult write_foot(Writer* w) noexcept nogil:
    cdef int64_t took = wall_ms() - w.s.begun_ms            # of a clock that may have been set meanwhile
    cdef size_t size = foot_size(w.s.ks.shard_count)
    cdef char* out = <char*>malloc(size)
    cdef SnapshotResult result
    if out == NULL:
        return failed(w.s, ENOMEM)
    foot_write(out, w.s.ks.shard_count, w.feet, w.offset, clamped(<uint64_t>took if took > 0 else 0))
    result = put(w, out, size)
    free(out)
    return result


cdef inline Wal* wal_of(const Keyspace* ks) noexcept nogil:
    return ks.shards[0].log.wal if ks.shards[0].log != NULL else NULL


cdef SnapshotResult sync_logs(Writer* w) noexcept nogil:
    """ORDER: the logs before the snapshot counts. A slice may have seen a change whose record is in no file yet.
    A log that was lost before the snapshot began cannot be synced and need not be: what it has is covered, or has been acknowledged to nobody."""
    cdef Wal* wal = wal_of(w.s.ks)
    if wal != NULL and not w.lost and not wal_sync_all(wal):
        return failed(w.s, <int>load_u32(&wal.error))
    return SNAPSHOT_DONE


cdef SnapshotResult write_all(Writer* w) noexcept nogil:
    cdef SnapshotResult result = write_head(w)
    cdef uint32_t i
    for i in range(w.s.ks.shard_count):
        if result == SNAPSHOT_DONE:
            w.shard = i
            w.foot = &w.feet[i]
            result = write_shard(w)
    if result == SNAPSHOT_DONE:
        result = sync_logs(w)
    return write_foot(w) if result == SNAPSHOT_DONE else result


cdef SnapshotResult sync_file(Writer* w) noexcept nogil:
    cdef SnapshotResult result = outcome(w.s, disk_sync_all(w.fd))
    return SNAPSHOT_CANCELLED if result == SNAPSHOT_DONE and load_u32(&w.s.cancelled) else result


cdef SnapshotResult write_file(Writer* w, const char* part, const char* path, const char* directory) noexcept nogil:
    cdef SnapshotResult result
    disk_unlink(part)               # left over from a crash, if there is one
    w.fd = disk_open(part, DISK_CREATE)
    if w.fd < 0:
        return failed(w.s, -w.fd)
    result = write_all(w)
    if result == SNAPSHOT_DONE:
        result = sync_file(w)
    disk_close(w.fd)
    if result == SNAPSHOT_DONE:
        result = outcome(w.s, disk_rename(part, path))
    if result != SNAPSHOT_DONE:
        disk_unlink(part)
        return result
    return outcome(w.s, disk_sync_directory(directory))     # a failure leaves it in its place, whole, but the log stays


cdef SnapshotResult write_as(Writer* w, const char* path) noexcept nogil:
    cdef char part[PATH_ROOM]
    cdef char directory[PATH_ROOM]
    cdef char* slash
    if strlen(path) + 6 > PATH_ROOM:
        return failed(w.s, ENAMETOOLONG)
    snprintf(part, PATH_ROOM, b"%s.part", path)
    snprintf(directory, PATH_ROOM, b"%s", path)
    slash = strrchr(directory, c"/")
    if slash != NULL:
        slash[0] = 0
    else:
        snprintf(directory, PATH_ROOM, b".")
    return write_file(w, part, path, directory)


cdef SnapshotResult snapshot_write(Snapshot* s, const char* path, bint gentle) noexcept nogil:
    cdef Writer w
    cdef Wal* wal = wal_of(s.ks)
    cdef SnapshotResult result
    memset(&w, 0, sizeof(Writer))
    w.s = s
    w.gentle = gentle
    w.lost = wal != NULL and wal_is_lost(wal)
    w.take = 16
    w.burst = mono_us()
    w.feet = <ShardFoot*>calloc(s.ks.shard_count, sizeof(ShardFoot))
    s.begun_ms = wall_ms()
    result = write_as(&w, path) if w.feet != NULL else failed(s, ENOMEM)
    outbuf_free(&w.small)
    outbuf_free(&w.large)
    free(w.feet)
    s.ended_ms = wall_ms()
    return result


# For Python -----------------------------------------------------------------------------------------------------


cdef class SnapshotJob:
    """One snapshot of a store: written by one thread, watched and cancelled by others."""

    cdef Store store
    cdef Snapshot s
    cdef bint used

    def __cinit__(self, Store store not None, unsigned long long generation=1):
        self.store = store
        if not snapshot_init(&self.s, store.ks, generation):
            raise MemoryError("no memory for a snapshot")

    def __dealloc__(self):
        snapshot_free(&self.s)

    def write(self, path not None, *, bint gentle=False):
        """Write it; False if it was cancelled. Raises OSError."""
        cdef bytes name = os.fsencode(path)
        cdef const char* at = name
        cdef SnapshotResult result
        if self.used:
            raise ValueError("a job is for one snapshot")
        self.used = True
        with nogil:
            result = snapshot_write(&self.s, at, gentle)
        if result == SNAPSHOT_FULL or result == SNAPSHOT_FAILED:
            raise OSError(self.s.error, os.strerror(self.s.error), os.fsdecode(path))
        return result == SNAPSHOT_DONE

    def cancel(self):
        """Let it end as soon as may be, without a trace."""
        store_u32(&self.s.cancelled, 1)

    @property
    def changes(self):
        """How many the log had counted (StoreLog.changes) up to what is in the snapshot for sure."""
        return self.s.changes

    @property
    def keys(self):
        """Entries written so far."""
        return relaxed_u64(&self.s.keys)

    @property
    def bytes(self):
        """Bytes written so far."""
        return relaxed_u64(&self.s.bytes)

    @property
    def begun_ms(self):
        """Unix time of the beginning, 0 before it."""
        return self.s.begun_ms

    @property
    def ended_ms(self):
        """Unix time of the end, 0 before it."""
        return self.s.ended_ms

    @property
    def seqs(self):
        """The number of each shard from which its log goes on."""
        return [self.s.seqs[i] for i in range(self.s.ks.shard_count)]


def snapshot(Store store not None, path not None, unsigned long long generation=1):
    """Write a snapshot of a store to a file, as fast as it goes. Answers the number of entries. Raises OSError."""
    cdef SnapshotJob job = SnapshotJob(store, generation)
    job.write(path)
    return job.keys
