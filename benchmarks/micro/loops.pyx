"""Loops over functions of the core, so that a benchmark measures these and not the interpreter that calls them.

A method does n operations, checks what they answered, and raises if that is not what it must be: an error is quickly made, and would
pass for speed. What an operation needs is made by the constructor, outside of what is timed.

The calls are those that the core makes itself: functions of other extensions through their pointers, leaves inline. Where the compiler
could see that every turn of a loop is the same, each turn works on something else.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from tellstone._core.base.atomics cimport store_u64
from tellstone._core.base.bytesops cimport View, view_of
from tellstone._core.base.fnv cimport fnv1a, fnv1a_x4
from tellstone._core.base.outbuf cimport outbuf_clear
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_MISSING, ST_MORE, ST_OK
from tellstone._core.command.command cimport Context, command_call
from tellstone._core.engine cimport Engine, engine_get, engine_set
from tellstone._core.memory.arena cimport Arena, arena_alloc, arena_destroy, arena_init
from tellstone._core.memory.wheel cimport Wheel, wheel_add, wheel_advance, wheel_destroy, wheel_init, wheel_ready
from tellstone._core.protocol.native cimport FRAME_WHOLE, Frame, NativeRequest, frame_take, native_request
from tellstone._core.protocol.resp cimport RespLimits, resp_fast
from tellstone._core.session.batch cimport WIRE_NATIVE, WIRE_RESP, Worker
from tellstone._core.session.session cimport (
    FEED_NEED_DATA, Session, session_feed, session_free, session_init, worker_free, worker_init,
)
from tellstone._core.store.entry cimport NO_DEADLINE
from tellstone._core.store.keyspace cimport (
    Keyspace, KeyspaceStats, Place, Store, keyspace_close, keyspace_flush, keyspace_now, keyspace_open, keyspace_size, keyspace_stats,
    keyspace_upkeep, place_count, place_exists, place_remove, place_touch,
)
from tellstone._core.types.string cimport STRING_SCRATCH, StringValue, string_get, string_set

# The rows must be there before the first request is.
import tellstone._core.command.table

check_layout(__name__)

cdef enum:
    ARGS = 64                       # of a request that is parsed
    FRAME_MAX = 65536               # bytes of a frame, and of an argument
    VALUE_MAX = 4096
    BUDGET = 1048576                # of a turn of a wheel: all that is due
    TICK = 1                        # ms, of wheels
    WHEEL_SLOTS = 1000
    LEAST_TTL = 5                   # ms; times to live go from here over TTLS milliseconds
    TTLS = 21
    NODE = 32                       # bytes of an object on a wheel


cdef int check(bint right, str what) except -1:
    if not right:
        raise RuntimeError(f"wrong answer: {what}")
    return 0


# Protocols ------------------------------------------------------------------------------------------------------


cdef class Bytes:
    """The bytes of whole requests, one behind the other, as they come from a socket."""
    cdef bytes data
    cdef const char* at
    cdef size_t size
    cdef uint64_t requests

    def __cinit__(self, bytes data not None, uint64_t requests):
        self.data = data
        self.at = PyBytes_AS_STRING(data)
        self.size = <size_t>PyBytes_GET_SIZE(data)
        self.requests = requests

    def parse_resp(self, uint64_t n):
        """Take n requests of RESP off the front, from the beginning again at the end."""
        cdef RespLimits limits
        cdef View argv[ARGS]
        cdef uint32_t argc = 0
        cdef uint64_t done = 0
        cdef size_t size
        cdef const char* at
        cdef const char* end = self.at + self.size
        limits.max_bulk = limits.max_args = FRAME_MAX
        with nogil:
            while done < n:
                at = self.at
                while at < end:
                    size = resp_fast(at, end, &limits, argv, ARGS, &argc)
                    if size == 0:
                        break
                    at += size
                    done += 1
                if at != end:
                    break
        check(done >= n and done % self.requests == 0, "a request of RESP was declined")

    def decode_frames(self, uint64_t n):
        """Take n frames off the front and their requests apart, from the beginning again at the end."""
        cdef Frame f
        cdef NativeRequest r
        cdef uint64_t done = 0, bytes_seen = 0
        cdef const char* at
        cdef const char* end = self.at + self.size
        with nogil:
            while done < n:
                at = self.at
                while frame_take(at, end - at, FRAME_MAX, &f) == FRAME_WHOLE and native_request(&f, &r):
                    bytes_seen += r.key.len + r.value.len + r.op + <uint64_t>r.ttl_ms
                    at += f.size
                    done += 1
                if at != end:
                    break
        check(done >= n and done % self.requests == 0 and bytes_seen > n, "a frame was not taken")


# Hashing --------------------------------------------------------------------------------------------------------


cdef class Keys:
    """Keys in memory, in the order in which loops go over them."""
    cdef bytes data
    cdef View* views
    cdef readonly uint64_t count

    def __cinit__(self, list keys not None):
        cdef size_t at = 0
        self.count = len(keys)
        self.data = b"".join(keys)
        self.views = <View*>calloc(self.count, sizeof(View))
        if self.views == NULL:
            raise MemoryError()
        for i in range(self.count):
            self.views[i] = view_of(PyBytes_AS_STRING(self.data) + at, len(keys[i]))
            at += self.views[i].len

    def __dealloc__(self):
        free(self.views)

    def hash_alone(self, uint64_t n, size_t nothing=0):
        """Hash n keys, each when the hash of the one before it is known: what one request by itself waits for."""
        cdef uint64_t i = 0, k = 0, hash = 0
        with nogil:
            for i in range(n):
                hash = fnv1a(self.views[k].ptr + (hash & nothing), self.views[k].len)
                k = k + 1 if k + 1 < self.count else 0
        check(hash != 0, "a hash")

    def hash_lanes(self, uint64_t n, size_t nothing=0):
        """The same, four at a time. The number of keys is a multiple of four."""
        cdef uint64_t i = 0, k = 0, lane
        cdef uint64_t hashes[4]
        cdef const char* ptrs[4]
        cdef size_t lens[4]
        memset(hashes, 0, sizeof(hashes))
        with nogil:
            while i < n:
                for lane in range(4):
                    ptrs[lane] = self.views[k + lane].ptr + (hashes[lane] & nothing)
                    lens[lane] = self.views[k + lane].len
                fnv1a_x4(ptrs, lens, hashes)
                k = k + 4 if k + 4 < self.count else 0
                i += 4
        check(hashes[0] == fnv1a(self.views[(self.count + k - 4) % self.count].ptr, self.views[0].len), "a hash in lanes")


# The store ------------------------------------------------------------------------------------------------------


cdef inline int get_one(Keyspace* ks, View key, int64_t now, char* room) noexcept nogil:
    """As a handler reads: the place of the key, its value copied, the shard let go."""
    cdef Place place
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef int status
    keyspace_open(ks, 0, key, fnv1a(key.ptr, key.len), now, &place)
    place_touch(&place)
    status = string_get(&place, scratch, &v)
    place_count(&place)
    memcpy(room, v.view.ptr, v.view.len)
    keyspace_close(&place)
    return status


cdef inline int set_one(Keyspace* ks, View key, View value, int64_t now, int64_t deadline) noexcept nogil:
    cdef Place place
    cdef int status
    keyspace_open(ks, 0, key, fnv1a(key.ptr, key.len), now, &place)
    status = string_set(&place, value, deadline)
    keyspace_close(&place)
    return status


cdef inline bint delete_one(Keyspace* ks, View key, int64_t now) noexcept nogil:
    cdef Place place
    cdef bint there
    keyspace_open(ks, 0, key, fnv1a(key.ptr, key.len), now, &place)
    there = place_exists(&place)
    if there:
        place_remove(&place)
    keyspace_close(&place)
    return there


cdef class Entries:
    """Keys of one value in a keyspace, worked on as handlers do; the clock is read once a call, as a server reads it once a tick."""
    cdef Store store
    cdef Keys keys
    cdef bytes value
    cdef View view
    cdef char room[VALUE_MAX]

    def __cinit__(self, Store store not None, Keys keys not None, bytes value not None):
        check(len(value) <= VALUE_MAX, "the value is too long")
        self.store = store
        self.keys = keys
        self.value = value
        self.view = view_of(PyBytes_AS_STRING(value), len(value))

    def clear(self):
        """Remove all keys; the memory is gone when this returns."""
        keyspace_flush(self.store.ks, -1)
        self.store.upkeep()

    def set(self, uint64_t n):
        """Set n keys. They are new after `clear`, if n is at most their number."""
        cdef uint64_t i, k = 0, failed = 0
        cdef Keyspace* ks = self.store.ks
        cdef int64_t now = keyspace_now(ks)
        with nogil:
            for i in range(n):
                failed += set_one(ks, self.keys.views[k], self.view, now, NO_DEADLINE) != ST_OK
                k = k + 1 if k + 1 < self.keys.count else 0
        check(failed == 0, "a set failed")

    def get(self, uint64_t n, int expected=ST_OK):
        """Look n keys up."""
        cdef uint64_t i, k = 0, wrong = 0
        cdef Keyspace* ks = self.store.ks
        cdef int64_t now = keyspace_now(ks)
        with nogil:
            for i in range(n):
                wrong += get_one(ks, self.keys.views[k], now, self.room) != expected
                k = k + 1 if k + 1 < self.keys.count else 0
        check(wrong == 0, "a get")
        if expected == ST_OK:
            check(memcmp(self.room, self.view.ptr, self.view.len) == 0, "a value")

    def miss(self, uint64_t n):
        """Look n keys up that are not there."""
        self.get(n, ST_MISSING)

    def delete(self, uint64_t n):
        """Delete n keys, each of which is there."""
        cdef uint64_t i, missing = 0
        cdef Keyspace* ks = self.store.ks
        cdef int64_t now = keyspace_now(ks)
        check(n <= self.keys.count, "more to delete than there is")
        with nogil:
            for i in range(n):
                missing += not delete_one(ks, self.keys.views[i], now)
        check(missing == 0, "a delete")

    def expire(self, uint64_t n, uint64_t pace):
        """Set n keys with times to live of a few milliseconds, look each up, and let them run out: every `pace` of them the clock moves
        on by one millisecond, and upkeep fires what is due. At the end all have fired. For a store of its own, without upkeep thread.
        """
        cdef uint64_t i, k = 0, wrong = 0
        cdef Keyspace* ks = self.store.ks
        cdef KeyspaceStats before, after
        cdef int64_t now = keyspace_now(ks)
        keyspace_stats(ks, &before)
        with nogil:
            for i in range(n):
                wrong += set_one(ks, self.keys.views[k], self.view, now, now + LEAST_TTL + <int64_t>(i % TTLS)) != ST_OK
                wrong += get_one(ks, self.keys.views[k], now, self.room) != ST_OK
                k = k + 1 if k + 1 < self.keys.count else 0
                if i % pace == pace - 1:
                    now += 1
                    turn(ks, now)
            for i in range(<uint64_t>(LEAST_TTL + TTLS + 2)):
                now += 1
                turn(ks, now)
        keyspace_stats(ks, &after)
        check(wrong == 0, "a key with a time to live")
        check(after.expired - before.expired == n and keyspace_size(ks, 0) == 0, "not every key has fired")


cdef inline void turn(Keyspace* ks, int64_t now) noexcept nogil:
    """The clock moves on, and upkeep does all there is to do."""
    store_u64(&ks.shared.fixed_now, <uint64_t>now)
    while keyspace_upkeep(ks, now):
        pass


# The embedded engine --------------------------------------------------------------------------------------------


cdef class Embedded:
    """Keys of one value in an engine, which has them all already. The GIL is kept, as Engine.get keeps it."""
    cdef Engine engine
    cdef Keys keys
    cdef bytes value
    cdef View view
    cdef char room[VALUE_MAX]

    def __cinit__(self, Engine engine not None, Keys keys not None, bytes value not None):
        check(len(value) <= VALUE_MAX, "the value is too long")
        self.engine = engine
        self.keys = keys
        self.value = value
        self.view = view_of(PyBytes_AS_STRING(value), len(value))

    def get(self, uint64_t n):
        """Look n keys up."""
        cdef uint64_t i, k = 0, missing = 0
        cdef size_t length
        cdef int status
        for i in range(n):
            status = ST_MORE
            while status == ST_MORE:        # upkeep has the shard
                status = engine_get(self.engine, self.keys.views[k], self.room, VALUE_MAX, &length)
            missing += status != ST_OK
            k = k + 1 if k + 1 < self.keys.count else 0
        check(missing == 0, "a get")
        check(memcmp(self.room, self.view.ptr, self.view.len) == 0, "a value")

    def overwrite(self, uint64_t n):
        """Set n keys that are there."""
        cdef uint64_t i, k = 0, failed = 0
        for i in range(n):
            failed += engine_set(self.engine, self.keys.views[k], self.view) != ST_OK
            k = k + 1 if k + 1 < self.keys.count else 0
        check(failed == 0, "a set")


# The wheel ------------------------------------------------------------------------------------------------------


cdef struct Idle:                   # nodes that are not on the wheel
    uint32_t* handles
    uint64_t count


cdef void take_back(void* owner, uint32_t handle) noexcept nogil:
    cdef Idle* idle = <Idle*>owner
    idle.handles[idle.count] = handle
    idle.count += 1


cdef class Timing:
    """A wheel alone: its nodes are objects of an arena, as entries are, and nothing happens to them when they fire."""
    cdef Arena arena
    cdef Wheel wheel
    cdef Idle idle
    cdef uint64_t nodes
    cdef int64_t now

    def __cinit__(self, uint64_t nodes):
        cdef char* node
        self.idle.handles = <uint32_t*>calloc(nodes, sizeof(uint32_t))
        wheel_init(&self.wheel, TICK, WHEEL_SLOTS)
        if self.idle.handles == NULL or not arena_init(&self.arena) or not wheel_ready(&self.wheel, 0):
            raise MemoryError()
        self.nodes = nodes
        for i in range(nodes):
            node = arena_alloc(&self.arena, NODE, &self.idle.handles[i])
            if node == NULL:
                raise MemoryError()
            node[0] = 1                 # alive
            self.idle.count += 1

    def __dealloc__(self):
        wheel_destroy(&self.wheel)
        arena_destroy(&self.arena)
        free(self.idle.handles)

    def fire(self, uint64_t n, uint64_t pace):
        """Register n nodes, due in a few milliseconds, and turn the wheel by one every `pace` of them, until all have fired. There are
        nodes enough if `pace` for each millisecond of the longest time are."""
        cdef uint64_t i
        check(self.nodes >= pace * (LEAST_TTL + TTLS + 2), "too few nodes")
        with nogil:
            for i in range(n):
                self.idle.count -= 1
                wheel_add(&self.wheel, &self.arena, self.idle.handles[self.idle.count],
                          self.now + LEAST_TTL + <int64_t>(i % TTLS))
                if i % pace == pace - 1:
                    self.now += 1
                    wheel_advance(&self.wheel, &self.arena, self.now, BUDGET, take_back, &self.idle)
            self.now += LEAST_TTL + TTLS + 2
            wheel_advance(&self.wheel, &self.arena, self.now, BUDGET, take_back, &self.idle)
        check(self.idle.count == self.nodes and self.wheel.count == 0, "not every node has fired")


# Dispatch -------------------------------------------------------------------------------------------------------


cdef class Connection:
    """A session and its worker, fed with the same requests again and again."""
    cdef Store store
    cdef Bytes requests
    cdef bytes reply
    cdef Worker* worker
    cdef Session* session

    def __cinit__(self, Store store not None, Bytes requests not None, bytes reply not None, *, bint native=False):
        self.store = store
        self.requests = requests
        self.reply = reply
        self.worker = <Worker*>calloc(1, sizeof(Worker))
        self.session = <Session*>calloc(1, sizeof(Session))
        if self.worker == NULL or self.session == NULL or not worker_init(self.worker, store.ks):
            raise MemoryError()
        session_init(self.session, 1, WIRE_NATIVE if native else WIRE_RESP, keyspace_now(store.ks))

    def __dealloc__(self):
        if self.session != NULL:
            session_free(self.session)
            worker_free(self.worker)
        free(self.session)
        free(self.worker)

    cdef int check_reply(self) except -1:
        """What stands in the output is the reply to all requests."""
        check(self.session.out.len == <size_t>len(self.reply) and
              memcmp(self.session.out.data, PyBytes_AS_STRING(self.reply), self.session.out.len) == 0, "a reply")
        return 0

    def feed(self, uint64_t n):
        """Feed the session n requests, as many at a time as there are: parser, table, gates, handler and reply."""
        cdef size_t consumed = 0
        cdef int64_t now = keyspace_now(self.store.ks)
        cdef uint64_t done = 0
        cdef int result = FEED_NEED_DATA
        with nogil:
            while done < n and result == FEED_NEED_DATA:
                outbuf_clear(&self.session.out)
                result = session_feed(self.session, self.worker, self.requests.at, self.requests.size, &consumed, now)
                done += self.requests.requests
        check(result == FEED_NEED_DATA and consumed == self.requests.size, "a request was not run")
        self.check_reply()

    def call(self, uint64_t n):
        """Run the first request, which is parsed already, n times: table, gates, handler and reply."""
        cdef Context c
        cdef RespLimits limits
        cdef View argv[ARGS]
        cdef uint64_t i
        cdef uint64_t failed = 0
        memset(&c, 0, sizeof(Context))
        limits.max_bulk = limits.max_args = FRAME_MAX
        check(resp_fast(self.requests.at, self.requests.at + self.requests.size, &limits, argv, ARGS, &c.argc) > 0, "no request")
        c.ks = self.store.ks
        c.client = &self.session.client
        c.out = &self.session.out
        c.argv = argv
        c.now = keyspace_now(self.store.ks)
        c.counters = &self.worker.counters
        with nogil:
            for i in range(n):
                outbuf_clear(&self.session.out)
                failed += command_call(&c, NULL, False) != ST_OK
        check(failed == 0, "a command")
        self.check_reply()
