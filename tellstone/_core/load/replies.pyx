"""The reader of replies (see replies.pxd)."""
cimport cython
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcpy, memset

from tellstone._core.base.bytesops cimport View, get_be32, parse_i64, same_bytes, view_of
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.protocol.native cimport (
    FRAME_AUTH_ERR, FRAME_AUTH_OK, FRAME_ERROR, FRAME_HEAD, FRAME_PONG, FRAME_RESPONSE,
)

from tellstone.errors import ProtocolError

check_layout(__name__)

cdef enum:
    ELEMENTS_MAX = 1073741824       # of an aggregate
    PAYLOAD_MAX = 2147483647
    KEPT_MIN = 4096
    SIZE_DIGITS = 9


cdef void replies_init(Replies* r, bint native, bint keep) noexcept nogil:
    memset(r, 0, sizeof(Replies))
    r.native = native
    r.keep = keep


cdef void replies_free(Replies* r) noexcept nogil:
    free(r.kept)
    r.kept = NULL


# Elements and payloads ------------------------------------------------------------------------------------------


cdef inline Reply settle(Replies* r, Reply kind) noexcept nogil:
    """An element has ended, and with it perhaps the reply."""
    if r.aside:
        r.aside -= 1
        return REPLY_PART
    if r.missing == 0:
        return kind
    r.missing -= 1
    r.text = view_of(NULL, 0)
    return REPLY_PART if r.missing else REPLY_OTHER


cdef Reply open_aggregate(Replies* r, char sort, uint64_t count) noexcept nogil:
    """So many elements are to come. Of a push or an attribute they go aside, and it is no element itself."""
    if sort == c'|':
        r.aside += 2 * count
        return REPLY_PART
    if sort == c'>' and r.missing == 0 and r.aside == 0:
        r.aside = count
        return REPLY_PART
    if sort == c'%':
        count *= 2
    if count == 0:
        return settle(r, REPLY_OTHER)
    if r.aside:
        r.aside += count - 1
    else:
        r.missing += count - (r.missing != 0)
    return REPLY_PART


cdef void open_payload(Replies* r, Reply kind, uint64_t size, uint64_t tail) noexcept nogil:
    r.kind = kind
    r.payload = size
    r.tail = tail
    r.keeping = (r.keep or kind != REPLY_VALUE) and r.missing == 0 and r.aside == 0
    r.kept_len = 0
    r.text = view_of(NULL, size)


cdef bint keep_piece(Replies* r, const char* p, size_t n) noexcept nogil:
    """False without memory."""
    cdef size_t cap = r.kept_len + r.payload
    cdef char* grown
    if r.kept_cap < cap:
        cap = cap if cap > KEPT_MIN else KEPT_MIN
        grown = <char*>realloc(r.kept, cap)
        if grown == NULL:
            return False
        r.kept = grown
        r.kept_cap = cap
    memcpy(r.kept + r.kept_len, p, n)
    r.kept_len += n
    return True


cdef Reply close_payload(Replies* r) noexcept nogil:
    """Natively a missing key is an error by its type and none by its meaning."""
    if r.kept_len:
        r.text = view_of(r.kept, r.kept_len)
    if r.native and r.kind == REPLY_ERROR and r.text.len == 9 and same_bytes(r.text.ptr, b"NOT_FOUND", 9):
        r.text = view_of(NULL, 0)
        return REPLY_NULL
    return settle(r, r.kind)


cdef Reply read_payload(Replies* r, const char** at, const char* end) noexcept nogil:
    cdef uint64_t n = <uint64_t>(end - at[0])
    if r.keeping and r.kept_len == 0 and n >= r.payload + r.tail:
        r.text = view_of(at[0], r.payload)
    elif r.keeping and r.payload and not keep_piece(r, at[0], n if n < r.payload else r.payload):
        return REPLY_BAD
    if n < r.payload:
        at[0] += n
        r.payload -= n
        return REPLY_PART
    at[0] += r.payload
    r.payload = 0
    while r.tail and at[0] < end:
        if at[0][0] != (c'\r' if r.tail == 2 else c'\n'):
            return REPLY_BAD
        at[0] += 1
        r.tail -= 1
    return REPLY_PART if r.tail else close_payload(r)


# RESP -----------------------------------------------------------------------------------------------------------


cdef Reply read_bulk(Replies* r, char sort, bint numeric, int64_t size) noexcept nogil:
    if not numeric or size < -1 or size > PAYLOAD_MAX or (size == -1 and sort != c'$'):
        return REPLY_BAD
    if size == -1:
        return settle(r, REPLY_NULL)
    open_payload(r, REPLY_ERROR if sort == c'!' else REPLY_VALUE, <uint64_t>size, 2)
    return REPLY_PART


cdef Reply read_scalar(Replies* r, const char* line, size_t n) noexcept nogil:
    """An element that is one line, and no number that something follows from."""
    cdef char sort = line[0]
    cdef int64_t number
    if sort == c'_':
        return settle(r, REPLY_NULL) if n == 1 else REPLY_BAD
    if sort == c':' and not parse_i64(line + 1, n - 1, &number):
        return REPLY_BAD
    r.text = view_of(line + 1, n - 1)
    return settle(r, REPLY_ERROR if sort == c'-' else REPLY_OTHER)


