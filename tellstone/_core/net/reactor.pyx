"""Reactors, and groups of them (see reactor.pxd)."""
cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free

from tellstone._core.base.atomics cimport add_u32, load_u32, swap_u32
from tellstone._core.base.platform cimport mono_us, sleep_us, thread_create, thread_join
from tellstone._core.base.poller cimport (
    POLL_READ, event_owner, event_what, poller_add, poller_open, poller_wait,
)
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.net.connection cimport Connection, Connections
from tellstone._core.net.listener cimport acceptor_ready, acceptor_watch
from tellstone._core.net.member cimport (
    Group, Member, group_kill, member_begin, member_end, member_goes_on, member_patience, member_sweep, member_work,
)
from tellstone._core.net.turns cimport connection_ready

check_layout(__name__)


# A tick ---------------------------------------------------------------------------------------------------------


cdef inline void dispatch(Reactor* r, int count) noexcept nogil:
    """Connections at once; the mailbox (no owner) and listeners (odd owners) are noted for later in the tick."""
    cdef uintptr_t owner
    cdef int i
    for i in range(count):
        owner = <uintptr_t>event_owner(&r.events[i])
        if owner == 0:
            r.member.mail = True
        elif owner & 1:
            r.ready_listeners |= <uint64_t>1 << (owner >> 1)
        else:
            connection_ready(&r.member.connections, <Connection*>owner, event_what(&r.events[i]))


cdef void accept_new(Reactor* r) noexcept nogil:
    cdef uint32_t i
    for i in range(r.member.acceptor.listener_count):
        if r.ready_listeners >> i & 1:
            acceptor_ready(r.member.acceptor, i)
    r.ready_listeners = 0


cdef inline void tick(Reactor* r) noexcept nogil:
    cdef Member* m = r.member
    cdef int count = poller_wait(m.connections.poller, r.events, EVENTS, member_patience(m))
    member_begin(m)
    dispatch(r, count)
    member_work(m)
    if r.ready_listeners:
        accept_new(r)
    if m.sweep_due:
        member_sweep(m)


cdef void reactor_main(void* arg) noexcept nogil:
    cdef Reactor* r = <Reactor*>arg
    while member_goes_on(r.member):
        tick(r)
    member_end(r.member)
    add_u32(&r.member.group.running, <uint32_t>-1)


# Threads --------------------------------------------------------------------------------------------------------


cdef bint reactor_init(Reactor* r, Member* m) noexcept nogil:
    """False without descriptors."""
    cdef Connections* cs = &m.connections
    r.member = m
    cs.poller = poller_open()
    return cs.poller >= 0 and poller_add(cs.poller, cs.mailbox.queue.wake.reader, POLL_READ, NULL) == 0


cdef bint reactors_start(Group* g, Reactor* reactors) noexcept nogil:
    """False when a thread cannot start; those before it have been ended again."""
    cdef uint32_t i
    if not acceptor_watch(&g.acceptor):
        return False
    for i in range(g.count):
        add_u32(&g.running, 1)
        if thread_create(&reactors[i].thread, reactor_main, &reactors[i]) == 0:
            continue
        add_u32(&g.running, <uint32_t>-1)
        group_kill(g)
        reactors_join(reactors, i)
        return False
    return True


cdef void reactors_join(Reactor* reactors, uint32_t threads) noexcept nogil:
    cdef uint32_t i
    for i in range(threads):
        thread_join(reactors[i].thread)


cdef bint group_await(Group* g, int64_t deadline_us) noexcept nogil:
    """Whether all threads have ended, by a monotonic time."""
    while load_u32(&g.running):
        if mono_us() >= deadline_us:
            return False
        sleep_us(1000)
    return True


@cython.no_gc_clear         # the threads use the memory until __dealloc__ has ended them
cdef class ReactorGroup(DriverGroup):
    """Threads of our own that serve a store to sockets, see DriverGroup."""

    def __cinit__(self, *arguments, **settings):
        cdef uint32_t i
        self.reactors = <Reactor*>calloc(self.group.count, sizeof(Reactor))
        if self.reactors == NULL:
            raise MemoryError("no memory for the reactors")
        self.count = self.group.count
        for i in range(self.count):
            if not reactor_init(&self.reactors[i], &self.group.members[i]):
                raise OSError("no descriptors for the reactors")

    def __dealloc__(self):
        if self.started and not self.joined:
            with nogil:
                group_kill(self.group)
                reactors_join(self.reactors, self.count)
        free(self.reactors)

    def start(self):
        """Start the threads."""
        cdef bint ok
        DriverGroup.start(self)
        with nogil:
            ok = reactors_start(self.group, self.reactors)
        if not ok:
            self.joined = 1
            raise OSError("the reactors' threads cannot be started")

    def join(self, timeout_s=None):
        """Wait until all threads have ended. False: they have not, after timeout_s seconds (None: wait without end)."""
        cdef int64_t slice_us
        cdef int64_t deadline = <int64_t>-1 if timeout_s is None else mono_us() + <int64_t>(float(timeout_s) * 1e6)
        cdef bint ended = False
        if not self.started or self.joined:
            return True
        while not ended:
            slice_us = mono_us() + 50000
            if 0 <= deadline < slice_us:
                slice_us = deadline
            with nogil:
                ended = group_await(self.group, slice_us)
            if not ended and slice_us == deadline:
                return False
            PyErr_CheckSignals()
        if not swap_u32(&self.joined, 1):
            with nogil:
                reactors_join(self.reactors, self.count)
        return True
