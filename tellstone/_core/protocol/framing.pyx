"""Requests of a client as frames of the native protocol (see framing.pxd)."""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF, Py_XINCREF
from libc.math cimport HUGE_VAL
from libc.stdint cimport UINT32_MAX, int64_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memmove

from tellstone._core.base.bytesops cimport View, copy_bytes, put_be16, put_be64
from tellstone._core.base.inputs cimport positive_milliseconds, take, take_value
from tellstone._core.base.outbuf cimport outbuf_clear, outbuf_free, outbuf_reserve
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.protocol.native cimport (
    FRAME_AUTH, FRAME_AUTH_OK, FRAME_HEAD, FRAME_PING, FRAME_PONG, FRAME_REQUEST, FRAME_RESPONSE, LIST_MAX, OP_COMMAND, OP_DELETE,
    OP_GET, OP_SET, REQUEST_HEAD, FrameType, Operation, frame_head,
)

from tellstone.errors import ArgumentError

check_layout(__name__)

cdef enum:
    KEEP_MAX = 1048576              # a buffer of requests of more bytes is given back


# What is owed ---------------------------------------------------------------------------------------------------


cdef int owed_reserve(Requests r, size_t more) except -1:
    """Room for so many, so that owed_push cannot fail. They move to the front when that is the smaller half."""
    cdef size_t cap = r.owed_cap * 2 if r.owed_cap else 8
    cdef Owed* grown
    if r.first and r.first >= r.count and r.first + r.count + more > r.owed_cap:
        memmove(r.owed, r.owed + r.first, r.count * sizeof(Owed))
        r.first = 0
    if r.first + r.count + more <= r.owed_cap:
        return 0
    if cap < r.first + r.count + more:
        cap = r.first + r.count + more
    grown = <Owed*>realloc(r.owed, cap * sizeof(Owed))
    if grown == NULL:
        raise MemoryError()
    r.owed = grown
    r.owed_cap = cap
    return 0


cdef void owed_push(Requests r, Wanted wanted, FrameType frame, PyObject* how) noexcept:
    """Side effect: a count of `how` for the queue."""
    cdef Owed* o = &r.owed[r.first + r.count]
    Py_XINCREF(how)
    o.how = how
    o.waiter = NULL
    o.deadline = HUGE_VAL
    o.wanted = wanted
    o.frame = frame
    r.count += 1


cdef void owed_pop(Requests r) noexcept:
    """ORDER: counts are given back last, for that may run code that comes here again."""
    cdef Owed o = r.owed[r.first]
    r.count -= 1
    r.first = r.first + 1 if r.count else 0
    Py_XDECREF(o.how)
    Py_XDECREF(o.waiter)


# Requests as frames ---------------------------------------------------------------------------------------------


cdef char* reserve(Requests r, size_t n) except NULL:
    cdef char* at = outbuf_reserve(&r.out, n)
    if at == NULL:
        r.out.failed = False            # what is there is still whole
        raise MemoryError()
    return at


cdef char* open_request(Requests r, Operation op, View key, size_t value, int64_t ttl_ms) except NULL:
    """Write a request up to its value, for which there is room; answers where it goes. The caller adds what is owed, which has room, too.
    """
    cdef size_t payload = REQUEST_HEAD + key.len + value
    cdef char* at
    if key.len > LIST_MAX:
        raise ArgumentError(f"a key has at most {LIST_MAX} bytes, not {key.len}")
    check_length(r, payload)
    owed_reserve(r, 1)
    at = reserve(r, FRAME_HEAD + payload)
    frame_head(at, FRAME_REQUEST, payload)
    at[FRAME_HEAD] = <char>op
    put_be16(at + FRAME_HEAD + 1, <unsigned short>key.len)
    put_be64(at + FRAME_HEAD + 3, <uint64_t>ttl_ms)
    at += FRAME_HEAD + REQUEST_HEAD
    copy_bytes(at, key.ptr, key.len)
    r.out.len += FRAME_HEAD + payload
    return at + key.len


cdef int check_length(Requests r, size_t payload) except -1:
    if payload + 1 > r.most_request:
        raise ArgumentError(
            f"a request of {payload + 1} bytes: max_request is {r.most_request}, and a server closes the connection that exceeds its own limit"
        )
    return 0


