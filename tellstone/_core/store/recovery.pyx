"""Recovery (see recovery.pxd)."""
from libc.stdint cimport INT64_MAX, uint8_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset, strerror

from tellstone._core.base.atomics cimport add_u64, relaxed_u64
from tellstone._core.base.disk cimport DISK_MODIFY, disk_close, disk_open, disk_sync_all, disk_sync_directory, disk_truncate, disk_unlink
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.store.catalog cimport (
    FAULT_NEWER, NAME_ROOM, NO_SHARD, PATH_ROOM, Fault, catalog_free, catalog_read, catalog_segments, fault_text, fault_words, faults_free, full_path,
    segment_name,
)
from tellstone._core.store.keyspace cimport Keyspace, Store, keyspace_lock_all, keyspace_unlock_all
from tellstone._core.store.record cimport RECORD_BEGIN, RECORD_MARK, Record
from tellstone._core.store.replay cimport REPLAY_OK, Replay, replay_batch, replay_expire, replay_init, replay_knows, replay_take
from tellstone._core.store.segment cimport SEGMENT_HEAD
from tellstone._core.store.survey cimport (
    RECOVERY_THREADS, TEXT_ROOM, Run, ShardLog, run_has_whole, run_damaged, run_no_memory, run_stop, run_stopped, run_tasks, run_trail, run_unpacked, run_unread, survey_logs,
    survey_reaches, survey_resolve, survey_scan, survey_snapshot, survey_time, survey_verify,
)
from tellstone._core.store.trail cimport TRAIL_FAILED, TRAIL_MOVE, TRAIL_RECORD, TRAIL_STOP, Trail, TrailRead, trail_next
from tellstone._core.store.unpack cimport unpack_close, unpack_shard, unpack_walk
from tellstone._core.store.window cimport Window, window_free

import os

from tellstone.errors import DamageError, StartError

check_layout(__name__)


# Loading --------------------------------------------------------------------------------------------------------


cdef void init_replay(Run* run, Replay* p, uint32_t shard) noexcept nogil:
    cdef const ShardLog* log = &run.r.logs[shard]
    replay_init(p, run.ks, shard, run.r.shards == run.ks.shard_count)
    memcpy(p.place, log.ends, sizeof(log.ends))
    memcpy(p.flushed, log.flushed, sizeof(log.flushed))


cdef bint flush_batch(Run* run, Replay* p) noexcept nogil:
    add_u64(&run.r.records, p.done)
    p.done = 0
    if replay_batch(p) == REPLAY_OK:
        return True
    run_no_memory(run)
    return False


cdef void load_log(Run* run, Window* w, uint32_t shard, Replay* p) noexcept nogil:
    cdef const ShardLog* log = &run.r.logs[shard]
    cdef Trail t
    cdef Record r
    cdef TrailRead read = TRAIL_RECORD
    cdef uint64_t passed = 0
    cdef bint full
    run_trail(run, &t, shard, w, log.covered + 1)
    while t.seq < log.limit and not run_stopped(run):
        read = trail_next(&t, &r, p.count > 0)
        full = read != TRAIL_RECORD
        if read == TRAIL_RECORD and r.kind != RECORD_MARK:
            if r.seq > log.limit:
                break
            if r.seq > log.covered and r.seq > passed and replay_knows(&r):
                if r.kind == RECORD_BEGIN and run.salvage and not run_has_whole(run, &r):
                    passed = r.seq + r.records
                full = replay_take(p, &r)
        if full and not flush_batch(run, p):
            return
        if read != TRAIL_RECORD and read != TRAIL_MOVE:
            break
    flush_batch(run, p)
    if read == TRAIL_FAILED:
        run_unread(run, &t)
    elif read == TRAIL_STOP:
        run_damaged(run)


cdef void load_shard(Run* run, Window* w, uint32_t shard) noexcept nogil:
    cdef Replay p
    init_replay(run, &p, shard)
    if run.has_snapshot and run.snapshot.feet != NULL and not run_unpacked(run, w, unpack_shard(&run.snapshot, w, shard, &p)):
        return
    p.done = 0
    load_log(run, w, shard, &p)


cdef void load_walk(Run* run, Window* w) noexcept nogil:
    """A snapshot whose foot is lost, before the logs."""
    cdef Replay* each = <Replay*>malloc(run.r.shards * sizeof(Replay))
    cdef uint32_t i
    if each == NULL:
        run_no_memory(run)
        return
    for i in range(run.r.shards):
        init_replay(run, &each[i], i)
    run_unpacked(run, w, unpack_walk(&run.snapshot, w, run.r.shards, NULL, each))
    free(each)


