"""Places for connections, and the lines that they wait in (see net.connection).

Slots come in chunks that are never taken away, so that whoever knows a slot may look at it: its generation tells whether its tenant is
still the same.
"""
from tellstone._core.net.connection cimport Connection, Connections, Line, Mode

cdef Connection* slot_take(Connections* cs) noexcept nogil             # a clean one, NULL without memory
cdef void slot_leave(Connections* cs, Connection* c) noexcept nogil
cdef void slots_free(Connections* cs) noexcept nogil                   # all are free
cdef void line_up(Line* line, Connection* c, Mode mode) noexcept nogil
cdef void step_out(Line* line, Connection* c) noexcept nogil           # it is OPEN again
# Let what the connection's buffers have above ACCOUNT_FROM count towards the memory ceiling.
cdef void connection_account(Connections* cs, Connection* c) noexcept nogil
