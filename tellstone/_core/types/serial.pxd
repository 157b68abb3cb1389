"""A value in Redis's own serialization, as DUMP hands it out and RESTORE takes it (Redis 7.2: version 11 of its file format).

    u8    type of the value
    ...   the value
    u16   version of the format
    u64   CRC-64 of everything before it

A string is a length and its bytes, or one of four encodings, told by the two highest bits of the first byte:

    00......            a length of 6 bits
    01......  u8        of 14 bits, the high ones first
    0x80      u32       of 32 bits, the highest byte first; 0x81: u64
    0xC0      i8        an integer, the lowest byte first; 0xC1: i16, 0xC2: i32
    0xC3                compressed by LZF (M. Lehmann): length compressed, length of the string, the compressed bytes

Integers of up to 32 bits are written as such, and strings above 20 bytes are compressed where that saves at least four,
so that the bytes equal those that Redis writes. LZF's are runs of literals and references to up to 8192 bytes back:

    000nnnnn            n + 1 bytes follow
    nnnooooo u8         n + 2 bytes (n below 7) from o + 1 back, o with its five high bits first
    111ooooo u8 u8      n + 9 bytes, n in the first u8, from o + 1 back

So far the only type is a string. Nothing here needs a lock.
"""
from libc.stdint cimport uint64_t

from tellstone._core.base.bytesops cimport View

cdef enum:
    SERIAL_OVERHEAD = 20            # bytes that a payload may be longer than its string

cdef enum SerialStatus:
    SERIAL_OK = 0
    SERIAL_BAD_FRAME = -1           # a later version, or another checksum
    SERIAL_BAD_VALUE = -2

cdef struct SerialString:
    uint64_t length                 # of the string
    bint compressed                 # its bytes come from serial_expand, else they are `stored`
    View stored                     # within the payload, or `digits`
    char digits[16]                 # of an integer

# Write the payload of a string; answers its length. Room: value.len + SERIAL_OVERHEAD.
cdef size_t serial_write_string(char* out, View value) noexcept nogil
# Look at a payload. LIFETIME: `s` points into it and into itself.
cdef SerialStatus serial_read_string(View payload, SerialString* s) noexcept nogil
# The bytes of a compressed string, s.length of them; False: they are not what was compressed.
cdef bint serial_expand(const SerialString* s, char* to) noexcept nogil
