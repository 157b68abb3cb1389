"""The requests of the native protocol (see native.pxd)."""
from libc.stdint cimport int64_t

from tellstone._core.base.outbuf cimport OutBuf, outbuf_append_block, outbuf_reserve
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_MISSING, ST_OK
from tellstone._core.command.arguments cimport argument_deadline
from tellstone._core.command.command cimport Context
from tellstone._core.command.keys cimport key_remove
from tellstone._core.command.places cimport open_key
from tellstone._core.command.string cimport string_write
from tellstone._core.protocol.native cimport FRAME_ERROR, FRAME_HEAD, FRAME_PONG, FRAME_RESPONSE, frame_head, frame_write
from tellstone._core.store.entry cimport NO_DEADLINE
from tellstone._core.store.keyspace cimport Place, keyspace_close, place_count
from tellstone._core.types.string cimport STRING_SCRATCH, StringValue, string_get

check_layout(__name__)


cdef void write_value(OutBuf* o, const StringValue* v) noexcept nogil:
    cdef char* at
    if v.block == NULL:
        frame_write(o, FRAME_RESPONSE, v.view.ptr, v.view.len)
        return
    at = outbuf_reserve(o, FRAME_HEAD)
    if at != NULL:
        frame_head(at, FRAME_RESPONSE, v.view.len)
        o.len += FRAME_HEAD
        outbuf_append_block(o, v.block)


cdef int cmd_native_get(Context* c) noexcept nogil:
    cdef Place place
    cdef StringValue v
    cdef char scratch[STRING_SCRATCH]
    cdef int status
    open_key(c, &place)
    status = string_get(&place, scratch, &v)
    place_count(&place)
    if status == ST_OK:
        write_value(c.out, &v)
    elif status == ST_MISSING:
        frame_write(c.out, FRAME_ERROR, b"NOT_FOUND", 9)
    keyspace_close(&place)
    return status


cdef int cmd_native_set(Context* c) noexcept nogil:
    cdef int64_t deadline = NO_DEADLINE
    cdef int status = ST_OK
    if c.argc > 3:
        status = argument_deadline(c.argv[4], False, c.now, &deadline)
    if status == ST_OK:
        status = string_write(c, c.argv[2], deadline)
    if status == ST_OK:
        frame_write(c.out, FRAME_RESPONSE, b"OK", 2)
    return status


cdef int cmd_native_delete(Context* c) noexcept nogil:
    """A key that is not there is deleted all the same."""
    key_remove(c)
    frame_write(c.out, FRAME_RESPONSE, b"OK", 2)
    return ST_OK


cdef int cmd_native_ping(Context* c) noexcept nogil:
    frame_write(c.out, FRAME_PONG, b"", 0)
    return ST_OK
