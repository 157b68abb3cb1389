"""The grace period (see grace.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from tellstone._core.base.atomics cimport add_u64, load_u64, store_u64
from tellstone._core.base.lock cimport lock_acquire, lock_release
from tellstone._core.base.platform cimport thread_yield
from tellstone._core.base.stamp cimport check_layout

check_layout(__name__)


cdef void grace_init(Grace* g) noexcept nogil:
    memset(g, 0, sizeof(Grace))
    g.epoch = 1


cdef void release_items(GraceItem* item) noexcept nogil:
    cdef GraceItem* next
    while item != NULL:
        next = item.next
        item.release(item.ptr, item.size)
        free(item)
        item = next


cdef void grace_destroy(Grace* g) noexcept nogil:
    release_items(g.retired)
    g.retired = NULL


cdef int grace_join(Grace* g) noexcept nogil:
    cdef int i, found = -1
    lock_acquire(&g.lock)
    for i in range(GRACE_READERS):
        if not (g.reader_bits[i >> 6] >> (i & 63)) & 1:
            g.reader_bits[i >> 6] |= (<uint64_t>1) << (i & 63)
            found = i
            break
    lock_release(&g.lock)
    return found


cdef void grace_part(Grace* g, int reader) noexcept nogil:
    lock_acquire(&g.lock)
    store_u64(&g.readers[reader].epoch, 0)
    g.reader_bits[reader >> 6] &= ~((<uint64_t>1) << (reader & 63))
    lock_release(&g.lock)


cdef bint held(Grace* g, uint64_t epoch) noexcept nogil:
    """Some reader entered its section at or before this epoch and is still in it."""
    cdef int i
    cdef uint64_t at
    for i in range(GRACE_READERS):
        at = load_u64(&g.readers[i].epoch)
        if at and at <= epoch:
            return True
    return False


cdef void grace_retire(Grace* g, void* ptr, uint64_t size, GraceFree release) noexcept nogil:
    cdef uint64_t epoch
    cdef GraceItem* item = <GraceItem*>malloc(sizeof(GraceItem))
    if item == NULL:
        epoch = add_u64(&g.epoch, 1)
        while held(g, epoch):       # no memory to remember it: sections are short, wait for the readers instead
            thread_yield()
        release(ptr, size)
        return
    item.ptr = ptr
    item.size = size
    item.release = release
    lock_acquire(&g.lock)
    item.epoch = add_u64(&g.epoch, 1)   # under the lock, so that the list is in the order of its epochs
    item.next = g.retired
    g.retired = item
    store_u64(&g.retired_count, g.retired_count + 1)
    lock_release(&g.lock)


cdef void grace_reclaim(Grace* g) noexcept nogil:
    """Free what no reader can hold. The list is newest first, so the first item that is free to go frees the rest."""
    cdef GraceItem* item
    cdef GraceItem* keep_last = NULL
    cdef GraceItem* freeing
    cdef uint64_t kept = 0
    lock_acquire(&g.lock)
    item = g.retired
    while item != NULL and held(g, item.epoch):
        keep_last = item
        kept += 1
        item = item.next
    freeing = item
    if keep_last != NULL:
        keep_last.next = NULL
    else:
        g.retired = NULL
    store_u64(&g.retired_count, kept)
    lock_release(&g.lock)
    release_items(freeing)


cdef void grace_before_fork(Grace* g) noexcept nogil:
    lock_acquire(&g.lock)


cdef void grace_after_fork(Grace* g, bint child) noexcept nogil:
    cdef int i
    if child:
        for i in range(GRACE_READERS):
            store_u64(&g.readers[i].epoch, 0)
    lock_release(&g.lock)
