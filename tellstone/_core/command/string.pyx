"""Handlers of the string commands.

Every handler checks its arguments, opens the key's place (which locks the shard), lets types.string work on it, and replies in Redis's
words. ORDER: errors come in Redis's order; where that is not arguments, then type, then value, the handler says so.

A value is copied once, from its entry into the output, under the lock; a counted block goes out by reference. A long value that comes
in is copied into its block before the lock is taken.
"""
from libc.stdint cimport INT64_MIN, int64_t, uint32_t, uint64_t

from tellstone._core.base.block cimport Block, block_ref, block_unref
from tellstone._core.base.bytesops cimport View, view_of
from tellstone._core.base.decimal cimport DECIMAL_ROOM
from tellstone._core.base.outbuf cimport outbuf_truncate
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport (
    ST_ARITY, ST_DECR_OVERFLOW, ST_MISSING, ST_NOMEM, ST_NOT_INTEGER, ST_OFFSET_RANGE, ST_OK, ST_REFUSED, ST_SYNTAX, ST_WRONGTYPE,
)
from tellstone._core.command.arguments cimport argument_deadline, argument_int, option_is
from tellstone._core.command.command cimport Context
from tellstone._core.command.places cimport Keys, keys_find, keys_lock, keys_unlock, open_key
from tellstone._core.protocol.reply cimport reply_array, reply_block, reply_bulk, reply_int, reply_null, reply_ok
from tellstone._core.store.entry cimport ENTRY_BLOCK_FROM, NO_DEADLINE
from tellstone._core.store.keyspace cimport Place, keyspace_close, place_count, place_exists, place_remove
from tellstone._core.store.shard cimport DEADLINE_KEEP, shard_set_deadline
from tellstone._core.types.string cimport (
    STRING_SCRATCH, StringValue, string_append, string_get, string_increment, string_increment_float, string_length, string_new_block,
    string_set, string_set_block, string_set_range,
)

check_layout(__name__)


cdef inline int reply_value(Context* c, Place* place) noexcept nogil:
    """What GET answers: the value, or null with ST_MISSING; counts the read. ST_WRONGTYPE: nothing has been written."""
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef int status = string_get(place, scratch, &v)
    place_count(place)
    if status == ST_MISSING:
        reply_null(c.out, c.client.proto)
    elif status == ST_OK:
        if v.block == NULL:
            reply_bulk(c.out, v.view.ptr, v.view.len)
        else:
            reply_block(c.out, v.block)
    return status


# Options of SET and GETEX ---------------------------------------------------------------------------------------

cdef enum:
    OPT_NX = 1
    OPT_XX = 2
    OPT_GET = 4
    OPT_KEEPTTL = 8
    OPT_PERSIST = 16
    OPT_EX = 32
    OPT_PX = 64
    OPT_EXAT = 128
    OPT_PXAT = 256

    OPT_TIME = OPT_EX | OPT_PX | OPT_EXAT | OPT_PXAT           # an argument follows
    OPT_DEADLINE = OPT_TIME | OPT_KEEPTTL | OPT_PERSIST        # only one of them, which may be repeated
    SET_OPTIONS = OPT_NX | OPT_XX | OPT_GET | OPT_KEEPTTL | OPT_TIME
    GETEX_OPTIONS = OPT_PERSIST | OPT_TIME

    OPTIONS = 9

cdef struct Option:
    const char* word
    size_t len
    uint32_t flag
    uint32_t excludes               # options that must not have come before

cdef struct Options:                # of a call
    uint32_t flags
    View time                       # of the last option in OPT_TIME

cdef Option option_rows[OPTIONS]
option_rows[0] = Option(b"ex", 2, OPT_EX, OPT_DEADLINE & ~OPT_EX)
option_rows[1] = Option(b"px", 2, OPT_PX, OPT_DEADLINE & ~OPT_PX)
option_rows[2] = Option(b"nx", 2, OPT_NX, OPT_XX)
option_rows[3] = Option(b"xx", 2, OPT_XX, OPT_NX)
option_rows[4] = Option(b"get", 3, OPT_GET, 0)
option_rows[5] = Option(b"keepttl", 7, OPT_KEEPTTL, OPT_DEADLINE & ~OPT_KEEPTTL)
option_rows[6] = Option(b"exat", 4, OPT_EXAT, OPT_DEADLINE & ~OPT_EXAT)
option_rows[7] = Option(b"pxat", 4, OPT_PXAT, OPT_DEADLINE & ~OPT_PXAT)
option_rows[8] = Option(b"persist", 7, OPT_PERSIST, OPT_DEADLINE & ~OPT_PERSIST)


