"""LCS: the longest common subsequence of two strings.

The usual table holds, for the first i bytes of one text and the first j of the other, the length L[i][j] of what they have in common.
Along a row that length grows by nothing or by one, so a row is kept as bits, 0 where it grows, and the next row follows from it in a few
operations on words of 64 columns (Hyyrö's form of the bit-parallel algorithm of Crochemore et al.). Walking back needs no more than these
bits: where two bytes differ, L[i-1][j] is greater than L[i][j-1] exactly if row i grows at j.

So the table takes a bit where Redis's takes 32, and is made 64 columns at a time; what is refused as too much memory is what Redis
refuses, so that both answer alike. The work is done without a lock, over a count of each text's block or a copy of a short one.
"""
from libc.stdint cimport UINT32_MAX, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from tellstone._core.base.atomics cimport relaxed_u64
from tellstone._core.base.bits cimport popcount
from tellstone._core.base.block cimport Block, block_ref, block_unref
from tellstone._core.base.bytesops cimport View, view_of
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_NOMEM, ST_OK, ST_REPLIED, ST_SYNTAX, ST_WRONGTYPE
from tellstone._core.command.arguments cimport argument_int, option_is
from tellstone._core.command.command cimport Context
from tellstone._core.command.places cimport Keys, keys_find, keys_lock, keys_unlock
from tellstone._core.protocol.reply cimport (
    reply_array, reply_array_later, reply_array_set, reply_bulk, reply_bulk_text, reply_error, reply_int, reply_map,
)
from tellstone._core.store.keyspace cimport Place, place_count
from tellstone._core.types.string cimport STRING_SCRATCH, StringValue, string_get, string_new_block

check_layout(__name__)

cdef enum:
    REDIS_CELL = 4                  # bytes of Redis's table for one of ours, for its limit on memory

cdef struct Options:
    bint length                     # LEN
    bint ranges                     # IDX
    bint with_length                # WITHMATCHLEN
    int64_t least                   # MINMATCHLEN

cdef struct Table:
    View a                          # down the rows
    View b                          # along the columns
    uint64_t* rows                  # the first is row 0; or the last row alone
    uint64_t* masks                 # one for each byte that is in `a`: its places in `b`
    uint16_t mask_of[256]           # its number + 1; 0: not in `a`
    size_t words                    # of a row or a mask
    bint whole                      # all rows are there
    uint64_t common                 # the length of the longest common subsequence

cdef struct Match:                  # a stretch that both texts have, first and last bytes included
    uint64_t a_first
    uint64_t a_last
    uint64_t b_first
    uint64_t b_last


cdef int refuse(Context* c, const char* line) noexcept nogil:
    reply_error(c.out, line)
    return ST_REPLIED


# The table ------------------------------------------------------------------------------------------------------


cdef size_t number_bytes(Table* t) noexcept nogil:
    """Gives each byte of `a` its mask's number; answers how many there are."""
    cdef size_t i, n = 0
    cdef unsigned char byte
    memset(t.mask_of, 0, sizeof(t.mask_of))
    for i in range(t.a.len):
        byte = <unsigned char>t.a.ptr[i]
        if t.mask_of[byte] == 0:
            n += 1
            t.mask_of[byte] = <uint16_t>n
    return n


cdef void fill_masks(Table* t, size_t masks) noexcept nogil:
    cdef size_t j
    cdef uint16_t number
    memset(t.masks, 0, masks * t.words * sizeof(uint64_t))
    for j in range(t.b.len):
        number = t.mask_of[<unsigned char>t.b.ptr[j]]
        if number:
            t.masks[(number - 1) * t.words + (j >> 6)] |= (<uint64_t>1) << (j & 63)


cdef inline uint64_t* row_of(const Table* t, size_t i) noexcept nogil:
    return t.rows + (i * t.words if t.whole else 0)


