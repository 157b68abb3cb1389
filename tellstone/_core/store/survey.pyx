"""What there is to recover (see survey.pxd)."""
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, realloc
from libc.string cimport memset, strerror

from tellstone._core.base.atomics cimport add_u32, store_u32
from tellstone._core.base.lock cimport lock_acquire, lock_release
from tellstone._core.base.platform cimport Thread, thread_create, thread_join
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.store.blocks cimport SNAPSHOT_VERSION, ShardFoot
from tellstone._core.store.catalog cimport (
    FAULT_CHANGE, FAULT_GAP, FAULT_NAME, FAULT_SNAPSHOT, FAULT_TYPE, NAME_ROOM, PATH_ROOM, Fault, FaultKind, SegmentFile, SnapshotFile, catalog_segments,
    fault_set, faults_add, full_path, segment_name, snapshot_name,
)
from tellstone._core.store.entry cimport DATABASES
from tellstone._core.store.keyspace cimport SHARDS_MAX
from tellstone._core.store.record cimport RECORD_BEGIN, RECORD_FLUSH, RECORD_MARK, RECORD_SWAP, Record, record_part
from tellstone._core.store.replay cimport replay_knows
from tellstone._core.store.segment cimport SEGMENT_HEAD, SEGMENT_WHOLE, SegmentHead, segment_read_head
from tellstone._core.store.trail cimport TRAIL_END, TRAIL_FAILED, TRAIL_RECORD, TRAIL_STOP, Trail, TrailRead, trail_next, trail_open
from tellstone._core.store.unpack cimport (
    UNPACK_FAILED, UNPACK_NOMEM, UNPACK_OK, UNPACK_STOP, Unpack, UnpackRead, unpack_close, unpack_open, unpack_shard, unpack_walk,
)
from tellstone._core.store.window cimport Window, window_at, window_free, window_open

check_layout(__name__)

cdef uint64_t NO_LIMIT = 0xFFFFFFFFFFFFFFFFULL

cdef struct Worker:
    Run* run
    Window window
    Thread thread
    bint started

cdef struct Content:                # which database's content is where, and until when it has been emptied
    uint8_t at[DATABASES]           # by database: whose content of the beginning
    uint64_t flushed[DATABASES]     # by the database of the beginning

cdef struct Scan:
    Content now
    Content before                  # a change of several shards that is not complete
    uint64_t change                 # number of its BEGIN
    uint64_t change_end             # and of its last record
    uint64_t last                   # number of the record before
    uint64_t passed                 # number up to which records are left out: of a change that is not whole
    uint32_t k
    uint64_t at


# Stopping -------------------------------------------------------------------------------------------------------


cdef void run_stop(Run* run, RecoveryResult result, const char* name, const char* words) noexcept nogil:
    cdef char path[PATH_ROOM + NAME_ROOM]
    lock_acquire(&run.lock)
    if not run_stopped(run):
        if words != NULL:
            full_path(path, &run.r.catalog, name)
            snprintf(run.r.text, TEXT_ROOM, b"%s: %s", <const char*>path, words)
        store_u32(&run.result, <uint32_t>result)
    lock_release(&run.lock)


cdef void run_damaged(Run* run) noexcept nogil:
    if run.r.mode != RECOVERY_CHECK:
        run_stop(run, RECOVERY_DAMAGED, b"", NULL)


cdef void run_no_memory(Run* run) noexcept nogil:
    run_stop(run, RECOVERY_FAILED, b".", b"no memory to read it")


cdef void run_unread(Run* run, const Trail* t) noexcept nogil:
    cdef char name[NAME_ROOM]
    segment_name(name, &run.r.catalog.segments[t.k])
    run_stop(run, RECOVERY_FAILED, name, strerror(t.window.error))


cdef bint run_unpacked(Run* run, const Window* w, UnpackRead read) noexcept nogil:
    if read == UNPACK_STOP:
        run_damaged(run)
    elif read == UNPACK_FAILED:
        run_stop(run, RECOVERY_FAILED, run.snapshot.name, strerror(w.error))
    elif read == UNPACK_NOMEM:
        run_no_memory(run)
    return read == UNPACK_OK


