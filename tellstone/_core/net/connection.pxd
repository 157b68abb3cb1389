"""Connections: a socket and a session each, and the turns they take on their reactor's thread.

A turn: input is read into a buffer that all connections of a reactor share, the session answers from it into an output
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
LOCK: everything belongs to the reactor's thread, except what is marked atomic (changed by several threads) or relaxed
(written by the reactor's thread, read by others).
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tellstone._core.base.queue cimport Queue
from tellstone._core.net.audience cimport Audience
from tellstone._core.net.held cimport Held
from tellstone._core.net.mailbox cimport AnswerMessage, Mailbox, PushMessage, SocketMessage
from tellstone._core.net.output cimport Sent
from tellstone._core.net.settings cimport Settings
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
    INPUT_LIMIT = 67108864              # held input, beyond twice the longest argument: room for many arguments
    PEAK_MS = 5000                      # a peak is of the last 5 to 10 s

cdef struct Connection:                 # what a turn touches first stands in the first cache line
    int fd
    uint8_t mode
    uint8_t doomed                      # Doom
    uint8_t gone                        # bool: the peer has ended its side, or sent nothing more: no need to linger
    uint8_t deferred                    # bool: is in Connections.deferred
    uint32_t interest                   # what the poller watches
    uint32_t slot
    Held held
    Sent sent
    int64_t moved_ms                    # monotonic, to SWEEP_MS: bytes came or went
    int64_t soft_since                  # monotonic: over the soft output limit since; 0: is not
    int64_t accounted                   # bytes that count towards the memory ceiling
    uint32_t generation                 # of the slot: moves on when a connection ends
    Connection* next                    # in a line, or in the list of free slots
    Connection* prev                    # in a line
    Session session

cdef struct Line:                       # connections that wait, the next one first
    Connection* head
    Connection* tail
    uint32_t count                      # relaxed

cdef struct Peak:                       # the largest value of late
    uint64_t now                        # relaxed: of the window that began at `since`
    uint64_t before                     # relaxed: of the one before
    uint64_t since                      # relaxed: monotonic ms

cdef struct Traffic:                    # relaxed, all of it
    uint64_t adopted
    uint64_t ended
    uint64_t over_output_limit
    uint64_t over_input_limit
    uint64_t timed_out
    uint64_t input_bytes
    uint64_t output_bytes
    Peak held_input
    Peak held_output

cdef struct Pending:                    # a turn that waits until memory has brought what it will touch
    Connection* c
    char* data
    size_t len
    uint64_t hash                       # of its first request's key
    bint hashed

cdef struct Connections:                # of one reactor
    int poller
    uint32_t index                      # of the reactor
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
    Queue* control
    const Settings* settings

# False without memory or descriptors. `worker` and the last four fields are the caller's, set before.
cdef bint connections_init(Connections* cs) noexcept nogil
cdef void connections_free(Connections* cs) noexcept nogil      # closes every connection
# Take a socket in: it is this reactor's from here on, and counted in `load` already. NULL: it could not be kept.
cdef Connection* connections_adopt(Connections* cs, const SocketMessage* m) noexcept nogil
cdef void connections_answer(Connections* cs, const AnswerMessage* m) noexcept nogil
# Run the turns that are pending. After the last event of a tick, before anything else.
cdef void connections_catch_up(Connections* cs) noexcept nogil
cdef void connections_push(Connections* cs, const PushMessage* m) noexcept nogil
# Let those go on that are HELD, if the pause has ended.
cdef void connections_release(Connections* cs) noexcept nogil
# Send what the turns of this tick have written.
cdef void connections_flush(Connections* cs) noexcept nogil
# One turn for each connection that is queued now.
cdef void connections_turns(Connections* cs) noexcept nogil
# Timeouts and limits of a tenth of the connections.
cdef void connections_sweep(Connections* cs) noexcept nogil
cdef bint connections_want_sweeps(const Connections* cs) noexcept nogil
# The connection of a slot below chunk_count * CHUNK; its mode may be CONN_FREE.
cdef inline Connection* connection_at(const Connections* cs, uint32_t slot) noexcept nogil:
    return &cs.chunks[slot // CHUNK][slot % CHUNK]

# The poller has something for c. ORDER: only between a wait and whatever takes sockets in: the events of one wait may
# name a connection that an earlier one of them has ended, and its slot must not have a new tenant by then.
cdef void connection_ready(Connections* cs, Connection* c, uint32_t what) noexcept nogil
cdef void connection_close(Connections* cs, Connection* c) noexcept nogil       # at once, with output unsent
# End when the requests that have come in are answered, also those that are still in the socket's buffer.
cdef void connection_finish(Connections* cs, Connection* c) noexcept nogil
cdef uint64_t next_client_id() noexcept nogil                   # of the process, from 1
cdef uint64_t peak_value(const Peak* p, int64_t mono_ms) noexcept nogil
