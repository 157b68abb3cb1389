"""The write-ahead log as a whole: its life, its threads, and what becomes of it when the disk fails (see wal.pxd)."""
from libc.errno cimport EAGAIN, ENOMEM
from libc.stdint cimport UINT64_MAX, int64_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free
from libc.string cimport memmove, memset, strlen

from tellstone._core.base.atomics cimport cas_u32, load_u32, load_u64, store_u32, store_u64, swap_u32
from tellstone._core.base.bytesops cimport get_u32, get_u64
from tellstone._core.base.disk cimport disk_make_directory, disk_sync_directory, disk_truncate
from tellstone._core.base.lock cimport lock_acquire, lock_release, word_wait, word_wake
from tellstone._core.base.platform cimport mono_us, thread_create, thread_join
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.store.commit cimport (
    BUFFER_MOST, OUTCOME_DONE, WAL_ALWAYS, WAL_EVERYSEC, log_begin, log_drain, log_mark, log_reserve, log_secure, log_set_stuck, log_sync,
    log_write, wal_call_keeper, wal_is_settled, wal_sync_all,
)
from tellstone._core.store.log cimport (
    LOGS_MAX, NO_GROUP, WAL_CLOSED, WAL_FOREIGN, WAL_SOUND, WAL_WRITERS, Log, Writer, log_drop, log_pending, wal_is_lost, wal_report,
)
from tellstone._core.store.record cimport RECORD_HEAD, buffer_free
from tellstone._core.store.segment cimport SEGMENT_DIRECTORY, segment_close, segment_discard, segments_drop, segments_settle

check_layout(__name__)

cdef enum:
    DIRECTORY_ROOM = 64             # of a path, for "/logs" and a file's name
    IDLE_US = 1000000

# Wal.state
cdef enum:
    STATE_NEW = 0
    STATE_RUNS = 1
    STATE_ENDS = 2                  # the keeper ends, and health does not return
    STATE_ENDED = 3                 # the other threads end too

cdef uint32_t STOP = 0xFFFFFFFFULL      # Writer.work


cdef bint recover(Wal* w) noexcept nogil:
    """Health returns, unless something has failed again meanwhile."""
    cdef bint well
    lock_acquire(&w.trouble)
    well = wal_is_settled(w) and load_u32(&w.state) == STATE_RUNS
    if well:
        store_u32(&w.health, WAL_SOUND)
        store_u32(&w.error, 0)
    lock_release(&w.trouble)
    return well


cdef void wal_set_policy(Wal* w, WalPolicy policy) noexcept nogil:
    store_u32(&w.policy, policy)


# Threads --------------------------------------------------------------------------------------------------------


cdef void write_for_others(void* arg) noexcept nogil:
    cdef Writer* t = <Writer*>arg
    cdef Log* log
    cdef uint32_t work = load_u32(&t.work)
    while work != STOP:
        if work == 0:
            word_wait(&t.work, 0, IDLE_US)
        else:
            log = &t.wal.log[work - 1]
            log_secure(log, load_u64(&log.appended))
            cas_u32(&t.work, work, 0)               # fails where it is STOP by now
        work = load_u32(&t.work)


cdef struct Rounds:                 # of the keeper: when it did last what it does seldom, mono_us
    int64_t synced
    int64_t retried
    int64_t marked


cdef inline bint is_due(int64_t* last, int64_t now, int64_t ms) noexcept nogil:
    if now - last[0] < ms * 1000:
        return False
    last[0] = now
    return True


cdef void unstick(Wal* w) noexcept nogil:
    cdef uint32_t i
    for i in range(w.count):
        lock_acquire(&w.log[i].flushing)
        log_set_stuck(&w.log[i], False)
        lock_release(&w.log[i].flushing)


cdef bint reserve_all(Wal* w) noexcept nogil:
    cdef uint32_t i
    cdef int failed
    for i in range(w.count):
        failed = log_reserve(&w.log[i])
        if failed:
            wal_report(w, failed, False)
            return False
    return True


