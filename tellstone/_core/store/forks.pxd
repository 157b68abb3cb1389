"""What a fork must not cut in two.

fork copies one thread. A lock that another thread holds just then is held in the child for ever, and what it guards may be half changed there. So
whoever owns locks that a child needs watches forks: it is called before one, to take them, and after it on both sides, to let them go, and in the
child to part with what stays the parent's.

The calls come from the C library's fork itself (pthread_atfork). The rejected alternative is os.register_at_fork: between its hooks and the fork
other Python threads run, and one of them that waits for a shard while it has the GIL would keep the fork from ever going on. A watcher takes locks
only whose holders need no GIL to let go.

LOCK: watchers are called one after the other, each with its own order of locks; nobody holds locks of two.
"""

cdef struct ForkWatch:              # in its owner's struct; all but `owner` and the calls belong to the list
    void* owner
    void (*before)(void* owner) noexcept nogil
    void (*after)(void* owner, bint child) noexcept nogil
    ForkWatch* next
    ForkWatch* prior

cdef void fork_watch(ForkWatch* w) noexcept nogil
cdef void fork_unwatch(ForkWatch* w) noexcept nogil          # one that watches; it is not being called any more when this returns
