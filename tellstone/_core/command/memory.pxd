"""What a key costs."""
from tellstone._core.command.command cimport Context

cdef int cmd_memory_usage(Context* c) noexcept nogil
