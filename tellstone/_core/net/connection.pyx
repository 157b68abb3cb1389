"""Connections and their turns (see connection.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset, strlen

from tellstone._core.base.atomics cimport add_u32, add_u64, load_u32, relaxed_u64, store_u32, store_u64
from tellstone._core.base.outbuf cimport OutBuf, outbuf_append, outbuf_clear, outbuf_free
from tellstone._core.base.poller cimport (
    POLL_BROKEN, POLL_READ, POLL_WRITE, poller_add, poller_change, poller_open, poller_remove,
)
from tellstone._core.base.socket cimport (
    SOCK_AGAIN, SOCK_BROKEN, sock_address, sock_close, sock_finish, sock_read, sock_set_up,
)
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.net.audience cimport audience_join, audience_leave, audience_send
from tellstone._core.net.control cimport control_send_call
from tellstone._core.net.held cimport (
    Held, held_data, held_free, held_keep, held_make_room, held_size, held_store,
)
from tellstone._core.net.mailbox cimport AnswerMessage, PushMessage, SocketMessage
from tellstone._core.net.output cimport Sent, output_compact, output_unsent, output_write
from tellstone._core.session.attention cimport attention_left
from tellstone._core.session.session cimport (
    CLIENT_MONITOR, CLIENT_REPLY_OFF, CLIENT_REPLY_SKIPPING, FEED_CLOSE, FEED_HELD, FEED_LATER, FEED_NEED_DATA, FEED_NEWS, FEED_PARKED,
    FEED_YIELD, ParkedCall, Patch, Session, session_ahead,
    session_ahead_entry, session_connected, session_feed,
    session_free, session_init, session_resume,
)
from tellstone._core.store.keyspace cimport keyspace_add_used

check_layout(__name__)

cdef enum:
    HELD_SHARED = 16384                 # up to so much held input is put in front of the next read in the shared buffer

cdef const char* BUSY = b"-BUSY too many control commands are waiting, try again later\r\n"

cdef uint64_t client_ids = 0


cdef uint64_t next_client_id() noexcept nogil:
    return add_u64(&client_ids, 1) + 1


# Figures for others ---------------------------------------------------------------------------------------------


cdef inline void count(uint64_t* counter, uint64_t n) noexcept nogil:
    """One writer, readers anywhere: needs no locked instruction."""
    store_u64(counter, counter[0] + n)


cdef void peak_note(Peak* p, uint64_t value, int64_t mono_ms) noexcept nogil:
    cdef uint64_t age = <uint64_t>mono_ms - p.since
    if age >= PEAK_MS:
        store_u64(&p.before, p.now if age < 2 * PEAK_MS else 0)
        store_u64(&p.now, 0)
        store_u64(&p.since, <uint64_t>mono_ms)
    if value > p.now:
        store_u64(&p.now, value)


cdef uint64_t peak_value(const Peak* p, int64_t mono_ms) noexcept nogil:
    cdef uint64_t age = <uint64_t>mono_ms - relaxed_u64(&p.since)
    cdef uint64_t now = relaxed_u64(&p.now)
    cdef uint64_t before = relaxed_u64(&p.before)
    if age >= 2 * PEAK_MS:
        return 0
    return before if age < PEAK_MS and before > now else now


cdef void connection_account(Connections* cs, Connection* c) noexcept nogil:
    """Let what the connection's buffers have above ACCOUNT_FROM count towards the memory ceiling."""
    cdef int64_t own = <int64_t>(c.held.cap + c.session.out.cap)
    own = own - ACCOUNT_FROM if own > ACCOUNT_FROM else 0
    if own != c.accounted:
        keyspace_add_used(cs.worker.ks, own - c.accounted)
        count(&cs.used_bytes, <uint64_t>(own - c.accounted))
        c.accounted = own


# Slots ----------------------------------------------------------------------------------------------------------


