"""Words of eight bytes with the first byte highest, and what the compiler knows about their bits (`bits.h`)."""
from libc.stdint cimport uint64_t

cdef extern from "bits.h" nogil:
    unsigned int popcount "TS_POPCOUNT"(uint64_t w) noexcept
    unsigned int leading_zeros "ts_leading_zeros"(uint64_t w) noexcept            # w is not 0
    uint64_t get_first_high "ts_get_first_high"(const void* p) noexcept
    void put_first_high "ts_put_first_high"(void* p, uint64_t w) noexcept
