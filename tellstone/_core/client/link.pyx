"""A connection of a client that waits (see link.pxd)."""
cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from libc.errno cimport EAGAIN, EINTR, ETIMEDOUT
from libc.stdint cimport int64_t, uint64_t

from tellstone._core.base.bytesops cimport get_be32
from tellstone._core.base.platform cimport mono_us
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.client.plain cimport (
    PLAIN, PLAIN_READ, PLAIN_WRITE, plain_bound, plain_quiet, plain_ready, plain_send, plain_take, plain_wait,
)
from tellstone._core.protocol.exchange cimport (
    Exchange, Into, add_get_into, exchange_idle, exchange_received, exchange_room, exchange_sent, exchange_take,
)
from tellstone._core.protocol.framing cimport Requests, add_all, add_command, add_delete, add_get, add_ping, add_set

import os

from tellstone.errors import ConnectionLostError, TimedOutError

check_layout(__name__)

cdef enum:
    SLICE = 32768                   # bytes that are sent through a socket object before their answers are read


cdef int64_t microseconds(object seconds) except -1:
    """A time-out: None is none, and what is not zero does not become zero."""
    cdef double us
    if seconds is None:
        return 0
    us = float(seconds) * 1e6
    return 1 if us < 1 else <int64_t>us if us < 1e15 else <int64_t>1e15


# Failures -------------------------------------------------------------------------------------------------------


cdef object lost(Link l, reason):
    l.lost = True
    return ConnectionLostError(
        f"the connection to {l.peer} was lost: {reason}; requests without an answer ({l.x.count}) may have been carried out"
    )


cdef object timed_out(Link l, int64_t timeout_us):
    l.lost = True
    return TimedOutError(f"no answer from {l.peer} in {timeout_us / 1e6:g} s; the request may have been carried out")


cdef int check(Link l, ssize_t result, int64_t timeout_us) except -1:
    """Raise for what a call of plain.h answers below zero, unless it is to be tried again."""
    if result >= 0 or result == -EAGAIN:
        return 0
    if result == -EINTR:
        PyErr_CheckSignals()
        return 0
    if result == -ETIMEDOUT:
        raise timed_out(l, timeout_us)
    raise lost(l, os.strerror(-result))


# Plain sockets --------------------------------------------------------------------------------------------------


cdef int take_answers(Link l, list answers) except -1:
    cdef Exchange x = l.x
    while exchange_take(x):
        answers.append(x.answer)
    x.answer = None
    return 0


cdef bint received(Link l, ssize_t n, list answers, int64_t timeout_us) except -1:
    """False: nothing was there."""
    if n == 0:
        raise lost(l, "the server has closed it")
    check(l, n, timeout_us)
    if n < 0:
        return False
    exchange_received(l.x, <size_t>n)
    take_answers(l, answers)
    return True


cdef int ask_plain(Link l, list answers, int64_t timeout_us) except -1:
    """All but the answers to long pipelines and long values: what is to be sent goes at once, and the answers come at once."""
    cdef Exchange x = l.x
    cdef size_t room
    cdef char* to = exchange_room(x, &room)
    cdef ssize_t n
    cdef ssize_t got = -EAGAIN
    if l.bound_us != timeout_us:
        check(l, plain_bound(l.fd, timeout_us), timeout_us)
        l.bound_us = timeout_us
    with nogil:
        n = plain_send(l.fd, x.out.data, x.out.len)
        if n == <ssize_t>x.out.len:
            got = plain_wait(l.fd, to, room)
    check(l, n, timeout_us)
    if n > 0:
        l.at = <size_t>n
    received(l, got, answers, timeout_us)
    return 0


cdef int send_plain(Link l, list answers, int64_t timeout_us, int64_t deadline) except -1:
    """Send the rest, and receive meanwhile: a server that nobody listens to stops listening."""
    cdef Exchange x = l.x
    cdef int ready
    cdef ssize_t n
    while l.at < x.out.len:
        with nogil:
            ready = plain_ready(l.fd, PLAIN_READ | PLAIN_WRITE, deadline)
        check(l, ready, timeout_us)
        if ready > 0 and ready & PLAIN_READ:
            receive_plain(l, answers, timeout_us)
        if ready > 0 and ready & PLAIN_WRITE:
            n = plain_send(l.fd, x.out.data + l.at, x.out.len - l.at)
            check(l, n, timeout_us)
            if n > 0:
                l.at += <size_t>n
    return 0


cdef bint receive_plain(Link l, list answers, int64_t timeout_us) except -1:
    cdef size_t room
    cdef char* to = exchange_room(l.x, &room)
    cdef ssize_t n
    with nogil:
        n = plain_take(l.fd, to, room)
    return received(l, n, answers, timeout_us)


cdef int run_plain(Link l, list answers, int64_t timeout_us) except -1:
    cdef Exchange x = l.x
    cdef int64_t deadline = mono_us() + timeout_us if timeout_us else 0
    cdef int ready
    ask_plain(l, answers, timeout_us)
    if l.at < x.out.len:
        send_plain(l, answers, timeout_us, deadline)
    exchange_sent(x)
    while x.count:
        if not receive_plain(l, answers, timeout_us):
            with nogil:
                ready = plain_ready(l.fd, PLAIN_READ, deadline)
            check(l, ready, timeout_us)
    return 0


# Socket objects -------------------------------------------------------------------------------------------------


