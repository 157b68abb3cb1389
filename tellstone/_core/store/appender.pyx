"""A write-ahead log for Python (see appender.pxd): every call is what a shard, a driver or the engine would do."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from tellstone._core.base.atomics cimport load_u32, load_u64
from tellstone._core.base.block cimport Block, block_new, block_unref
from tellstone._core.base.bytesops cimport copy_bytes, put_u64, view_of
from tellstone._core.base.lock cimport Lock, lock_acquire, lock_release
from tellstone._core.base.platform cimport mono_us
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.memory.wheel cimport WHEEL_NODE_AT
from tellstone._core.store.commit cimport WAL_ALWAYS, WAL_EVERYSEC, WAL_NO, WalPolicy, wal_commit, wal_sync_all
from tellstone._core.store.entry cimport (
    ENC_BLOCK, ENC_INT, ENC_RAW, ENTRY_BLOCK_FROM, NO_DEADLINE, TYPE_STRING, entry_block, entry_encoding, entry_size_for, entry_write,
    int_width, int_write,
)
from tellstone._core.store.log cimport (
    LOGS_MAX, WAL_BROKEN, WAL_CLOSED, WAL_FOREIGN, WAL_FULL, WAL_SOUND, Log, Wal, log_bytes, log_cover, log_deadline, log_delete, log_drop, log_flush, log_patch,
    log_pending, log_put, log_swap, wal_group_begin, wal_group_end,
)
from tellstone._core.store.wal cimport (
    wal_abandon, wal_close, wal_drop, wal_free, wal_new, wal_open, wal_resume, wal_set_policy,
)

check_layout(__name__)

POLICIES = {"always": WAL_ALWAYS, "everysec": WAL_EVERYSEC, "no": WAL_NO}
HEALTHS = {WAL_SOUND: "sound", WAL_FULL: "full", WAL_BROKEN: "broken", WAL_FOREIGN: "foreign", WAL_CLOSED: "closed"}

cdef enum:
    SHARD_WORDS = 16                # of a set of shards, LOGS_MAX bits
    MEASURE_KEY = 16
    MEASURE_VALUE = 64
    MEASURE_BATCH = 1000


cdef char* entry_new(bytes key, object value, int64_t deadline) except NULL:
    """An entry as a table would hold it, in memory of malloc: bytes, an integer, or a block of long bytes."""
    cdef size_t key_len = <size_t>len(key), value_len
    cdef uint8_t encoding = ENC_RAW
    cdef Block* block = NULL
    cdef char* entry
    cdef char* at
    if isinstance(value, int):
        encoding = ENC_INT
        value_len = int_width(value)
    elif len(<bytes>value) >= ENTRY_BLOCK_FROM:
        encoding = ENC_BLOCK
        value_len = sizeof(Block*)
        block = block_new(<size_t>len(<bytes>value), <size_t>len(<bytes>value))
        if block == NULL:
            raise MemoryError("no memory for a block")
        memcpy(block.data, <const char*><bytes>value, block.size)
    else:
        value_len = <size_t>len(<bytes>value)
    entry = <char*>malloc(entry_size_for(key_len, value_len, deadline != NO_DEADLINE))
    if entry == NULL:
        raise MemoryError("no memory for an entry")
    at = entry_write(entry, TYPE_STRING, encoding, key, key_len, value_len, deadline != NO_DEADLINE)
    if deadline != NO_DEADLINE:
        put_u64(entry + WHEEL_NODE_AT + 8, <uint64_t>deadline)
    if encoding == ENC_INT:
        int_write(at, <uint32_t>value_len, value)
    elif encoding == ENC_BLOCK:
        memcpy(at, &block, sizeof(Block*))
    else:
        copy_bytes(at, <const char*><bytes>value, value_len)
    return entry


cdef void entry_drop(char* entry) noexcept:
    if entry_encoding(entry) == ENC_BLOCK:
        block_unref(entry_block(entry))
    free(entry)


cdef class Appender:
    """Logs in `directory`, which is there, of so many shards, behind the sequence numbers `seqs`."""

    cdef Wal* wal
    cdef Lock* locks                # of the shards that are not there
    cdef bint grouped               # this call holds the locks of a group

    def __cinit__(self, bytes directory not None, uint32_t shards=1, *, uint64_t generation=1, str policy="always", seqs=None):
        cdef uint32_t i
        cdef bint opened
        cdef uint64_t numbers[LOGS_MAX]
        self.wal = wal_new(directory, shards, generation, <WalPolicy><int>POLICIES[policy])
        self.locks = <Lock*>calloc(shards, sizeof(Lock))
        if self.wal == NULL or self.locks == NULL:
            raise MemoryError("no memory for a log, or too long a path")
        self.take_numbers(seqs or [0] * shards, numbers)
        for i in range(shards):
            self.wal.log[i].shard_lock = &self.locks[i]
        with nogil:
            opened = wal_open(self.wal, numbers)
        if not opened:
            raise OSError(self.error, "the log cannot be opened")

    def __dealloc__(self):
        if self.wal != NULL:
            with nogil:
                wal_close(self.wal)
                wal_free(self.wal)
        free(self.locks)

    cdef int take_numbers(self, seqs, uint64_t* numbers) except -1:
        if len(seqs) != <Py_ssize_t>self.wal.count:
            raise ValueError(f"seqs: {len(seqs)} numbers for {self.wal.count} shards")
        for i, seq in enumerate(seqs):
            numbers[<size_t>i] = seq
        return 0

    cdef Log* log_of(self, uint32_t shard) except NULL:
        if shard >= self.wal.count:
            raise ValueError(f"shard: {shard} of {self.wal.count}")
        return &self.wal.log[shard]

    cdef Log* lock(self, uint32_t shard) except NULL:
        cdef Log* log = self.log_of(shard)
        if not self.grouped:
            with nogil:
                lock_acquire(log.shard_lock)
        return log

    cdef void unlock(self, Log* log) noexcept:
        if not self.grouped:
            lock_release(log.shard_lock)

    # Appending

    def put(self, uint32_t shard, int db, bytes key not None, value not None, int64_t deadline=NO_DEADLINE):
        """value: bytes, or an integer."""
        cdef char* entry = entry_new(key, value, deadline)
        cdef Log* log = self.lock(shard)
        log_put(log, db, entry)
        self.unlock(log)
        entry_drop(entry)

    def patch(self, uint32_t shard, int db, bytes key not None, value not None, uint64_t offset, uint64_t length):
        """Of the value as it is after the change, so many bytes from an offset on have changed."""
        cdef char* entry
        cdef Log* log
        if isinstance(value, bytes) and offset + length > <uint64_t>len(value):
            raise ValueError(f"offset: {offset} + {length} is behind the end, {len(value)}")
        entry = entry_new(key, value, NO_DEADLINE)
        log = self.lock(shard)
        log_patch(log, db, entry, offset, length)
        self.unlock(log)
        entry_drop(entry)

    def deadline(self, uint32_t shard, int db, bytes key not None, int64_t deadline):
        cdef char* entry = entry_new(key, b"", deadline)
        cdef Log* log = self.lock(shard)
        log_deadline(log, db, entry)
        self.unlock(log)
        entry_drop(entry)

    def delete(self, uint32_t shard, int db, bytes key not None):
        cdef Log* log = self.lock(shard)
        log_delete(log, db, view_of(key, <size_t>len(key)))
        self.unlock(log)

    def flush(self, uint32_t shard, int db):
        cdef Log* log = self.lock(shard)
        log_flush(log, db, 1)
        self.unlock(log)

    def swap(self, uint32_t shard, int db, int other):
        cdef Log* log = self.lock(shard)
        log_swap(log, db, other)
        self.unlock(log)

    def group(self, tuple shards not None, list changes not None):
        """One change of these shards: names of methods and their arguments, as in ("put", 0, 0, b"key", b"value")."""
        cdef uint64_t words[SHARD_WORDS]
        cdef uint32_t i
        memset(words, 0, sizeof(words))
        for shard in shards:
            i = (self.log_of(shard)).index
            words[i >> 6] |= (<uint64_t>1) << (i & 63)
        with nogil:
            for i in range(self.wal.count):
                if words[i >> 6] >> (i & 63) & 1:
                    lock_acquire(self.wal.log[i].shard_lock)
        self.grouped = True
        wal_group_begin(self.wal, words, SHARD_WORDS)
        try:
            for name, *arguments in changes:
                getattr(self, name)(*arguments)
        finally:
            wal_group_end(self.wal, words, SHARD_WORDS)
            self.grouped = False
            for i in range(self.wal.count):
                if words[i >> 6] >> (i & 63) & 1:
                    lock_release(self.wal.log[i].shard_lock)

    # The disk

    def commit(self):
        """Whether all that has been appended is as safe as the policy has it."""
        cdef bint safe
        with nogil:
            safe = wal_commit(self.wal)
        return bool(safe)

    def sync(self):
        cdef bint safe
        with nogil:
            safe = wal_sync_all(self.wal)
        return bool(safe)

    def set_policy(self, str policy not None):
        wal_set_policy(self.wal, <WalPolicy><int>POLICIES[policy])

    def cover(self, uint32_t shard):
        """A snapshot of the shard begins: the number it covers."""
        cdef Log* log = self.lock(shard)
        cdef uint64_t seq = log_cover(log)
        self.unlock(log)
        return seq

    def resume(self, seqs not None):
        cdef uint64_t numbers[LOGS_MAX]
        cdef bint well
        self.take_numbers(seqs, numbers)
        with nogil:
            well = wal_resume(self.wal, numbers)
        return bool(well)

    def drop(self, uint64_t generation, seqs not None):
        """Segments that a snapshot of that generation covers go; how many went."""
        cdef uint64_t numbers[LOGS_MAX]
        cdef uint32_t count = <uint32_t>len(seqs)
        if count > LOGS_MAX:
            raise ValueError(f"seqs: {count} are more than {LOGS_MAX}")
        for i, seq in enumerate(seqs):
            numbers[<size_t>i] = seq
        return wal_drop(self.wal, generation, count, numbers)

    def close(self):
        """Whether everything is safe."""
        cdef bint safe
        with nogil:
            safe = wal_close(self.wal)
        return bool(safe)

    def abandon(self):
        """In a child of fork."""
        wal_abandon(self.wal)

    # What there is

    @property
    def health(self):
        return HEALTHS[load_u32(&self.wal.health)]

    @property
    def error(self):
        """errno of what has failed."""
        return load_u32(&self.wal.error)

    @property
    def lost(self):
        """Only `resume` behind a snapshot helps."""
        return bool(load_u32(&self.wal.lost))

    @property
    def syncs(self):
        return load_u64(&self.wal.syncs)

    def numbers(self, uint32_t shard):
        """Sequence numbers appended, written and synced."""
        cdef Log* log = self.log_of(shard)
        return load_u64(&log.appended), load_u64(&log.written), load_u64(&log.synced)

    def pending(self, uint32_t shard):
        """Bytes that no file is to have yet."""
        return log_pending(self.log_of(shard))

    def bytes_since(self, uint32_t shard):
        """Bytes appended since the last snapshot began."""
        return log_bytes(self.log_of(shard))

    def measure(self, uint32_t count):
        """Nanoseconds to append a key of 16 bytes with a value of 64, nothing written; on an idle log that is thrown away."""
        cdef char* entry = entry_new(b"k" * MEASURE_KEY, b"v" * MEASURE_VALUE, NO_DEADLINE)
        cdef Log* log = self.log_of(0)
        cdef int64_t begun
        cdef uint32_t done = 0
        cdef int i
        with nogil:
            lock_acquire(log.shard_lock)
            begun = mono_us()
            while done < count:
                for i in range(MEASURE_BATCH):
                    log_put(log, 0, entry)
                log_drop(log)
                done += MEASURE_BATCH
            begun = mono_us() - begun
            lock_release(log.shard_lock)
        entry_drop(entry)
        return begun * 1000 / <double>done
