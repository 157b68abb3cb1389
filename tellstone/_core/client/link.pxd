"""A connection of a client that waits: one request, or one pipeline, at a time.

On a plain socket a request is one send and one receive without the GIL. Where there is none of those (TLS, Windows, a patched socket
module) the same goes through the socket object.

INVARIANT: a link may be used again if it is idle: everything asked has been answered, and nothing else has come. After a time-out, a
lost connection, an interrupt or a ProtocolError it is not, and never will be.
"""
from libc.stdint cimport int64_t

from tellstone._core.protocol.exchange cimport Exchange

cdef class Link:
    cdef readonly object socket
    cdef readonly str peer          # for messages
    cdef int fd                     # -1: through the socket object
    cdef Exchange x
    cdef int64_t timeout_us         # of a request, 0: none
    cdef int64_t bound_us           # of a receive, as the socket knows it
    cdef size_t at                  # bytes of x.out that have been sent
    cdef bint lost

# Everything asked has been answered, and nothing else has come.
cdef bint link_idle(Link l) noexcept
# The same, looked up at the socket, too: nothing has come since, and the server has not closed the connection.
cdef bint link_usable(Link l) except -1
# Close the socket; it may be closed already.
cdef int link_close(Link l) except -1
