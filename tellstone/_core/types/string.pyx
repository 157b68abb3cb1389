"""Strings (see string.pxd).

A value changes in place where it can: an integer whose width is enough, bytes within their arena slot, a block within its room. Blocks
get half as much again as they need when they grow, so a value built by appends costs a constant a byte.
"""
from libc.math cimport isinf, isnan
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memset

from tellstone._core.base.atomics cimport relaxed_u64
from tellstone._core.base.block cimport Block, block_new, block_shared, block_unref
from tellstone._core.base.bytesops cimport View, copy_bytes, parse_i64, view_of
from tellstone._core.base.decimal cimport format_decimal, parse_decimal
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport (
    ST_MISSING, ST_NAN, ST_NOMEM, ST_NOT_FLOAT, ST_NOT_INTEGER, ST_OK, ST_OVERFLOW, ST_TOO_BIG, ST_WRONGTYPE,
)
from tellstone._core.store.entry cimport (
    ENC_BLOCK, ENC_INT, ENC_RAW, ENC_WIDENED, ENTRY_BLOCK_FROM, NO_DEADLINE, TYPE_STRING, entry_block, entry_encoding, entry_int,
    entry_is_bytes, entry_set_encoding, entry_type, entry_value, entry_value_len, int_width, int_write,
)
from tellstone._core.store.keyspace cimport Place, place_changed, place_exists, place_patched, place_write
from tellstone._core.store.shard cimport DEADLINE_KEEP, shard_account, shard_resize

check_layout(__name__)


# Replacing a value ----------------------------------------------------------------------------------------------


cdef inline int write_bytes(Place* place, View text, uint8_t encoding, int64_t deadline) noexcept nogil:
    cdef char* at = place_write(place, TYPE_STRING, encoding, text.len, deadline)
    if at == NULL:
        return ST_NOMEM
    copy_bytes(at, text.ptr, text.len)
    place_changed(place)
    return ST_OK


cdef int string_set(Place* place, View value, int64_t deadline) noexcept nogil:
    cdef int64_t number
    cdef Block* b
    if parse_i64(value.ptr, value.len, &number):     # refuses most other text by its length or its first byte
        return string_set_int(place, number, deadline)
    if value.len < ENTRY_BLOCK_FROM:
        return write_bytes(place, value, ENC_RAW, deadline)
    b = string_new_block(value)
    return string_set_block(place, b, deadline) if b != NULL else ST_NOMEM


cdef int string_set_made(Place* place, View value, int64_t deadline) noexcept nogil:
    return write_bytes(place, value, ENC_WIDENED, deadline)


cdef int string_set_int(Place* place, int64_t value, int64_t deadline) noexcept nogil:
    cdef uint32_t width = int_width(value)
    cdef char* at = place_write(place, TYPE_STRING, ENC_INT, width, deadline)
    if at == NULL:
        return ST_NOMEM
    int_write(at, width, value)
    place_changed(place)
    return ST_OK


cdef Block* string_new_block(View value) noexcept nogil:
    cdef Block* b = block_new(value.len, value.len)
    if b != NULL:
        copy_bytes(b.data, value.ptr, value.len)
    return b


cdef int put_block(Place* place, Block* b, int64_t deadline) noexcept nogil:
    cdef char* at = place_write(place, TYPE_STRING, ENC_BLOCK, sizeof(Block*), deadline)
    if at == NULL:
        block_unref(b)
        return ST_NOMEM
    memcpy(at, &b, sizeof(Block*))
    place.part.block_bytes += b.room
    shard_account(place.part)
    return ST_OK


cdef int string_set_block(Place* place, Block* b, int64_t deadline) noexcept nogil:
    cdef int status = put_block(place, b, deadline)
    if status == ST_OK:
        place_changed(place)
    return status


cdef int string_length(const Place* place, uint64_t* length) noexcept nogil:
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef int status = string_get(place, scratch, &v)
    if status == ST_WRONGTYPE:
        return status
    length[0] = v.view.len
    return ST_OK


# Changing a part of a value -------------------------------------------------------------------------------------


cdef inline uint64_t value_limit(const Place* place) noexcept nogil:
    return relaxed_u64(&place.ks.max_value)


cdef uint64_t room_for(const Place* place, uint64_t size) noexcept nogil:
    """Half as much again, but nothing beyond what a value may ever need."""
    cdef uint64_t room = size + size // 2
    cdef uint64_t limit = value_limit(place)
    if room > limit:
        room = limit
    return room if room > size else size


cdef Block* own_block(Place* place, uint64_t room) noexcept nogil:
    """The place's block with this room, in nobody else's hands. Copy on write: a reply that still holds the old bytes keeps them.
    realloc is asked first because it moves large blocks by their pages. NULL without memory, nothing changed."""
    cdef Block* was = entry_block(place.found.entry)
    cdef uint64_t was_room = was.room
    cdef Block* b
    if block_shared(was):
        b = block_new(was.size, room)
        if b == NULL:
            return NULL
        memcpy(b.data, was.data, was.size)
        block_unref(was)
    elif room == was_room:
        return was
    else:
        b = <Block*>realloc(was, sizeof(Block) + room)
        if b == NULL:
            return NULL
        b.room = room
    memcpy(entry_value(place.found.entry), &b, sizeof(Block*))
    place.part.block_bytes += room - was_room
    shard_account(place.part)
    return b


