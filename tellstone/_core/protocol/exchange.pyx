"""What goes over one connection of a client (see exchange.pxd)."""
cimport cython
from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromObject
from cpython.object cimport PyObject
from libc.math cimport HUGE_VAL
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memmove

from tellstone._core.base.bytesops cimport View, copy_bytes
from tellstone._core.base.inputs cimport take
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.protocol.decode cimport decode_whole, response_error
from tellstone._core.protocol.framing cimport (
    WANT_DONE, WANT_INTO, WANT_REPLY, WANT_STORED, WANT_VALUE, Owed, Requests, add_all, open_request, owed_pop, owed_push,
    requests_clear, requests_sent, set_waiter,
)
from tellstone._core.protocol.native cimport (
    FRAME_AUTH_ERR, FRAME_BAD, FRAME_ERROR, FRAME_HEAD, FRAME_PART, FRAME_RESPONSE, FRAME_WHOLE, OP_GET, Frame, frame_take,
)

from tellstone.errors import AuthenticationError, BufferSizeError, DataError, ProtocolError

check_layout(__name__)

cdef enum:
    ROOM = 65536                    # bytes received at a time; longer payloads are received where they stay


# Answers --------------------------------------------------------------------------------------------------------


cdef object error_of(const Owed* o, uint8_t type, const char* text, size_t n):
    """The exception of an error; a key that is not there is none."""
    if type == FRAME_AUTH_ERR:
        return AuthenticationError(text[:n].decode("utf-8", "replace"))
    if (o.wanted == WANT_VALUE or o.wanted == WANT_INTO) and n == 9 and memcmp(text, b"NOT_FOUND", 9) == 0:
        return None
    return response_error(text, n)


cdef object converted(object reply, object how):
    """A reply as redis-py has it. Inside of a transaction it is that the command waits, whatever the command is."""
    if isinstance(reply, str) and (how is None or reply == "QUEUED"):
        return (<str>reply).encode("utf-8", "surrogateescape")
    if how is None:
        return reply
    try:
        return how(reply)
    except Exception as error:
        return ProtocolError(f"a reply of another form than its command has: {error!r}")


cdef object answer_of(const Owed* o, uint8_t type, const char* p, size_t n):
    """The answer in a frame's payload."""
    if type == FRAME_ERROR or type == FRAME_AUTH_ERR:
        return error_of(o, type, p, n)
    if o.wanted == WANT_VALUE:
        return PyBytes_FromStringAndSize(p, <Py_ssize_t>n)
    if o.wanted == WANT_INTO:
        return fill(<Into>o.how, p, n)
    if o.wanted == WANT_REPLY:
        return converted(decode_whole(p, n), None if o.how == NULL else <object>o.how)
    if o.wanted == WANT_STORED:
        return decode_whole(p, n) is not None
    if o.frame == FRAME_RESPONSE and (n != 2 or memcmp(p, b"OK", 2) != 0):
        raise ProtocolError(f"{p[:n if n < 64 else 64]!r} where OK was to come")
    return True if o.wanted == WANT_DONE else None


cdef int check_type(const Owed* o, uint8_t type) except -1:
    if type != o.frame and type != FRAME_ERROR and type != FRAME_AUTH_ERR:
        raise ProtocolError(f"a frame of type {type} where one of type {o.frame} or an error was to come")
    return 0


cdef object unasked(const Frame* f, bint whole):
    """A server that turns a connection away says why before it closes it."""
    if whole and f.type == FRAME_ERROR:
        return ProtocolError(f"the server says, unasked: {response_error(f.payload, f.len)}")
    return ProtocolError("an answer that nobody has asked for")


cdef bint take_frame(Exchange x) except -1:
    """The first answer, out of `data`. False: it is not all there, but a long payload has now a place to be received to."""
    cdef Frame f
    cdef size_t have = x.end - x.start
    cdef int taken
    cdef const Owed* o = &x.owed[x.first]
    f.payload = NULL
    f.len = 0
    taken = frame_take(x.data + x.start, have, x.most_answer, &f)
    if taken == FRAME_BAD:
        raise ProtocolError(f"a frame that is empty or longer than {x.most_answer} bytes: {(<bytes>x.data[x.start:x.start + 4]).hex()}")
    if have < FRAME_HEAD:
        return False
    f.type = <uint8_t>x.data[x.start + 4]
    if not x.sent:
        raise unasked(&f, taken == FRAME_WHOLE)
    check_type(o, f.type)
    if taken == FRAME_PART:
        open_payload(x, o, f.type, f.size - FRAME_HEAD)
        return False
    x.start += f.size
    x.answer = answer_of(o, f.type, f.payload, f.len)
    return True


cdef bint wants_room(const Owed* o, uint8_t type) noexcept:
    return o.wanted == WANT_INTO and type == FRAME_RESPONSE


