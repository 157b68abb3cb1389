"""Input and turns (see turns.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, strlen

from tellstone._core.base.atomics cimport add_u64, load_u32, relaxed_u64
from tellstone._core.base.outbuf cimport OutBuf, outbuf_append, outbuf_clear, outbuf_free
from tellstone._core.base.poller cimport POLL_BROKEN, POLL_READ, POLL_WRITE, poller_add
from tellstone._core.base.socket cimport (
    SOCK_AGAIN, SOCK_BROKEN, sock_address, sock_close, sock_gone, sock_read, sock_set_up,
)
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.net.audience cimport audience_join, audience_leave, audience_send
from tellstone._core.net.connection cimport (
    CHUNK, CONN_ENDING, CONN_FREE, CONN_HELD, CONN_LINGER, CONN_OPEN, CONN_PARKED, CONN_QUEUED, DOOM_ANSWERED, DOOM_REPLIED,
    INPUT_LIMIT, INPUT_SIZE, LINGER_MS, OUTPUT_SPARE, PENDING_INPUT, PENDING_MAX, Connection, Connections, Hosted, Pending, Room,
    connection_at, connection_unsent,
)
from tellstone._core.net.control cimport control_send_call
from tellstone._core.net.held cimport (
    Held, held_data, held_free, held_keep, held_make_room, held_size, held_store,
)
from tellstone._core.net.mailbox cimport AnswerMessage, PushMessage, SocketMessage
from tellstone._core.net.sending cimport (
    begin_ending, connection_close, connection_defer, connection_send, connection_sent, connection_wait, leave_load,
    lend_output, over_output_limit, set_interest,
)
from tellstone._core.net.slots cimport connection_account, line_up, slot_take, slots_free, step_out
from tellstone._core.net.traffic cimport count, peak_note
from tellstone._core.session.attention cimport attention_left
from tellstone._core.session.batch cimport WIRE_NATIVE
from tellstone._core.session.session cimport (
    CLIENT_MONITOR, CLIENT_REPLY_OFF, CLIENT_REPLY_SKIPPING, FEED_CLOSE, FEED_HELD, FEED_LATER, FEED_NEED_DATA, FEED_NEWS,
    FEED_PARKED, FEED_YIELD, ParkedCall, Patch, Session, session_ahead, session_ahead_entry, session_connected, session_feed,
    session_init, session_resume,
)

check_layout(__name__)

cdef enum:
    HELD_SHARED = 16384                 # up to so much held input is put in front of the next read in the shared buffer

cdef const char* BUSY = b"-BUSY too many control commands are waiting, try again later\r\n"

cdef uint64_t client_ids = 0


cdef uint64_t next_client_id() noexcept nogil:
    return add_u64(&client_ids, 1) + 1


# Turns ----------------------------------------------------------------------------------------------------------


cdef bint hold_rest(Connections* cs, Connection* c, const char* rest, size_t len) noexcept nogil:
    """Keep the input that a turn has left, wherever it lies. False: it may not, or cannot, be kept."""
    cdef Held* h = &c.held
    if h.ptr != NULL and h.ptr <= rest <= h.ptr + h.len:
        held_keep(h, rest - h.ptr)
    elif len == 0:
        held_free(h)
    elif not held_store(h, rest, len):
        return False
    if len:
        peak_note(&cs.traffic.held_input, len, cs.mono_ms)
        if len > INPUT_LIMIT + 2 * relaxed_u64(&cs.settings.max_frame if c.session.wire == WIRE_NATIVE else &cs.settings.max_request):
            count(&cs.traffic.over_input_limit, 1)
            return False
    return True


cdef void park(Connections* cs, Connection* c) noexcept nogil:
    """Python answers this one. When too many wait for that already, the answer is BUSY, and the connection goes on in a
    turn to come: not in this one, or a pipeline of such calls would recurse."""
    cdef Patch patch
    cdef ParkedCall* call = c.session.parked
    c.session.parked = NULL
    if control_send_call(cs.control, cs.mailbox, c.slot, c.generation, call):
        c.mode = CONN_PARKED
        return
    patch.proto = patch.db = patch.authenticated = -1
    patch.close = False
    session_resume(&c.session, BUSY, strlen(BUSY), &patch)
    line_up(&cs.queue, c, CONN_QUEUED)


cdef void hold(Connections* cs, Connection* c) noexcept nogil:
    if cs.held.head == NULL:
        cs.held_pauses = load_u32(&cs.worker.attention.pauses)
    line_up(&cs.held, c, CONN_HELD)


cdef void note_monitor(Connections* cs, Connection* c) noexcept nogil:
    """It has become a monitor, or ceased to be one; it goes on in a turn to come, when others know of it."""
    line_up(&cs.queue, c, CONN_QUEUED)
    if not c.session.client.flags & CLIENT_MONITOR:
        audience_leave(cs.monitors, cs.mailbox, c.slot)
    elif not audience_join(cs.monitors, cs.mailbox, c.slot, c.generation):
        c.session.out.failed = True


cdef void settle(Connections* cs, Connection* c, int result) noexcept nogil:
    """Where the connection goes after a turn that did not just ask for more input."""
    if result == FEED_PARKED:
        park(cs, c)
    elif result == FEED_YIELD or result == FEED_LATER:
        line_up(&cs.queue, c, CONN_QUEUED)
    elif result == FEED_HELD:
        hold(cs, c)
    elif result == FEED_NEWS:
        note_monitor(cs, c)
    elif result == FEED_CLOSE or c.doomed:
        begin_ending(cs, c)


cdef void send_shown(Connections* cs, Connection* c) noexcept nogil:
    """Lines for the monitors. ORDER: before c's replies leave, so that whoever acts on one is shown after it."""
    cdef OutBuf* lines = &cs.worker.shown
    audience_send(cs.monitors, lines.data, lines.len, cs.mailbox, c.slot)
    if lines.cap > OUTPUT_SPARE:
        outbuf_free(lines)
    else:
        outbuf_clear(lines)


