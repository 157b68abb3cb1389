"""What a key costs (see memory.pxd)."""
from libc.stdint cimport INT64_MAX, int64_t, uint32_t, uint64_t

from tellstone._core.base.block cimport Block
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_OK, ST_SYNTAX
from tellstone._core.command.arguments cimport argument_int, option_is
from tellstone._core.command.command cimport Context
from tellstone._core.memory.arena cimport arena_slot_size
from tellstone._core.protocol.reply cimport reply_int, reply_null
from tellstone._core.store.entry cimport ENC_BLOCK, entry_block, entry_encoding, entry_size
from tellstone._core.store.keyspace cimport Place, keyspace_close, keyspace_open, place_exists
from tellstone._core.store.table cimport table_bytes

check_layout(__name__)

cdef enum:
    BLOCK_HEADER = 24               # of a counted block, at most


cdef int read_samples(Context* c, int64_t* samples) noexcept nogil:
    """0 looks at everything. ST_OK, ST_SYNTAX or ST_NOT_INTEGER."""
    cdef uint32_t i = 3
    cdef int status
    while i < c.argc:
        if i + 1 == c.argc or not option_is(c.argv[i], b"samples", 7):
            return ST_SYNTAX
        status = argument_int(c.argv[i + 1], samples)
        if status != ST_OK:
            return status
        if samples[0] < 0:
            return ST_SYNTAX
        if samples[0] == 0:
            samples[0] = INT64_MAX
        i += 2
    return ST_OK


cdef uint64_t bytes_of(const Place* place) noexcept nogil:
    """The entry's slot of the arena, the block that it points to, and its share of the table."""
    cdef const char* e = place.found.entry
    cdef uint64_t size = arena_slot_size(entry_size(e)) + table_bytes(&place.part.table) // place.part.table.count
    cdef const Block* b
    if entry_encoding(e) == ENC_BLOCK:
        b = entry_block(e)
        size += BLOCK_HEADER + b.room
    return size


# MEMORY USAGE key [SAMPLES count]
cdef int cmd_memory_usage(Context* c) noexcept nogil:
    cdef Place place
    cdef int64_t samples = 5
    cdef uint64_t size = 0
    cdef int status = read_samples(c, &samples)
    if status != ST_OK:
        return status
    keyspace_open(c.ks, c.client.db, c.argv[2], c.hash, c.now, &place)
    if place_exists(&place):
        size = bytes_of(&place)
    keyspace_close(&place)
    if size:
        reply_int(c.out, <int64_t>size)
    else:
        reply_null(c.out, c.client.proto)
    return ST_OK
