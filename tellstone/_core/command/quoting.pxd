"""Error replies that repeat what the client has sent."""
from libc.string cimport memchr, strlen

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.outbuf cimport OutBuf, outbuf_append
from tellstone._core.base.status cimport ST_REPLIED

cdef inline size_t quoted_len(View what) noexcept nogil:
    """Redis prints arguments as C strings: a zero byte ends one."""
    cdef const char* zero = <const char*>memchr(what.ptr, 0, what.len) if what.len else NULL
    return <size_t>(zero - what.ptr) if zero != NULL else what.len

cdef inline bint ends_line(char c) noexcept nogil:
    return c == c'\r' or c == c'\n'

cdef inline int reply_error_quoting(OutBuf* o, const char* before, View what, const char* after) noexcept nogil:
    """-before, what, after as one line: ends of lines within it become blanks, and are dropped at its end. Always
    ST_REPLIED."""
    cdef size_t i, start = o.len
    outbuf_append(o, "-", 1)
    outbuf_append(o, before, strlen(before))
    outbuf_append(o, what.ptr, quoted_len(what))
    outbuf_append(o, after, strlen(after))
    if o.failed:
        return ST_REPLIED
    while ends_line(o.data[o.len - 1]):
        o.len -= 1
    for i in range(start, o.len):
        if ends_line(o.data[i]):
            o.data[i] = c' '
    outbuf_append(o, "\r\n", 2)
    return ST_REPLIED
