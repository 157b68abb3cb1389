"""The reply side of RESP: bytes of RESP2 and RESP3 as Python objects, for Engine.execute and for clients.

    simple string     str                           null, null bulk, null array     None
    bulk, verbatim    bytes                         array, set                      list
    integer, big      int                           map                             dict (a list of pairs if a key cannot be one)
    double, boolean   float, bool                   push                            Push, a list
    error             a ResponseError, returned and not raised: it may stand inside of an array
    attribute         left out

A simple string is a server's word ("OK", "QUEUED") and a bulk is data, so they get different types.
"""
from libc.stdint cimport uint32_t

from tellstone._core.base.outbuf cimport OutBuf, OutRef

cdef struct Source:                 # replies in one piece of memory, with counted blocks in between
    const char* base
    const char* at                  # the next byte to look at
    const char* end
    const OutRef* refs              # in order; ref.at counts from base
    uint32_t ref_count

# The only reply in an output buffer.
cdef object decode_output(const OutBuf* out)
# The only reply in a piece of memory.
cdef object decode_whole(const char* data, size_t n)
# The exception for the text of an error reply.
cdef object response_error(const char* text, size_t n)

cdef class Decoder:
    cdef char* data                 # what has been fed and not decoded, from `start` on
    cdef size_t start
    cdef size_t len
    cdef size_t cap
    cdef list open                  # the aggregates that have begun and not ended, outermost first
