"""A grace period for memory that readers may look at without a lock.

Look-ahead (session.session) reads tables without the shard's lock, to prefetch. So an array that a table leaves, or a whole
partition that FLUSHALL detaches, is not unmapped until every reader that could have seen it has left its section: epochs after
Fraser, "Practical lock-freedom" (2004), in their simplest form.

    reader                              whoever retires
    grace_enter(g, reader)              unlink the memory (under the shard's lock)
      load table, prefetch              grace_retire(g, ptr, free_it)
    grace_leave(g, reader)              ... grace_reclaim(g) frees what no reader can hold

ORDER: grace_enter's store is sequentially consistent, so it comes before the loads of the section; the retiring thread unlinks
before it draws its epoch. A reader whose epoch is newer than a retired item entered after the unlinking and cannot find it.
LOCK: `lock` guards the list of retired items; it is a leaf, taken under a shard's lock.
"""
from libc.stdint cimport uint32_t, uint64_t

from tellstone._core.base.atomics cimport load_u64, store_u64, swap_u64
from tellstone._core.base.lock cimport Lock

cdef enum:
    GRACE_READERS = 128

ctypedef void (*GraceFree)(void* ptr, uint64_t size) noexcept nogil

cdef struct GraceReader:
    uint64_t epoch                  # 0: outside of a section
    uint64_t pad[7]                 # a cache line each

cdef struct GraceItem:
    void* ptr
    uint64_t size
    GraceFree release
    uint64_t epoch
    GraceItem* next

cdef struct Grace:
    GraceReader readers[GRACE_READERS]
    uint64_t epoch                  # from 1
    uint64_t reader_bits[2]         # readers in use, under lock
    Lock lock
    GraceItem* retired
    uint64_t retired_count

cdef void grace_init(Grace* g) noexcept nogil
cdef void grace_destroy(Grace* g) noexcept nogil            # no reader is left: frees everything
cdef int grace_join(Grace* g) noexcept nogil                # a reader's number, or -1: all taken, do without look-ahead
cdef void grace_part(Grace* g, int reader) noexcept nogil
cdef void grace_retire(Grace* g, void* ptr, uint64_t size, GraceFree release) noexcept nogil
cdef void grace_reclaim(Grace* g) noexcept nogil

# Around a fork. A child has none of the threads that were in a section.
cdef void grace_before_fork(Grace* g) noexcept nogil
cdef void grace_after_fork(Grace* g, bint child) noexcept nogil

cdef inline void grace_enter(Grace* g, int reader) noexcept nogil:
    swap_u64(&g.readers[reader].epoch, load_u64(&g.epoch))

cdef inline void grace_leave(Grace* g, int reader) noexcept nogil:
    store_u64(&g.readers[reader].epoch, 0)
