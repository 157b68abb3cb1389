"""Strings: pure operations on the value of a place. No replies, no argument vectors, no clocks.

A string is stored as its bytes, as an integer where it was set as the text of one in canonical form (Redis's int encoding), or as a
counted block from ENTRY_BLOCK_FROM bytes on (store.entry). Every function expects the place's shard to be locked, answers a Status,
and works on the database's real value: a missing key is an empty string where Redis treats it so.

LIFETIME: views handed out point into the entry, its block or the caller's scratch, and are good until the next change of the
partition or until the lock is let go. Views handed in must not point into the place's own entry or block.
"""
from libc.stdint cimport int64_t, uint8_t, uint64_t

from tellstone._core.base.block cimport Block
from tellstone._core.base.bytesops cimport View, format_i64, view_of
from tellstone._core.base.status cimport ST_MISSING, ST_OK, ST_WRONGTYPE
from tellstone._core.store.entry cimport (
    ENC_INT, ENC_WIDENED, ENTRY_HEADER, TYPE_STRING, entry_block, entry_encoding, entry_int, entry_type, entry_value, entry_value_len,
)
from tellstone._core.store.keyspace cimport Place

cdef enum:
    STRING_SCRATCH = 32             # bytes that string_get may need to print an integer

cdef struct StringValue:
    View view                       # all of the value's bytes
    Block* block                    # not NULL: view is this block's content; a reply may take a count and skip the copy

cdef inline int string_get(const Place* place, char* scratch, StringValue* out) noexcept nogil:
    """ST_OK, or ST_MISSING or ST_WRONGTYPE with an empty view."""
    cdef const char* e = place.found.entry
    cdef uint8_t encoding
    out.block = NULL
    if e != NULL and <uint8_t>e[0] == TYPE_STRING:          # ENC_RAW, no deadline, no long key: most of them
        out.view = view_of(e + ENTRY_HEADER + <uint8_t>e[1], entry_value_len(e))
        return ST_OK
    out.view = view_of(scratch, 0)
    if e == NULL:
        return ST_MISSING
    if entry_type(e) != TYPE_STRING:
        return ST_WRONGTYPE
    encoding = entry_encoding(e)
    if encoding <= ENC_WIDENED:
        out.view = view_of(entry_value(e), entry_value_len(e))
    elif encoding == ENC_INT:
        out.view = view_of(scratch, format_i64(scratch, entry_int(e)))
    else:
        out.block = entry_block(e)
        out.view = view_of(out.block.data, out.block.size)
    return ST_OK

# Replace whatever is there (any type). deadline: NO_DEADLINE, DEADLINE_KEEP or Unix ms. ST_OK or ST_NOMEM, with nothing changed.
cdef int string_set(Place* place, View value, int64_t deadline) noexcept nogil
cdef int string_set_int(Place* place, int64_t value, int64_t deadline) noexcept nogil
# The same for bytes that a command has put together, fewer than ENTRY_BLOCK_FROM: no integer is seen in them, and to Redis they
# are "raw".
cdef int string_set_made(Place* place, View value, int64_t deadline) noexcept nogil
# The same for a long value that was copied before the lock was taken, so that nobody waits for the copy. string_set_block takes the
# caller's count over, also when it fails.
cdef Block* string_new_block(View value) noexcept nogil              # NULL without memory
cdef int string_set_block(Place* place, Block* b, int64_t deadline) noexcept nogil
# Length in bytes into *length. ST_OK (0 when missing) or ST_WRONGTYPE.
cdef int string_length(const Place* place, uint64_t* length) noexcept nogil
# Add to the end; makes the key. Keeps the deadline. ST_OK, ST_WRONGTYPE, ST_TOO_BIG (over ks.max_value), ST_NOMEM.
cdef int string_append(Place* place, View tail, uint64_t* length) noexcept nogil
# The value (which string_get has read) as bytes to write to, lengthened to `size`; the bytes behind its old end are anything. Makes a
# missing key. NULL without memory, nothing changed. Who has written says so with place_patched.
cdef char* string_widen(Place* place, const StringValue* value, uint64_t size) noexcept nogil
# Overwrite from offset on, padding with zero bytes; an empty value changes nothing and makes no key. Otherwise as string_append.
cdef int string_set_range(Place* place, uint64_t offset, View value, uint64_t* length) noexcept nogil
# Add to the integer. Keeps the deadline. ST_OK, ST_WRONGTYPE, ST_NOT_INTEGER, ST_OVERFLOW, ST_NOMEM.
cdef int string_increment(Place* place, int64_t by, int64_t* result) noexcept nogil
# Add `by`, the text of a number, in long double; the sum's text (base.decimal) becomes the value and goes into out (room DECIMAL_ROOM).
# Keeps the deadline. ST_OK, ST_WRONGTYPE, ST_NOT_FLOAT (either number), ST_NAN, ST_NOMEM.
cdef int string_increment_float(Place* place, View by, char* out, size_t* length) noexcept nogil
