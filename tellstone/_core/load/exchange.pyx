"""Batches of requests and what their replies say (see exchange.pxd)."""
cimport cython
from libc.stdint cimport INT64_MAX, UINT64_MAX, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from tellstone._core.base.atomics cimport add_u64, load_u32, relaxed_u64, store_u32
from tellstone._core.base.platform cimport mono_ns
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.load.draw cimport draw_number
from tellstone._core.load.histogram cimport durations_add
from tellstone._core.load.outcome cimport outcome_error, outcome_wrong
from tellstone._core.load.replies cimport (
    REPLY_BAD, REPLY_ERROR, REPLY_NULL, REPLY_PART, REPLY_VALUE, Reply, replies_free, replies_init, replies_next,
)
from tellstone._core.load.requests cimport mix_reads, request_max, request_write, value_holds

check_layout(__name__)

cdef enum:
    WRITE = 1                       # in Exchange.asked


cdef bint exchange_init(Exchange* e, const Course* c, uint32_t index, Outcome* outcome) noexcept nogil:
    cdef uint32_t room = 1
    while room < c.pipeline:
        room *= 2
    replies_init(&e.replies, c.native, c.verify)
    e.outcome = outcome
    e.index = index
    e.mask = room - 1
    e.asked = <uint64_t*>calloc(room, sizeof(uint64_t))
    e.sent = 0
    e.answered = 0
    e.random = index                # the same requests in every run
    return e.asked != NULL


cdef void exchange_free(Exchange* e) noexcept nogil:
    replies_free(&e.replies)
    free(e.asked)
    e.asked = NULL


# Requests -------------------------------------------------------------------------------------------------------


cdef int64_t request_due(const Course* c, uint32_t index, uint64_t n) noexcept nogil:
    return c.start_ns + <int64_t>((<double>n * c.connections + index) * c.interval_ns)


cdef bint course_ended(const Course* c, int64_t now_ns) noexcept nogil:
    return now_ns - c.start_ns >= c.length_ns or load_u32(&c.halted) or relaxed_u64(&c.issued) >= c.limit


cdef uint32_t course_take(Course* c, uint32_t wanted, uint64_t* first) noexcept nogil:
    """Requests of the whole load that this connection may send, at most so many, and the number of the first. Threads of a load that
    only time ends share nothing that is written."""
    first[0] = 0
    if c.limit == UINT64_MAX:
        return wanted
    first[0] = add_u64(&c.issued, wanted)
    if first[0] >= c.limit:
        return 0
    return wanted if c.limit - first[0] >= wanted else <uint32_t>(c.limit - first[0])


cdef uint32_t allowed(const Exchange* e, const Course* c, int64_t now_ns) noexcept nogil:
    """How many requests the connection is to send now, if the load has any left."""
    cdef uint32_t waiting = <uint32_t>(e.sent - e.answered)
    cdef uint32_t n = 0
    if course_ended(c, now_ns):
        return 0
    if c.interval_ns == 0:
        return 0 if waiting else c.pipeline
    while waiting + n < c.pipeline and request_due(c, e.index, e.sent + n) <= now_ns:
        n += 1
    return n


cdef size_t exchange_fill(Exchange* e, Course* c, int64_t now_ns, char* out) noexcept nogil:
    cdef uint64_t first
    cdef uint64_t number
    cdef char* at = out
    cdef bint reads
    cdef uint32_t i, count = allowed(e, c, now_ns)
    if count == 0:
        return 0
    count = course_take(c, count, &first)
    for i in range(count):
        reads = not c.in_turn and mix_reads(c.mix, &e.random)
        number = first + i if c.in_turn else draw_number(&c.mix.draw, &e.random)
        at = request_write(&c.mix.read if reads else &c.mix.write, <uint32_t>number, at)
        e.asked[e.sent & e.mask] = number * 2 + (0 if reads else WRITE)
        e.sent += 1
    e.sent_ns = now_ns
    e.outcome.sent += count
    return at - out


# Replies --------------------------------------------------------------------------------------------------------


cdef void judge(Exchange* e, const Course* c, uint64_t asked, Reply kind) noexcept nogil:
    """What a reply means, by what was asked."""
    cdef Outcome* o = e.outcome
    if kind == REPLY_ERROR:
        outcome_error(o, e.replies.text)
    elif asked & WRITE:
        return
    elif kind == REPLY_NULL:
        o.misses += 1
    else:
        o.hits += 1
        if c.verify and not (kind == REPLY_VALUE and value_holds(c.mix, <uint32_t>(asked >> 1), e.replies.text)):
            outcome_wrong(o, asked >> 1, e.replies.text)


