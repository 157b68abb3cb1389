"""What other threads tell a member of a group: new sockets, answers to parked calls, questions about its clients, bytes for one of them.

A mailbox is counted: its member holds one count, every call on its way through Python another, so an answer that comes
after the member has ended finds a closed mailbox and is dropped.
A message is one malloc'ed piece that begins with a Message; the kinds differ in what follows. A further kind needs its
struct here and its arm in net.member.
"""
from libc.stdint cimport uint32_t, uint64_t

from tellstone._core.base.block cimport Block
from tellstone._core.base.bytesops cimport View
from tellstone._core.base.queue cimport Node, Queue
from tellstone._core.session.session cimport Patch, Wire

cdef enum MessageKind:
    MAIL_SOCKET = 0
    MAIL_ANSWER = 1
    MAIL_QUERY = 2
    MAIL_PUSH = 3

cdef struct Mailbox:
    Queue queue
    uint32_t refs                       # atomic
    uint64_t pushed                     # atomic: bytes of pushes that wait

cdef struct Message:
    Node node
    MessageKind kind

cdef struct SocketMessage:              # a freshly accepted socket; the receiver owns fd
    Message head
    int fd
    uint64_t client_id
    Wire wire
    const char* path                    # of the unix listener it came from, good as long as the group; NULL: TCP

cdef struct AnswerMessage:
    Message head
    uint32_t slot                       # who waits for it: dropped when the slot's generation has moved on
    uint32_t generation
    Patch patch
    size_t len
    char* reply                         # points into this piece

cdef enum QueryKind:
    QUERY_LIST = 0
    QUERY_KILL = 1

cdef struct QueryMessage:               # CLIENT LIST and CLIENT KILL: every filter that is set must match
    Message head
    QueryKind kind
    uint64_t token                      # comes back with the report
    uint64_t caller                     # client that asks; 0: none
    uint32_t skip_caller                # bool
    uint32_t normal                     # bool: whether normal clients are of the type asked for
    View addr                           # views point into this piece; ptr is NULL when unset
    View laddr
    View user
    uint32_t id_count
    uint64_t* ids                       # points into this piece

cdef struct PushMessage:                # bytes of the protocol for a client, between its replies
    Message head
    uint32_t slot                       # whose: dropped when the slot's generation has moved on, or it is no monitor any more
    uint32_t generation
    uint64_t size                       # counted in the mailbox's `pushed`
    Block* block                        # one count; NULL: it has missed some, and is cut

cdef Mailbox* mailbox_new() noexcept nogil                      # one count; NULL without memory or descriptors
cdef void mailbox_ref(Mailbox* m) noexcept nogil
cdef void mailbox_unref(Mailbox* m) noexcept nogil
# The message is the mailbox's from here on, also when it is closed. False: it was, and the message has been freed.
cdef bint mailbox_send(Mailbox* m, Message* message) noexcept nogil
cdef void mailbox_wake(Mailbox* m) noexcept nogil               # no message: look at the group's state and settings
cdef Message* mailbox_take(Mailbox* m) noexcept nogil           # a chain through node.next, oldest first
cdef Message* mailbox_close(Mailbox* m) noexcept nogil          # the rest, likewise
cdef Message* message_next(const Message* m) noexcept nogil
cdef void message_free(Message* m) noexcept nogil               # closes a socket that nobody has taken
# Without memory NULL.
cdef SocketMessage* socket_message(int fd, uint64_t client_id, Wire wire, const char* path) noexcept nogil
cdef AnswerMessage* answer_message(
    uint32_t slot, uint32_t generation, const char* reply, size_t len, const Patch* patch,
) noexcept nogil
# block: the message takes a count of its own; NULL cuts the client.
cdef PushMessage* push_message(uint32_t slot, uint32_t generation, Block* block) noexcept nogil
