"""Redis's serialization of a value (see serial.pxd).

What is written must be what Redis writes, so the compressor makes LibLZF's choices: a table of 2^16 places by a hash of
three bytes, the last place with that hash is the one candidate, and behind a reference only its last two positions are
entered. LibLZF leaves its table as the stack had it, so that a reference of Redis's may rarely be another one; ours
begins empty.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memmove

from tellstone._core.base.bytesops cimport (
    View, format_i64, get_u16, get_u32, get_u64, parse_i64, put_u16, put_u64, view_of,
)
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.memory.checksum cimport crc64
from tellstone._core.store.entry cimport int_width, int_write

check_layout(__name__)

cdef enum:
    FORMAT_VERSION = 11
    FOOTER = 10                     # bytes: version and checksum
    KIND_STRING = 0                 # the type's number

    LENGTH_32 = 0x80
    LENGTH_64 = 0x81
    ENCODED = 0xC0                  # the two bits of an encoding
    ENCODED_LZF = 0xC3

    INTEGER_TEXT = 11               # digits and sign of a longest integer that is written as one
    COMPRESS_FROM = 21              # bytes of a string
    COMPRESS_SAVES = 4              # bytes at least

    LZF_TABLE = 65536
    LZF_LITERALS = 32               # bytes of a longest run
    LZF_REACH = 8192                # bytes back
    LZF_LONGEST = 264               # bytes of a longest reference


# Lengths --------------------------------------------------------------------------------------------------------


cdef void put_high_first(char* out, uint64_t v, int bytes) noexcept nogil:
    while bytes:
        bytes -= 1
        out[bytes] = <char>v
        v >>= 8


cdef uint64_t get_high_first(const char* p, int bytes) noexcept nogil:
    cdef uint64_t v = 0
    cdef int i
    for i in range(bytes):
        v = v << 8 | <uint8_t>p[i]
    return v


cdef size_t write_length(char* out, uint64_t length) noexcept nogil:
    if length < 1 << 6:
        out[0] = <char>length
        return 1
    if length < 1 << 14:
        put_high_first(out, 1 << 14 | length, 2)
        return 2
    if length <= 0xFFFFFFFFULL:
        out[0] = <char>LENGTH_32
        put_high_first(out + 1, length, 4)
        return 5
    out[0] = <char>LENGTH_64
    put_high_first(out + 1, length, 8)
    return 9


# What is still to be read of a payload. Redis reads on into the footer where a length says so, and so do we.
cdef struct Reader:
    const char* at
    const char* end


cdef const char* take(Reader* r, uint64_t bytes) noexcept nogil:
    """The next bytes; NULL: there are not so many."""
    cdef const char* p = r.at
    if bytes > <uint64_t>(r.end - r.at):
        return NULL
    r.at += bytes
    return p


cdef bint read_length(Reader* r, uint64_t* length, bint* encoded) noexcept nogil:
    """A length, or the number of an encoding. False: neither."""
    cdef const char* p = take(r, 1)
    cdef uint8_t first
    cdef int bytes = 0
    if p == NULL:
        return False
    first = <uint8_t>p[0]
    encoded[0] = first >= ENCODED
    length[0] = first & 0x3F
    if first >> 6 == 1:
        bytes = 1
    elif first == LENGTH_32 or first == LENGTH_64:
        bytes = 4 if first == LENGTH_32 else 8
        length[0] = 0
    elif first >> 6 == 2:
        return False
    p = take(r, bytes)
    if p == NULL:
        return False
    length[0] = length[0] << 8 * bytes % 64 | get_high_first(p, bytes)
    return True


# Compression ----------------------------------------------------------------------------------------------------


cdef inline uint32_t three_bytes(const char* p) noexcept nogil:
    return <uint32_t>(<uint8_t>p[0]) << 16 | <uint32_t>(<uint8_t>p[1]) << 8 | <uint8_t>p[2]


cdef inline uint32_t place_of(uint32_t bytes) noexcept nogil:
    return ((bytes >> 8) - bytes * 5) & (LZF_TABLE - 1)


cdef inline size_t match_length(const char* a, const char* b, size_t most) noexcept nogil:
    """How many bytes are equal, given that three are. LibLZF compares the first sixteen behind those without looking at
    `most` again."""
    cdef size_t n = 3
    if 16 < most < 19:
        most = 19
    while n < most and a[n] == b[n]:
        n += 1
    return n


cdef struct Packer:                 # the compressor's output
    char* out
    size_t at
    size_t room
    size_t literals                 # in the run that is open; its first byte stands before them


cdef inline void close_run(Packer* p) noexcept nogil:
    """A run without literals gives its first byte back."""
    if p.literals:
        p.out[p.at - p.literals - 1] = <char>(p.literals - 1)
    else:
        p.at -= 1


cdef inline void open_run(Packer* p) noexcept nogil:
    p.literals = 0
    p.at += 1


cdef inline void put_literal(Packer* p, char c) noexcept nogil:
    p.out[p.at] = c
    p.at += 1
    p.literals += 1
    if p.literals == LZF_LITERALS:
        close_run(p)
        open_run(p)


cdef inline bint put_reference(Packer* p, size_t offset, size_t length) noexcept nogil:
    """offset is one less than the distance. False: no room. As LibLZF, leaves room for the run behind it."""
    if p.at - (p.literals == 0) + 4 >= p.room:
        return False
    close_run(p)
    length -= 2
    if length < 7:
        p.out[p.at] = <char>(offset >> 8 | length << 5)
        p.at += 1
    else:
        p.out[p.at] = <char>(offset >> 8 | 7 << 5)
        p.out[p.at + 1] = <char>(length - 7)
        p.at += 2
    p.out[p.at] = <char>offset
    p.at += 1
    open_run(p)
    return True


cdef inline size_t longest_match(View text, size_t at, size_t candidate) noexcept nogil:
    """Length of the reference from `at` to `candidate`, 0: none. LibLZF never refers to the first byte: an empty place
    says 0."""
    cdef size_t most = text.len - at - 2
    if candidate == 0 or at - candidate > LZF_REACH:
        return 0
    if three_bytes(text.ptr + candidate) != three_bytes(text.ptr + at):
        return 0
    return match_length(text.ptr + candidate, text.ptr + at, most if most < LZF_LONGEST else LZF_LONGEST)


cdef size_t compress_with(uint32_t* table, View text, Packer* p) noexcept nogil:
    """The compressed size; 0: there is no room for it."""
    cdef size_t at = 0, length, candidate
    cdef uint32_t* place
    open_run(p)
    while at + 2 < text.len:
        place = &table[place_of(three_bytes(text.ptr + at))]
        candidate = place[0]
        place[0] = <uint32_t>at
        length = longest_match(text, at, candidate)
        if length == 0:
            if p.at >= p.room:
                return 0
            put_literal(p, text.ptr[at])
            at += 1
            continue
        if not put_reference(p, at - candidate - 1, length):
            return 0
        at += length
        if at + 2 < text.len:
            table[place_of(three_bytes(text.ptr + at - 2))] = <uint32_t>(at - 2)
            table[place_of(three_bytes(text.ptr + at - 1))] = <uint32_t>(at - 1)
    if p.at + 3 > p.room:
        return 0
    while at < text.len:
        put_literal(p, text.ptr[at])
        at += 1
    close_run(p)
    return p.at


cdef size_t compress(View text, char* out, size_t room) noexcept nogil:
    """0: it does not fit the room, is too long for our table, or there is no memory for that."""
    cdef Packer p
    cdef uint32_t* table
    cdef size_t size
    if text.len > 0xFFFFFFFFULL:
        return 0
    table = <uint32_t*>calloc(LZF_TABLE, sizeof(uint32_t))
    if table == NULL:
        return 0
    p.out = out
    p.at = 0
    p.room = room
    size = compress_with(table, text, &p)
    free(table)
    return size


cdef inline size_t copy_back(char* to, size_t at, size_t distance, size_t length) noexcept nogil:
    """A reference may reach into what it is writing."""
    cdef size_t end = at + length
    if distance >= length:
        memcpy(to + at, to + at - distance, length)
        return end
    while at < end:
        to[at] = to[at - distance]
        at += 1
    return end


cdef bint expand_reference(Reader* r, uint8_t control, char* to, size_t* at, size_t room) noexcept nogil:
    cdef size_t length = control >> 5
    cdef size_t distance = <size_t>(control & 31) << 8
    cdef const char* p
    if length == 7:
        p = take(r, 1)
        if p == NULL:
            return False
        length += <uint8_t>p[0]
    p = take(r, 1)
    if p == NULL:
        return False
    distance += <size_t>(<uint8_t>p[0]) + 1
    length += 2
    if distance > at[0] or length > room - at[0]:
        return False
    at[0] = copy_back(to, at[0], distance, length)
    return True


cdef bint serial_expand(const SerialString* s, char* to) noexcept nogil:
    """An empty string is one whatever is stored: Redis's decompressor answers 0 for an error, which is the length asked
    for."""
    cdef Reader r
    cdef const char* p
    cdef size_t at = 0
    cdef size_t room = s.length
    cdef uint8_t control
    cdef size_t run
    r.at = s.stored.ptr
    r.end = r.at + s.stored.len
    while room and r.at < r.end:
        control = <uint8_t>take(&r, 1)[0]
        if control >= LZF_LITERALS:
            if not expand_reference(&r, control, to, &at, room):
                return False
            continue
        run = <size_t>control + 1
        p = take(&r, run)
        if p == NULL or run > room - at:
            return False
        memcpy(to + at, p, run)
        at += run
    return at == room


# Writing --------------------------------------------------------------------------------------------------------


cdef size_t write_integer(char* out, int64_t number) noexcept nogil:
    """0: it is too large for an encoding of its own."""
    cdef uint32_t width = int_width(number)
    if width > 4:
        return 0
    out[0] = <char>(ENCODED | width >> 1)       # 0, 1 and 2 are the numbers of the widths 1, 2 and 4
    int_write(out + 1, width, number)
    return 1 + width


cdef size_t write_compressed(char* out, View value) noexcept nogil:
    """The lengths in front are as long as they turn out to be, so the compressed bytes are moved up to them. 0: nothing
    is saved."""
    cdef char head[19]
    cdef size_t size = compress(value, out + sizeof(head), value.len - COMPRESS_SAVES)
    cdef size_t n
    if size == 0:
        return 0
    head[0] = <char>ENCODED_LZF
    n = 1 + write_length(head + 1, size)
    n += write_length(head + n, value.len)
    memcpy(out, head, n)
    memmove(out + n, out + sizeof(head), size)
    return n + size


cdef size_t write_string(char* out, View value) noexcept nogil:
    cdef int64_t number
    cdef size_t n = 0
    if value.len <= INTEGER_TEXT and parse_i64(value.ptr, value.len, &number):
        n = write_integer(out, number)
    elif value.len >= COMPRESS_FROM:
        n = write_compressed(out, value)
    if n:
        return n
    n = write_length(out, value.len)
    memcpy(out + n, value.ptr, value.len)
    return n + value.len


cdef size_t serial_write_string(char* out, View value) noexcept nogil:
    cdef size_t n
    out[0] = KIND_STRING
    n = 1 + write_string(out + 1, value)
    put_u16(out + n, FORMAT_VERSION)
    put_u64(out + n + 2, crc64(0, out, n + 2))
    return n + FOOTER


# Reading --------------------------------------------------------------------------------------------------------


cdef bint frame_is_good(View payload) noexcept nogil:
    cdef const char* footer
    if payload.len < FOOTER:
        return False
    footer = payload.ptr + payload.len - FOOTER
    return get_u16(footer) <= FORMAT_VERSION and get_u64(footer + 2) == crc64(0, payload.ptr, payload.len - 8)


cdef SerialStatus read_integer(Reader* r, uint32_t encoding, SerialString* s) noexcept nogil:
    cdef const char* p = take(r, 1 << encoding)
    cdef int64_t number
    if p == NULL:
        return SERIAL_BAD_VALUE
    if encoding == 0:
        number = <int8_t>p[0]
    elif encoding == 1:
        number = <int16_t>get_u16(p)
    else:
        number = <int32_t>get_u32(p)
    s.length = format_i64(s.digits, number)
    s.stored = view_of(s.digits, s.length)
    return SERIAL_OK


cdef SerialStatus read_compressed(Reader* r, SerialString* s) noexcept nogil:
    """ORDER: before anybody makes room for a string, it is known that so few bytes may become so many."""
    cdef uint64_t size
    cdef bint ignored               # the number of an encoding counts as a length here, as in Redis
    cdef const char* p
    if not read_length(r, &size, &ignored) or not read_length(r, &s.length, &ignored):
        return SERIAL_BAD_VALUE
    p = take(r, size)
    if p == NULL or s.length // LZF_LONGEST > size:
        return SERIAL_BAD_VALUE
    s.compressed = True
    s.stored = view_of(p, size)
    return SERIAL_OK


cdef SerialStatus serial_read_string(View payload, SerialString* s) noexcept nogil:
    cdef Reader r
    cdef bint encoded
    cdef const char* p
    if not frame_is_good(payload):
        return SERIAL_BAD_FRAME
    s.compressed = False
    r.at = payload.ptr + 1
    r.end = payload.ptr + payload.len
    if payload.ptr[0] != KIND_STRING or not read_length(&r, &s.length, &encoded):
        return SERIAL_BAD_VALUE
    if encoded:
        if s.length > 3:
            return SERIAL_BAD_VALUE
        return read_compressed(&r, s) if s.length == 3 else read_integer(&r, <uint32_t>s.length, s)
    p = take(&r, s.length)
    if p == NULL:
        return SERIAL_BAD_VALUE
    s.stored = view_of(p, s.length)
    return SERIAL_OK
