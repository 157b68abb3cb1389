"""Groups as Python sees them (see group.pxd)."""
cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from tellstone._core.base.atomics cimport load_u32, relaxed_u32, relaxed_u64, store_u32, store_u64, swap_u32
from tellstone._core.base.bytesops cimport View
from tellstone._core.base.platform cimport mono_us
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.net.clients cimport query_message
from tellstone._core.net.control cimport ControlBridge
from tellstone._core.net.listener cimport acceptor_add
from tellstone._core.net.mailbox cimport QUERY_KILL, QUERY_LIST, QueryMessage, mailbox_send
from tellstone._core.net.member cimport (
    GROUP_RUNNING, GROUP_STOPPING, MEMBERS_MAX, Group, Member, group_add, group_free, group_kill, group_new, group_wake,
)
from tellstone._core.net.settings cimport Settings
from tellstone._core.net.traffic cimport Traffic, peak_value
from tellstone._core.session.attention cimport attention_pause, attention_unpause
from tellstone._core.session.records cimport Records, records_release, records_watch
from tellstone._core.session.session cimport WIRE_NATIVE, WIRE_RESP, Wire
from tellstone._core.store.keyspace cimport Store

check_layout(__name__)


cdef uint64_t checked(str name, object value, double scale=1) except? 0:
    """A setting in its unit; zero and above."""
    if not value >= 0:
        raise ValueError(f"{name}: {value} is negative")
    return <uint64_t>int(value * scale)


cdef dict traffic_of(Member* m):
    """What one member has to say of itself."""
    cdef Traffic* t = &m.connections.traffic
    cdef int64_t now = mono_us() // 1000
    return {
        "clients": load_u32(&m.connections.load),
        "adopted": relaxed_u64(&t.adopted),
        "ended": relaxed_u64(&t.ended),
        "closed_over_output_limit": relaxed_u64(&t.over_output_limit),
        "closed_over_input_limit": relaxed_u64(&t.over_input_limit),
        "timed_out": relaxed_u64(&t.timed_out),
        "input_bytes": relaxed_u64(&t.input_bytes),
        "output_bytes": relaxed_u64(&t.output_bytes),
        "commands": relaxed_u64(&m.connections.worker.counters.commands),
        "errors": relaxed_u64(&m.connections.worker.counters.errors),
        "unknown": relaxed_u64(&m.connections.worker.counters.unknown),
        "buffer_bytes": relaxed_u64(&m.connections.used_bytes),
        "longest_input": peak_value(&t.held_input, now),
        "longest_output": peak_value(&t.held_output, now),
        "held": relaxed_u32(&m.connections.held.count),
        "ticks": relaxed_u64(&m.ticks),
    }