cdef int add_get(Requests r, object key) except -1:
    cdef View k
    keep = take(key, &k)
    open_request(r, OP_GET, k, 0, 0)
    owed_push(r, WANT_VALUE, FRAME_RESPONSE, NULL)
    return 0


cdef int add_delete(Requests r, object key) except -1:
    cdef View k
    keep = take(key, &k)
    open_request(r, OP_DELETE, k, 0, 0)
    owed_push(r, WANT_NOTHING, FRAME_RESPONSE, NULL)
    return 0


cdef int add_set(Requests r, object key, object value, object ttl, bint nx, bint xx, bint keep_ttl) except -1:
    cdef View k
    cdef View v
    cdef int64_t ttl_ms = 0 if ttl is None else positive_milliseconds(ttl)
    if nx or xx or keep_ttl:
        return add_conditional_set(r, key, value, ttl_ms, nx, xx, keep_ttl)
    keep = take(key, &k)
    keep_value = take_value(value, &v)
    copy_bytes(open_request(r, OP_SET, k, v.len, ttl_ms), v.ptr, v.len)
    owed_push(r, WANT_DONE, FRAME_RESPONSE, NULL)
    return 0


cdef int add_conditional_set(Requests r, object key, object value, int64_t ttl_ms, bint nx, bint xx, bint keep_ttl) except -1:
    """SET key value [NX | XX] [KEEPTTL | PX milliseconds], which the operation SET has no room for."""
    cdef list words = ["SET", key, value]
    if nx and xx:
        raise ArgumentError("nx and xx exclude each other")
    if keep_ttl and ttl_ms:
        raise ArgumentError("ttl and keep_ttl exclude each other")
    if nx or xx:
        words.append("NX" if nx else "XX")
    if keep_ttl:
        words.append("KEEPTTL")
    if ttl_ms:
        words += ["PX", ttl_ms]
    put_words(r, tuple(words))
    owed_push(r, WANT_STORED, FRAME_RESPONSE, NULL)
    return 0


cdef int add_ping(Requests r) except -1:
    cdef char* at
    owed_reserve(r, 1)
    at = reserve(r, FRAME_HEAD)
    frame_head(at, FRAME_PING, 0)
    r.out.len += FRAME_HEAD
    owed_push(r, WANT_DONE, FRAME_PONG, NULL)
    return 0


cdef int add_auth(Requests r, object user, object password) except -1:
    cdef size_t begin = r.out.len
    owed_reserve(r, 1)
    reserve(r, FRAME_HEAD)
    r.out.len += FRAME_HEAD
    try:
        put_word(r, user)
        put_word(r, password)
    except:
        r.out.len = begin
        raise
    frame_head(r.out.data + begin, FRAME_AUTH, r.out.len - begin - FRAME_HEAD)
    owed_push(r, WANT_DONE, FRAME_AUTH_OK, NULL)
    return 0


# Commands -------------------------------------------------------------------------------------------------------


cdef int put_word(Requests r, object word) except -1:
    """An item of a list: u16 length · bytes."""
    cdef View v
    cdef char* at
    keep = take_value(word, &v)
    if v.len > LIST_MAX:
        raise ArgumentError(
            f"an argument of a command has at most {LIST_MAX} bytes in the native protocol, not {v.len}; set() takes longer values"
        )
    at = reserve(r, 2 + v.len)
    put_be16(at, <unsigned short>v.len)
    copy_bytes(at + 2, v.ptr, v.len)
    r.out.len += 2 + v.len
    return 0


cdef int put_words(Requests r, tuple words) except -1:
    """A COMMAND. The caller adds what is owed, which has room."""
    cdef size_t begin = r.out.len
    cdef size_t payload
    cdef View key
    if len(words) > LIST_MAX:
        raise ArgumentError(f"a command has at most {LIST_MAX} arguments in the native protocol, not {len(words)}")
    key.ptr = NULL
    key.len = 0
    put_be16(open_request(r, OP_COMMAND, key, 2, 0), <unsigned short>len(words))
    try:
        for word in words:
            put_word(r, word)
        payload = r.out.len - begin - FRAME_HEAD
        check_length(r, payload)
    except:
        r.out.len = begin
        raise
    frame_head(r.out.data + begin, FRAME_REQUEST, payload)
    return 0