cdef Reply read_element(Replies* r, const char* line, size_t n) noexcept nogil:
    """A line without its end: an element, or the head of one."""
    cdef int64_t number = 0
    cdef char sort
    cdef bint numeric
    r.text = view_of(NULL, 0)
    if n == 0:
        return REPLY_BAD
    sort = line[0]
    if sort == c'+' or sort == c'-' or sort == c':' or sort == c'_' or sort == c',' or sort == c'(' or sort == c'#':
        return read_scalar(r, line, n)
    numeric = parse_i64(line + 1, n - 1, &number)
    if sort == c'$' or sort == c'=' or sort == c'!':
        return read_bulk(r, sort, numeric, number)
    if sort == c'*' and numeric and number == -1:
        return settle(r, REPLY_NULL)
    if sort != c'*' and sort != c'%' and sort != c'~' and sort != c'>' and sort != c'|':
        return REPLY_BAD
    return open_aggregate(r, sort, <uint64_t>number) if numeric and 0 <= number <= ELEMENTS_MAX else REPLY_BAD


cdef void keep_line(Replies* r, const char* p, size_t n) noexcept nogil:
    """What does not fit is left out: only errors and simple strings are so long."""
    if n > LINE_MAX - r.line_len:
        n = LINE_MAX - r.line_len
    memcpy(r.line + r.line_len, p, n)
    r.line_len += n


cdef Reply read_line(Replies* r, const char** at, const char* end) noexcept nogil:
    cdef const char* line = at[0]
    cdef const char* newline = <const char*>memchr(line, c'\n', end - line)
    cdef size_t n = newline + 1 - line if newline != NULL else end - line
    at[0] += n
    if r.line_len or newline == NULL:
        keep_line(r, line, n)
        line = r.line
        n = r.line_len
    if newline == NULL:
        return REPLY_PART
    r.line_len = 0
    if line[n - 1] != c'\n':             # cut short by keep_line
        return read_element(r, line, n)
    return read_element(r, line, n - 2) if n > 2 and line[n - 2] == c'\r' else REPLY_BAD


cdef inline bint whole_bulk(Replies* r, const char** at, const char* end) noexcept nogil:
    """The usual reply to a read: a bulk with all its bytes. Leaves everything else alone, also one whose size might be cut."""
    cdef const char* p = at[0] + 1
    cdef uint64_t size = 0
    if at[0][0] != c'$' or end - p < SIZE_DIGITS + 2 or p[0] == c'0':
        return False
    while <unsigned char>(p[0] - c'0') < 10 and size < 100000000:     # SIZE_DIGITS at most
        size = size * 10 + <unsigned char>(p[0] - c'0')
        p += 1
    if p == at[0] + 1 or p[0] != c'\r' or p[1] != c'\n' or <uint64_t>(end - p) < size + 4:
        return False
    p += 2
    if p[size] != c'\r' or p[size + 1] != c'\n':
        return False
    r.text = view_of(p, size)
    at[0] = p + size + 2
    return True


# Native ---------------------------------------------------------------------------------------------------------


cdef Reply frame_kind(char sort) noexcept nogil:
    if sort == FRAME_RESPONSE:
        return REPLY_VALUE
    if sort == FRAME_ERROR or sort == FRAME_AUTH_ERR:
        return REPLY_ERROR
    return REPLY_OTHER if sort == FRAME_PONG or sort == FRAME_AUTH_OK else REPLY_BAD


cdef Reply read_head(Replies* r, const char** at, const char* end) noexcept nogil:
    """The length and the type of a frame."""
    cdef const char* head = at[0]
    cdef size_t n = FRAME_HEAD - r.line_len
    cdef uint64_t length
    if <size_t>(end - head) < n or r.line_len:
        n = n if n < <size_t>(end - head) else <size_t>(end - head)
        keep_line(r, head, n)
        head = r.line
    at[0] += n
    if head == r.line and r.line_len < FRAME_HEAD:
        return REPLY_PART
    r.line_len = 0
    length = get_be32(head)
    if length == 0 or length > PAYLOAD_MAX or frame_kind(head[4]) == REPLY_BAD:
        return REPLY_BAD
    open_payload(r, frame_kind(head[4]), length - 1, 0)
    return close_payload(r) if r.payload == 0 else REPLY_PART


# The whole ------------------------------------------------------------------------------------------------------


cdef Reply replies_next(Replies* r, const char** at, const char* end) noexcept nogil:
    cdef Reply found = REPLY_PART
    if not r.inside and at[0] < end and not r.native and whole_bulk(r, at, end):
        return REPLY_VALUE
    while at[0] < end and found == REPLY_PART:
        if r.payload or r.tail:
            found = read_payload(r, at, end)
        elif r.native:
            found = read_head(r, at, end)
        else:
            found = read_line(r, at, end)
    r.inside = (r.payload | r.tail | r.missing | r.aside | r.line_len) != 0
    return found


cdef dict NAMES = {REPLY_VALUE: "value", REPLY_NULL: "null", REPLY_OTHER: "other", REPLY_ERROR: "error"}


@cython.final
cdef class ReplyReader:
    """Replies of a protocol ("resp" or "native") as they come: their sort, and the text of values, errors and simple strings."""

    def __cinit__(self, str protocol not None):
        replies_init(&self.replies, protocol == "native", True)

    def __dealloc__(self):
        replies_free(&self.replies)

    def feed(self, bytes data not None):
        """The replies that end in these bytes. A ProtocolError leaves the reader of no further use."""
        cdef const char* at = data
        cdef const char* end = at + len(data)
        cdef Reply kind
        found = []
        while True:
            kind = replies_next(&self.replies, &at, end)
            if kind == REPLY_BAD:
                raise ProtocolError("not a reply of this protocol")
            if kind == REPLY_PART:
                return found
            found.append((NAMES[kind], self.replies.text.ptr[:self.replies.text.len] if self.replies.text.len else b""))
