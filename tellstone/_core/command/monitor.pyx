"""MONITOR (see monitor.pxd).

A line is Redis's: +1339518083.107412 [0 127.0.0.1:60866] "set" "key" "v\\x00" - the time, the database after the call, the client,
and every argument quoted as its sdscatrepr does. Passwords of AUTH and HELLO are left out.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdio cimport snprintf
from libc.string cimport strlen

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.outbuf cimport outbuf_append, outbuf_reserve
from tellstone._core.base.platform cimport wall_us
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_OK, ST_REPLIED
from tellstone._core.command.client cimport CLIENT_EMBEDDED, CLIENT_MONITOR, CLIENT_NEWS, CLIENT_UNIX
from tellstone._core.command.command cimport CMD_ADMIN, CMD_SKIP_MONITOR
from tellstone._core.command.record cimport is_secret
from tellstone._core.protocol.reply cimport reply_error, reply_ok

check_layout(__name__)

cdef enum:
    PIECE = 4096                    # bytes of an argument that are quoted at once

cdef const char* REDACTED = b"\"(redacted)\""
cdef const char* HEX = b"0123456789abcdef"


# MONITOR
cdef int cmd_monitor(Context* c) noexcept nogil:
    """A second one is not answered at all, as in Redis."""
    if c.client.flags & CLIENT_EMBEDDED:
        reply_error(c.out, b"ERR MONITOR isn't allowed for DENY BLOCKING client")
        return ST_REPLIED
    if not c.client.flags & CLIENT_MONITOR:
        c.client.flags |= CLIENT_MONITOR | CLIENT_NEWS
        reply_ok(c.out)
    return ST_OK


cdef bint monitor_shows(const Command* row) noexcept nogil:
    return row.flags & (CMD_ADMIN | CMD_SKIP_MONITOR) == 0


cdef inline size_t quote_byte(char* to, uint8_t byte) noexcept nogil:
    """Up to four bytes."""
    cdef const char* letters = b"abtn--r"
    if c' ' <= byte <= c'~' and byte != c'"' and byte != c'\\':
        to[0] = <char>byte
        return 1
    to[0] = c'\\'
    if byte == c'"' or byte == c'\\':
        to[1] = <char>byte
        return 2
    if 7 <= byte <= 10 or byte == 13:
        to[1] = letters[byte - 7]
        return 2
    to[1] = c'x'
    to[2] = HEX[byte >> 4]
    to[3] = HEX[byte & 15]
    return 4


cdef void append_quoted(OutBuf* out, View v) noexcept nogil:
    """In pieces, so that a long text of letters takes no room for four times as many."""
    cdef size_t i, n, at = 0, piece
    cdef char* to
    outbuf_append(out, b"\"", 1)
    while at < v.len:
        piece = v.len - at if v.len - at < PIECE else PIECE
        to = outbuf_reserve(out, 4 * piece)
        if to == NULL:
            return
        n = 0
        for i in range(at, at + piece):
            n += quote_byte(to + n, <uint8_t>v.ptr[i])
        out.len += n
        at += piece
    outbuf_append(out, b"\"", 1)


cdef void append_origin(const Context* c, OutBuf* out) noexcept nogil:
    cdef char text[160]
    cdef int64_t us = wall_us()
    cdef bint is_unix = c.client.flags & CLIENT_UNIX != 0
    cdef int addr = <int>strlen(c.client.addr) - (2 if is_unix else 0)      # a path is shown without its port 0
    cdef int n = snprintf(text, sizeof(text), b"+%lld.%06lld [%d %s%.*s]", <long long>(us // 1000000),
                          <long long>(us % 1000000), c.client.db, b"unix:" if is_unix else b"", addr, c.client.addr)
    outbuf_append(out, text, <size_t>n)


cdef void monitor_append(const Context* c, OutBuf* out) noexcept nogil:
    cdef uint32_t i
    append_origin(c, out)
    for i in range(c.argc):
        outbuf_append(out, b" ", 1)
        if is_secret(c.argv, i):
            outbuf_append(out, REDACTED, strlen(REDACTED))
        else:
            append_quoted(out, c.argv[i])
    outbuf_append(out, b"\r\n", 2)
