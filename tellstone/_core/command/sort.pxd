"""Handlers of SORT and SORT_RO: as far as there is something to sort. No type so far has elements, so a key is missing or wrong."""
from tellstone._core.command.command cimport Context

cdef int cmd_sort(Context* c) noexcept nogil
cdef int cmd_sort_ro(Context* c) noexcept nogil
