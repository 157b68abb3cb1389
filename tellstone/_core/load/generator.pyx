"""The threads of a load (see generator.pxd)."""
cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport INT64_MAX, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from tellstone._core.base.atomics cimport add_u32, load_u32, store_u32
from tellstone._core.base.lock cimport word_wait, word_wake
from tellstone._core.base.outbuf cimport outbuf_append, outbuf_clear, outbuf_free
from tellstone._core.base.platform cimport mono_ns, thread_create, thread_join, thread_punctual
from tellstone._core.base.poller cimport (
    POLL_READ, POLL_WRITE, event_owner, event_what, poller_add, poller_change, poller_open, poller_remove, poller_wait,
    poller_wait_ns,
)
from tellstone._core.base.socket cimport SOCK_AGAIN, sock_close, sock_read, sock_write
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.load.exchange cimport (
    course_ended, exchange_fill, exchange_free, exchange_init, exchange_take, request_due,
)
from tellstone._core.load.outcome cimport Tally, outcome_merge
from tellstone._core.load.requests cimport request_max

check_layout(__name__)

cdef enum:
    MS = 1000000
    PATIENCE_MS = 100               # between two looks at the clock
    LEAD_MS = 5                     # before the first request of a rate: threads are up by then


# Links ----------------------------------------------------------------------------------------------------------


cdef void link_lose(Worker* w, Link* k) noexcept nogil:
    """The connection is of no further use."""
    poller_remove(w.poller, k.fd, k.interest)
    k.interest = 0
    w.live -= 1
    w.outcome.unanswered += k.exchange.sent - k.exchange.answered


cdef void link_watch(Worker* w, Link* k, uint32_t interest) noexcept nogil:
    if k.interest != interest and poller_change(w.poller, k.fd, k.interest, interest, k) == 0:
        k.interest = interest


cdef void link_keep(Worker* w, Link* k, const char* rest, size_t n) noexcept nogil:
    """Keep what the kernel has not taken, and wait until it does."""
    outbuf_append(&k.rest, rest, n)
    if k.rest.failed:
        link_lose(w, k)
    else:
        link_watch(w, k, POLL_READ | POLL_WRITE)


cdef void link_fill(Worker* w, Link* k) noexcept nogil:
    """Send what is due."""
    cdef size_t n
    cdef ssize_t sent
    if k.rest.len or k.interest == 0:
        return
    n = exchange_fill(&k.exchange, w.course, mono_ns(), w.output)
    if n == 0:
        return
    sent = sock_write(k.fd, w.output, n)
    w.outcome.bytes_out += n
    if sent < <ssize_t>n:               # a broken connection is found by the read
        link_keep(w, k, w.output + (sent if sent > 0 else 0), n - (sent if sent > 0 else 0))


cdef void link_flush(Worker* w, Link* k) noexcept nogil:
    """The kernel takes more."""
    cdef ssize_t sent = sock_write(k.fd, k.rest.data + k.rest_sent, k.rest.len - k.rest_sent)
    if sent < 0:
        if sent != SOCK_AGAIN:
            link_watch(w, k, POLL_READ)
        return
    k.rest_sent += sent
    if k.rest_sent == k.rest.len:
        outbuf_clear(&k.rest)
        k.rest_sent = 0
        link_watch(w, k, POLL_READ)
        link_fill(w, k)                 # a rate may have more that is due


cdef void link_read(Worker* w, Link* k) noexcept nogil:
    cdef ssize_t n = sock_read(k.fd, w.input, INPUT)
    if n == SOCK_AGAIN:
        return
    if n <= 0:
        w.outcome.closed += 1
        link_lose(w, k)
        return
    w.ended_ns = mono_ns()
    if exchange_take(&k.exchange, w.course, w.input, n, w.ended_ns):
        link_fill(w, k)
    else:
        w.outcome.garbled += 1
        link_lose(w, k)


# Workers --------------------------------------------------------------------------------------------------------


