"""The embedded engine (see engine.pxd): what a program calls that keeps its data in its own process.

A call takes views of its arguments, works on the key's place with the shard locked, and makes Python objects of what it has copied
out. Short work keeps the GIL: letting it go and getting it back costs more than a look-up. It is let go only when the shard is
busy or there is much to copy or hash.

Where the store has a log, a change is refused while that cannot be written, and every method that changes something ends with `settle`: its
records are as safe as the log's policy has it before the program is told. That waits without the GIL, and for one sync with all other threads.
Reads wait for nothing: they may see a change whose own call is still waiting.

LOCK: nothing of Python is touched while a shard is locked. So whoever holds a shard never needs the GIL to let go of it, and no
thread that waits for one can be waited for.
LIFETIME: `keep` is what a view of an argument lives by (base.inputs).
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.float cimport PyFloat_Check
from cpython.long cimport PyLong_Check
from cpython.ref cimport PyObject
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from tellstone._core.base.atomics cimport load_u32, relaxed_u64, store_u32
from tellstone._core.base.block cimport Block, block_ref, block_unref
from tellstone._core.base.bytesops cimport View
from tellstone._core.base.decimal cimport DECIMAL_ROOM
from tellstone._core.base.fnv cimport fnv1a
from tellstone._core.base.glob cimport glob_matches
from tellstone._core.base.inputs cimport milliseconds, positive_milliseconds, take, take_value
from tellstone._core.base.lock cimport lock_acquire, lock_release, lock_try
from tellstone._core.base.outbuf cimport OutBuf, outbuf_append, outbuf_free
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport (
    ST_MISSING, ST_MORE, ST_NAN, ST_NOMEM, ST_NOT_FLOAT, ST_NOT_INTEGER, ST_OK, ST_OOM, ST_OVERFLOW, ST_REFUSED, ST_TOO_BIG,
    ST_STORAGE, ST_UNSAFE, ST_WRONGTYPE,
)
from tellstone._core.store.access cimport access_touch
from tellstone._core.store.commit cimport LONG_BUFFER, WAL_ALWAYS, wal_commit, wal_is_settled
from tellstone._core.store.entry cimport (
    ENTRY_BLOCK_FROM, NO_DEADLINE, access_clock, entry_deadline, entry_expires, entry_key,
)
from tellstone._core.store.grace cimport grace_reclaim
from tellstone._core.store.keyspace cimport (
    Keyspace, Place, Store, keyspace_find, keyspace_flush, keyspace_has_room, keyspace_is_full, keyspace_is_hurt, keyspace_lock_all,
    keyspace_now, keyspace_scan, keyspace_shard, keyspace_size, keyspace_stop_upkeep, keyspace_unlock_all, place_count, place_exists,
    place_remove, place_touch,
)
from tellstone._core.store.log cimport WAL_CLOSED, Log, Wal, log_pending, wal_reason
from tellstone._core.store.shard cimport DEADLINE_KEEP, Partition, Shard, shard_set_deadline, shared_lately
from tellstone._core.store.table cimport SlotHint, table_find, table_take_hint
from tellstone._core.types.string cimport (
    STRING_SCRATCH, StringValue, string_get, string_increment, string_increment_float, string_new_block, string_set,
    string_set_block,
)

from tellstone.errors import ArgumentError, ClosedError, DataError, OutOfMemoryError, ResponseError, StorageError, WrongTypeError

check_layout(__name__)

cdef extern from "Python.h":
    PyObject* new_bytes "PyBytes_FromStringAndSize"(const char* text, Py_ssize_t len) nogil    # only with the GIL
    object new_reference "(PyObject *)"(PyObject* made)         # NULL raises what has been set

cdef extern from "tellstone/_core/recent.h" nogil:
    ctypedef struct RecentKey "ts_recent_entry":
        SlotHint place              # where the key was found; at is NULL: nowhere yet

    # fnv1a; with the GIL. Answers what is kept of the key, or NULL
    RecentKey* key_hash "ts_recent_hash"(Recent* recent, const char* key, size_t len, uint64_t* hash) noexcept

cdef enum:
    CLOSED = -1000                  # a status of this module's own
    LONG = 65536                    # bytes from which work is done without the GIL
    SMALL = 512                     # bytes of a value that is copied while its shard is locked
    WALK = 512                      # keys an iteration takes at a time


# Errors ---------------------------------------------------------------------------------------------------------


cdef object error_of(int status):
    """The exception of a status; the only place where one becomes the other. Texts are Redis's."""
    if status == CLOSED:
        return ClosedError("the engine is closed")
    if status == ST_WRONGTYPE:
        return WrongTypeError("WRONGTYPE Operation against a key holding the wrong kind of value")
    if status == ST_OOM:
        return OutOfMemoryError("OOM command not allowed when used memory > 'maxmemory'.")
    if status == ST_NOMEM:
        return OutOfMemoryError("ERR out of memory")
    if status == ST_NOT_INTEGER:
        return ResponseError("ERR value is not an integer or out of range")
    if status == ST_OVERFLOW:
        return ResponseError("ERR increment or decrement would overflow")
    if status == ST_NOT_FLOAT:
        return ResponseError("ERR value is not a valid float")
    if status == ST_NAN:
        return ResponseError("ERR increment would produce NaN or Infinity")
    if status == ST_TOO_BIG:
        return ResponseError("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
    return ResponseError(f"ERR internal error: status {status}")


cdef object storage_error(Wal* wal, int status):
    """The exception of ST_STORAGE and ST_UNSAFE. A log that is closed is that of an engine which is about to be."""
    if load_u32(&wal.health) == WAL_CLOSED:
        return error_of(CLOSED)
    text = "MISCONF Errors writing to the AOF file: " + wal_reason(wal).decode(errors="replace")
    return StorageError(text if status == ST_STORAGE else text + "; the change is made, but perhaps not on the disk")


# Arguments ------------------------------------------------------------------------------------------------------


cdef int64_t natural(str name, object number) except -1:
    if isinstance(number, bool) or not PyLong_Check(number):
        raise DataError(f"{name}: a whole number, not {type(number).__name__}")
    if not 0 <= number <= INT64_MAX:
        raise ArgumentError(f"{name}: {number} is out of range")
    return number


cdef int64_t deadline_in(Keyspace* ks, object ttl) except -1:
    return keyspace_now(ks) + positive_milliseconds(ttl)


# Working on a key -----------------------------------------------------------------------------------------------

# Called with the key's shard locked; answers a status. `detail` is the operation's own.
ctypedef int (*Work)(Place* place, void* detail) noexcept nogil


cdef inline void locate(Keyspace* ks, Shard* s, View key, uint64_t hash, Place* place) noexcept nogil:
    """keyspace_find for database 0 that reads the clock only for an entry with a deadline: a clock costs as much as a look-up."""
    place.ks = ks
    place.shard = s
    place.part = s.parts[0]
    place.key = key
    place.hash = hash
    place.db = 0
    place.now = 0
    if place.part == NULL:
        place.found.slot = NULL
        place.found.entry = NULL
        place.found.handle = 0
        return
    table_find(&place.part.table, &place.part.arena, key, hash, &place.found)
    if place.found.entry != NULL and entry_expires(place.found.entry):
        place.now = keyspace_now(ks)
        if entry_deadline(place.found.entry) < place.now:
            keyspace_find(ks, 0, key, hash, place.now, place)       # which removes and counts it


cdef inline int work_locked(Access* a, Shard* s, View key, uint64_t hash, Work work, void* detail) noexcept nogil:
    """LOCK: the caller has locked the shard; it is free afterwards."""
    cdef Place place
    cdef int status = CLOSED
    if not a.closed:
        locate(a.ks, s, key, hash, &place)
        status = work(&place, detail)
    lock_release(&s.lock)
    return status


cdef int work_waiting(Access* a, View key, Work work, void* detail) noexcept:
    """Without the GIL, for a busy shard or long work."""
    cdef uint64_t hash
    cdef Shard* s
    cdef int status
    with nogil:
        hash = fnv1a(key.ptr, key.len)
        s = keyspace_shard(a.ks, hash)
        lock_acquire(&s.lock)
        status = work_locked(a, s, key, hash, work, detail)
    return status


cdef inline int at_hash(Access* a, View key, uint64_t hash, Work work, void* detail) noexcept:
    cdef Shard* s = keyspace_shard(a.ks, hash)
    if not lock_try(&s.lock):
        return work_waiting(a, key, work, detail)
    return work_locked(a, s, key, hash, work, detail)


cdef inline int at_key(Access* a, View key, Work work, void* detail) noexcept:
    cdef uint64_t hash
    if key.len > LONG:
        return work_waiting(a, key, work, detail)
    key_hash(a.recent, key.ptr, key.len, &hash)
    return at_hash(a, key, hash, work, detail)


cdef inline int change(Access* a, View key, Work work, void* detail) noexcept:
    """at_key for what changes something; `settle` is still to come."""
    if a.ks.wal != NULL:
        return change_logged(a, key, work, detail)
    return at_key(a, key, work, detail)


cdef int change_logged(Access* a, View key, Work work, void* detail) noexcept:
    """A buffer that has grown long is written at once: one call may change a million keys, and threads may be faster than the disk."""
    cdef uint64_t hash
    cdef int status
    cdef Log* log
    if keyspace_is_hurt(a.ks):
        return ST_STORAGE
    if key.len > LONG:
        return work_waiting(a, key, work, detail)
    key_hash(a.recent, key.ptr, key.len, &hash)
    status = at_hash(a, key, hash, work, detail)
    log = keyspace_shard(a.ks, hash).log
    if log != NULL and log_pending(log) >= LONG_BUFFER:
        with nogil:
            wal_commit(log.wal)
    return status


cdef int settle_status(Access* a) noexcept:
    cdef Wal* wal = a.ks.wal
    cdef bint safe
    if load_u32(&wal.policy) == WAL_ALWAYS:
        with nogil:
            safe = wal_commit(wal)
    else:
        safe = wal_is_settled(wal) and load_u32(&wal.health) != WAL_CLOSED
    return ST_OK if safe else ST_UNSAFE


cdef inline int settle(Access* a) except -1:
    """Behind changes: they are as safe as the policy has it."""
    if a.ks.wal != NULL and settle_status(a) != ST_OK:
        raise storage_error(a.ks.wal, ST_UNSAFE)
    return 0


cdef inline int grow(Access* a, View key, Work work, void* detail) noexcept:
    """change for what takes memory. ORDER: where the log cannot be written nothing is evicted, and change says why."""
    cdef bint room = True
    if keyspace_is_full(a.ks) and not keyspace_is_hurt(a.ks):
        with nogil:
            room = keyspace_has_room(a.ks)
    if not room and not load_u32(&a.closed):
        return ST_OOM
    return change(a, key, work, detail)


cdef object failure(Access* a, int status):
    """The exception of a change."""
    return storage_error(a.ks.wal, status) if status == ST_STORAGE else error_of(status)


cdef bint changes(Access* a, object key, Work work, void* detail) except -1:
    """Whether a change that may find nothing to do has been made; `settle` is still to come."""
    cdef View k
    cdef int status
    keep = take(key, &k)
    status = change(a, k, work, detail)
    if status < 0:
        raise failure(a, status)
    return status == ST_OK


cdef bint changes_safely(Access* a, object key, Work work, void* detail) except -1:
    cdef bint done = changes(a, key, work, detail)
    if done:
        settle(a)
    return done


cdef bint answers(Access* a, object key, Work work) except -1:
    """Whether work that has no details found what it is for."""
    cdef View k
    cdef int status
    keep = take(key, &k)
    status = at_key(a, k, work, NULL)
    if status < 0:
        raise error_of(status)
    return status == ST_OK


cdef int check_open(Access* a) except -1:
    """ORDER: behind work on several shards, which may have seen some of them closed and empty."""
    if load_u32(&a.closed):
        raise error_of(CLOSED)
    return 0


# Reading --------------------------------------------------------------------------------------------------------


cdef struct Reading:
    char* room                      # where the value is copied to
    size_t size                     # bytes of it
    size_t length                   # of the value
    Block* block                    # not NULL: the value, with a count for the reader; nothing has been copied


cdef int read_value(Place* place, void* detail) noexcept nogil:
    """ST_MORE: the room does not do. Only the first look counts as a hit or a miss."""
    cdef Reading* r = <Reading*>detail
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef int status = string_get(place, scratch, &v)
    if r.length == 0:
        place_count(place)
        place_touch(place)
    if status != ST_OK:
        return status
    r.length = v.view.len
    if v.block != NULL:
        block_ref(v.block)
        r.block = v.block
        return ST_OK
    if v.view.len > r.size:
        return ST_MORE
    memcpy(r.room, v.view.ptr, v.view.len)
    return ST_OK


cdef object copy_block(Block* b):
    """LIFETIME: the count in hand keeps the bytes, and keeps them as they are."""
    cdef size_t size = b.size
    cdef char* to
    try:
        value = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size)
        to = PyBytes_AS_STRING(value)
        with nogil:
            memcpy(to, b.data, size)
    finally:
        block_unref(b)
    return value


