"""The request side of RESP (see resp.pxd)."""
from libc.stdint cimport int64_t, uint32_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memset

from tellstone._core.base.bytesops cimport View, get_u16, parse_i64, same_bytes
from tellstone._core.base.stamp cimport check_layout

check_layout(__name__)

cdef enum:
    INLINE_MAX = 65536              # bytes of an inline request, and of a count's line
    ARGS_KEPT = 64                  # argument slots that a parser keeps between requests


cdef void resp_init(RespParser* p) noexcept nogil:
    memset(p, 0, sizeof(RespParser))
    p.bulk = -1


cdef void resp_free(RespParser* p) noexcept nogil:
    free(p.argv)
    free(p.line)
    p.argv = NULL
    p.line = NULL
    p.cap = 0


cdef inline RespResult bad(RespParser* p, const char* error) noexcept nogil:
    p.error = error
    return RESP_BAD


cdef bint add_arg(RespParser* p, const char* at, size_t len) noexcept nogil:
    cdef View* grown
    cdef uint32_t cap
    if p.argc == p.cap:
        cap = p.cap * 2 if p.cap else 16
        grown = <View*>realloc(p.argv, cap * sizeof(View))
        if grown == NULL:
            return False
        p.argv = grown
        p.cap = cap
    p.argv[p.argc].ptr = at
    p.argv[p.argc].len = len
    p.argc += 1
    return True


cdef void begin_request(RespParser* p) noexcept nogil:
    """A request's arguments are the caller's until the next call; what a huge one needed is given back then."""
    p.argc = 0
    p.pos = 0
    p.left = 0
    p.bulk = -1
    p.hint = 0
    if p.line != NULL:
        free(p.line)
        p.line = NULL
    if p.cap > ARGS_KEPT:
        free(p.argv)
        p.argv = NULL
        p.cap = 0


# Inline requests ------------------------------------------------------------------------------------------------


cdef inline bint is_blank(char c) noexcept nogil:
    return c == c' ' or (c >= 9 and c <= 13)


cdef inline bint ends_word(char c) noexcept nogil:
    """Fewer than the blanks between words: Redis's two tests differ, and a vertical tab stays in a word that has begun."""
    return c == c' ' or c == c'\t' or c == c'\r' or c == c'\n'


cdef inline int hex_digit(char c) noexcept nogil:
    if c'0' <= c <= c'9':
        return c - c'0'
    if c'a' <= c <= c'f':
        return c - c'a' + 10
    if c'A' <= c <= c'F':
        return c - c'A' + 10
    return -1


cdef inline char escaped(char c) noexcept nogil:
    if c == c'n':
        return c'\n'
    if c == c'r':
        return c'\r'
    if c == c't':
        return c'\t'
    if c == c'b':
        return c'\b'
    if c == c'a':
        return c'\a'
    return c


cdef struct Word:
    size_t at                       # in the line, past the word
    size_t out                      # past the word's bytes in the storage


cdef bint double_quoted(const char* s, size_t n, char* out, Word* w) noexcept nogil:
    """From behind an opening double quote to behind the closing one, which must end the word. False: unbalanced."""
    cdef size_t i = w.at
    while i < n:
        if s[i] == c'\\' and i + 3 < n and s[i + 1] == c'x' and hex_digit(s[i + 2]) >= 0 and hex_digit(s[i + 3]) >= 0:
            out[w.out] = <char>(hex_digit(s[i + 2]) * 16 + hex_digit(s[i + 3]))
            w.out += 1
            i += 4
        elif s[i] == c'\\' and i + 1 < n:
            out[w.out] = escaped(s[i + 1])
            w.out += 1
            i += 2
        elif s[i] == c'"':
            w.at = i + 1
            return i + 1 == n or is_blank(s[i + 1])
        else:
            out[w.out] = s[i]
            w.out += 1
            i += 1
    return False


cdef bint single_quoted(const char* s, size_t n, char* out, Word* w) noexcept nogil:
    cdef size_t i = w.at
    while i < n:
        if s[i] == c'\\' and i + 1 < n and s[i + 1] == c"'":
            out[w.out] = c"'"
            w.out += 1
            i += 2
        elif s[i] == c"'":
            w.at = i + 1
            return i + 1 == n or is_blank(s[i + 1])
        else:
            out[w.out] = s[i]
            w.out += 1
            i += 1
    return False


cdef bint take_word(const char* s, size_t n, char* out, Word* w) noexcept nogil:
    """One word of an inline request, quotes resolved. False: unbalanced quotes."""
    cdef char c
    while w.at < n and not ends_word(s[w.at]):
        c = s[w.at]
        w.at += 1
        if c == c'"':
            return double_quoted(s, n, out, w)
        if c == c"'":
            return single_quoted(s, n, out, w)
        out[w.out] = c
        w.out += 1
    return True


