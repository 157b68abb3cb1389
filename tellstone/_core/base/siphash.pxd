"""SipHash-1-3, the keyed hash of a table under attack (`siphash.h`)."""
from libc.stdint cimport uint64_t

cdef extern from "siphash.h" nogil:
    uint64_t siphash13 "ts_siphash13"(const uint64_t* key, const char* p, size_t n) noexcept