cdef void write_all(Wal* w) noexcept nogil:
    cdef uint32_t i
    cdef Log* log
    for i in range(w.count):
        log = &w.log[i]
        if load_u64(&log.written) < load_u64(&log.appended):
            lock_acquire(&log.syncing)
            lock_acquire(&log.flushing)
            log_write(log, True)
            lock_release(&log.flushing)
            lock_release(&log.syncing)


cdef void mark_all(Wal* w) noexcept nogil:
    """What a log ends with is proven by the next thing that is written: where nothing comes, a MARK does."""
    cdef uint32_t i
    cdef Log* log
    for i in range(w.count):
        log = &w.log[i]
        lock_acquire(&log.flushing)
        if log.spare.len == 0 and log.marked < load_u64(&log.synced) and load_u64(&log.synced) == load_u64(&log.appended):
            log_mark(log)
            log_drain(log, False)
        lock_release(&log.flushing)


cdef void bound_buffers(Wal* w) noexcept nogil:
    """While nothing is written, records of expiry still come in. A log that has given some up is lost, until a snapshot covers them."""
    cdef uint32_t i
    cdef Log* log
    for i in range(w.count):
        log = &w.log[i]
        if log_pending(log) < BUFFER_MOST:
            continue
        wal_report(w, ENOMEM, True)
        lock_acquire(log.shard_lock)
        log_drop(log)
        log.buffer.failed = 1
        lock_release(log.shard_lock)


