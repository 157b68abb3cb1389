"""Accepting: one thread watches all listening sockets and hands each new connection to the thread with the fewest.

One acceptor and not one listener a thread (SO_REUSEPORT): the kernel would deal connections out by hash, and a few
long-lived ones easily end up on one thread.
A reactor's listeners are in its poller. An event loop has readers for them; it looks at `watched` after every call, and
adds and removes its readers to match.
LOCK: of the accepting thread; `accepted` and `rejected` are relaxed.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.net.connection cimport Connections
from tellstone._core.session.session cimport Wire

cdef enum:
    LISTENERS_MAX = 64
    ACCEPTS_MAX = 256                   # of one event, so that a storm of connections holds nobody up for long
    ACCEPT_PAUSE_MS = 100               # without descriptors: a listener would be reported ready without end

cdef struct Listener:
    int fd
    Wire wire                           # what is spoken there
    uint32_t watched                    # bool
    char* path                          # of a unix socket, malloc'ed; NULL: TCP

cdef struct Acceptor:
    Listener listeners[LISTENERS_MAX]
    uint32_t listener_count
    Connections** places                # of all threads of the group; the accepting one is first
    uint32_t place_count
    uint32_t next                       # who comes first among equals
    int64_t paused_until                # monotonic ms; 0: not paused
    uint64_t accepted
    uint64_t rejected                   # over max_clients

# Before the start. Takes fd. False: no room or memory, and fd stays the caller's. path: of a unix socket, or NULL.
cdef bint acceptor_add(Acceptor* a, int fd, Wire wire, const char* path) noexcept nogil
# Events of listener i carry the number 2 * i + 1 as owner: no address of anything.
cdef bint acceptor_watch(Acceptor* a) noexcept nogil            # False: a listener cannot be watched
cdef void acceptor_ready(Acceptor* a, uint32_t listener) noexcept nogil
cdef void acceptor_resume(Acceptor* a) noexcept nogil           # every now and then: ends a pause that is over
cdef void acceptor_close(Acceptor* a) noexcept nogil            # the listeners; their paths stay, for CLIENT LIST
cdef void acceptor_free(Acceptor* a) noexcept nogil
cdef uint64_t acceptor_clients(Acceptor* a) noexcept nogil      # connected now
