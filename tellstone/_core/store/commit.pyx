"""From a shard's buffer to the disk (see commit.pxd).

Three kinds of threads meet at a log: those that change its shard append to `buffer`; committers, the writers that help them, and the keeper take
that buffer, write it and sync it. Taking is an exchange with `spare` under the shard's lock, so nobody who changes a shard waits for a disk.
Committers need no list of waiting requests: whoever gets the `syncing` lock looks first whether its records have become safe while it waited, and
if not takes along what all others have appended by then.

The rejected alternative to handing logs to threads is one file for all shards: one sync a tick, but one lock for all writers, and recovery could not
load shards side by side. Syncs of several files at once are joined in the file system's journal and the drive.
"""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from tellstone._core.base.atomics cimport add_u32, add_u64, cas_u32, load_u32, load_u64, relaxed_u32, store_u64
from tellstone._core.base.bytesops cimport get_u32, get_u64
from tellstone._core.base.disk cimport disk_is_full, disk_sync, disk_sync_directory, disk_write
from tellstone._core.base.lock cimport lock_acquire, lock_release, lock_try, word_wake
from tellstone._core.base.platform cimport wall_ms
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.store.log cimport LOGS_MAX, WAL_CLOSED, WAL_SOUND, Log, Wal, log_pending, wal_is_lost, wal_report
from tellstone._core.store.record cimport RECORD_HEAD, RECORD_MARK, buffer_free, record_mark
from tellstone._core.store.segment cimport (
    SEGMENT_HEAD, SEGMENT_VERSION, Segment, SegmentHead, segment_close, segment_discard, segment_extend, segment_name, segment_reserve,
)

check_layout(__name__)

cdef enum:
    SPARE_KEEP = 1048576            # a buffer that has grown past it gives its memory back when it has been written


cdef void log_set_stuck(Log* log, bint stuck) noexcept nogil:
    if log.stuck != <uint32_t>stuck:
        log.stuck = <uint32_t>stuck
        add_u32(&log.wal.stuck, 1 if stuck else <uint32_t>-1)


cdef void wal_call_keeper(Wal* w) noexcept nogil:
    add_u32(&w.alarm, 1)
    word_wake(&w.alarm)


# Writing --------------------------------------------------------------------------------------------------------


cdef bint take_buffer(Log* log) noexcept nogil:
    """Exchange the buffer for the spare, which has been written. False: there was nothing in it. LOCK: flushing."""
    cdef bint some
    lock_acquire(log.shard_lock)
    some = log.buffer.len > 0
    if some:
        log.spare, log.buffer = log.buffer, log.spare
        log.buffer.seq = log.spare.seq
        log.buffer.failed = log.spare.failed
        log.spare.failed = 0
        store_u64(&log.bytes_taken, log.bytes)
    lock_release(log.shard_lock)
    if some:
        log_mark(log)
    return some


cdef void log_mark(Log* log) noexcept nogil:
    """Without memory for it there is none, and no harm."""
    cdef uint64_t synced = load_u64(&log.synced)
    record_mark(&log.spare, wall_ms(), synced)
    if not log.spare.failed:
        log.marked = synced
    log.spare.failed = 0


cdef void spare_is_written(Log* log) noexcept nogil:
    store_u64(&log.written, log.spare.seq)
    log.spare.len = 0
    log.spare_at = 0
    if log.spare.cap > SPARE_KEEP:
        buffer_free(&log.spare)


cdef size_t whole_records(const char* p, size_t len, uint64_t room) noexcept nogil:
    """How many of the bytes are records that fit the room."""
    cdef size_t n = 0, size
    if len <= room:
        return len
    while n < len:
        size = RECORD_HEAD + <size_t>get_u32(p + n + 4)
        if n + size > room:
            break
        n += size
    return n


cdef Outcome log_drain(Log* log, bint whole) noexcept nogil:
    cdef size_t n
    cdef int failed
    cdef Segment* s = &log.segment
    if wal_is_lost(log.wal) or log.stuck or s.fd < 0:       # the log is closed
        return OUTCOME_FAILED
    while log.spare_at < log.spare.len:
        n = whole_records(log.spare.data + log.spare_at, log.spare.len - log.spare_at, s.room - s.at)
        if n == 0:
            if not whole:
                return OUTCOME_LEFT
            if not next_segment(log):
                return OUTCOME_FAILED
            continue
        failed = disk_write(s.fd, log.spare.data + log.spare_at, n, s.at)
        if failed:
            put_off(log, failed)
            return OUTCOME_FAILED
        s.at += n
        log.spare_at += n
    if log.spare.len:
        spare_is_written(log)
    return OUTCOME_DONE