cdef inline void connection_turn(Connections* cs, Connection* c, const char* data, size_t len) noexcept nogil:
    """Answer requests from data, which is the shared buffer or what the connection holds; keep the rest; send."""
    cdef size_t consumed = 0
    cdef int result
    lend_output(cs, c)
    result = session_feed(&c.session, &cs.worker, data, len, &consumed, cs.now_ms)
    if cs.worker.shown.len:
        send_shown(cs, c)
    if consumed < len or c.held.ptr != NULL:
        if not hold_rest(cs, c, data + consumed, len - consumed):
            connection_close(cs, c)
            return
    if result != FEED_NEED_DATA or c.doomed:
        settle(cs, c, result)
    if c.interest & POLL_WRITE:
        connection_wait(cs, c)
    else:
        connection_defer(cs, c)
    if c.held.cap | c.session.out.cap | <uint64_t>c.accounted:
        connection_account(cs, c)


# Input ----------------------------------------------------------------------------------------------------------


cdef void no_input(Connections* cs, Connection* c, ssize_t n) noexcept nogil:
    """A read that brought nothing. A peer that has ended its side still gets the replies that are left."""
    if n == SOCK_AGAIN and not c.doomed:
        return
    if n == SOCK_BROKEN or connection_unsent(c) == 0:
        connection_close(cs, c)
        return
    c.gone = True
    begin_ending(cs, c)


cdef inline void note_input(Connections* cs, Connection* c, ssize_t n) noexcept nogil:
    c.session.client.input_bytes += <uint64_t>n
    count(&cs.traffic.input_bytes, <uint64_t>n)
    c.moved_ms = cs.mono_ms


cdef inline void run_oldest(Connections* cs) noexcept nogil:
    cdef Pending p = cs.pending[0]
    cdef uint32_t i
    cs.pending_count -= 1
    for i in range(cs.pending_count):
        cs.pending[i] = cs.pending[i + 1]
    connection_turn(cs, p.c, p.data, p.len)


cdef inline void look_at_entry(Connections* cs, const Pending* p) noexcept nogil:
    if p.hashed:
        session_ahead_entry(&p.c.session, &cs.worker, p.hash)


cdef void connections_catch_up(Connections* cs) noexcept nogil:
    if cs.pending_count:
        look_at_entry(cs, &cs.pending[cs.pending_count - 1])
    while cs.pending_count:
        run_oldest(cs)


cdef inline void connection_pend(Connections* cs, Connection* c, char* data, size_t len) noexcept nogil:
    """ORDER: this one's slot, the entry of the one before, whose slot has come while this one was read, then the turn of the one
    before that."""
    cdef Pending p
    p.c = c
    p.data = data
    p.len = len
    p.hashed = session_ahead(&c.session, &cs.worker, data, len, &p.hash)
    if cs.pending_count:
        look_at_entry(cs, &cs.pending[cs.pending_count - 1])
    if cs.pending_count == PENDING_MAX:
        run_oldest(cs)
        if c.mode == CONN_FREE:         # the log has failed, with replies to this one unsent
            return
    cs.pending[cs.pending_count] = p
    cs.pending_count += 1
    cs.input_at = cs.input_at + 1 if cs.input_at < PENDING_MAX else 0


