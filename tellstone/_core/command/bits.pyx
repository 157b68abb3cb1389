"""Handlers of the commands on bits.

As with all strings: arguments, then the key's place, then types.bits, then the reply. ORDER: BITCOUNT and BITPOS look at the key before
some of their arguments, as Redis does, so that a missing key hides what is wrong with them.

A long value is counted and searched without the lock, over a count of its block. BITOP holds the shards of all its keys for as long as
it computes: its result is one moment's.
"""
from libc.stdint cimport UINT64_MAX, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tellstone._core.base.atomics cimport relaxed_u64
from tellstone._core.base.block cimport Block, block_new, block_ref, block_unref
from tellstone._core.base.bytesops cimport View, parse_i64, view_of
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_MISSING, ST_NOMEM, ST_OK, ST_REPLIED, ST_SYNTAX, ST_WRONGTYPE
from tellstone._core.command.arguments cimport argument_int, option_is
from tellstone._core.command.command cimport Context
from tellstone._core.command.places cimport Keys, keys_find, keys_lock, keys_unlock, open_key
from tellstone._core.protocol.reply cimport reply_array, reply_error, reply_int, reply_null
from tellstone._core.store.entry cimport ENTRY_BLOCK_FROM, NO_DEADLINE
from tellstone._core.store.keyspace cimport Place, keyspace_close, place_count, place_exists, place_patched, place_remove
from tellstone._core.types.bits cimport (
    BITS_AND, BITS_NOT, BITS_OR, BITS_XOR, BitOperation, Field, FieldOverflow, OVERFLOW_FAIL, OVERFLOW_SAT, OVERFLOW_WRAP, Span, bits_at,
    bits_combine, bits_count, bits_find, bits_invert, bits_reach, bits_set, field_get, field_last, field_put, field_sum,
)
from tellstone._core.types.string cimport STRING_SCRATCH, StringValue, string_get, string_length, string_set_block, string_set_made

check_layout(__name__)


cdef int refuse(Context* c, const char* line) noexcept nogil:
    reply_error(c.out, line)
    return ST_REPLIED


cdef inline uint64_t bit_limit(const Context* c) noexcept nogil:
    """No command numbers a bit from here on."""
    return relaxed_u64(&c.ks.max_value) * 8


cdef int read_offset(Context* c, View text, int64_t unit, uint64_t limit, uint64_t* offset) noexcept nogil:
    """The number of a bit, below the limit: ST_OK or ST_REPLIED. With a unit, "#" before it counts in units. A product past 2^63 wraps,
    as in Redis, and is refused or not by what comes out."""
    cdef int64_t number = 0
    cdef size_t skip = unit > 0 and text.len > 0 and text.ptr[0] == c'#'
    cdef bint good = parse_i64(text.ptr + skip, text.len - skip, &number)
    if skip:
        number = <int64_t>(<uint64_t>number * <uint64_t>unit)
    if not good or number < 0 or <uint64_t>number >= limit:
        return refuse(c, b"ERR bit offset is not an integer or out of range")
    offset[0] = <uint64_t>number
    return ST_OK


# One bit --------------------------------------------------------------------------------------------------------


# GETBIT key offset
cdef int cmd_getbit(Context* c) noexcept nogil:
    cdef Place place
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef uint64_t offset
    cdef int status = read_offset(c, c.argv[2], 0, bit_limit(c), &offset)
    if status != ST_OK:
        return status
    open_key(c, &place)
    place_count(&place)
    status = string_get(&place, scratch, &v)
    if status != ST_WRONGTYPE:
        reply_int(c.out, bits_at(v.view, offset))
    keyspace_close(&place)
    return status


# SETBIT key offset value
cdef int cmd_setbit(Context* c) noexcept nogil:
    cdef Place place
    cdef uint64_t offset
    cdef int64_t bit
    cdef int was
    cdef int status = read_offset(c, c.argv[2], 0, bit_limit(c), &offset)
    if status != ST_OK:
        return status
    if not parse_i64(c.argv[3].ptr, c.argv[3].len, &bit) or bit & ~1:
        return refuse(c, b"ERR bit is not an integer or out of range")
    open_key(c, &place)
    status = bits_set(&place, offset, <bint>bit, &was)
    keyspace_close(&place)
    if status == ST_OK:
        reply_int(c.out, was)
    return status