cdef void next_row(const uint64_t* row, const uint64_t* mask, uint64_t* to, size_t words) noexcept nogil:
    """to = (row + (row & mask)) | (row & ~mask), as one long number. `to` may be the row itself. The carry is computed without a branch:
    none could be foretold."""
    cdef uint64_t was, meets, sum, carry = 0
    cdef size_t w
    for w in range(words):
        was = row[w]
        meets = was & mask[w]
        sum = was + meets
        to[w] = (sum + carry) | (was & ~mask[w])
        carry = <uint64_t>(sum < was) | <uint64_t>(sum + carry < sum)


cdef bint table_make(Table* t) noexcept nogil:
    """False without memory. The caller frees `rows`, which hold the masks too."""
    cdef size_t masks = number_bytes(t)
    cdef size_t rows = t.a.len + 1 if t.whole else 1
    cdef size_t i
    cdef const uint64_t* last
    t.words = (t.b.len + 63) >> 6
    t.common = 0
    t.rows = <uint64_t*>malloc((rows + masks) * t.words * sizeof(uint64_t) + 1)
    if t.rows == NULL:
        return False
    t.masks = t.rows + rows * t.words
    fill_masks(t, masks)
    memset(t.rows, 0xFF, t.words * sizeof(uint64_t))
    for i in range(t.a.len):
        next_row(row_of(t, i), t.masks + (t.mask_of[<unsigned char>t.a.ptr[i]] - 1) * t.words, row_of(t, i + 1), t.words)
    last = row_of(t, t.a.len)
    for i in range(t.words):
        t.common += popcount(~last[i])
    return True


cdef inline bint grows_at(const Table* t, size_t i, size_t j) noexcept nogil:
    """L[i][j] is greater than L[i][j-1]."""
    return (row_of(t, i)[(j - 1) >> 6] >> ((j - 1) & 63) & 1) == 0


cdef bint match_before(const Table* t, size_t* i, size_t* j, Match* match) noexcept nogil:
    """The last match within the first i and j bytes, which move to its beginning. False: there is none."""
    while i[0] > 0 and j[0] > 0 and t.a.ptr[i[0] - 1] != t.b.ptr[j[0] - 1]:
        if grows_at(t, i[0], j[0]):
            i[0] -= 1
        else:
            j[0] -= 1
    if i[0] == 0 or j[0] == 0:
        return False
    match.a_last = i[0] - 1
    match.b_last = j[0] - 1
    while i[0] > 0 and j[0] > 0 and t.a.ptr[i[0] - 1] == t.b.ptr[j[0] - 1]:
        i[0] -= 1
        j[0] -= 1
    match.a_first = i[0]
    match.b_first = j[0]
    return True


# Replies --------------------------------------------------------------------------------------------------------


cdef int reply_text(Context* c, const Table* t) noexcept nogil:
    cdef Match match
    cdef size_t i = t.a.len
    cdef size_t j = t.b.len
    cdef uint64_t at = t.common
    cdef uint64_t k
    cdef char* text = <char*>malloc(t.common + 1)
    if text == NULL:
        return ST_NOMEM
    while match_before(t, &i, &j, &match):
        k = match.a_last + 1
        while k > match.a_first:
            k -= 1
            at -= 1
            text[at] = t.a.ptr[k]
    reply_bulk(c.out, text, t.common)
    free(text)
    return ST_OK


cdef void reply_range(Context* c, uint64_t first, uint64_t last) noexcept nogil:
    reply_array(c.out, 2)
    reply_int(c.out, <int64_t>first)
    reply_int(c.out, <int64_t>last)