cdef bint room_behind(Connection* c, Room* r) noexcept nogil:
    """More of a big request goes where the rest of it is held."""
    if not held_make_room(&c.held, c.session.parser.hint):
        return False
    r.ptr = c.held.ptr + c.held.len
    r.len = c.held.cap - c.held.len
    r.held = True
    return True


cdef inline bint connection_room(Connections* cs, Connection* c, Room* r) noexcept nogil:
    """In a shared buffer, behind the little that may be held. False without memory."""
    r.kept = 0
    r.held = False
    r.ptr = cs.inputs[cs.input_at]
    if c.held.ptr != NULL:
        r.kept = held_size(&c.held)
        if r.kept > HELD_SHARED or c.session.parser.hint > INPUT_SIZE:
            return room_behind(c, r)
        memcpy(r.ptr, held_data(&c.held), r.kept)
        r.ptr += r.kept
    r.len = INPUT_SIZE - r.kept
    return True


cdef inline void connection_take(Connections* cs, Connection* c, const Room* r, ssize_t n) noexcept nogil:
    """What a read into the room has brought, and a turn."""
    if n <= 0:
        no_input(cs, c, n)
        return
    note_input(cs, c, n)
    if r.held:
        c.held.len += <size_t>n
        connection_turn(cs, c, held_data(&c.held), held_size(&c.held))
    elif r.kept or n > PENDING_INPUT or c.doomed:
        connection_turn(cs, c, r.ptr - r.kept, r.kept + <size_t>n)
    else:
        connection_pend(cs, c, r.ptr, <size_t>n)


cdef inline void connection_read(Connections* cs, Connection* c) noexcept nogil:
    """The path of every request."""
    cdef Room room
    if connection_room(cs, c, &room):
        connection_take(cs, c, &room, sock_read(c.fd, room.ptr, room.len))
    else:
        connection_close(cs, c)


cdef void drain(Connections* cs, Connection* c) noexcept nogil:
    cdef ssize_t n = sock_read(c.fd, cs.inputs[cs.input_at], INPUT_SIZE)
    if n == 0 or n == SOCK_BROKEN:
        connection_close(cs, c)


cdef void ready_otherwise(Connections* cs, Connection* c, uint32_t what) noexcept nogil:
    if c.mode == CONN_FREE:
        return                          # ended by an earlier event of this tick
    if c.mode == CONN_LINGER:
        drain(cs, c)
        return
    if what & POLL_BROKEN and c.mode != CONN_OPEN:
        connection_close(cs, c)
        return
    if what & POLL_WRITE:
        connection_send(cs, c)
        connection_account(cs, c)
    if not what & (POLL_READ | POLL_BROKEN):
        return
    if c.mode == CONN_OPEN:
        connection_read(cs, c)
    elif c.mode == CONN_PARKED or c.mode == CONN_HELD:
        set_interest(cs, c, c.interest & ~POLL_READ)    # or what waits in the kernel would be reported without end
    # QUEUED: reported again and again too, but then the reactor does not sleep anyway


cdef void connection_ready(Connections* cs, Connection* c, uint32_t what) noexcept nogil:
    if c.mode == CONN_OPEN and not what & POLL_WRITE:
        connection_read(cs, c)
    else:
        ready_otherwise(cs, c, what)


cdef void connection_finish(Connections* cs, Connection* c) noexcept nogil:
    if not c.doomed:
        c.doomed = DOOM_ANSWERED
    if c.mode == CONN_OPEN and not cs.hosted:
        connection_read(cs, c)


# Input of hosted connections ------------------------------------------------------------------------------------


cdef inline bint takes_later(const Connection* c) noexcept nogil:
    return c.mode == CONN_PARKED or c.mode == CONN_QUEUED or c.mode == CONN_HELD


cdef bint hosted_room(Connections* cs, Connection* c, Room* r) noexcept nogil:
    cdef bint found
    if takes_later(c):
        r.kept = 0
        found = room_behind(c, r)
    else:                               # of one that is ENDING or LINGERs it is thrown away
        found = connection_room(cs, c, r)
    if not found:
        connection_close(cs, c)
    return found


