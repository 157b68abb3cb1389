"""MONITOR (see monitor.pxd).

A line is Redis's: +1339518083.107412 [0 127.0.0.1:60866] "set" "key" "v\\x00" - the time, the database after the call, the client,
and every argument quoted as its sdscatrepr does. Passwords of AUTH and HELLO are left out.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy, strlen

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.outbuf cimport outbuf_append, outbuf_reserve
from tellstone._core.base.platform cimport wall_us
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_OK, ST_REPLIED
from tellstone._core.command.arguments cimport option_is
from tellstone._core.command.client cimport CLIENT_EMBEDDED, CLIENT_MONITOR, CLIENT_NEWS, CLIENT_UNIX
from tellstone._core.command.command cimport CMD_ADMIN, CMD_SKIP_MONITOR
from tellstone._core.protocol.reply cimport reply_error, reply_ok

check_layout(__name__)

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
    cdef const char* letters = b"abtnvfr"
    if c' ' <= byte <= c'~' and byte != c'"' and byte != c'\\':
        to[0] = <char>byte
        return 1
    to[0] = c'\\'
    if byte == c'"' or byte == c'\\':
        to[1] = <char>byte
        return 2
    if 7 <= byte <= 10 or byte == 13:   # \a \b \t \n \r
        to[1] = letters[0 if byte == 7 else byte - 7 if byte < 11 else 6]
        return 2
    to[1] = c'x'
    to[2] = HEX[byte >> 4]
    to[3] = HEX[byte & 15]
    return 4


cdef void append_quoted(OutBuf* out, View v) noexcept nogil:
    cdef size_t i, n = 1
    cdef char* to = outbuf_reserve(out, 4 * v.len + 2)
    if to == NULL:
        return
    to[0] = c'"'
    for i in range(v.len):
        n += quote_byte(to + n, <uint8_t>v.ptr[i])
    to[n] = c'"'
    out.len += n + 1


cdef bint is_secret(const Context* c, uint32_t at) noexcept nogil:
    """Arguments of AUTH, unless there are too many of them, and the two behind AUTH in HELLO, wherever that stands."""
    cdef uint32_t back
    if option_is(c.argv[0], b"auth", 4):
        return c.argc <= 3
    if option_is(c.argv[0], b"hello", 5):
        for back in range(1, 3):
            if at >= 2 + back and at - back + 2 < c.argc and option_is(c.argv[at - back], b"auth", 4):
                return True
    return False


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
        if i and is_secret(c, i):
            outbuf_append(out, REDACTED, strlen(REDACTED))
        else:
            append_quoted(out, c.argv[i])
    outbuf_append(out, b"\r\n", 2)
