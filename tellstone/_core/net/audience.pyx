"""Audiences (see audience.pxd)."""
from libc.stdint cimport uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from tellstone._core.base.atomics cimport relaxed_u64
from tellstone._core.base.block cimport Block, block_new, block_unref
from tellstone._core.base.lock cimport lock_acquire, lock_release
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.net.mailbox cimport PushMessage, mailbox_send, push_message
from tellstone._core.session.attention cimport attention_monitors

check_layout(__name__)

cdef enum:
    MEMBERS_FIRST = 4


cdef void audience_free(Audience* a) noexcept nogil:
    free(a.members)
    a.members = NULL
    a.count = a.room = 0


cdef bint make_room_locked(Audience* a) noexcept nogil:
    cdef uint32_t room = a.room * 2 if a.room else MEMBERS_FIRST
    cdef AudienceMember* members
    if a.count < a.room:
        return True
    members = <AudienceMember*>realloc(a.members, room * sizeof(AudienceMember))
    if members == NULL:
        return False
    a.members = members
    a.room = room
    return True


cdef bint audience_join(Audience* a, Mailbox* mailbox, uint32_t slot, uint32_t generation) noexcept nogil:
    cdef bint has_room
    lock_acquire(&a.lock)
    has_room = make_room_locked(a)
    if has_room:
        a.members[a.count].mailbox = mailbox
        a.members[a.count].slot = slot
        a.members[a.count].generation = generation
        a.count += 1
        attention_monitors(a.attention, True)
    lock_release(&a.lock)
    return has_room


cdef void drop_locked(Audience* a, uint32_t i) noexcept nogil:
    """The last one takes its place: the order of members means nothing."""
    a.count -= 1
    a.members[i] = a.members[a.count]
    attention_monitors(a.attention, a.count != 0)


cdef void audience_leave(Audience* a, Mailbox* mailbox, uint32_t slot) noexcept nogil:
    cdef uint32_t i
    lock_acquire(&a.lock)
    for i in range(a.count):
        if a.members[i].mailbox == mailbox and a.members[i].slot == slot:
            drop_locked(a, i)
            break
    lock_release(&a.lock)


cdef bint send_to(const AudienceMember* to, Block* block) noexcept nogil:
    """NULL instead of a block: it has missed something. False: it cannot go on."""
    cdef PushMessage* m
    if block != NULL and relaxed_u64(&to.mailbox.pushed) > PUSH_BACKLOG:
        block = NULL
    m = push_message(to.slot, to.generation, block)
    return m != NULL and mailbox_send(to.mailbox, &m.head) and block != NULL


cdef void audience_send(Audience* a, const char* data, size_t len, const Mailbox* mailbox, uint32_t slot) noexcept nogil:
    cdef Block* block = block_new(len, len)
    cdef uint32_t i = 0
    cdef AudienceMember* to
    if block != NULL:
        memcpy(block.data, data, len)
    lock_acquire(&a.lock)
    while i < a.count:
        to = &a.members[i]
        if (to.mailbox == mailbox and to.slot == slot) or send_to(to, block):
            i += 1
        else:
            drop_locked(a, i)
    lock_release(&a.lock)
    if block != NULL:
        block_unref(block)