cdef void hosted_take(Connections* cs, Connection* c, const Room* r, size_t n) noexcept nogil:
    if c.mode == CONN_OPEN:
        connection_take(cs, c, r, <ssize_t>n)
    elif takes_later(c):
        note_input(cs, c, <ssize_t>n)
        c.held.len += n
        connection_account(cs, c)
        set_interest(cs, c, c.interest & ~POLL_READ)


cdef void hosted_eof(Connections* cs, Connection* c) noexcept nogil:
    if c.mode == CONN_OPEN:
        no_input(cs, c, 0)
    elif c.mode == CONN_LINGER:
        connection_close(cs, c)
    elif c.mode == CONN_ENDING:
        c.gone = True
    else:
        c.host.ended = True


cdef void hosted_writable(Connections* cs, Connection* c) noexcept nogil:
    cdef Hosted* h = c.host
    cdef size_t n = h.unsent
    h.unsent = 0
    connection_sent(cs, c, n)
    if h.c != NULL:
        connection_account(cs, c)
        if connection_unsent(c):        # not at once: what it has been answered meanwhile may not be safe
            connection_defer(cs, c)


cdef bint hosted_pends(const Connections* cs, const Connection* c) noexcept nogil:
    cdef uint32_t i
    for i in range(cs.pending_count):
        if cs.pending[i].c == c:
            return True
    return False


cdef void hosted_finish(Connections* cs) noexcept nogil:
    cdef uint32_t slot
    cdef Connection* c
    for slot in range(cs.chunk_count * CHUNK):
        c = connection_at(cs, slot)
        if c.mode == CONN_OPEN and c.doomed:
            no_input(cs, c, SOCK_AGAIN)


cdef void go_on(Connections* cs, Connection* c) noexcept nogil:
    """After the turn of one that did not read: it does again, unless it waits for something else."""
    if c.mode != CONN_OPEN:
        return
    if c.host != NULL and c.host.ended:
        no_input(cs, c, 0)
    else:
        set_interest(cs, c, c.interest | POLL_READ)


# All of a thread's connections ---------------------------------------------------------------------------------


cdef bint connections_init(Connections* cs) noexcept nogil:
    cdef uint32_t i
    for i in range(<uint32_t>PENDING_MAX + 1):
        cs.inputs[i] = <char*>malloc(INPUT_SIZE)
        if cs.inputs[i] == NULL:
            return False
    return True


cdef void connections_free(Connections* cs) noexcept nogil:
    cdef uint32_t i
    cdef Connection* c
    for i in range(cs.chunk_count * CHUNK):
        c = connection_at(cs, i)
        if c.mode != CONN_FREE:
            connection_close(cs, c)
    slots_free(cs)
    for i in range(<uint32_t>PENDING_MAX + 1):
        free(cs.inputs[i])
        cs.inputs[i] = NULL
    while cs.spare_count:
        cs.spare_count -= 1
        free(cs.spares[cs.spare_count])
    if cs.poller >= 0:
        sock_close(cs.poller)
    cs.poller = -1


cdef void set_addresses(Session* s, int fd, const char* path) noexcept nogil:
    if path != NULL:
        snprintf(s.client.addr, sizeof(s.client.addr), b"%s:0", path)
        snprintf(s.client.laddr, sizeof(s.client.laddr), b"%s:0", path)
    else:
        sock_address(fd, True, s.client.addr, sizeof(s.client.addr))
        sock_address(fd, False, s.client.laddr, sizeof(s.client.laddr))


cdef Connection* connections_adopt(Connections* cs, const SocketMessage* m, Hosted* host) noexcept nogil:
    cdef Connection* c = slot_take(cs)
    if c == NULL:
        if host == NULL:
            sock_close(m.fd)
        leave_load(cs)
        return NULL
    count(&cs.traffic.adopted, 1)
    c.fd = m.fd
    c.moved_ms = cs.mono_ms
    session_init(&c.session, m.client_id, m.wire, cs.now_ms)
    session_connected(&c.session, m.fd, m.path != NULL)
    set_addresses(&c.session, m.fd, m.path)
    if m.path == NULL:
        sock_set_up(m.fd, <int>relaxed_u64(&cs.settings.keepalive_s))
    c.interest = POLL_READ
    if host != NULL:
        c.host = host
        host.c = c
    elif poller_add(cs.poller, m.fd, POLL_READ, c) != 0:
        connection_close(cs, c)
        return NULL
    return c