cdef object read_longer(Access* a, View key, Reading* r):
    """Copy straight into a bytes object of the value's length; again if it has meanwhile got another one."""
    cdef int status = ST_MORE
    cdef object value = None
    while r.block == NULL and status == ST_MORE:
        value = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>r.length)
        r.room = PyBytes_AS_STRING(value)
        r.size = r.length
        status = at_key(a, key, read_value, r)
        if status == ST_OK and r.block == NULL and r.length < r.size:
            status = ST_MORE
    if r.block != NULL:
        return copy_block(r.block)
    if status == ST_MISSING:
        return None
    if status < 0:
        raise error_of(status)
    return value


cdef inline bint is_alive(Keyspace* ks, const char* e) noexcept nogil:
    return not entry_expires(e) or entry_deadline(e) >= keyspace_now(ks)


cdef inline void find_again(Place* place, View key, uint64_t hash, RecentKey* recent) noexcept nogil:
    """Look a key up where it was the last time, or everywhere."""
    cdef Partition* p = place.part
    if recent != NULL and table_take_hint(&p.table, &p.arena, key, &recent.place, &place.found):
        return
    table_find(&p.table, &p.arena, key, hash, &place.found)
    if recent != NULL and place.found.entry != NULL:
        recent.place.at = place.found.slot
        recent.place.value = place.found.slot[0]


