"""Writers of replies (see reply.pxd)."""
from libc.math cimport isinf, isnan
from libc.stdint cimport int64_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport atoi, strtod
from libc.string cimport memcpy, memmove, memset, strlen

from tellstone._core.base.block cimport Block
from tellstone._core.base.bytesops cimport copy_bytes, format_i64, format_u64
from tellstone._core.base.outbuf cimport OutBuf, outbuf_append, outbuf_append_block, outbuf_reserve
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport *

check_layout(__name__)

cdef enum:
    HEADER_ROOM = 24                # a type byte, 20 digits, CRLF


cdef inline void header(OutBuf* o, char kind, int64_t n) noexcept nogil:
    cdef char* p = outbuf_reserve(o, HEADER_ROOM)
    cdef size_t len
    if p == NULL:
        return
    p[0] = kind
    len = 1 + format_i64(p + 1, n)
    p[len] = c'\r'
    p[len + 1] = c'\n'
    o.len += len + 2


cdef void reply_raw(OutBuf* o, const char* p, size_t n) noexcept nogil:
    outbuf_append(o, p, n)


cdef void reply_ok(OutBuf* o) noexcept nogil:
    outbuf_append(o, b"+OK\r\n", 5)


cdef void reply_simple(OutBuf* o, const char* text, size_t len) noexcept nogil:
    cdef char* p = outbuf_reserve(o, len + 3)
    if p == NULL:
        return
    p[0] = c'+'
    copy_bytes(p + 1, text, len)
    p[len + 1] = c'\r'
    p[len + 2] = c'\n'
    o.len += len + 3


cdef void reply_error(OutBuf* o, const char* text) noexcept nogil:
    reply_error_view(o, text, strlen(text))


cdef void reply_error_view(OutBuf* o, const char* text, size_t len) noexcept nogil:
    """INVARIANT: an error is one line, whatever a client has put into it."""
    cdef char* p = outbuf_reserve(o, len + 3)
    cdef size_t i
    if p == NULL:
        return
    p[0] = c'-'
    for i in range(len):
        p[i + 1] = c' ' if text[i] == c'\r' or text[i] == c'\n' else text[i]
    p[len + 1] = c'\r'
    p[len + 2] = c'\n'
    o.len += len + 3


cdef void reply_int(OutBuf* o, int64_t v) noexcept nogil:
    header(o, c':', v)


cdef void reply_bulk(OutBuf* o, const char* p, size_t n) noexcept nogil:
    cdef char* at = outbuf_reserve(o, n + HEADER_ROOM + 2)
    cdef size_t len
    if at == NULL:
        return
    at[0] = c'$'
    len = 1 + format_u64(at + 1, n)
    at[len] = c'\r'
    at[len + 1] = c'\n'
    at += len + 2
    copy_bytes(at, p, n)
    at[n] = c'\r'
    at[n + 1] = c'\n'
    o.len += len + n + 4


cdef void reply_bulk_text(OutBuf* o, const char* text) noexcept nogil:
    reply_bulk(o, text, strlen(text))


cdef void reply_bulk_int(OutBuf* o, int64_t v) noexcept nogil:
    cdef char text[24]
    reply_bulk(o, text, format_i64(text, v))


cdef void reply_block(OutBuf* o, Block* b) noexcept nogil:
    header(o, c'$', <int64_t>b.size)
    outbuf_append_block(o, b)
    outbuf_append(o, b"\r\n", 2)


cdef void reply_null(OutBuf* o, int proto) noexcept nogil:
    if proto > 2:
        outbuf_append(o, b"_\r\n", 3)
    else:
        outbuf_append(o, b"$-1\r\n", 5)


cdef void reply_null_array(OutBuf* o, int proto) noexcept nogil:
    if proto > 2:
        outbuf_append(o, b"_\r\n", 3)
    else:
        outbuf_append(o, b"*-1\r\n", 5)


cdef void reply_array(OutBuf* o, uint64_t n) noexcept nogil:
    header(o, c'*', <int64_t>n)


cdef void reply_map(OutBuf* o, int proto, uint64_t pairs) noexcept nogil:
    if proto > 2:
        header(o, c'%', <int64_t>pairs)
    else:
        header(o, c'*', <int64_t>(pairs * 2))


cdef void reply_set(OutBuf* o, int proto, uint64_t n) noexcept nogil:
    header(o, c'~' if proto > 2 else c'*', <int64_t>n)


