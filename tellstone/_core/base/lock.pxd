"""The shard lock: four bytes, spins a little, then sleeps (`lock.h`).

LOCK: the order over the whole core is shard i < shard j for i < j, then a log, then nothing. Whoever holds a
shard's lock makes no system call that can wait, and calls nothing of Python.
"""
from libc.stdint cimport int64_t, uint32_t

cdef extern from "lock.h" nogil:
    ctypedef struct Lock "ts_lock":
        unsigned int word                       # all zero is a free lock
    bint lock_try "ts_lock_try"(Lock* lock) noexcept
    void lock_acquire "ts_lock_acquire"(Lock* lock) noexcept
    void lock_release "ts_lock_release"(Lock* lock) noexcept
    # A pause that can be cut short: sleep while a word has this value, for so long at most; whoever changes the word wakes.
    void word_wait "ts_word_wait"(uint32_t* word, uint32_t value, int64_t us) noexcept
    void word_wake "ts_word_wake"(uint32_t* word) noexcept
