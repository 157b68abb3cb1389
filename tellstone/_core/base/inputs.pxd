"""Views of what a program hands in: bytes-like objects, str as UTF-8, numbers as redis-py writes them; never a pickle. And spans of time.

LIFETIME: a view is good while the object that came with it is kept: the argument itself, or what stands in for it.
"""
from cpython.buffer cimport PyBuffer_IsContiguous, PyObject_CheckBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.float cimport PyFloat_Check
from cpython.long cimport PyLong_Check
from cpython.memoryview cimport PyMemoryView_FromObject, PyMemoryView_GET_BUFFER
from cpython.unicode cimport PyUnicode_Check
from libc.math cimport HUGE_VAL, llround
from libc.stdint cimport int64_t

from tellstone._core.base.bytesops cimport View

cdef extern from *:
    """
    #define ts_is_ascii(s) PyUnicode_IS_COMPACT_ASCII(s)
    #define ts_ascii_data(s) ((const char *)PyUnicode_DATA(s))
    """
    bint PyUnicode_CheckExact(object o)
    bint is_ascii "ts_is_ascii"(object s)
    const char* ascii_data "ts_ascii_data"(object s)
    Py_ssize_t PyUnicode_GET_LENGTH(object s)
    const char* PyUnicode_AsUTF8AndSize(object s, Py_ssize_t* size) except NULL

cdef inline object take_text(object o, View* v):
    """Text beyond ASCII. The UTF-8 of a str is kept by the str."""
    cdef Py_ssize_t size
    try:
        v.ptr = PyUnicode_AsUTF8AndSize(o, &size)
    except UnicodeEncodeError as error:
        from tellstone.errors import ArgumentError
        raise ArgumentError(str(error)) from None
    v.len = <size_t>size
    return o

cdef inline object take_buffer(object o, View* v):
    """Bytes-like objects other than `bytes`; their buffer stays where it is as long as the memoryview lives."""
    from tellstone.errors import DataError
    if not PyObject_CheckBuffer(o):
        raise DataError(f"{type(o).__name__} does not go in: keys are bytes-like or str, values these or int or float")
    try:
        keep = PyMemoryView_FromObject(o)
    except BufferError as error:
        raise DataError(f"{type(o).__name__} does not go in: {error}") from None
    if not PyBuffer_IsContiguous(PyMemoryView_GET_BUFFER(keep), c'C'):
        raise DataError(f"{type(o).__name__} does not go in: its bytes are not contiguous")
    v.ptr = <const char*>PyMemoryView_GET_BUFFER(keep).buf
    v.len = <size_t>PyMemoryView_GET_BUFFER(keep).len
    return keep

cdef inline object take(object o, View* v):
    """A view of a key or of text. Answers what is to be kept."""
    if PyBytes_CheckExact(o):
        v.ptr = PyBytes_AS_STRING(o)
        v.len = <size_t>PyBytes_GET_SIZE(o)
        return o
    if PyUnicode_CheckExact(o) and is_ascii(o):
        v.ptr = ascii_data(o)
        v.len = <size_t>PyUnicode_GET_LENGTH(o)
        return o
    return take_text(o, v) if PyUnicode_Check(o) else take_buffer(o, v)

cdef inline object take_value(object o, View* v):
    """The same for a value or an argument of a command, which may be a number. A bool is a number for Python only."""
    if not PyBytes_CheckExact(o) and not PyUnicode_CheckExact(o):
        if PyFloat_Check(o):
            o = float.__repr__(o)
        elif PyLong_Check(o) and not isinstance(o, bool):
            o = int.__repr__(o)
    return take(o, v)

cdef inline int64_t milliseconds(object ttl) except? -1:
    """A number of seconds or a timedelta in whole milliseconds; what is not zero does not become zero."""
    cdef double ms
    if hasattr(ttl, "total_seconds"):
        ttl = ttl.total_seconds()
    if isinstance(ttl, bool) or not (PyLong_Check(ttl) or PyFloat_Check(ttl)):
        from tellstone.errors import DataError
        raise DataError(f"ttl is seconds or a timedelta, not {type(ttl).__name__}")
    try:
        ms = float(ttl) * 1000.0
    except OverflowError:
        ms = HUGE_VAL
    if not -4e15 < ms < 4e15:               # 126,000 years; not a number is not between anything
        from tellstone.errors import ArgumentError
        raise ArgumentError(f"ttl: {ttl!r} is out of range")
    if 0.0 < ms < 1.0:
        return 1
    return llround(ms)

cdef inline int64_t positive_milliseconds(object ttl) except -1:
    """The same for a time to live, which there must be some of."""
    cdef int64_t ms = milliseconds(ttl)
    if ms <= 0:
        from tellstone.errors import ArgumentError
        raise ArgumentError(f"ttl: {ttl!r} is not positive")
    return ms
