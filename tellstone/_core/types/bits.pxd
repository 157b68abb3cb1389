"""Strings as bits and as packed integers: pure operations. Bit 0 is the highest bit of the first byte.

What reads works on a view of the value's bytes; beyond its end, and in a missing key, all bits are 0. What changes a place expects its
shard to be locked and answers a Status. No function here knows proto-max-bulk-len: whoever reads an offset holds it against that.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.base.bytesops cimport View
from tellstone._core.store.keyspace cimport Place

cdef struct Span:                   # of bits, both ends included and within the value
    uint64_t first
    uint64_t last

cdef struct Field:                  # an integer in a string, its highest bit first
    uint64_t offset                 # of that bit
    uint32_t width                  # 1 to 64; 1 to 63 when not signed
    bint signed

cdef enum FieldOverflow:            # what becomes of a number that does not fit
    OVERFLOW_WRAP                   # its lowest bits stay
    OVERFLOW_SAT                    # the nearest that fits
    OVERFLOW_FAIL                   # nothing: the field stays as it was

cdef enum BitOperation:
    BITS_AND
    BITS_OR
    BITS_XOR
    BITS_NOT

cdef inline int bits_at(View text, uint64_t offset) noexcept nogil:
    if offset >> 3 >= text.len:
        return 0
    return <unsigned char>text.ptr[offset >> 3] >> (7 - (offset & 7)) & 1

cdef inline uint64_t field_last(const Field* f) noexcept nogil:
    return f.offset + f.width - 1

cdef uint64_t bits_count(View text, const Span* span) noexcept nogil
# The first bit of that value within the span, or -1.
cdef int64_t bits_find(View text, bint bit, const Span* span) noexcept nogil
# The whole value as bytes to write to (through *text), with zero bytes at its end where it did not reach the bit `last`. Makes the
# key, keeps the deadline. ST_OK, ST_WRONGTYPE, ST_NOMEM. LIFETIME: as the views of types.string. Who has written says so with
# place_patched, with bytes up to that of `last`.
cdef int bits_reach(Place* place, uint64_t last, View* text) noexcept nogil
# Set a bit; *was takes its old value. As bits_reach.
cdef int bits_set(Place* place, uint64_t offset, bint bit, int* was) noexcept nogil
# `into`, of `size` bytes, becomes itself AND, OR or XOR a text that is as long or shorter.
cdef void bits_combine(BitOperation op, char* into, size_t size, View text) noexcept nogil
cdef void bits_invert(char* data, size_t size) noexcept nogil

cdef int64_t field_get(View text, const Field* f) noexcept nogil
# The field lies within the data. Of the value its lowest bits count.
cdef void field_put(char* data, const Field* f, uint64_t value) noexcept nogil
# What the field holds after value + by, where value is what it holds or any number to be set (with `by` 0). True: the sum fits, or how
# says what to do; False: it does not fit, and how is OVERFLOW_FAIL.
cdef bint field_sum(const Field* f, int64_t value, int64_t by, FieldOverflow how, int64_t* result) noexcept nogil