cdef bint add_chunk(Connections* cs) noexcept nogil:
    cdef Connection* chunk
    cdef Connection** chunks = <Connection**>realloc(cs.chunks, (cs.chunk_count + 1) * sizeof(Connection*))
    cdef uint32_t i
    if chunks == NULL:
        return False
    cs.chunks = chunks
    chunk = <Connection*>calloc(CHUNK, sizeof(Connection))
    if chunk == NULL:
        return False
    for i in range(<uint32_t>CHUNK):
        chunk[i].fd = -1
        chunk[i].mode = CONN_FREE
        chunk[i].slot = cs.chunk_count * CHUNK + i
        chunk[i].next = cs.free_slots
        cs.free_slots = &chunk[i]
    cs.chunks[cs.chunk_count] = chunk
    cs.chunk_count += 1
    return True


cdef Connection* take_slot(Connections* cs) noexcept nogil:
    """A clean slot, NULL without memory."""
    cdef Connection* c
    if cs.free_slots == NULL and not add_chunk(cs):
        return NULL
    c = cs.free_slots
    cs.free_slots = c.next
    cs.count += 1
    c.mode = CONN_OPEN
    c.doomed = SPARED
    c.gone = False
    c.deferred = False
    c.interest = 0
    c.soft_since = 0
    c.sent.data = 0                     # the one before may have ended in the middle of its output
    c.sent.block = 0
    c.next = NULL
    return c


cdef void leave_slot(Connections* cs, Connection* c) noexcept nogil:
    c.fd = -1
    c.mode = CONN_FREE
    c.generation += 1
    c.next = cs.free_slots
    cs.free_slots = c
    cs.count -= 1


cdef void line_up(Line* line, Connection* c, Mode mode) noexcept nogil:
    c.mode = mode
    c.next = NULL
    c.prev = line.tail
    if line.tail != NULL:
        line.tail.next = c
    else:
        line.head = c
    line.tail = c
    store_u32(&line.count, line.count + 1)


cdef void step_out(Line* line, Connection* c) noexcept nogil:
    if c.prev != NULL:
        c.prev.next = c.next
    else:
        line.head = c.next
    if c.next != NULL:
        c.next.prev = c.prev
    else:
        line.tail = c.prev
    store_u32(&line.count, line.count - 1)
    c.mode = CONN_OPEN


cdef void set_interest(Connections* cs, Connection* c, uint32_t interest) noexcept nogil:
    """Rare: in the steady state a connection waits for input all its life, so the poller is told once."""
    if interest == c.interest:
        return
    if (interest ^ c.interest) & POLL_WRITE:
        if interest & POLL_WRITE:
            cs.blocked += 1
        else:
            cs.blocked -= 1
    poller_change(cs.poller, c.fd, c.interest, interest, c)
    c.interest = interest


# The end --------------------------------------------------------------------------------------------------------


cdef void leave_load(Connections* cs) noexcept nogil:
    add_u32(&cs.load, <uint32_t>-1)
    count(&cs.traffic.ended, 1)


cdef void connection_close(Connections* cs, Connection* c) noexcept nogil:
    if c.mode == CONN_QUEUED:
        step_out(&cs.queue, c)
    elif c.mode == CONN_HELD:
        step_out(&cs.held, c)
    if c.session.client.flags & CLIENT_MONITOR:
        audience_leave(cs.monitors, cs.mailbox, c.slot)
    if c.deferred:
        forget_deferred(cs, c)
    if c.mode == CONN_LINGER:
        cs.lingering -= 1
    else:
        leave_load(cs)
    if c.interest & POLL_WRITE:
        cs.blocked -= 1
    poller_remove(cs.poller, c.fd, c.interest)
    sock_close(c.fd)
    session_free(&c.session)
    held_free(&c.held)
    connection_account(cs, c)
    leave_slot(cs, c)


