"""The log of a store, for Python (see durable.pxd)."""
cimport cython
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from tellstone._core.base.atomics cimport load_u32, load_u64
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.store.commit cimport WAL_ALWAYS, WAL_EVERYSEC, WAL_NO, wal_commit
from tellstone._core.store.keyspace cimport Keyspace, Store, keyspace_lock_all, keyspace_unlock_all
from tellstone._core.store.log cimport (
    WAL_BROKEN, WAL_CLOSED, WAL_FOREIGN, WAL_FULL, WAL_SOUND, Wal, log_bytes, log_pending, wal_is_lost, wal_reason,
)
from tellstone._core.store.wal cimport (
    wal_close, wal_drop, wal_free, wal_new, wal_open, wal_resume, wal_set_policy,
)

import os

check_layout(__name__)

POLICIES = {"always": WAL_ALWAYS, "everysec": WAL_EVERYSEC, "no": WAL_NO}
HEALTHS = {WAL_SOUND: "ok", WAL_FULL: "full", WAL_BROKEN: "broken", WAL_FOREIGN: "foreign", WAL_CLOSED: "closed"}


cdef uint64_t* numbers(object seqs, uint32_t count) except NULL:
    """A number a shard, in memory that the caller frees."""
    cdef uint32_t i
    cdef uint64_t* out
    if len(seqs) != count:
        raise ValueError(f"{len(seqs)} numbers for {count} shards")
    out = <uint64_t*>calloc(count, sizeof(uint64_t))
    if out == NULL:
        raise MemoryError("no memory for the numbers of a log")
    for i in range(count):
        out[i] = seqs[i]
    return out


cdef void attach(Keyspace* ks, Wal* wal) noexcept nogil:
    """NULL detaches."""
    cdef uint32_t i
    keyspace_lock_all(ks)
    for i in range(ks.shard_count):
        ks.shards[i].log = &wal.log[i] if wal != NULL else NULL
    ks.wal = wal
    keyspace_unlock_all(ks)


@cython.final
@cython.no_gc_clear                 # it detaches itself from its store in __dealloc__
cdef class StoreLog:
    """The write-ahead log of a store. Once it is open the store has no other: when it has been closed, and in a child of fork, it refuses changes.

    directory: where recovery has looked. generation: that of its logs. sync: "always", "everysec" or "no".
    """

    def __cinit__(self, Store store not None, directory, unsigned long long generation, str sync not None):
        cdef bytes path = os.fsencode(directory)
        cdef uint32_t i
        self.store = store
        self.wal = wal_new(path, store.ks.shard_count, generation, POLICIES[sync])
        if self.wal == NULL:
            raise MemoryError("no memory for the log, or the name of its directory is too long")
        for i in range(self.wal.count):
            self.wal.log[i].shard_lock = &store.ks.shards[i].lock

    def __dealloc__(self):
        if self.wal == NULL:
            return
        with nogil:
            if self.opened:
                wal_close(self.wal)
                attach(self.store.ks, NULL)
            wal_free(self.wal)

    cdef object failure(self):
        """What the log has met, as an OSError."""
        return OSError(load_u32(&self.wal.error), os.strerror(load_u32(&self.wal.error)))

    def open(self, seqs):
        """Append from here on behind these numbers, one a shard: every change of the store, from now. Raises OSError."""
        cdef uint64_t* found = numbers(seqs, self.wal.count)
        cdef bint done
        with nogil:
            done = wal_open(self.wal, found)
            if done:
                attach(self.store.ks, self.wal)
        free(found)
        if not done:
            raise self.failure()
        self.opened = True

    def close(self):
        """Write and sync everything and append no more: the store refuses changes from here on. Answers whether it could be; False: `error`
        says why not."""
        cdef bint done = True
        if self.opened:
            with nogil:
                done = wal_close(self.wal)
        return done

    def commit(self):
        """Make safe what has been appended, as the policy has it. Answers whether it is."""
        cdef bint done
        with nogil:
            done = wal_commit(self.wal)
        return done

    def drop(self, unsigned long long generation, seqs):
        """Let segments go that a snapshot of this generation covers: those that hold nothing behind its numbers, and all of older generations."""
        cdef uint32_t count = <uint32_t>len(seqs)
        cdef uint64_t* covered = numbers(seqs, count)
        with nogil:
            wal_drop(self.wal, generation, count, covered)
        free(covered)

    def resume(self, seqs):
        """After a failure, and a whole snapshot that reaches to these numbers: append again. Answers whether it works."""
        cdef uint64_t* covered = numbers(seqs, self.wal.count)
        cdef bint done
        with nogil:
            done = wal_resume(self.wal, covered)
        free(covered)
        return done

    def set_sync(self, str sync not None):
        """Change the policy."""
        wal_set_policy(self.wal, POLICIES[sync])

    @property
    def health(self):
        """"ok", "full" (no room on the disk), "broken", "closed", or "foreign" in a child of fork."""
        return HEALTHS[load_u32(&self.wal.health)]

    @property
    def lost(self):
        """Whether only a snapshot, and `resume`, help."""
        return wal_is_lost(self.wal)

    @property
    def error(self):
        """What has failed, in words; empty while nothing has."""
        return "" if load_u32(&self.wal.health) == WAL_SOUND else wal_reason(self.wal).decode(errors="replace")

    @property
    def generation(self):
        """Of the logs."""
        return self.wal.generation

    @property
    def bytes(self):
        """Appended since the last snapshot began, over all shards."""
        cdef uint32_t i
        cdef uint64_t sum = 0
        for i in range(self.wal.count):
            sum += log_bytes(&self.wal.log[i])
        return sum

    @property
    def changes(self):
        """Since the log was opened: keys that were set, changed or removed. What has expired does not count."""
        cdef uint32_t i
        cdef uint64_t sum = 0
        for i in range(self.wal.count):
            sum += load_u64(&self.wal.log[i].changes)
        return sum

    @property
    def pending(self):
        """Bytes that wait to be written."""
        cdef uint32_t i
        cdef uint64_t sum = 0
        for i in range(self.wal.count):
            sum += log_pending(&self.wal.log[i])
        return sum
