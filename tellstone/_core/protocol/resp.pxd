"""The request side of RESP: multibulk and inline requests, incrementally and without copies.

Two readers of one grammar. resp_fast takes a whole, plain multibulk request off the front of a buffer, or declines. resp_next
takes anything, remembers how far it has got in an unfinished request, so that no byte is read twice however the input is cut, and
knows every limit and error of Redis's networking.c. Both answer views into the caller's buffer.

INVARIANT: what resp_fast accepts, resp_next accepts with the same arguments and the same length.
LIFETIME: positions in a parser are relative to the first byte of the request; the caller may move an unfinished request to another
buffer as long as it hands in the same bytes again, and more.
"""
from libc.stdint cimport int64_t, uint32_t

from tellstone._core.base.bytesops cimport View

cdef enum RespResult:
    RESP_MORE = 0                   # the request is not complete
    RESP_REQUEST = 1                # argv is complete; argc may be 0 (an empty line, *0): nothing to do
    RESP_BAD = 2                    # a protocol error: `error` says which; the connection ends
    RESP_NOMEM = 3

cdef struct RespLimits:
    int64_t max_bulk                # bytes of one argument: max-msg-size
    int64_t max_args                # arguments of one request

cdef struct RespParser:
    int64_t left                    # arguments still to come; 0: between requests
    int64_t bulk                    # length of the argument being read, -1: its header comes next
    size_t pos                      # bytes of this request that are understood
    size_t hint                     # bytes that the request needs at least, for sizing buffers; 0: unknown
    View* argv                      # ptr holds an offset while the request is unfinished
    uint32_t argc
    uint32_t cap
    char* line                      # storage of inline arguments, which may hold escapes
    const char* error               # static text, without "-ERR "
    char text[64]                   # for the error that quotes a byte

cdef void resp_init(RespParser* p) noexcept nogil
cdef void resp_free(RespParser* p) noexcept nogil
# Go on with the request that starts at buf. RESP_REQUEST: argv and argc hold it, *consumed its length.
cdef RespResult resp_next(RespParser* p, const char* buf, size_t len, const RespLimits* limits, size_t* consumed) noexcept nogil
# A whole plain request at buf: its length, with up to `room` arguments in argv; 0: declined.
cdef size_t resp_fast(const char* buf, const char* end, const RespLimits* limits, View* argv, uint32_t room, uint32_t* argc) noexcept nogil

cdef struct RespTemplate:           # the plain request that came last, for one that begins like it
    const char* start               # NULL: none
    size_t head                     # bytes up to the second argument: the count, the name, the length of what follows

# resp_fast for a request behind another one of the same buffer. Pipelines repeat themselves: where the bytes up to the second
# argument are those of the request before, argc, name and the argument's length are known without reading them again, which is *again.
# `argv` continues `last`, the arguments of the request before, of which there were at least two.
cdef size_t resp_next_fast(const char* buf, const char* end, const RespLimits* limits, View* argv, uint32_t room, uint32_t* argc,
                           RespTemplate* t, const View* last, bint* again) noexcept nogil