cdef int open_payload(Exchange x, const Owed* o, uint8_t type, size_t n) except -1:
    """Let the rest of a payload be received where it stays: in the caller's buffer, or in bytes if it is long."""
    cdef size_t have = x.end - x.start - FRAME_HEAD
    cdef Into into
    if wants_room(o, type):
        into = <Into>o.how
        if into.gone or n > <size_t>into.view.len:
            return skip_payload(x, n, None if into.gone else BufferSizeError(n, into.view.len))
        x.target = into
        x.into = <char*>into.view.buf
    elif FRAME_HEAD + n <= ROOM:
        return 0
    else:
        x.target = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>n)
        x.into = PyBytes_AS_STRING(x.target)
    copy_bytes(x.into, x.data + x.start + FRAME_HEAD, have)
    x.type = type
    x.filled = have
    x.size = n
    x.start = x.end = 0
    return 0


cdef int skip_payload(Exchange x, size_t n, object answer) except -1:
    x.start += FRAME_HEAD
    x.skip = n
    x.late = answer
    return 0


cdef bint take_target(Exchange x) except -1:
    """The first answer, out of where its payload was received to."""
    cdef const Owed* o = &x.owed[x.first]
    if x.filled < x.size:
        return False
    if x.type == FRAME_RESPONSE and o.wanted == WANT_VALUE:
        x.answer = x.target
    elif wants_room(o, x.type):
        x.answer = x.size
    else:
        x.answer = answer_of(o, x.type, x.into, x.size)
    x.target = None
    return True


cdef bint take_skipped(Exchange x) except -1:
    cdef size_t n = x.end - x.start
    if n > x.skip:
        n = x.skip
    x.start += n
    x.skip -= n
    if x.skip:
        return False
    x.answer = x.late
    x.late = None
    return True


cdef bint exchange_take(Exchange x) except -1:
    cdef bint taken
    if x.target is not None:
        taken = take_target(x)
    elif x.skip:
        taken = take_skipped(x)
    else:
        taken = take_frame(x) or (x.skip > 0 and take_skipped(x))
    if taken:
        x.waiter = None if x.owed[x.first].waiter == NULL else <object>x.owed[x.first].waiter
        owed_pop(x)
        x.sent -= 1
    return taken


# Received bytes -------------------------------------------------------------------------------------------------


cdef char* exchange_room(Exchange x, size_t* n) except NULL:
    """A frame that is to be waited for in `data` fits there, and moves to the front before that becomes short."""
    cdef size_t have = x.end - x.start
    if x.target is not None:
        if type(x.target) is Into and (<Into>x.target).gone:
            x.skip = x.size - x.filled
            x.target = None
        else:
            n[0] = x.size - x.filled
            return x.into + x.filled
    if x.data == NULL:
        x.data = <char*>malloc(ROOM)
        if x.data == NULL:
            raise MemoryError()
    if x.start and (have == 0 or ROOM - x.end < ROOM // 4):
        memmove(x.data, x.data + x.start, have)
        x.start = 0
        x.end = have
    n[0] = ROOM - x.end
    # Only the head of what goes into a caller's buffer is received here.
    if have < FRAME_HEAD and x.sent and x.owed[x.first].wanted == WANT_INTO and not x.skip:
        n[0] = FRAME_HEAD - have
    return x.data + x.end


cdef int exchange_received(Exchange x, size_t n) except -1:
    if x.target is not None:
        x.filled += n
    else:
        x.end += n
    return 0


cdef int exchange_sent(Exchange x) except -1:
    x.sent = x.count
    requests_sent(x)
    return 0


cdef bint exchange_idle(Exchange x) noexcept:
    return x.count == 0 and x.start == x.end


# Buffers of callers ---------------------------------------------------------------------------------------------


@cython.final
cdef class Into:
    """A writable buffer that a value goes into."""

    def __cinit__(self, buffer):
        try:
            PyObject_GetBuffer(buffer, &self.view, PyBUF_WRITABLE)
        except (BufferError, TypeError) as error:
            raise DataError(f"a value goes into a writable buffer of contiguous bytes: {error}") from None

    def __dealloc__(self):
        PyBuffer_Release(&self.view)

    def release(self):
        """Nobody waits any more. From here on nothing is written to the buffer."""
        self.gone = True
        if self.exports == 0:
            PyBuffer_Release(&self.view)


cdef int add_get_into(Exchange x, object key, Into into) except -1:
    cdef View k
    keep = take(key, &k)
    open_request(x, OP_GET, k, 0, 0)
    owed_push(x, WANT_INTO, FRAME_RESPONSE, <PyObject*>into)
    return 0


cdef object fill(Into into, const char* p, size_t n):
    """A value that has come in one piece with other answers, or is empty."""
    if into.gone:
        return None
    if n > <size_t>into.view.len:
        return BufferSizeError(n, into.view.len)
    copy_bytes(into.view.buf, p, n)
    return n


@cython.final
@cython.freelist(8)
cdef class Room:
    """Memory to receive into, which lives as long as this."""
    cdef object owner
    cdef char* at
    cdef Py_ssize_t size

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.at, self.size, 0, flags)

    def __dealloc__(self):
        if type(self.owner) is Into:
            (<Into>self.owner).exports -= 1