cdef void put_off(Log* log, int failed) noexcept nogil:
    """A write has failed. Where there was no room it can be done again, at the same place; of anything else nobody knows what it has left."""
    if disk_is_full(failed):
        log_set_stuck(log, True)
    wal_report(log.wal, failed, not disk_is_full(failed))


cdef inline bint needs_next(const Log* log) noexcept nogil:
    """LOCK: flushing."""
    return log.next.fd < 0 and log.segment.at > log.segment.room // 2


cdef Outcome log_write(Log* log, bint whole) noexcept nogil:
    cdef Outcome outcome = log_drain(log, whole)
    if outcome == OUTCOME_DONE and take_buffer(log):
        outcome = log_drain(log, whole)
    if needs_next(log) and load_u32(&log.wal.health) == WAL_SOUND:
        wal_call_keeper(log.wal)
    return outcome


cdef bint log_sync(Log* log, uint64_t upto) noexcept nogil:
    """ORDER: a sync says nothing of what is written after it began, so the caller has read `upto` before."""
    cdef int failed
    if wal_is_lost(log.wal):
        return False
    failed = disk_sync(log.segment.fd)
    if failed:
        wal_report(log.wal, failed, True)
        return False
    add_u64(&log.wal.syncs, 1)
    store_u64(&log.synced, upto)
    return True


cdef bint log_secure(Log* log, uint64_t wanted) noexcept nogil:
    cdef bint safe
    lock_acquire(&log.syncing)
    safe = load_u64(&log.synced) >= wanted          # whoever held the lock may have taken ours along
    if not safe:
        lock_acquire(&log.flushing)
        safe = log_write(log, True) == OUTCOME_DONE
        lock_release(&log.flushing)
        safe = safe and (load_u64(&log.synced) >= wanted or log_sync(log, load_u64(&log.written)))
    lock_release(&log.syncing)
    return safe


# Segments -------------------------------------------------------------------------------------------------------


cdef uint64_t room_for(uint64_t next_room, uint64_t record) noexcept nogil:
    return next_room if record + SEGMENT_HEAD <= next_room else record + SEGMENT_HEAD


cdef int reserve(Wal* w, Segment* s, uint64_t room) noexcept nogil:
    return segment_reserve(s, w.logs, add_u64(&w.parts, 1), room, load_u32(&w.policy) == WAL_ALWAYS)


cdef int name_segment(Log* log, Segment* s, uint64_t first) noexcept nogil:
    """A reserved segment becomes one of the log; its directory is still to be synced."""
    cdef SegmentHead head
    memset(&head, 0, sizeof(head))
    head.version = SEGMENT_VERSION
    head.shard = log.index
    head.shards = log.wal.count
    head.generation = log.wal.generation
    head.first = first
    head.time = wall_ms()
    return segment_name(s, log.wal.logs, &head)


cdef void install(Log* log, Segment* s) noexcept nogil:
    """LOCK: flushing and syncing. ORDER: a fork finds no descriptor here that has been closed (segment_close)."""
    cdef Segment old = log.segment
    log.segment = s[0]
    s.fd = -1
    segment_close(&old)
    log.next_room = s.room * 2 if s.room * 2 < SEGMENT_MOST else SEGMENT_MOST


cdef int log_begin(Log* log, uint64_t seq) noexcept nogil:
    cdef Segment s
    cdef int failed = reserve(log.wal, &s, SEGMENT_LEAST)
    if failed:
        return failed
    failed = name_segment(log, &s, seq + 1)
    if failed:
        segment_discard(&s, log.wal.logs)
        return failed
    segment_discard(&log.next, log.wal.logs)
    install(log, &s)
    log.spare.len = 0
    log.spare.seq = seq
    log.spare_at = 0
    log.marked = seq
    store_u64(&log.written, seq)
    store_u64(&log.synced, seq)
    return 0


