"""Input that a connection keeps between turns: the start of an unfinished request, or requests whose turn comes later.

Most connections never have any, and those that do give the memory back as soon as it is worked off.
LOCK: of the serving thread, as everything of a connection.
"""
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memmove

cdef enum:
    HELD_ROUND = 64                     # allocations are multiples of this
    HELD_READ_MIN = 16384               # a read straight into held input asks for at least so many bytes
    HELD_SLACK = 65536                  # room behind a small rest that is worth giving back

cdef struct Held:
    char* ptr                           # malloc'ed, NULL: nothing is held
    size_t at                           # what lies before has been worked off
    size_t len                          # end of the input
    size_t cap

cdef inline size_t held_size(const Held* h) noexcept nogil:
    return h.len - h.at

cdef inline char* held_data(Held* h) noexcept nogil:
    return h.ptr + h.at

cdef inline void held_free(Held* h) noexcept nogil:
    free(h.ptr)
    h.ptr = NULL
    h.at = 0
    h.len = 0
    h.cap = 0

cdef inline bint held_resize(Held* h, size_t cap) noexcept nogil:
    cdef char* ptr
    cap = (cap + HELD_ROUND - 1) & ~<size_t>(HELD_ROUND - 1)
    ptr = <char*>realloc(h.ptr, cap)
    if ptr == NULL:
        return False
    h.ptr = ptr
    h.cap = cap
    return True

cdef inline void held_compact(Held* h) noexcept nogil:
    if h.at:
        memmove(h.ptr, h.ptr + h.at, h.len - h.at)
        h.len -= h.at
        h.at = 0

cdef inline bint held_store(Held* h, const char* data, size_t len) noexcept nogil:
    """Replace what is held by bytes from elsewhere; 0 < len. False without memory."""
    if len > h.cap:
        free(h.ptr)
        h.ptr = NULL
        h.cap = 0
        if not held_resize(h, len):
            return False
    memcpy(h.ptr, data, len)
    h.at = 0
    h.len = len
    return True

cdef inline void held_keep(Held* h, size_t at) noexcept nogil:
    """Keep what is held from an absolute position on; gives memory back where it is much more than needed."""
    if at == h.len:
        held_free(h)
        return
    h.at = at
    if h.cap - held_size(h) > HELD_SLACK and held_size(h) < h.cap >> 2:
        held_compact(h)
        held_resize(h, h.len)           # if that fails it stays as it was

cdef inline bint held_make_room(Held* h, size_t hint) noexcept nogil:
    """Room to read more of a request of at least `hint` bytes. Grows with what has really arrived, so that a client
    which only announces a big value costs nothing; and not past the hint, so that a value is not followed by as much
    empty room."""
    cdef size_t want
    held_compact(h)
    want = h.len * 2 if h.len >= HELD_READ_MIN else h.len + HELD_READ_MIN
    if h.len < hint < want:
        want = hint
    if h.cap > h.len and h.cap >= want:
        return True
    return held_resize(h, want)
