"""The shard lock: four bytes, spins a little, then sleeps (`lock.h`).

LOCK: the order over the whole core is shard i < shard j for i < j, then a log, then nothing. Whoever holds a
shard's lock makes no system call that can wait, and calls nothing of Python.
"""
cdef extern from "lock.h" nogil:
    ctypedef struct Lock "ts_lock":
        unsigned int word                       # all zero is a free lock
    bint lock_try "ts_lock_try"(Lock* lock) noexcept
    void lock_acquire "ts_lock_acquire"(Lock* lock) noexcept
    void lock_release "ts_lock_release"(Lock* lock) noexcept
