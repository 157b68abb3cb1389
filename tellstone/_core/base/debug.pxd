"""Assertions and counts of live objects of the debug build, and poisoning of free arena memory under AddressSanitizer (`debug.h`).

Whoever makes one of the counted objects adds one to its kind, whoever frees it takes one off; a test run on the debug build ends every
module of tests with the counts it began with.
"""
from libc.stdint cimport uintptr_t

cdef extern from "debug.h" nogil:
    enum: LIVE_KEYSPACE "TS_LIVE_KEYSPACE"
    enum: LIVE_PARTITION "TS_LIVE_PARTITION"
    enum: LIVE_BLOCK "TS_LIVE_BLOCK"
    enum: LIVE_SESSION "TS_LIVE_SESSION"
    enum: LIVE_PARKED "TS_LIVE_PARKED"

    const bint DEBUG_BUILD "TS_DEBUG_BUILD"
    void live_attach "ts_live_attach"(uintptr_t counts) noexcept
    void live_add "ts_live_add"(int kind, int n) noexcept
    void check "TS_ASSERT"(bint ok) noexcept
    void poison "TS_POISON"(void* p, size_t n) noexcept
    void unpoison "TS_UNPOISON"(void* p, size_t n) noexcept
