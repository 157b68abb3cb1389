"""Event loops as members of a group (see asyncio_driver.pxd)."""
from cpython.buffer cimport PyBUF_WRITE, PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from tellstone._core.base.atomics cimport add_u32, load_u32
from tellstone._core.base.block cimport Block, block_ref, block_unref
from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.base.poller cimport POLL_READ
from tellstone._core.base.socket cimport IoVec, sock_close
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.net.connection cimport INPUT_SIZE, PENDING_MAX, Connection, Connections, Hosted
from tellstone._core.net.group cimport DriverGroup
from tellstone._core.net.listener cimport Acceptor, acceptor_ready, acceptor_watch
from tellstone._core.net.mailbox cimport SocketMessage, message_free
from tellstone._core.net.member cimport (
    GROUP_RUNNING, Member, member_begin, member_end, member_goes_on, member_patience, member_sweep, member_work,
)
from tellstone._core.net.output cimport OUTPUT_VECTOR, Sent, output_advance, output_unsent, output_vector
from tellstone._core.net.sending cimport connection_close, connection_sent, leave_load
from tellstone._core.net.turns cimport (
    connection_finish, connections_adopt, connections_catch_up, hosted_eof, hosted_finish, hosted_pends, hosted_room,
    hosted_take, hosted_writable,
)

import asyncio
import socket
from functools import partial

check_layout(__name__)


# Output for transports ------------------------------------------------------------------------------------------


cdef bytes copy_pieces(const IoVec* vector, int count, size_t size):
    cdef bytes piece = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size)
    cdef char* at = PyBytes_AS_STRING(piece)
    cdef size_t n
    cdef int i
    for i in range(count):
        n = min(vector[i].iov_len, size)
        memcpy(at, vector[i].iov_base, n)
        at += n
        size -= n
    return piece


cdef bytes take_piece(OutBuf* out, Sent* sent):
    """The next bytes to send, in one copy."""
    cdef IoVec vector[OUTPUT_VECTOR]
    cdef int i, count = output_vector(out, sent, vector)
    cdef size_t size = 0
    cdef bytes piece
    for i in range(count):
        size += vector[i].iov_len
    size = min(size, <size_t>PIECE)
    piece = copy_pieces(vector, count, size)
    output_advance(out, sent, size)
    return piece


cdef list take_pieces(OutBuf* out, Sent* sent):
    """The next bytes to send; those of blocks are not copied."""
    cdef size_t left = PIECE
    cdef size_t n, end
    cdef list pieces = []
    while left and output_unsent(out, sent):
        if out.ref_count and out.refs[0].at == sent.data:
            n = min(out.refs[0].block.size - sent.block, left)
            pieces.append(shared(out.refs[0].block, sent.block, n))
        else:
            end = out.refs[0].at if out.ref_count else out.len
            n = min(end - sent.data, left)
            pieces.append(PyBytes_FromStringAndSize(out.data + sent.data, <Py_ssize_t>n))
        output_advance(out, sent, n)
        left -= n
    return pieces


cdef Shared shared(Block* block, size_t at, size_t size):
    cdef Shared self = Shared.__new__(Shared)
    block_ref(block)
    self.block = block
    self.at = at
    self.size = size
    return self


cdef class Shared:
    """A part of a counted block, as bytes that are never written to."""

    def __len__(self):
        return self.size

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.block.data + self.at, <Py_ssize_t>self.size, True, flags)

    def __dealloc__(self):
        if self.block != NULL:
            block_unref(self.block)


# Connections ----------------------------------------------------------------------------------------------------