# Ranges of bits -------------------------------------------------------------------------------------------------

# A number found in a span of a value's bits.
ctypedef int64_t (*Look)(View text, const Span* span) noexcept nogil


cdef int64_t look_and_close(Place* place, const StringValue* v, Look look, const Span* span) noexcept nogil:
    """LIFETIME: the bytes of a block stay as they are while we hold a count, so nobody waits for the work on a long value."""
    cdef Block* block = v.block
    cdef int64_t found
    if block == NULL:
        found = look(v.view, span)
        keyspace_close(place)
        return found
    block_ref(block)
    keyspace_close(place)
    found = look(v.view, span)
    block_unref(block)
    return found


cdef int64_t look_for_count(View text, const Span* span) noexcept nogil:
    return <int64_t>bits_count(text, span)


cdef int64_t look_for_one(View text, const Span* span) noexcept nogil:
    return bits_find(text, True, span)


cdef int64_t look_for_zero(View text, const Span* span) noexcept nogil:
    return bits_find(text, False, span)


cdef int read_unit(View text, uint32_t* bits) noexcept nogil:
    """BIT or BYTE: ST_OK and how many bits one index spans, or ST_SYNTAX."""
    if option_is(text, b"bit", 3):
        bits[0] = 1
    elif option_is(text, b"byte", 4):
        bits[0] = 8
    else:
        return ST_SYNTAX
    return ST_OK