cdef void add_fault(Run* run, FaultKind kind, const SegmentFile* f, uint64_t offset, uint64_t length) noexcept nogil:
    cdef Fault fault
    cdef char name[NAME_ROOM]
    if run.faults != NULL:
        segment_name(name, f)
        fault_set(&fault, kind, name, f.shard, offset, length)
        faults_add(run.faults, &fault)
    if not run.lenient:
        run_damaged(run)


# Threads --------------------------------------------------------------------------------------------------------


cdef void work(void* arg) noexcept nogil:
    cdef Worker* me = <Worker*>arg
    cdef Run* run = me.run
    cdef uint32_t i = add_u32(&run.next, 1)
    while i < run.task_count and not run_stopped(run):
        run.task(run, &me.window, i)
        i = add_u32(&run.next, 1)
    window_free(&me.window)


cdef bint run_tasks(Run* run, Task task, uint32_t count) noexcept nogil:
    cdef Worker workers[RECOVERY_THREADS]
    cdef uint32_t n = run.threads if run.threads < count else count, i
    memset(workers, 0, sizeof(workers))
    run.task = task
    run.task_count = count
    run.next = 0
    for i in range(n):
        workers[i].run = run
        if i > 0:
            workers[i].started = thread_create(&workers[i].thread, work, &workers[i]) == 0
    if n:
        work(&workers[0])
    for i in range(1, n):
        if workers[i].started:
            thread_join(workers[i].thread)
    return not run_stopped(run)


# What there is --------------------------------------------------------------------------------------------------


cdef uint32_t shards_of_log(Run* run, uint64_t generation, Window* w) noexcept nogil:
    """How many the first readable head of a segment says; 0: none."""
    cdef char name[NAME_ROOM]
    cdef char path[PATH_ROOM + NAME_ROOM]
    cdef SegmentHead head
    cdef const char* p
    cdef uint32_t i
    for i in range(run.r.catalog.segment_count):
        if run.r.catalog.segments[i].generation != generation:
            continue
        segment_name(name, &run.r.catalog.segments[i])
        full_path(path, &run.r.catalog, name)
        if not window_open(w, path):
            run_stop(run, RECOVERY_FAILED, name, strerror(w.error))
            return 0
        p = window_at(w, 0, SEGMENT_HEAD) if w.size >= SEGMENT_HEAD else NULL
        if p != NULL and segment_read_head(p, &head) == SEGMENT_WHOLE and head.generation == generation and 1 <= head.shards <= SHARDS_MAX:
            return head.shards
    return 0


cdef uint32_t shards_of_names(const Run* run, uint64_t generation) noexcept nogil:
    cdef uint32_t i, most = 0
    for i in range(run.r.catalog.segment_count):
        if run.r.catalog.segments[i].generation == generation and run.r.catalog.segments[i].shard >= most:
            most = run.r.catalog.segments[i].shard + 1
    return most if most <= SHARDS_MAX else SHARDS_MAX


cdef bint survey_verify(Run* run, Window* w, uint32_t i) noexcept nogil:
    cdef Unpack u
    cdef uint64_t before = run.r.faults.count + run.r.faults.more
    cdef UnpackRead read = unpack_open(&u, &run.r.catalog, i, True, &run.r.faults, w)
    cdef uint32_t shard = 0
    if read == UNPACK_OK:
        u.bytes = &run.r.bytes_done
        while shard < u.head.shards and read == UNPACK_OK:
            read = unpack_shard(&u, w, shard, NULL)
            shard += 1
    elif read == UNPACK_STOP and u.head.version <= SNAPSHOT_VERSION:
        read = unpack_walk(&u, w, u.head.shards if u.head.shards else SHARDS_MAX, NULL, NULL)
    unpack_close(&u)
    if read == UNPACK_FAILED:
        run_stop(run, RECOVERY_FAILED, u.name, strerror(w.error))
    elif read == UNPACK_NOMEM:
        run_no_memory(run)
    return read == UNPACK_OK and run.r.faults.count + run.r.faults.more == before


cdef bint log_reaches(Run* run, Window* w, uint32_t i) noexcept nogil:
    """The log still has everything behind snapshot i."""
    cdef Unpack u
    cdef uint32_t shard, begin, end
    cdef bint reaches = unpack_open(&u, &run.r.catalog, i, True, NULL, w) == UNPACK_OK
    for shard in range(u.head.shards if reaches else 0):
        catalog_segments(&run.r.catalog, u.head.generation, shard, &begin, &end)
        if begin == end or run.r.catalog.segments[begin].first > u.feet[shard].seq + 1:
            reaches = False
    unpack_close(&u)
    return reaches