cdef char* widen_block(Place* place, uint64_t size) noexcept nogil:
    cdef Block* b = entry_block(place.found.entry)
    b = own_block(place, b.room if b.room >= size else room_for(place, size))
    if b == NULL:
        return NULL
    b.size = size
    return b.data


cdef char* move_to_block(Place* place, View text, uint64_t size) noexcept nogil:
    cdef Block* b = block_new(size, room_for(place, size))
    if b == NULL:
        return NULL
    copy_bytes(b.data, text.ptr, text.len)
    return b.data if put_block(place, b, DEADLINE_KEEP) == ST_OK else NULL


cdef char* string_widen(Place* place, const StringValue* value, uint64_t size) noexcept nogil:
    cdef char* at
    if value.block != NULL:
        return widen_block(place, size)
    if size >= ENTRY_BLOCK_FROM:
        return move_to_block(place, value.view, size)
    if place_exists(place) and entry_is_bytes(place.found.entry):
        at = shard_resize(place.part, &place.found, size)
        if at != NULL:
            entry_set_encoding(place.found.entry, ENC_WIDENED, size)
        return at
    at = place_write(place, TYPE_STRING, ENC_WIDENED, size, DEADLINE_KEEP)      # a new key, or an integer, which becomes text
    if at != NULL:
        copy_bytes(at, value.view.ptr, value.view.len)
    return at


cdef int string_append(Place* place, View tail, uint64_t* length) noexcept nogil:
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef char* at
    cdef int status = string_get(place, scratch, &v)
    if status == ST_WRONGTYPE:
        return status
    length[0] = tail.len + v.view.len
    if length[0] > value_limit(place):
        return ST_TOO_BIG
    if status == ST_MISSING:
        return string_set(place, tail, NO_DEADLINE)                         # the text of an integer is one here, too
    at = string_widen(place, &v, length[0])
    if at == NULL:
        return ST_NOMEM
    copy_bytes(at + length[0] - tail.len, tail.ptr, tail.len)
    place_patched(place, length[0] - tail.len, tail.len)
    return ST_OK


cdef int string_set_range(Place* place, uint64_t offset, View value, uint64_t* length) noexcept nogil:
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef char* at
    cdef uint64_t limit = value_limit(place)
    cdef int status = string_get(place, scratch, &v)
    if status == ST_WRONGTYPE:
        return status
    length[0] = v.view.len
    if value.len == 0:
        return ST_OK
    if offset > limit or value.len > limit - offset:
        return ST_TOO_BIG
    if offset + value.len > length[0]:
        length[0] = offset + value.len
    at = string_widen(place, &v, length[0])
    if at == NULL:
        return ST_NOMEM
    if offset > v.view.len:
        memset(at + v.view.len, 0, offset - v.view.len)
    copy_bytes(at + offset, value.ptr, value.len)
    place_patched(place, offset, value.len)
    return ST_OK


# Numbers --------------------------------------------------------------------------------------------------------


cdef int read_int(const Place* place, int64_t* value) noexcept nogil:
    cdef const char* e = place.found.entry
    value[0] = 0
    if e == NULL:
        return ST_OK
    if entry_type(e) != TYPE_STRING:
        return ST_WRONGTYPE
    if entry_encoding(e) == ENC_INT:
        value[0] = entry_int(e)
        return ST_OK
    if entry_is_bytes(e) and parse_i64(entry_value(e), entry_value_len(e), value):
        return ST_OK
    return ST_NOT_INTEGER


cdef int string_increment(Place* place, int64_t by, int64_t* result) noexcept nogil:
    cdef char* e = place.found.entry
    cdef int64_t value
    cdef int status = read_int(place, &value)
    if status != ST_OK:
        return status
    if value > INT64_MAX - by if by > 0 else value < INT64_MIN - by:
        return ST_OVERFLOW
    value += by
    result[0] = value
    if e != NULL and entry_encoding(e) == ENC_INT and int_width(value) <= entry_value_len(e):
        int_write(entry_value(e), entry_value_len(e), value)
        place_changed(place)
        return ST_OK
    return string_set_int(place, value, DEADLINE_KEEP)


cdef int string_increment_float(Place* place, View by, char* out, size_t* length) noexcept nogil:
    """The sum is stored as text, even where it is an integer, as Redis stores it."""
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef long double value = 0
    cdef long double summand
    cdef int status = string_get(place, scratch, &v)
    if status == ST_WRONGTYPE:
        return status
    if status == ST_OK and not parse_decimal(v.view.ptr, v.view.len, &value):
        return ST_NOT_FLOAT
    if not parse_decimal(by.ptr, by.len, &summand):
        return ST_NOT_FLOAT
    value += summand
    if isnan(value) or isinf(value):
        return ST_NAN
    length[0] = format_decimal(out, value)
    return write_bytes(place, view_of(out, length[0]), ENC_RAW, DEADLINE_KEEP)
