"""Atomics with named memory orders.

`load_` acquires, `store_` releases, `swap_u64` and `add_u64` are sequentially consistent (the grace period of
`store.grace` needs a store that is ordered before the loads that follow it), `swap_u32`, `add_u32` and `cas_u32`
acquire and release. `relaxed_` orders nothing: for counters that are only reported, and for look-ahead hints.
"""
from libc.stdint cimport uint32_t, uint64_t

cdef extern from "atomics.h" nogil:
    uint32_t load_u32 "ts_load_u32"(const uint32_t* p) noexcept
    uint64_t load_u64 "ts_load_u64"(const uint64_t* p) noexcept
    void* load_ptr "ts_load_ptr"(void** p) noexcept
    void store_u32 "ts_store_u32"(uint32_t* p, uint32_t value) noexcept
    void store_u64 "ts_store_u64"(uint64_t* p, uint64_t value) noexcept
    void store_ptr "ts_store_ptr"(void** p, void* value) noexcept
    uint64_t swap_u64 "ts_swap_u64"(uint64_t* p, uint64_t value) noexcept
    uint32_t swap_u32 "ts_swap_u32"(uint32_t* p, uint32_t value) noexcept
    uint32_t add_u32 "ts_add_u32"(uint32_t* p, uint32_t value) noexcept
    uint64_t add_u64 "ts_add_u64"(uint64_t* p, uint64_t value) noexcept
    bint cas_u32 "ts_cas_u32"(uint32_t* p, uint32_t was, uint32_t to) noexcept
    uint64_t relaxed_u64 "ts_relaxed_u64"(const uint64_t* p) noexcept
    uint32_t relaxed_u32 "ts_relaxed_u32"(const uint32_t* p) noexcept
