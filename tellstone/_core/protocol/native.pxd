"""The native binary protocol: frames off the front of a buffer, the requests in them, and frames as replies.

    frame      u32 length of what follows · u8 type · payload
    REQUEST    u8 operation · u16 length of the key · i64 time to live in ms, 0: none · key · value
    AUTH       u16 length · user · u16 length · password or token
    list       u16 count · that many times: u16 length · bytes

All integers are big-endian. Decoding is inline, copies nothing and needs no state between calls: a frame says first how long it is.
LIFETIME: views point into the buffer that was handed in.
"""
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t

from tellstone._core.base.bytesops cimport View, copy_bytes, get_be16, get_be32, get_be64, put_be32
from tellstone._core.base.outbuf cimport OutBuf, outbuf_reserve

cdef enum FrameType:
    FRAME_PING = 0
    FRAME_PONG = 1
    FRAME_REQUEST = 2
    FRAME_RESPONSE = 3
    FRAME_AUTH = 4
    FRAME_AUTH_OK = 5
    FRAME_AUTH_ERR = 6
    FRAME_ERROR = 7

cdef enum Operation:
    OP_GET = 1
    OP_SET = 2
    OP_DELETE = 3
    OP_COMMAND = 32                 # the value is a list: any command of the server

cdef enum:
    FRAME_HEAD = 5                  # length and type
    REQUEST_HEAD = 11               # operation, length of the key, time to live
    LIST_MAX = 65535                # items of a list, and bytes of an item

cdef enum Taken:
    FRAME_WHOLE = 0
    FRAME_PART = 1                  # more bytes are needed
    FRAME_BAD = 2                   # no frame of this protocol: nothing behind it can be understood

cdef struct Frame:
    uint8_t type
    const char* payload
    size_t len                      # of the payload
    size_t size                     # of the frame, its head included; of a part: what it will have, 0: not known yet

cdef struct NativeRequest:
    uint8_t op
    int64_t ttl_ms
    View key
    View value

cdef inline Taken frame_take(const char* at, size_t len, uint64_t most, Frame* f) noexcept nogil:
    """`most`: the largest length that a frame may announce."""
    cdef uint32_t length
    f.size = 0
    if len < 4:
        return FRAME_PART
    length = get_be32(at)
    if length == 0 or length > most:
        return FRAME_BAD
    f.size = <size_t>length + 4
    if len < f.size:
        return FRAME_PART
    f.type = <uint8_t>at[4]
    f.payload = at + FRAME_HEAD
    f.len = length - 1
    return FRAME_WHOLE

cdef inline bint native_request(const Frame* f, NativeRequest* r) noexcept nogil:
    """The payload of a REQUEST. False: it is too short for what it says."""
    cdef size_t key
    if f.len < REQUEST_HEAD:
        return False
    key = get_be16(f.payload + 1)
    if f.len - REQUEST_HEAD < key:
        return False
    r.op = <uint8_t>f.payload[0]
    r.ttl_ms = <int64_t>get_be64(f.payload + 3)
    r.key.ptr = f.payload + REQUEST_HEAD
    r.key.len = key
    r.value.ptr = r.key.ptr + key
    r.value.len = f.len - REQUEST_HEAD - key
    return True

cdef inline bint native_text(const char** at, size_t* left, View* text) noexcept nogil:
    """The next `u16 length · bytes`. False: there is less than it says."""
    cdef size_t len
    if left[0] < 2:
        return False
    len = get_be16(at[0])
    if left[0] - 2 < len:
        return False
    text.ptr = at[0] + 2
    text.len = len
    at[0] += len + 2
    left[0] -= len + 2
    return True

cdef inline uint32_t native_list(View list, View* items, uint32_t room) noexcept nogil:
    """The number of items of a list, the first `room` of which are in `items`. UINT32_MAX: it is not a list, or has bytes behind it."""
    cdef const char* at = list.ptr + 2
    cdef size_t left = list.len - 2
    cdef uint32_t count, i = 0
    cdef View item
    if list.len < 2:
        return UINT32_MAX
    count = get_be16(list.ptr)
    for i in range(count):
        if not native_text(&at, &left, &item):
            return UINT32_MAX
        if i < room:
            items[i] = item
    return count if left == 0 else UINT32_MAX

cdef inline void frame_head(char* at, FrameType type, size_t len) noexcept nogil:
    """INVARIANT: len < UINT32_MAX; values are far smaller, and frame_end looks at the replies of commands."""
    put_be32(at, <uint32_t>(len + 1))
    at[4] = <char>type

cdef inline void frame_write(OutBuf* o, FrameType type, const char* payload, size_t len) noexcept nogil:
    cdef char* at = outbuf_reserve(o, FRAME_HEAD + len)
    if at == NULL:
        return
    frame_head(at, type, len)
    copy_bytes(at + FRAME_HEAD, payload, len)
    o.len += FRAME_HEAD + len
