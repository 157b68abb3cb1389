"""Reactors, and the group of them that Python starts and stops (see reactor.pxd)."""
cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from tellstone._core.base.atomics cimport add_u32, load_u32, relaxed_u32, relaxed_u64, store_u32, store_u64, swap_u32
from tellstone._core.base.bytesops cimport View
from tellstone._core.base.platform cimport mono_us, sleep_us, thread_create, thread_join
from tellstone._core.base.poller cimport POLL_READ, event_owner, event_what, poller_add, poller_wait
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.wake cimport wake_signal
from tellstone._core.net.audience cimport audience_free
from tellstone._core.net.clients cimport clients_answer, clients_answer_none, query_message
from tellstone._core.net.connection cimport (
    CHUNK, CONN_FREE, SWEEP_MS, Connection, Traffic, connection_at, connection_finish, connection_ready,
    connections_adopt, connections_answer, connections_catch_up, connections_flush, connections_free, connections_init,
    connections_push, connections_release, connections_sweep, connections_turns, connections_want_sweeps, peak_value,
)
from tellstone._core.net.listener cimport (
    acceptor_add, acceptor_close, acceptor_free, acceptor_ready, acceptor_resume, acceptor_watch,
)
from tellstone._core.net.mailbox cimport (
    MAIL_ANSWER, MAIL_PUSH, MAIL_QUERY, MAIL_SOCKET, QUERY_KILL, QUERY_LIST, AnswerMessage, Message, PushMessage, QueryMessage,
    SocketMessage,
    mailbox_close, mailbox_new, mailbox_send, mailbox_take, mailbox_unref, mailbox_wake, message_free, message_next,
)
from tellstone._core.session.attention cimport attention_left, attention_pause, attention_unpause
from tellstone._core.session.records cimport Records, records_release, records_watch
from tellstone._core.session.session cimport WIRE_NATIVE, WIRE_RESP, Wire, Worker, worker_free, worker_init
from tellstone._core.store.keyspace cimport keyspace_now

check_layout(__name__)


# A tick ---------------------------------------------------------------------------------------------------------


cdef int patience(Reactor* r) noexcept nogil:
    """How long to wait for events, in ms; -1: until there are some."""
    cdef int64_t left
    if r.connections.queue.head != NULL:
        return 0
    if r.connections.held.head != NULL:
        left = attention_left(&r.group.attention)
        return <int>left if left < SWEEP_MS else SWEEP_MS
    if r.stopping or connections_want_sweeps(&r.connections):
        return SWEEP_MS
    if r.acceptor != NULL and r.acceptor.paused_until:
        return SWEEP_MS
    return -1


cdef inline void read_clock(Reactor* r) noexcept nogil:
    """The keyspace's clock each tick. The monotonic one, for deadlines, only when SWEEP_MS have passed on the first, or
    when that one stands still or steps back."""
    cdef Connections* cs = &r.connections
    cs.now_ms = keyspace_now(cs.worker.ks)
    if <uint64_t>(cs.now_ms - r.checked_ms - 1) < SWEEP_MS - 1:
        return
    r.checked_ms = cs.now_ms
    cs.mono_ms = mono_us() // 1000
    r.sweep_due = True


cdef inline void dispatch(Reactor* r, int count) noexcept nogil:
    """Connections at once; the mailbox (no owner) and listeners (odd owners) are noted for later in the tick."""
    cdef uintptr_t owner
    cdef int i
    for i in range(count):
        owner = <uintptr_t>event_owner(&r.events[i])
        if owner == 0:
            r.mail = True
        elif owner & 1:
            r.ready_listeners |= <uint64_t>1 << (owner >> 1)
        else:
            connection_ready(&r.connections, <Connection*>owner, event_what(&r.events[i]))
    connections_catch_up(&r.connections)


cdef void take_socket(Reactor* r, SocketMessage* m) noexcept nogil:
    cdef Connection* c = connections_adopt(&r.connections, m)
    m.fd = -1
    if r.stopping and c != NULL:        # accepted just before the listeners were closed
        connection_finish(&r.connections, c)


cdef void take_message(Reactor* r, Message* m) noexcept nogil:
    if m.kind == MAIL_SOCKET:
        take_socket(r, <SocketMessage*>m)
    elif m.kind == MAIL_ANSWER:
        connections_answer(&r.connections, <AnswerMessage*>m)
    elif m.kind == MAIL_QUERY:
        clients_answer(&r.connections, <QueryMessage*>m)
    elif m.kind == MAIL_PUSH:
        connections_push(&r.connections, <PushMessage*>m)