cdef void connections_answer(Connections* cs, const AnswerMessage* m) noexcept nogil:
    cdef Connection* c
    if m.slot >= cs.chunk_count * CHUNK:
        return
    c = connection_at(cs, m.slot)
    if c.generation != m.generation or c.mode != CONN_PARKED:
        return                          # the connection has ended meanwhile
    c.mode = CONN_OPEN
    lend_output(cs, c)
    session_resume(&c.session, m.reply, m.len, &m.patch)
    if c.doomed == DOOM_REPLIED or m.patch.close > 0:
        begin_ending(cs, c)             # what it has sent behind the command is not answered any more
        connection_send(cs, c)
        return
    connection_turn(cs, c, held_data(&c.held), held_size(&c.held))
    go_on(cs, c)


cdef bint takes_pushes(const Connection* c) noexcept nogil:
    return (c.mode != CONN_FREE and c.mode != CONN_LINGER and c.mode != CONN_ENDING and c.session.client.flags & CLIENT_MONITOR
            and not c.session.client.flags & (CLIENT_REPLY_OFF | CLIENT_REPLY_SKIPPING))


cdef void connections_push(Connections* cs, const PushMessage* m) noexcept nogil:
    cdef Connection* c = connection_at(cs, m.slot)      # slots are never taken away
    add_u64(&cs.mailbox.pushed, <uint64_t>0 - m.size)
    if c.generation != m.generation:
        return
    if m.block == NULL:
        count(&cs.traffic.over_output_limit, 1)
        connection_close(cs, c)
        return
    if not takes_pushes(c):
        return
    lend_output(cs, c)
    outbuf_append(&c.session.out, m.block.data, m.size)     # a copy, that counts towards the memory ceiling
    if c.interest & POLL_WRITE:
        connection_wait(cs, c)
    else:
        connection_defer(cs, c)
    connection_account(cs, c)


cdef void connections_release(Connections* cs) noexcept nogil:
    cdef Connection* c
    if attention_left(cs.worker.attention) and load_u32(&cs.worker.attention.pauses) == cs.held_pauses:
        return
    while cs.held.head != NULL:
        c = cs.held.head
        step_out(&cs.held, c)
        line_up(&cs.queue, c, CONN_QUEUED)


cdef void connections_turns(Connections* cs) noexcept nogil:
    cdef uint32_t n = cs.queue.count
    cdef Connection* c
    while n and cs.queue.head != NULL:
        n -= 1
        c = cs.queue.head
        step_out(&cs.queue, c)
        connection_turn(cs, c, held_data(&c.held), held_size(&c.held))
        go_on(cs, c)


cdef void sweep_one(Connections* cs, Connection* c) noexcept nogil:
    cdef uint64_t timeout = relaxed_u64(&cs.settings.idle_timeout_ms)
    cdef uint64_t idle = <uint64_t>(cs.mono_ms - c.moved_ms)
    if c.mode == CONN_LINGER:
        if idle > LINGER_MS:
            connection_close(cs, c)
    elif c.interest & POLL_WRITE and over_output_limit(cs, c, connection_unsent(c)):
        count(&cs.traffic.over_output_limit, 1)
        connection_close(cs, c)
    elif (timeout and idle > timeout and (c.mode == CONN_OPEN or c.mode == CONN_ENDING)
            and not c.session.client.flags & CLIENT_MONITOR):
        count(&cs.traffic.timed_out, 1)
        connection_close(cs, c)
    elif cs.hosted and not c.interest & POLL_READ and sock_gone(c.fd):
        connection_close(cs, c)         # what a poller would have told


cdef void connections_sweep(Connections* cs) noexcept nogil:
    cdef uint32_t slots = cs.chunk_count * CHUNK
    cdef uint32_t left = slots // 10 + 1
    cdef Connection* c
    if slots == 0:
        return
    while left:
        left -= 1
        cs.sweep_at = cs.sweep_at + 1 if cs.sweep_at + 1 < slots else 0
        c = connection_at(cs, cs.sweep_at)
        if c.mode != CONN_FREE:
            sweep_one(cs, c)


cdef bint connections_want_sweeps(const Connections* cs) noexcept nogil:
    return (cs.lingering != 0 or cs.silent != 0 or (cs.blocked != 0 and relaxed_u64(&cs.settings.output_soft) != 0)
            or (cs.count != 0 and relaxed_u64(&cs.settings.idle_timeout_ms) != 0))
