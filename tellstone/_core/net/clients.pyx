"""CLIENT LIST and CLIENT KILL over a member's connections (see clients.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport malloc
from libc.string cimport memset, strlen, strncmp

from tellstone._core.base.bytesops cimport View, copy_bytes, same_bytes
from tellstone._core.base.outbuf cimport OutBuf, OutRef, outbuf_free
from tellstone._core.base.poller cimport POLL_READ, POLL_WRITE
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.net.connection cimport (
    CHUNK, CONN_FREE, CONN_HELD, CONN_LINGER, CONN_PARKED, DOOM_REPLIED, Connection, connection_at,
)
from tellstone._core.net.control cimport control_send_report
from tellstone._core.net.held cimport held_size
from tellstone._core.net.mailbox cimport MAIL_QUERY, QUERY_KILL
from tellstone._core.net.sending cimport connection_close
from tellstone._core.session.session cimport Footprint, session_describe

check_layout(__name__)


cdef inline char* put_text(char* at, View* text) noexcept nogil:
    """Copy a view's bytes to `at` and turn the view there."""
    if text.ptr == NULL:
        return at
    copy_bytes(at, text.ptr, text.len)
    text.ptr = at
    return at + text.len


cdef QueryMessage* query_message(const QueryMessage* question) noexcept nogil:
    cdef size_t ids = question.id_count * sizeof(uint64_t)
    cdef QueryMessage* q = <QueryMessage*>malloc(
        sizeof(QueryMessage) + ids + question.addr.len + question.laddr.len + question.user.len)
    if q == NULL:
        return NULL
    q[0] = question[0]
    q.head.kind = MAIL_QUERY
    q.ids = <uint64_t*>(q + 1)
    if ids:
        copy_bytes(q.ids, question.ids, ids)
    put_text(put_text(put_text(<char*>(q + 1) + ids, &q.addr), &q.laddr), &q.user)
    return q


cdef inline bint text_matches(View wanted, const char* text) noexcept nogil:
    return wanted.ptr == NULL or (wanted.len == strlen(text) and same_bytes(wanted.ptr, text, wanted.len))


cdef bint id_matches(const QueryMessage* q, uint64_t id) noexcept nogil:
    cdef uint32_t i
    if q.id_count == 0:
        return True
    for i in range(q.id_count):
        if q.ids[i] == id:
            return True
    return False


cdef bint client_matches(const QueryMessage* q, const Connection* c) noexcept nogil:
    """All clients are normal ones of the user `default` until pub/sub, replicas and roles exist."""
    cdef uint64_t id = c.session.client.id
    if not q.normal or (q.skip_caller and id == q.caller):
        return False
    return (id_matches(q, id) and text_matches(q.addr, c.session.client.addr)
            and text_matches(q.laddr, c.session.client.laddr) and text_matches(q.user, b"default"))


cdef void kill_one(Connections* cs, Connection* c, const QueryMessage* q) noexcept nogil:
    """At once, with unsent replies; only the client that asks gets the reply to its asking first."""
    if c.session.client.id == q.caller:
        c.doomed = DOOM_REPLIED
    else:
        connection_close(cs, c)


cdef bint waits(const Connection* c) noexcept nogil:
    """What Redis calls blocked: held back by CLIENT PAUSE, or in a command that waits for something to happen."""
    if c.mode == CONN_HELD:
        return True
    return c.mode == CONN_PARKED and strncmp(c.session.client.last_command, b"wait", 4) == 0


cdef void describe(Connections* cs, const Connection* c, OutBuf* lines) noexcept nogil:
    cdef Footprint size
    cdef const OutBuf* out = &c.session.out
    size.input = held_size(&c.held)
    size.input_free = c.held.cap - c.held.len
    size.buffer = out.cap
    size.buffered = out.len - c.sent.data
    size.blocks = out.ref_count
    size.block_bytes = out.ref_bytes - c.sent.block
    size.memory = sizeof(Connection) + c.held.cap + out.cap + size.block_bytes + out.ref_cap * sizeof(OutRef)
    size.waits = waits(c)
    size.reads = c.interest & POLL_READ != 0
    size.writes = c.interest & POLL_WRITE != 0
    session_describe(&c.session, lines, cs.now_ms, &size)


cdef void clients_answer(Connections* cs, const QueryMessage* q) noexcept nogil:
    cdef OutBuf lines
    cdef Connection* c
    cdef uint32_t slot
    cdef int64_t matched = 0
    memset(&lines, 0, sizeof(OutBuf))
    for slot in range(cs.chunk_count * CHUNK):
        c = connection_at(cs, slot)
        if c.mode == CONN_FREE or c.mode == CONN_LINGER or not client_matches(q, c):
            continue
        matched += 1
        if q.kind == QUERY_KILL:
            kill_one(cs, c, q)
        else:
            describe(cs, c, &lines)
    if lines.failed:
        outbuf_free(&lines)
        lines.len = 0
    control_send_report(cs.control, q.token, cs.index, matched, lines.data, lines.len)


cdef void clients_answer_none(Connections* cs, const QueryMessage* q) noexcept nogil:
    control_send_report(cs.control, q.token, cs.index, 0, NULL, 0)
