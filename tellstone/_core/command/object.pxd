"""Handlers of OBJECT: what Redis would tell about the inside of a value. None of them counts as an access to the key."""
from tellstone._core.command.command cimport Context

cdef int cmd_object_encoding(Context* c) noexcept nogil
cdef int cmd_object_freq(Context* c) noexcept nogil
cdef int cmd_object_idletime(Context* c) noexcept nogil
cdef int cmd_object_refcount(Context* c) noexcept nogil
