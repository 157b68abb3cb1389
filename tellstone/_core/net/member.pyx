"""Members of a group, and the group itself (see member.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from tellstone._core.base.atomics cimport load_u32, relaxed_u64, store_u32, store_u64
from tellstone._core.base.platform cimport mono_us
from tellstone._core.base.queue cimport Node, Queue
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.net.audience cimport audience_free
from tellstone._core.net.clients cimport clients_answer, clients_answer_none
from tellstone._core.net.connection cimport CHUNK, CONN_FREE, SWEEP_MS, Connection, Connections, connection_at
from tellstone._core.net.listener cimport acceptor_close, acceptor_free, acceptor_resume
from tellstone._core.net.mailbox cimport (
    MAIL_ANSWER, MAIL_PUSH, MAIL_QUERY, MAIL_SOCKET, AnswerMessage, Message, PushMessage, QueryMessage, SocketMessage,
    mailbox_close, mailbox_new, mailbox_take, mailbox_unref, mailbox_wake, message_free, message_next,
)
from tellstone._core.net.sending cimport connections_flush
from tellstone._core.net.turns cimport (
    connection_finish, connections_adopt, connections_answer, connections_catch_up, connections_free, connections_init,
    connections_push, connections_release, connections_sweep, connections_turns, connections_want_sweeps,
)
from tellstone._core.session.attention cimport attention_left
from tellstone._core.session.session cimport Worker, worker_free, worker_init
from tellstone._core.store.keyspace cimport Keyspace, keyspace_now

check_layout(__name__)


# A tick ---------------------------------------------------------------------------------------------------------


cdef int member_patience(Member* m) noexcept nogil:
    cdef int64_t left
    if m.connections.queue.head != NULL:
        return 0
    if m.connections.held.head != NULL:
        left = attention_left(&m.group.attention)
        return <int>left if left < SWEEP_MS else SWEEP_MS
    if m.stopping or connections_want_sweeps(&m.connections):
        return SWEEP_MS
    if m.acceptor != NULL and m.acceptor.paused_until:
        return SWEEP_MS
    return -1


cdef void member_begin(Member* m) noexcept nogil:
    """The keyspace's clock each tick. The monotonic one, for deadlines, only when SWEEP_MS have passed on the first, or
    when that one stands still or steps back."""
    cdef Connections* cs = &m.connections
    cdef Worker* w = &cs.worker
    w.limits.max_bulk = <int64_t>relaxed_u64(&cs.settings.max_request)
    w.max_frame = relaxed_u64(&cs.settings.max_frame)
    cs.now_ms = keyspace_now(w.ks)
    if <uint64_t>(cs.now_ms - m.checked_ms - 1) < SWEEP_MS - 1:
        return
    m.checked_ms = cs.now_ms
    cs.mono_ms = mono_us() // 1000
    m.sweep_due = True


cdef bint take_socket(Member* m, SocketMessage* s) noexcept nogil:
    """Whether the message is done with: for hosted connections the driver makes a transport first."""
    cdef Connection* c
    if m.connections.hosted:
        s.head.node.next = <Node*>m.arrivals
        m.arrivals = s
        return False
    c = connections_adopt(&m.connections, s, NULL)
    s.fd = -1
    if m.stopping and c != NULL:        # accepted just before the listeners were closed
        connection_finish(&m.connections, c)
    return True


cdef bint take_message(Member* m, Message* message) noexcept nogil:
    if message.kind == MAIL_SOCKET:
        return take_socket(m, <SocketMessage*>message)
    if message.kind == MAIL_ANSWER:
        connections_answer(&m.connections, <AnswerMessage*>message)
    elif message.kind == MAIL_QUERY:
        clients_answer(&m.connections, <QueryMessage*>message)
    elif message.kind == MAIL_PUSH:
        connections_push(&m.connections, <PushMessage*>message)
    return True


cdef void take_mail(Member* m) noexcept nogil:
    cdef Message* message = mailbox_take(m.connections.mailbox)
    cdef Message* next
    while message != NULL:
        next = message_next(message)
        if take_message(m, message):
            message_free(message)
        message = next


cdef void member_work(Member* m) noexcept nogil:
    cdef Connections* cs = &m.connections
    connections_catch_up(cs)
    if m.mail:
        m.mail = False
        take_mail(m)
    if cs.held.head != NULL:
        connections_release(cs)
    if cs.queue.head != NULL:
        connections_turns(cs)
    connections_flush(cs)
    store_u64(&m.ticks, m.ticks + 1)


cdef void member_sweep(Member* m) noexcept nogil:
    m.sweep_due = False
    if m.acceptor != NULL:
        acceptor_resume(m.acceptor)
    connections_sweep(&m.connections)


# The end of a member --------------------------------------------------------------------------------------------


cdef void begin_stop(Member* m) noexcept nogil:
    cdef Connections* cs = &m.connections
    cdef uint32_t slot
    cdef Connection* c
    m.stopping = True
    if m.acceptor != NULL:
        acceptor_close(m.acceptor)
    for slot in range(cs.chunk_count * CHUNK):
        c = connection_at(cs, slot)
        if c.mode != CONN_FREE:
            connection_finish(cs, c)
    connections_catch_up(cs)
    connections_flush(cs)


cdef bint member_goes_on(Member* m) noexcept nogil:
    cdef uint32_t phase = load_u32(&m.group.phase)
    if phase == GROUP_RUNNING:
        return True
    if phase == GROUP_KILLED:
        return False
    if not m.stopping:
        begin_stop(m)
    return m.connections.count != 0 and <uint64_t>(mono_us() // 1000) < relaxed_u64(&m.group.stop_at)


cdef void refuse_mail(Member* m, Message* message) noexcept nogil:
    """What is left in the mailbox. Whoever asks about clients still gets a report."""
    cdef Message* next
    while message != NULL:
        next = message_next(message)
        if message.kind == MAIL_QUERY:
            clients_answer_none(&m.connections, <QueryMessage*>message)
        message_free(message)
        message = next


cdef void member_end(Member* m) noexcept nogil:
    if m.acceptor != NULL:
        acceptor_close(m.acceptor)
    refuse_mail(m, mailbox_close(m.connections.mailbox))
    connections_free(&m.connections)


# Groups ---------------------------------------------------------------------------------------------------------


cdef Group* group_new(uint32_t members) noexcept nogil:
    cdef Group* g = <Group*>calloc(1, sizeof(Group))
    if g == NULL:
        return NULL
    g.members = <Member*>calloc(members, sizeof(Member))
    if g.members == NULL:
        free(g)
        return NULL
    g.monitors.attention = &g.attention
    g.acceptor.places = g.places
    return g


cdef bint group_add(Group* g, Keyspace* ks, Queue* control) noexcept nogil:
    cdef Member* m = &g.members[g.count]
    cdef Connections* cs = &m.connections
    m.group = g
    m.acceptor = &g.acceptor if g.count == 0 else NULL
    cs.index = g.count
    cs.poller = -1
    cs.settings = &g.settings
    cs.control = control
    cs.monitors = &g.monitors
    cs.mailbox = mailbox_new()
    if cs.mailbox == NULL:
        return False
    if not worker_init(&cs.worker, ks):
        mailbox_unref(cs.mailbox)
        return False
    cs.worker.attention = &g.attention
    cs.now_ms = keyspace_now(ks)
    cs.mono_ms = mono_us() // 1000
    g.places[g.count] = cs
    g.count += 1
    g.acceptor.place_count = g.count
    return connections_init(cs)


cdef void group_free(Group* g) noexcept nogil:
    cdef uint32_t i
    acceptor_free(&g.acceptor)
    for i in range(g.count):
        connections_free(&g.members[i].connections)
        worker_free(&g.members[i].connections.worker)
        mailbox_unref(g.members[i].connections.mailbox)
    audience_free(&g.monitors)
    free(g.members)
    free(g)


cdef void group_wake(Group* g) noexcept nogil:
    cdef uint32_t i
    for i in range(g.count):
        mailbox_wake(g.members[i].connections.mailbox)


cdef void group_kill(Group* g) noexcept nogil:
    store_u32(&g.phase, GROUP_KILLED)
    group_wake(g)