cdef inline int read_quickly(Access* a, View key, char* room, size_t size, size_t* length, PyObject** made) noexcept nogil:
    """read_value for what is asked for most: a value of at most `size` bytes, or no key, in a shard that is free. ST_MORE for everything
    else, which read_value answers. A closed engine has no partitions. The value is copied into the room or, with the GIL, into a bytes
    object of its own, which no collection of garbage can begin with: made[0] is NULL when there is no memory for it.
    """
    cdef uint64_t hash
    cdef RecentKey* recent
    cdef Shard* s
    cdef Place place
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef int status = ST_MORE
    if key.len > LONG:
        return ST_MORE
    recent = key_hash(a.recent, key.ptr, key.len, &hash)
    s = keyspace_shard(a.ks, hash)
    if not lock_try(&s.lock):
        return ST_MORE
    place.part = s.parts[0]
    if place.part != NULL:
        find_again(&place, key, hash, recent)
        if place.found.entry == NULL:
            s.misses += 1
            status = ST_MISSING
        elif is_alive(a.ks, place.found.entry) and string_get(&place, scratch, &v) == ST_OK and v.view.len <= size:
            if made != NULL:
                made[0] = new_bytes(v.view.ptr, <Py_ssize_t>v.view.len)
            else:
                memcpy(room, v.view.ptr, v.view.len)
                length[0] = v.view.len
            s.hits += 1
            access_touch(s, place.found.entry, access_clock(shared_lately(&a.ks.shared)))
            status = ST_OK
    lock_release(&s.lock)
    return status


