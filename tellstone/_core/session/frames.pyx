"""Frames as requests, and replies as frames (see frames.pxd)."""
from libc.stdint cimport UINT32_MAX, uint8_t, uint32_t
from libc.string cimport memcmp, memmove, memset, strlen

from tellstone._core.base.bytesops cimport View, format_i64, view_of
from tellstone._core.base.outbuf cimport OutBuf, outbuf_reserve, outbuf_truncate
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.command.command cimport Command, command_find
from tellstone._core.command.native cimport cmd_native_delete, cmd_native_get, cmd_native_ping, cmd_native_set
from tellstone._core.protocol.native cimport (
    FRAME_AUTH, FRAME_AUTH_ERR, FRAME_AUTH_OK, FRAME_BAD, FRAME_ERROR, FRAME_HEAD, FRAME_PING, FRAME_REQUEST,
    FRAME_RESPONSE, FRAME_WHOLE, OP_COMMAND, OP_DELETE, OP_GET, OP_SET, Frame, FrameType, NativeRequest, Taken, frame_head, frame_take,
    frame_write, native_list, native_request, native_text,
)
from tellstone._core.session.batch cimport BATCH, BATCH_ARGS, Request, Worker

# The rows must be there before they are looked up.
import tellstone._core.command.table

check_layout(__name__)

cdef enum:
    ARGS_MAX = 5                    # of a request that is not a COMMAND: SET key value PX ms

# Rows of RESP with the handlers that write frames; in everything else, statistics included, the rows of RESP.
cdef Command get_row
cdef Command set_row
cdef Command delete_row
cdef Command ping_row
get_row = command_find(b"get", 3)[0]
get_row.handler = cmd_native_get
set_row = command_find(b"set", 3)[0]
set_row.handler = cmd_native_set
delete_row = command_find(b"del", 3)[0]
delete_row.handler = cmd_native_delete
ping_row = command_find(b"ping", 4)[0]
ping_row.handler = cmd_native_ping
cdef const Command* auth_row = command_find(b"auth", 4)
cdef const Command* monitor_row = command_find(b"monitor", 7)


# Requests -------------------------------------------------------------------------------------------------------


cdef inline void call_row(Request* r, View* argv, uint8_t call, const Command* row, const char* name, size_t len) noexcept nogil:
    r.call = call
    r.row = row
    argv[0] = view_of(name, len)


cdef inline void call_nothing(Request* r, View* argv, uint8_t call) noexcept nogil:
    call_row(r, argv, call, NULL, b"", 0)


cdef inline void take_set(Worker* w, uint32_t n, View* argv, const NativeRequest* q) noexcept nogil:
    cdef Request* r = &w.batch[n]
    if q.key.len == 0:
        call_nothing(r, argv, CALL_EMPTY_KEY)
        return
    if q.value.len > <size_t>w.limits.max_bulk:
        call_nothing(r, argv, CALL_TOO_LONG)
        return
    call_row(r, argv, CALL_SET, &set_row, b"SET", 3)
    argv[1] = q.key
    argv[2] = q.value
    r.argc = 3
    if q.ttl_ms:
        argv[3] = view_of(b"PX", 2)
        argv[4] = view_of(w.ttls[n], format_i64(w.ttls[n], q.ttl_ms))
        r.argc = 5


cdef bint take_command(Request* r, View* argv, uint32_t room, View list) noexcept nogil:
    r.argc = native_list(list, argv, room)
    if r.argc > room:
        return False
    if r.argc == 0:
        call_nothing(r, argv, CALL_NOTHING)
        r.argc = 1
        return True
    r.call = CALL_COMMAND
    r.row = command_find(argv[0].ptr, argv[0].len)
    if r.row == monitor_row and r.argc == 1:
        r.call = CALL_EXCLUDED
        r.row = NULL
    return True


cdef inline bint take_request(Worker* w, uint32_t n, View* argv, uint32_t room, const Frame* f) noexcept nogil:
    cdef NativeRequest q
    cdef Request* r = &w.batch[n]
    if not native_request(f, &q):
        return False
    r.argc = 2
    if q.op == OP_GET:
        call_row(r, argv, CALL_GET, &get_row, b"GET", 3)
        argv[1] = q.key
    elif q.op == OP_SET:
        take_set(w, n, argv, &q)
    elif q.op == OP_DELETE:
        call_row(r, argv, CALL_DELETE, &delete_row, b"DEL", 3)
        argv[1] = q.key
    elif q.op == OP_COMMAND:
        return take_command(r, argv, room, q.value)
    else:
        call_nothing(r, argv, CALL_INVALID)
        r.argc = 1
    return True


cdef bint take_auth(Request* r, View* argv, const Frame* f) noexcept nogil:
    """Without a user's name it is the default user's password, which is also the single password."""
    cdef const char* at = f.payload
    cdef size_t left = f.len
    call_row(r, argv, CALL_AUTH, auth_row, b"AUTH", 4)
    r.argc = 3
    if not native_text(&at, &left, &argv[1]) or not native_text(&at, &left, &argv[2]) or left:
        return False
    if argv[1].len == 0:
        argv[1] = view_of(b"default", 7)
    return True