cdef void reply_push(OutBuf* o, int proto, uint64_t n) noexcept nogil:
    header(o, c'>' if proto > 2 else c'*', <int64_t>n)


cdef void reply_bool(OutBuf* o, int proto, bint v) noexcept nogil:
    if proto > 2:
        outbuf_append(o, b"#t\r\n" if v else b"#f\r\n", 4)
    else:
        header(o, c':', 1 if v else 0)


cdef void reply_verbatim(OutBuf* o, int proto, const char* kind, const char* p, size_t n) noexcept nogil:
    if proto < 3:
        reply_bulk(o, p, n)
        return
    header(o, c'=', <int64_t>n + 4)
    outbuf_append(o, kind, 3)
    outbuf_append(o, b":", 1)
    outbuf_append(o, p, n)
    outbuf_append(o, b"\r\n", 2)


# Doubles --------------------------------------------------------------------------------------------------------


cdef size_t exponent_text(char* out, int e) noexcept nogil:
    """e+NN or e-NN with no leading zero, as in "1e+30" and "1e-7"."""
    out[0] = c'e'
    out[1] = c'-' if e < 0 else c'+'
    return 2 + format_i64(out + 2, -e if e < 0 else e)


cdef size_t double_text(char* out, double v) noexcept nogil:
    """The fewest digits that read back as v, laid out as Redis 7.2 does (it uses fpconv, after Grisu2): a plain number as
    long as that is short, else one digit, the rest and an exponent. Room: 40 bytes."""
    cdef char text[40]
    cdef char digits[24]
    cdef int precision, i, n = 0, e10, shift
    cdef size_t at = 0
    if isnan(v):
        memcpy(out, b"nan", 3)
        return 3
    if isinf(v):
        memcpy(out, b"-inf" if v < 0 else b"inf", 4 if v < 0 else 3)
        return 4 if v < 0 else 3
    if v == 0:
        memcpy(out, b"-0" if snprintf(text, 40, b"%g", v) == 2 else b"0", 2)
        return <size_t>snprintf(text, 40, b"%g", v)
    for precision in range(17):
        snprintf(text, 40, b"%.*e", precision, v)
        if strtod(text, NULL) == v:
            break
    i = 0
    if text[0] == c'-':
        out[0] = c'-'
        at = 1
        i = 1
    while text[i] != c'e':
        if text[i] != c'.':
            digits[n] = text[i]
            n += 1
        i += 1
    e10 = atoi(text + i + 1)
    shift = e10 - (n - 1)               # the value is digits * 10^shift
    if shift >= 0 and e10 < n + 7:
        memcpy(out + at, digits, n)
        memset(out + at + n, c'0', shift)
        return at + n + shift
    if shift < 0 and (shift > -7 or (e10 if e10 > 0 else -e10) < 4):
        return at + fraction_text(out + at, digits, n, n + shift)
    out[at] = digits[0]
    at += 1
    if n > 1:
        out[at] = c'.'
        memcpy(out + at + 1, digits + 1, n - 1)
        at += n
    return at + exponent_text(out + at, e10)


cdef size_t fraction_text(char* out, const char* digits, int n, int before) noexcept nogil:
    """Digits with a point after the first `before` of them; zeros in front where that is zero or less."""
    if before > 0:
        memcpy(out, digits, before)
        out[before] = c'.'
        memcpy(out + before + 1, digits + before, n - before)
        return n + 1
    out[0] = c'0'
    out[1] = c'.'
    memset(out + 2, c'0', -before)
    memcpy(out + 2 - before, digits, n)
    return n + 2 - before


cdef void reply_double(OutBuf* o, int proto, double v) noexcept nogil:
    cdef char text[64]
    cdef size_t n
    if proto < 3:
        reply_bulk(o, text, double_text(text, v))
        return
    text[0] = c','
    n = 1 + double_text(text + 1, v)
    text[n] = c'\r'
    text[n + 1] = c'\n'
    outbuf_append(o, text, n + 2)


# Arrays whose length is known at the end -------------------------------------------------------------------------


cdef enum:
    LATER_ROOM = 13                 # "*" and ten digits and CRLF, right-aligned: the digits are padded with zeros


