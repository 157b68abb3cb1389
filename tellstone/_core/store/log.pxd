"""Logs as those see them who change a shard: records appended to a buffer, under the shard's lock (store.wal brings them to the disk).

A change is followed by one call of log_put or its kin, in the same hold of the lock. Nothing is allocated in the steady state; a shard without a
log has a NULL for it, and the call is one test. A change that takes several records, or several shards, stands between wal_group_begin and
wal_group_end and is recovered as a whole or not at all.

ORDER: Log.syncing < Log.flushing < shard i < shard j < Wal.trouble: nobody who holds a shard's lock may wait for a log.
LOCK: `buffer`, `appended`, `bytes`, `bytes_taken`, `bytes_covered`, `changes` and `group_*` belong to the shard's lock; `spare`, `stuck`, `marked`, `next` and the
segment's `at` to flushing; the segment itself to both flushing and syncing; `written` to flushing, `synced` to syncing. What others look at too is
stored and loaded atomically.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.base.atomics cimport load_u32, load_u64, store_u64
from tellstone._core.base.bytesops cimport View
from tellstone._core.base.lock cimport Lock
from tellstone._core.base.platform cimport Thread
from tellstone._core.store.record cimport RecordBuffer
from tellstone._core.store.segment cimport SEGMENT_DIRECTORY, Segment

cdef enum WalHealth:
    WAL_SOUND = 0
    WAL_FULL = 1                    # no room on the disk
    WAL_BROKEN = 2                  # reading or writing failed (wal.error), or there was no memory for a record
    WAL_FOREIGN = 3                 # this process is a child of fork: the files are its parent's
    WAL_CLOSED = 4                  # it has come to its end, in order

cdef enum:
    LOGS_MAX = 1024                 # as many as a keyspace has shards at most
    WAL_WRITERS = 7                 # threads that write and sync for committers

cdef enum:
    NO_GROUP = -1

cdef struct Log:                    # of one shard
    RecordBuffer buffer             # records that no file has yet
    uint64_t appended               # sequence number of the last record in the buffer
    uint64_t bytes                  # appended since the wal was opened
    uint64_t bytes_taken            # of these, no longer in the buffer
    uint64_t bytes_covered          # of these, before the last snapshot began
    uint64_t changes                # since the wal was opened, what has expired left out
    int64_t group_at                # where a BEGIN stands in the buffer that waits for its count; NO_GROUP: none does
    uint64_t group_seq
    uint32_t index
    Wal* wal
    Lock* shard_lock                # set by the keyspace before wal_open
    Lock syncing
    Lock flushing
    RecordBuffer spare              # the buffer that is being written; they change places
    uint64_t spare_at               # so much of it has been
    uint64_t written                # last sequence number that the file has
    uint64_t synced                 # and that is on the disk
    uint64_t marked                 # and that a MARK has said so of
    Segment segment
    Segment next                    # reserved
    uint64_t next_room              # what the next one is to have
    uint32_t stuck                  # bool: a write was put off for want of room
    uint64_t pad[4]                 # a log's words are no neighbours of another's

cdef struct Writer:                 # a thread that flushes logs for committers
    Wal* wal
    Thread thread
    uint32_t work                   # index of a log + 1; 0: none; atomic

cdef struct Wal:
    char logs[SEGMENT_DIRECTORY]    # the directory's path
    uint64_t generation             # of the logs: moves on when the number of shards changes
    uint32_t count
    Log* log                        # `count` of them
    uint32_t policy                 # WalPolicy, atomic
    uint32_t health                 # WalHealth, atomic
    uint32_t error                  # errno of what has failed, with health; atomic
    uint32_t lost                   # bool, atomic: only wal_resume helps
    uint32_t stuck                  # logs that are; atomic
    uint64_t failures               # how often health has gone; atomic
    Lock trouble                    # over changes of these five
    uint64_t parts                  # files reserved, atomic
    uint32_t state                  # see store.wal; atomic
    uint32_t alarm                  # changes when the keeper is to look at once; atomic
    Thread keeper
    Writer writers[WAL_WRITERS]
    uint32_t writer_count
    uint64_t syncs                  # how many there were, for INFO; atomic

cdef inline void log_count(Log* log, uint64_t changes) noexcept nogil:
    store_u64(&log.changes, log.changes + changes)

# Appending, under the shard's lock, after the change. log may be NULL.
cdef inline void log_put(Log* log, int db, const char* entry) noexcept nogil:             # the whole entry
    if log != NULL:
        append_put(log, db, entry)
        log_count(log, 1)

cdef inline void log_patch(Log* log, int db, const char* entry, uint64_t offset, uint64_t len) noexcept nogil:
    """Bytes of a string and its size; an entry that is an integer is put as a whole."""
    if log != NULL:
        append_patch(log, db, entry, offset, len)
        log_count(log, 1)

cdef inline void log_deadline(Log* log, int db, const char* entry) noexcept nogil:
    if log != NULL:
        append_deadline(log, db, entry)
        log_count(log, 1)

cdef inline void log_delete(Log* log, int db, View key) noexcept nogil:
    if log != NULL:
        append_delete(log, db, key)
        log_count(log, 1)

cdef inline void log_expire(Log* log, int db, View key) noexcept nogil:
    """A DELETE that nobody has asked for, and so no change that counts."""
    if log != NULL:
        append_delete(log, db, key)

cdef inline void log_flush(Log* log, int db, uint64_t keys) noexcept nogil:             # how many there were
    if log != NULL:
        append_flush(log, db)
        log_count(log, keys)

cdef inline void log_swap(Log* log, int db, int other) noexcept nogil:
    if log != NULL:
        append_swap(log, db, other)
        log_count(log, 1)

cdef void append_put(Log* log, int db, const char* entry) noexcept nogil
cdef void append_patch(Log* log, int db, const char* entry, uint64_t offset, uint64_t len) noexcept nogil
cdef void append_deadline(Log* log, int db, const char* entry) noexcept nogil
cdef void append_delete(Log* log, int db, View key) noexcept nogil
cdef void append_flush(Log* log, int db) noexcept nogil
cdef void append_swap(Log* log, int db, int other) noexcept nogil

# A change of several shards, all of which (the bits of `shards`) are locked from before begin to after end. begin appends a BEGIN to each log, end
# writes into them how many records have come behind; where none has in any of them, all are taken back. For several records of one shard too: it is
# what makes them one change.
cdef void wal_group_begin(Wal* w, const uint64_t* shards, uint32_t words) noexcept nogil
cdef void wal_group_end(Wal* w, const uint64_t* shards, uint32_t words) noexcept nogil

# A snapshot of this shard begins, under its lock: the sequence number up to which it will hold everything. Counting of log_bytes starts again.
# While the log is lost, records up to here are thrown away: only a snapshot that begins now can be what it resumes behind.
cdef uint64_t log_cover(Log* log) noexcept nogil
cdef inline uint64_t log_bytes(const Log* log) noexcept nogil:
    """Bytes appended since the last snapshot of this shard began."""
    cdef uint64_t covered = load_u64(&log.bytes_covered)        # ORDER: first, so that the difference is never negative
    return load_u64(&log.bytes) - covered
cdef inline uint64_t log_pending(const Log* log) noexcept nogil:
    """Bytes in the buffer, for those who hold no lock."""
    cdef uint64_t taken = load_u64(&log.bytes_taken)
    return load_u64(&log.bytes) - taken

# The buffer's records are given up. Under the shard's lock, and not within a group.
cdef void log_drop(Log* log) noexcept nogil
# Something has failed. Without `lost` it is to be tried again.
cdef void wal_report(Wal* w, int error, bint lost) noexcept nogil
# Why changes are refused, in words; of a log that is sound those of errno 0.
cdef const char* wal_reason(Wal* w) noexcept nogil
cdef inline bint wal_is_lost(Wal* w) noexcept nogil:
    return load_u32(&w.lost) != 0
