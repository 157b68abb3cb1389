"""Logs as those see them who change a shard (see log.pxd)."""
from libc.errno cimport ENOMEM
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport strerror

from tellstone._core.base.atomics cimport load_u32, store_u32, store_u64
from tellstone._core.base.bytesops cimport View, get_u32, view_of
from tellstone._core.base.debug cimport check
from tellstone._core.base.disk cimport disk_is_full
from tellstone._core.base.lock cimport lock_acquire, lock_release
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.store.entry cimport ENC_INT, entry_deadline, entry_key, entry_type
from tellstone._core.store.record cimport (
    RECORD_HEAD, entry_stored, record_begin, record_deadline, record_delete, record_flush, record_patch, record_put, record_set_count,
    record_swap,
)

check_layout(__name__)

cdef void wal_report(Wal* w, int error, bint lost) noexcept nogil:
    lock_acquire(&w.trouble)
    if lost:
        store_u32(&w.lost, 1)
    if load_u32(&w.health) == WAL_SOUND:
        store_u64(&w.failures, w.failures + 1)      # ORDER: before health, so whoever sees that it has gone again sees another number
    store_u32(&w.error, <uint32_t>error)
    store_u32(&w.health, WAL_FULL if disk_is_full(error) else WAL_BROKEN)
    lock_release(&w.trouble)


cdef const char* wal_reason(Wal* w) noexcept nogil:
    cdef uint32_t health = load_u32(&w.health)
    if health == WAL_FOREIGN:
        return b"the engine belongs to the parent process, of which this one is a fork"
    if health == WAL_CLOSED:
        return b"the log is closed"
    return strerror(<int>load_u32(&w.error))


# Appending ------------------------------------------------------------------------------------------------------


cdef void give_up(Log* log) noexcept nogil:
    """The buffer has failed: a change is in memory that no record tells of. LOCK: the shard's."""
    if not wal_is_lost(log.wal):
        wal_report(log.wal, ENOMEM, True)


cdef inline void publish(Log* log, size_t was) noexcept nogil:
    """Tell committers of what has been appended since the buffer was `was` bytes long."""
    store_u64(&log.appended, log.buffer.seq)
    store_u64(&log.bytes, log.bytes + (log.buffer.len - was))
    if log.buffer.failed:
        give_up(log)


cdef void append_put(Log* log, int db, const char* entry) noexcept nogil:
    cdef size_t was = log.buffer.len
    cdef char scratch[8]
    cdef View value
    cdef uint8_t encoding = entry_stored(entry, scratch, &value)
    record_put(&log.buffer, db, entry_type(entry), encoding, entry_deadline(entry), entry_key(entry), value)
    publish(log, was)


cdef void append_patch(Log* log, int db, const char* entry, uint64_t offset, uint64_t len) noexcept nogil:
    cdef size_t was = log.buffer.len
    cdef char scratch[8]
    cdef View value
    if entry_stored(entry, scratch, &value) == ENC_INT:
        append_put(log, db, entry)
        return
    check(offset + len <= value.len)
    record_patch(&log.buffer, db, entry_key(entry), offset, value.len, view_of(value.ptr + offset, len))
    publish(log, was)


cdef void append_deadline(Log* log, int db, const char* entry) noexcept nogil:
    cdef size_t was = log.buffer.len
    record_deadline(&log.buffer, db, entry_deadline(entry), entry_key(entry))
    publish(log, was)


cdef void append_delete(Log* log, int db, View key) noexcept nogil:
    cdef size_t was = log.buffer.len
    record_delete(&log.buffer, db, key)
    publish(log, was)


cdef void append_flush(Log* log, int db) noexcept nogil:
    cdef size_t was = log.buffer.len
    record_flush(&log.buffer, db)
    publish(log, was)


cdef void append_swap(Log* log, int db, int other) noexcept nogil:
    cdef size_t was = log.buffer.len
    record_swap(&log.buffer, db, other)
    publish(log, was)


cdef uint64_t log_cover(Log* log) noexcept nogil:
    if wal_is_lost(log.wal):
        log_drop(log)
        log.buffer.failed = 0
    store_u64(&log.bytes_covered, log.bytes)
    return log.buffer.seq


cdef void log_drop(Log* log) noexcept nogil:
    """LOCK: the shard's. Not within a group."""
    log.buffer.len = 0
    store_u64(&log.bytes_taken, log.bytes)


# Changes of several shards --------------------------------------------------------------------------------------


cdef inline bint has_shard(const uint64_t* shards, uint32_t words, uint32_t i) noexcept nogil:
    return i >> 6 < words and shards[i >> 6] >> (i & 63) & 1


cdef void wal_group_begin(Wal* w, const uint64_t* shards, uint32_t words) noexcept nogil:
    """What is appended here is told to committers with the group's records: nobody could take it before the shards are unlocked."""
    cdef uint32_t indexes[LOGS_MAX]
    cdef uint64_t seqs[LOGS_MAX]
    cdef uint32_t i, parts = 0
    cdef Log* log
    for i in range(w.count):
        if has_shard(shards, words, i):
            indexes[parts] = i
            seqs[parts] = w.log[i].buffer.seq + 1
            parts += 1
    for i in range(parts):
        log = &w.log[indexes[i]]
        log.group_at = <int64_t>log.buffer.len
        log.group_seq = seqs[i]
        record_begin(&log.buffer, 0, parts, indexes, seqs)
        if log.buffer.failed:
            log.group_at = NO_GROUP


cdef void end_part(Log* log, bint empty) noexcept nogil:
    """Write the count, or take the BEGIN back. A buffer that failed within the group keeps the count too: it will not be written."""
    cdef size_t at
    if log.group_at == NO_GROUP:
        return
    at = <size_t>log.group_at
    if empty:
        log.buffer.len = at
        log.buffer.seq -= 1
    else:
        record_set_count(log.buffer.data + at, <uint32_t>(log.buffer.seq - log.group_seq))
        store_u64(&log.appended, log.buffer.seq)
        store_u64(&log.bytes, log.bytes + (RECORD_HEAD + get_u32(log.buffer.data + at + 4)))
    log.group_at = NO_GROUP


cdef void wal_group_end(Wal* w, const uint64_t* shards, uint32_t words) noexcept nogil:
    cdef uint32_t i
    cdef bint empty = True
    for i in range(w.count):
        if has_shard(shards, words, i) and w.log[i].group_at != NO_GROUP and w.log[i].buffer.seq != w.log[i].group_seq:
            empty = False
    for i in range(w.count):
        if has_shard(shards, words, i):
            end_part(&w.log[i], empty)
