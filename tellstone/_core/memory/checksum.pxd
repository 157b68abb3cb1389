"""Checksums of stored bytes.

CRC-64 with the polynomial of D. T. Jones, 0xad93d23594c935a9, bits reflected, nothing inverted: what Redis puts behind a
dump. The checksum of "123456789" is 0xe9c6d914c4b8d9ca.

CRC-32C (Castagnoli), 0x1edc6f41, bits reflected, inverted before and after, as in iSCSI (RFC 3720): what our own files have. The
checksum of "123456789" is 0xe3069283. By the processor's instruction where it has one (`crc32c.h`).
"""
from libc.stdint cimport uint32_t, uint64_t

# Both go on from the checksum of the bytes before these; 0 begins.
cdef uint64_t crc64(uint64_t crc, const char* p, size_t n) noexcept nogil
cdef uint32_t crc32c(uint32_t crc, const char* p, size_t n) noexcept nogil
# The same without the instruction.
cdef uint32_t crc32c_by_tables(uint32_t crc, const char* p, size_t n) noexcept nogil
