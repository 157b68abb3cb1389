"""Strings as bits and as packed integers (see bits.pxd). Counting, searching and combining go eight bytes at a time."""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from tellstone._core.base.bits cimport get_first_high, leading_zeros, popcount, put_first_high
from tellstone._core.base.bytesops cimport View, copy_bytes, get_u64, put_u64, view_of
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_NOMEM, ST_OK, ST_WRONGTYPE
from tellstone._core.store.keyspace cimport Place, place_patched
from tellstone._core.types.string cimport STRING_SCRATCH, StringValue, string_get, string_widen

check_layout(__name__)

cdef enum:
    FIELD_BYTES = 9                 # a field of 64 bits that begins inside a byte touches so many

cdef uint64_t ALL = 0xFFFFFFFFFFFFFFFFULL


# Reading --------------------------------------------------------------------------------------------------------


cdef uint64_t count_bytes(const char* p, size_t n) noexcept nogil:
    cdef uint64_t bits = 0
    cdef uint64_t rest = 0
    while n >= 8:
        bits += popcount(get_u64(p))
        p += 8
        n -= 8
    memcpy(&rest, p, n)
    return bits + popcount(rest)


cdef uint64_t bits_count(View text, const Span* span) noexcept nogil:
    """Whole bytes are counted, and then what of the first and the last one lies outside is taken off."""
    cdef uint64_t first = span.first >> 3
    cdef uint64_t last = span.last >> 3
    cdef unsigned int before = <unsigned char>text.ptr[first] & ~(0xFF >> (span.first & 7))
    cdef unsigned int behind = <unsigned char>text.ptr[last] & (0x7F >> (span.last & 7))
    return count_bytes(text.ptr + first, last - first + 1) - popcount(before) - popcount(behind)


cdef inline uint64_t word_at(View text, uint64_t at) noexcept nogil:
    """Eight bytes, the first one highest; zeros behind the end."""
    cdef char word[8]
    if at + 8 <= text.len:
        return get_first_high(text.ptr + at)
    memset(word, 0, 8)
    copy_bytes(word, text.ptr + at, text.len - at)
    return get_first_high(word)


cdef int64_t bits_find(View text, bint bit, const Span* span) noexcept nogil:
    """A search for 0 is one for 1 in the inverted words. What it finds behind the span does not count."""
    cdef uint64_t flip = 0 if bit else ALL
    cdef uint64_t at = span.first >> 3
    cdef uint64_t end = (span.last >> 3) + 1
    cdef uint64_t word = (word_at(text, at) ^ flip) & (ALL >> (span.first & 7))
    if word == 0:
        at += 8
        while at + 8 <= end and get_u64(text.ptr + at) == flip:
            at += 8
        if at >= end:
            return -1
        word = word_at(text, at) ^ flip
        if word == 0:
            return -1
    at = at * 8 + leading_zeros(word)
    return <int64_t>at if at <= span.last else -1


# Changing -------------------------------------------------------------------------------------------------------


cdef int bits_reach(Place* place, uint64_t last, View* text) noexcept nogil:
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef uint64_t size = (last >> 3) + 1
    cdef char* at
    if string_get(place, scratch, &v) == ST_WRONGTYPE:
        return ST_WRONGTYPE
    if size < v.view.len:
        size = v.view.len
    at = string_widen(place, &v, size)
    if at == NULL:
        return ST_NOMEM
    memset(at + v.view.len, 0, size - v.view.len)
    text[0] = view_of(at, size)
    return ST_OK


cdef int bits_set(Place* place, uint64_t offset, bint bit, int* was) noexcept nogil:
    cdef View text
    cdef char* byte
    cdef int mask = 0x80 >> (offset & 7)
    cdef int status = bits_reach(place, offset, &text)
    if status != ST_OK:
        return status
    was[0] = bits_at(text, offset)
    byte = <char*>text.ptr + (offset >> 3)
    byte[0] = <char>(byte[0] | mask if bit else byte[0] & ~mask)
    place_patched(place, offset >> 3, 1)
    return ST_OK


cdef inline uint64_t combined(BitOperation op, uint64_t a, uint64_t b) noexcept nogil:
    if op == BITS_AND:
        return a & b
    return a | b if op == BITS_OR else a ^ b


cdef inline void combine(BitOperation op, char* into, View text) noexcept nogil:
    """`op` is a constant where this is called, so that each operation gets its own loop."""
    cdef size_t at = 0
    while at + 8 <= text.len:
        put_u64(into + at, combined(op, get_u64(into + at), get_u64(text.ptr + at)))
        at += 8
    while at < text.len:
        into[at] = <char>combined(op, <unsigned char>into[at], <unsigned char>text.ptr[at])
        at += 1


