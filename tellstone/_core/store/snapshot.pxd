"""Snapshots: the whole keyspace in one file, written while it goes on changing (store.blocks has the file, docs/format.md the page).

A snapshot is written shard by shard in slices: lock, encode some entries of a database's table into a buffer, unlock, write. Before its first
slice the number that the shard's log has reached is noted. Entries may change between slices, and the log from the noted number on says how:
loading the snapshot and replaying that log ends in the present state, because records set states (see store.record). There is no fork and no
second copy: what it needs is the buffer of one block. A large value is not even copied, but counted (base.block) and written from where it is.

SWAPDB is the one change that does not set a state. So a database is followed wherever it is swapped to (Shard.contents), and written as the one that
it was when its shard's number was noted: the log then moves it as it was moved.

The snapshot goes to a temporary file. When all entries are there all logs are synced, so that whatever of a later change a slice has seen is in one;
the foot says when that was and up to which numbers, for only states from then on can be made of it. Then the file is synced, renamed, and its
directory synced. Only then does it count, and segments that it covers may go.

Without a log the numbers are 0, and what a slice sees of a change of several shards may be half of it.

FAILURE: any error, and being cancelled, leaves the old snapshot and the whole log; the temporary file is removed.
LOCK: one shard at a time, for SLICE_BYTES or SLICE_ENTRIES of it, and never while a file is written.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.store.keyspace cimport Keyspace

cdef enum SnapshotResult:
    SNAPSHOT_DONE = 0
    SNAPSHOT_CANCELLED = 1
    SNAPSHOT_FULL = 2               # no room on the disk
    SNAPSHOT_FAILED = 3             # see error

cdef enum:
    SNAPSHOT_BLOCK = 65536          # bytes from which a block is written
    SLICE_BYTES = 65536             # that one hold of the lock aims at
    SLICE_ENTRIES = 64

cdef struct Snapshot:               # one being written; progress is relaxed
    Keyspace* ks
    uint64_t generation
    uint64_t* seqs                  # noted, one a shard; what wal_drop and wal_resume want to know
    uint64_t changes                # that the logs had counted by then
    uint64_t keys
    uint64_t bytes
    uint32_t cancelled              # bool, atomic
    int64_t begun_ms
    int64_t ended_ms
    int error                       # errno

cdef bint snapshot_init(Snapshot* s, Keyspace* ks, uint64_t generation) noexcept nogil     # False without memory
cdef void snapshot_free(Snapshot* s) noexcept nogil
# Write one to `path` (by way of path + ".part"), in the calling thread, without the GIL; once per Snapshot. When `gentle` it works in bursts and
# sleeps twice as long as each took: a third of a core, and no request waits for more than a burst.
cdef SnapshotResult snapshot_write(Snapshot* s, const char* path, bint gentle) noexcept nogil