cdef class Peer:
    """One connection, as the protocol of its transport. See asyncio.BufferedProtocol for the methods that it calls."""

    def __cinit__(self, LoopMember home not None):
        self.home = home
        self.host.peer = <void*>self

    def connection_made(self, transport):
        """The transport is there: the connection begins."""
        cdef LoopMember home = self.home
        self.transport = transport
        self.write = transport.write
        self.get_unsent = transport.get_write_buffer_size
        self.reads = True
        home.begin()
        if home.ended:
            leave_load(home.cs)
        elif connections_adopt(home.cs, &self.arrival, &self.host) != NULL:
            transport.set_write_buffer_limits(high=0)
            if home.m.stopping:         # accepted just before the listeners were closed
                connection_finish(home.cs, self.host.c)
                home.rounds = ROUNDS
            return
        self.close()

    cdef int run_pending(self) except -1:
        cdef Connections* cs = self.home.cs
        cdef Connection* c = self.host.c
        if c != NULL and hosted_pends(cs, c):
            with nogil:
                connections_catch_up(cs)
        return 0

    def get_buffer(self, sizehint):
        """Room for the next bytes."""
        cdef LoopMember home = self.home
        self.run_pending()
        if self.host.c == NULL:
            return home.waste
        if not hosted_room(home.cs, self.host.c, &self.room):
            home.begin()                # which closes the transport
            return home.waste
        if self.room.held:
            return PyMemoryView_FromMemory(self.room.ptr, <Py_ssize_t>self.room.len, PyBUF_WRITE)
        if self.room.kept:
            return home.rooms[home.cs.input_at][self.room.kept:]
        return home.rooms[home.cs.input_at]

    def buffer_updated(self, Py_ssize_t nbytes):
        """So many bytes have been read into that room."""
        cdef LoopMember home = self.home
        if self.host.c == NULL:
            return
        home.begin()
        with nogil:
            hosted_take(home.cs, self.host.c, &self.room, <size_t>nbytes)
        if home.cs.marked != NULL:
            home.settle()

    def eof_received(self):
        """The peer has ended its side. Whether to keep ours."""
        cdef LoopMember home = self.home
        self.deaf = True
        home.begin()
        self.run_pending()
        if self.host.c != NULL:
            hosted_eof(home.cs, self.host.c)
        home.settle()
        return self.host.c != NULL

    def pause_writing(self):
        """The kernel has not taken everything."""
        self.full = True
        self.home.blocked.add(self)

    def resume_writing(self):
        """Now it has."""
        cdef LoopMember home = self.home
        self.full = False
        home.blocked.discard(self)
        home.begin()
        self.run_pending()
        if self.host.c != NULL:
            hosted_writable(home.cs, self.host.c)
        home.settle()

    def connection_lost(self, exc):
        """The transport is closed, by whomever."""
        cdef LoopMember home = self.home
        self.closed = True
        self.run_pending()
        if self.host.c != NULL:
            connection_close(home.cs, self.host.c)
        home.settle()                   # LIFETIME: nothing is marked any more
        home.leave(self)
        self.transport = self.write = self.get_unsent = None

    cdef int settle(self) except -1:
        """Do what turns have noted. A transport may turn out to be gone already."""
        cdef Connection* c = self.host.c
        if self.closed:
            return 0
        try:
            if c != NULL:
                self.act(c)
        except (OSError, RuntimeError):
            if self.host.c != NULL:
                connection_close(self.home.cs, self.host.c)
        if self.host.c == NULL:
            self.close()
        return 0

    cdef int act(self, Connection* c) except -1:
        cdef bint wanted
        if self.host.sends and not self.full and output_unsent(&c.session.out, &c.sent):
            self.send(c)
        self.host.sends = False
        if self.host.c == NULL:
            return 0
        if self.host.finish:
            self.host.finish = False
            if not self.transport.can_write_eof():      # closing it is all there is
                connection_close(self.home.cs, c)
                return 0
            self.transport.write_eof()
        wanted = c.interest & POLL_READ != 0
        if wanted != self.reads and not self.deaf:
            self.reads = wanted
            if wanted:
                self.transport.resume_reading()
            else:
                self.transport.pause_reading()
        return 0

    cdef int send(self, Connection* c) except -1:
        """Hand over one piece after another while the kernel takes them whole."""
        cdef OutBuf* out = &c.session.out
        cdef size_t size, left = output_unsent(out, &c.sent)
        cdef size_t handed = left
        while left and not self.full:
            if out.ref_count == 0:
                size = min(left, <size_t>PIECE)
                piece = PyBytes_FromStringAndSize(out.data + c.sent.data, <Py_ssize_t>size)
                c.sent.data += size
                self.write(piece)
            elif self.home.scatters:
                self.transport.writelines(take_pieces(out, &c.sent))
            else:
                self.write(take_piece(out, &c.sent))
            left = output_unsent(out, &c.sent)
        handed -= left
        self.host.unsent = min(<size_t>self.get_unsent(), handed) if self.full else 0
        connection_sent(self.home.cs, c, handed - self.host.unsent)
        return 0

    cdef int look(self) except -1:
        """Take note of what a full transport has got rid of."""
        cdef size_t was = self.host.unsent
        if self.host.c != NULL and self.full and not self.closed:
            self.host.unsent = min(<size_t>self.get_unsent(), was)
            connection_sent(self.home.cs, self.host.c, was - self.host.unsent)
        return 0

    cdef int close(self) except -1:
        """With unsent bytes at once, as a socket is closed; without, a transport may still have to say goodbye."""
        self.closed = True
        if self.full:
            self.transport.abort()
        else:
            self.transport.close()
        return 0


