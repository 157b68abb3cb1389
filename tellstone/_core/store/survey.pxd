"""What there is to recover: the first two steps of store.recovery, what it answers, and what its threads share.

    survey_snapshot     the newest one is opened; a salvage takes an older one of the same generation where that is whole and the newest is not
    survey_logs         how many shards the log has, and what the snapshot covers of them
    survey_time         one shard's log: what of it was there at a moment
    survey_scan         one shard's log: what it has, and where it ends
    survey_resolve      ends of all logs, such that no change of several shards is half there

A moment is asked for with Recovery.timed. The state of a shard then is what the batches make of it that had ended by then: a MARK says when its batch
had, the head of a segment that everything before it had. A batch counts as no earlier than those before it, so where the clock has been set back a
state may be older than it need be, and is never newer. What no MARK ends has no time, and is left out.

INVARIANT: after survey_resolve every change of several shards up to the ends is whole, but for those that a salvage leaves out (run_has_whole).

Databases are named by where they were at the beginning until the whole log has been read: a SWAP moves contents, a FLUSH ends one of them. What
is known then of each shard, where contents end up and up to which number they are gone, is all that loading needs of either.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tellstone._core.base.atomics cimport load_u32
from tellstone._core.base.lock cimport Lock
from tellstone._core.store.catalog cimport Catalog, Faults
from tellstone._core.store.entry cimport DATABASES
from tellstone._core.store.keyspace cimport Keyspace
from tellstone._core.store.record cimport Record
from tellstone._core.store.trail cimport Trail
from tellstone._core.store.unpack cimport Unpack, UnpackRead
from tellstone._core.store.window cimport Window

cdef enum RecoveryMode:
    RECOVERY_LOAD = 0
    RECOVERY_SALVAGE = 1            # faults are collected, and what is whole is loaded all the same: for `tellstone repair`
    RECOVERY_CHECK = 2              # faults are collected, every file is read, and nothing is loaded: for `tellstone check`
    RECOVERY_TRACE = 3              # how far the log goes on is found out, and nothing is loaded: for the moments that `tellstone restore` can bring back

cdef enum RecoveryResult:
    RECOVERY_DONE = 0
    RECOVERY_DAMAGED = 1            # text says file, offset, and what is wrong; faults has it all
    RECOVERY_NEWER = 2              # a format of a later version
    RECOVERY_FAILED = 3             # reading failed, or no memory; text says

cdef enum:
    TEXT_ROOM = 8704                # two paths and what is wrong
    RECOVERY_THREADS = 64

cdef struct Lost:                   # numbers of a log: from .. to
    uint64_t first
    uint64_t last

cdef struct ShardLog:               # what has been found of a shard's log
    uint64_t covered                # by the snapshot
    int64_t time_ms                 # timed: when the last batch had ended that counts; 0: none does
    bint broken                     # RECOVERY_TRACE: behind that the log is damaged, or misses records
    uint64_t last                   # number of the last whole record
    uint64_t limit                  # of the last one that counts
    uint32_t end_k                  # where the record behind `limit` would stand: a segment of the catalog, and an offset in it
    uint64_t end_at
    bint cut                        # something stands there, and does not count
    uint64_t torn_bytes
    uint8_t ends[DATABASES]         # where the content of a database ends up after all swaps
    uint64_t flushed[DATABASES]     # by that place: number of the last FLUSH
    Lost* lost                      # numbers whose records are damaged, and those of BEGINs that miss some of theirs
    uint32_t lost_count

cdef struct Recovery:
    RecoveryMode mode
    bint chosen                     # the snapshot is: generation and number are given, not found. Number 0: without one, from an empty store on
    bint timed                      # what was written after until_ms does not count
    int64_t until_ms
    uint64_t generation             # of what was found; 0: nothing, and shards is the keyspace's number
    uint64_t number                 # of the snapshot; 0: there is none
    uint32_t shards                 # of the log that was found
    uint64_t* seqs                  # last sequence number of each of those shards
    uint64_t keys                   # progress, relaxed: entries of the snapshot so far
    uint64_t records                # and records of the log
    uint64_t bytes_done
    uint64_t bytes_all
    uint64_t expired                # keys that were over
    uint64_t torn_bytes             # of torn ends; zeros do not count
    uint64_t dropped                # whole records behind changes of several shards that are not
    uint32_t unfinished             # snapshots that were never finished
    char text[TEXT_ROOM]            # one line
    Faults faults
    Catalog catalog
    ShardLog* logs

# One task of a phase, with the window of its thread. It says by run_stop and its kin that the rest need not be begun.
ctypedef void (*Task)(Run* run, Window* w, uint32_t i) noexcept nogil

cdef struct Run:
    Recovery* r
    Keyspace* ks                    # NULL: nothing is loaded
    uint32_t threads
    bint salvage
    bint lenient                    # goes on behind damage
    Faults* faults                  # where they are noted in this phase; NULL: they have been
    Unpack snapshot
    bint has_snapshot               # it is open, and perhaps hurt
    uint64_t* parts                 # [shard][shard]: the highest number that a BEGIN in one names in the other
    bint resolving
    Task task
    uint32_t task_count
    uint32_t next                   # of the tasks; atomic
    Lock lock
    uint32_t result                 # RecoveryResult, atomic; text and the first result that is not RECOVERY_DONE under the lock

# Stopping. The first reason stays; without words it is the first of the faults.
cdef void run_stop(Run* run, RecoveryResult result, const char* name, const char* words) noexcept nogil
cdef inline bint run_stopped(const Run* run) noexcept nogil:
    return load_u32(&run.result) != RECOVERY_DONE
cdef void run_damaged(Run* run) noexcept nogil               # a fault has been noted that cannot be passed over
cdef void run_no_memory(Run* run) noexcept nogil
cdef void run_unread(Run* run, const Trail* t) noexcept nogil
cdef bint run_unpacked(Run* run, const Window* w, UnpackRead read) noexcept nogil     # whether reading of the snapshot can go on

# All tasks, side by side; the caller's thread does its share, and one that cannot be had is done without. True: nothing has stopped them.
cdef bint run_tasks(Run* run, Task task, uint32_t count) noexcept nogil
cdef void run_trail(Run* run, Trail* t, uint32_t shard, Window* w, uint64_t from_seq) noexcept nogil
cdef bint run_has_whole(const Run* run, const Record* begin) noexcept nogil           # every part of the change is there, or covered

cdef void survey_snapshot(Run* run, Window* w) noexcept nogil
cdef bint survey_verify(Run* run, Window* w, uint32_t i) noexcept nogil               # read all of snapshot i; whether it is whole
cdef bint survey_logs(Run* run, Window* w) noexcept nogil                             # False: stopped
cdef void survey_time(Run* run, Window* w, uint32_t shard) noexcept nogil             # a Task
cdef void survey_scan(Run* run, Window* w, uint32_t shard) noexcept nogil             # a Task
cdef void survey_resolve(Run* run, Window* w) noexcept nogil
# Timed: the logs reach as far as what entries of the snapshot show already. False: stopped.
cdef bint survey_reaches(Run* run) noexcept nogil
