"""Handlers of DUMP and RESTORE: values in Redis's serialization (types.serial), to and from any Redis up to 7.2."""
from tellstone._core.command.command cimport Context

cdef int cmd_dump(Context* c) noexcept nogil
cdef int cmd_restore(Context* c) noexcept nogil