class Served(Peer, asyncio.BufferedProtocol):
    """A Peer that asyncio knows by its base."""

    __slots__ = ()


# The loop -------------------------------------------------------------------------------------------------------


cdef class LoopMember:
    """An event loop's share of a group: its connections, and for the first one the listeners.

    group, number: which member of which group. `attach` begins to serve and `detach` is the end, both in the loop's
    thread; in between the loop runs until the member stops it.
    """

    def __cinit__(self, DriverGroup group not None, uint32_t number):
        if number >= group.group.count:
            raise ValueError(f"number: {number} is none of {group.group.count} members")
        self.memory = group.memory
        self.m = &group.group.members[number]
        self.cs = &self.m.connections
        self.cs.hosted = True
        self.rooms = tuple([
            PyMemoryView_FromMemory(self.cs.inputs[i], INPUT_SIZE, PyBUF_WRITE) for i in range(PENDING_MAX + 1)
        ])
        self.waste = memoryview(bytearray(INPUT_SIZE))
        self.peers = set()
        self.blocked = set()
        self.tasks = set()
        self.watched = {}

    def attach(self, loop):
        """Begin to serve from this loop. Raises OSError for a listener that is none."""
        self.loop = loop
        self.tick_method = self.tick
        # Asyncio's own transports join what they get, or, in some versions, forget to say that they are full.
        self.scatters = not isinstance(loop, asyncio.BaseEventLoop)
        add_u32(&self.m.group.running, 1)
        loop.add_reader(self.cs.mailbox.queue.wake.reader, self.take_mail)
        if self.m.acceptor != NULL:
            acceptor_watch(self.m.acceptor)
            self.watch()
        self.begin()                    # a stop may have come before

    def detach(self):
        """The loop has stopped. What has not ended before, because it never really began, ends here."""
        if not self.ended:
            self.end()
        self.loop = self.tick_method = self.timer = None
        self.peers.clear()
        add_u32(&self.m.group.running, <uint32_t>-1)

    # A tick

    cdef int begin(self) except -1:
        if not self.scheduled and not self.ended:
            self.scheduled = True
            member_begin(self.m)
            self.loop.call_soon(self.tick_method)
        return 0

    def tick(self):
        """What a round of the loop ends with."""
        cdef Member* m = self.m
        cdef bint sweeps = m.sweep_due
        if self.ended:
            return
        self.scheduled = False
        if sweeps:
            self.look()
        with nogil:
            member_work(m)
            if sweeps:
                member_sweep(m)
        if sweeps:
            self.watch()
        if m.arrivals != NULL:
            self.take_in()
        self.settle()
        if load_u32(&m.group.phase) == GROUP_RUNNING or self.lasts():
            self.rest()
        else:
            self.end()

    cdef int settle(self) except -1:
        cdef Hosted* h
        while self.cs.marked != NULL:
            h = self.cs.marked
            self.cs.marked = h.next
            h.marked = False
            (<Peer>h.peer).settle()
        return 0

    cdef int rest(self) except -1:
        """See to the next tick."""
        cdef int ms = member_patience(self.m)
        if self.rounds:
            self.rounds -= 1
            if self.rounds == 0:
                with nogil:
                    hosted_finish(self.cs)
                self.settle()
            ms = 0
        if ms == 0:
            self.begin()
        elif ms > 0 and (self.timer is None or ms < self.timer_ms):
            if self.timer is not None:
                self.timer.cancel()
            self.timer = self.loop.call_later((ms + 1) / 1000.0, self.wake)
            self.timer_ms = ms
        return 0

    def wake(self):
        """Nothing has come, but something is due."""
        self.timer = None
        self.begin()

    cdef int look(self) except -1:
        for peer in tuple(self.blocked):
            (<Peer>peer).look()
        return 0

    # Mail, and new connections

    def take_mail(self):
        """The mailbox has something."""
        self.m.mail = True
        self.begin()

    def accept(self, uint32_t number):
        """A listener has somebody."""
        self.begin()
        with nogil:
            acceptor_ready(self.m.acceptor, number)
        self.watch()

    cdef int watch(self) except -1:
        """Match the readers to the listeners that are to be watched."""
        cdef Acceptor* a = self.m.acceptor
        cdef uint32_t i
        if a == NULL:
            return 0
        for i in range(a.listener_count):
            if a.listeners[i].watched and i not in self.watched:
                self.loop.add_reader(a.listeners[i].fd, self.accept, i)
                self.watched[i] = a.listeners[i].fd
            elif not a.listeners[i].watched and i in self.watched:
                self.loop.remove_reader(self.watched.pop(i))
        return 0

    cdef int unwatch(self) except -1:
        while self.watched:
            self.loop.remove_reader(self.watched.popitem()[1])
        return 0

    cdef int take_in(self) except -1:
        cdef SocketMessage* arrival = self.m.arrivals
        cdef SocketMessage* next
        self.m.arrivals = NULL
        while arrival != NULL:
            next = <SocketMessage*>arrival.head.node.next
            self.welcome(arrival)
            message_free(&arrival.head)
            arrival = next
        return 0

    cdef int welcome(self, SocketMessage* arrival) except -1:
        """Have a transport made for a socket; the connection begins when it is there."""
        cdef Peer peer = Served(self)
        peer.arrival = arrival[0]
        arrival.fd = -1
        try:
            accepted = socket.socket(fileno=peer.arrival.fd)
            accepted.setblocking(False)
        except OSError:                 # it is broken already
            sock_close(peer.arrival.fd)
            leave_load(self.cs)
            return 0
        self.peers.add(peer)
        task = self.loop.create_task(self.loop.connect_accepted_socket(lambda: peer, accepted))
        self.tasks.add(task)
        task.add_done_callback(partial(self.joined, peer, accepted))
        return 0

    def joined(self, Peer peer not None, accepted, task):
        """A transport has been made, or could not be."""
        self.tasks.discard(task)
        if (task.cancelled() or task.exception() is not None) and peer.transport is None:
            accepted.close()
            leave_load(self.cs)
            self.leave(peer)

    cdef int leave(self, Peer peer) except -1:
        self.peers.discard(peer)
        self.blocked.discard(peer)
        if self.ended and not self.peers:
            self.loop.stop()
        return 0

    # The end

    cdef int lasts(self) except -1:
        """Whether a member that is to end still has something to do."""
        cdef bint goes_on
        if not self.m.stopping:
            self.unwatch()
            self.rounds = ROUNDS + 1
        with nogil:
            goes_on = member_goes_on(self.m)
        self.settle()
        return goes_on

    cdef int end(self) except -1:
        """Close everything, and let the transports come to their ends."""
        self.ended = True
        self.unwatch()
        self.loop.remove_reader(self.cs.mailbox.queue.wake.reader)
        if self.timer is not None:
            self.timer.cancel()
        with nogil:
            member_end(self.m)
        self.settle()
        if self.peers:
            self.loop.call_later(ENDING_S, self.loop.stop)
        else:
            self.loop.stop()
        return 0
