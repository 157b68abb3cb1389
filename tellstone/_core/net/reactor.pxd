"""Reactors: threads that serve connections, and never know that there is an interpreter.

A tick of a reactor:

    wait for events        up to EVENTS; without end unless something is queued or has a deadline
    read the clock         once
    connections            each one that is ready: one read, one turn, one write
    mailbox                new sockets, answers of Python, questions about clients, what is pushed to them
    queued turns           for connections with more input than one turn should take, and those that a pause has held
    listeners              the first reactor only
    every SWEEP_MS         timeouts and limits

ORDER: sockets are taken in after the events (see connection_ready). Queued turns come after the mailbox, so that a monitor
has been shown what it acts on. Queued connections come after those that are ready,
so a long pipeline waits for everybody else once a turn.

A group goes RUNNING -> STOPPING -> KILLED, or straight to KILLED; a reactor that finds STOPPING closes the listeners,
answers what has come in, and ends when its last connection has, or at `stop_at`.
LOCK: a Reactor belongs to its thread, from start to join. `Group.state`, `stop_at` and the settings are atomic.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.base.platform cimport Thread
from tellstone._core.base.poller cimport Event
from tellstone._core.net.audience cimport Audience
from tellstone._core.net.connection cimport Connections
from tellstone._core.net.control cimport ControlBridge
from tellstone._core.net.listener cimport Acceptor
from tellstone._core.net.settings cimport Settings
from tellstone._core.session.attention cimport Attention
from tellstone._core.session.records cimport Records
from tellstone._core.store.keyspace cimport Store

cdef enum:
    EVENTS = 256
    REACTORS_MAX = 128

cdef enum GroupState:
    GROUP_RUNNING = 0
    GROUP_STOPPING = 1
    GROUP_KILLED = 2

cdef struct Reactor:
    Connections connections
    Group* group
    Acceptor* acceptor                  # of the first reactor, NULL for the others
    int64_t checked_ms                  # keyspace's clock when the monotonic one was last read
    uint32_t sweep_due                  # bool
    uint32_t mail                       # bool: the mailbox has been reported
    uint64_t ready_listeners            # a bit each
    uint32_t stopping                   # bool: the stop has been noticed
    uint64_t ticks                      # relaxed
    Thread thread
    Event events[EVENTS]

cdef struct Group:
    Settings settings
    Attention attention                 # read at every batch: INVARIANT: what stands beside it is written seldom
    Audience monitors
    uint32_t state                      # GroupState
    uint32_t running                    # atomic: threads that have not ended
    uint64_t stop_at                    # monotonic ms
    Acceptor acceptor
    Connections* members[REACTORS_MAX]  # for the acceptor
    Reactor* reactors
    uint32_t count

cdef class ReactorGroup:
    cdef Group* group
    cdef Store store                    # keep what the threads use alive
    cdef ControlBridge bridge
    cdef readonly Records records
    cdef uint32_t started               # bool, atomic
    cdef uint32_t joined                # bool, atomic