cdef const Option* option_find(View text) noexcept nogil:
    cdef int i
    for i in range(OPTIONS):
        if option_is(text, option_rows[i].word, option_rows[i].len):
            return &option_rows[i]
    return NULL


cdef int options_read(Context* c, uint32_t at, uint32_t allowed, Options* out) noexcept nogil:
    """The options from argument `at` on: ST_OK or ST_SYNTAX. Times are not looked at yet."""
    cdef const Option* row
    out.flags = 0
    while at < c.argc:
        row = option_find(c.argv[at])
        if row == NULL or not row.flag & allowed or out.flags & row.excludes:
            return ST_SYNTAX
        out.flags |= row.flag
        if row.flag & OPT_TIME:
            at += 1
            if at == c.argc:
                return ST_SYNTAX
            out.time = c.argv[at]
        at += 1
    return ST_OK


cdef int options_deadline(Context* c, const Options* o, int64_t* deadline) noexcept nogil:
    """The deadline that one of OPT_TIME asks for: ST_OK, ST_NOT_INTEGER or ST_INVALID_EXPIRE."""
    return argument_deadline(o.time, o.flags & (OPT_EX | OPT_EXAT) != 0, c.now if o.flags & (OPT_EX | OPT_PX) else 0, deadline)


# One value read -------------------------------------------------------------------------------------------------


# GET key
cdef int cmd_get(Context* c) noexcept nogil:
    cdef Place place
    cdef int status
    open_key(c, &place)
    status = reply_value(c, &place)
    keyspace_close(&place)
    return status


cdef int apply_getex(Context* c, Place* place, const Options* o) noexcept nogil:
    cdef int64_t deadline = NO_DEADLINE
    cdef int status
    if o.flags == 0:
        return ST_OK
    if o.flags & OPT_TIME:
        status = options_deadline(c, o, &deadline)
        if status != ST_OK:
            return status
        if deadline <= c.now:
            place_remove(place)
            return ST_OK
    return ST_OK if shard_set_deadline(place.part, &place.found, deadline) else ST_NOMEM


# GETEX key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]
cdef int cmd_getex(Context* c) noexcept nogil:
    """ORDER: options, then the key and its type, and only then the time: of a missing key it is never read."""
    cdef Place place
    cdef Options o
    cdef size_t len = c.out.len
    cdef uint32_t refs = c.out.ref_count
    cdef int status = options_read(c, 2, GETEX_OPTIONS, &o)
    if status != ST_OK:
        return status
    open_key(c, &place)
    status = reply_value(c, &place)
    if status == ST_OK:
        status = apply_getex(c, &place, &o)
        if status < 0:
            outbuf_truncate(c.out, len, refs)
    keyspace_close(&place)
    return status


# GETDEL key
cdef int cmd_getdel(Context* c) noexcept nogil:
    cdef Place place
    cdef int status
    open_key(c, &place)
    status = reply_value(c, &place)
    if status == ST_OK:
        place_remove(&place)
    keyspace_close(&place)
    return status


# STRLEN key
cdef int cmd_strlen(Context* c) noexcept nogil:
    cdef Place place
    cdef uint64_t length = 0
    cdef int status
    open_key(c, &place)
    place_count(&place)
    status = string_length(&place, &length)
    keyspace_close(&place)
    if status == ST_OK:
        reply_int(c.out, length)
    return status


cdef View range_of(View v, int64_t start, int64_t end) noexcept nogil:
    """Both ends are included and count from the end when negative; what lies outside is cut off, before the first byte onto it."""
    cdef int64_t len = <int64_t>v.len
    if start < 0 and end < 0 and start > end:
        return view_of(v.ptr, 0)
    if start < 0:
        start = start + len if start + len > 0 else 0
    if end < 0:
        end = end + len if end + len > 0 else 0
    if end >= len:
        end = len - 1
    if start > end:
        return view_of(v.ptr, 0)
    return view_of(v.ptr + start, <size_t>(end - start + 1))