cdef bint span_between(int64_t start, int64_t end, uint32_t unit, size_t size, Span* span) noexcept nogil:
    """The bits of a value from one index to another. Negative ones count from the end; what lies outside is cut off, before the first
    index onto it. False: nothing is left."""
    cdef int64_t length = <int64_t>(size * 8 // unit)
    if start < 0:
        start = start + length if start + length > 0 else 0
    if end < 0:
        end = end + length if end + length > 0 else 0
    if end >= length:
        end = length - 1
    if start > end:
        return False
    span.first = <uint64_t>start * unit
    span.last = <uint64_t>end * unit + unit - 1
    return True


cdef int read_count_span(Context* c, size_t size, Span* span) noexcept nogil:
    """The arguments of BITCOUNT behind the key: ST_OK, ST_MISSING when they leave no bits, or an error. ORDER: two negative indexes in
    the wrong order are an empty range before anybody reads the unit."""
    cdef int64_t start = 0, end = -1
    cdef uint32_t unit = 8
    cdef int status = ST_OK
    if c.argc == 3 or c.argc > 5:
        return ST_SYNTAX
    if c.argc > 2:
        status = argument_int(c.argv[2], &start)
        if status == ST_OK:
            status = argument_int(c.argv[3], &end)
        if status == ST_OK and start < 0 and end < 0 and start > end:
            return ST_MISSING
    if status == ST_OK and c.argc == 5:
        status = read_unit(c.argv[4], &unit)
    if status == ST_OK and not span_between(start, end, unit, size, span):
        return ST_MISSING
    return status


# BITCOUNT key [start end [BYTE | BIT]]
cdef int cmd_bitcount(Context* c) noexcept nogil:
    """ORDER: a missing key and its type come before all arguments."""
    cdef Place place
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef Span span
    cdef int status
    open_key(c, &place)
    place_count(&place)
    status = string_get(&place, scratch, &v)
    if status == ST_OK:
        status = read_count_span(c, v.view.len, &span)
    if status == ST_OK:
        reply_int(c.out, look_and_close(&place, &v, look_for_count, &span))
        return ST_OK
    keyspace_close(&place)
    if status == ST_MISSING:
        reply_int(c.out, 0)
    return status


cdef int read_find_span(Context* c, size_t size, Span* span) noexcept nogil:
    """As read_count_span, for BITPOS. ORDER: start, unit, end."""
    cdef int64_t start = 0, end = -1
    cdef uint32_t unit = 8
    cdef int status = ST_OK
    if c.argc > 6:
        return ST_SYNTAX
    if c.argc > 3:
        status = argument_int(c.argv[3], &start)
    if status == ST_OK and c.argc > 5:
        status = read_unit(c.argv[5], &unit)
    if status == ST_OK and c.argc > 4:
        status = argument_int(c.argv[4], &end)
    if status == ST_OK and not span_between(start, end, unit, size, span):
        return ST_MISSING
    return status


# BITPOS key bit [start [end [BYTE | BIT]]]
cdef int cmd_bitpos(Context* c) noexcept nogil:
    """A value is followed by zero bits without end, unless the range has one. ORDER: the bit, then a missing key and its type, then the
    range."""
    cdef Place place
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef Span span
    cdef int64_t bit, found
    cdef int status = argument_int(c.argv[2], &bit)
    if status != ST_OK:
        return status
    if bit & ~1:
        return refuse(c, b"ERR The bit argument must be 1 or 0.")
    open_key(c, &place)
    place_count(&place)
    status = string_get(&place, scratch, &v)
    found = -bit if status == ST_MISSING else -1
    if status == ST_OK:
        status = read_find_span(c, v.view.len, &span)
    if status == ST_OK:
        found = look_and_close(&place, &v, look_for_one if bit else look_for_zero, &span)
        if found < 0 and not bit and c.argc < 5:
            found = <int64_t>span.last + 1
    else:
        keyspace_close(&place)
    if status >= 0:
        reply_int(c.out, found)
    return status


# Several values combined ----------------------------------------------------------------------------------------


cdef bint read_operation(View text, BitOperation* op) noexcept nogil:
    if option_is(text, b"and", 3):
        op[0] = BITS_AND
    elif option_is(text, b"or", 2):
        op[0] = BITS_OR
    elif option_is(text, b"xor", 3):
        op[0] = BITS_XOR
    elif option_is(text, b"not", 3):
        op[0] = BITS_NOT
    else:
        return False
    return True


cdef int longest_source(Context* c, const Keys* keys, uint64_t* longest) noexcept nogil:
    """All keys but the first, which is the target: ST_OK, or ST_WRONGTYPE when one holds no string."""
    cdef Place place
    cdef uint64_t length
    cdef uint32_t i
    longest[0] = 0
    for i in range(1, keys.count):
        keys_find(c, keys, i, &place)
        place_count(&place)
        if string_length(&place, &length) == ST_WRONGTYPE:
            return ST_WRONGTYPE
        if length > longest[0]:
            longest[0] = length
    return ST_OK


cdef void combine_sources(Context* c, const Keys* keys, BitOperation op, Block* result) noexcept nogil:
    """A source ends in zeros up to the longest one's length. No list of sources is kept: each is found, combined and forgotten."""
    cdef Place place
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef uint32_t i
    for i in range(1, keys.count):
        keys_find(c, keys, i, &place)
        string_get(&place, scratch, &v)
        if i > 1:
            bits_combine(op, result.data, result.size, v.view)
            continue
        memcpy(result.data, v.view.ptr, v.view.len)
        memset(result.data + v.view.len, 0, result.size - v.view.len)
    if op == BITS_NOT:
        bits_invert(result.data, result.size)


cdef int store_result(Place* place, Block* result) noexcept nogil:
    """Takes the block over."""
    cdef int status
    if result.size >= ENTRY_BLOCK_FROM:
        return string_set_block(place, result, NO_DEADLINE)
    status = string_set_made(place, view_of(result.data, result.size), NO_DEADLINE)
    block_unref(result)
    return status


cdef int bitop_locked(Context* c, const Keys* keys, BitOperation op, uint64_t* length) noexcept nogil:
    cdef Place target
    cdef Block* result
    cdef int status = longest_source(c, keys, length)
    if status != ST_OK:
        return status
    if length[0] == 0:
        keys_find(c, keys, 0, &target)
        if place_exists(&target):
            place_remove(&target)
        return ST_OK
    result = block_new(length[0], length[0])
    if result == NULL:
        return ST_NOMEM
    combine_sources(c, keys, op, result)
    keys_find(c, keys, 0, &target)
    return store_result(&target, result)


# BITOP AND | OR | XOR destkey key [key ...]
# BITOP NOT destkey key
cdef int cmd_bitop(Context* c) noexcept nogil:
    cdef Keys keys
    cdef BitOperation op = BITS_AND
    cdef uint64_t length
    cdef int status
    if not read_operation(c.argv[1], &op):
        return ST_SYNTAX
    if op == BITS_NOT and c.argc != 4:
        return refuse(c, b"ERR BITOP NOT must be called with a single source key.")
    keys_lock(c, &keys, 2, 1, c.argc - 2)
    status = bitop_locked(c, &keys, op, &length)
    keys_unlock(c, &keys)
    if status == ST_OK:
        reply_int(c.out, <int64_t>length)
    return status


# Fields ---------------------------------------------------------------------------------------------------------

cdef enum FieldVerb:
    FIELD_GET
    FIELD_SET
    FIELD_INCRBY

cdef struct FieldCall:              # one of BITFIELD's operations
    FieldVerb verb
    Field field
    FieldOverflow overflow          # of the last OVERFLOW before it
    int64_t number                  # the argument of SET and INCRBY
    uint32_t next                   # the argument after it
    uint64_t limit                  # of offsets

cdef struct FieldCalls:             # what all of them come to
    uint64_t limit
    uint32_t count
    bint writes
    uint64_t first                  # bits that one of them writes
    uint64_t last


cdef int read_field_type(Context* c, View text, Field* f) noexcept nogil:
    """i1 to i64 or u1 to u63: ST_OK or ST_REPLIED. A zero byte ends it, as in a C string."""
    cdef size_t len = 0
    cdef int64_t width = 0
    while len < text.len and text.ptr[len] != 0:
        len += 1
    f.signed = len > 0 and text.ptr[0] == c'i'
    if len < 2 or (not f.signed and text.ptr[0] != c'u') or not parse_i64(text.ptr + 1, len - 1, &width) \
            or width < 1 or width > (64 if f.signed else 63):
        return refuse(c, b"ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.")
    f.width = <uint32_t>width
    return ST_OK


cdef int read_overflow(Context* c, View text, FieldOverflow* how) noexcept nogil:
    if option_is(text, b"wrap", 4):
        how[0] = OVERFLOW_WRAP
    elif option_is(text, b"sat", 3):
        how[0] = OVERFLOW_SAT
    elif option_is(text, b"fail", 4):
        how[0] = OVERFLOW_FAIL
    else:
        return refuse(c, b"ERR Invalid OVERFLOW type specified")
    return ST_OK


cdef int read_verb(View text, uint32_t left, FieldVerb* verb) noexcept nogil:
    """A word with as many arguments behind it as it needs: ST_OK or ST_SYNTAX."""
    if left >= 2 and option_is(text, b"get", 3):
        verb[0] = FIELD_GET
    elif left >= 3 and option_is(text, b"set", 3):
        verb[0] = FIELD_SET
    elif left >= 3 and option_is(text, b"incrby", 6):
        verb[0] = FIELD_INCRBY
    else:
        return ST_SYNTAX
    return ST_OK


cdef void calls_begin(FieldCall* call, uint64_t limit) noexcept nogil:
    call.overflow = OVERFLOW_WRAP
    call.next = 2
    call.limit = limit


cdef int calls_next(Context* c, FieldCall* call) noexcept nogil:
    """The next operation of the request: ST_OK, ST_MISSING behind the last one, or an error."""
    cdef uint32_t at = call.next
    cdef int status
    while at + 1 < c.argc and option_is(c.argv[at], b"overflow", 8):
        status = read_overflow(c, c.argv[at + 1], &call.overflow)
        if status != ST_OK:
            return status
        at += 2
    if at >= c.argc:
        return ST_MISSING
    status = read_verb(c.argv[at], c.argc - at - 1, &call.verb)
    if status == ST_OK:
        status = read_field_type(c, c.argv[at + 1], &call.field)
    if status == ST_OK:
        status = read_offset(c, c.argv[at + 2], call.field.width, call.limit, &call.field.offset)
    if status == ST_OK and call.verb != FIELD_GET:
        status = argument_int(c.argv[at + 3], &call.number)
    call.next = at + (3 if call.verb == FIELD_GET else 4)
    return status


cdef int calls_check(Context* c, FieldCalls* calls) noexcept nogil:
    """Reads them all before any is done, so that an error leaves everything as it was: ST_OK or an error. INVARIANT: reading them again
    finds no error, because the limit is kept, which CONFIG may change at any time."""
    cdef FieldCall call
    cdef int status
    memset(calls, 0, sizeof(FieldCalls))
    calls.first = UINT64_MAX
    calls.limit = bit_limit(c)
    calls_begin(&call, calls.limit)
    status = calls_next(c, &call)
    while status == ST_OK:
        calls.count += 1
        if call.verb != FIELD_GET:
            calls.writes = True
            if call.field.offset < calls.first:
                calls.first = call.field.offset
            if field_last(&call.field) > calls.last:
                calls.last = field_last(&call.field)
        status = calls_next(c, &call)
    return ST_OK if status == ST_MISSING else status


cdef void call_run(Context* c, const FieldCall* call, View text) noexcept nogil:
    """GET answers the field, SET what it held before, INCRBY what it holds now; null where OVERFLOW FAIL kept it."""
    cdef int64_t was = field_get(text, &call.field)
    cdef int64_t now
    cdef bint fits
    if call.verb == FIELD_GET:
        reply_int(c.out, was)
        return
    if call.verb == FIELD_SET:
        fits = field_sum(&call.field, call.number, 0, call.overflow, &now)
    else:
        fits = field_sum(&call.field, was, call.number, call.overflow, &now)
    if not fits:
        reply_null(c.out, c.client.proto)
        return
    field_put(<char*>text.ptr, &call.field, <uint64_t>now)
    reply_int(c.out, was if call.verb == FIELD_SET else now)


cdef int fields_locked(Context* c, Place* place, const FieldCalls* calls) noexcept nogil:
    """The value reaches as far as any of them writes before the first one runs."""
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef FieldCall call
    cdef int status
    if calls.writes:
        status = bits_reach(place, calls.last, &v.view)
    else:
        place_count(place)
        status = string_get(place, scratch, &v)
    if status < 0:
        return status
    reply_array(c.out, calls.count)
    calls_begin(&call, calls.limit)
    while calls_next(c, &call) == ST_OK:
        call_run(c, &call, v.view)
    if calls.writes:
        place_patched(place, calls.first >> 3, (calls.last >> 3) - (calls.first >> 3) + 1)
    return ST_OK


cdef int bitfield(Context* c, bint only_reads) noexcept nogil:
    cdef Place place
    cdef FieldCalls calls
    cdef int status = calls_check(c, &calls)
    if status != ST_OK:
        return status
    if only_reads and calls.writes:
        return refuse(c, b"ERR BITFIELD_RO only supports the GET subcommand")
    open_key(c, &place)
    status = fields_locked(c, &place, &calls)
    keyspace_close(&place)
    return status


# BITFIELD key [GET encoding offset | [OVERFLOW WRAP | SAT | FAIL] SET encoding offset value | INCRBY encoding offset increment ...]
cdef int cmd_bitfield(Context* c) noexcept nogil:
    return bitfield(c, False)


# BITFIELD_RO key [GET encoding offset [GET encoding offset ...]]
cdef int cmd_bitfield_ro(Context* c) noexcept nogil:
    return bitfield(c, True)