cdef void keeper_round(Wal* w, Rounds* rounds) noexcept nogil:
    cdef int64_t now = mono_us()
    cdef uint32_t policy = load_u32(&w.policy)
    cdef bint sound = load_u32(&w.health) == WAL_SOUND
    if not sound:
        bound_buffers(w)
        if wal_is_lost(w) or not is_due(&rounds.retried, now, RETRY_MS):
            return
        unstick(w)
    if policy == WAL_ALWAYS or (policy == WAL_EVERYSEC and is_due(&rounds.synced, now, SYNC_MS)):
        wal_sync_all(w)                             # under WAL_ALWAYS what upkeep has removed, which nobody waits for
    else:
        write_all(w)
    if reserve_all(w) and not sound:
        recover(w)
    if is_due(&rounds.marked, now, IDLE_US // 1000):
        mark_all(w)


cdef void keep(void* arg) noexcept nogil:
    cdef Wal* w = <Wal*>arg
    cdef Rounds rounds
    cdef uint32_t seen
    rounds.synced = rounds.retried = rounds.marked = mono_us()
    while True:
        seen = load_u32(&w.alarm)
        if load_u32(&w.state) != STATE_RUNS:
            return
        keeper_round(w, &rounds)
        word_wait(&w.alarm, seen, WRITE_MS * 1000)


cdef int start_threads(Wal* w) noexcept nogil:
    """Fewer writers than wanted will do, but not without the keeper."""
    cdef uint32_t wanted = w.count - 1 if w.count - 1 < WAL_WRITERS else WAL_WRITERS
    cdef Writer* t
    store_u32(&w.state, STATE_RUNS)
    if thread_create(&w.keeper, keep, w) < 0:
        store_u32(&w.state, STATE_NEW)
        return EAGAIN
    while w.writer_count < wanted:
        t = &w.writers[w.writer_count]
        t.wal = w
        t.work = 0
        if thread_create(&t.thread, write_for_others, t) < 0:
            break
        w.writer_count += 1
    return 0


cdef void stop_threads(Wal* w) noexcept nogil:
    cdef uint32_t i, count = w.writer_count
    wal_call_keeper(w)
    thread_join(w.keeper)
    w.writer_count = 0                              # committers go without them
    store_u32(&w.state, STATE_ENDED)
    for i in range(count):
        swap_u32(&w.writers[i].work, STOP)
        word_wake(&w.writers[i].work)
    for i in range(count):
        thread_join(w.writers[i].thread)


# Life -----------------------------------------------------------------------------------------------------------


cdef Wal* wal_new(const char* directory, uint32_t shards, uint64_t generation, WalPolicy policy) noexcept nogil:
    cdef Wal* w
    cdef uint32_t i
    if shards == 0 or shards > LOGS_MAX or strlen(directory) + DIRECTORY_ROOM > SEGMENT_DIRECTORY:
        return NULL
    w = <Wal*>calloc(1, sizeof(Wal))
    if w == NULL:
        return NULL
    w.log = <Log*>calloc(shards, sizeof(Log))
    if w.log == NULL:
        free(w)
        return NULL
    snprintf(w.logs, SEGMENT_DIRECTORY, "%s/logs", directory)
    w.generation = generation
    w.count = shards
    w.policy = policy
    for i in range(shards):
        w.log[i].index = i
        w.log[i].wal = w
        w.log[i].group_at = NO_GROUP
        w.log[i].segment.fd = -1
        w.log[i].next.fd = -1
    return w


cdef void wal_free(Wal* w) noexcept nogil:
    cdef uint32_t i
    for i in range(w.count):
        buffer_free(&w.log[i].buffer)
        buffer_free(&w.log[i].spare)
    free(w.log)
    free(w)


cdef int make_directory(Wal* w) noexcept nogil:
    cdef size_t end = strlen(w.logs) - 5            # of "/logs"
    cdef int failed = disk_make_directory(w.logs)
    if failed:
        return failed
    w.logs[end] = 0
    failed = disk_sync_directory(w.logs)
    w.logs[end] = c'/'
    return failed


cdef int open_log(Log* log, uint64_t seq) noexcept nogil:
    cdef int failed = log_begin(log, seq)
    if not failed:
        log.buffer.seq = seq
        store_u64(&log.appended, seq)
    return failed


cdef void close_files(Wal* w) noexcept nogil:
    cdef uint32_t i
    cdef Log* log
    for i in range(w.count):
        log = &w.log[i]
        lock_acquire(&log.syncing)
        lock_acquire(&log.flushing)
        segment_discard(&log.next, w.logs)
        segment_close(&log.segment)
        lock_release(&log.flushing)
        lock_release(&log.syncing)


cdef bint wal_open(Wal* w, const uint64_t* seqs) noexcept nogil:
    cdef uint32_t i
    cdef int failed = make_directory(w)
    if not failed:
        failed = segments_settle(w.logs, w.generation, w.count, seqs)
    for i in range(w.count):
        if not failed:
            failed = open_log(&w.log[i], seqs[i])
    if not failed:
        failed = disk_sync_directory(w.logs)
    if not failed:
        failed = start_threads(w)
    if failed:
        wal_report(w, failed, False)
        close_files(w)
        return False
    return recover(w)


cdef void end_log(Log* log) noexcept nogil:
    """The last word of a log that ends in order says that all of it is safe; the room behind it goes back."""
    lock_acquire(&log.syncing)
    lock_acquire(&log.flushing)
    if log.marked < load_u64(&log.synced):
        log_mark(log)
        if log_drain(log, False) == OUTCOME_DONE:
            log_sync(log, load_u64(&log.written))
    disk_truncate(log.segment.fd, log.segment.at)
    lock_release(&log.flushing)
    lock_release(&log.syncing)


cdef void end_changes(Wal* w) noexcept nogil:
    """What has failed before stays the reason for which changes are refused."""
    lock_acquire(&w.trouble)
    store_u32(&w.state, STATE_ENDS)
    if load_u32(&w.health) == WAL_SOUND:
        store_u64(&w.failures, w.failures + 1)      # ORDER: as in wal_report
        store_u32(&w.health, WAL_CLOSED)
    lock_release(&w.trouble)


cdef bint wal_close(Wal* w) noexcept nogil:
    cdef uint32_t i
    cdef bint safe
    if load_u32(&w.state) != STATE_RUNS:
        return not wal_is_lost(w)
    end_changes(w)
    if not wal_is_lost(w):
        unstick(w)
    safe = wal_sync_all(w)
    stop_threads(w)
    if safe:
        for i in range(w.count):
            end_log(&w.log[i])
    close_files(w)
    return safe


cdef void wal_abandon(Wal* w) noexcept nogil:
    """Locks of the log may be held by threads that are not here any more. Descriptors are closed: that is nothing to the parent's.
    LIFETIME: the spare may be half changed, so its memory is left alone."""
    cdef uint32_t i
    cdef Log* log
    memset(&w.trouble, 0, sizeof(w.trouble))
    w.writer_count = 0
    store_u32(&w.state, STATE_ENDED)
    store_u32(&w.lost, 1)
    store_u32(&w.error, 0)
    store_u32(&w.health, WAL_FOREIGN)
    for i in range(w.count):
        log = &w.log[i]
        memset(&log.syncing, 0, sizeof(log.syncing))
        memset(&log.flushing, 0, sizeof(log.flushing))
        log.buffer.len = 0
        log.buffer.failed = 1
        memset(&log.spare, 0, sizeof(log.spare))
        log.group_at = NO_GROUP
        segment_close(&log.next)
        segment_close(&log.segment)


# Behind a snapshot --------------------------------------------------------------------------------------------------


cdef uint64_t wal_drop(Wal* w, uint64_t generation, uint32_t shards, const uint64_t* seqs) noexcept nogil:
    """The segment that is being written has the highest number of its log: either the log goes on in it, or it lies behind that one."""
    return segments_drop(w.logs, generation, shards, seqs) if generation <= w.generation else 0


cdef uint64_t first_waiting(const Log* log) noexcept nogil:
    """Number of the first record that no file is to have yet; UINT64_MAX where some are missing. LOCK: the shard's."""
    if log.buffer.failed:
        return UINT64_MAX
    return get_u64(log.buffer.data + 8) if log.buffer.len else log.buffer.seq + 1


cdef void drop_through(Log* log, uint64_t seq) noexcept nogil:
    """LOCK: the shard's. What the buffer has is numbered without a gap."""
    cdef size_t at = 0
    while at < log.buffer.len and get_u64(log.buffer.data + at + 8) <= seq:
        at += RECORD_HEAD + <size_t>get_u32(log.buffer.data + at + 4)
    log.buffer.len -= at
    memmove(log.buffer.data, log.buffer.data + at, log.buffer.len)
    store_u64(&log.bytes_taken, log.bytes - log.buffer.len)


cdef bint is_covered(Log* log, uint64_t seq) noexcept nogil:
    """A snapshot up to that number and the buffer have all there is. Under flushing, so that nobody is about to take the buffer."""
    cdef bint covered
    lock_acquire(&log.flushing)
    lock_acquire(log.shard_lock)
    covered = first_waiting(log) <= seq + 1 and seq <= log.buffer.seq
    lock_release(log.shard_lock)
    lock_release(&log.flushing)
    return covered


cdef int begin_again(Log* log, uint64_t seq) noexcept nogil:
    cdef int failed
    lock_acquire(&log.syncing)
    lock_acquire(&log.flushing)
    failed = log_begin(log, seq)
    if not failed:
        log_set_stuck(log, False)
        lock_acquire(log.shard_lock)
        drop_through(log, seq)
        lock_release(log.shard_lock)
    lock_release(&log.flushing)
    lock_release(&log.syncing)
    return failed


cdef bint retry(Wal* w) noexcept nogil:
    """What a keeper does while nothing is lost."""
    unstick(w)
    return wal_sync_all(w) and reserve_all(w) and recover(w)


cdef bint wal_resume(Wal* w, const uint64_t* seqs) noexcept nogil:
    """While the log is lost nobody writes, whatever the threads are at: they look under the locks that this takes too."""
    cdef uint32_t i
    cdef int failed = 0
    if load_u32(&w.state) != STATE_RUNS:
        return False
    if not wal_is_lost(w):
        return load_u32(&w.health) == WAL_SOUND or retry(w)
    for i in range(w.count):
        if not is_covered(&w.log[i], seqs[i]):
            return False
    for i in range(w.count):
        if not failed:
            failed = begin_again(&w.log[i], seqs[i])
    if not failed:
        failed = disk_sync_directory(w.logs)
    if failed:
        wal_report(w, failed, True)
        return False
    store_u32(&w.lost, 0)
    return recover(w) and wal_sync_all(w)