# GETRANGE key start end
# SUBSTR key start end
cdef int cmd_getrange(Context* c) noexcept nogil:
    cdef Place place
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef int64_t start, end
    cdef View part
    cdef int status
    if argument_int(c.argv[2], &start) != ST_OK or argument_int(c.argv[3], &end) != ST_OK:
        return ST_NOT_INTEGER
    open_key(c, &place)
    place_count(&place)
    status = string_get(&place, scratch, &v)
    part = range_of(v.view, start, end)
    if v.block != NULL:
        block_ref(v.block)
    elif status != ST_WRONGTYPE:
        reply_bulk(c.out, part.ptr, part.len)
    keyspace_close(&place)
    if v.block != NULL:
        # LIFETIME: the bytes of a block stay as they are while we hold a count; nobody waits for this copy.
        reply_bulk(c.out, part.ptr, part.len)
        block_unref(v.block)
    return status


# One value set --------------------------------------------------------------------------------------------------


cdef int set_locked(Context* c, Place* place, View value, Block* block, uint32_t flags, int64_t deadline) noexcept nogil:
    """Takes the count of the block over, if there is one. Without memory there is no reply yet, as everywhere."""
    cdef size_t len = c.out.len
    cdef uint32_t refs = c.out.ref_count
    cdef int status = reply_value(c, place) if flags & OPT_GET else ST_OK
    if status >= 0 and flags & (OPT_XX if not place_exists(place) else OPT_NX):
        status = ST_REFUSED
    if status < 0 or status == ST_REFUSED:
        if block != NULL:
            block_unref(block)
        return status
    status = string_set(place, value, deadline) if block == NULL else string_set_block(place, block, deadline)
    if status < 0:
        outbuf_truncate(c.out, len, refs)
    return status


cdef inline int set_value(Context* c, View value, uint32_t flags, int64_t deadline) noexcept nogil:
    """Set argv[1]. ST_OK, ST_REFUSED (by OPT_NX or OPT_XX) or an error. With OPT_GET the old value is the reply, else there is none."""
    cdef Place place
    cdef Block* block = NULL
    cdef int status
    if value.len >= ENTRY_BLOCK_FROM:
        block = string_new_block(value)
        if block == NULL:
            return ST_NOMEM
    open_key(c, &place)
    status = set_locked(c, &place, value, block, flags, deadline)
    keyspace_close(&place)
    return status


# SET key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]
cdef int cmd_set(Context* c) noexcept nogil:
    cdef Options o
    cdef int64_t deadline = NO_DEADLINE
    cdef int status = options_read(c, 3, SET_OPTIONS, &o)
    if status == ST_OK and o.flags & OPT_TIME:
        status = options_deadline(c, &o, &deadline)
    elif o.flags & OPT_KEEPTTL:
        deadline = DEADLINE_KEEP
    if status == ST_OK:
        status = set_value(c, c.argv[2], o.flags, deadline)
    if status < 0 or o.flags & OPT_GET:
        return status
    if status == ST_OK:
        reply_ok(c.out)
    else:
        reply_null(c.out, c.client.proto)
    return ST_OK


cdef int string_write(Context* c, View value, int64_t deadline) noexcept nogil:
    return set_value(c, value, 0, deadline)


# SETNX key value
cdef int cmd_setnx(Context* c) noexcept nogil:
    cdef int status = set_value(c, c.argv[2], OPT_NX, NO_DEADLINE)
    if status >= 0:
        reply_int(c.out, status == ST_OK)
    return status


cdef int set_until(Context* c, bint seconds) noexcept nogil:
    cdef int64_t deadline
    cdef int status = argument_deadline(c.argv[2], seconds, c.now, &deadline)
    if status == ST_OK:
        status = set_value(c, c.argv[3], 0, deadline)
    if status == ST_OK:
        reply_ok(c.out)
    return status


# SETEX key seconds value
cdef int cmd_setex(Context* c) noexcept nogil:
    return set_until(c, True)


# PSETEX key milliseconds value
cdef int cmd_psetex(Context* c) noexcept nogil:
    return set_until(c, False)


# GETSET key value
cdef int cmd_getset(Context* c) noexcept nogil:
    return set_value(c, c.argv[2], OPT_GET, NO_DEADLINE)


# Several values -------------------------------------------------------------------------------------------------

