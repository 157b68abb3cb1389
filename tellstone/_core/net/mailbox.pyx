"""Mailboxes of members (see mailbox.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from tellstone._core.base.atomics cimport add_u32, add_u64
from tellstone._core.base.block cimport Block, block_ref, block_unref
from tellstone._core.base.queue cimport QUEUE_OK, queue_close, queue_init, queue_push, queue_take, queue_wake
from tellstone._core.base.socket cimport sock_close
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.wake cimport wake_clear
from tellstone._core.session.session cimport Patch, Wire

check_layout(__name__)


cdef Mailbox* mailbox_new() noexcept nogil:
    cdef Mailbox* m = <Mailbox*>malloc(sizeof(Mailbox))
    if m == NULL:
        return NULL
    if queue_init(&m.queue, 0) != 0:
        free(m)
        return NULL
    m.refs = 1
    m.pushed = 0
    return m


cdef void mailbox_ref(Mailbox* m) noexcept nogil:
    add_u32(&m.refs, 1)


cdef void mailbox_unref(Mailbox* m) noexcept nogil:
    if add_u32(&m.refs, <uint32_t>-1) == 1:
        mailbox_free_all(mailbox_close(m))
        free(m)


cdef void mailbox_free_all(Message* m) noexcept nogil:
    cdef Message* next
    while m != NULL:
        next = message_next(m)
        message_free(m)
        m = next


cdef bint mailbox_send(Mailbox* m, Message* message) noexcept nogil:
    if message.kind == MAIL_PUSH:       # ORDER: before the receiver can count it off
        add_u64(&m.pushed, (<PushMessage*>message).size)
    if queue_push(&m.queue, &message.node, False) == QUEUE_OK:
        return True
    message_free(message)
    return False


cdef void mailbox_wake(Mailbox* m) noexcept nogil:
    queue_wake(&m.queue)


cdef Message* mailbox_take(Mailbox* m) noexcept nogil:
    wake_clear(&m.queue.wake)
    return <Message*>queue_take(&m.queue)


cdef Message* mailbox_close(Mailbox* m) noexcept nogil:
    return <Message*>queue_close(&m.queue)


cdef Message* message_next(const Message* m) noexcept nogil:
    return <Message*>m.node.next


cdef void message_free(Message* m) noexcept nogil:
    if m.kind == MAIL_SOCKET and (<SocketMessage*>m).fd >= 0:
        sock_close((<SocketMessage*>m).fd)
    elif m.kind == MAIL_PUSH and (<PushMessage*>m).block != NULL:
        block_unref((<PushMessage*>m).block)
    free(m)


cdef SocketMessage* socket_message(int fd, uint64_t client_id, Wire wire, const char* path) noexcept nogil:
    cdef SocketMessage* m = <SocketMessage*>malloc(sizeof(SocketMessage))
    if m != NULL:
        m.head.kind = MAIL_SOCKET
        m.fd = fd
        m.client_id = client_id
        m.wire = wire
        m.path = path
    return m


cdef AnswerMessage* answer_message(
    uint32_t slot, uint32_t generation, const char* reply, size_t len, const Patch* patch,
) noexcept nogil:
    cdef AnswerMessage* m = <AnswerMessage*>malloc(sizeof(AnswerMessage) + len)
    if m != NULL:
        m.head.kind = MAIL_ANSWER
        m.slot = slot
        m.generation = generation
        m.patch = patch[0]
        m.len = len
        m.reply = <char*>(m + 1)
        memcpy(m.reply, reply, len)
    return m


cdef PushMessage* push_message(uint32_t slot, uint32_t generation, Block* block) noexcept nogil:
    cdef PushMessage* m = <PushMessage*>malloc(sizeof(PushMessage))
    if m != NULL:
        m.head.kind = MAIL_PUSH
        m.slot = slot
        m.generation = generation
        m.size = 0
        m.block = block
        if block != NULL:
            m.size = block.size
            block_ref(block)
    return m
