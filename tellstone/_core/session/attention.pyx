"""Pauses, and whether there are monitors (see attention.pxd)."""
from libc.stdint cimport INT64_MAX, int64_t, uint32_t, uint64_t

from tellstone._core.base.atomics cimport relaxed_u64, store_u32, store_u64
from tellstone._core.base.lock cimport lock_acquire, lock_release
from tellstone._core.base.platform cimport mono_us
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.command.command cimport CMD_MAY_REPLICATE, CMD_WRITE

check_layout(__name__)


cdef void end_locked(Attention* a) noexcept nogil:
    store_u64(&a.pause_end, 0)
    store_u32(&a.word, a.word & ~<uint32_t>ATTEND_PAUSE)
    store_u32(&a.pauses, a.pauses + 1)


cdef void attention_pause(Attention* a, int64_t ms, bint all) noexcept nogil:
    """Without a time it is no pause, but may still make one that goes on stronger."""
    cdef int64_t now = mono_us() // 1000
    cdef uint64_t end = 0
    if ms > 0:
        end = <uint64_t>(now + ms if ms < INT64_MAX - now else INT64_MAX)
    lock_acquire(&a.lock)
    if a.word & ATTEND_PAUSE and a.pause_end <= <uint64_t>now:
        end_locked(a)
    if end > a.pause_end:
        store_u64(&a.pause_end, end)
    if a.pause_end > <uint64_t>now:
        store_u32(&a.word, a.word | <uint32_t>(ATTEND_PAUSED_ALL if all else ATTEND_PAUSED_WRITES))
    lock_release(&a.lock)


cdef void attention_unpause(Attention* a) noexcept nogil:
    lock_acquire(&a.lock)
    end_locked(a)
    lock_release(&a.lock)


cdef int64_t attention_left(Attention* a) noexcept nogil:
    cdef int64_t left
    if not attention_word(a) & ATTEND_PAUSE:
        return 0
    left = <int64_t>relaxed_u64(&a.pause_end) - mono_us() // 1000
    if left > 0:
        return left
    lock_acquire(&a.lock)
    if a.word & ATTEND_PAUSE and <int64_t>a.pause_end <= mono_us() // 1000:
        end_locked(a)
    lock_release(&a.lock)
    return 0


cdef void attention_monitors(Attention* a, bint some) noexcept nogil:
    lock_acquire(&a.lock)
    store_u32(&a.word, a.word | <uint32_t>ATTEND_MONITORS if some else a.word & ~<uint32_t>ATTEND_MONITORS)
    lock_release(&a.lock)


cdef bint attention_holds(Attention* a, uint64_t flags) noexcept nogil:
    cdef uint32_t word = attention_word(a)
    if not word & ATTEND_PAUSE:
        return False
    if not word & ATTEND_PAUSED_ALL and not flags & (CMD_WRITE | CMD_MAY_REPLICATE):
        return False
    return attention_left(a) > 0
