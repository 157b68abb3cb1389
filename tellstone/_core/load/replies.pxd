"""Telling replies apart without making anything of them: RESP2, RESP3 and native frames, cut anywhere.

No byte is looked at twice but those of a line that the input cuts. What a server sends by itself (push) is passed over, as are
attributes. Only the end of a reply is answered, and what sort it was.
LIFETIME: `text` points into the input or into the reader's own memory, until the next call.
"""
from libc.stdint cimport uint64_t

from tellstone._core.base.bytesops cimport View

cdef enum Reply:
    REPLY_PART = 0                  # the input ends before the reply does
    REPLY_VALUE = 1                 # `text` holds it if values are kept, else its length alone is right
    REPLY_NULL = 2                  # no such key
    REPLY_OTHER = 3                 # OK, a number: `text` holds it; or an aggregate
    REPLY_ERROR = 4                 # `text` holds the message
    REPLY_BAD = 5                   # not this protocol: nothing behind it can be understood

cdef enum:
    LINE_MAX = 256                  # bytes of a line that are kept when the input cuts it

cdef struct Replies:
    bint native
    bint keep                       # values are wanted
    bint inside                     # of a reply: a part of it has been read
    Reply kind                      # of the payload that is being read
    uint64_t payload                # bytes of it that are missing
    uint64_t tail                   # bytes of the line's end behind it that are missing
    uint64_t missing                # elements of the aggregates that have begun
    uint64_t aside                  # elements of pushes and attributes that are missing
    bint keeping                    # this payload is wanted
    size_t line_len
    char line[LINE_MAX]             # the beginning of a line or of a frame's head
    char* kept                      # payload that came in pieces
    size_t kept_len
    size_t kept_cap
    View text

cdef void replies_init(Replies* r, bint native, bint keep) noexcept nogil
cdef void replies_free(Replies* r) noexcept nogil
# The next reply that ends in the input; *at moves behind what has been read.
cdef Reply replies_next(Replies* r, const char** at, const char* end) noexcept nogil

cdef class ReplyReader:
    cdef Replies replies