cdef uint32_t chosen_snapshot(Run* run) noexcept nogil:
    cdef SnapshotFile f
    cdef char name[NAME_ROOM]
    cdef uint32_t i
    for i in range(run.r.catalog.snapshot_count):
        if run.r.catalog.snapshots[i].generation == run.r.generation and run.r.catalog.snapshots[i].number == run.r.number:
            return i
    f.generation = run.r.generation
    f.number = run.r.number
    snapshot_name(name, &f)
    run_stop(run, RECOVERY_FAILED, name, b"it is not there any more")
    return 0


cdef uint32_t pick_snapshot(Run* run, Window* w) noexcept nogil:
    """The one that is asked for, or the newest. A salvage takes the newest whole one of its generation behind which the log has everything, where there is one."""
    cdef uint32_t newest = run.r.catalog.snapshot_count - 1
    cdef uint32_t i = newest
    if run.r.chosen:
        return chosen_snapshot(run)
    if not run.salvage:
        return newest
    while not run_stopped(run):
        if survey_verify(run, w, i) and (i == newest or log_reaches(run, w, i)):
            return i
        if i == 0 or run.r.catalog.snapshots[i - 1].generation != run.r.catalog.snapshots[newest].generation:
            break
        i -= 1
    return newest


cdef void survey_snapshot(Run* run, Window* w) noexcept nogil:
    cdef uint32_t i = pick_snapshot(run, w)
    cdef UnpackRead read
    if run_stopped(run):
        return
    run.r.generation = run.r.catalog.snapshots[i].generation
    run.r.number = run.r.catalog.snapshots[i].number
    # What is wrong with it has been noted by now, or will be when all snapshots are checked.
    read = unpack_open(&run.snapshot, &run.r.catalog, i, run.lenient, NULL if run.lenient else &run.r.faults, w)
    run.has_snapshot = True
    if read == UNPACK_STOP and run.lenient:
        if run.snapshot.head.version > SNAPSHOT_VERSION:
            if run.r.mode == RECOVERY_CHECK:
                survey_verify(run, w, i)
            run_stop(run, RECOVERY_NEWER, b"", NULL)
        return
    run_unpacked(run, w, read)
    run.snapshot.keys = &run.r.keys
    run.snapshot.bytes = &run.r.bytes_done


cdef void check_generations(Run* run) noexcept nogil:
    """A log of a later generation than the snapshot continues another one."""
    cdef const SegmentFile* f
    cdef uint32_t i
    for i in range(run.r.catalog.segment_count):
        f = &run.r.catalog.segments[i]
        if f.generation > run.r.generation and run.has_snapshot and not run.r.chosen:
            add_fault(run, FAULT_SNAPSHOT, f, 0, 0)
            return
        if f.generation == run.r.generation and f.shard >= run.r.shards:
            add_fault(run, FAULT_NAME, f, 0, 0)


cdef uint64_t size_of(Run* run, Window* w, const char* name) noexcept nogil:
    cdef char path[PATH_ROOM + NAME_ROOM]
    full_path(path, &run.r.catalog, name)
    if window_open(w, path):
        return w.size
    run_stop(run, RECOVERY_FAILED, name, strerror(w.error))
    return 0


cdef void count_bytes(Run* run, Window* w) noexcept nogil:
    """What there is to read: logs twice, to scan and to load them, and before that for a moment; for a check once, and all snapshots."""
    cdef Recovery* r = run.r
    cdef uint32_t times = 1 if run.ks == NULL else 3 if r.timed else 2
    cdef bint all_ = r.mode == RECOVERY_CHECK and not r.chosen
    cdef char name[NAME_ROOM]
    cdef uint32_t i
    for i in range(r.catalog.segment_count):
        if r.catalog.segments[i].generation == r.generation:
            segment_name(name, &r.catalog.segments[i])
            r.bytes_all += size_of(run, w, name) * times
    for i in range(r.catalog.snapshot_count):
        if all_ or (run.ks != NULL and r.catalog.snapshots[i].generation == r.generation and r.catalog.snapshots[i].number == r.number):
            snapshot_name(name, &r.catalog.snapshots[i])
            r.bytes_all += size_of(run, w, name)


