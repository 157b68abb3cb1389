"""Recovery: a directory's newest snapshot and the log behind it, back into a keyspace.

    1. scan     the log is read, shards side by side: checksums, numbers without a gap, where it ends; databases that are swapped or emptied
    2. resolve  a change of several shards that is not whole ends the log of each of its shards before it, and so on for what is behind it
    3. load     the snapshot's blocks, then the records behind the numbers that it covers, again side by side

The end of a shard's log may be torn (store.trail says how that is told from damage): it is reported and does not count. Damage anywhere else
stops recovery: it names file, offset and shard. The files are not changed, and the keyspace is then to be thrown away.

ORDER: what stands in a log behind a change that is not whole has been told to nobody: a reply leaves when everything appended before its
change, in any log, is safe (wal_commit). So ending a log there loses nothing that was acknowledged, and leaves a state that has been.
recovery_cut makes the ends final, before a number can be given out a second time; without it the dropped part of one log would find itself
whole again by what another shard does next.

With another number of shards than the log has, everything is loaded by key to the shards there are; the caller then writes a snapshot of a new
generation before it appends. Memory is bounded: files are read in pieces, a thread holds a window of each, and a value at most twice.
Keys whose time has passed are removed at the end, when no later record can prolong them.
"""
from libc.stdint cimport uint32_t

from tellstone._core.store.keyspace cimport Keyspace
from tellstone._core.store.survey cimport (
    RECOVERY_CHECK, RECOVERY_DAMAGED, RECOVERY_DONE, RECOVERY_FAILED, RECOVERY_LOAD, RECOVERY_NEWER, RECOVERY_SALVAGE, RECOVERY_TRACE, Recovery,
    RecoveryMode, RecoveryResult,
)

# `chosen` and `timed`, with what belongs to them, may be set behind it.
cdef void recovery_init(Recovery* r, RecoveryMode mode) noexcept nogil
# threads: as many as may work side by side, the caller's included. ks is NULL where nothing is loaded; otherwise nobody else changes it.
cdef RecoveryResult recovery_run(Recovery* r, Keyspace* ks, const char* directory, uint32_t threads) noexcept nogil
# After RECOVERY_DONE, and before wal_open: cut what does not count off the logs. False: text says what failed; it can be tried again.
cdef bint recovery_cut(Recovery* r) noexcept nogil
cdef void recovery_free(Recovery* r) noexcept nogil
