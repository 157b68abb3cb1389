"""Input of connections, and the turns that it leads to (see net.connection).

A reactor hands in what the poller has reported (connection_ready). The driver of hosted connections asks for room, has it filled, and
hands that in (hosted_room, hosted_take); what comes while a connection does not read is kept for it, once, and then the transport is
told to stop.
"""
from libc.stdint cimport uint32_t, uint64_t

from tellstone._core.net.connection cimport Connection, Connections, Hosted, Room
from tellstone._core.net.mailbox cimport AnswerMessage, PushMessage, SocketMessage

# False without memory. `worker` and the last four fields are the caller's, set before.
cdef bint connections_init(Connections* cs) noexcept nogil
cdef void connections_free(Connections* cs) noexcept nogil      # closes every connection
# Take a socket in: it is this thread's from here on, and counted in `load` already. NULL: it could not be kept. host: of the
# transport that has the socket; NULL for a reactor.
cdef Connection* connections_adopt(Connections* cs, const SocketMessage* m, Hosted* host) noexcept nogil
cdef void connections_answer(Connections* cs, const AnswerMessage* m) noexcept nogil
# Run the turns that are pending. After the last event of a tick, before anything else.
cdef void connections_catch_up(Connections* cs) noexcept nogil
cdef void connections_push(Connections* cs, const PushMessage* m) noexcept nogil
# Let those go on that are HELD, if the pause has ended.
cdef void connections_release(Connections* cs) noexcept nogil
# One turn for each connection that is queued now.
cdef void connections_turns(Connections* cs) noexcept nogil
# Timeouts and limits of a tenth of the connections.
cdef void connections_sweep(Connections* cs) noexcept nogil
cdef bint connections_want_sweeps(const Connections* cs) noexcept nogil

# The poller has something for c. ORDER: only between a wait and whatever takes sockets in: the events of one wait may
# name a connection that an earlier one of them has ended, and its slot must not have a new tenant by then.
cdef void connection_ready(Connections* cs, Connection* c, uint32_t what) noexcept nogil
# End when the requests that have come in are answered, also those that are still in the socket's buffer: of a hosted connection
# what comes until hosted_finish.
cdef void connection_finish(Connections* cs, Connection* c) noexcept nogil
cdef uint64_t next_client_id() noexcept nogil                   # of the process, from 1

# Where the next input of a hosted connection goes, and that n bytes of it are there. Nothing else happens in between. False: there is no
# memory for it, and c is closed.
cdef bint hosted_room(Connections* cs, Connection* c, Room* room) noexcept nogil
cdef void hosted_take(Connections* cs, Connection* c, const Room* room, size_t n) noexcept nogil
cdef void hosted_eof(Connections* cs, Connection* c) noexcept nogil         # the peer has ended its side
cdef void hosted_writable(Connections* cs, Connection* c) noexcept nogil    # the transport has given everything to the kernel
cdef bint hosted_pends(const Connections* cs, const Connection* c) noexcept nogil  # its turn waits
# Those that are to end have got all that was in their sockets' buffers.
cdef void hosted_finish(Connections* cs) noexcept nogil