cdef void expire_shard(Run* run, Window* w, uint32_t shard) noexcept nogil:
    add_u64(&run.r.expired, replay_expire(run.ks, shard))


cdef uint8_t set_expiry(Keyspace* ks, uint8_t active) noexcept nogil:
    """Whether the wheels turn; answers whether they did. Upkeep looks under a shard's lock, so it knows when the locks are let go."""
    cdef uint8_t was
    keyspace_lock_all(ks)
    was = ks.active_expiry
    ks.active_expiry = active
    keyspace_unlock_all(ks)
    return was


cdef void load(Run* run, Window* w) noexcept nogil:
    """ORDER: upkeep does not expire anything meanwhile: what is over now may be prolonged by a later record."""
    cdef uint8_t active = set_expiry(run.ks, 0)
    run.snapshot.faults = run.faults
    if run.has_snapshot and run.snapshot.feet == NULL:
        load_walk(run, w)
    if run_tasks(run, load_shard, run.r.shards):
        run_tasks(run, expire_shard, run.ks.shard_count)
    set_expiry(run.ks, active)


# The whole ------------------------------------------------------------------------------------------------------


cdef void check_snapshot(Run* run, Window* w, uint32_t i) noexcept nogil:
    survey_verify(run, w, i)


cdef void conclude(Run* run) noexcept nogil:
    cdef Recovery* r = run.r
    cdef const ShardLog* log
    cdef uint32_t i
    for i in range(r.shards):
        log = &r.logs[i]
        r.seqs[i] = log.limit
        r.torn_bytes += log.torn_bytes
        if log.last > log.limit and log.last > log.covered:
            r.dropped += log.last - log.limit
    r.bytes_done = r.bytes_all


cdef void recover_found(Run* run, Window* w) noexcept nogil:
    if run.r.number if run.r.chosen else run.r.catalog.snapshot_count:
        survey_snapshot(run, w)
    elif not run.r.chosen:
        run.r.generation = run.r.catalog.segments[run.r.catalog.segment_count - 1].generation
    if run_stopped(run) or not survey_logs(run, w):
        return
    if run.r.mode == RECOVERY_CHECK and not run.r.chosen:
        run_tasks(run, check_snapshot, run.r.catalog.snapshot_count)
    if run.r.timed and not run_tasks(run, survey_time, run.r.shards):
        return
    if run.r.mode == RECOVERY_TRACE or not run_tasks(run, survey_scan, run.r.shards):
        return
    survey_resolve(run, w)
    if run.ks != NULL and not run_stopped(run) and survey_reaches(run):
        load(run, w)
    if not run_stopped(run):
        conclude(run)


cdef RecoveryResult verdict(Run* run) noexcept nogil:
    """Faults of a check are its result, those of a salvage are not."""
    cdef Recovery* r = run.r
    cdef RecoveryResult result = <RecoveryResult>run.result
    cdef uint32_t i
    if r.faults.count and result == RECOVERY_DONE and r.mode == RECOVERY_CHECK:
        result = RECOVERY_DAMAGED
    if r.faults.count and (result == RECOVERY_DAMAGED or result == RECOVERY_NEWER):
        for i in range(r.faults.count):
            if r.faults.items[i].kind == FAULT_NEWER:
                result = RECOVERY_NEWER
                break
        else:
            i = 0
        fault_text(&r.faults.items[i], r.catalog.directory, r.text, TEXT_ROOM)
    return result


cdef void recovery_init(Recovery* r, RecoveryMode mode) noexcept nogil:
    memset(r, 0, sizeof(Recovery))
    r.mode = mode


cdef RecoveryResult recovery_run(Recovery* r, Keyspace* ks, const char* directory, uint32_t threads) noexcept nogil:
    cdef Run run
    cdef Window w
    cdef int error
    memset(&run, 0, sizeof(Run))
    memset(&w, 0, sizeof(Window))
    run.r = r
    run.ks = ks
    run.threads = RECOVERY_THREADS if threads > RECOVERY_THREADS else threads if threads else 1
    run.salvage = r.mode == RECOVERY_SALVAGE
    run.lenient = r.mode == RECOVERY_SALVAGE or r.mode == RECOVERY_CHECK
    run.faults = &r.faults
    error = catalog_read(&r.catalog, directory)
    if error:
        run_stop(&run, RECOVERY_FAILED, b".", strerror(error))
        return RECOVERY_FAILED
    r.unfinished = r.catalog.unfinished
    if r.catalog.snapshot_count or r.catalog.segment_count:
        recover_found(&run, &w)
    elif ks != NULL:
        r.shards = ks.shard_count
        r.seqs = <uint64_t*>calloc(r.shards, sizeof(uint64_t))
        if r.seqs == NULL:
            run_no_memory(&run)
    window_free(&w)
    unpack_close(&run.snapshot)
    free(run.parts)
    return verdict(&run)