cdef str name_of(object word):
    """A word as the name of a command."""
    cdef View v
    if isinstance(word, str):
        return (<str>word).lower()
    keep = take_value(word, &v)
    return v.ptr[:v.len].decode("latin-1").lower()


cdef object entry_of(Requests r, tuple words):
    """What `commands` says of a command, or of its subcommand."""
    found = r.commands.get(name_of(words[0]))
    if type(found) is dict:
        entries = <dict>found
        found = entries.get(name_of(words[1])) if len(words) > 1 else None
        if found is None:
            found = entries.get("")
    return found


cdef bint has_blank(object word) except -1:
    cdef View v
    if not isinstance(word, str):
        return False
    keep = take(word, &v)
    return v.len and memchr(v.ptr, c' ', v.len) != NULL


cdef int add_command(Requests r, tuple words) except -1:
    cdef bint stateful = False
    if len(words) and has_blank(words[0]):
        words = (*words[0].split(), *words[1:])
    if not len(words):
        raise ArgumentError("a command begins with its name")
    entry = entry_of(r, words)
    if type(entry) is str:
        raise ArgumentError(f"{words[0]}: {entry}")
    if type(entry) is tuple:
        stateful = True
        entry = (<tuple>entry)[0]
    put_words(r, words)
    owed_push(r, WANT_REPLY, FRAME_RESPONSE, NULL if entry is None else <PyObject*>entry)
    r.stateful = r.stateful or stateful
    return 0


# Collecting -----------------------------------------------------------------------------------------------------


cdef int add_all(Requests r, Requests more, object waiter, double deadline) except -1:
    cdef size_t i
    cdef Owed* o
    owed_reserve(r, more.count)
    copy_bytes(reserve(r, more.out.len), more.out.data, more.out.len)
    r.out.len += more.out.len
    for i in range(more.count):
        o = &more.owed[more.first + i]
        owed_push(r, <Wanted>o.wanted, <FrameType>o.frame, o.how)
        if waiter is not None:
            set_waiter(r, waiter, deadline)
    return 0


cdef void set_waiter(Requests r, object waiter, double deadline) noexcept:
    """Whose the last answer will be. INVARIANT: it has been nobody's yet."""
    cdef Owed* o = &r.owed[r.first + r.count - 1]
    Py_INCREF(waiter)
    o.waiter = <PyObject*>waiter
    o.deadline = deadline


cdef int requests_clear(Requests r) except -1:
    while r.count:
        owed_pop(r)
    requests_sent(r)
    r.stateful = False
    return 0


cdef void requests_sent(Requests r) noexcept:
    if r.out.cap > KEEP_MAX:
        outbuf_free(&r.out)
    outbuf_clear(&r.out)


cdef class Requests:
    """Requests that go out together, and their answers, which come back in the same order.

    commands: by name in lower case, how a reply is converted: a callable; a tuple of one for a command that changes the connection it
    runs on; a str with the reason why it has no place here; a dict of all this for subcommands, the command itself under "".
    max_request: bytes of one request.
    """

    def __cinit__(self, dict commands not None, uint64_t max_request, *limits):
        self.commands = commands
        self.most_request = max_request if max_request < UINT32_MAX else UINT32_MAX

    def __dealloc__(self):
        while self.count:
            owed_pop(self)
        free(self.owed)
        outbuf_free(&self.out)

    @cython.critical_section
    def get(self, key, /):
        """The value of a key as bytes, or None."""
        add_get(self, key)
        return self

    @cython.critical_section
    def set(self, key, value, /, ttl=None, *, bint nx=False, bint xx=False, bint keep_ttl=False):
        """Store a value; answers whether it was stored. See Client.set."""
        add_set(self, key, value, ttl, nx, xx, keep_ttl)
        return self

    @cython.critical_section
    def delete(self, key, /):
        """Delete a key; answers None, whether or not there was one."""
        add_delete(self, key)
        return self

    @cython.critical_section
    def execute(self, *words):
        """Run a command; answers what Engine.execute does."""
        add_command(self, words)
        return self

    @cython.critical_section
    def ping(self):
        """Answers True."""
        add_ping(self)
        return self

    @cython.critical_section
    def auth(self, user, password, /):
        """Who asks from here on; answers True."""
        add_auth(self, user, password)
        return self

    @cython.critical_section
    def clear(self):
        """Forget all of them."""
        requests_clear(self)

    def __len__(self):
        return <Py_ssize_t>self.count
