"""DUMP and RESTORE (see serial.pxd).

Compressing, expanding and checksums take their time, so all of it is done without the shard's lock: DUMP works on a copy
of the value or on a count of its block, RESTORE has the value ready before it writes.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove

from tellstone._core.base.atomics cimport relaxed_u64
from tellstone._core.base.block cimport Block, block_new, block_ref, block_unref
from tellstone._core.base.bytesops cimport View, format_u64, view_of
from tellstone._core.base.outbuf cimport OutBuf, outbuf_reserve
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_MISSING, ST_NOMEM, ST_NOT_INTEGER, ST_OK, ST_REFUSED, ST_REPLIED, ST_SYNTAX, ST_TOO_BIG
from tellstone._core.command.arguments cimport argument_int, option_is
from tellstone._core.command.command cimport Context
from tellstone._core.command.places cimport open_key
from tellstone._core.protocol.reply cimport reply_error, reply_null, reply_ok
from tellstone._core.store.access cimport access_restore
from tellstone._core.store.entry cimport ENTRY_BLOCK_FROM, NO_DEADLINE
from tellstone._core.store.keyspace cimport Place, keyspace_close, place_count, place_exists, place_remove, place_renew
from tellstone._core.types.serial cimport (
    SERIAL_BAD_FRAME, SERIAL_OK, SERIAL_OVERHEAD, SerialStatus, SerialString, serial_expand, serial_read_string,
    serial_write_string,
)
from tellstone._core.types.string cimport (
    STRING_SCRATCH, StringValue, string_get, string_new_block, string_set, string_set_block,
)

check_layout(__name__)

cdef enum:
    HEAD_ROOM = 24                  # of a bulk: "$", 20 digits, CRLF


# DUMP -----------------------------------------------------------------------------------------------------------


cdef int reply_dump(OutBuf* o, View value) noexcept nogil:
    """The payload is written behind room for the longest head, and moved up to the one it gets."""
    cdef char* at = outbuf_reserve(o, HEAD_ROOM + value.len + SERIAL_OVERHEAD + 2)
    cdef size_t size, head
    if at == NULL:
        return ST_NOMEM
    size = serial_write_string(at + HEAD_ROOM, value)
    at[0] = c'$'
    head = 1 + format_u64(at + 1, size)
    memcpy(at + head, b"\r\n", 2)
    head += 2
    memmove(at + head, at + HEAD_ROOM, size)
    memcpy(at + head + size, b"\r\n", 2)
    o.len += head + size + 2
    return ST_OK


# DUMP key
cdef int cmd_dump(Context* c) noexcept nogil:
    cdef char value[ENTRY_BLOCK_FROM]
    cdef char scratch[STRING_SCRATCH]
    cdef StringValue v
    cdef Place place
    cdef int status
    open_key(c, &place)
    place_count(&place)
    status = string_get(&place, scratch, &v)
    if status == ST_OK and v.block != NULL:
        block_ref(v.block)
    elif status == ST_OK:
        memcpy(value, v.view.ptr, v.view.len)
        v.view.ptr = value
    keyspace_close(&place)
    if status == ST_MISSING:
        reply_null(c.out, c.client.proto)
    if status != ST_OK:
        return status
    status = reply_dump(c.out, v.view)
    if v.block != NULL:
        block_unref(v.block)
    return status


# RESTORE --------------------------------------------------------------------------------------------------------


cdef struct RestoreOptions:
    bint replace
    bint absolute                   # the TTL is a Unix time
    int64_t idle                    # seconds, -1: not given
    int64_t frequency               # checked, but there is no policy that would use it; -1: not given


cdef int refuse(Context* c, const char* text) noexcept nogil:
    reply_error(c.out, text)
    return ST_REPLIED


cdef int restore_options(Context* c, RestoreOptions* o) noexcept nogil:
    """ORDER: a number is checked where it stands, before the options behind it. Of IDLETIME and FREQ only one may be
    given."""
    cdef uint32_t i = 4
    cdef bint more                  # an argument follows the word
    o.replace = False
    o.absolute = False
    o.idle = -1
    o.frequency = -1
    while i < c.argc:
        more = i + 1 < c.argc
        if option_is(c.argv[i], b"replace", 7):
            o.replace = True
        elif option_is(c.argv[i], b"absttl", 6):
            o.absolute = True
        elif option_is(c.argv[i], b"idletime", 8) and more and o.frequency == -1:
            i += 1
            if argument_int(c.argv[i], &o.idle) != ST_OK:
                return ST_NOT_INTEGER
            if o.idle < 0:
                return refuse(c, b"ERR Invalid IDLETIME value, must be >= 0")
        elif option_is(c.argv[i], b"freq", 4) and more and o.idle == -1:
            i += 1
            if argument_int(c.argv[i], &o.frequency) != ST_OK:
                return ST_NOT_INTEGER
            if o.frequency < 0 or o.frequency > 255:
                return refuse(c, b"ERR Invalid FREQ value, must be >= 0 and <= 255")
        else:
            return ST_SYNTAX
        i += 1
    return ST_OK


cdef int restore_deadline(Context* c, bint absolute, int64_t* deadline) noexcept nogil:
    """A TTL of 0 is none. Redis adds the clock to any other without a look at the sum, which may wrap around into the
    past."""
    cdef int64_t ttl
    if argument_int(c.argv[2], &ttl) != ST_OK:
        return ST_NOT_INTEGER
    if ttl < 0:
        return refuse(c, b"ERR Invalid TTL value, must be >= 0")
    deadline[0] = NO_DEADLINE
    if ttl:
        deadline[0] = ttl if absolute else <int64_t>(<uint64_t>ttl + <uint64_t>c.now)
    return ST_OK


cdef struct Restored:               # a value on its way into a key
    SerialString string
    View view                       # of a value that is no block: in the payload, in `string` or in `room`
    Block* block                    # not NULL: the value; the count is ours
    char room[ENTRY_BLOCK_FROM]


cdef int expand(Context* c, Restored* r) noexcept nogil:
    cdef char* to = r.room
    if r.string.length >= ENTRY_BLOCK_FROM:
        r.block = block_new(r.string.length, r.string.length)
        if r.block == NULL:
            return ST_NOMEM
        to = r.block.data
    if not serial_expand(&r.string, to):
        if r.block != NULL:
            block_unref(r.block)
        return refuse(c, b"ERR Bad data format")
    r.view = view_of(to, r.string.length)
    return ST_OK


cdef int read_payload(Context* c, View payload, Restored* r) noexcept nogil:
    """ST_OK, ST_REPLIED, ST_TOO_BIG or ST_NOMEM."""
    cdef SerialStatus status = serial_read_string(payload, &r.string)
    r.block = NULL
    if status == SERIAL_BAD_FRAME:
        return refuse(c, b"ERR DUMP payload version or checksum are wrong")
    if status != SERIAL_OK:
        return refuse(c, b"ERR Bad data format")
    if r.string.length > relaxed_u64(&c.ks.max_value):
        return ST_TOO_BIG
    if r.string.compressed:
        return expand(c, r)
    r.view = r.string.stored
    if r.view.len >= ENTRY_BLOCK_FROM:
        r.block = string_new_block(r.view)
        if r.block == NULL:
            return ST_NOMEM
    return ST_OK


cdef int restore_locked(Context* c, Place* place, const RestoreOptions* o, int64_t deadline,
                        const Restored* r) noexcept nogil:
    """ST_OK, ST_REFUSED (the key exists) or ST_NOMEM. A deadline that has passed leaves no key. The block's count is gone
    afterwards."""
    cdef bint existed = place_exists(place)
    cdef bint refused = existed and not o.replace
    cdef int status
    if refused or (deadline != NO_DEADLINE and deadline <= c.now):
        if r.block != NULL:
            block_unref(r.block)
        if not refused and existed:
            place_remove(place)
        return ST_REFUSED if refused else ST_OK
    if r.block != NULL:
        status = string_set_block(place, r.block, deadline)
    else:
        status = string_set(place, r.view, deadline)
    if status == ST_OK:
        if existed:
            place_renew(place)
        access_restore(place.shard, place.found.entry, c.now, o.idle, o.frequency)
    return status


cdef bint is_busy(Context* c) noexcept nogil:
    cdef Place place
    cdef bint found
    open_key(c, &place)
    found = place_exists(&place)
    keyspace_close(&place)
    return found


# RESTORE key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]
cdef int cmd_restore(Context* c) noexcept nogil:
    """ORDER: options, the key, the TTL, the payload; so the key is looked at twice, because reading the payload takes its
    time."""
    cdef RestoreOptions o
    cdef Restored r
    cdef Place place
    cdef int64_t deadline
    cdef int status = restore_options(c, &o)
    if status == ST_OK and not o.replace and is_busy(c):
        status = ST_REFUSED
    if status == ST_OK:
        status = restore_deadline(c, o.absolute, &deadline)
    if status == ST_OK:
        status = read_payload(c, c.argv[3], &r)
    if status == ST_OK:
        open_key(c, &place)
        status = restore_locked(c, &place, &o, deadline, &r)
        keyspace_close(&place)
    if status == ST_REFUSED:
        return refuse(c, b"BUSYKEY Target key name already exists.")
    if status == ST_OK:
        reply_ok(c.out)
    return status
