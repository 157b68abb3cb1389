"""Output and the end (see sending.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free

from tellstone._core.base.atomics cimport add_u32, relaxed_u64
from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.base.poller cimport POLL_READ, POLL_WRITE, poller_change, poller_remove
from tellstone._core.base.socket cimport SOCK_BROKEN, sock_close, sock_finish
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.net.audience cimport audience_leave
from tellstone._core.net.connection cimport (
    CHUNK, CONN_ENDING, CONN_FREE, CONN_HELD, CONN_LINGER, CONN_QUEUED, DEFERRED_MAX, OUTPUT_RECYCLED, OUTPUT_SIZE, OUTPUT_SPARE,
    Connection, Connections, connection_at, connection_unsent, hosted_mark,
)
from tellstone._core.net.held cimport held_free
from tellstone._core.net.output cimport output_unsent, output_write
from tellstone._core.net.slots cimport connection_account, slot_leave, step_out
from tellstone._core.net.traffic cimport count, peak_note
from tellstone._core.session.session cimport CLIENT_MONITOR, session_free
from tellstone._core.store.keyspace cimport Keyspace, keyspace_commit, keyspace_failure

check_layout(__name__)


cdef void set_interest(Connections* cs, Connection* c, uint32_t interest) noexcept nogil:
    """Rare: in the steady state a connection waits for input all its life, so the poller is told once."""
    if interest == c.interest:
        return
    if (interest ^ c.interest) & POLL_WRITE:
        if interest & POLL_WRITE:
            cs.blocked += 1
        else:
            cs.blocked -= 1
    if not cs.hosted:
        poller_change(cs.poller, c.fd, c.interest, interest, c)
    elif (interest ^ c.interest) & POLL_READ:
        cs.silent = cs.silent - 1 if interest & POLL_READ else cs.silent + 1
        hosted_mark(cs, c.host)
    c.interest = interest


# The end --------------------------------------------------------------------------------------------------------


cdef void leave_load(Connections* cs) noexcept nogil:
    add_u32(&cs.load, <uint32_t>-1)
    count(&cs.traffic.ended, 1)


cdef void forget_deferred(Connections* cs, Connection* c) noexcept nogil:
    cdef uint32_t i
    for i in range(cs.deferred_count):
        if cs.deferred[i] == c:
            cs.deferred[i] = NULL
    c.deferred = False


cdef void let_go(Connections* cs, Connection* c) noexcept nogil:
    """Close the socket, or have the transport closed."""
    if not cs.hosted:
        poller_remove(cs.poller, c.fd, c.interest)
        sock_close(c.fd)
        return
    if not c.interest & POLL_READ:
        cs.silent -= 1
    c.host.c = NULL
    hosted_mark(cs, c.host)


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
    let_go(cs, c)
    session_free(&c.session)
    held_free(&c.held)
    connection_account(cs, c)
    slot_leave(cs, c)


cdef void begin_ending(Connections* cs, Connection* c) noexcept nogil:
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
    if cs.hosted:
        c.host.finish = True
        hosted_mark(cs, c.host)
    else:
        sock_finish(c.fd)
    c.mode = CONN_LINGER
    c.moved_ms = cs.mono_ms
    cs.lingering += 1
    leave_load(cs)
    set_interest(cs, c, POLL_READ)


# Output ---------------------------------------------------------------------------------------------------------


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
    """The poller says when to go on. Input is still read and answered, up to the limit: many clients send a whole pipeline
    before they read its first reply, and both sides would wait for ever."""
    cdef size_t unsent = connection_unsent(c)
    peak_note(&cs.traffic.held_output, unsent, cs.mono_ms)
    if c.session.out.failed:
        connection_close(cs, c)
    elif over_output_limit(cs, c, unsent):
        count(&cs.traffic.over_output_limit, 1)
        connection_close(cs, c)
    else:
        set_interest(cs, c, POLL_WRITE if c.mode == CONN_ENDING else c.interest | POLL_WRITE)


cdef inline void all_sent(Connections* cs, Connection* c) noexcept nogil:
    return_output(cs, c)
    if c.interest & POLL_WRITE:
        c.soft_since = 0
        set_interest(cs, c, c.interest & ~POLL_WRITE)
    if c.mode == CONN_ENDING:
        connection_end(cs, c)


cdef inline void note_output(Connections* cs, Connection* c, size_t n) noexcept nogil:
    c.session.client.output_bytes += n
    count(&cs.traffic.output_bytes, n)
    c.moved_ms = cs.mono_ms


cdef void connection_sent(Connections* cs, Connection* c, size_t n) noexcept nogil:
    if n:
        note_output(cs, c, n)
    if connection_unsent(c):
        connection_wait(cs, c)
    else:
        all_sent(cs, c)


cdef void forget_pending(Connections* cs, Connection* c) noexcept nogil:
    cdef uint32_t i, left = 0
    for i in range(cs.pending_count):
        if cs.pending[i].c != c:
            cs.pending[left] = cs.pending[i]
            left += 1
    cs.pending_count = left


cdef void cut_unsafe(Connections* cs) noexcept nogil:
    """The log has failed with changes of this tick in it. Whoever waits for a reply does not get one: his changes may be lost, and he must not be
    told otherwise. From here on changes are refused, and what is read is as safe as it was."""
    cdef uint32_t slot
    cdef Connection* c
    cs.hurt = keyspace_failure(cs.worker.ks)
    for slot in range(cs.chunk_count * CHUNK):
        c = connection_at(cs, slot)
        if c.mode != CONN_FREE and connection_unsent(c):
            forget_pending(cs, c)
            connection_close(cs, c)


cdef inline bint is_safe(Connections* cs) noexcept nogil:
    """ORDER: before any reply leaves, what it tells of is on the disk, as far as the policy wants it. A log that fails, is well again and fails
    again between two calls has let changes in: only while its failure is the same has it not."""
    cdef Keyspace* ks = cs.worker.ks
    if ks.wal == NULL:
        return True
    if cs.hurt and cs.hurt == keyspace_failure(ks):
        return True
    cs.hurt = 0
    if keyspace_commit(ks):
        return True
    cut_unsafe(cs)
    return False


cdef inline void send_now(Connections* cs, Connection* c) noexcept nogil:
    cdef OutBuf* out = &c.session.out
    cdef ssize_t n
    if out.failed:
        connection_close(cs, c)
        return
    if cs.hosted:
        if connection_unsent(c):
            c.host.sends = True
            hosted_mark(cs, c.host)
        else:
            all_sent(cs, c)
        return
    if output_unsent(out, &c.sent):
        n = output_write(c.fd, out, &c.sent)
        if n == SOCK_BROKEN:
            connection_close(cs, c)
            return
        if n > 0:
            note_output(cs, c, <size_t>n)
        if output_unsent(out, &c.sent):
            connection_wait(cs, c)
            return
    all_sent(cs, c)


cdef void connection_send(Connections* cs, Connection* c) noexcept nogil:
    if output_unsent(&c.session.out, &c.sent) == 0 or is_safe(cs):
        send_now(cs, c)


cdef void connections_flush(Connections* cs) noexcept nogil:
    """Of those that cannot be told of their changes none is left to be sent to."""
    cdef uint32_t i, n = cs.deferred_count
    cdef Connection* c
    if n == 0:
        return
    is_safe(cs)                         # once for all of them: others append meanwhile
    cs.deferred_count = 0
    cs.deferred_bytes = 0
    for i in range(n):
        c = cs.deferred[i]
        if c != NULL:
            c.deferred = False
            send_now(cs, c)