cdef int reply_ranges(Context* c, const Table* t, const Options* o) noexcept nogil:
    """The last match comes first."""
    cdef Match match
    cdef size_t i = t.a.len
    cdef size_t j = t.b.len
    cdef int64_t length
    cdef uint64_t n = 0
    cdef size_t mark
    reply_map(c.out, c.client.proto, 2)
    reply_bulk_text(c.out, b"matches")
    mark = reply_array_later(c.out)
    while match_before(t, &i, &j, &match):
        length = <int64_t>(match.a_last - match.a_first + 1)
        if length < o.least:
            continue
        n += 1
        reply_array(c.out, 3 if o.with_length else 2)
        reply_range(c, match.a_first, match.a_last)
        reply_range(c, match.b_first, match.b_last)
        if o.with_length:
            reply_int(c.out, length)
    reply_array_set(c.out, mark, n)
    reply_bulk_text(c.out, b"len")
    reply_int(c.out, <int64_t>t.common)
    return ST_OK


# The command ----------------------------------------------------------------------------------------------------


cdef int read_options(Context* c, Options* o) noexcept nogil:
    cdef uint32_t at = 3
    cdef int status
    memset(o, 0, sizeof(Options))
    while at < c.argc:
        if option_is(c.argv[at], b"idx", 3):
            o.ranges = True
        elif option_is(c.argv[at], b"len", 3):
            o.length = True
        elif option_is(c.argv[at], b"withmatchlen", 12):
            o.with_length = True
        elif option_is(c.argv[at], b"minmatchlen", 11) and at + 1 < c.argc:
            at += 1
            status = argument_int(c.argv[at], &o.least)
            if status != ST_OK:
                return status
        else:
            return ST_SYNTAX
        at += 1
    if o.length and o.ranges:
        return refuse(c, b"ERR If you want both the length and indexes, please just use IDX.")
    return ST_OK


cdef int hold_locked(Context* c, const Keys* keys, uint32_t i, Block** text) noexcept nogil:
    """Another count of the key's block, or a block of our own with a copy: ST_OK, ST_WRONGTYPE or ST_NOMEM."""
    cdef Place place
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    keys_find(c, keys, i, &place)
    place_count(&place)
    if string_get(&place, scratch, &v) == ST_WRONGTYPE:
        return ST_WRONGTYPE
    text[0] = v.block
    if v.block == NULL:
        text[0] = string_new_block(v.view)
    else:
        block_ref(v.block)
    return ST_OK if text[0] != NULL else ST_NOMEM


cdef int compare(Context* c, View a, View b) noexcept nogil:
    cdef Options o
    cdef Table t
    cdef int status = read_options(c, &o)
    if status != ST_OK:
        return status
    if a.len >= UINT32_MAX - 1 or b.len >= UINT32_MAX - 1:
        return refuse(c, b"ERR String too long for LCS")
    if <uint64_t>(a.len + 1) * (b.len + 1) > relaxed_u64(&c.ks.max_value) // REDIS_CELL:
        return refuse(c, b"ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len")
    t.a = a
    t.b = b
    t.whole = not o.length
    if not table_make(&t):
        return refuse(c, b"ERR Insufficient memory, failed allocating transient memory for LCS")
    if o.length:
        reply_int(c.out, <int64_t>t.common)
    else:
        status = reply_ranges(c, &t, &o) if o.ranges else reply_text(c, &t)
    free(t.rows)
    return status


# LCS key1 key2 [LEN] [IDX] [MINMATCHLEN len] [WITHMATCHLEN]
cdef int cmd_lcs(Context* c) noexcept nogil:
    """ORDER: the keys' types come before the options."""
    cdef Keys keys
    cdef Block* a = NULL
    cdef Block* b = NULL
    cdef int status
    keys_lock(c, &keys, 1, 1, 2)
    status = hold_locked(c, &keys, 0, &a)
    if status == ST_OK:
        status = hold_locked(c, &keys, 1, &b)
    keys_unlock(c, &keys)
    if status == ST_OK:
        status = compare(c, view_of(a.data, a.size), view_of(b.data, b.size))
    elif status == ST_WRONGTYPE:
        status = refuse(c, b"ERR The specified keys must contain string values")
    if a != NULL:
        block_unref(a)
    if b != NULL:
        block_unref(b)
    return status
