"""S3-FIFO (see s3fifo.pxd)."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memmove, memset

from tellstone._core.base.stamp cimport check_layout
from tellstone._core.memory.arena cimport Arena, arena_ptr
from tellstone._core.store.entry cimport entry_access, entry_set_access
from tellstone._core.store.table cimport Table, slot_handle, slot_tag, table_first, table_first_of

check_layout(__name__)

cdef enum:
    CHUNK_BYTES = S3_CHUNK * sizeof(uint32_t)
    ROW_BYTES = S3_ROW * sizeof(uint16_t)
    SMALL_SHARE = 10                # one key in so many is in the small queue
    SLACK = 64                      # keys that the small queue may be too long by, so that a tiny one is not always so
    MOVES_UP = 2                    # accesses in the small queue that make a key one of the main queue


cdef void s3_clear(S3Fifo* q) noexcept nogil:
    while q.tail < q.head:
        drop_tail(q)
    if q.chunks != NULL and q.tail % S3_CHUNK:
        free(q.chunks[q.tail // S3_CHUNK % q.chunks_room])
    free(q.chunks)
    free(q.ghosts)
    memset(q, 0, sizeof(S3Fifo))


# The small queue ------------------------------------------------------------------------------------------------


cdef inline uint32_t** chunk_of(S3Fifo* q, uint64_t place) noexcept nogil:
    return &q.chunks[place // S3_CHUNK % q.chunks_room]


cdef bint more_chunks(S3Fifo* q) noexcept nogil:
    """A circle twice as large."""
    cdef uint64_t room = q.chunks_room * 2 if q.chunks_room else 4
    cdef uint64_t n
    cdef uint32_t** chunks = <uint32_t**>calloc(room, sizeof(uint32_t*))
    if chunks == NULL:
        return False
    for n in range(q.tail // S3_CHUNK, (q.head + S3_CHUNK - 1) // S3_CHUNK):
        chunks[n % room] = chunk_of(q, n * S3_CHUNK)[0]
    q.bytes += (room - q.chunks_room) * sizeof(uint32_t*)
    free(q.chunks)
    q.chunks = chunks
    q.chunks_room = room
    return True


cdef bint push_head(S3Fifo* q, uint32_t tag) noexcept nogil:
    cdef uint32_t* chunk
    if q.head % S3_CHUNK == 0:
        if q.head // S3_CHUNK - q.tail // S3_CHUNK >= q.chunks_room and not more_chunks(q):
            return False
        chunk = <uint32_t*>malloc(CHUNK_BYTES)
        if chunk == NULL:
            return False
        chunk_of(q, q.head)[0] = chunk
        q.bytes += CHUNK_BYTES
    chunk_of(q, q.head)[0][q.head % S3_CHUNK] = tag
    q.head += 1
    return True


cdef inline uint32_t drop_tail(S3Fifo* q) noexcept nogil:
    cdef uint32_t* chunk = chunk_of(q, q.tail)[0]
    cdef uint32_t tag = chunk[q.tail % S3_CHUNK]
    q.tail += 1
    if q.tail % S3_CHUNK == 0:
        free(chunk)
        q.bytes -= CHUNK_BYTES
    return tag


cdef inline uint32_t access_at(uint64_t place) noexcept nogil:
    """The bits of a key at a place of the small queue that nobody has asked for."""
    return <uint32_t>(place % S3_NUMBERS) << S3_COUNT_BITS


cdef inline bint is_small(const S3Fifo* q, uint32_t access) noexcept nogil:
    return ((access >> S3_COUNT_BITS) - q.tail) % S3_NUMBERS < q.head - q.tail


cdef inline uint64_t small_share(uint64_t keys) noexcept nogil:
    cdef uint64_t share = keys // SMALL_SHARE
    if share > S3_NUMBERS // 4:
        return S3_NUMBERS // 4
    return share if share else 1


cdef uint32_t s3_begin(S3Fifo* q, uint32_t tag, uint64_t keys) noexcept nogil:
    cdef uint64_t share = small_share(keys)
    if not take_ghost(q, tag):
        while q.head - q.tail >= share + share // 2 + SLACK:
            drop_tail(q)
        if push_head(q, tag):
            return access_at(q.head - 1)
    return access_at(q.tail - 1)            # just left behind: as far from being in the small queue again as can be


# Ghosts ---------------------------------------------------------------------------------------------------------


cdef inline uint16_t remainder_of(uint32_t tag) noexcept nogil:
    """What the row does not tell of a tag; never 0."""
    cdef uint16_t low = <uint16_t>tag
    return low if low else 1


cdef inline uint16_t* row_of(const S3Fifo* q, uint32_t tag) noexcept nogil:
    return &q.ghosts[(<uint64_t>tag * q.ghost_rows >> 32) * S3_ROW]


cdef bint take_ghost(S3Fifo* q, uint32_t tag) noexcept nogil:
    """Whether a tag is remembered; it is forgotten then."""
    cdef uint16_t* row
    cdef uint16_t wanted = remainder_of(tag)
    cdef int i
    if q.ghosts == NULL:
        return False
    row = row_of(q, tag)
    for i in range(S3_ROW):
        if row[i] == wanted:
            memmove(&row[i], &row[i + 1], (S3_ROW - 1 - i) * sizeof(uint16_t))
            row[S3_ROW - 1] = 0
            return True
    return False


cdef bint fit_ghosts(S3Fifo* q, uint64_t keys) noexcept nogil:
    """As many rows as so many keys want: 0.6 ghosts a key. Another number of rows is a new beginning, so there is one only when they are a
    quarter too few or twice too many."""
    cdef uint64_t rows = keys * 3 // (5 * S3_ROW) + 1
    cdef uint16_t* fresh
    if q.ghost_rows and q.ghost_rows <= rows * 2 and rows <= q.ghost_rows + q.ghost_rows // 4 + 1:
        return True
    fresh = <uint16_t*>calloc(rows, ROW_BYTES)
    if fresh == NULL:
        return q.ghosts != NULL
    free(q.ghosts)
    q.bytes += (rows - q.ghost_rows) * ROW_BYTES
    q.ghosts = fresh
    q.ghost_rows = rows
    return True


cdef void add_ghost(S3Fifo* q, uint32_t tag, uint64_t keys) noexcept nogil:
    cdef uint16_t* row
    if not fit_ghosts(q, keys):
        return
    row = row_of(q, tag)
    memmove(&row[1], &row[0], (S3_ROW - 1) * sizeof(uint16_t))
    row[0] = remainder_of(tag)


# Evicting -------------------------------------------------------------------------------------------------------


cdef inline uint64_t* small_slot(Table* t, Arena* a, uint32_t tag, uint64_t place) noexcept nogil:
    """The key that has this place; NULL: it is gone."""
    cdef uint64_t* slot = table_first_of(t, tag)
    while slot != NULL and slot[0] and slot_tag(slot[0]) == tag:
        if entry_access(arena_ptr(a, slot_handle(slot[0]))) >> S3_COUNT_BITS == place % S3_NUMBERS:
            return slot
        slot += 1
    return NULL


cdef inline uint64_t* next_of_small(S3Fifo* q, Table* t, Arena* a) noexcept nogil:
    """Take the oldest key from the small queue; its slot, if it has to go."""
    cdef uint64_t place = q.tail
    cdef uint32_t tag = drop_tail(q)
    cdef uint64_t* slot = small_slot(t, a, tag, place)
    cdef char* e
    if slot == NULL:
        return NULL
    e = arena_ptr(a, slot_handle(slot[0]))
    if s3_count(entry_access(e)) >= MOVES_UP:
        entry_set_access(e, access_at(place))       # left behind by the tail: it belongs to the main queue
        return NULL
    add_ghost(q, tag, t.count)
    return slot


cdef inline uint64_t* next_of_main(S3Fifo* q, Table* t, Arena* a) noexcept nogil:
    """Move the hand over one tag; a slot there that has to go."""
    cdef uint64_t* slot = table_first(t, q.hand)
    cdef uint32_t tag, access
    cdef char* e
    if slot == NULL:
        q.hand = 0
        return NULL
    tag = slot_tag(slot[0])
    q.hand = <uint64_t>tag + 1
    while slot[0] and slot_tag(slot[0]) == tag:
        e = arena_ptr(a, slot_handle(slot[0]))
        access = entry_access(e)
        if not is_small(q, access):
            if s3_count(access) == 0:
                return slot
            entry_set_access(e, access - 1)
        slot += 1
    return NULL


cdef uint64_t* s3_victim(S3Fifo* q, Table* t, Arena* a, uint32_t* budget) noexcept nogil:
    cdef uint64_t* slot
    while t.count and budget[0]:
        budget[0] -= 1
        if q.head - q.tail >= small_share(t.count):
            slot = next_of_small(q, t, a)
        else:
            slot = next_of_main(q, t, a)
        if slot != NULL:
            return slot
    return NULL
