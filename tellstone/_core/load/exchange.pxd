"""One connection's part in a load, without a socket: bytes to send come out, bytes that were received go in.

Without a rate a connection sends a batch of requests, waits for all replies, and sends the next batch. A latency is the time from
sending the batch until the reply was read.

With a rate every request has its time: the n-th of the load is due n intervals after the start, and belongs to connection n modulo
their number. It is sent when it is due, or as soon as fewer than `pipeline` are unanswered on its connection. A latency is the time
from when the request was due, so a server that stalls is charged with all requests that it kept from being sent (coordinated
omission).

LOCK: an Exchange and its Outcome belong to one thread. A Course is shared: what changes in it is atomic.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tellstone._core.load.outcome cimport Outcome, Tally
from tellstone._core.load.replies cimport Replies
from tellstone._core.load.requests cimport Mix, Workload

cdef struct Course:                 # what the connections of a load do together
    const Mix* mix
    uint32_t connections
    uint32_t pipeline
    bint native
    bint in_turn                    # write every key once, in order
    bint verify
    double interval_ns              # from one request of the load to the next; 0: no rate
    uint64_t limit                  # of requests; UINT64_MAX: none
    int64_t length_ns               # of time
    int64_t start_ns
    uint32_t halted                 # atomic
    char apart[64]                  # what stands above is read for every request
    uint64_t issued                 # atomic: requests that are given out, may be beyond the limit; 0 without one

cdef struct Exchange:
    Replies replies
    Outcome* outcome
    uint32_t index                  # among the connections of the load
    uint32_t mask
    uint64_t* asked                 # ring: number of the key, doubled, and 1 more of a write
    uint64_t sent
    uint64_t answered
    int64_t sent_ns                 # when the last batch was
    uint64_t random

cdef bint exchange_init(Exchange* e, const Course* c, uint32_t index, Outcome* outcome) noexcept nogil     # False without memory
cdef void exchange_free(Exchange* e) noexcept nogil
# Requests that are to be sent now: their bytes are in `out`, which has room for `pipeline` of them. 0: none.
cdef size_t exchange_fill(Exchange* e, Course* c, int64_t now_ns, char* out) noexcept nogil
# Bytes that were read at a time. False: they are no replies, the connection is of no further use.
cdef bint exchange_take(Exchange* e, const Course* c, const char* at, size_t n, int64_t now_ns) noexcept nogil
# When the n-th request of a connection is due.
cdef int64_t request_due(const Course* c, uint32_t index, uint64_t n) noexcept nogil
cdef bint course_ended(const Course* c, int64_t now_ns) noexcept nogil         # nothing more will be sent

cdef class Plan:
    cdef Course course
    cdef readonly Workload workload

cdef class Talk:
    cdef Exchange exchange
    cdef Plan plan
    cdef Tally tally
    cdef char* room