cdef void take_mail(Reactor* r) noexcept nogil:
    cdef Message* m = mailbox_take(r.connections.mailbox)
    cdef Message* next
    while m != NULL:
        next = message_next(m)
        take_message(r, m)
        message_free(m)
        m = next


cdef void accept_new(Reactor* r) noexcept nogil:
    cdef uint32_t i
    for i in range(r.acceptor.listener_count):
        if r.ready_listeners >> i & 1:
            acceptor_ready(r.acceptor, i)
    r.ready_listeners = 0


cdef void begin_stop(Reactor* r) noexcept nogil:
    cdef Connections* cs = &r.connections
    cdef uint32_t slot
    cdef Connection* c
    r.stopping = True
    if r.acceptor != NULL:
        acceptor_close(r.acceptor)
    for slot in range(cs.chunk_count * CHUNK):
        c = connection_at(cs, slot)
        if c.mode != CONN_FREE:
            connection_finish(cs, c)
    connections_catch_up(cs)
    connections_flush(cs)


cdef void sweep(Reactor* r) noexcept nogil:
    cdef Connections* cs = &r.connections
    r.sweep_due = False
    if r.acceptor != NULL:
        acceptor_resume(r.acceptor)
    connections_sweep(cs)


cdef inline void set_limits(Reactor* r) noexcept nogil:
    cdef Worker* w = &r.connections.worker
    w.limits.max_bulk = <int64_t>relaxed_u64(&r.connections.settings.max_request)
    w.max_frame = relaxed_u64(&r.connections.settings.max_frame)


cdef inline void tick(Reactor* r) noexcept nogil:
    cdef int count = poller_wait(r.connections.poller, r.events, EVENTS, patience(r))
    read_clock(r)
    set_limits(r)
    dispatch(r, count)
    if r.mail:
        r.mail = False
        take_mail(r)
    if r.connections.held.head != NULL:
        connections_release(&r.connections)
    if r.connections.queue.head != NULL:
        connections_turns(&r.connections)
    connections_flush(&r.connections)
    if r.ready_listeners:
        accept_new(r)
    if r.sweep_due:
        sweep(r)
    store_u64(&r.ticks, r.ticks + 1)


