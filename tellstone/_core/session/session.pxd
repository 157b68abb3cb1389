"""One connection without its socket: bytes in, bytes out.

A driver owns sockets, time and threads. It hands in what it has read and sends what it finds in `out`:

    session_feed(s, worker, data, len, &consumed, now) ->
        FEED_NEED_DATA   everything complete has been answered (replies, if any, are in s.out); the first `consumed` bytes are done
                         with, the rest is the start of a request and must be handed in again, followed by more
        FEED_PARKED      a control command waits for its answer: take s.parked, send s.out, feed nothing until session_resume
        FEED_CLOSE       send s.out, then close
        FEED_YIELD       more requests are in the data than one turn should take: send s.out, then feed the rest
    FEED_HELD        CLIENT PAUSE covers the next request: send s.out, then feed the rest when the pause has ended
    FEED_LATER       the client is a monitor: give it what has been pushed to it so far, then feed the rest
    FEED_NEWS        the client has become a monitor or ceased to be one (CLIENT_MONITOR): let the group know, then feed the rest

Whatever it answers, lines for the monitors may be in worker.shown afterwards. The driver hands them to all of them but this session's
client, which has got its own already, before it sends a reply.

LIFETIME: data may be any memory, also the driver's shared read buffer; nothing points into it after the call. ORDER: replies are in
the order of requests, a parked one included, because nothing behind it is read before it is answered.
LOCK: one thread at a time uses a session. A Worker belongs to one thread.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.command.client cimport CLIENT_MONITOR, CLIENT_REPLY_OFF, CLIENT_REPLY_SKIPPING, CLIENT_UNIX, Client
from tellstone._core.command.command cimport Command
from tellstone._core.command.connection cimport Footprint, client_describe
from tellstone._core.protocol.resp cimport RespParser
from tellstone._core.session.batch cimport WIRE_NATIVE, WIRE_RESP, Wire, Worker
from tellstone._core.store.keyspace cimport Keyspace

cdef enum Feed:
    FEED_NEED_DATA = 0
    FEED_PARKED = 1
    FEED_CLOSE = 2
    FEED_YIELD = 3
    FEED_HELD = 4
    FEED_NEWS = 5
    FEED_LATER = 6

# A control command on its way to Python: one malloc'ed piece; whoever takes it from the session frees it with parked_free.
cdef struct ParkedCall:
    const Command* command
    uint64_t client_id
    int db
    uint8_t proto
    uint32_t argc
    View* argv                      # points into this piece, as do the next three
    View addr                       # of the client
    View laddr                      # what it has connected to
    View name

cdef struct Session:
    Client client
    RespParser parser
    OutBuf out
    ParkedCall* parked              # the driver takes it (and sets it to NULL)
    uint8_t wire                    # Wire
    uint8_t call                    # NativeCall that is being run, or is parked
    uint8_t waiting                 # between FEED_PARKED and session_resume

# What the answer to a control command changes in its session; -1: as it was.
cdef struct Patch:
    int proto
    int db
    int authenticated
    int close                       # close when the reply has been sent

cdef void parked_free(ParkedCall* call) noexcept nogil       # NULL is fine
cdef bint worker_init(Worker* w, Keyspace* ks) noexcept nogil
cdef void worker_free(Worker* w) noexcept nogil
cdef void session_init(Session* s, uint64_t id, Wire wire, int64_t now) noexcept nogil
# What the driver knows of the connection; it also fills client.addr, laddr, input_bytes and output_bytes.
cdef inline void session_connected(Session* s, int fd, bint is_unix) noexcept nogil:
    s.client.fd = fd
    if is_unix:
        s.client.flags |= CLIENT_UNIX
cdef void session_free(Session* s) noexcept nogil
cdef int session_feed(Session* s, Worker* w, const char* data, size_t len, size_t* consumed, int64_t now) noexcept nogil
# Looking ahead over several sessions: the input of one is going to be fed soon. Answers whether its first request has a key, whose
# slot is prefetched; some time later the entry can be, by the key's hash. Changes nothing.
cdef bint session_ahead(const Session* s, Worker* w, const char* data, size_t len, uint64_t* hash) noexcept nogil
cdef void session_ahead_entry(const Session* s, Worker* w, uint64_t hash) noexcept nogil
# The answer to a parked call: bytes of a whole reply, and changes. Feed again afterwards, also with what was held back.
cdef void session_resume(Session* s, const char* reply, size_t len, const Patch* patch) noexcept nogil
# Append the line of CLIENT LIST and CLIENT INFO, with its newline.
cdef inline void session_describe(const Session* s, OutBuf* out, int64_t now, const Footprint* size) noexcept nogil:
    client_describe(&s.client, out, now, size)
