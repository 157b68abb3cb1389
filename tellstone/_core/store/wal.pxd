"""The write-ahead log: a log a shard in segments, written by the group, synced before anybody is told (docs/format.md).

A change appends its records to its shard's buffer, under the shard's lock (log_put and its kin: nothing is allocated in the steady state, and
without a log it is one test of a pointer). wal_commit (store.commit) makes everything appended so far durable, as the policy has it, and is what a driver
calls before the first reply of a tick leaves: buffers are taken, written and synced, the logs side by side in the threads of the wal. A second
caller whose records are being synced already waits for that sync and adds none.

    WAL_ALWAYS      wal_commit writes and syncs
    WAL_EVERYSEC    a thread of the wal writes every WRITE_MS and syncs every SYNC_MS; wal_commit writes only a buffer that has grown long
    WAL_NO          likewise, and syncs only where a segment ends

What is written at once ends with a MARK. Segments are allocated before they are needed: a sync need not write their size, and a disk that is
full is noticed before a write is accepted, not after. A segment's tail is therefore zeros. The first of a log is SEGMENT_LEAST long, each later one
twice its predecessor, up to SEGMENT_MOST. One begins when all of the one before it is on the disk, so that the numbers that a crash leaves have
no gap.

FAILURE: when writing fails, Wal.health turns to what went wrong, and whoever accepts writes refuses them from then on (MISCONF); wal_commit
answers False: what it was asked to make safe is not.
    held    a file could not be allocated or written for want of room: nothing is lost, records wait in memory, a thread of the wal tries again
            every RETRY_MS, and health returns by itself
    lost    anything else, a failed sync above all. A sync that failed is not tried again: its pages may be marked clean and yet be gone. Nothing
            more is written to these segments; the log resumes in new ones, behind a snapshot that does not need the old ones (wal_resume).
            Records go on to be appended meanwhile; what such a snapshot covers is thrown away when it begins (log_cover)
"""
from libc.stdint cimport uint32_t, uint64_t

from tellstone._core.store.commit cimport WalPolicy
from tellstone._core.store.log cimport Wal

cdef enum:
    WRITE_MS = 100
    SYNC_MS = 900                   # with WRITE_MS: at most a second is missing after a crash
    RETRY_MS = 500

# Life. NULL: no memory, or the directory's path is too long. DIRECTORY/logs and its files are made with modes 0700 and 0600.
cdef Wal* wal_new(const char* directory, uint32_t shards, uint64_t generation, WalPolicy policy) noexcept nogil
# Begin to append behind the sequence numbers that recovery has found (one a shard): what is there is synced, and each log gets a fresh segment.
# Every log has its shard_lock. False: health and error say why; to be closed or opened again.
cdef bint wal_open(Wal* w, const uint64_t* seqs) noexcept nogil
# No more changes: health is WAL_CLOSED from here on. Everything appended is written and synced (whatever the policy), threads end, files are
# closed. False: it could not be. Whoever is just committing may go on: it is told whether its records are among those.
cdef bint wal_close(Wal* w) noexcept nogil
cdef void wal_free(Wal* w) noexcept nogil                    # closes nothing: wal_close or wal_abandon came before

cdef void wal_set_policy(Wal* w, WalPolicy policy) noexcept nogil
# Segments go whose records are all covered by a snapshot: of generations before its own, and of its own those at or below its numbers (one for
# each of its `shards`). Never one that is being written. Answers how many went.
cdef uint64_t wal_drop(Wal* w, uint64_t generation, uint32_t shards, const uint64_t* seqs) noexcept nogil
# After a failure. Held: try again now. Lost: with a whole snapshot of everything on the disk (its numbers are `seqs`, of log_cover after the failure),
# new segments; the old ones stay until wal_drop. False: still failing, or the snapshot is too old.
cdef bint wal_resume(Wal* w, const uint64_t* seqs) noexcept nogil
# In a child of fork: forget files and threads of the parent, append nothing. Health is WAL_FOREIGN from then on. Every shard is locked, or there is
# no other thread.
cdef void wal_abandon(Wal* w) noexcept nogil
