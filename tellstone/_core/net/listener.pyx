"""Accepting (see listener.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free
from libc.string cimport strdup, strlen

from tellstone._core.base.atomics cimport add_u32, relaxed_u32, relaxed_u64, store_u64
from tellstone._core.base.poller cimport POLL_READ, poller_add, poller_remove
from tellstone._core.base.socket cimport SOCK_AGAIN, SOCK_BROKEN, SOCK_SCARCE, sock_accept, sock_close, sock_write
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.net.connection cimport Connections
from tellstone._core.net.mailbox cimport MAIL_SOCKET, SocketMessage, mailbox_send, socket_message
from tellstone._core.net.turns cimport connections_adopt, next_client_id
from tellstone._core.session.session cimport WIRE_NATIVE, Wire

check_layout(__name__)

cdef enum:
    TOO_MANY_FRAME = 38                 # bytes: length, type and text

# The same words in both protocols; a native frame of the type ERROR.
cdef const char* TOO_MANY = b"-ERR max number of clients reached\r\n"
cdef const char* TOO_MANY_NATIVE = b"\0\0\0\x22\x07ERR max number of clients reached"


cdef bint acceptor_add(Acceptor* a, int fd, Wire wire, const char* path) noexcept nogil:
    cdef Listener* l = &a.listeners[a.listener_count]
    if a.listener_count == LISTENERS_MAX:
        return False
    l.path = NULL
    if path != NULL:
        l.path = strdup(path)
        if l.path == NULL:
            return False
    l.fd = fd
    l.wire = wire
    l.watched = False
    a.listener_count += 1
    return True


cdef bint acceptor_watch(Acceptor* a) noexcept nogil:
    cdef uint32_t i
    cdef Listener* l
    for i in range(a.listener_count):
        l = &a.listeners[i]
        if l.watched or l.fd < 0:
            continue
        if not a.places[0].hosted and poller_add(a.places[0].poller, l.fd, POLL_READ, <void*>(<uintptr_t>i * 2 + 1)) != 0:
            return False
        l.watched = True
    return True


cdef void unwatch(Acceptor* a, Listener* l) noexcept nogil:
    if l.watched and not a.places[0].hosted:
        poller_remove(a.places[0].poller, l.fd, POLL_READ)
    l.watched = False


cdef void acceptor_pause(Acceptor* a) noexcept nogil:
    cdef uint32_t i
    for i in range(a.listener_count):
        unwatch(a, &a.listeners[i])
    a.paused_until = a.places[0].mono_ms + ACCEPT_PAUSE_MS


cdef void acceptor_resume(Acceptor* a) noexcept nogil:
    if a.paused_until and a.places[0].mono_ms >= a.paused_until:
        a.paused_until = 0
        acceptor_watch(a)


cdef void close_listener(Acceptor* a, Listener* l) noexcept nogil:
    unwatch(a, l)
    if l.fd >= 0:
        sock_close(l.fd)
    l.fd = -1


cdef void acceptor_close(Acceptor* a) noexcept nogil:
    cdef uint32_t i
    a.paused_until = 0
    for i in range(a.listener_count):
        close_listener(a, &a.listeners[i])


cdef void acceptor_free(Acceptor* a) noexcept nogil:
    cdef uint32_t i
    acceptor_close(a)
    for i in range(a.listener_count):
        free(a.listeners[i].path)
    a.listener_count = 0


cdef uint64_t acceptor_clients(Acceptor* a) noexcept nogil:
    cdef uint32_t i
    cdef uint64_t n = 0
    for i in range(a.place_count):
        n += relaxed_u32(&a.places[i].load)
    return n


cdef uint32_t choose(Acceptor* a) noexcept nogil:
    """The thread with the fewest connections; among equals they take turns."""
    cdef uint32_t i, at, load
    cdef uint32_t best = a.next, least = <uint32_t>-1
    for i in range(a.place_count):
        at = (a.next + i) % a.place_count
        load = relaxed_u32(&a.places[at].load)
        if load < least:
            best = at
            least = load
    a.next = (best + 1) % a.place_count
    return best


cdef void refuse(Acceptor* a, const Listener* l, int fd) noexcept nogil:
    store_u64(&a.rejected, a.rejected + 1)
    if l.wire == WIRE_NATIVE:
        sock_write(fd, TOO_MANY_NATIVE, TOO_MANY_FRAME)
    else:
        sock_write(fd, TOO_MANY, strlen(TOO_MANY))
    sock_close(fd)


cdef void hand_out(Acceptor* a, const Listener* l, int fd) noexcept nogil:
    """To another thread through its mailbox; to our own, if it can take it in here and now, without a detour."""
    cdef SocketMessage here
    cdef SocketMessage* m
    cdef uint32_t at = choose(a)
    cdef Connections* cs = a.places[at]
    add_u32(&cs.load, 1)
    if at == 0 and not cs.hosted:
        here.head.kind = MAIL_SOCKET
        here.fd = fd
        here.client_id = next_client_id()
        here.wire = l.wire
        here.path = l.path
        connections_adopt(cs, &here, NULL)
        return
    m = socket_message(fd, next_client_id(), l.wire, l.path)
    if m == NULL:
        sock_close(fd)
        add_u32(&cs.load, <uint32_t>-1)
    elif not mailbox_send(cs.mailbox, &m.head):
        add_u32(&cs.load, <uint32_t>-1)


cdef void acceptor_ready(Acceptor* a, uint32_t listener) noexcept nogil:
    cdef Listener* l = &a.listeners[listener]
    cdef int fd
    cdef int accepts
    cdef uint64_t most = relaxed_u64(&a.places[0].settings.max_clients)
    for accepts in range(ACCEPTS_MAX):
        if l.fd < 0:
            return
        fd = sock_accept(l.fd)
        if fd == SOCK_AGAIN:
            return
        if fd == SOCK_SCARCE:
            acceptor_pause(a)
            return
        if fd == SOCK_BROKEN:
            close_listener(a, l)
            return
        store_u64(&a.accepted, a.accepted + 1)
        if most and acceptor_clients(a) >= most:
            refuse(a, l, fd)
        else:
            hand_out(a, l, fd)
