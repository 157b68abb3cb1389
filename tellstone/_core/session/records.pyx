"""Counters and logs of calls, for Python (see records.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.atomics cimport store_u32
from tellstone._core.base.lock cimport lock_acquire, lock_release
from tellstone._core.base.platform cimport wall_us
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.command.client cimport Client
from tellstone._core.command.record cimport (
    COMMANDS_MAX, EVENT_COMMAND, EVENT_FAST_COMMAND, Counters, MonitorEvent, counters_add, counters_free, counters_reset, counters_told,
    monitor_history, monitor_reset, monitor_set, record_call, record_error, slowlog_free, slowlog_init, slowlog_newest, slowlog_reset,
    slowlog_set, ticks_per_us,
)
from tellstone._core.store.forks cimport fork_unwatch, fork_watch

check_layout(__name__)

cdef enum:                          # until `configure` says otherwise
    SLOWLOG_LENGTH = 128
    SLOWER_THAN_US = 10000

EVENTS = {"command": EVENT_COMMAND, "fast-command": EVENT_FAST_COMMAND}


cdef void before_fork(void* owner) noexcept nogil:
    cdef RecordsFork* f = <RecordsFork*>owner
    lock_acquire(f.lock)
    lock_acquire(f.slow)


cdef void after_fork(void* owner, bint child) noexcept nogil:
    cdef RecordsFork* f = <RecordsFork*>owner
    lock_release(f.slow)
    lock_release(f.lock)


cdef class Records:
    """What calls have left behind: counts and times by command, errors, the slow log, the latency monitor.

    one_by_one: time every call by itself. It costs a server some time, and a caller who makes one call after the other none.
    """

    def __cinit__(self, *, bint one_by_one=False):
        if not slowlog_init(&self.slow, SLOWLOG_LENGTH, one_by_one) or not slowlog_set(&self.slow, SLOWER_THAN_US, SLOWLOG_LENGTH):
            raise MemoryError("no memory for the slow log")
        self.own.slow = &self.slow
        self.forks.lock = &self.lock
        self.forks.slow = &self.slow.lock
        self.forks.watch.owner = &self.forks
        self.forks.watch.before = before_fork
        self.forks.watch.after = after_fork
        fork_watch(&self.forks.watch)

    def __dealloc__(self):
        if self.forks.lock != NULL:
            fork_unwatch(&self.forks.watch)
        counters_free(&self.own)
        slowlog_free(&self.slow)
        free(self.watched)

    def configure(self, *, long long slow_us, uint32_t slow_max, unsigned long long monitor_ms, bint tracking=True):
        """slow_us: calls that take as long go to the slow log, negative: none. slow_max: how many it keeps. monitor_ms: calls that take
        as long are latency events; 0: none. tracking: record how the durations of each command are distributed."""
        if not slowlog_set(&self.slow, slow_us, slow_max):
            raise MemoryError("no memory for the slow log")
        monitor_set(&self.slow, monitor_ms)
        store_u32(&self.slow.untracked, not tracking)

    def tally(self):
        """Counts since the last reset. rows: row of the command -> (calls, microseconds, failed, rejected, [(microseconds, calls), ...]
        from short to long). words: first word of error replies -> count."""
        cdef Counters* total = <Counters*>calloc(1, sizeof(Counters))
        cdef uint32_t i
        if total == NULL:
            raise MemoryError()
        lock_acquire(&self.lock)
        for i in range(self.count):
            counters_add(total, self.watched[i])
        counters_add(total, &self.own)
        lock_release(&self.lock)
        try:
            return counters_told(total)
        finally:
            counters_free(total)
            free(total)

    def reset(self, int row=-1):
        """Count from here. row: of the call that asks for it, which is the first to count again."""
        cdef uint32_t i
        if row >= COMMANDS_MAX:
            raise ValueError(f"row: {row} is none of the table's")
        lock_acquire(&self.lock)
        for i in range(self.count):
            counters_reset(self.watched[i])
        counters_reset(&self.own)
        if row >= 0:
            self.own.calls[row] = 1
        lock_release(&self.lock)

    def add_call(self, uint32_t row, double us, tuple args not None, *, bytes addr=b"", bytes name=b"", bint fast=False,
                 bytes error=None):
        """A call that Python has answered: its time, and the error reply (without the '-') if it has failed."""
        cdef View* argv
        cdef Client client
        cdef uint64_t ticks
        if row >= COMMANDS_MAX:
            raise ValueError(f"row: {row} is none of the table's")
        argv = <View*>malloc((len(args) + 1) * sizeof(View))
        if argv == NULL:
            raise MemoryError()
        memset(&client, 0, sizeof(Client))
        memcpy(client.addr, <const char*>addr, min(<size_t>len(addr), sizeof(client.addr) - 1))
        client.name.ptr = name
        client.name.len = len(name)
        for i, arg in enumerate(args):
            argv[<size_t>i].ptr = <const char*><bytes>arg
            argv[<size_t>i].len = len(<bytes>arg)
        ticks = <uint64_t>(us * ticks_per_us())
        lock_acquire(&self.lock)
        record_call(&self.own, row, fast, ticks, argv, <uint32_t>len(args), &client, wall_us() // 1000)
        if error is not None:
            self.own.failed[row] += 1
            record_error(&self.own, <const char*>error, <size_t>len(error))
        lock_release(&self.lock)
        free(argv)

    @property
    def own_errors(self):
        """Error replies of the calls that Python has answered, and of callers that have ended."""
        return self.own.errors

    # The slow log

    @property
    def slow_count(self):
        """How many calls the slow log holds."""
        return self.slow.count

    def slow_calls(self, long long count):
        """The newest calls, negative: all: tuples (id, Unix seconds, microseconds, arguments, address, name)."""
        return slowlog_newest(&self.slow, count)

    def clear_slow(self):
        """Empty the slow log; ids go on."""
        slowlog_reset(&self.slow)

    # The latency monitor

    def events(self):
        """Events that have samples: name -> ([(Unix seconds, milliseconds), ...] oldest first, the worst since the last reset)."""
        found = {name: monitor_history(&self.slow, <MonitorEvent><int>event) for name, event in EVENTS.items()}
        return {name: history for name, history in found.items() if history is not None}

    def clear_event(self, str name not None):
        """Forget an event's samples; whether there were any."""
        return bool(name in EVENTS and monitor_reset(&self.slow, <MonitorEvent><int>EVENTS[name]))


cdef int records_watch(Records r, Counters* c) except -1:
    cdef Counters** more
    cdef bint kept = True
    lock_acquire(&r.lock)
    if r.count == r.room:
        more = <Counters**>realloc(r.watched, (2 * r.room + 4) * sizeof(Counters*))
        kept = more != NULL
        if kept:
            r.watched = more
            r.room = 2 * r.room + 4
    if kept:
        c.slow = &r.slow
        r.watched[r.count] = c
        r.count += 1
    lock_release(&r.lock)
    if not kept:
        raise MemoryError()
    return 0


cdef void records_forget(Records r, Counters* c) noexcept nogil:
    cdef uint32_t i
    lock_acquire(&r.lock)
    for i in range(r.count):
        if r.watched[i] == c:
            r.count -= 1
            r.watched[i] = r.watched[r.count]
            counters_add(&r.own, c)
            break
    lock_release(&r.lock)


cdef void records_release(Records r) noexcept:
    r.count = 0