cdef int engine_get(Engine e, View key, char* room, size_t size, size_t* length) noexcept:
    return read_quickly(&e.access, key, room, size, length, NULL)


cdef object read_fully(Access* a, View key):
    cdef char small[SMALL]
    cdef Reading r
    cdef int status
    r.room = small
    r.size = SMALL
    r.length = 0
    r.block = NULL
    status = at_key(a, key, read_value, &r)
    if status == ST_OK and r.block == NULL:
        return PyBytes_FromStringAndSize(small, <Py_ssize_t>r.length)
    if status == ST_MISSING:
        return None
    if status < 0:
        raise error_of(status)
    return read_longer(a, key, &r)


cdef inline object read(Access* a, View key):
    """The value as bytes, None without the key."""
    cdef PyObject* made = NULL
    cdef int status = read_quickly(a, key, NULL, SMALL, NULL, &made)
    if status == ST_OK:
        return new_reference(made)
    if status == ST_MISSING:
        return None
    return read_fully(a, key)


cdef int find_only(Place* place, void* detail) noexcept nogil:
    place_count(place)
    return ST_OK if place_exists(place) else ST_MISSING


cdef int read_deadline(Place* place, void* detail) noexcept nogil:
    """Milliseconds to live, NO_DEADLINE for ever. place.now is set where a deadline was found."""
    if not place_exists(place):
        return ST_MISSING
    (<int64_t*>detail)[0] = NO_DEADLINE
    if entry_expires(place.found.entry):
        (<int64_t*>detail)[0] = entry_deadline(place.found.entry) - place.now
    return ST_OK