cdef inline bint take_frame(Worker* w, uint32_t n, View* argv, uint32_t room, const Frame* f) noexcept nogil:
    """False: it is none that a client sends, or its arguments do not fit."""
    cdef Request* r = &w.batch[n]
    if f.type == FRAME_REQUEST:
        return take_request(w, n, argv, room, f)
    if f.type == FRAME_AUTH:
        return take_auth(r, argv, f)
    call_row(r, argv, CALL_PING, &ping_row, b"PING", 4)
    r.argc = 1
    return f.type == FRAME_PING


cdef uint32_t frames_take(Worker* w, const char* data, size_t len) noexcept nogil:
    cdef size_t at = 0
    cdef uint32_t n = 0, used = 0
    cdef Frame f
    while n < BATCH and used + ARGS_MAX <= BATCH_ARGS:
        if frame_take(data + at, len - at, w.max_frame, &f) != FRAME_WHOLE:
            break
        if not take_frame(w, n, &w.views[used], BATCH_ARGS - used, &f):
            break
        at += f.size
        w.batch[n].first = used
        w.batch[n].end = at
        used += w.batch[n].argc
        n += 1
    return n


cdef bint frames_peek(Worker* w, const char* data, size_t len) noexcept nogil:
    cdef Frame f
    w.batch[0].first = 0
    return frame_take(data, len, w.max_frame, &f) == FRAME_WHOLE and take_frame(w, 0, w.views, BATCH_ARGS, &f)


cdef Taken frames_front(const Worker* w, const char* data, size_t len, Frame* f, uint32_t* items) noexcept nogil:
    cdef Taken taken = frame_take(data, len, w.max_frame, f)
    cdef NativeRequest q
    items[0] = UINT32_MAX
    if taken != FRAME_WHOLE:
        return taken
    if f.type == FRAME_REQUEST and native_request(f, &q) and q.op == OP_COMMAND:
        items[0] = native_list(q.value, NULL, 0)
    return FRAME_BAD if items[0] == UINT32_MAX else FRAME_WHOLE


cdef uint32_t frame_items(const Frame* f, View* items, uint32_t room) noexcept nogil:
    cdef NativeRequest q
    return native_list(q.value, items, room) if native_request(f, &q) else 0


# Replies --------------------------------------------------------------------------------------------------------


cdef const char* frame_refusal(uint8_t call) noexcept nogil:
    if call == CALL_INVALID:
        return b"INVALID_OPCODE"
    if call == CALL_EMPTY_KEY:
        return b"EMPTY_KEY"
    if call == CALL_TOO_LONG:
        return b"ERR string exceeds maximum allowed size (proto-max-bulk-len)"
    if call == CALL_NOTHING:
        return b"ERR empty command"
    if call == CALL_EXCLUDED:
        return b"ERR MONITOR is not available over the native protocol"
    return NULL


cdef void frame_begin(OutBuf* o, uint8_t call, Mark* mark) noexcept nogil:
    mark.at = o.len
    mark.refs = o.ref_count
    mark.ref_bytes = o.ref_bytes
    if outbuf_reserve(o, FRAME_HEAD) != NULL:
        o.len += FRAME_HEAD


cdef inline void replace(OutBuf* o, size_t at, uint32_t refs, FrameType type, const char* payload) noexcept nogil:
    outbuf_truncate(o, at, refs)
    frame_write(o, type, payload, strlen(payload))


cdef inline bint begins(const char* text, size_t len, const char* word) noexcept nogil:
    cdef size_t n = strlen(word)
    return len >= n and memcmp(text, word, n) == 0


cdef void frame_mend(OutBuf* o, uint8_t call, size_t at, size_t body) noexcept nogil:
    """-text CRLF becomes a frame with the text as its payload, or with the code that the protocol has for it."""
    cdef size_t len = o.len - body - 3
    cdef const char* text = o.data + body + 1
    if call == CALL_AUTH:
        replace(o, at, o.ref_count, FRAME_AUTH_ERR, b"INVALID_AUTH")
    elif call != CALL_COMMAND and (begins(text, len, b"OOM ") or begins(text, len, b"MISCONF ")):
        replace(o, at, o.ref_count, FRAME_ERROR, b"STORAGE_FAILURE")
    elif outbuf_reserve(o, FRAME_HEAD) != NULL:
        memmove(o.data + at + FRAME_HEAD, o.data + body + 1, len)
        frame_head(o.data + at, FRAME_ERROR, len)
        o.len = at + FRAME_HEAD + len


cdef void end_reply(OutBuf* o, const Mark* mark, size_t body) noexcept nogil:
    """A reply of many references to large values may be longer than a frame can say."""
    cdef size_t len = o.len - body + o.ref_bytes - mark.ref_bytes
    if len < UINT32_MAX:
        frame_head(o.data + mark.at, FRAME_RESPONSE, len)
    else:
        replace(o, mark.at, mark.refs, FRAME_ERROR, b"ERR the reply is longer than a frame can be")


cdef void frame_end(OutBuf* o, uint8_t call, const Mark* mark) noexcept nogil:
    cdef size_t body = mark.at + FRAME_HEAD
    if o.failed:
        return
    if o.len <= body and o.ref_count == mark.refs:
        outbuf_truncate(o, mark.at, mark.refs)
    elif o.data[body] == c'-' and o.ref_count == mark.refs:
        frame_mend(o, call, mark.at, body)
    elif call == CALL_AUTH:
        replace(o, mark.at, mark.refs, FRAME_AUTH_OK, b"OK")
    else:
        end_reply(o, mark, body)