cdef bint survey_logs(Run* run, Window* w) noexcept nogil:
    """How many shards there are, and what the snapshot covers of their logs."""
    cdef Recovery* r = run.r
    cdef uint32_t i
    if run.has_snapshot:
        r.shards = run.snapshot.head.shards
    if r.shards == 0:
        r.shards = shards_of_log(run, r.generation, w)
    if r.shards == 0:
        r.shards = shards_of_names(run, r.generation)
    if r.shards == 0:
        r.shards = SHARDS_MAX
    r.logs = <ShardLog*>calloc(r.shards, sizeof(ShardLog))
    r.seqs = <uint64_t*>calloc(r.shards, sizeof(uint64_t))
    run.parts = <uint64_t*>calloc(<size_t>r.shards * r.shards, sizeof(uint64_t))
    if r.logs == NULL or r.seqs == NULL or run.parts == NULL:
        run_no_memory(run)
        return False
    if run.has_snapshot and run.snapshot.feet == NULL and not run_unpacked(run, w, unpack_walk(&run.snapshot, w, r.shards, r.seqs, NULL)):
        return False
    for i in range(r.shards):
        r.logs[i].covered = run.snapshot.feet[i].seq if run.has_snapshot and run.snapshot.feet != NULL else r.seqs[i]
    check_generations(run)
    count_bytes(run, w)
    return not run_stopped(run)


# A moment -------------------------------------------------------------------------------------------------------


cdef bint take_time(ShardLog* log, int64_t time_ms, uint64_t seq, int64_t until_ms) noexcept nogil:
    """Up to that number everything was there by that time. False: that is too late."""
    if seq <= log.covered:
        return True
    if time_ms > until_ms:
        return False
    log.limit = seq
    if time_ms > log.time_ms:
        log.time_ms = time_ms
    return True


cdef TrailRead trace(Trail* t, ShardLog* log, int64_t until_ms) noexcept nogil:
    """Up to the first batch that is too late, or where the log ends."""
    cdef Record r
    cdef TrailRead read = TRAIL_RECORD
    cdef uint32_t k = t.k           # whose head has been looked at; that of the first tells of nothing that is behind the snapshot
    while read == TRAIL_RECORD:
        read = trail_next(t, &r, False)
        if t.headed > k:
            k = t.headed
            if not take_time(log, t.begun_ms, t.catalog.segments[k].first - 1, until_ms):
                return TRAIL_END
        if read == TRAIL_RECORD and r.kind == RECORD_MARK and not take_time(log, r.time, r.seq, until_ms):
            return TRAIL_END
    return read


cdef void survey_time(Run* run, Window* w, uint32_t shard) noexcept nogil:
    """What was there by until_ms: left in limit, for survey_scan. Damage behind the last batch that counts is none of this moment if it is that
    batch's own."""
    cdef ShardLog* log = &run.r.logs[shard]
    cdef Trail t
    cdef TrailRead read
    run_trail(run, &t, shard, w, log.covered + 1)
    log.limit = log.covered
    read = trace(&t, log, run.r.until_ms)
    if read == TRAIL_FAILED:
        run_unread(run, &t)
    elif read == TRAIL_STOP and run.r.mode == RECOVERY_TRACE:
        log.broken = True
    elif read == TRAIL_STOP and run.r.until_ms > log.time_ms and run.r.until_ms > run.snapshot.whole_ms:
        run_damaged(run)


cdef bint survey_reaches(Run* run) noexcept nogil:
    """Otherwise some entries would be of a later time than the others. Only a clock that has been set back leads here."""
    cdef const ShardFoot* foot
    cdef uint32_t i
    for i in range(run.r.shards if run.r.timed and run.has_snapshot else 0):
        foot = &run.snapshot.feet[i]
        if foot.seen == UINT32_MAX or run.r.logs[i].limit < foot.seq + foot.seen:
            run_stop(run, RECOVERY_DAMAGED, run.snapshot.name, b"its entries are of a later time than the logs have at that moment")
            return False
    return True


# Scanning -------------------------------------------------------------------------------------------------------