cdef void bits_combine(BitOperation op, char* into, size_t size, View text) noexcept nogil:
    if op == BITS_AND:
        combine(BITS_AND, into, text)
        memset(into + text.len, 0, size - text.len)
    elif op == BITS_OR:
        combine(BITS_OR, into, text)
    else:
        combine(BITS_XOR, into, text)


cdef void bits_invert(char* data, size_t size) noexcept nogil:
    cdef size_t at = 0
    while at + 8 <= size:
        put_u64(data + at, ~get_u64(data + at))
        at += 8
    while at < size:
        data[at] = <char>~data[at]
        at += 1


# Fields ---------------------------------------------------------------------------------------------------------


cdef inline int64_t signed_of(uint64_t bits, unsigned int width) noexcept nogil:
    """The lowest `width` bits as a number in two's complement."""
    return <int64_t>(bits << (64 - width)) >> (64 - width)


cdef int64_t field_get(View text, const Field* f) noexcept nogil:
    cdef uint64_t byte = f.offset >> 3
    cdef unsigned int shift = f.offset & 7
    cdef unsigned char bytes[FIELD_BYTES]
    cdef uint64_t bits
    if byte >= text.len:
        return 0
    memset(bytes, 0, FIELD_BYTES)
    memcpy(bytes, text.ptr + byte, text.len - byte if text.len - byte < FIELD_BYTES else FIELD_BYTES)
    bits = get_first_high(bytes) << shift | bytes[8] >> (8 - shift)
    if f.signed:
        return <int64_t>bits >> (64 - f.width)
    return <int64_t>(bits >> (64 - f.width))


cdef void field_put(char* data, const Field* f, uint64_t value) noexcept nogil:
    """The bytes that the field touches are taken out, changed and put back; those behind them may not be ours."""
    cdef char* at = data + (f.offset >> 3)
    cdef unsigned int shift = f.offset & 7
    cdef size_t touched = (shift + f.width + 7) >> 3
    cdef uint64_t bits = value << (64 - f.width)                # from here on the field begins at the highest bit
    cdef uint64_t mask = ALL << (64 - f.width)
    cdef unsigned char bytes[FIELD_BYTES]
    memset(bytes, 0, FIELD_BYTES)
    memcpy(bytes, at, touched)
    put_first_high(bytes, (get_first_high(bytes) & ~(mask >> shift)) | bits >> shift)
    bytes[8] = <unsigned char>((bytes[8] & ~(mask << (8 - shift))) | (bits << (8 - shift) & 0xFF))
    memcpy(at, bytes, touched)


cdef bint unsigned_sum(unsigned int width, uint64_t value, int64_t by, FieldOverflow how, int64_t* result) noexcept nogil:
    cdef uint64_t most = ALL >> (64 - width)
    cdef uint64_t sum = value + <uint64_t>by
    cdef bint above = value > most or (by > 0 and by > <int64_t>(most - value))
    cdef bint below = not above and by < 0 and by < -<int64_t>value
    if (above or below) and how == OVERFLOW_SAT:
        sum = most if above else 0
    result[0] = <int64_t>(sum & most)
    return how != OVERFLOW_FAIL or not (above or below)


cdef bint signed_sum(unsigned int width, int64_t value, int64_t by, FieldOverflow how, int64_t* result) noexcept nogil:
    """Room to the ends is counted modulo 2^64, as Redis does: a number to be set that lies more than 2^63 below the greatest one counts
    as above it. The room is exact wherever the number comes from a field."""
    cdef int64_t most = <int64_t>(((<uint64_t>1) << (width - 1)) - 1)
    cdef int64_t least = -most - 1
    cdef int64_t up = <int64_t>(<uint64_t>most - <uint64_t>value)
    cdef int64_t down = <int64_t>(<uint64_t>least - <uint64_t>value)
    cdef bint above = value > most or (by > up and (width < 64 or (value >= 0 and by > 0)))
    cdef bint below = not above and (value < least or (by < down and (width < 64 or (value < 0 and by < 0))))
    if (above or below) and how == OVERFLOW_SAT:
        result[0] = most if above else least
    else:
        result[0] = signed_of(<uint64_t>value + <uint64_t>by, width)
    return how != OVERFLOW_FAIL or not (above or below)


cdef bint field_sum(const Field* f, int64_t value, int64_t by, FieldOverflow how, int64_t* result) noexcept nogil:
    if f.signed:
        return signed_sum(f.width, value, by, how, result)
    return unsigned_sum(f.width, <uint64_t>value, by, how, result)