cdef size_t whole_frames(Link l, size_t* frames) noexcept:
    """Bytes of the next requests, as many as make a slice, but one at least."""
    cdef Exchange x = l.x
    cdef size_t end = l.at
    frames[0] = 0
    while end < x.out.len and (frames[0] == 0 or end - l.at < SLICE):
        end += 4 + get_be32(x.out.data + end)
        frames[0] += 1
    return end - l.at


cdef int let_wait(Link l, int64_t timeout_us, int64_t deadline) except -1:
    cdef int64_t left
    if not deadline:
        l.socket.settimeout(None)
        return 0
    left = deadline - mono_us()
    if left <= 0:
        raise timed_out(l, timeout_us)
    l.socket.settimeout(left / 1e6)
    return 0


cdef int ask_object(Link l, list answers, int64_t timeout_us, int64_t deadline) except -1:
    """A slice of the requests, and all of their answers: here nothing can be received while something is being sent."""
    cdef Exchange x = l.x
    cdef size_t frames
    cdef size_t n = whole_frames(l, &frames)
    cdef Py_ssize_t wanted = len(answers) + <Py_ssize_t>frames
    let_wait(l, timeout_us, deadline)
    l.socket.sendall(PyBytes_FromStringAndSize(x.out.data + l.at, <Py_ssize_t>n))
    l.at += n
    while len(answers) < wanted:
        let_wait(l, timeout_us, deadline)
        received(l, l.socket.recv_into(x.room()), answers, timeout_us)
    return 0


cdef int run_object(Link l, list answers, int64_t timeout_us) except -1:
    cdef Exchange x = l.x
    cdef int64_t deadline = mono_us() + timeout_us if timeout_us else 0
    try:
        while l.at < x.out.len:
            ask_object(l, answers, timeout_us, deadline)
    except (ConnectionLostError, TimedOutError):
        raise
    except TimeoutError:
        raise timed_out(l, timeout_us) from None
    except OSError as error:
        raise lost(l, error.strerror or error) from error
    exchange_sent(x)
    return 0


cdef bint quiet_object(Link l) except -1:
    """TLS may have to take something in that is none of the peer's words."""
    try:
        l.socket.settimeout(0)
        l.socket.recv_into(l.x.room())
    except OSError as error:
        if isinstance(error, BlockingIOError):
            return True
        from ssl import SSLWantReadError
        return isinstance(error, SSLWantReadError)
    return False


# Requests -------------------------------------------------------------------------------------------------------


cdef list run(Link l, int64_t timeout_us):
    """The answers to what has been made."""
    cdef Exchange x = l.x
    cdef list answers = []
    l.at = 0
    x.sent = x.count
    if l.fd >= 0:
        run_plain(l, answers, timeout_us)
    else:
        run_object(l, answers, timeout_us)
    return answers


cdef object run_one(Link l, int64_t timeout_us):
    answer = run(l, timeout_us)[0]
    if isinstance(answer, Exception):
        raise answer
    return answer


cdef bint link_idle(Link l) noexcept:
    return not l.lost and exchange_idle(l.x)


cdef int link_close(Link l) except -1:
    l.lost = True
    l.socket.close()
    return 0


cdef bint link_usable(Link l) except -1:
    if not link_idle(l):
        return False
    return plain_quiet(l.fd) if l.fd >= 0 else quiet_object(l)


@cython.final
cdef class Link:
    """A connection, to be used by one thread at a time.

    socket: a connected one, which belongs to the link from here on. timeout: seconds that a request may take, None: as long as it
    likes. plain: whether the descriptor may be used without the object.
    """

    def __cinit__(self, socket, str peer not None, Exchange exchange not None, timeout, *, bint plain):
        self.fd = -1
        self.socket = socket
        self.peer = peer
        self.x = exchange
        self.timeout_us = microseconds(timeout)
        self.bound_us = -1
        if plain and PLAIN:
            socket.setblocking(True)
            self.fd = socket.fileno()

    def usable(self):
        """Whether a request may be sent: nothing is owed either way, and the server has not closed the connection."""
        return link_usable(self)

    @property
    def idle(self):
        """Whether it may be kept for another request."""
        return link_idle(self)

    def close(self):
        """Close the socket. May be called again."""
        link_close(self)

    def get(self, key, /):
        """See Client.get."""
        add_get(self.x, key)
        return run_one(self, self.timeout_us)

    def set(self, key, value, ttl, bint nx, bint xx, bint keep_ttl, /):
        """See Client.set."""
        add_set(self.x, key, value, ttl, nx, xx, keep_ttl)
        return run_one(self, self.timeout_us)

    def delete(self, key, /):
        """See Client.delete."""
        add_delete(self.x, key)
        return run_one(self, self.timeout_us)

    def ping(self):
        """See Client.ping."""
        add_ping(self.x)
        return run_one(self, self.timeout_us)

    def execute(self, tuple words not None, /, *timeout):
        """See Client.execute. timeout: another one for this call."""
        add_command(self.x, words)
        return run_one(self, microseconds(timeout[0]) if timeout else self.timeout_us)

    def get_into(self, key, Into into not None, /):
        """See Client.get_into."""
        add_get_into(self.x, key, into)
        return run_one(self, self.timeout_us)

    def run(self, Requests requests not None, /, *timeout):
        """The answers to a pipeline, errors among them. timeout: another one for this call."""
        add_all(self.x, requests, None, 0)
        return run(self, microseconds(timeout[0]) if timeout else self.timeout_us)