# MGET key [key ...]
cdef int cmd_mget(Context* c) noexcept nogil:
    cdef Keys keys
    cdef Place place
    cdef uint32_t i
    keys_lock(c, &keys, 1, 1, c.argc - 1)
    reply_array(c.out, keys.count)
    for i in range(keys.count):
        keys_find(c, &keys, i, &place)
        if reply_value(c, &place) == ST_WRONGTYPE:
            reply_null(c.out, c.client.proto)
    keys_unlock(c, &keys)
    return ST_OK


cdef bint any_exists(Context* c, const Keys* keys) noexcept nogil:
    cdef Place place
    cdef uint32_t i
    for i in range(keys.count):
        keys_find(c, keys, i, &place)
        if place_exists(&place):
            return True
    return False


cdef int set_pairs(Context* c, bint only_new) noexcept nogil:
    """ST_OK, ST_REFUSED (one of the keys exists and only_new), ST_ARITY or ST_NOMEM. A key may come twice: the last value stays."""
    cdef Keys keys
    cdef Place place
    cdef uint32_t i
    cdef int status = ST_OK
    if c.argc % 2 == 0:
        return ST_ARITY
    keys_lock(c, &keys, 1, 2, c.argc // 2)
    if only_new and any_exists(c, &keys):
        status = ST_REFUSED
    else:
        for i in range(keys.count):
            keys_find(c, &keys, i, &place)
            status = string_set(&place, c.argv[2 + 2 * i], NO_DEADLINE)
            if status < 0:
                break
    keys_unlock(c, &keys)
    return status


# MSET key value [key value ...]
cdef int cmd_mset(Context* c) noexcept nogil:
    cdef int status = set_pairs(c, False)
    if status == ST_OK:
        reply_ok(c.out)
    return status


# MSETNX key value [key value ...]
cdef int cmd_msetnx(Context* c) noexcept nogil:
    cdef int status = set_pairs(c, True)
    if status >= 0:
        reply_int(c.out, status == ST_OK)
    return status


# A value changed ------------------------------------------------------------------------------------------------


# APPEND key value
cdef int cmd_append(Context* c) noexcept nogil:
    cdef Place place
    cdef uint64_t length
    cdef int status
    open_key(c, &place)
    status = string_append(&place, c.argv[2], &length)
    keyspace_close(&place)
    if status == ST_OK:
        reply_int(c.out, length)
    return status


# SETRANGE key offset value
cdef int cmd_setrange(Context* c) noexcept nogil:
    cdef Place place
    cdef int64_t offset
    cdef uint64_t length
    cdef int status = argument_int(c.argv[2], &offset)
    if status != ST_OK:
        return status
    if offset < 0:
        return ST_OFFSET_RANGE
    open_key(c, &place)
    status = string_set_range(&place, <uint64_t>offset, c.argv[3], &length)
    keyspace_close(&place)
    if status == ST_OK:
        reply_int(c.out, length)
    return status


cdef int increment(Context* c, int64_t by) noexcept nogil:
    cdef Place place
    cdef int64_t result
    cdef int status
    open_key(c, &place)
    status = string_increment(&place, by, &result)
    keyspace_close(&place)
    if status == ST_OK:
        reply_int(c.out, result)
    return status


# INCR key
cdef int cmd_incr(Context* c) noexcept nogil:
    return increment(c, 1)


# DECR key
cdef int cmd_decr(Context* c) noexcept nogil:
    return increment(c, -1)


# INCRBY key increment
cdef int cmd_incrby(Context* c) noexcept nogil:
    cdef int64_t by
    cdef int status = argument_int(c.argv[2], &by)
    return increment(c, by) if status == ST_OK else status


# DECRBY key decrement
cdef int cmd_decrby(Context* c) noexcept nogil:
    cdef int64_t by
    cdef int status = argument_int(c.argv[2], &by)
    if status == ST_OK and by == INT64_MIN:
        return ST_DECR_OVERFLOW
    return increment(c, -by) if status == ST_OK else status


# INCRBYFLOAT key increment
cdef int cmd_incrbyfloat(Context* c) noexcept nogil:
    """ORDER: the key's type comes before the argument."""
    cdef Place place
    cdef char text[DECIMAL_ROOM]
    cdef size_t length
    cdef int status
    open_key(c, &place)
    status = string_increment_float(&place, c.argv[2], text, &length)
    keyspace_close(&place)
    if status == ST_OK:
        reply_bulk(c.out, text, length)
    return status