cdef size_t reply_array_later(OutBuf* o) noexcept nogil:
    cdef char* p = outbuf_reserve(o, LATER_ROOM)
    if p == NULL:
        return 0
    o.len += LATER_ROOM
    return o.len - LATER_ROOM


cdef void reply_array_set(OutBuf* o, size_t mark, uint64_t n) noexcept nogil:
    """The header takes the bytes it needs; the rest of the reply moves up to it."""
    cdef char text[24]
    cdef size_t len
    cdef uint64_t i
    if o.failed:
        return
    text[0] = c'*'
    len = 1 + format_u64(text + 1, n)
    text[len] = c'\r'
    text[len + 1] = c'\n'
    len += 2
    memmove(o.data + mark + len, o.data + mark + LATER_ROOM, o.len - mark - LATER_ROOM)
    memcpy(o.data + mark, text, len)
    o.len -= LATER_ROOM - len
    for i in range(o.ref_count):
        if o.refs[i].at > mark:
            o.refs[i].at -= LATER_ROOM - len


# Statuses -------------------------------------------------------------------------------------------------------


cdef const char* status_text(int status) noexcept nogil:
    """The error line of a status that needs no name; NULL for the others."""
    if status == ST_NOMEM:
        return b"ERR out of memory"
    if status == ST_OOM:
        return b"OOM command not allowed when used memory > 'maxmemory'."
    if status == ST_SYNTAX:
        return b"ERR syntax error"
    if status == ST_WRONGTYPE:
        return b"WRONGTYPE Operation against a key holding the wrong kind of value"
    if status == ST_NOT_INTEGER:
        return b"ERR value is not an integer or out of range"
    if status == ST_NOT_FLOAT:
        return b"ERR value is not a valid float"
    if status == ST_OVERFLOW:
        return b"ERR increment or decrement would overflow"
    if status == ST_DECR_OVERFLOW:
        return b"ERR decrement would overflow"
    if status == ST_NAN:
        return b"ERR increment would produce NaN or Infinity"
    if status == ST_TOO_BIG:
        return b"ERR string exceeds maximum allowed size (proto-max-bulk-len)"
    if status == ST_OFFSET_RANGE:
        return b"ERR offset is out of range"
    if status == ST_NO_KEY:
        return b"ERR no such key"
    if status == ST_DB_RANGE:
        return b"ERR DB index is out of range"
    if status == ST_INVALID_DB:
        return b"ERR invalid DB index"
    if status == ST_SAME_OBJECT:
        return b"ERR source and destination objects are the same"
    if status == ST_INVALID_CURSOR:
        return b"ERR invalid cursor"
    if status == ST_GT_LT:
        return b"ERR GT and LT options at the same time are not compatible"
    if status == ST_NX_WITH:
        return b"ERR NX and XX, GT or LT options at the same time are not compatible"
    if status == ST_OUT_OF_RANGE:
        return b"ERR value is out of range"
    if status == ST_NOT_POSITIVE:
        return b"ERR value is out of range, must be positive"
    if status == ST_INVALID_FIRST_DB:
        return b"ERR invalid first DB index"
    if status == ST_INVALID_SECOND_DB:
        return b"ERR invalid second DB index"
    if status == ST_NOPROTO:
        return b"NOPROTO unsupported protocol version"
    if status == ST_BUSY:
        return b"BUSY too many control commands are waiting, try again"
    if status == ST_LOADING:
        return b"LOADING Redis is loading the dataset in memory"
    return NULL


cdef void reply_status(OutBuf* o, int status, const char* name) noexcept nogil:
    cdef const char* text = status_text(status)
    cdef char line[224]
    if text == NULL:
        if status == ST_ARITY:
            snprintf(line, sizeof(line), b"ERR wrong number of arguments for '%.100s' command", name)
        elif status == ST_INVALID_EXPIRE:
            snprintf(line, sizeof(line), b"ERR invalid expire time in '%.100s' command", name)
        elif status == ST_STORAGE:
            snprintf(line, sizeof(line), b"MISCONF Errors writing to the AOF file: %.100s", name)
        elif status == ST_UNSAFE:
            snprintf(line, sizeof(line), b"MISCONF Errors writing to the AOF file: %.100s; the change is made, but perhaps not on the disk", name)
        else:
            snprintf(line, sizeof(line), b"ERR internal error: status %d in '%.80s'", status, name)
        text = line
    reply_error(o, text)
