"""Arguments as Redis reads them: integers, times of expiry, option words.

Every reader answers ST_OK and the value, or the status whose text Redis replies; a handler hands that status on. Views point into the
request and hold any bytes.
"""
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t

from tellstone._core.base.bytesops cimport View, parse_i64, same_word
from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.base.status cimport (
    ST_INVALID_EXPIRE, ST_NOT_INTEGER, ST_NOT_POSITIVE, ST_OK,
)

cdef inline int argument_int(View text, int64_t* value) noexcept nogil:
    """ST_OK or ST_NOT_INTEGER ("value is not an integer or out of range")."""
    return ST_OK if parse_i64(text.ptr, text.len, value) else ST_NOT_INTEGER

cdef inline int argument_positive(View text, int64_t* value) noexcept nogil:
    """Zero and above: ST_OK, ST_NOT_INTEGER or ST_NOT_POSITIVE ("value is out of range, must be positive")."""
    cdef int status = argument_int(text, value)
    return ST_NOT_POSITIVE if status == ST_OK and value[0] < 0 else status

# From least to most: ST_OK, ST_NOT_INTEGER, or ST_REPLIED after "value is out of range, value must between ..." with the bounds.
cdef int argument_between(OutBuf* out, View text, int64_t least, int64_t most, int64_t* value) noexcept nogil

cdef inline bint option_is(View text, const char* word, size_t len) noexcept nogil:
    """An argument is the option `word` (in lower case). Redis compares options as C strings: a zero byte ends one."""
    if text.len > len and text.ptr[len] != 0:
        return False
    return text.len >= len and same_word(text.ptr, len, word, len)

# A time of expiry is in seconds or milliseconds, counted from `base`: the call's clock, or 0 for a Unix time.

cdef inline int deadline_of(int64_t time, bint seconds, int64_t base, int64_t* deadline) noexcept nogil:
    """EXPIRE and its kin: the past is allowed. ST_OK and Unix ms, or ST_INVALID_EXPIRE."""
    if seconds:
        if time > INT64_MAX // 1000 or time < INT64_MIN // 1000:
            return ST_INVALID_EXPIRE
        time *= 1000
    if time > INT64_MAX - base:
        return ST_INVALID_EXPIRE
    deadline[0] = time + base
    return ST_OK

cdef inline int argument_deadline(View text, bint seconds, int64_t base, int64_t* deadline) noexcept nogil:
    """The time of SET, SETEX and GETEX, which must be above zero: ST_OK and Unix ms, ST_NOT_INTEGER or ST_INVALID_EXPIRE."""
    cdef int64_t time
    cdef int status = argument_int(text, &time)
    if status != ST_OK:
        return status
    return deadline_of(time, seconds, base, deadline) if time > 0 else ST_INVALID_EXPIRE