cdef bint goes_on(Reactor* r) noexcept nogil:
    cdef uint32_t state = load_u32(&r.group.state)
    if state == GROUP_RUNNING:
        return True
    if state == GROUP_KILLED:
        return False
    if not r.stopping:
        begin_stop(r)
    return r.connections.count != 0 and <uint64_t>(mono_us() // 1000) < relaxed_u64(&r.group.stop_at)


cdef void refuse_mail(Reactor* r, Message* m) noexcept nogil:
    """What is left in the mailbox of a reactor that ends. Whoever asks about clients still gets a report."""
    cdef Message* next
    while m != NULL:
        next = message_next(m)
        if m.kind == MAIL_QUERY:
            clients_answer_none(&r.connections, <QueryMessage*>m)
        message_free(m)
        m = next


cdef void reactor_main(void* arg) noexcept nogil:
    cdef Reactor* r = <Reactor*>arg
    while goes_on(r):
        tick(r)
    if r.acceptor != NULL:
        acceptor_close(r.acceptor)
    refuse_mail(r, mailbox_close(r.connections.mailbox))
    connections_free(&r.connections)
    add_u32(&r.group.running, <uint32_t>-1)


# Making and ending a group --------------------------------------------------------------------------------------


cdef bint reactor_init(Reactor* r, Group* g, uint32_t index, Store store, ControlBridge bridge) noexcept:
    """False without memory or descriptors; group_free cleans up either way."""
    cdef Connections* cs = &r.connections
    r.group = g
    r.acceptor = &g.acceptor if index == 0 else NULL
    cs.index = index
    cs.poller = -1
    cs.settings = &g.settings
    cs.control = &bridge.queue
    cs.mailbox = mailbox_new()
    if cs.mailbox == NULL:
        return False
    if not worker_init(&cs.worker, store.ks):
        mailbox_unref(cs.mailbox)
        return False
    cs.worker.attention = &g.attention
    cs.monitors = &g.monitors
    g.members[index] = cs
    g.count += 1
    if not connections_init(cs):
        return False
    cs.now_ms = keyspace_now(store.ks)
    cs.mono_ms = mono_us() // 1000
    return poller_add(cs.poller, cs.mailbox.queue.wake.reader, POLL_READ, NULL) == 0


cdef void group_free(Group* g) noexcept nogil:
    """No thread of the group runs."""
    cdef uint32_t i
    acceptor_free(&g.acceptor)
    for i in range(g.count):
        connections_free(&g.reactors[i].connections)
        worker_free(&g.reactors[i].connections.worker)
        mailbox_unref(g.reactors[i].connections.mailbox)
    audience_free(&g.monitors)
    free(g.reactors)
    free(g)


cdef void group_wake(Group* g) noexcept nogil:
    cdef uint32_t i
    for i in range(g.count):
        mailbox_wake(g.reactors[i].connections.mailbox)


cdef void group_kill(Group* g) noexcept nogil:
    store_u32(&g.state, GROUP_KILLED)
    group_wake(g)


cdef bint group_start(Group* g) noexcept nogil:
    """False when a thread cannot start; those before it have been ended again."""
    cdef uint32_t i
    if not acceptor_watch(&g.acceptor):
        return False
    for i in range(g.count):
        add_u32(&g.running, 1)
        if thread_create(&g.reactors[i].thread, reactor_main, &g.reactors[i]) == 0:
            continue
        add_u32(&g.running, <uint32_t>-1)
        group_kill(g)
        group_join(g, i)
        return False
    return True


cdef void group_join(Group* g, uint32_t threads) noexcept nogil:
    cdef uint32_t i
    for i in range(threads):
        thread_join(g.reactors[i].thread)


cdef bint group_await(Group* g, int64_t deadline_us) noexcept nogil:
    """Whether all threads have ended, by a monotonic time."""
    while load_u32(&g.running):
        if mono_us() >= deadline_us:
            return False
        sleep_us(1000)
    return True


# For Python -----------------------------------------------------------------------------------------------------


cdef uint64_t checked(str name, object value, double scale=1) except? 0:
    """A setting in its unit; zero and above."""
    if not value >= 0:
        raise ValueError(f"{name}: {value} is negative")
    return <uint64_t>int(value * scale)


cdef dict traffic_of(Reactor* r):
    """What one reactor has to say of itself."""
    cdef Traffic* t = &r.connections.traffic
    cdef int64_t now = mono_us() // 1000
    return {
        "clients": load_u32(&r.connections.load),
        "adopted": relaxed_u64(&t.adopted),
        "ended": relaxed_u64(&t.ended),
        "closed_over_output_limit": relaxed_u64(&t.over_output_limit),
        "closed_over_input_limit": relaxed_u64(&t.over_input_limit),
        "timed_out": relaxed_u64(&t.timed_out),
        "input_bytes": relaxed_u64(&t.input_bytes),
        "output_bytes": relaxed_u64(&t.output_bytes),
        "commands": relaxed_u64(&r.connections.worker.counters.commands),
        "errors": relaxed_u64(&r.connections.worker.counters.errors),
        "unknown": relaxed_u64(&r.connections.worker.counters.unknown),
        "buffer_bytes": relaxed_u64(&r.connections.used_bytes),
        "longest_input": peak_value(&t.held_input, now),
        "longest_output": peak_value(&t.held_output, now),
        "held": relaxed_u32(&r.connections.held.count),
        "ticks": relaxed_u64(&r.ticks),
    }


cdef dict calls_of(Group* g):
    """Calls by the id of the command's row, of those that were called at all."""
    cdef uint32_t i
    cdef size_t row
    cdef uint64_t n
    calls = {}
    for row in range(sizeof(g.reactors[0].connections.worker.counters.calls) // sizeof(uint64_t)):
        n = 0
        for i in range(g.count):
            n += relaxed_u64(&g.reactors[i].connections.worker.counters.calls[row])
        if n:
            calls[row] = n
    return calls


cdef void set_view(View* view, bytes text):
    if text is not None:
        view.ptr = text
        view.len = len(text)


@cython.no_gc_clear         # the threads use store and bridge until __dealloc__ has ended them
cdef class ReactorGroup:
    """Threads that serve a store to sockets.

    store: what they serve. bridge: where control commands go. threads: 1 to 128. The settings, all changeable by
    `configure`; 0 is no limit, or off: max_clients; idle_timeout_s, after which a silent client is closed;
    tcp_keepalive_s; output_limit, as Redis's client-output-buffer-limit: (hard bytes, soft bytes, soft seconds);
    max_request, bytes of one argument; max_frame, bytes of one frame of the native protocol. records: what the calls that they serve leave behind.
    """

    def __cinit__(self, Store store not None, ControlBridge bridge not None, unsigned int threads, *, max_clients=10000,
                  idle_timeout_s=0, tcp_keepalive_s=300, output_limit=(0, 0, 0), max_request=512 * 1024 * 1024,
                  max_frame=16 * 1024 * 1024):
        cdef uint32_t i
        if not 1 <= threads <= REACTORS_MAX:
            raise ValueError(f"threads: {threads} is not between 1 and {REACTORS_MAX}")
        self.store = store
        self.bridge = bridge
        self.records = Records()
        self.group = <Group*>calloc(1, sizeof(Group))
        if self.group == NULL:
            raise MemoryError("no memory for the reactors")
        self.group.monitors.attention = &self.group.attention
        self.group.reactors = <Reactor*>calloc(threads, sizeof(Reactor))
        if self.group.reactors == NULL:
            raise MemoryError("no memory for the reactors")
        self.configure(max_clients=max_clients, idle_timeout_s=idle_timeout_s, tcp_keepalive_s=tcp_keepalive_s,
                       output_limit=output_limit, max_request=max_request, max_frame=max_frame)
        for i in range(threads):
            if not reactor_init(&self.group.reactors[i], self.group, i, store, bridge):
                raise OSError("no memory or descriptors for the reactors")
            records_watch(self.records, &self.group.reactors[i].connections.worker.counters)
        self.group.acceptor.reactors = self.group.members
        self.group.acceptor.reactor_count = threads

    def __dealloc__(self):
        if self.group == NULL:
            return
        with nogil:
            if self.started and not self.joined:
                group_kill(self.group)
                group_join(self.group, self.group.count)
        records_release(self.records)
        with nogil:
            group_free(self.group)

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
            raise RuntimeError("the reactors have been started")
        path = laddr.encode("utf-8", "surrogateescape") if is_unix else None
        if not acceptor_add(&self.group.acceptor, fd, wire, <const char*>path if is_unix else NULL):
            raise OSError("too many listeners, or no memory")

    def start(self):
        """Start the threads."""
        cdef bint ok
        if swap_u32(&self.started, 1):
            raise RuntimeError("the reactors have been started")
        with nogil:
            ok = group_start(self.group)
        if not ok:
            self.joined = 1
            raise OSError("the reactors' threads cannot be started")

    def stop(self, long long grace_ms):
        """Begin to end: close the listeners, answer what has come in, close; whatever is left is closed after grace_ms.
        Does not wait; control calls go on and must still be answered."""
        attention_unpause(&self.group.attention)        # what has been held back is to be answered too
        store_u64(&self.group.stop_at, <uint64_t>(mono_us() // 1000 + grace_ms))
        if load_u32(&self.group.state) == GROUP_RUNNING:
            store_u32(&self.group.state, GROUP_STOPPING)
        with nogil:
            group_wake(self.group)

    def kill(self):
        """End at once: every connection is closed, with replies unsent. Does not wait."""
        with nogil:
            group_kill(self.group)

    def join(self, timeout_s=None):
        """Wait until all threads have ended. False: they have not, after timeout_s seconds (None: wait without end)."""
        cdef int64_t slice_us
        cdef int64_t deadline = <int64_t>-1 if timeout_s is None else mono_us() + <int64_t>(float(timeout_s) * 1e6)
        cdef bint ended = False
        if not self.started or self.joined:
            return True
        while not ended:
            slice_us = mono_us() + 50000
            if 0 <= deadline < slice_us:
                slice_us = deadline
            with nogil:
                ended = group_await(self.group, slice_us)
            if not ended and slice_us == deadline:
                return False
            PyErr_CheckSignals()
        if not swap_u32(&self.joined, 1):
            with nogil:
                group_join(self.group, self.group.count)
        return True

    @property
    def running(self):
        """Whether a thread of the group still runs."""
        return load_u32(&self.group.running) != 0

    def stats(self):
        """Figures of all reactors together, of each under `reactors`, and under `calls` the calls by command row."""
        cdef uint32_t i
        reactors = [traffic_of(&self.group.reactors[i]) for i in range(self.group.count)]
        total = {name: sum([r[name] for r in reactors]) for name in reactors[0]}
        for name in ("longest_input", "longest_output"):
            total[name] = max([r[name] for r in reactors])
        total["connected"] = total.pop("clients")
        total["accepted"] = relaxed_u64(&self.group.acceptor.accepted)
        total["rejected"] = relaxed_u64(&self.group.acceptor.rejected)
        total["calls"] = calls_of(self.group)
        total["reactors"] = reactors
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
        """Ask every reactor to "list" or to "kill" the clients that match all filters given, and answer how many
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


cdef uint32_t group_ask(Group* g, const QueryMessage* question) noexcept nogil:
    """The number of reactors that will report."""
    cdef uint32_t i, asked = 0
    cdef QueryMessage* q
    for i in range(g.count):
        q = query_message(question)
        if q != NULL and mailbox_send(g.reactors[i].connections.mailbox, &q.head):
            asked += 1
    return asked
