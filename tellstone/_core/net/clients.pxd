"""Questions about a member's clients, answered on its own thread: CLIENT LIST and CLIENT KILL.

Every member gets a copy of the question and answers with a report on the control queue; Python adds them up.
"""
from libc.stdint cimport uint64_t

from tellstone._core.net.connection cimport Connections
from tellstone._core.net.mailbox cimport QueryKind, QueryMessage

# A malloc'ed copy of the question, its texts and ids included; NULL without memory.
cdef QueryMessage* query_message(const QueryMessage* question) noexcept nogil
cdef void clients_answer(Connections* cs, const QueryMessage* q) noexcept nogil
# For a member that has ended: it has no clients.
cdef void clients_answer_none(Connections* cs, const QueryMessage* q) noexcept nogil
