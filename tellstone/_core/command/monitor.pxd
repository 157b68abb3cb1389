"""MONITOR, and how a command is shown to those who watch."""
from libc.stdint cimport uint32_t

from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.command.command cimport Command, Context

cdef int cmd_monitor(Context* c) noexcept nogil
cdef bint monitor_shows(const Command* row) noexcept nogil      # commands of administrators are nobody's business
cdef void monitor_append(const Context* c, OutBuf* out) noexcept nogil     # the line of a call, as a simple string
