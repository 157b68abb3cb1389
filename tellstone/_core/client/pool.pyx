"""The connections of a client (see pool.pxd)."""
cimport cython

from tellstone._core.base.stamp cimport check_layout
from tellstone._core.client.link cimport Link, link_close, link_idle, link_usable

from queue import Empty, SimpleQueue

from tellstone.errors import ClosedError, ConnectError

check_layout(__name__)


# Steps, each of them whole --------------------------------------------------------------------------------------


@cython.critical_section
cdef Link take_idle(Pool p):
    """A connection that is idle, or None."""
    return p.idle.pop() if p.idle else None


@cython.critical_section
cdef object take_place(Pool p, object waiter):
    """What there is: a connection, or None with a place for one. Else the waiter, which has been put into the line."""
    if p.idle:
        return p.idle.pop()
    if p.places or p.closed:
        p.places -= 1
        return None
    p.waiters.append(waiter)
    return waiter


@cython.critical_section
cdef object put_down(Pool p, Link link):
    """A connection, or with None a place, to where it is taken from; but if somebody waits, answers who has waited longest."""
    if p.waiters:
        return p.waiters.pop(0)
    if link is None:
        p.places += 1
    else:
        p.idle.append(link)
    return None


@cython.critical_section
cdef bint leave_line(Pool p, object waiter) except -1:
    """Whether it was still there."""
    cdef list others = [other for other in p.waiters if other is not waiter]
    cdef bint found = len(others) < len(p.waiters)
    p.waiters = others
    return found


@cython.critical_section
cdef tuple take_all(Pool p):
    """Who is idle, and who waits."""
    cdef tuple taken = (p.idle, p.waiters)
    p.idle = []
    p.waiters = []
    return taken


# What they make -------------------------------------------------------------------------------------------------


cdef int put_back(Pool p, Link link) except -1:
    waiter = put_down(p, link)
    if waiter is not None:
        waiter.put(link)
    return 0


cdef Link wait(Pool p):
    """A connection, or None: a place for one."""
    waiter = SimpleQueue()
    taken = take_place(p, waiter)
    if taken is not waiter:
        return taken
    try:
        return waiter.get(timeout=p.timeout)
    except BaseException as error:          # the time is up, or the thread has been interrupted
        return leave(p, waiter, error)


cdef Link leave(Pool p, object waiter, object error):
    """Wait no longer. What has come in the last moment is taken, or goes to the next."""
    cdef bint too_late = not leave_line(p, waiter)
    if isinstance(error, Empty):
        if too_late:
            return waiter.get()
        raise ConnectError(f"all {p.size} connections have been in use for {p.timeout:g} s") from None
    if too_late:
        put_back(p, waiter.get())
    raise error


cdef Link open_new(Pool p):
    """A new connection for a place that the caller has."""
    try:
        if p.closed:
            raise ClosedError("the client is closed")
        return p.connect()
    except BaseException:
        put_back(p, None)
        raise


@cython.final
cdef class Pool:
    """At most `size` connections, each made by `connect`. Waiting for one that is free ends after `timeout` seconds."""

    def __cinit__(self, connect, Py_ssize_t size, timeout):
        self.connect = connect
        self.size = self.places = size
        self.timeout = timeout
        self.idle = []
        self.waiters = []

    def take(self):
        """A connection that can be used, for the caller to `give` back. Raises ConnectError, ClosedError."""
        cdef Link link = take_idle(self)
        if link is None:
            link = wait(self)
        if link is not None:
            if link_usable(link):
                return link
            link_close(link)
        return open_new(self)

    def give(self, Link link not None):
        """Take a connection back; one that is not idle is closed, and its place is free."""
        if self.closed or not link_idle(link):
            link_close(link)
            link = None
        put_back(self, link)

    def close(self):
        """Close what is idle now, and the rest when it comes back."""
        self.closed = True
        idle, waiters = take_all(self)
        for waiter in waiters:
            waiter.put(None)
        for link in idle:
            link.close()

    def forget(self):
        """In a child that has been forked: its parent has the connections, and nobody waits. Closing says nothing to the server."""
        idle, _ = take_all(self)
        self.places = self.size
        for link in idle:
            link.close()
