"""The requests of the native protocol that are not a COMMAND, with its frames as their replies.

They do what the rows of their RESP namesakes do, and stand in for the handlers of those rows (session.frames). ERRORS: what a handler answers
as a status, or a gate refuses, is written as an error of RESP by whoever does so for every command; frame_error makes a frame of it.
"""
from tellstone._core.command.command cimport Context

cdef int cmd_native_get(Context* c) noexcept nogil           # GET key
cdef int cmd_native_set(Context* c) noexcept nogil           # SET key value [PX milliseconds]
cdef int cmd_native_delete(Context* c) noexcept nogil        # DEL key
cdef int cmd_native_ping(Context* c) noexcept nogil          # PING
