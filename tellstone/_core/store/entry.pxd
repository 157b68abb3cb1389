"""The layout of an entry: one arena object that holds a key, its value or the root of it, and its deadline.

    byte 0   meta: type (low 4 bits, never 0), encoding (2 bits), ENTRY_EXPIRES, ENTRY_LONG_KEY
    byte 1   key length, when it is below 256
    byte 2   u16 length of the value part that follows the key
    byte 4   u24 of the last access: its time in seconds, the low bits of Unix time, which come round every 194 days; or what an eviction
             policy keeps there instead (store.policy)
    byte 7   with ENTRY_EXPIRES: the wheel's node (16 bytes, see memory.wheel)
             with ENTRY_LONG_KEY: u32 key length
             the key, the value part

The value part of a string is its bytes (ENC_RAW, or ENC_WIDENED where a part of them has been changed: Redis tells the two
apart in OBJECT ENCODING), a little-endian integer of 1, 2, 4 or 8 bytes (ENC_INT, the length tells), or a pointer to a counted
block (ENC_BLOCK, see base.block), for values of 32 KiB and more. Later types keep the pointer to their root there.

Seven bytes of header are the whole price of a small key; nothing is aligned, fields are read through get_u16 and friends.
LIFETIME: an entry's address is good until the shard's lock is let go or an entry of the same partition is made, freed or
moved, whichever is first.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tellstone._core.base.block cimport Block
from tellstone._core.base.bytesops cimport View, get_u16, get_u32, get_u64, put_u16, put_u32, put_u64, same_bytes
from tellstone._core.memory.wheel cimport WHEEL_NODE_AT, WHEEL_NODE_SIZE

cdef enum:
    TYPE_STRING = 1
    TYPE_LIST = 2
    TYPE_SET = 3
    TYPE_ZSET = 4
    TYPE_HASH = 5
    TYPE_STREAM = 6

    ENC_RAW = 0
    ENC_WIDENED = 1                 # as ENC_RAW in everything else: see entry_is_bytes
    ENC_INT = 2
    ENC_BLOCK = 3

    ENTRY_TYPE = 0x0F
    ENTRY_ENC_SHIFT = 4
    ENTRY_EXPIRES = 0x40
    ENTRY_LONG_KEY = 0x80

    ENTRY_HEADER = 7
    ENTRY_ACCESS_MASK = 0xFFFFFF
    ENTRY_BLOCK_FROM = 32000        # values from here on live in a block

cdef enum:
    NO_DEADLINE = -1
    DATABASES = 16

cdef inline uint8_t entry_type(const char* e) noexcept nogil:
    return (<uint8_t>e[0]) & ENTRY_TYPE

cdef inline uint8_t entry_encoding(const char* e) noexcept nogil:
    return ((<uint8_t>e[0]) >> ENTRY_ENC_SHIFT) & 3

cdef inline bint entry_is_bytes(const char* e) noexcept nogil:
    """The value part is the value itself."""
    return entry_encoding(e) <= ENC_WIDENED

cdef inline uint32_t access_clock(int64_t ms) noexcept nogil:
    """Unix time as times of access count it."""
    return <uint32_t>(<uint64_t>ms // 1000) & ENTRY_ACCESS_MASK

cdef inline uint32_t entry_access(const char* e) noexcept nogil:
    return get_u32(e + 3) >> 8      # byte 3 is the length's: byte 7 may lie behind the object

cdef inline void entry_set_access(char* e, uint32_t clock) noexcept nogil:
    put_u32(e + 3, <uint8_t>e[3] | clock << 8)

cdef inline bint entry_expires(const char* e) noexcept nogil:
    return (<uint8_t>e[0]) & ENTRY_EXPIRES != 0

cdef inline int64_t entry_deadline(const char* e) noexcept nogil:
    """Unix time in ms, or NO_DEADLINE. The key is gone when the clock is past it, as in Redis: now > deadline."""
    if not entry_expires(e):
        return NO_DEADLINE
    return <int64_t>get_u64(e + WHEEL_NODE_AT + 8)

cdef inline bint entry_is_over(const char* e, int64_t now) noexcept nogil:
    return entry_expires(e) and entry_deadline(e) < now

cdef inline size_t entry_key_at(const char* e) noexcept nogil:
    cdef uint8_t meta = <uint8_t>e[0]
    return ENTRY_HEADER + (WHEEL_NODE_SIZE if meta & ENTRY_EXPIRES else 0) + (4 if meta & ENTRY_LONG_KEY else 0)

cdef inline size_t entry_key_len(const char* e) noexcept nogil:
    cdef uint8_t meta = <uint8_t>e[0]
    if meta & ENTRY_LONG_KEY:
        return get_u32(e + ENTRY_HEADER + (WHEEL_NODE_SIZE if meta & ENTRY_EXPIRES else 0))
    return <uint8_t>e[1]

cdef inline View entry_key(const char* e) noexcept nogil:
    cdef View v
    v.ptr = e + entry_key_at(e)
    v.len = entry_key_len(e)
    return v

cdef inline bint entry_has_key(const char* e, const char* key, size_t len) noexcept nogil:
    return entry_key_len(e) == len and same_bytes(e + entry_key_at(e), key, len)

cdef inline size_t entry_value_len(const char* e) noexcept nogil:
    """Length of the value part in the entry, not of the value."""
    return get_u16(e + 2)

cdef inline char* entry_value(const char* e) noexcept nogil:
    return <char*>e + entry_key_at(e) + entry_key_len(e)

cdef inline size_t entry_size(const char* e) noexcept nogil:
    return entry_key_at(e) + entry_key_len(e) + entry_value_len(e)

cdef inline size_t entry_size_for(size_t key_len, size_t value_len, bint expires) noexcept nogil:
    return ENTRY_HEADER + (WHEEL_NODE_SIZE if expires else 0) + (4 if key_len > 255 else 0) + key_len + value_len

cdef inline char* entry_write(char* e, uint8_t type, uint8_t encoding, const char* key, size_t key_len, size_t value_len,
                              bint expires) noexcept nogil:
    """Write header and key into fresh memory; answers where the value part goes. The wheel's node and the bits of access are
    left to the caller."""
    cdef char* at = e + ENTRY_HEADER
    e[0] = <char>(type | encoding << ENTRY_ENC_SHIFT | (ENTRY_EXPIRES if expires else 0) | (ENTRY_LONG_KEY if key_len > 255 else 0))
    e[1] = <char>(key_len if key_len <= 255 else 0)
    put_u16(e + 2, <uint16_t>value_len)
    if expires:
        at += WHEEL_NODE_SIZE
    if key_len > 255:
        put_u32(at, <uint32_t>key_len)
        at += 4
    memcpy(at, key, key_len)
    return at + key_len

cdef inline void entry_set_encoding(char* e, uint8_t encoding, size_t value_len) noexcept nogil:
    e[0] = <char>((<uint8_t>e[0] & ~(3 << ENTRY_ENC_SHIFT)) | encoding << ENTRY_ENC_SHIFT)
    put_u16(e + 2, <uint16_t>value_len)

cdef inline Block* entry_block(const char* e) noexcept nogil:
    cdef Block* b
    memcpy(&b, entry_value(e), sizeof(Block*))
    return b

cdef inline uint32_t int_width(int64_t v) noexcept nogil:
    if v == <int8_t>v:
        return 1
    if v == <int16_t>v:
        return 2
    if v == <int32_t>v:
        return 4
    return 8

cdef inline int64_t entry_int(const char* e) noexcept nogil:
    cdef const char* p = entry_value(e)
    cdef size_t width = entry_value_len(e)
    if width == 1:
        return <int8_t>p[0]
    if width == 2:
        return <int16_t>get_u16(p)
    if width == 4:
        return <int32_t>get_u32(p)
    return <int64_t>get_u64(p)

cdef inline void int_write(char* p, uint32_t width, int64_t v) noexcept nogil:
    if width == 1:
        p[0] = <char>v
    elif width == 2:
        put_u16(p, <uint16_t>v)
    elif width == 4:
        put_u32(p, <uint32_t>v)
    else:
        put_u64(p, <uint64_t>v)
