"""Checksums (see checksum.pxd).

Eight bytes a step over eight tables (M. E. Kounavis and F. L. Berry, "A Systematic Approach to Building High Performance
Software-Based CRC Generators", 2005): table k holds what a byte does to the checksum when k more bytes follow it. The
tables are made at import. Words are read as they lie in memory, which is little-endian on every machine we build for.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tellstone._core.base.bytesops cimport get_u64
from tellstone._core.base.stamp cimport check_layout

cdef extern from "tellstone/_core/memory/crc32c.h" nogil:
    const bint CRC32C_HERE "TS_CRC32C_HERE"
    const size_t CRC32C_LANE "TS_CRC32C_LANE"
    bint crc32c_there "ts_crc32c_there"() noexcept
    uint32_t crc32c_by_instruction "ts_crc32c"(uint32_t crc, const char* p, size_t n, const uint32_t (*shift)[256]) noexcept

check_layout(__name__)

cdef enum:
    STEP = 8

cdef uint64_t JONES = 0x95ac9329ac4bc9b5ULL     # polynomials, their bits reflected
cdef uint64_t CASTAGNOLI = 0x82f63b78ULL
cdef uint64_t jones_tables[STEP][256]
cdef uint32_t castagnoli_tables[STEP][256]
cdef uint32_t lane_shift[4][256]                # byte k of a checksum, after CRC32C_LANE zero bytes
cdef bint instruction = False


cdef inline uint64_t byte_crc(uint64_t polynomial, uint64_t byte) noexcept nogil:
    cdef int bit
    for bit in range(8):
        byte = byte >> 1 ^ (polynomial if byte & 1 else 0)
    return byte


cdef void fill_jones() noexcept nogil:
    cdef int byte, k
    cdef uint64_t crc
    for byte in range(256):
        jones_tables[0][byte] = byte_crc(JONES, <uint64_t>byte)
    for k in range(1, STEP):
        for byte in range(256):
            crc = jones_tables[k - 1][byte]
            jones_tables[k][byte] = crc >> 8 ^ jones_tables[0][crc & 0xFF]


cdef void fill_castagnoli() noexcept nogil:
    cdef int byte, k
    cdef size_t zero
    cdef uint32_t crc
    for byte in range(256):
        castagnoli_tables[0][byte] = <uint32_t>byte_crc(CASTAGNOLI, <uint64_t>byte)
    for k in range(1, STEP):
        for byte in range(256):
            crc = castagnoli_tables[k - 1][byte]
            castagnoli_tables[k][byte] = crc >> 8 ^ castagnoli_tables[0][crc & 0xFF]
    for k in range(32):                         # a checksum is the exclusive or of its bits: shift each, then put bytes together
        crc = (<uint32_t>1) << k
        for zero in range(CRC32C_LANE):
            crc = crc >> 8 ^ castagnoli_tables[0][crc & 0xFF]
        for byte in range(256):
            if byte >> (k & 7) & 1:
                lane_shift[k >> 3][byte] ^= crc


fill_jones()
fill_castagnoli()
instruction = CRC32C_HERE and crc32c_there()


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


cdef uint32_t crc32c_by_tables(uint32_t crc, const char* p, size_t n) noexcept nogil:
    cdef uint64_t word
    crc = ~crc
    while n >= STEP:
        word = get_u64(p) ^ crc
        crc = (castagnoli_tables[7][word & 0xFF] ^ castagnoli_tables[6][word >> 8 & 0xFF]
               ^ castagnoli_tables[5][word >> 16 & 0xFF] ^ castagnoli_tables[4][word >> 24 & 0xFF]
               ^ castagnoli_tables[3][word >> 32 & 0xFF] ^ castagnoli_tables[2][word >> 40 & 0xFF]
               ^ castagnoli_tables[1][word >> 48 & 0xFF] ^ castagnoli_tables[0][word >> 56])
        p += STEP
        n -= STEP
    while n:
        crc = crc >> 8 ^ castagnoli_tables[0][(crc ^ <uint8_t>p[0]) & 0xFF]
        p += 1
        n -= 1
    return ~crc


cdef uint32_t crc32c(uint32_t crc, const char* p, size_t n) noexcept nogil:
    if instruction:
        return ~crc32c_by_instruction(~crc, p, n, lane_shift)
    return crc32c_by_tables(crc, p, n)