cdef object room_of(Exchange x):
    cdef size_t n
    cdef Room room = Room.__new__(Room)
    room.at = exchange_room(x, &n)
    room.size = <Py_ssize_t>n
    room.owner = x if x.target is None else x.target
    if type(room.owner) is Into:
        (<Into>room.owner).exports += 1
    return PyMemoryView_FromObject(room)


# One connection -------------------------------------------------------------------------------------------------


@cython.final
cdef class Collected:
    """Who waits for the answers to a pipeline: gives its future all of them when the last one has come."""
    cdef list answers
    cdef size_t missing
    cdef object future


cdef int deliver(object waiter, object answer) except -1:
    """To a future of asyncio. One that is done has been cancelled: the answer is nobody's, and those behind it are not moved by that."""
    cdef Collected collected
    if type(waiter) is Collected:
        collected = <Collected>waiter
        collected.answers.append(answer)
        collected.missing -= 1
        if collected.missing:
            return 0
        waiter = collected.future
        answer = collected.answers
    if waiter.done():
        return 0
    if isinstance(answer, Exception):
        waiter.set_exception(answer)
    else:
        waiter.set_result(answer)
    return 0


cdef list waiting(Exchange x, size_t from_, size_t to):
    """Who waits for some of those owed, each once, and until when."""
    cdef list found = []
    cdef object last = None
    cdef Owed* o
    for i in range(x.first + from_, x.first + to):
        o = &x.owed[i]
        if o.waiter == NULL or <object>o.waiter is last:
            continue
        last = <object>o.waiter
        found.append(((<Collected>last).future if type(last) is Collected else last, o.deadline))
    return found


cdef class Exchange(Requests):
    """What goes over one connection: requests that have been made and not sent, sent and not answered, and answers that come in.

    max_answer: bytes of one answer; a frame that announces more is a ProtocolError.
    """

    def __cinit__(self, dict commands not None, uint64_t max_request, uint64_t max_answer):
        self.most_answer = max_answer

    def __dealloc__(self):
        free(self.data)

    @property
    def owing(self):
        """How many requests have no answer yet."""
        return self.count

    @property
    def unsent(self):
        """Bytes of requests that wait for being sent."""
        return self.out.len

    @property
    def idle(self):
        """Nothing is owed or half received: the next request gets the next answer."""
        return exchange_idle(self)

    @cython.critical_section
    def get_into(self, key, Into into not None, /):
        """The length of a value that is received into a buffer, or None."""
        add_get_into(self, key, into)
        return self

    @cython.critical_section
    def wait(self, waiter, double deadline, /):
        """Let a future have the answer to the last request."""
        set_waiter(self, waiter, deadline)

    @cython.critical_section
    def add(self, Requests requests not None, future, double deadline, /):
        """All requests of a pipeline, which has some; the future gets a list of the answers."""
        cdef Collected collected = Collected.__new__(Collected)
        collected.answers = []
        collected.missing = requests.count
        collected.future = future
        add_all(self, requests, collected, deadline)

    @cython.critical_section
    def output(self):
        """What is to be sent, as bytes. From here on it counts as sent."""
        data = PyBytes_FromStringAndSize(self.out.data, <Py_ssize_t>self.out.len)
        exchange_sent(self)
        return data

    @cython.critical_section
    def room(self):
        """A writable memoryview for the next received bytes."""
        return room_of(self)

    @cython.critical_section
    def received(self, size_t n, /):
        """So many bytes have been written to the room. Answers that are complete go to who waits for them. Raises ProtocolError."""
        exchange_received(self, n)
        while exchange_take(self):
            waiter, self.waiter = self.waiter, None
            answer, self.answer = self.answer, None
            if waiter is not None:
                deliver(waiter, answer)

    def next_deadline(self):
        """The earliest deadline of a request without an answer; infinite without one."""
        cdef double earliest = HUGE_VAL
        for i in range(self.first, self.first + self.count):
            if self.owed[i].deadline < earliest:
                earliest = self.owed[i].deadline
        return earliest

    @cython.critical_section
    def abandon(self):
        """The connection has ended: forget everything. Answers who waited, with deadlines: for requests that were sent, and for others."""
        in_flight = waiting(self, 0, self.sent)
        unsent = waiting(self, self.sent, self.count)
        self.sent = 0
        self.start = self.end = self.skip = 0
        self.target = self.late = None
        requests_clear(self)
        return in_flight, unsent
