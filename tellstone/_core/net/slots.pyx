"""Slots and lines (see slots.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc

from tellstone._core.base.atomics cimport store_u32
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.net.connection cimport (
    ACCOUNT_FROM, CHUNK, CONN_FREE, CONN_OPEN, SPARED, Connection, Connections, Line, Mode,
)
from tellstone._core.net.traffic cimport count
from tellstone._core.store.keyspace cimport keyspace_add_used

check_layout(__name__)


cdef bint add_chunk(Connections* cs) noexcept nogil:
    cdef Connection* chunk
    cdef Connection** chunks = <Connection**>realloc(cs.chunks, (cs.chunk_count + 1) * sizeof(Connection*))
    cdef uint32_t i
    if chunks == NULL:
        return False
    cs.chunks = chunks
    chunk = <Connection*>calloc(CHUNK, sizeof(Connection))
    if chunk == NULL:
        return False
    for i in range(<uint32_t>CHUNK):
        chunk[i].fd = -1
        chunk[i].mode = CONN_FREE
        chunk[i].slot = cs.chunk_count * CHUNK + i
        chunk[i].next = cs.free_slots
        cs.free_slots = &chunk[i]
    cs.chunks[cs.chunk_count] = chunk
    cs.chunk_count += 1
    return True


cdef Connection* slot_take(Connections* cs) noexcept nogil:
    cdef Connection* c
    if cs.free_slots == NULL and not add_chunk(cs):
        return NULL
    c = cs.free_slots
    cs.free_slots = c.next
    cs.count += 1
    c.mode = CONN_OPEN
    c.doomed = SPARED
    c.gone = False
    c.deferred = False
    c.interest = 0
    c.soft_since = 0
    c.sent.data = 0                     # the one before may have ended in the middle of its output
    c.sent.block = 0
    c.next = NULL
    c.host = NULL
    return c


cdef void slot_leave(Connections* cs, Connection* c) noexcept nogil:
    c.fd = -1
    c.mode = CONN_FREE
    c.generation += 1
    c.next = cs.free_slots
    cs.free_slots = c
    cs.count -= 1


cdef void slots_free(Connections* cs) noexcept nogil:
    cdef uint32_t i
    for i in range(cs.chunk_count):
        free(cs.chunks[i])
    free(cs.chunks)
    cs.chunks = NULL
    cs.chunk_count = 0
    cs.free_slots = NULL


cdef void line_up(Line* line, Connection* c, Mode mode) noexcept nogil:
    c.mode = mode
    c.next = NULL
    c.prev = line.tail
    if line.tail != NULL:
        line.tail.next = c
    else:
        line.head = c
    line.tail = c
    store_u32(&line.count, line.count + 1)


cdef void step_out(Line* line, Connection* c) noexcept nogil:
    if c.prev != NULL:
        c.prev.next = c.next
    else:
        line.head = c.next
    if c.next != NULL:
        c.next.prev = c.prev
    else:
        line.tail = c.prev
    store_u32(&line.count, line.count - 1)
    c.mode = CONN_OPEN


cdef void connection_account(Connections* cs, Connection* c) noexcept nogil:
    cdef int64_t own = <int64_t>(c.held.cap + c.session.out.cap)
    own = own - ACCOUNT_FROM if own > ACCOUNT_FROM else 0
    if own != c.accounted:
        keyspace_add_used(cs.worker.ks, own - c.accounted)
        count(&cs.used_bytes, <uint64_t>(own - c.accounted))
        c.accounted = own
