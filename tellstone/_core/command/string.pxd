"""Handlers of the string commands (see command.command for what a handler is). One row of command.table names each."""
from libc.stdint cimport int64_t

from tellstone._core.base.bytesops cimport View
from tellstone._core.command.command cimport Context

cdef int cmd_get(Context* c) noexcept nogil
cdef int cmd_getex(Context* c) noexcept nogil
cdef int cmd_getdel(Context* c) noexcept nogil
cdef int cmd_getset(Context* c) noexcept nogil
cdef int cmd_set(Context* c) noexcept nogil
cdef int cmd_setnx(Context* c) noexcept nogil
cdef int cmd_setex(Context* c) noexcept nogil
cdef int cmd_psetex(Context* c) noexcept nogil
cdef int cmd_mget(Context* c) noexcept nogil
cdef int cmd_mset(Context* c) noexcept nogil
cdef int cmd_msetnx(Context* c) noexcept nogil
cdef int cmd_strlen(Context* c) noexcept nogil
cdef int cmd_append(Context* c) noexcept nogil
cdef int cmd_getrange(Context* c) noexcept nogil             # SUBSTR too
cdef int cmd_setrange(Context* c) noexcept nogil
cdef int cmd_incr(Context* c) noexcept nogil
cdef int cmd_decr(Context* c) noexcept nogil
cdef int cmd_incrby(Context* c) noexcept nogil
cdef int cmd_decrby(Context* c) noexcept nogil
cdef int cmd_incrbyfloat(Context* c) noexcept nogil

# SET without options, but for its reply: ST_OK or an error.
cdef int string_write(Context* c, View value, int64_t deadline) noexcept nogil
