"""GET as the native protocol answers it. All its other requests run the handlers of RESP (see session.frames)."""
from tellstone._core.command.command cimport Context

cdef int cmd_native_get(Context* c) noexcept nogil
