"""The connections of a client: as many as its threads need at the same time, up to a limit.

A connection is lent to one thread for one request or pipeline. It comes back if it is idle, and is closed if it is not: nobody can get an
answer that was meant for somebody else. Whoever waits gets the next one that is free, first come, first served.

LOCK: the interpreter's, or the critical section of a build without one. Each method changes lists and counts in one step that runs no
Python code and lets nothing in between, and closes, connects or waits before or after it.
"""

cdef class Pool:
    cdef object __weakref__
    cdef object connect             # makes a Link
    cdef object timeout             # seconds to wait for a connection, None: for ever
    cdef readonly Py_ssize_t size
    cdef Py_ssize_t places          # for connections that are not open
    cdef list idle                  # the one that was used last is used next
    cdef list waiters               # queues, the oldest first, each for a Link, or None: the place of one
    cdef bint closed
