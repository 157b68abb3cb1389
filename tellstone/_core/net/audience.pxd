"""An audience: clients of a group, on whichever threads, that are sent the same bytes. The monitors are one.

What is sent goes through the mailboxes, also to clients of the sending thread: so everybody of an audience gets everything in the
order in which it was sent. One whose thread cannot keep up, so that PUSH_BACKLOG bytes wait in its mailbox, is dropped and its
connection cut; one that does not read is cut by the limit of its output, as any client is.

LOCK: `lock` guards everything; the mailboxes' are below it.
"""
from libc.stdint cimport uint32_t

from tellstone._core.base.lock cimport Lock
from tellstone._core.net.mailbox cimport Mailbox
from tellstone._core.session.attention cimport Attention

cdef enum:
    PUSH_BACKLOG = 67108864

cdef struct AudienceMember:
    Mailbox* mailbox                    # of a thread of the same group, which lives as long as the audience
    uint32_t slot
    uint32_t generation

cdef struct Audience:
    Lock lock
    uint32_t count
    uint32_t room
    AudienceMember* members                     # malloc'ed
    Attention* attention                # told whether there is anybody

cdef void audience_free(Audience* a) noexcept nogil
cdef bint audience_join(Audience* a, Mailbox* mailbox, uint32_t slot, uint32_t generation) noexcept nogil   # False without memory
cdef void audience_leave(Audience* a, Mailbox* mailbox, uint32_t slot) noexcept nogil
# To all but the client of one slot, which may be none of them.
cdef void audience_send(Audience* a, const char* data, size_t len, const Mailbox* mailbox, uint32_t slot) noexcept nogil
