"""What a thread of a group does, whichever driver it runs: a member's share of the connections, and its ticks.

    the driver              waits for events; begins the tick (member_begin: the clock, once), hands in what is ready
    member_work             turns that are pending; the mailbox: new sockets, answers of Python, questions about clients, what is
                            pushed to them; queued turns, for connections with more input than one turn should take, and those that
                            a pause has held; everybody's output
    the driver              accepts, if it is the one that does
    member_sweep            every SWEEP_MS: timeouts and limits

ORDER: sockets are taken in after the events (see connection_ready). Queued turns come after the mailbox, so that a monitor
has been shown what it acts on. Queued connections come after those that are ready,
so a long pipeline waits for everybody else once a turn.

A group goes RUNNING -> STOPPING -> KILLED, or straight to KILLED; a member that finds STOPPING closes the listeners,
answers what has come in, and ends when its last connection has, or at `stop_at`.
LOCK: a Member belongs to its thread, from start to join. `Group.phase`, `stop_at` and the settings are atomic.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.base.queue cimport Queue
from tellstone._core.net.audience cimport Audience
from tellstone._core.net.connection cimport Connections
from tellstone._core.net.listener cimport Acceptor
from tellstone._core.net.mailbox cimport SocketMessage
from tellstone._core.net.settings cimport Settings
from tellstone._core.session.attention cimport Attention
from tellstone._core.store.keyspace cimport Keyspace

cdef enum:
    MEMBERS_MAX = 128

cdef enum Phase:
    GROUP_RUNNING = 0
    GROUP_STOPPING = 1
    GROUP_KILLED = 2

cdef struct Member:
    Connections connections
    Group* group
    Acceptor* acceptor                  # of the first member, NULL for the others
    int64_t checked_ms                  # keyspace's clock when the monotonic one was last read
    uint32_t sweep_due                  # bool
    uint32_t mail                       # bool: the mailbox has been reported
    uint32_t stopping                   # bool: the stop has been noticed
    uint64_t ticks                      # relaxed
    SocketMessage* arrivals             # a chain for the driver of hosted connections, the last one first

cdef struct Group:
    Settings settings
    Attention attention                 # read at every batch: INVARIANT: what stands beside it is written seldom
    Audience monitors
    uint32_t phase                      # Phase
    uint32_t running                    # atomic: threads that have not ended
    uint64_t stop_at                    # monotonic ms
    Acceptor acceptor
    Connections* places[MEMBERS_MAX]    # for the acceptor
    Member* members
    uint32_t count

cdef Group* group_new(uint32_t members) noexcept nogil          # with room for so many; NULL without memory
cdef void group_free(Group* g) noexcept nogil                   # no thread of it runs
# The next member; False without memory or descriptors.
cdef bint group_add(Group* g, Keyspace* ks, Queue* control) noexcept nogil
cdef void group_wake(Group* g) noexcept nogil
cdef void group_kill(Group* g) noexcept nogil

cdef void member_begin(Member* m) noexcept nogil
cdef void member_work(Member* m) noexcept nogil
cdef void member_sweep(Member* m) noexcept nogil
cdef int member_patience(Member* m) noexcept nogil              # ms to wait for events; -1: until there are some
cdef bint member_goes_on(Member* m) noexcept nogil              # a stop begins here
cdef void member_end(Member* m) noexcept nogil                  # what is left is closed, and who asks gets an answer
