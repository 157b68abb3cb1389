"""Frames of the native protocol as requests for the command table, and replies of commands as frames.

A frame becomes a call of a row like any request of RESP: SET with a time to live is SET key value PX ms, so that gates, statistics, slow log
and monitors see one kind of request. The operations of the protocol have handlers of their own (command.native), which write their frames at
once; frame_error mends it when an error of RESP stands there instead. What AUTH and any COMMAND write is a reply of RESP, and frame_end turns
it into the frame that the protocol asks for.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.protocol.native cimport Frame, Taken
from tellstone._core.session.batch cimport Worker

cdef enum NativeCall:
    # handlers write frames
    CALL_GET = 0
    CALL_SET = 1
    CALL_DELETE = 2
    CALL_PING = 3
    # handlers write replies of RESP
    CALL_AUTH = 4
    CALL_COMMAND = 5
    # answered without a row
    CALL_INVALID = 6                # no such operation
    CALL_EMPTY_KEY = 7
    CALL_TOO_LONG = 8               # a value past proto-max-bulk-len
    CALL_NOTHING = 9                # COMMAND with an empty list
    CALL_EXCLUDED = 10              # a command that has no place here: what it switches on would be sent between frames

cdef struct Mark:                   # where a reply begins
    size_t at
    uint32_t refs
    uint64_t ref_bytes

# Fill the batch from whole frames at data; answers how many requests it has. Stops in front of what is not whole, not a frame, or has
# more arguments than there is room for.
cdef uint32_t frames_take(Worker* w, const char* data, size_t len) noexcept nogil
# Fill the batch with the first of them alone. False: as above.
cdef bint frames_peek(Worker* w, const char* data, size_t len) noexcept nogil
# What stands in front when frames_take answers 0: a part, no frame, or a whole one with a list of `*items` items.
cdef Taken frames_front(const Worker* w, const char* data, size_t len, Frame* f, uint32_t* items) noexcept nogil
# After a call whose handler writes frames, in an output that had `at` bytes and no fewer references: make a frame of an error of RESP.
cdef inline void frame_error(OutBuf* o, uint8_t call, size_t at) noexcept nogil:
    """A frame begins with its length: with '-' only where it is far longer than any reply that stands in the buffer itself."""
    if o.len > at and o.data[at] == c'-':
        frame_mend(o, call, at, at)
# The error of RESP at `body` becomes a frame at `at`.
cdef void frame_mend(OutBuf* o, uint8_t call, size_t at, size_t body) noexcept nogil
# Around any other call: reserve the frame's head; make a frame of the RESP reply that stands behind it, or of nothing nothing.
cdef void frame_begin(OutBuf* o, uint8_t call, Mark* mark) noexcept nogil
cdef void frame_end(OutBuf* o, uint8_t call, const Mark* mark) noexcept nogil
# The items of such a list; at most `room`.
cdef uint32_t frame_items(const Frame* f, View* items, uint32_t room) noexcept nogil
# The error of a call that has no row, a C string; NULL: it has one.
cdef const char* frame_refusal(uint8_t call) noexcept nogil
