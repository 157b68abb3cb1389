"""The reply side of RESP (see decode.pxd).

A loop over elements with a stack of open aggregates, so that a reply may come in pieces and no element is read twice. An element
is taken only when all of its bytes are there; a bulk that is not complete costs its header each time it is looked at.
"""
cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport INT64_MAX, int64_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcpy, memmove, memset

from tellstone._core.base.bytesops cimport parse_i64
from tellstone._core.base.outbuf cimport OutBuf, OutRef
from tellstone._core.base.stamp cimport check_layout

from tellstone.errors import OutOfMemoryError, ProtocolError, ResponseError, StorageError, WrongTypeError

check_layout(__name__)

cdef enum:
    LINE_MAX = 65536                # bytes of a header, a simple string or an error
    DEPTH_MAX = 128                 # aggregates within each other
    KEEP_MAX = 1048576              # an empty buffer of more bytes is given back

cdef dict error_types = {"WRONGTYPE": WrongTypeError, "OOM": OutOfMemoryError, "MISCONF": StorageError}

# Not a reply: the bytes end before the element does, or there was an attribute.
cdef object NOTHING = object()


cdef object response_error(const char* text, size_t n):
    """What a client sent may be part of it, so it need not be text."""
    message = PyUnicode_DecodeUTF8(text, <Py_ssize_t>n, b"replace")
    return error_types.get(message.partition(" ")[0], ResponseError)(message)


class Push(list):
    """What a server sends by itself: a list that is no answer to a request."""

    __slots__ = ()


# Aggregates -----------------------------------------------------------------------------------------------------


@cython.final
cdef class Aggregate:
    """An aggregate that waits for elements."""
    cdef char kind
    cdef int64_t missing            # elements
    cdef list elements

    cdef object close(self):
        if self.kind == c'%':
            return pairs(self.elements)
        if self.kind == c'>':
            return Push(self.elements)
        return NOTHING if self.kind == c'|' else self.elements


cdef Aggregate aggregate(char kind, int64_t missing):
    cdef Aggregate a = Aggregate.__new__(Aggregate)
    a.kind = kind
    a.missing = missing
    a.elements = []
    return a


cdef object pairs(list elements):
    keys = elements[::2]
    values = elements[1::2]
    try:
        return dict(zip(keys, values))
    except TypeError:
        return list(zip(keys, values))


cdef object settle(list open, object value):
    """Put an element where it belongs, which may end aggregates. The finished reply, or NOTHING."""
    cdef Aggregate last
    while open and value is not NOTHING:
        last = <Aggregate>open[len(open) - 1]
        last.elements.append(value)
        last.missing -= 1
        if last.missing:
            return NOTHING
        open.pop()
        value = last.close()
    return value


# Elements -------------------------------------------------------------------------------------------------------


cdef inline object text_of(const char* p, size_t n):
    if n == 2 and p[0] == c'O' and p[1] == c'K':
        return "OK"
    return PyUnicode_DecodeUTF8(p, <Py_ssize_t>n, b"surrogateescape")


cdef object bad(const char* line, size_t n):
    return ProtocolError(f"not a reply of RESP: {line[:n if n < 64 else 64]!r}")


cdef int64_t number_of(const char* line, size_t n) except? -1:
    """The integer behind the first byte of a line."""
    cdef int64_t number
    if not parse_i64(line + 1, n - 1, &number):
        raise bad(line, n)
    return number


cdef object scalar(const char* line, size_t n):
    """The value of an element that is one line."""
    cdef char kind = line[0]
    if kind == c'+':
        return text_of(line + 1, n - 1)
    if kind == c':':
        return number_of(line, n)
    if kind == c'-':
        return response_error(line + 1, n - 1)
    if kind == c'_' and n == 1:
        return None
    if kind == c'#' and n == 2 and (line[1] == c't' or line[1] == c'f'):
        return line[1] == c't'
    if kind == c',' or kind == c'(':
        try:
            return float(line[1:n]) if kind == c',' else int(line[1:n])
        except ValueError:
            pass
    raise bad(line, n)


cdef object payload(char kind, const char* p, size_t n):
    """The value of an element that is a length and so many bytes."""
    if kind == c'!':
        return response_error(p, n)
    if kind == c'=':
        if n < 4 or p[3] != c':':
            raise bad(p, n)
        return PyBytes_FromStringAndSize(p + 4, <Py_ssize_t>n - 4)
    return PyBytes_FromStringAndSize(p, <Py_ssize_t>n)


