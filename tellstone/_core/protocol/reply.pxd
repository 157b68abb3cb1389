"""Writers of replies, in RESP2 and RESP3 (https://redis.io/docs/latest/develop/reference/protocol-spec/).

Each writes one element at the end of an OutBuf. `proto` is 2 or 3; types that RESP2 lacks are written as Redis does there (map and
set as arrays, null as $-1, double and boolean as bulk and integer, verbatim as bulk). Running out of memory sets out.failed.
Error replies are the one place where a Status becomes text: reply_status.
"""
from libc.stdint cimport int64_t, uint64_t

from tellstone._core.base.block cimport Block
from tellstone._core.base.bytesops cimport View
from tellstone._core.base.outbuf cimport OutBuf

cdef void reply_ok(OutBuf* o) noexcept nogil
cdef void reply_simple(OutBuf* o, const char* text, size_t len) noexcept nogil         # +text
cdef void reply_error(OutBuf* o, const char* text) noexcept nogil                      # -text; a C string with its code word
cdef void reply_error_view(OutBuf* o, const char* text, size_t len) noexcept nogil     # CR and LF become blanks
cdef void reply_int(OutBuf* o, int64_t v) noexcept nogil
cdef void reply_bulk(OutBuf* o, const char* p, size_t n) noexcept nogil
cdef void reply_bulk_text(OutBuf* o, const char* text) noexcept nogil                  # a C string
cdef void reply_bulk_int(OutBuf* o, int64_t v) noexcept nogil                          # an integer as a bulk
cdef void reply_block(OutBuf* o, Block* b) noexcept nogil                              # a bulk, without a copy; takes its own count
cdef void reply_null(OutBuf* o, int proto) noexcept nogil                              # $-1 or _
cdef void reply_null_array(OutBuf* o, int proto) noexcept nogil                        # *-1 or _
cdef void reply_array(OutBuf* o, uint64_t n) noexcept nogil                            # n elements follow
cdef void reply_map(OutBuf* o, int proto, uint64_t pairs) noexcept nogil               # 2 * pairs elements follow
cdef void reply_set(OutBuf* o, int proto, uint64_t n) noexcept nogil
cdef void reply_push(OutBuf* o, int proto, uint64_t n) noexcept nogil
cdef void reply_double(OutBuf* o, int proto, double v) noexcept nogil                  # shortest text that reads back
cdef void reply_bool(OutBuf* o, int proto, bint v) noexcept nogil
cdef void reply_verbatim(OutBuf* o, int proto, const char* kind, const char* p, size_t n) noexcept nogil   # kind: 3 letters
cdef void reply_raw(OutBuf* o, const char* p, size_t n) noexcept nogil                 # bytes that are replies already
# The error reply of a negative Status other than ST_REPLIED. `name` is the command's full name, for texts that hold it; of
# ST_STORAGE and ST_UNSAFE it is what is wrong with the log.
cdef void reply_status(OutBuf* o, int status, const char* name) noexcept nogil
# A length that is known only at the end: reserve, write elements, patch. The mark is good as long as `o` only grows.
cdef size_t reply_array_later(OutBuf* o) noexcept nogil
cdef void reply_array_set(OutBuf* o, size_t mark, uint64_t n) noexcept nogil
