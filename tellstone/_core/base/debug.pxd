"""Assertions of the debug build, and poisoning of free arena memory under AddressSanitizer (`debug.h`)."""
cdef extern from "debug.h" nogil:
    void check "TS_ASSERT"(bint ok) noexcept
    void poison "TS_POISON"(void* p, size_t n) noexcept
    void unpoison "TS_UNPOISON"(void* p, size_t n) noexcept