cdef void fill_due(Worker* w) noexcept nogil:
    """Look at every connection that has had a request due since the last time, at each once."""
    cdef int64_t now = mono_ns()
    cdef uint32_t looked = 0
    cdef Link* k = &w.links[w.turn % w.count]
    while looked < w.count and request_due(w.course, k.exchange.index, w.turn // w.count) <= now:
        link_fill(w, k)
        looked += 1
        w.turn += 1
        k = &w.links[w.turn % w.count]


cdef int wait(Worker* w, int64_t now) noexcept nogil:
    """Until there is something to do, or the clock is to be looked at."""
    cdef int64_t until = w.course.start_ns + w.course.length_ns if w.course.length_ns < INT64_MAX // 2 else INT64_MAX
    cdef int64_t due
    if w.course.interval_ns and not course_ended(w.course, now):
        due = request_due(w.course, w.links[w.turn % w.count].exchange.index, w.turn // w.count)
        if due < until:
            until = due
        if until > now + PATIENCE_MS * MS:
            until = now + PATIENCE_MS * MS
        return poller_wait_ns(w.poller, w.events, EVENTS, until - now if until > now else 0)
    if now < until < now + PATIENCE_MS * MS:
        return poller_wait(w.poller, w.events, EVENTS, <int>((until - now) // MS + 1))
    return poller_wait(w.poller, w.events, EVENTS, PATIENCE_MS)


cdef void dispatch(Worker* w, int count) noexcept nogil:
    cdef Link* k
    cdef uint32_t what
    cdef int i
    for i in range(count):
        k = <Link*>event_owner(&w.events[i])
        what = event_what(&w.events[i])
        if what & POLL_WRITE and k.rest.len:
            link_flush(w, k)
        if what & ~POLL_WRITE and k.interest:
            link_read(w, k)


cdef bint goes_on(Worker* w, int64_t now, int64_t* ended) noexcept nogil:
    """ended: since when nothing more is sent; 0: more is."""
    cdef uint64_t waiting = w.outcome.sent - w.outcome.answered - w.outcome.unanswered
    if w.live == 0 or load_u32(w.killed):
        return False
    if ended[0] == 0 and course_ended(w.course, now):
        ended[0] = now
    return ended[0] == 0 or (waiting != 0 and now - max(ended[0], w.ended_ns) < w.grace_ns)


cdef void worker_run(Worker* w) noexcept nogil:
    cdef int64_t ended = 0
    cdef int64_t now = mono_ns()
    cdef uint32_t i
    w.ended_ns = now
    if w.course.interval_ns == 0:
        for i in range(w.count):
            link_fill(w, &w.links[i])
    while goes_on(w, now, &ended):
        dispatch(w, wait(w, now))
        now = mono_ns()
        if w.course.interval_ns and ended == 0:
            fill_due(w)


cdef void worker_main(void* arg) noexcept nogil:
    cdef Worker* w = <Worker*>arg
    cdef uint32_t i
    thread_punctual()
    worker_run(w)
    for i in range(w.count):
        if w.links[i].interest:
            link_lose(w, &w.links[i])
    add_u32(w.running, <uint32_t>-1)
    word_wake(w.running)


# Making and ending them -----------------------------------------------------------------------------------------


cdef bint worker_init(Worker* w, Course* c, uint32_t links) noexcept nogil:
    """False without memory or descriptors; worker_free cleans up either way."""
    w.course = c
    w.links = <Link*>calloc(links, sizeof(Link))
    w.input = <char*>malloc(INPUT)
    w.output = <char*>malloc(c.pipeline * request_max(c.mix))
    w.poller = poller_open()
    return w.links != NULL and w.input != NULL and w.output != NULL and w.poller >= 0


cdef bint worker_add(Worker* w, int fd, uint32_t index) noexcept nogil:
    cdef Link* k = &w.links[w.count]
    k.fd = fd
    w.count += 1
    if not exchange_init(&k.exchange, w.course, index, &w.outcome) or poller_add(w.poller, fd, POLL_READ, k) != 0:
        return False
    k.interest = POLL_READ
    w.live += 1
    return True


cdef void worker_free(Worker* w) noexcept nogil:
    """Its thread has ended, or never began."""
    cdef uint32_t i
    for i in range(w.count):
        exchange_free(&w.links[i].exchange)
        outbuf_free(&w.links[i].rest)
    if w.poller >= 0:
        sock_close(w.poller)
    free(w.links)
    free(w.input)
    free(w.output)


@cython.final
@cython.no_gc_clear         # the threads use the plan until __dealloc__ has ended them
cdef class Generator:
    """Threads that carry out a plan over connections.

    fds: connected, non-blocking sockets, as many as the plan says, which stay the caller's. threads: 1 to 128. grace_s: when
    nothing more is sent, how long to wait for the next reply.
    """

    def __cinit__(self, Plan plan not None, fds, uint32_t threads=1, double grace_s=1):
        cdef uint32_t i
        cdef int fd
        if not 1 <= threads <= WORKERS_MAX or len(fds) != plan.course.connections or threads > len(fds):
            raise ValueError(f"no generator: {threads} threads for {len(fds)} sockets of {plan.course.connections} connections")
        self.plan = plan
        self.workers = <Worker*>calloc(threads, sizeof(Worker))
        if self.workers == NULL:
            raise MemoryError("no memory for the load")
        self.count = threads
        for i in range(threads):
            self.workers[i].poller = -1
        for i in range(threads):
            self.workers[i].running = &self.running
            self.workers[i].killed = &self.killed
            self.workers[i].grace_ns = <int64_t>(grace_s * 1e9)
            if not worker_init(&self.workers[i], &plan.course, <uint32_t>len(fds) // threads + 1):
                raise OSError("no memory or descriptors for the load")
        for i, fd in enumerate(fds):
            if not worker_add(&self.workers[i % threads], fd, i):
                raise OSError("no memory or descriptors for the load")

    def __dealloc__(self):
        cdef uint32_t i
        if self.workers == NULL:
            return
        with nogil:
            store_u32(&self.killed, 1)
            generator_join(self.workers, self.count if self.started and not self.joined else 0)
            for i in range(self.count):
                worker_free(&self.workers[i])
        free(self.workers)

    def start(self):
        """Start the threads; once."""
        cdef uint32_t i
        if self.started:
            raise RuntimeError("the load has been started")
        self.plan.start(LEAD_MS / 1e3 if self.plan.course.interval_ns else 0)
        self.started = True
        for i in range(self.count):
            add_u32(&self.running, 1)
            if thread_create(&self.workers[i].thread, worker_main, &self.workers[i]) == 0:
                continue
            add_u32(&self.running, <uint32_t>-1)
            store_u32(&self.killed, 1)
            with nogil:
                generator_join(self.workers, i)
            self.joined = True
            raise OSError("the threads of the load cannot be started")

    def join(self, double timeout_s):
        """Whether all threads have ended; waits for that."""
        cdef int64_t deadline = mono_ns() + <int64_t>(timeout_s * 1e9)
        cdef int64_t slice_ns
        cdef bint ended = self.joined or not self.started
        while not ended and mono_ns() < deadline:
            slice_ns = mono_ns() + 50 * MS
            with nogil:
                ended = generator_await(&self.running, slice_ns if slice_ns < deadline else deadline)
            PyErr_CheckSignals()
        if ended and self.started and not self.joined:
            with nogil:
                generator_join(self.workers, self.count)
            self.joined = True
        return ended

    def halt(self):
        """Send nothing more; the threads end when the replies have come. Does not wait."""
        self.plan.halt()

    def kill(self):
        """End at once, without the replies. Does not wait."""
        store_u32(&self.killed, 1)

    @property
    def seconds(self):
        """From the start to the last reply; while threads run, until now."""
        cdef int64_t ended = 0
        cdef uint32_t i
        if not self.joined:
            return self.plan.elapsed_s
        for i in range(self.count):
            ended = max(ended, self.workers[i].ended_ns)
        return (ended - self.plan.course.start_ns) / 1e9

    def tally(self):
        """What has been met with so far. Texts of errors are right once the threads have ended."""
        cdef Tally tally = Tally.__new__(Tally)
        cdef uint32_t i
        for i in range(self.count):
            outcome_merge(&tally.outcome, &self.workers[i].outcome)
        return tally


cdef void generator_join(Worker* workers, uint32_t threads) noexcept nogil:
    cdef uint32_t i
    for i in range(threads):
        thread_join(workers[i].thread)


cdef bint generator_await(uint32_t* running, int64_t until_ns) noexcept nogil:
    """Whether all threads have ended by then. Sleeps meanwhile: the threads may have no other core."""
    cdef uint32_t now_running
    cdef int64_t left
    while True:
        now_running = load_u32(running)
        left = until_ns - mono_ns()
        if now_running == 0 or left <= 0:
            return now_running == 0
        word_wait(running, now_running, left // 1000 + 1)