cdef bint note_lost(Run* run, ShardLog* log, uint64_t first, uint64_t last) noexcept nogil:
    cdef Lost* grown = <Lost*>realloc(log.lost, (log.lost_count + 1) * sizeof(Lost))
    if grown == NULL:
        run_no_memory(run)
        return False
    log.lost = grown
    grown[log.lost_count].first = first
    grown[log.lost_count].last = last
    log.lost_count += 1
    return True


cdef bint is_lost(const ShardLog* log, uint64_t seq) noexcept nogil:
    cdef uint32_t i
    for i in range(log.lost_count):
        if log.lost[i].first <= seq <= log.lost[i].last:
            return True
    return False


cdef bint run_has_whole(const Run* run, const Record* begin) noexcept nogil:
    cdef const ShardLog* log
    cdef uint32_t i, shard = 0
    cdef uint64_t seq = 0
    for i in range(begin.parts):
        record_part(begin, i, &shard, &seq)
        if shard >= run.r.shards:
            return False
        log = &run.r.logs[shard]
        if seq > log.covered and (seq > log.limit or is_lost(log, seq)):
            return False
    return True


cdef bint note_parts(Run* run, uint32_t mine, const Record* begin) noexcept nogil:
    """False: it names a shard that is not there."""
    cdef uint64_t* row = run.parts + <size_t>mine * run.r.shards
    cdef uint32_t i, shard = 0
    cdef uint64_t seq = 0
    for i in range(begin.parts):
        record_part(begin, i, &shard, &seq)
        if shard >= run.r.shards:
            return False
        if seq > row[shard]:
            row[shard] = seq
    return True


cdef void change_content(Content* c, const Record* r) noexcept nogil:
    cdef uint8_t was = c.at[r.db]
    if r.kind == RECORD_FLUSH:
        c.flushed[was] = r.seq
    elif r.kind == RECORD_SWAP:
        c.at[r.db] = c.at[r.other_db]
        c.at[r.other_db] = was


cdef bint begin_change(Run* run, Scan* s, uint32_t shard, const Trail* t, const Record* r) noexcept nogil:
    """False: the log ends before it."""
    if run.resolving and not run_has_whole(run, r):
        if not run.salvage:
            return False
        s.passed = r.seq + r.records
        return True
    if not note_parts(run, shard, r):
        add_fault(run, FAULT_CHANGE, &run.r.catalog.segments[t.k], t.record_at, r.size)
    s.before = s.now
    s.change = r.seq
    s.change_end = r.seq + r.records
    s.k = t.k
    s.at = t.record_at
    return True


cdef bint scan_record(Run* run, Scan* s, uint32_t shard, const Trail* t, const Record* r) noexcept nogil:
    """False: the log ends before it."""
    cdef ShardLog* log = &run.r.logs[shard]
    if r.seq > s.last + 1 and not run.resolving:    # a lenient reader has passed over damage
        note_lost(run, log, s.last + 1, r.seq - 1)
        if s.last < s.change_end:
            note_lost(run, log, s.change, s.change)
    if r.kind == RECORD_BEGIN and s.last < s.change_end:
        add_fault(run, FAULT_CHANGE, &run.r.catalog.segments[t.k], t.record_at, r.size)
    s.last = r.seq
    if not replay_knows(r):
        add_fault(run, FAULT_TYPE, &run.r.catalog.segments[t.k], t.record_at, r.size)
    if r.seq <= s.passed:
        return True
    if r.kind == RECORD_BEGIN:
        return begin_change(run, s, shard, t, r)
    change_content(&s.now, r)
    return True


cdef void end_scan(ShardLog* log, Scan* s) noexcept nogil:
    """`k` and `at` of s are where the log ends; an unfinished change ends it earlier."""
    cdef int db
    cdef uint8_t content
    if log.limit < s.change_end:
        s.now = s.before
        log.limit = s.change - 1
        log.cut = True
    if log.limit < log.covered:
        log.limit = log.covered
    log.end_k = s.k
    log.end_at = s.at
    for db in range(DATABASES):
        content = s.now.at[db]
        log.ends[content] = <uint8_t>db
        log.flushed[db] = s.now.flushed[content]