# Writing --------------------------------------------------------------------------------------------------------


cdef struct Writing:
    View value
    Block* block                    # not NULL: the value, copied already; belongs to the writing
    int64_t deadline
    bint only_new
    bint only_old


cdef int write_value(Place* place, void* detail) noexcept nogil:
    cdef Writing* w = <Writing*>detail
    cdef Block* block = w.block
    if w.only_old if not place_exists(place) else w.only_new:
        return ST_REFUSED
    place_touch(place)
    if block == NULL:
        return string_set(place, w.value, w.deadline)
    w.block = NULL
    return string_set_block(place, block, w.deadline)


cdef int write(Access* a, View key, Writing* w) except -1:
    """True, or False when a condition refused; `settle` is still to come."""
    cdef int status
    cdef size_t limit = <size_t>relaxed_u64(&a.ks.max_value)
    w.block = NULL
    if key.len > limit or w.value.len > limit:
        raise error_of(ST_TOO_BIG)
    if w.value.len >= ENTRY_BLOCK_FROM:
        with nogil:
            w.block = string_new_block(w.value)
        if w.block == NULL:
            raise error_of(ST_NOMEM)
    status = grow(a, key, write_value, w)
    if w.block != NULL:
        block_unref(w.block)
    if status < 0:
        raise failure(a, status)
    return status == ST_OK


cdef int write_safely(Access* a, View key, Writing* w) except -1:
    cdef int stored = write(a, key, w)
    if stored:
        settle(a)
    return stored


