"""The other driver: an event loop of asyncio that serves connections, for what a poller and plain sockets cannot.

A loop is a member of a group like a reactor, and its connections go through the same turns; they are hosted (net.connection). For each
there is a Peer, the protocol of a transport. What the two do together:

    transport -> get_buffer          room in a buffer that all connections of the loop share, or behind what this one holds
              -> buffer_updated      a turn, without the GIL
    loop      -> LoopMember.tick     once for all that came in one round of the loop: what is pending, mail, queued turns; then
                                     what the turns have noted in the Hosteds: replies, reading on and off, the end
    Peer      -> transport.write     a piece at a time, as long as the kernel takes all of it

A transport's high-water mark is zero. So pause_writing means that the kernel has not taken everything, and what was not handed over
yet stays where a reactor's output stays: it is bounded by the same limits, counted by the same counters and shown by CLIENT LIST.
Bytes that a transport holds count as unsent until it has got rid of them.

A stop has to answer what is in the kernel when it comes. A reactor reads it; a loop lets two of its rounds pass, after which every
transport that can read has read.

LIFETIME: a Peer is kept by its LoopMember from the arrival of its socket until connection_lost. So a Hosted that is marked is there.
LOCK: of the loop's thread, all of it. ORDER: whatever comes to a connection but input runs its pending turn first.
"""
from tellstone._core.base.block cimport Block
from tellstone._core.net.connection cimport Connection, Connections, Hosted, Room
from tellstone._core.net.group cimport GroupMemory
from tellstone._core.net.mailbox cimport SocketMessage
from tellstone._core.net.member cimport Member

cdef enum:
    ROUNDS = 2                          # of the loop, after which what was in the kernel has been read
    PIECE = 262144                      # bytes handed to a transport at once
    ENDING_S = 2                        # seconds that transports may take to close

cdef class LoopMember:
    cdef GroupMemory memory             # keeps what follows
    cdef Member* m
    cdef Connections* cs
    cdef object loop
    cdef object tick_method
    cdef bint scheduled                 # a tick has begun and will be run
    cdef object timer                   # of the next tick that nothing else asks for
    cdef int timer_ms
    cdef int rounds                     # until a stop has everything
    cdef bint ended
    cdef bint scatters                  # transports take several buffers without joining them
    cdef tuple rooms                    # views of the shared input buffers
    cdef object waste                   # where input goes that nobody reads
    cdef set peers                      # all of them
    cdef set blocked                    # peers whose transport is full
    cdef set tasks                      # sockets that are becoming transports
    cdef dict watched                   # readers of listeners, by number
    cdef int begin(self) except -1
    cdef int settle(self) except -1
    cdef int watch(self) except -1
    cdef int unwatch(self) except -1
    cdef int look(self) except -1
    cdef int take_in(self) except -1
    cdef int welcome(self, SocketMessage* arrival) except -1
    cdef int rest(self) except -1
    cdef int lasts(self) except -1
    cdef int end(self) except -1
    cdef int leave(self, Peer peer) except -1

cdef class Peer:
    cdef Hosted host
    cdef Room room
    cdef LoopMember home
    cdef object transport
    cdef object write                   # the transport's method
    cdef object get_unsent              # likewise
    cdef SocketMessage arrival
    cdef bint full                      # the transport has said so
    cdef bint reads                     # the transport does
    cdef bint deaf                      # the peer has ended its side: there is nothing to read
    cdef bint closed                    # the transport is, or is about to be
    cdef int run_pending(self) except -1
    cdef int settle(self) except -1
    cdef int act(self, Connection* c) except -1
    cdef int send(self, Connection* c) except -1
    cdef int look(self) except -1
    cdef int close(self) except -1

cdef class Shared:                      # bytes of a counted block, for a transport that may keep them for a while
    cdef Block* block                   # one count
    cdef size_t at
    cdef size_t size