cdef void recovery_free(Recovery* r) noexcept nogil:
    cdef uint32_t i
    if r.logs != NULL:
        for i in range(r.shards):
            free(r.logs[i].lost)
    free(r.logs)
    free(r.seqs)
    faults_free(&r.faults)
    catalog_free(&r.catalog)
    r.logs = NULL
    r.seqs = NULL


# Cutting --------------------------------------------------------------------------------------------------------


cdef int shorten(const char* path, uint64_t size) noexcept nogil:
    cdef int fd = disk_open(path, DISK_MODIFY)
    cdef int error
    if fd < 0:
        return -fd
    error = disk_truncate(fd, size)
    if error == 0:
        error = disk_sync_all(fd)
    disk_close(fd)
    return error


cdef int remove(Recovery* r, const char* path) noexcept nogil:
    """Gone for good, before anything else changes."""
    cdef char logs[PATH_ROOM + NAME_ROOM]
    cdef int error = disk_unlink(path)
    full_path(logs, &r.catalog, b"logs")
    return error if error else disk_sync_directory(logs)


cdef bint cut_log(Recovery* r, uint32_t shard) noexcept nogil:
    """ORDER: later segments first, one after the other: a crash in between leaves a log that ends somewhere, and is cut again."""
    cdef const ShardLog* log = &r.logs[shard]
    cdef char name[NAME_ROOM]
    cdef char path[PATH_ROOM + NAME_ROOM]
    cdef uint32_t begin, k
    cdef int error = 0
    catalog_segments(&r.catalog, r.generation, shard, &begin, &k)
    while log.cut and k > begin and k - 1 >= log.end_k and error == 0:
        k -= 1
        segment_name(name, &r.catalog.segments[k])
        full_path(path, &r.catalog, name)
        error = shorten(path, log.end_at) if k == log.end_k and log.end_at > SEGMENT_HEAD else remove(r, path)
    if error:
        snprintf(r.text, TEXT_ROOM, b"%s: %s", <const char*>path, strerror(error))
    return error == 0


cdef bint recovery_cut(Recovery* r) noexcept nogil:
    cdef uint32_t i
    for i in range(r.shards if r.logs != NULL else 0):
        if not cut_log(r, i):
            return False
    return True


# For Python -----------------------------------------------------------------------------------------------------

cdef dict modes = {"load": RECOVERY_LOAD, "salvage": RECOVERY_SALVAGE, "check": RECOVERY_CHECK, "trace": RECOVERY_TRACE}