cdef dict calls_of(Group* g):
    """Calls by the id of the command's row, of those that were called at all."""
    cdef uint32_t i
    cdef size_t row
    cdef uint64_t n
    calls = {}
    for row in range(sizeof(g.members[0].connections.worker.counters.calls) // sizeof(uint64_t)):
        n = 0
        for i in range(g.count):
            n += relaxed_u64(&g.members[i].connections.worker.counters.calls[row])
        if n:
            calls[row] = n
    return calls


cdef void set_view(View* view, bytes text):
    if text is not None:
        view.ptr = text
        view.len = len(text)


cdef uint32_t group_ask(Group* g, const QueryMessage* question) noexcept nogil:
    """The number of members that will report."""
    cdef uint32_t i, asked = 0
    cdef QueryMessage* q
    for i in range(g.count):
        q = query_message(question)
        if q != NULL and mailbox_send(g.members[i].connections.mailbox, &q.head):
            asked += 1
    return asked


@cython.no_gc_clear         # the threads use the store and the bridge to the end
cdef class GroupMemory:
    """What the threads of a group use. It is freed when neither the group nor a thread of it is left."""

    def __cinit__(self, Store store not None, ControlBridge bridge not None, unsigned int threads):
        if not 1 <= threads <= MEMBERS_MAX:
            raise ValueError(f"threads: {threads} is not between 1 and {MEMBERS_MAX}")
        self.store = store
        self.bridge = bridge
        self.group = group_new(threads)
        if self.group == NULL:
            raise MemoryError("no memory for a group of threads")
        for _ in range(threads):
            if not group_add(self.group, store.ks, &bridge.queue):
                raise OSError("no memory or descriptors for a group of threads")

    def __dealloc__(self):
        if self.group != NULL:
            with nogil:
                group_free(self.group)


@cython.no_gc_clear
cdef class DriverGroup:
    """Threads that serve a store to sockets: what both kinds of them have in common.

    store: what they serve. bridge: where control commands go. threads: 1 to 128. The settings, all changeable by
    `configure`; 0 is no limit, or off: max_clients; idle_timeout_s, after which a silent client is closed;
    tcp_keepalive_s; output_limit, as Redis's client-output-buffer-limit: (hard bytes, soft bytes, soft seconds);
    max_request, bytes of one argument; max_frame, bytes of one frame of the native protocol. records: what the calls
    that they serve leave behind.

    A kind of them is a class with `start` and `join`.
    """

    def __cinit__(self, Store store not None, ControlBridge bridge not None, unsigned int threads, *, max_clients=10000,
                  idle_timeout_s=0, tcp_keepalive_s=300, output_limit=(0, 0, 0), max_request=512 * 1024 * 1024,
                  max_frame=16 * 1024 * 1024):
        cdef uint32_t i
        self.memory = GroupMemory(store, bridge, threads)
        self.group = self.memory.group
        self.records = Records()
        self.configure(max_clients=max_clients, idle_timeout_s=idle_timeout_s, tcp_keepalive_s=tcp_keepalive_s,
                       output_limit=output_limit, max_request=max_request, max_frame=max_frame)
        for i in range(threads):
            records_watch(self.records, &self.group.members[i].connections.worker.counters)

    def __dealloc__(self):
        if self.records is not None:
            records_release(self.records)

    def configure(self, *, max_clients=None, idle_timeout_s=None, tcp_keepalive_s=None, output_limit=None,
                  max_request=None, max_frame=None):
        """Change settings; None leaves one as it is. Keepalive changes for connections to come, all else for all."""
        cdef Settings* s = &self.group.settings
        if max_clients is not None:
            store_u64(&s.max_clients, checked("max_clients", max_clients))
        if idle_timeout_s is not None:
            store_u64(&s.idle_timeout_ms, checked("idle_timeout_s", idle_timeout_s, 1000))
        if tcp_keepalive_s is not None:
            store_u64(&s.keepalive_s, checked("tcp_keepalive_s", tcp_keepalive_s))
        if output_limit is not None:
            hard, soft, soft_s = output_limit
            store_u64(&s.output_hard, checked("output_limit", hard))
            store_u64(&s.output_soft, checked("output_limit", soft))
            store_u64(&s.output_soft_ms, checked("output_limit", soft_s, 1000))
        if max_request is not None:
            store_u64(&s.max_request, checked("max_request", max_request))
        if max_frame is not None:
            store_u64(&s.max_frame, checked("max_frame", max_frame))
        with nogil:
            group_wake(self.group)      # who sleeps without end may have a deadline now

    def listen(self, int fd, bint is_unix, str laddr not None, str protocol not None="resp"):
        """Accept from a bound, listening, non-blocking socket; before `start`. The group owns and closes the
        descriptor. laddr: what it is bound to; the path of a unix socket is what CLIENT LIST shows. protocol: what is
        spoken there, "resp" or "native"."""
        cdef Wire wire = {"resp": WIRE_RESP, "native": WIRE_NATIVE}[protocol]
        if self.started:
            raise RuntimeError("the threads have been started")
        path = laddr.encode("utf-8", "surrogateescape") if is_unix else None
        if not acceptor_add(&self.group.acceptor, fd, wire, <const char*>path if is_unix else NULL):
            raise OSError("too many listeners, or no memory")

    def start(self):
        """Start the threads. What every kind of them begins with: there is but one start."""
        if swap_u32(&self.started, 1):
            raise RuntimeError("the threads have been started")

    def stop(self, long long grace_ms):
        """Begin to end: close the listeners, answer what has come in, close; whatever is left is closed after grace_ms.
        Does not wait; control calls go on and must still be answered."""
        attention_unpause(&self.group.attention)        # what has been held back is to be answered too
        store_u64(&self.group.stop_at, <uint64_t>(mono_us() // 1000 + grace_ms))
        if load_u32(&self.group.phase) == GROUP_RUNNING:
            store_u32(&self.group.phase, GROUP_STOPPING)
        with nogil:
            group_wake(self.group)

    def kill(self):
        """End at once: every connection is closed, with replies unsent. Does not wait."""
        if self.group != NULL:          # it never came to be
            with nogil:
                group_kill(self.group)

    @property
    def threads(self):
        """How many there are."""
        return self.group.count

    @property
    def running(self):
        """Whether a thread of the group still runs."""
        return load_u32(&self.group.running) != 0

    def stats(self):
        """Figures of all threads together, of each under `threads`, and under `calls` the calls by command row."""
        cdef uint32_t i
        threads = [traffic_of(&self.group.members[i]) for i in range(self.group.count)]
        total = {name: sum([t[name] for t in threads]) for name in threads[0]}
        for name in ("longest_input", "longest_output"):
            total[name] = max([t[name] for t in threads])
        total["connected"] = total.pop("clients")
        total["accepted"] = relaxed_u64(&self.group.acceptor.accepted)
        total["rejected"] = relaxed_u64(&self.group.acceptor.rejected)
        total["calls"] = calls_of(self.group)
        total["threads"] = threads
        return total

    def pause(self, long long timeout_ms, bint everything):
        """Hold back the commands of all clients, or those that write, for so long; see session.attention."""
        attention_pause(&self.group.attention, timeout_ms, everything)

    def unpause(self):
        """End a pause at once."""
        attention_unpause(&self.group.attention)
        with nogil:
            group_wake(self.group)

    def ask_clients(self, unsigned long long token, str kind not None, *, ids=(), bytes addr=None, bytes laddr=None,
                    bytes user=None, str type=None, unsigned long long caller=0, bint skip_caller=False):
        """Ask every thread to "list" or to "kill" the clients that match all filters given, and answer how many
        Reports with this token will come. caller: the client that asks; it is killed only after its reply. Lines come
        in no order."""
        cdef QueryMessage question
        cdef uint64_t* id_list = NULL
        cdef uint32_t reports
        memset(&question, 0, sizeof(question))
        question.kind = {"list": QUERY_LIST, "kill": QUERY_KILL}[kind]
        question.token = token
        question.caller = caller
        question.skip_caller = skip_caller
        question.normal = type is None or type == "normal"
        set_view(&question.addr, addr)
        set_view(&question.laddr, laddr)
        set_view(&question.user, user)
        question.id_count = <uint32_t>len(ids)
        id_list = <uint64_t*>malloc((question.id_count + 1) * sizeof(uint64_t))
        if id_list == NULL:
            raise MemoryError("no memory for the question")
        try:
            for i, number in enumerate(ids):
                id_list[<size_t>i] = number
            question.ids = id_list
            reports = group_ask(self.group, &question)
        finally:
            free(id_list)
        return reports
