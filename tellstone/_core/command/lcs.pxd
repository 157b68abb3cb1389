"""The handler of LCS (see command.command for what a handler is)."""
from tellstone._core.command.command cimport Context

cdef int cmd_lcs(Context* c) noexcept nogil