cdef bint next_segment(Log* log) noexcept nogil:
    """End the segment and begin another with the record that is to be written. Its number says what the one before it ends with, so all of that is
    synced first. LOCK: flushing and syncing."""
    cdef const char* record = log.spare.data + log.spare_at
    cdef uint64_t room = room_for(log.next_room, RECORD_HEAD + <uint64_t>get_u32(record + 4))
    cdef uint64_t first = get_u64(record + 8)
    cdef int failed = 0
    if record[RECORD_HEAD] == RECORD_MARK:
        first += 1
    if not log_sync(log, first - 1):
        return False
    if log.next.fd < 0:
        failed = reserve(log.wal, &log.next, room)
    elif log.next.room < room:
        failed = segment_extend(&log.next, room)
    if failed:                                      # nothing has been lost by that
        log_set_stuck(log, True)
        wal_report(log.wal, failed, False)
        return False
    failed = name_segment(log, &log.next, first)
    if not failed:
        failed = disk_sync_directory(log.wal.logs)
    if failed:
        wal_report(log.wal, failed, True)
        return False
    store_u64(&log.written, first - 1)
    install(log, &log.next)
    return True


cdef int log_reserve(Log* log) noexcept nogil:
    """Reserve a segment for a log that will soon need it: slow, so no lock is held."""
    cdef Segment s
    cdef uint64_t room
    cdef int failed
    lock_acquire(&log.flushing)
    room = log.next_room if needs_next(log) else 0
    lock_release(&log.flushing)
    if room == 0:
        return 0
    failed = reserve(log.wal, &s, room)
    if failed:
        return failed
    lock_acquire(&log.flushing)
    if log.next.fd < 0 and not wal_is_lost(log.wal):
        log.next = s
        s.fd = -1
    lock_release(&log.flushing)
    segment_discard(&s, log.wal.logs)
    return 0


# Commit ---------------------------------------------------------------------------------------------------------


cdef bint hand_over(Wal* w, uint32_t index) noexcept nogil:
    """Give a log to a writer that has nothing to do. Nobody relies on it: the committer comes by every log itself, and does what is not done."""
    cdef uint32_t i
    for i in range(w.writer_count):
        if relaxed_u32(&w.writers[i].work) == 0 and cas_u32(&w.writers[i].work, 0, index + 1):
            word_wake(&w.writers[i].work)
            return True
    return False


cdef bint wal_sync_all(Wal* w) noexcept nogil:
    cdef uint64_t wanted[LOGS_MAX]                  # 0: it is safe
    cdef uint32_t i, ahead
    cdef bint safe = not wal_is_lost(w)
    for i in range(w.count):
        wanted[i] = load_u64(&w.log[i].appended)
        if load_u64(&w.log[i].synced) >= wanted[i]:
            wanted[i] = 0
    ahead = 1
    for i in range(w.count):
        if wanted[i] == 0:
            continue
        ahead = ahead if ahead > i else i + 1       # the first that nobody has been given
        while ahead < w.count and (wanted[ahead] == 0 or hand_over(w, ahead)):
            ahead += 1
        if not log_secure(&w.log[i], wanted[i]):
            safe = False
    return safe


cdef bint relieve(Log* log) noexcept nogil:
    """Write a buffer that has grown long, if nobody is at it; one that the disk cannot keep up with makes its caller wait for it."""
    cdef Outcome outcome
    if log_pending(log) >= BUFFER_MOST // 2:
        return log_secure(log, load_u64(&log.appended))
    if not lock_try(&log.flushing):
        return True
    outcome = log_write(log, False)
    lock_release(&log.flushing)
    if outcome == OUTCOME_LEFT:
        wal_call_keeper(log.wal)
    return outcome != OUTCOME_FAILED


cdef bint wal_commit(Wal* w) noexcept nogil:
    cdef uint32_t i
    cdef Log* log
    if load_u32(&w.policy) == WAL_ALWAYS:
        return wal_sync_all(w)
    for i in range(w.count):
        log = &w.log[i]
        if log_pending(log) >= LONG_BUFFER:
            relieve(log)
    return wal_is_settled(w) and load_u32(&w.health) != WAL_CLOSED
