"""Commit: what has been appended to logs is written and synced (store.wal has the promises).

    log_secure      one log: until a record of it is on the disk
    wal_sync_all    all logs side by side
    wal_commit      as the policy has it

LOCK: as store.log says; none of these is called with a shard's lock held.
"""
from libc.stdint cimport uint32_t, uint64_t

from tellstone._core.base.atomics cimport load_u32
from tellstone._core.store.log cimport Log, Wal, wal_is_lost

cdef enum WalPolicy:
    WAL_ALWAYS = 0
    WAL_EVERYSEC = 1
    WAL_NO = 2

cdef enum:
    SEGMENT_LEAST = 1048576         # bytes of a log's first segment
    SEGMENT_MOST = 16777216
    LONG_BUFFER = 262144            # from here on wal_commit writes under every policy
    BUFFER_MOST = 67108864          # half of it makes committers wait; and while nothing can be written, from here on records are given up

cdef enum Outcome:
    OUTCOME_DONE = 0
    OUTCOME_LEFT = 1                # it takes a new segment, and the caller may not begin one
    OUTCOME_FAILED = 2

# Everything appended before this call is as safe as the policy has it. False: some of it is not. (It may turn out to be later; nobody may have
# been told so.)
cdef bint wal_commit(Wal* w) noexcept nogil
cdef bint wal_sync_all(Wal* w) noexcept nogil                # whatever the policy: before a snapshot counts

# For store.wal
cdef bint log_secure(Log* log, uint64_t wanted) noexcept nogil              # records up to `wanted` are on the disk
# Write what is in the buffers, log_drain the spare alone. `whole`: though it takes a new segment. LOCK: flushing; with `whole` syncing before it.
cdef Outcome log_write(Log* log, bint whole) noexcept nogil
cdef Outcome log_drain(Log* log, bint whole) noexcept nogil
cdef void log_mark(Log* log) noexcept nogil                                 # end the spare with a MARK. LOCK: flushing
cdef bint log_sync(Log* log, uint64_t upto) noexcept nogil                  # up to a record that has been written. LOCK: syncing
# A new segment behind that number, whatever there was before; the directory is still to be synced. 0 or an errno. LOCK: flushing and syncing.
cdef int log_begin(Log* log, uint64_t seq) noexcept nogil
cdef int log_reserve(Log* log) noexcept nogil                               # the next segment, if it will soon be needed. 0 or an errno
cdef void log_set_stuck(Log* log, bint stuck) noexcept nogil                # LOCK: flushing
cdef void wal_call_keeper(Wal* w) noexcept nogil
cdef inline bint wal_is_settled(Wal* w) noexcept nogil:
    """Nothing that was to be written has failed to be."""
    return not wal_is_lost(w) and load_u32(&w.stuck) == 0
