"""Checksums (see checksum.pxd).

Eight bytes a step over eight tables (M. E. Kounavis and F. L. Berry, "A Systematic Approach to Building High Performance
Software-Based CRC Generators", 2005): table k holds what a byte does to the checksum when k more bytes follow it. The
tables are made at import. Words are read as they lie in memory, which is little-endian on every machine we build for.
"""
from libc.stdint cimport uint8_t, uint64_t

from tellstone._core.base.bytesops cimport get_u64
from tellstone._core.base.stamp cimport check_layout

check_layout(__name__)

cdef enum:
    STEP = 8

cdef uint64_t JONES = 0x95ac9329ac4bc9b5ULL     # the polynomial, its bits reflected
cdef uint64_t jones_tables[STEP][256]


cdef void fill_tables(uint64_t polynomial, uint64_t (*tables)[256]) noexcept nogil:
    cdef uint64_t crc
    cdef int byte, bit, k
    for byte in range(256):
        crc = <uint64_t>byte
        for bit in range(8):
            crc = crc >> 1 ^ (polynomial if crc & 1 else 0)
        tables[0][byte] = crc
    for k in range(1, STEP):
        for byte in range(256):
            crc = tables[k - 1][byte]
            tables[k][byte] = crc >> 8 ^ tables[0][crc & 0xFF]


fill_tables(JONES, jones_tables)


cdef uint64_t crc64(uint64_t crc, const char* p, size_t n) noexcept nogil:
    while n >= STEP:
        crc ^= get_u64(p)
        crc = (jones_tables[7][crc & 0xFF] ^ jones_tables[6][crc >> 8 & 0xFF]
               ^ jones_tables[5][crc >> 16 & 0xFF] ^ jones_tables[4][crc >> 24 & 0xFF]
               ^ jones_tables[3][crc >> 32 & 0xFF] ^ jones_tables[2][crc >> 40 & 0xFF]
               ^ jones_tables[1][crc >> 48 & 0xFF] ^ jones_tables[0][crc >> 56])
        p += STEP
        n -= STEP
    while n:
        crc = crc >> 8 ^ jones_tables[0][(crc ^ <uint8_t>p[0]) & 0xFF]
        p += 1
        n -= 1
    return crc
