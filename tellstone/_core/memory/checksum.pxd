"""Checksums of stored bytes.

CRC-64 with the polynomial of D. T. Jones, 0xad93d23594c935a9, bits reflected, nothing inverted: what Redis puts behind a
dump. The checksum of "123456789" is 0xe9c6d914c4b8d9ca.
"""
from libc.stdint cimport uint64_t

# Goes on from the checksum of the bytes before these; 0 begins.
cdef uint64_t crc64(uint64_t crc, const char* p, size_t n) noexcept nogil