cdef int engine_set(Engine e, View key, View value) noexcept:
    cdef Writing w
    cdef int status
    if value.len >= ENTRY_BLOCK_FROM:
        return ST_MORE
    w.value = value
    w.block = NULL
    w.deadline = NO_DEADLINE
    w.only_new = False
    w.only_old = False
    status = grow(&e.access, key, write_value, &w)
    return settle_status(&e.access) if status == ST_OK and e.access.ks.wal != NULL else status


cdef int remove(Place* place, void* detail) noexcept nogil:
    if not place_exists(place):
        return ST_MISSING
    place_remove(place)
    return ST_OK


cdef int move_deadline(Place* place, void* detail) noexcept nogil:
    """To that many milliseconds from now; a key that is left no time is removed."""
    cdef int64_t ms = (<int64_t*>detail)[0]
    if not place_exists(place):
        return ST_MISSING
    if ms <= 0:
        place_remove(place)
        return ST_OK
    place_touch(place)
    if not shard_set_deadline(place.part, &place.found, keyspace_now(place.ks) + ms):
        return ST_NOMEM
    return ST_OK


cdef int drop_deadline(Place* place, void* detail) noexcept nogil:
    """ST_REFUSED: there was none."""
    if not place_exists(place):
        return ST_MISSING
    if not entry_expires(place.found.entry):
        return ST_REFUSED
    place_touch(place)
    return ST_OK if shard_set_deadline(place.part, &place.found, NO_DEADLINE) else ST_NOMEM


cdef int add_integer(Place* place, void* detail) noexcept nogil:
    cdef int64_t* number = <int64_t*>detail
    place_touch(place)
    return string_increment(place, number[0], number)


cdef struct Sum:
    View by
    size_t length
    char text[DECIMAL_ROOM]


cdef int add_float(Place* place, void* detail) noexcept nogil:
    cdef Sum* sum = <Sum*>detail
    place_touch(place)
    return string_increment_float(place, sum.by, sum.text, &sum.length)


# Walking --------------------------------------------------------------------------------------------------------


cdef struct Gather:
    OutBuf keys                     # a length of eight bytes and the key, one after another
    View pattern
    bint everything


cdef void gather(void* owner, char* entry) noexcept nogil:
    cdef Gather* g = <Gather*>owner
    cdef View key = entry_key(entry)
    if g.everything or glob_matches(g.pattern.ptr, g.pattern.len, key.ptr, key.len, False):
        outbuf_append(&g.keys, <const char*>&key.len, sizeof(size_t))
        outbuf_append(&g.keys, key.ptr, key.len)


cdef list gathered(Gather* g):
    cdef list keys = []
    cdef const char* at = g.keys.data
    cdef const char* end = at + g.keys.len
    cdef size_t length
    while at < end:
        memcpy(&length, at, sizeof(size_t))
        keys.append(PyBytes_FromStringAndSize(at + sizeof(size_t), <Py_ssize_t>length))
        at += sizeof(size_t) + length
    return keys


# The engine -----------------------------------------------------------------------------------------------------


