"""What makes the sessions of a group look twice at every command: a pause of clients, and monitors.

All workers of a group share one Attention. A session loads its word once a batch, and as long as it is zero nothing else happens.
While it is not, commands run one at a time, and each is held back where a pause covers it, and shown to the monitors.

A pause has an end and a mode, as Redis's: another one moves the end only further away, and the stronger mode wins. Whoever finds
that the end has come ends it.

LOCK: `lock` guards changes; it is a leaf. All fields but the lock are atomic. ORDER: relaxed loads are enough: the word is stored
before the reply to PAUSE or MONITOR is sent, and whoever acts on that reply comes to us through the kernel.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.base.atomics cimport relaxed_u32
from tellstone._core.base.lock cimport Lock

cdef enum AttentionWord:
    ATTEND_PAUSED_WRITES = 1
    ATTEND_PAUSED_ALL = 2
    ATTEND_MONITORS = 4
    ATTEND_PAUSE = 3                    # either mode

cdef struct Attention:
    uint32_t word
    uint32_t pauses                     # how many have ended: whoever is held back tries again when it moves on
    uint64_t pause_end                  # monotonic ms
    Lock lock

cdef inline uint32_t attention_word(const Attention* a) noexcept nogil:
    return relaxed_u32(&a.word)

cdef void attention_pause(Attention* a, int64_t ms, bint all) noexcept nogil
cdef void attention_unpause(Attention* a) noexcept nogil
# For how many ms more clients are paused; 0: they are not. Ends a pause whose time has come.
cdef int64_t attention_left(Attention* a) noexcept nogil
cdef void attention_monitors(Attention* a, bint some) noexcept nogil
# Whether a command with these flags of its row has to wait.
cdef bint attention_holds(Attention* a, uint64_t flags) noexcept nogil
