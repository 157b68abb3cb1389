"""Connections: a socket and a session each, and the turns they take on the thread that serves them.

Two drivers serve connections, and all of this is theirs in common. A reactor reads and writes sockets itself, told by a poller when
to. An event loop of asyncio has a transport for each, which can be used with the GIL alone: its connections are *hosted*. What a
reactor does to a socket is noted for them in a Hosted, and done when the thread is back in the interpreter.

A turn: input is read into a buffer that all connections of a thread share, the session answers from it into an output
buffer that they lend from one another, and one write sends that. A connection owns a buffer only while it has to: input
while a request is unfinished, output while the peer does not read. So an idle connection is a Connection and nothing
else.

            +--> QUEUED --+
    OPEN ---+--> PARKED --+--> OPEN          OPEN, QUEUED, PARKED --> ENDING --> LINGER --> FREE
            +--> HELD --> QUEUED             all of them --> FREE: broken, killed, timed out, over a limit

    OPEN    reads requests and answers them
    QUEUED  has more requests than one turn takes, and waits for the next turn
    PARKED  waits for Python to answer a control command; more input stays in the kernel
    HELD    waits for the end of CLIENT PAUSE, likewise; those that were held first go on first
    ENDING  sends what is left and reads nothing: QUIT, a protocol error, the peer has ended its side, a stop
    LINGER  has sent everything and shut down its side; what still comes in is thrown away, or it would reset the
            connection, and with it replies that the peer has not read yet

A short input does not get its turn at once: its key's slot is prefetched first, then, when the next connection has been
read, its entry, and the turn comes one read later. So what a single request waits for in memory comes while the kernel works
for others, as the requests of a pipeline do for one another in session.session.

Replies of a tick leave together, at its end or when DEFERRED_BYTES have come together: the first of these writes may
have to wake a client that sleeps, which costs more than all the rest of it, and the others then find it awake.

ORDER: replies leave in the order of requests: a connection that is PARKED, HELD or QUEUED reads nothing, and writes go
through one buffer. What others push to it stands between two replies.
Who does what: net.slots has the places of connections and the lines they wait in, net.sending the output and the end of one,
net.turns the input and everything that leads to a turn.
LOCK: everything belongs to the serving thread, except what is marked atomic (changed by several threads) or relaxed
(written by that thread, read by others).
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tellstone._core.base.queue cimport Queue
from tellstone._core.net.audience cimport Audience
from tellstone._core.net.held cimport Held
from tellstone._core.net.mailbox cimport Mailbox
from tellstone._core.net.output cimport Sent, output_unsent
from tellstone._core.net.settings cimport Settings
from tellstone._core.net.traffic cimport Traffic
from tellstone._core.session.session cimport Session, Worker

cdef enum Mode:
    CONN_OPEN = 0
    CONN_QUEUED = 1
    CONN_PARKED = 2
    CONN_ENDING = 3
    CONN_LINGER = 4
    CONN_FREE = 5
    CONN_HELD = 6

cdef enum Doom:                         # how a connection that is to end goes about it
    SPARED = 0
    DOOM_ANSWERED = 1                   # when every complete request that has come in is answered
    DOOM_REPLIED = 2                    # after the reply that it is waiting for

cdef enum:
    INPUT_SIZE = 65536                  # of the shared input buffer: a pipeline of a hundred requests with their values
    OUTPUT_SIZE = 65536                 # of a fresh output buffer
    OUTPUT_RECYCLED = 4194304           # more than the replies of one turn; a larger one is given back instead
    OUTPUT_SPARE = 262144               # and of buffers beyond the first one those larger than this
    PENDING_MAX = 2                     # turns between a read and its own turn
    PENDING_INPUT = 512                 # bytes: a longer input has more to do than to wait for memory
    DEFERRED_MAX = 64                   # connections whose replies are sent together
    DEFERRED_BYTES = 131072             # of their replies: no more than stays in the core's cache until it is sent
    CHUNK = 64                          # connections that are allocated together
    SWEEP_MS = 100                      # between two looks at a tenth of the connections
    LINGER_MS = 1000
    ACCOUNT_FROM = 65536                # bytes of its own buffers that a connection has free
    INPUT_LIMIT = 67108864              # held input, beyond twice the longest argument or frame: room for many arguments

cdef struct Connection:                 # what a turn touches first stands in the first cache line
    int fd                              # of a hosted one the transport's, and only to be shown
    uint8_t mode
    uint8_t doomed                      # Doom
    uint8_t gone                        # bool: the peer has ended its side, or sent nothing more: no need to linger
    uint8_t deferred                    # bool: is in Connections.deferred
    uint32_t interest                   # what the poller watches; hosted: whether the transport reads, and is full
    uint32_t slot
    Held held
    Sent sent
    int64_t moved_ms                    # monotonic, to SWEEP_MS: bytes came or went
    int64_t soft_since                  # monotonic: over the soft output limit since; 0: is not
    int64_t accounted                   # bytes that count towards the memory ceiling
    uint32_t generation                 # of the slot: moves on when a connection ends
    Connection* next                    # in a line, or in the list of free slots
    Connection* prev                    # in a line
    Hosted* host                        # NULL: it is not hosted
    Session session

cdef struct Hosted:                     # what is to be done with a transport
    Connection* c                       # NULL: it has ended, and the transport is to be closed
    Hosted* next                        # in Connections.marked
    uint8_t marked                      # bool: is there
    uint8_t sends                       # bool: the output that there is may leave
    uint8_t finish                      # bool: our side is to be shut down
    uint8_t ended                       # bool: the peer has ended its side while the connection did not read
    size_t unsent                       # bytes that the transport holds because the kernel would not take them
    void* peer                          # the Python object that this stands in

cdef struct Line:                       # connections that wait, the next one first
    Connection* head
    Connection* tail
    uint32_t count                      # relaxed

cdef struct Pending:                    # a turn that waits until memory has brought what it will touch
    Connection* c
    char* data
    size_t len
    uint64_t hash                       # of its first request's key
    bint hashed

cdef struct Room:                       # where the next input of a connection goes
    char* ptr
    size_t len
    size_t kept                         # bytes of held input in front of it, in the same buffer
    bint held                           # it lies behind what is held

cdef struct Connections:                # of one thread
    int poller                          # -1: they are hosted
    uint32_t index                      # of the thread in its group
    bint hosted
    Hosted* marked                      # with something to be done, the first marked one first
    Hosted* marked_last                 # unless `marked` is NULL
    uint32_t silent                     # hosted ones that do not read
    Worker worker
    int64_t now_ms                      # Unix time, of the keyspace's clock; read once a tick
    int64_t mono_ms                     # monotonic; read when SWEEP_MS have passed
    char* inputs[PENDING_MAX + 1]       # buffers of INPUT_SIZE bytes; those of `pending` are in use
    uint32_t input_at                   # the one to read into
    Pending pending[PENDING_MAX]        # oldest first
    uint32_t pending_count
    char* spares[DEFERRED_MAX]          # output buffers to lend, the last one first
    size_t spare_caps[DEFERRED_MAX]
    uint32_t spare_count
    Connection* deferred[DEFERRED_MAX]  # those with replies of this tick that have not been sent; NULL: ended meanwhile
    uint32_t deferred_count
    size_t deferred_bytes
    Line queue                          # those that are QUEUED, in the order of their turns
    Line held                           # those that are HELD
    uint32_t held_pauses                # Attention.pauses when they were
    Connection** chunks
    uint32_t chunk_count
    Connection* free_slots
    uint32_t count                      # slots in use
    uint32_t lingering                  # of these
    uint32_t blocked                    # of these, with output that the kernel would not take
    uint32_t sweep_at                   # slot where the sweep goes on
    uint32_t load                       # atomic: clients here and on their way; the acceptor adds, we subtract
    uint64_t used_bytes                 # what `accounted` of all adds up to; relaxed
    Traffic traffic
    Mailbox* mailbox                    # one count
    Audience* monitors                  # of the group
    uint64_t hurt                       # the log's failure (keyspace_failure) after which those whose replies depended on it are gone; 0: none
    Queue* control
    const Settings* settings

# The connection of a slot below chunk_count * CHUNK; its mode may be CONN_FREE.
cdef inline Connection* connection_at(const Connections* cs, uint32_t slot) noexcept nogil:
    return &cs.chunks[slot // CHUNK][slot % CHUNK]

cdef inline size_t connection_unsent(const Connection* c) noexcept nogil:
    """What the kernel has not taken yet."""
    return output_unsent(&c.session.out, &c.sent) + (c.host.unsent if c.host != NULL else 0)

cdef inline void hosted_mark(Connections* cs, Hosted* h) noexcept nogil:
    """Something is to be done with the transport."""
    if h.marked:
        return
    h.marked = True
    h.next = NULL
    if cs.marked == NULL:
        cs.marked = h
    else:
        cs.marked_last.next = h
    cs.marked_last = h