cdef class RecoveryJob:
    """One recovery of a store from a directory: done by one thread, watched by others.

    mode: "load" stops at damage; "salvage" collects faults and loads what is whole; "check" reads every file and loads nothing; "trace" loads nothing
    either, and finds out how far the log goes on without damage. The store is None where nothing is loaded.
    base: begin with this snapshot, named by generation and number, not with the newest. Number 0: with an empty store and the log from its beginning.
    until_ms: what was written later does not count. A trace goes on until then.
    """

    cdef Store store
    cdef bytes directory
    cdef Recovery r
    cdef bint used

    def __cinit__(self, Store store, directory not None, *, str mode not None="load", tuple base=None, until_ms=None):
        self.store = store
        self.directory = os.fsencode(directory)
        recovery_init(&self.r, modes[mode])
        if base is not None:
            self.r.chosen = True
            self.r.generation, self.r.number = base
        if until_ms is not None or self.r.mode == RECOVERY_TRACE:
            self.r.timed = True
            self.r.until_ms = INT64_MAX if until_ms is None else until_ms
        if (store is None) != (self.r.mode == RECOVERY_CHECK or self.r.mode == RECOVERY_TRACE):
            raise ValueError("a check and a trace have no store, everything else has one")

    def __dealloc__(self):
        recovery_free(&self.r)

    def run(self, unsigned int threads=0):
        """Do it. threads: how many work side by side, 0 for one a CPU. Raises DamageError or StartError, whose text is one line; a check and a
        salvage raise for faults only where a file is of a later version."""
        cdef const char* directory = self.directory
        cdef Keyspace* ks = self.store.ks if self.store is not None else NULL
        cdef RecoveryResult result
        if self.used:
            raise ValueError("a job is for one recovery")
        self.used = True
        if threads == 0:
            threads = os.cpu_count() or 1
        with nogil:
            result = recovery_run(&self.r, ks, directory, threads)
        if result == RECOVERY_FAILED:
            raise StartError(self.text)
        if result == RECOVERY_NEWER or (result == RECOVERY_DAMAGED and self.r.mode in (RECOVERY_LOAD, RECOVERY_TRACE)):
            raise DamageError(self.text)

    def cut(self):
        """Make the ends of the logs final (recovery_cut). Raises StartError."""
        cdef bint done
        with nogil:
            done = recovery_cut(&self.r)
        if not done:
            raise StartError(self.text)

    @property
    def text(self):
        """What stopped it."""
        return os.fsdecode(<bytes>self.r.text)

    @property
    def generation(self):
        """Of the files that were found, 0 if there were none."""
        return self.r.generation

    @property
    def number(self):
        """Of the snapshot that was loaded, 0 if there was none."""
        return self.r.number

    @property
    def shards(self):
        """How many the log has."""
        return self.r.shards

    @property
    def seqs(self):
        """The last number of each shard's log."""
        return [self.r.seqs[i] for i in range(self.r.shards)] if self.r.seqs != NULL else []

    @property
    def time_ms(self):
        """Until a moment: when the last change was written that counts, as Unix time; 0 where there is none behind the snapshot."""
        return max([time_ms for _, time_ms, _ in self.traced], default=0)

    @property
    def traced(self):
        """Until a moment, by shard: the number of the last record that counts, when that was written as Unix time or 0 for none behind the snapshot,
        and whether the log is damaged behind it."""
        cdef uint32_t i
        if self.r.logs == NULL:
            return []
        return [(self.r.logs[i].limit, self.r.logs[i].time_ms, bool(self.r.logs[i].broken)) for i in range(self.r.shards)]

    @property
    def keys(self):
        """Entries of the snapshot so far."""
        return relaxed_u64(&self.r.keys)

    @property
    def records(self):
        """Records of the log so far."""
        return relaxed_u64(&self.r.records)

    @property
    def bytes_done(self):
        """Bytes read so far, of bytes_all."""
        return relaxed_u64(&self.r.bytes_done)

    @property
    def bytes_all(self):
        """Bytes to read; files are read once or twice."""
        return relaxed_u64(&self.r.bytes_all)

    @property
    def expired(self):
        """Keys whose time had passed."""
        return self.r.expired

    @property
    def torn_bytes(self):
        """Bytes of torn ends."""
        return self.r.torn_bytes

    @property
    def dropped(self):
        """Whole records that do not count: they follow a change of several shards that is not whole."""
        return self.r.dropped

    @property
    def unfinished(self):
        """Snapshots that were never finished."""
        return self.r.unfinished

    @property
    def files(self):
        """How many snapshots and segments the directory has."""
        return self.r.catalog.snapshot_count, self.r.catalog.segment_count

    @property
    def ends(self):
        """Where logs were torn or end early: (shard, file, offset, torn bytes, records dropped)."""
        cdef list found = []
        cdef char name[NAME_ROOM]
        cdef const ShardLog* log
        cdef uint32_t i
        if self.r.logs == NULL:
            return found
        for i in range(self.r.shards):
            log = &self.r.logs[i]
            if log.cut and log.end_k < self.r.catalog.segment_count:
                segment_name(name, &self.r.catalog.segments[log.end_k])
                found.append((i, os.fsdecode(<bytes>name), log.end_at, log.torn_bytes, log.last - log.limit if log.last > log.limit else 0))
        return found

    @property
    def faults(self):
        """What is damaged: (file, offset, length, shard or None, first and last number lost or 0, what is wrong)."""
        cdef Fault* f
        cdef list found = []
        cdef uint32_t i
        for i in range(self.r.faults.count):
            f = &self.r.faults.items[i]
            found.append((os.fsdecode(<bytes>f.file), f.offset, f.length, f.shard if f.shard != <uint32_t>NO_SHARD else None, f.first, f.last,
                          (<bytes>fault_words(f.kind)).decode()))
        return found

    @property
    def more_faults(self):
        """How many more there are."""
        return self.r.faults.more


def recover(Store store not None, directory not None, unsigned int threads=0):
    """Load a store from a directory. Answers the job. Raises DamageError or StartError, and then the store is to be thrown away."""
    cdef RecoveryJob job = RecoveryJob(store, directory)
    job.run(threads)
    return job
