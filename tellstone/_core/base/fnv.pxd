"""FNV-1a of 64 bits: the hash that picks a key's shard, one key or four at a time (`fnv.h`)."""
from libc.stdint cimport uint64_t

cdef extern from "fnv.h" nogil:
    uint64_t fnv1a "ts_fnv1a"(const char* p, size_t n) noexcept
    void fnv1a_x4 "ts_fnv1a_x4"(const char** p, const size_t* n, uint64_t* out) noexcept