cdef RespResult split_line(RespParser* p, const char* s, size_t n) noexcept nogil:
    """The words of a line into argv, their bytes into storage of the parser (as Redis's sdssplitargs, which ends at a NUL)."""
    cdef const void* nul = memchr(s, 0, n)
    cdef Word w
    cdef size_t start
    if nul != NULL:
        n = <size_t>(<const char*>nul - s)
    p.line = <char*>malloc(n + 1)
    if p.line == NULL:
        return RESP_NOMEM
    w.at = 0
    w.out = 0
    while True:
        while w.at < n and is_blank(s[w.at]):
            w.at += 1
        if w.at >= n:
            return RESP_REQUEST
        start = w.out
        if not take_word(s, n, p.line, &w):
            return bad(p, b"Protocol error: unbalanced quotes in request")
        if not add_arg(p, p.line + start, w.out - start):
            return RESP_NOMEM


cdef RespResult inline_request(RespParser* p, const char* buf, size_t len, size_t* consumed) noexcept nogil:
    cdef const char* newline = <const char*>memchr(buf + p.pos, c'\n', len - p.pos)
    cdef size_t n
    if newline == NULL:
        if len > INLINE_MAX:
            return bad(p, b"Protocol error: too big inline request")
        p.pos = len
        return RESP_MORE
    n = <size_t>(newline - buf)
    consumed[0] = n + 1
    if n and buf[n - 1] == c'\r':
        n -= 1
    p.pos = 0
    return split_line(p, buf, n)


# Multibulk requests ---------------------------------------------------------------------------------------------


cdef inline const char* line_end(const char* at, const char* end) noexcept nogil:
    """The CR of a line whose LF has arrived too (Redis does not look at what it is); NULL: not yet."""
    cdef const char* cr = <const char*>memchr(at, c'\r', <size_t>(end - at))
    if cr == NULL or cr + 2 > end:
        return NULL
    return cr


cdef RespResult unterminated(RespParser* p, const char* at, const char* end, const char* error) noexcept nogil:
    if memchr(at, c'\r', <size_t>(end - at)) == NULL and end - at > INLINE_MAX:
        return bad(p, error)
    return RESP_MORE


cdef RespResult read_count(RespParser* p, const char* buf, size_t len, const RespLimits* limits, size_t* consumed) noexcept nogil:
    """The line of "*N". RESP_MORE with p.left set: arguments follow."""
    cdef const char* end = buf + len
    cdef const char* cr = line_end(buf, end)
    cdef int64_t n
    if cr == NULL:
        return unterminated(p, buf, end, b"Protocol error: too big mbulk count string")
    if not parse_i64(buf + 1, <size_t>(cr - buf - 1), &n) or n > limits.max_args:
        return bad(p, b"Protocol error: invalid multibulk length")
    p.pos = <size_t>(cr - buf) + 2
    if n <= 0:
        consumed[0] = p.pos
        p.pos = 0
        return RESP_REQUEST
    p.left = n
    return RESP_MORE


cdef RespResult read_bulk_length(RespParser* p, const char* buf, size_t len, const RespLimits* limits) noexcept nogil:
    """The line of "$N". RESP_REQUEST here means: read."""
    cdef const char* at = buf + p.pos
    cdef const char* end = buf + len
    cdef const char* cr
    cdef int64_t n
    if at == end:
        return RESP_MORE
    cr = line_end(at, end)
    if cr == NULL:
        return unterminated(p, at, end, b"Protocol error: too big bulk count string")
    if at[0] != c'$':
        snprintf(p.text, sizeof(p.text), b"Protocol error: expected '$', got '%c'", at[0])
        return bad(p, p.text)
    if not parse_i64(at + 1, <size_t>(cr - at - 1), &n) or n < 0 or n > limits.max_bulk:
        return bad(p, b"Protocol error: invalid bulk length")
    p.bulk = n
    p.pos = <size_t>(cr - buf) + 2
    p.hint = p.pos + <size_t>n + 2
    return RESP_REQUEST


cdef RespResult multibulk_request(RespParser* p, const char* buf, size_t len, const RespLimits* limits, size_t* consumed) noexcept nogil:
    cdef RespResult got
    cdef uint32_t i
    if p.left == 0:
        got = read_count(p, buf, len, limits, consumed)
        if got != RESP_MORE or p.left == 0:
            return got
    while p.left:
        if p.bulk < 0:
            got = read_bulk_length(p, buf, len, limits)
            if got != RESP_REQUEST:
                return got
        if len - p.pos < <size_t>p.bulk + 2:
            return RESP_MORE
        if not add_arg(p, <const char*>p.pos, <size_t>p.bulk):
            return RESP_NOMEM
        p.pos += <size_t>p.bulk + 2         # Redis does not look at the two bytes behind an argument
        p.bulk = -1
        p.left -= 1
    for i in range(p.argc):
        p.argv[i].ptr = buf + <size_t>p.argv[i].ptr
    consumed[0] = p.pos
    p.pos = 0
    return RESP_REQUEST


