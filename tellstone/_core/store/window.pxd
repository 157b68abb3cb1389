"""A file read in pieces: a window of a bounded size that moves over it.

Memory is WINDOW_BYTES, or what the longest thing asked for takes. One thread uses a Window at a time, for one file after another.
LIFETIME: what window_at answers is good until the window is moved or opened again.
"""
from libc.errno cimport EIO, ENOMEM
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memmove

from tellstone._core.base.disk cimport DISK_READ, disk_close, disk_open, disk_read, disk_size

cdef enum:
    WINDOW_BYTES = 262144

cdef struct Window:                 # zeroed is closed
    bint is_open
    int fd
    int error                       # errno of what has failed
    uint64_t size                   # of the file
    uint64_t at                     # where `data` stands in it
    char* data
    size_t len
    size_t cap

cdef inline void window_close(Window* w) noexcept nogil:
    """The file; memory is kept for the next one."""
    if w.is_open:
        disk_close(w.fd)
    w.is_open = False
    w.len = 0

cdef inline void window_free(Window* w) noexcept nogil:
    window_close(w)
    free(w.data)
    w.data = NULL
    w.cap = 0

cdef inline bint window_open(Window* w, const char* path) noexcept nogil:
    """False: w.error says why."""
    cdef int64_t size
    window_close(w)
    w.fd = disk_open(path, DISK_READ)
    if w.fd < 0:
        w.error = -w.fd
        return False
    w.is_open = True
    w.at = 0
    size = disk_size(w.fd)
    if size < 0:
        w.error = <int>-size
        return False
    w.size = <uint64_t>size
    return True

cdef inline bint window_grow(Window* w, size_t need) noexcept nogil:
    cdef size_t cap = need if need > WINDOW_BYTES else WINDOW_BYTES
    cdef char* grown
    if cap <= w.cap:
        return True
    grown = <char*>realloc(w.data, cap)
    if grown == NULL:
        w.error = ENOMEM
        return False
    w.data = grown
    w.cap = cap
    return True

cdef inline bint window_move(Window* w, uint64_t offset, size_t need) noexcept nogil:
    """Let the window begin at an offset and hold `need` bytes at least, all of them in the file."""
    cdef size_t kept = 0
    cdef uint64_t want = w.size - offset
    cdef int64_t got
    if w.at <= offset < w.at + w.len:
        kept = <size_t>(w.at + w.len - offset)
    if not window_grow(w, need):
        return False
    if kept:
        memmove(w.data, w.data + (offset - w.at), kept)
    w.at = offset
    w.len = kept
    if want > w.cap:
        want = w.cap
    got = disk_read(w.fd, w.data + kept, <size_t>want - kept, offset + kept)
    if got < 0 or <uint64_t>got < want - kept:
        w.error = <int>-got if got < 0 else EIO     # shorter than it was: somebody else is at it
        return False
    w.len = <size_t>want
    return True

cdef inline bint window_has(const Window* w, uint64_t offset, uint64_t need) noexcept nogil:
    return w.at <= offset and offset + need <= w.at + w.len

cdef inline const char* window_at(Window* w, uint64_t offset, size_t need) noexcept nogil:
    """The bytes from an offset on, `need` of them at least; the caller knows that the file has them. NULL: w.error says why."""
    if not window_has(w, offset, need) and not window_move(w, offset, need):
        return NULL
    return w.data + (offset - w.at)

cdef inline size_t window_rest(const Window* w, uint64_t offset) noexcept nogil:
    """How many bytes from an offset on are in the window."""
    return <size_t>(w.at + w.len - offset)