cdef bint exchange_take(Exchange* e, const Course* c, const char* at, size_t n, int64_t now_ns) noexcept nogil:
    cdef Outcome* o = e.outcome
    cdef const char* end = at + n
    cdef uint64_t counts[2]             # reads and writes that have been waiting for equally long
    cdef uint64_t asked
    cdef int64_t since = e.sent_ns
    cdef Reply kind
    counts[0] = counts[1] = 0
    o.bytes_in += n
    while True:
        kind = replies_next(&e.replies, &at, end)
        if kind == REPLY_PART:
            break
        if kind == REPLY_BAD or e.answered == e.sent:
            return False
        asked = e.asked[e.answered & e.mask]
        judge(e, c, asked, kind)
        if c.interval_ns:
            since = request_due(c, e.index, e.answered)
            durations_add(&o.writes if asked & WRITE else &o.reads, <uint64_t>(now_ns - since), 1)
        else:
            counts[asked & WRITE] += 1
        e.answered += 1
        o.answered += 1
    if counts[0]:
        durations_add(&o.reads, <uint64_t>(now_ns - since), counts[0])
    if counts[1]:
        durations_add(&o.writes, <uint64_t>(now_ns - since), counts[1])
    return True


# For Python -----------------------------------------------------------------------------------------------------


@cython.final
cdef class Plan:
    """What the connections of a load do together.

    pipeline: requests that a connection sends before it waits for replies. requests, duration_s: when the load ends, whichever comes
    first; None: does not matter. rate: requests a second of all connections together; 0: as many as the server answers. in_turn: write
    every key once, in order, and nothing else. verify: compare each value that is read with what the key must hold.
    """

    def __cinit__(self, Workload workload not None, *, uint32_t connections, uint32_t pipeline=1, requests=None, duration_s=None,
                  double rate=0, bint in_turn=False, bint verify=False):
        if not connections or not 0 < pipeline <= 0x10000000 or not rate >= 0:
            raise ValueError(f"no plan: {connections} connections, pipeline {pipeline}, rate {rate}")
        self.workload = workload
        self.course.mix = &workload.mix
        self.course.native = workload.protocol == "native"
        self.course.connections = connections
        self.course.pipeline = pipeline
        self.course.interval_ns = 1e9 / rate if rate else 0
        self.course.limit = UINT64_MAX if requests is None else requests
        if in_turn:
            self.course.limit = workload.mix.draw.keyspace
        self.course.length_ns = INT64_MAX if duration_s is None else <int64_t>(float(duration_s) * 1e9)
        self.course.in_turn = in_turn
        self.course.verify = verify
        self.start()

    @property
    def connections(self):
        """How many take part."""
        return self.course.connections

    @property
    def rate(self):
        """Requests a second; 0: as many as the server answers."""
        return 1e9 / self.course.interval_ns if self.course.interval_ns else 0.0

    @property
    def ended(self):
        """Whether nothing more will be sent."""
        return course_ended(&self.course, mono_ns())

    @property
    def elapsed_s(self):
        """Seconds since the start."""
        return (mono_ns() - self.course.start_ns) / 1e9

    def due_in_s(self, uint64_t n):
        """Seconds until the n-th request of a rate is due; not above 0: now."""
        return (request_due(&self.course, <uint32_t>(n % self.course.connections), n // self.course.connections) - mono_ns()) / 1e9

    def start(self, double delay_s=0):
        """Time begins to run, now or a little later; before anything is sent."""
        self.course.start_ns = mono_ns() + <int64_t>(delay_s * 1e9)

    def halt(self):
        """Send nothing more."""
        store_u32(&self.course.halted, 1)


@cython.final
cdef class Talk:
    """One connection's part, for a driver in Python. Not for several threads at once.

    index: which of the plan's connections it is. tally: where it counts.
    """

    def __cinit__(self, Plan plan not None, uint32_t index, Tally tally not None):
        self.plan = plan
        self.tally = tally
        self.room = <char*>malloc(plan.course.pipeline * request_max(plan.course.mix))
        if self.room == NULL or not exchange_init(&self.exchange, &plan.course, index, &tally.outcome):
            raise MemoryError("no memory for a connection's requests")

    def __dealloc__(self):
        exchange_free(&self.exchange)
        free(self.room)

    @property
    def waiting(self):
        """How many requests are unanswered."""
        return self.exchange.sent - self.exchange.answered

    def fill(self):
        """The requests that are to be sent now; may be none."""
        cdef size_t n = exchange_fill(&self.exchange, &self.plan.course, mono_ns(), self.room)
        self.tally.outcome.bytes_out += n
        return self.room[:n]

    def lose(self, *, bint closed=False, bint garbled=False):
        """The connection is gone: what is unanswered stays so. closed, garbled: why, if that is a fault."""
        self.tally.outcome.unanswered += self.exchange.sent - self.exchange.answered
        self.tally.outcome.closed += closed
        self.tally.outcome.garbled += garbled

    def feed(self, bytes data not None):
        """Take what has been received. False: that was no reply to a request, and the connection is of no further use."""
        return exchange_take(&self.exchange, &self.plan.course, data, len(data), mono_ns())