cdef void begin_ending(Connections* cs, Connection* c) noexcept nogil:
    """Nothing more is read; the caller sends what is there, and the last byte of it ends the connection."""
    c.mode = CONN_ENDING
    held_free(&c.held)
    if c.interest & POLL_WRITE:
        set_interest(cs, c, POLL_WRITE)


cdef void connection_end(Connections* cs, Connection* c) noexcept nogil:
    """All has been sent. A close with unread input, now or on its way, would answer it with a reset, and that may
    overtake replies in the peer's kernel: shut our side down first and wait a little for the peer to end its own."""
    if c.gone:
        connection_close(cs, c)
        return
    sock_finish(c.fd)
    c.mode = CONN_LINGER
    c.moved_ms = cs.mono_ms
    cs.lingering += 1
    leave_load(cs)
    set_interest(cs, c, POLL_READ)


cdef void drain(Connections* cs, Connection* c) noexcept nogil:
    cdef ssize_t n = sock_read(c.fd, cs.inputs[cs.input_at], INPUT_SIZE)
    if n == 0 or n == SOCK_BROKEN:
        connection_close(cs, c)


# Output ---------------------------------------------------------------------------------------------------------


cdef inline void lend_output(Connections* cs, Connection* c) noexcept nogil:
    """Before the session writes. Where there is neither a spare buffer nor memory for one, the session finds out."""
    cdef OutBuf* out = &c.session.out
    if out.data != NULL:
        output_compact(out, &c.sent)
        return
    if cs.spare_count:
        cs.spare_count -= 1
        out.data = cs.spares[cs.spare_count]
        out.cap = cs.spare_caps[cs.spare_count]
        return
    out.data = <char*>malloc(OUTPUT_SIZE)
    out.cap = OUTPUT_SIZE if out.data != NULL else 0


cdef inline void return_output(Connections* cs, Connection* c) noexcept nogil:
    """All is sent: the buffer goes to the next one who writes."""
    cdef OutBuf* out = &c.session.out
    if cs.spare_count < DEFERRED_MAX and OUTPUT_SIZE <= out.cap <= <size_t>(OUTPUT_SPARE if cs.spare_count else OUTPUT_RECYCLED):
        cs.spares[cs.spare_count] = out.data
        cs.spare_caps[cs.spare_count] = out.cap
        cs.spare_count += 1
    else:
        free(out.data)
    out.data = NULL
    out.cap = 0
    out.len = 0
    c.sent.data = 0
    if out.refs != NULL:
        free(out.refs)
        out.refs = NULL
        out.ref_cap = 0


cdef bint over_output_limit(Connections* cs, Connection* c, uint64_t unsent) noexcept nogil:
    """The rule of Redis's client-output-buffer-limit: at the hard limit at once, at the soft one when it lasts."""
    cdef uint64_t hard = relaxed_u64(&cs.settings.output_hard)
    cdef uint64_t soft = relaxed_u64(&cs.settings.output_soft)
    if hard and unsent >= hard:
        return True
    if soft == 0 or unsent < soft:
        c.soft_since = 0
        return False
    if c.soft_since == 0:
        c.soft_since = cs.mono_ms
        return False
    return <uint64_t>(cs.mono_ms - c.soft_since) > relaxed_u64(&cs.settings.output_soft_ms)


cdef void connection_wait(Connections* cs, Connection* c) noexcept nogil:
    """Output is left: the poller says when to go on. Input is still read and answered, up to the limit: many clients
    send a whole pipeline before they read its first reply, and both sides would wait for ever."""
    cdef size_t unsent = output_unsent(&c.session.out, &c.sent)
    peak_note(&cs.traffic.held_output, unsent, cs.mono_ms)
    if c.session.out.failed:
        connection_close(cs, c)
    elif over_output_limit(cs, c, unsent):
        count(&cs.traffic.over_output_limit, 1)
        connection_close(cs, c)
    else:
        set_interest(cs, c, POLL_WRITE if c.mode == CONN_ENDING else c.interest | POLL_WRITE)