cdef class Engine:
    """The operations of an engine, over a store. tellstone.Engine makes the store and adds execute and listen.

    Keys are bytes-like or str (taken as UTF-8), values these or int or float; what comes back is bytes. Every method may be called
    from any thread at any time; one on a single key happens at one instant. After close all of them raise ClosedError.
    """

    def __cinit__(self, Store store not None):
        self._store = store
        self.access.ks = store.ks
        self.access.recent = <Recent*>calloc(1, sizeof(Recent))
        if self.access.recent == NULL:
            raise MemoryError("no memory for an engine")

    def __dealloc__(self):
        free(self.access.recent)

    # One key

    def get(self, key, default=None, /):
        """The value of a key as bytes, or the default without the key."""
        cdef View k
        keep = take(key, &k)
        value = read(&self.access, k)
        return default if value is None else value

    def set(self, key, value, /, ttl=None, *, bint nx=False, bint xx=False, bint keep_ttl=False):
        """Store a value; answers whether it was stored.

        ttl: seconds (int or float) or a timedelta until the key is gone; without it the key stays for ever, unless `keep_ttl` leaves
        it the one it has. nx: only if there is no such key. xx: only if there is one.
        """
        cdef View k
        cdef Writing w
        if nx and xx:
            raise ArgumentError("nx and xx exclude each other")
        w.only_new = nx
        w.only_old = xx
        w.deadline = DEADLINE_KEEP if keep_ttl else NO_DEADLINE
        if ttl is not None:
            if keep_ttl:
                raise ArgumentError("ttl and keep_ttl exclude each other")
            w.deadline = deadline_in(self.access.ks, ttl)
        keep = take(key, &k)
        keep_value = take_value(value, &w.value)
        return bool(write_safely(&self.access, k, &w))

    def incr(self, key, by=1, /):
        """Add to a number, a missing one counting as 0, and answer the sum: an int, or a float if `by` is one."""
        cdef View k
        cdef int64_t number
        cdef Sum sum
        cdef int status
        keep = take(key, &k)
        if PyFloat_Check(by):
            text = float.__repr__(by).encode()
            take(text, &sum.by)
            status = grow(&self.access, k, add_float, &sum)
            if status < 0:
                raise failure(&self.access, status)
            settle(&self.access)
            return float(sum.text[:sum.length])
        if isinstance(by, bool) or not PyLong_Check(by):
            raise DataError(f"a number is incremented by an int or a float, not {type(by).__name__}")
        if not INT64_MIN <= by <= INT64_MAX:
            raise error_of(ST_NOT_INTEGER)
        number = by
        status = grow(&self.access, k, add_integer, &number)
        if status < 0:
            raise failure(&self.access, status)
        settle(&self.access)
        return number

    def expire(self, key, ttl, /):
        """Let a key live for so many seconds, or a timedelta, from now; a key that is left no time is gone at once. Answers whether
        there was such a key."""
        cdef int64_t ms = milliseconds(ttl)
        return changes_safely(&self.access, key, move_deadline, &ms)

    def ttl(self, key, /):
        """Seconds that a key has to live, None if it stays for ever. Raises KeyError without the key."""
        cdef View k
        cdef int64_t ms
        cdef int status
        keep = take(key, &k)
        status = at_key(&self.access, k, read_deadline, &ms)
        if status < 0:
            raise error_of(status)
        if status == ST_MISSING:
            raise KeyError(key)
        return None if ms == NO_DEADLINE else ms / 1000.0

    def persist(self, key, /):
        """Take a key's time limit away; answers whether it had one."""
        return changes_safely(&self.access, key, drop_deadline, NULL)

    def __getitem__(self, key):
        cdef View k
        keep = take(key, &k)
        value = read(&self.access, k)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key, value):
        cdef View k
        cdef Writing w
        w.only_new = False
        w.only_old = False
        w.deadline = NO_DEADLINE
        keep = take(key, &k)
        keep_value = take_value(value, &w.value)
        write_safely(&self.access, k, &w)

    def __delitem__(self, key):
        if not changes_safely(&self.access, key, remove, NULL):
            raise KeyError(key)

    def __contains__(self, key):
        return answers(&self.access, key, find_only)

    # Several keys

    def delete(self, *keys):
        """Remove keys; answers how many there were."""
        cdef Py_ssize_t count = 0
        try:
            for key in keys:
                count += changes(&self.access, key, remove, NULL)
        finally:
            if count:
                settle(&self.access)
        return count

    def exists(self, *keys):
        """How many of the keys there are; a key that is named twice counts twice."""
        cdef Py_ssize_t count = 0
        for key in keys:
            count += answers(&self.access, key, find_only)
        return count

    def get_many(self, keys, /):
        """The values of keys in their order, None for those that are missing. Each is read by itself; execute("MGET", ...) reads all
        at one instant."""
        cdef View k
        cdef list values = []
        for key in keys:
            keep = take(key, &k)
            values.append(read(&self.access, k))
        return values

    def set_many(self, items, /, ttl=None):
        """Store a mapping's items, or pairs, with the same ttl. Each is stored by itself; execute("MSET", ...) stores all at once."""
        cdef View k
        cdef Writing w
        cdef bint stored = False
        w.only_new = False
        w.only_old = False
        w.deadline = NO_DEADLINE if ttl is None else deadline_in(self.access.ks, ttl)
        try:
            for key, value in items.items() if hasattr(items, "items") else items:
                keep = take(key, &k)
                keep_value = take_value(value, &w.value)
                write(&self.access, k, &w)
                stored = True
        finally:
            if stored:
                settle(&self.access)

    # All keys

    def scan(self, cursor=0, match=None, count=10):
        """Some keys, and the cursor to go on with: (cursor, keys).

        Begin with cursor 0 and go on until 0 comes back. Keys that are there the whole time come at least once, whatever else is
        written meanwhile. match: a glob pattern as in Redis. count: about how many keys to look at.
        """
        cdef Gather g
        cdef uint64_t at = natural("cursor", cursor)
        cdef uint64_t most = natural("count", count)
        if most == 0:
            raise ArgumentError("count: 0 is not positive")
        memset(&g, 0, sizeof(Gather))
        g.everything = match is None
        keep = take(b"" if match is None else match, &g.pattern)
        try:
            with nogil:
                at = keyspace_scan(self.access.ks, 0, at, most, keyspace_now(self.access.ks), gather, &g)
            check_open(&self.access)
            if g.keys.failed:
                raise error_of(ST_NOMEM)
            return at, gathered(&g)
        finally:
            outbuf_free(&g.keys)

    def __iter__(self):
        """All keys, each once. The engine may change meanwhile: keys that come or go are met or missed."""
        cursor, keys = self.scan(0, None, WALK)
        yield from keys
        while cursor:
            cursor, keys = self.scan(cursor, None, WALK)
            yield from keys

    def __len__(self):
        """How many keys there are; those whose time is over count until their memory is free."""
        cdef uint64_t n
        with nogil:
            n = keyspace_size(self.access.ks, 0)
        check_open(&self.access)
        return n

    def flush(self):
        """Remove all keys at one instant. Their memory is given back in the background."""
        check_open(&self.access)
        if keyspace_is_hurt(self.access.ks):
            raise storage_error(self.access.ks.wal, ST_STORAGE)
        with nogil:
            keyspace_flush(self.access.ks, 0)
        settle(&self.access)

    # Life

    @property
    def closed(self):
        """Whether the engine has been closed."""
        return load_u32(&self.access.closed) != 0

    def close(self):
        """Drop all data and give its memory back. Calls in flight end as if they came before or after; closing again does nothing.

        ORDER: logs are cut off before the data goes, so that what is on a disk stays."""
        cdef Access* a = &self.access
        cdef uint32_t i
        cdef bint first
        with nogil:
            keyspace_lock_all(a.ks)
            first = not a.closed
            store_u32(&a.closed, 1)
            for i in range(a.ks.shard_count):
                a.ks.shards[i].log = NULL
            keyspace_unlock_all(a.ks)
            if first:
                keyspace_stop_upkeep(a.ks)
                keyspace_flush(a.ks, -1)
                grace_reclaim(&a.ks.shared.grace)

    def __enter__(self):
        check_open(&self.access)
        return self

    def __exit__(self, kind, error, traceback, /):
        self.close()

    def __repr__(self):
        state = "closed" if self.closed else f"{len(self)} keys in {self._store.shard_count} shards"
        return f"<{type(self).__name__}: {state}>"
