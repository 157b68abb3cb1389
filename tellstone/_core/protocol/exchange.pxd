"""What goes over one connection of a client: requests that have been made and not sent, sent and not answered, and answers that come in.

No sockets here. Whoever owns one sends x.out, receives into what exchange_room offers, and takes answers until there is none. A client
that waits and one of asyncio are the same up to there.

INVARIANT: answers come in the order of requests, so the first to come is that to the first request owed. A frame that cannot be an answer
to it is a ProtocolError, and so is one that nobody has asked for: the connection is then of no further use, for nothing tells any more
which request an answer belongs to.
"""
from libc.stdint cimport uint8_t, uint64_t

from tellstone._core.protocol.framing cimport Requests

cdef class Into:
    cdef Py_buffer view
    cdef int exports                # of memory that is being received into
    cdef bint gone                  # nobody waits for the value any more

cdef class Exchange(Requests):
    cdef uint64_t most_answer       # bytes of a frame
    cdef size_t sent                # so many of those owed have been handed out for sending
    cdef char* data                 # received and not taken: from `start` to `end`
    cdef size_t start
    cdef size_t end
    # The first answer's payload, where it does not go through `data`: a long one is received where it will stay.
    cdef object target              # bytes or an Into; None: there is none
    cdef uint8_t type               # of its frame
    cdef char* into
    cdef size_t filled
    cdef size_t size
    cdef size_t skip                # or so many bytes of it are thrown away,
    cdef object late                # and then this is the answer
    # What exchange_take has taken.
    cdef object answer
    cdef object waiter

# GET into a buffer. The value goes past `data` if the caller receives no more than exchange_room says.
cdef int add_get_into(Exchange x, object key, Into into) except -1
# All of x.out has been sent.
cdef int exchange_sent(Exchange x) except -1
# Where the next received bytes go, and how many there is room for; never for none. Good until the next call.
cdef char* exchange_room(Exchange x, size_t* n) except NULL
cdef int exchange_received(Exchange x, size_t n) except -1
# Take the first answer, if all of it is there, into x.answer; errors of the server are exceptions there. Raises ProtocolError.
cdef bint exchange_take(Exchange x) except -1
# Nothing is owed, and nothing has come that nobody asked for.
cdef bint exchange_idle(Exchange x) noexcept
