"""Requests that read and write numbered keys, encoded beforehand but for the digits of the key.

Key 42 is `key:000000000042`, as redis-benchmark writes it. The value written to a key begins with the key's name, the rest is the same
for all keys. So a reply shows by itself whether it belongs to the key that was asked for, whoever has written it, and in which order.
A value that is shorter than the name is the end of it; one of digits alone has letters in their place, since servers keep integers
in ways of their own, which are not what is to be measured.

A request is a copy of its text and the digits, *measured* at 15 ns for a GET, the drawing of the key included. A ring of finished
requests would spare that, but ask for the same keys over and over, and push the batch that is sent next out of the processor's cache.
"""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from tellstone._core.base.bytesops cimport View, format_u64
from tellstone._core.base.random cimport random_next
from tellstone._core.load.draw cimport Draw

cdef enum:
    KEY_LEN = 16
    DIGITS = 12
    LETTER = 0x31                   # from a digit to its letter: c'a' - c'0'

cdef struct Encoded:                # one kind of request
    const char* text
    size_t len
    size_t key_at
    size_t value_at
    size_t mark                     # bytes of a value that tell the key; 0: the request has no value

cdef struct Mix:
    Encoded read
    Encoded write
    size_t value_size
    uint64_t reads_below            # of 2^32: how often a request reads
    Draw draw

cdef inline void key_number(char* key, uint32_t number) noexcept nogil:
    """Put a number into the name of key 0."""
    cdef char digits[20]
    cdef size_t n = format_u64(digits, number)
    memcpy(key + KEY_LEN - n, digits, n)

cdef inline void key_mark(const char* key, size_t mark, char* value) noexcept nogil:
    """The beginning of the value of a key."""
    cdef size_t i
    memcpy(value, key + KEY_LEN - mark, mark)
    if mark <= DIGITS:
        for i in range(mark):
            value[i] += LETTER

cdef inline char* request_write(const Encoded* kind, uint32_t number, char* out) noexcept nogil:
    """Where the request ends."""
    cdef char* key = out + kind.key_at
    memcpy(out, kind.text, kind.len)
    key_number(key, number)
    if kind.mark:
        key_mark(key, kind.mark, out + kind.value_at)
    return out + kind.len

cdef inline bint mix_reads(const Mix* m, uint64_t* state) noexcept nogil:
    """Whether the next request is to read."""
    if m.reads_below == 0:
        return False
    return m.reads_below >> 32 or random_next(state) >> 32 < m.reads_below

cdef bint value_holds(const Mix* m, uint32_t number, View value) noexcept nogil      # it is what `number` must hold
cdef size_t request_max(const Mix* m) noexcept nogil                                # bytes of the longer kind

cdef class Workload:
    cdef Mix mix
    cdef readonly str protocol
    cdef bytes read_text            # keep what the mix points to
    cdef bytes write_text