cdef void connection_send(Connections* cs, Connection* c) noexcept nogil:
    """One write for all there is to send. What the kernel does not take waits until the poller asks for it."""
    cdef OutBuf* out = &c.session.out
    cdef ssize_t n
    if out.failed:
        connection_close(cs, c)
        return
    if output_unsent(out, &c.sent):
        n = output_write(c.fd, out, &c.sent)
        if n == SOCK_BROKEN:
            connection_close(cs, c)
            return
        if n > 0:
            c.session.client.output_bytes += <uint64_t>n
            count(&cs.traffic.output_bytes, <uint64_t>n)
            c.moved_ms = cs.mono_ms
        if output_unsent(out, &c.sent):
            connection_wait(cs, c)
            return
    return_output(cs, c)
    if c.interest & POLL_WRITE:
        c.soft_since = 0
        set_interest(cs, c, c.interest & ~POLL_WRITE)
    if c.mode == CONN_ENDING:
        connection_end(cs, c)


cdef void connections_flush(Connections* cs) noexcept nogil:
    cdef uint32_t i, n = cs.deferred_count
    cdef Connection* c
    cs.deferred_count = 0
    cs.deferred_bytes = 0
    for i in range(n):
        c = cs.deferred[i]
        if c != NULL:
            c.deferred = False
            connection_send(cs, c)


cdef inline void connection_defer(Connections* cs, Connection* c) noexcept nogil:
    """Send at the end of the tick, or at once where there is nothing to wait for."""
    cdef size_t size
    if c.deferred:
        return
    size = output_unsent(&c.session.out, &c.sent)
    if size == 0 or c.mode == CONN_ENDING or c.session.out.failed:
        connection_send(cs, c)
        return
    if cs.deferred_count == DEFERRED_MAX or cs.deferred_bytes >= DEFERRED_BYTES:
        connections_flush(cs)
    cs.deferred[cs.deferred_count] = c
    cs.deferred_count += 1
    cs.deferred_bytes += size
    c.deferred = True


cdef void forget_deferred(Connections* cs, Connection* c) noexcept nogil:
    cdef uint32_t i
    for i in range(cs.deferred_count):
        if cs.deferred[i] == c:
            cs.deferred[i] = NULL
    c.deferred = False


# Input ----------------------------------------------------------------------------------------------------------


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
        if len > INPUT_LIMIT + 2 * relaxed_u64(&cs.settings.max_request):
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


cdef void no_input(Connections* cs, Connection* c, ssize_t n) noexcept nogil:
    """A read that brought nothing. A peer that has ended its side still gets the replies that are left."""
    if n == SOCK_AGAIN and not c.doomed:
        return
    if n == SOCK_BROKEN or output_unsent(&c.session.out, &c.sent) == 0:
        connection_close(cs, c)
        return
    c.gone = True
    begin_ending(cs, c)


cdef inline void note_input(Connections* cs, Connection* c, ssize_t n) noexcept nogil:
    c.session.client.input_bytes += <uint64_t>n
    count(&cs.traffic.input_bytes, <uint64_t>n)
    c.moved_ms = cs.mono_ms


cdef void read_on(Connections* cs, Connection* c) noexcept nogil:
    """Read more of a big request where the rest of it is held."""
    cdef ssize_t n
    if not held_make_room(&c.held, c.session.parser.hint):
        connection_close(cs, c)
        return
    n = sock_read(c.fd, c.held.ptr + c.held.len, c.held.cap - c.held.len)
    if n <= 0:
        no_input(cs, c, n)
        return
    note_input(cs, c, n)
    c.held.len += <size_t>n
    connection_turn(cs, c, held_data(&c.held), held_size(&c.held))


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
    cs.pending[cs.pending_count] = p
    cs.pending_count += 1
    cs.input_at = cs.input_at + 1 if cs.input_at < PENDING_MAX else 0


