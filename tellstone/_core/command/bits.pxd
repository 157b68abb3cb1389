"""Handlers of the commands on bits (see command.command for what a handler is). One row of command.table names each."""
from tellstone._core.command.command cimport Context

cdef int cmd_getbit(Context* c) noexcept nogil
cdef int cmd_setbit(Context* c) noexcept nogil
cdef int cmd_bitcount(Context* c) noexcept nogil
cdef int cmd_bitpos(Context* c) noexcept nogil
cdef int cmd_bitop(Context* c) noexcept nogil
cdef int cmd_bitfield(Context* c) noexcept nogil
cdef int cmd_bitfield_ro(Context* c) noexcept nogil