cdef void init_scan(Scan* s, uint64_t covered) noexcept nogil:
    cdef int db
    memset(s, 0, sizeof(Scan))
    for db in range(DATABASES):
        s.now.at[db] = <uint8_t>db
    s.last = covered


cdef void run_trail(Run* run, Trail* t, uint32_t shard, Window* w, uint64_t from_seq) noexcept nogil:
    trail_open(t, &run.r.catalog, run.r.generation, shard, from_seq, w)
    t.shards = run.r.shards
    t.covered = run.r.logs[shard].covered
    t.lenient = run.lenient
    t.exact = run.r.mode == RECOVERY_CHECK
    t.faults = run.faults
    t.progress = &run.r.bytes_done


cdef TrailRead scan_trail(Run* run, Trail* t, uint32_t shard, Scan* s, uint64_t until) noexcept nogil:
    """Up to a number, or where the log ends. The place of the end is left in s."""
    cdef ShardLog* log = &run.r.logs[shard]
    cdef Record r
    cdef TrailRead read = TRAIL_RECORD
    cdef uint64_t last = log.covered
    # ORDER: what is behind a moment is not looked at. It may be damaged.
    while read == TRAIL_RECORD and not run_stopped(run) and not (run.r.timed and last >= until):
        read = trail_next(t, &r, False)
        if read != TRAIL_RECORD or r.kind == RECORD_MARK or r.seq <= log.covered:
            continue
        if r.seq > until or not scan_record(run, s, shard, t, &r):
            log.cut = True
            t.at = t.record_at
            break
        last = r.seq
    log.limit = last
    if last >= s.change_end:
        s.k = t.k
        s.at = t.at
    return read


cdef void survey_scan(Run* run, Window* w, uint32_t shard) noexcept nogil:
    """What the log has, and where it ends. When resolving, again, up to where it has been found to end, and before any change that is not whole."""
    cdef ShardLog* log = &run.r.logs[shard]
    cdef uint64_t until = log.limit if run.resolving or run.r.timed else NO_LIMIT
    cdef Trail t
    cdef Scan s
    cdef TrailRead read
    if not run.resolving:
        log.limit = 0
    else:
        memset(run.parts + <size_t>shard * run.r.shards, 0, run.r.shards * sizeof(uint64_t))
    init_scan(&s, log.covered)
    run_trail(run, &t, shard, w, 0 if run.r.mode == RECOVERY_CHECK else log.covered + 1)
    if t.begin < t.end and run.r.catalog.segments[t.begin].first > log.covered + 1 and run.r.mode == RECOVERY_CHECK:
        add_fault(run, FAULT_GAP, &run.r.catalog.segments[t.begin], 0, 0)
    if t.seq > s.last:
        s.last = t.seq
    read = scan_trail(run, &t, shard, &s, until)
    if read == TRAIL_FAILED:
        run_unread(run, &t)
    elif read == TRAIL_STOP:
        run_damaged(run)
    if not run.resolving:
        log.last = log.limit
        log.torn_bytes = t.torn_bytes
        log.cut = log.cut or t.torn
    end_scan(log, &s)


# Resolving ------------------------------------------------------------------------------------------------------


cdef bint breaks(const Run* run, uint32_t shard) noexcept nogil:
    """A change in this shard's log names a part that is not there."""
    cdef const uint64_t* row = run.parts + <size_t>shard * run.r.shards
    cdef uint32_t i
    for i in range(run.r.shards):
        if row[i] > run.r.logs[i].limit:
            return True
    return False


cdef bint has_lost(const Run* run) noexcept nogil:
    cdef uint32_t i
    for i in range(run.r.shards):
        if run.r.logs[i].lost_count:
            return True
    return False


cdef void survey_resolve(Run* run, Window* w) noexcept nogil:
    """End logs before changes that are not whole until all are. A salvage leaves such changes out instead, and reads all logs once more to know
    which databases are swapped and emptied without them."""
    cdef bint again = True
    cdef uint32_t i
    cdef bint lost = run.salvage and has_lost(run)
    run.resolving = True
    if run.lenient:
        run.faults = NULL
    while again and not run_stopped(run):
        again = False
        for i in range(run.r.shards):
            if (lost or breaks(run, i)) and not run_stopped(run):
                survey_scan(run, w, i)
                again = not run.salvage
    run.resolving = False