cdef object take_payload(Source* s, const char* line, size_t n):
    """A bulk, whose header is `line`. Moves on only if all of it is there."""
    cdef const char* from_ = line + n + 2
    cdef int64_t size = number_of(line, n)
    cdef object value
    if size == -1 and line[0] == c'$':
        s.at = from_
        return None
    if size < 0 or size > INT64_MAX // 2:
        raise bad(line, n)
    if s.ref_count and s.refs[0].at == <size_t>(from_ - s.base) and <int64_t>s.refs[0].block.size == size:
        value = payload(line[0], s.refs[0].block.data, <size_t>size)
        s.refs += 1
        s.ref_count -= 1
        s.at = from_ + 2
        return value
    if s.end - from_ < size + 2:
        return NOTHING
    if from_[size] != c'\r' or from_[size + 1] != c'\n':
        raise bad(line, n)
    s.at = from_ + size + 2
    return payload(line[0], from_, <size_t>size)


cdef object open_aggregate(list open, const char* line, size_t n):
    """None for a null array, an empty aggregate, or NOTHING when elements are to come."""
    cdef int64_t count = number_of(line, n)
    cdef Aggregate a
    if count == -1 and line[0] == c'*':
        return None
    if count < 0 or count > INT64_MAX // 2:
        raise bad(line, n)
    a = aggregate(line[0], count * 2 if line[0] == c'%' or line[0] == c'|' else count)
    if count == 0:
        return a.close()
    if len(open) == DEPTH_MAX:
        raise ProtocolError(f"more than {DEPTH_MAX} aggregates within each other")
    open.append(a)
    return NOTHING


cdef object decode_next(Source* s, list open):
    """The next whole reply, or NOTHING: then `open` remembers how far it has come."""
    cdef const char* line
    cdef const char* line_end
    cdef size_t n
    cdef object value
    while s.at < s.end:
        line = s.at
        line_end = <const char*>memchr(line, c'\n', s.end - line)
        if line_end == NULL:
            if s.end - line > LINE_MAX:
                raise bad(line, s.end - line)
            return NOTHING
        if line_end - line < 2 or (line_end - 1)[0] != c'\r':
            raise bad(line, line_end - line)
        n = line_end - line - 1
        if line[0] == c'$' or line[0] == c'=' or line[0] == c'!':
            value = take_payload(s, line, n)
            if s.at == line:
                return NOTHING
        else:
            s.at = line_end + 1
            if line[0] == c'*' or line[0] == c'%' or line[0] == c'~' or line[0] == c'>' or line[0] == c'|':
                value = open_aggregate(open, line, n)
            else:
                value = scalar(line, n)
        value = settle(open, value)
        if value is not NOTHING:
            return value
    return NOTHING


cdef object decode_output(const OutBuf* out):
    cdef Source s
    s.base = out.data
    s.at = out.data
    s.end = out.data + out.len
    s.refs = out.refs
    s.ref_count = out.ref_count
    value = decode_next(&s, [])
    if value is NOTHING or s.at != s.end:
        raise ProtocolError("not exactly one reply of RESP")
    return value


cdef object decode_whole(const char* data, size_t n):
    cdef OutBuf out
    memset(&out, 0, sizeof(OutBuf))
    out.data = <char*>data
    out.len = n
    return decode_output(&out)


# Incremental ----------------------------------------------------------------------------------------------------


cdef class Decoder:
    """Replies out of bytes as they come: feed it what was received, and iterate for the replies that are complete by then.

        decoder.feed(data)
        for reply in decoder:
            ...

    A ProtocolError leaves it of no further use: the connection has to go.
    """

    def __cinit__(self):
        self.open = []

    def __dealloc__(self):
        free(self.data)

    @cython.critical_section
    def feed(self, data, /):
        """Add received bytes, of any bytes-like object."""
        cdef Py_buffer buffer
        PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
        try:
            append(self, <const char*>buffer.buf, <size_t>buffer.len)
        finally:
            PyBuffer_Release(&buffer)

    def __iter__(self):
        return self

    @cython.critical_section
    def __next__(self):
        cdef Source s
        s.base = self.data
        s.at = self.data + self.start
        s.end = self.data + self.len
        s.refs = NULL
        s.ref_count = 0
        value = decode_next(&s, self.open)
        self.start = s.at - s.base
        if self.start == self.len:
            self.start = self.len = 0
            if self.cap > KEEP_MAX:
                free(self.data)
                self.data = NULL
                self.cap = 0
        if value is NOTHING:
            raise StopIteration
        return value


cdef int append(Decoder d, const char* data, size_t n) except -1:
    """Behind what is there, which moves to the front when that is the smaller half: a byte is moved once on average."""
    cdef size_t kept = d.len - d.start
    cdef size_t cap
    cdef char* grown
    if d.start and d.start >= kept and d.cap - d.len < n:
        memmove(d.data, d.data + d.start, kept)
        d.start = 0
        d.len = kept
    if d.cap - d.len < n:
        cap = d.cap * 2 if d.cap * 2 > d.len + n else d.len + n
        grown = <char*>realloc(d.data, cap)
        if grown == NULL:
            raise MemoryError()
        d.data = grown
        d.cap = cap
    if n:
        memcpy(d.data + d.len, data, n)
    d.len += n
    return 0
