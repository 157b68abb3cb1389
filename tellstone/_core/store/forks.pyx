"""What a fork must not cut in two (see forks.pxd)."""
from tellstone._core.base.lock cimport Lock, lock_acquire, lock_release
from tellstone._core.base.platform cimport fork_handlers
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.store.forks cimport ForkWatch

import os

check_layout(__name__)

cdef Lock listing                   # of the list of watchers; held from before a fork until after it
cdef ForkWatch* first


cdef void fork_watch(ForkWatch* w) noexcept nogil:
    global first
    lock_acquire(&listing)
    w.prior = NULL
    w.next = first
    if first != NULL:
        first.prior = w
    first = w
    lock_release(&listing)


cdef void fork_unwatch(ForkWatch* w) noexcept nogil:
    global first
    lock_acquire(&listing)
    if w.next != NULL:
        w.next.prior = w.prior
    if w.prior != NULL:
        w.prior.next = w.next
    else:
        first = w.next
    lock_release(&listing)


cdef void before_fork() noexcept nogil:
    cdef ForkWatch* w
    lock_acquire(&listing)
    w = first
    while w != NULL:
        w.before(w.owner)
        w = w.next


cdef void after_fork(bint child) noexcept nogil:
    cdef ForkWatch* w = first
    while w != NULL:
        w.after(w.owner, child)
        w = w.next
    lock_release(&listing)


cdef void in_parent() noexcept nogil:
    after_fork(False)


cdef void in_child() noexcept nogil:
    after_fork(True)


cdef int failed = fork_handlers(before_fork, in_parent, in_child)
if failed:
    raise OSError(failed, os.strerror(failed))