cdef RespResult resp_next(RespParser* p, const char* buf, size_t len, const RespLimits* limits, size_t* consumed) noexcept nogil:
    if p.pos == 0 and p.left == 0:
        begin_request(p)
    if len == 0:
        return RESP_MORE
    if buf[0] == c'*':
        return multibulk_request(p, buf, len, limits, consumed)
    return inline_request(p, buf, len, consumed)


# The fast path --------------------------------------------------------------------------------------------------


cdef enum:
    CRLF = 0x0A0D                   # the two bytes as a little-endian word
    HEADER_LEAST = 5                # "0\r\n" and the CRLF of an empty argument


cdef const char* long_number(const char* at, const char* end, size_t* n) noexcept nogil:
    """Three to nine digits and CRLF; answers what follows, NULL: anything else."""
    cdef size_t v = 0
    cdef const char* start = at
    while at < end and c'0' <= at[0] <= c'9':
        v = v * 10 + <size_t>(at[0] - c'0')
        at += 1
    if at - start > 9 or end - at < 2 or get_u16(at) != CRLF:
        return NULL
    n[0] = v
    return at + 2


cdef inline const char* small_number(const char* at, const char* end, size_t* n) noexcept nogil:
    """The number of a header and its CRLF, without a leading zero; most have one or two digits. NULL: anything else, or not all
    there."""
    cdef unsigned int first, second
    if end - at < HEADER_LEAST:
        return NULL
    first = <unsigned char>at[0] - <unsigned int>c'0'
    if first > 9:
        return NULL
    if get_u16(at + 1) == CRLF:
        n[0] = first
        return at + 3
    second = <unsigned char>at[1] - <unsigned int>c'0'
    if second > 9 or first == 0:
        return NULL
    if get_u16(at + 2) == CRLF:
        n[0] = first * 10 + second
        return at + 4
    return long_number(at, end, n)


cdef inline const char* arguments_fast(const char* at, const char* end, const RespLimits* limits, View* argv, size_t n) noexcept nogil:
    """n arguments from `at` on; answers what follows, NULL: declined."""
    cdef size_t i, len
    for i in range(n):
        if at == end or at[0] != c'$':
            return NULL
        at = small_number(at + 1, end, &len)
        if at == NULL or <size_t>(end - at) < len + 2 or <int64_t>len > limits.max_bulk:
            return NULL
        argv[i].ptr = at
        argv[i].len = len
        at += len + 2
    return at


cdef size_t resp_fast(const char* buf, const char* end, const RespLimits* limits, View* argv, uint32_t room, uint32_t* argc) noexcept nogil:
    """Declines whatever is unusual or not all there; resp_next then says what it is."""
    cdef const char* at
    cdef size_t n
    if buf == end or buf[0] != c'*':
        return 0
    at = small_number(buf + 1, end, &n)
    if at == NULL or n == 0 or n > room:
        return 0
    at = arguments_fast(at, end, limits, argv, n)
    if at == NULL:
        return 0
    argc[0] = <uint32_t>n
    return <size_t>(at - buf)


cdef inline const char* repeated(const char* buf, const char* end, const RespLimits* limits, View* argv, uint32_t room, uint32_t argc,
                                 const RespTemplate* t, const View* last) noexcept nogil:
    """What follows a request that begins as the last one of argc arguments did. NULL: it does not, or is declined."""
    cdef const char* at = buf + t.head + last[1].len + 2
    if argc > room or end - buf < at - buf or not same_bytes(buf, t.start, t.head):
        return NULL
    argv[0].ptr = buf + (last[0].ptr - t.start)
    argv[0].len = last[0].len
    argv[1].ptr = buf + t.head
    argv[1].len = last[1].len
    return arguments_fast(at, end, limits, argv + 2, argc - 2)


cdef size_t resp_next_fast(const char* buf, const char* end, const RespLimits* limits, View* argv, uint32_t room, uint32_t* argc,
                           RespTemplate* t, const View* last, bint* again) noexcept nogil:
    cdef const char* at
    cdef size_t size
    again[0] = False
    if t.start != NULL:
        at = repeated(buf, end, limits, argv, room, argc[0], t, last)
        if at != NULL:
            again[0] = True
            t.start = buf
            return <size_t>(at - buf)
    size = resp_fast(buf, end, limits, argv, room, argc)
    t.start = buf if size and argc[0] > 1 else NULL
    if t.start != NULL:
        t.head = <size_t>(argv[1].ptr - buf)
    return size