cdef inline void connection_read(Connections* cs, Connection* c) noexcept nogil:
    """The path of every request: one read into a shared buffer, behind the little that may be held, and a turn."""
    cdef char* input = cs.inputs[cs.input_at]
    cdef size_t kept = 0
    cdef ssize_t n
    if c.held.ptr != NULL:
        kept = held_size(&c.held)
        if kept > HELD_SHARED or c.session.parser.hint > INPUT_SIZE:
            read_on(cs, c)
            return
        memcpy(input, held_data(&c.held), kept)
    n = sock_read(c.fd, input + kept, INPUT_SIZE - kept)
    if n <= 0:
        no_input(cs, c, n)
        return
    note_input(cs, c, n)
    if kept or n > PENDING_INPUT or c.doomed:
        connection_turn(cs, c, input, kept + <size_t>n)
    else:
        connection_pend(cs, c, input, <size_t>n)


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
    if c.mode == CONN_OPEN:
        connection_read(cs, c)


# All of a reactor's connections ---------------------------------------------------------------------------------


cdef bint connections_init(Connections* cs) noexcept nogil:
    cdef uint32_t i
    cs.poller = poller_open()
    for i in range(<uint32_t>PENDING_MAX + 1):
        cs.inputs[i] = <char*>malloc(INPUT_SIZE)
        if cs.inputs[i] == NULL:
            return False
    return cs.poller >= 0


cdef void connections_free(Connections* cs) noexcept nogil:
    cdef uint32_t i
    cdef Connection* c
    for i in range(cs.chunk_count * CHUNK):
        c = connection_at(cs, i)
        if c.mode != CONN_FREE:
            connection_close(cs, c)
    for i in range(cs.chunk_count):
        free(cs.chunks[i])
    free(cs.chunks)
    for i in range(<uint32_t>PENDING_MAX + 1):
        free(cs.inputs[i])
        cs.inputs[i] = NULL
    while cs.spare_count:
        cs.spare_count -= 1
        free(cs.spares[cs.spare_count])
    cs.chunks = NULL
    cs.chunk_count = 0
    cs.free_slots = NULL
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


cdef Connection* connections_adopt(Connections* cs, const SocketMessage* m) noexcept nogil:
    cdef Connection* c = take_slot(cs)
    if c == NULL:
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
    if poller_add(cs.poller, m.fd, POLL_READ, c) != 0:
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
    set_interest(cs, c, c.interest | POLL_READ)
    connection_turn(cs, c, held_data(&c.held), held_size(&c.held))


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
        set_interest(cs, c, c.interest | POLL_READ)


cdef void connections_turns(Connections* cs) noexcept nogil:
    cdef uint32_t n = cs.queue.count
    cdef Connection* c
    while n and cs.queue.head != NULL:
        n -= 1
        c = cs.queue.head
        step_out(&cs.queue, c)
        connection_turn(cs, c, held_data(&c.held), held_size(&c.held))


cdef void sweep_one(Connections* cs, Connection* c) noexcept nogil:
    cdef uint64_t timeout = relaxed_u64(&cs.settings.idle_timeout_ms)
    cdef uint64_t idle = <uint64_t>(cs.mono_ms - c.moved_ms)
    if c.mode == CONN_LINGER:
        if idle > LINGER_MS:
            connection_close(cs, c)
    elif c.interest & POLL_WRITE and over_output_limit(cs, c, output_unsent(&c.session.out, &c.sent)):
        count(&cs.traffic.over_output_limit, 1)
        connection_close(cs, c)
    elif (timeout and idle > timeout and (c.mode == CONN_OPEN or c.mode == CONN_ENDING)
            and not c.session.client.flags & CLIENT_MONITOR):
        count(&cs.traffic.timed_out, 1)
        connection_close(cs, c)


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
    return (cs.lingering != 0 or (cs.blocked != 0 and relaxed_u64(&cs.settings.output_soft) != 0)
            or (cs.count != 0 and relaxed_u64(&cs.settings.idle_timeout_ms) != 0))
