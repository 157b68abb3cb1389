"""The bridge from the threads of a group to Python: control commands go up, answers and reports come back.

    a member's thread                       the server's thread (an asyncio reader on ControlBridge.fileno())
    control_send_call(...)    --queue-->    for item in bridge.drain(): ...
    mailbox  <--AnswerMessage--             call.answer(reply)

A member never waits here. When `capacity` calls wait already, control_send_call refuses and the member answers BUSY
itself. Reports are never refused: somebody in Python has asked for them and counts them.
LIFETIME: a ControlCall that dies without an answer answers with an error, so no connection waits for ever.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.base.queue cimport Node, Queue
from tellstone._core.net.mailbox cimport Mailbox
from tellstone._core.session.session cimport ParkedCall

cdef enum ControlKind:
    CONTROL_CALL = 0
    CONTROL_REPORT = 1

cdef struct ControlItem:                # malloc'ed by the sender, owned by whoever holds it
    Node node
    ControlKind kind
    Mailbox* mailbox                    # a call: one count, for the way back
    uint32_t slot
    uint32_t generation
    ParkedCall* parked
    uint64_t token                      # a report: of the question
    uint32_t member                     # who reports
    int64_t count
    char* lines                         # malloc'ed; NULL: the report is only the count
    size_t len

# Takes the parked call. False: the queue is full, or memory is out; the parked call has been freed.
cdef bint control_send_call(
    Queue* q, Mailbox* mailbox, uint32_t slot, uint32_t generation, ParkedCall* parked,
) noexcept nogil
# Takes `lines`. Without memory the report is lost, and its asker has to time out.
cdef void control_send_report(
    Queue* q, uint64_t token, uint32_t member, int64_t count, char* lines, size_t len,
) noexcept nogil

cdef class ControlBridge:
    cdef Queue queue

cdef class ControlCall:
    cdef Mailbox* mailbox               # one count
    cdef uint32_t answered              # bool, atomic
    cdef uint32_t slot
    cdef uint32_t generation
    cdef readonly str name
    cdef readonly tuple args
    cdef readonly unsigned long long client_id
    cdef readonly int db
    cdef readonly int proto
    cdef readonly bytes addr
    cdef readonly bytes laddr
    cdef readonly bytes client_name

cdef class Report:
    cdef readonly unsigned long long token
    cdef readonly unsigned int member
    cdef readonly long long count
    cdef readonly bytes lines
