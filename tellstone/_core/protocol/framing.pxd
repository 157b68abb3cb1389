"""Requests of a client as frames of the native protocol, and for each of them what its answer will be: what a pipeline collects.

    r.get("key").set("key", "value", ttl=5).execute("INCR", "n")

A request is copied into one buffer when it is made. What is owed for it enters a queue in the same breath; exchange takes from there.
Lengths that a frame has no room for are refused here, for a server answers them by closing the connection.
"""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.protocol.native cimport FrameType, Operation

cdef enum Wanted:
    WANT_VALUE = 0                  # GET: bytes, None without the key
    WANT_DONE = 1                   # SET, PING, AUTH: True
    WANT_NOTHING = 2                # DELETE: None
    WANT_REPLY = 3                  # COMMAND: its reply, converted
    WANT_STORED = 4                 # COMMAND SET with a condition: whether it was met
    WANT_INTO = 5                   # GET: the length of a value that goes into a caller's buffer, None without the key

cdef struct Owed:
    PyObject* how                   # owned, NULL: none. A reply's conversion, or the Into
    PyObject* waiter                # owned, NULL: none. Who gets the answer
    double deadline
    uint8_t wanted
    uint8_t frame                   # the type that an answer has unless it is an error

cdef class Requests:
    cdef OutBuf out
    cdef Owed* owed                 # the oldest at [first]
    cdef size_t first
    cdef size_t count
    cdef size_t owed_cap
    cdef dict commands              # how replies are converted, and what is refused
    cdef uint64_t most_request      # bytes of a frame
    cdef readonly bint stateful     # a command is among them that changes the connection it runs on

# INVARIANT: these raise before anything has changed, so that there is an answer owed for every request in the buffer, and no other.
cdef int add_get(Requests r, object key) except -1
cdef int add_delete(Requests r, object key) except -1
cdef int add_set(Requests r, object key, object value, object ttl, bint nx, bint xx, bint keep_ttl) except -1
cdef int add_command(Requests r, tuple words) except -1
cdef int add_ping(Requests r) except -1
# Those of `more` behind what is there. A waiter, or None, gets each of their answers.
cdef int add_all(Requests r, Requests more, object waiter, double deadline) except -1

# Write a request up to its value, for which there is room; answers where it goes. Then owed_push, which has room too, must follow.
cdef char* open_request(Requests r, Operation op, View key, size_t value, int64_t ttl_ms) except NULL
# Takes a count of `how`.
cdef void owed_push(Requests r, Wanted wanted, FrameType frame, PyObject* how) noexcept
# Of the last one; it has been nobody's yet. Takes a count of the waiter.
cdef void set_waiter(Requests r, object waiter, double deadline) noexcept
# The oldest; gives its counts back.
cdef void owed_pop(Requests r) noexcept
# The frames are no longer needed; what is owed for them is.
cdef void requests_sent(Requests r) noexcept
cdef int requests_clear(Requests r) except -1
