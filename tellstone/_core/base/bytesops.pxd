"""Views, unaligned fields, words without case, and integers as text (`bytesops.h`).

LIFETIME: a View owns nothing. It is valid as long as the buffer, the entry or the lock it was taken from; the
function that hands one out says which.
"""
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

cdef extern from "bytesops.h" nogil:
    ctypedef struct View "ts_view":
        const char* ptr
        size_t len

    uint16_t get_u16 "ts_get_u16"(const void* p) noexcept
    uint32_t get_u32 "ts_get_u32"(const void* p) noexcept
    uint64_t get_u64 "ts_get_u64"(const void* p) noexcept
    void put_u16 "ts_put_u16"(void* p, uint16_t v) noexcept
    void put_u32 "ts_put_u32"(void* p, uint32_t v) noexcept
    void put_u64 "ts_put_u64"(void* p, uint64_t v) noexcept

    # Big-endian, as the native protocol writes them
    uint16_t get_be16 "ts_get_be16"(const void* p) noexcept
    uint32_t get_be32 "ts_get_be32"(const void* p) noexcept
    uint64_t get_be64 "ts_get_be64"(const void* p) noexcept
    void put_be16 "ts_put_be16"(void* p, uint16_t v) noexcept
    void put_be32 "ts_put_be32"(void* p, uint32_t v) noexcept
    void put_be64 "ts_put_be64"(void* p, uint64_t v) noexcept

    # memcpy whose source may be NULL when there is nothing to copy
    void copy_bytes "ts_copy"(void* to, const void* source, size_t n) noexcept
    # a of n bytes and b of m are the same word; b is in lower case
    bint same_word "ts_same_word"(const char* a, size_t n, const char* b, size_t m) noexcept
    bint same_bytes "ts_same_bytes"(const char* a, const char* b, size_t n) noexcept
    # the whole text is one canonical integer (as Redis's string2ll)
    bint parse_i64 "ts_parse_i64"(const char* s, size_t n, int64_t* out) noexcept
    # text without a terminator, at most 20 bytes; answers the length
    size_t format_i64 "ts_format_i64"(char* out, int64_t v) noexcept
    size_t format_u64 "ts_format_u64"(char* out, uint64_t v) noexcept

cdef inline View view_of(const char* ptr, size_t len) noexcept nogil:
    cdef View v
    v.ptr = ptr
    v.len = len
    return v

# An argument is the option `word` (in lower case), letters without case.
cdef inline bint view_is(View v, const char* word, size_t len) noexcept nogil:
    return same_word(v.ptr, v.len, word, len)
