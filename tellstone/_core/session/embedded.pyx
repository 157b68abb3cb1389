"""Commands from the program itself (see embedded.pxd).

A command runs here as it does for a connection: the same row, the same gates, the same handler, its reply written as RESP3 and
then decoded. So it cannot answer differently, at the price of some 100 ns for bytes that nobody sends. What a command changes is as safe as the
log's policy has it before the call answers, where the caller is a program.
"""
cimport cython
from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.inputs cimport take_value
from tellstone._core.base.outbuf cimport outbuf_clear, outbuf_free
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_PARKED, ST_UNSAFE
from tellstone._core.command.client cimport CLIENT_CLOSE, CLIENT_EMBEDDED
from tellstone._core.command.command cimport CMD_WRITE, Context, command_call
from tellstone._core.command.record cimport counters_free
from tellstone._core.protocol.decode cimport decode_output
from tellstone._core.protocol.reply cimport reply_status
from tellstone._core.session.records cimport Records, records_forget, records_watch
from tellstone._core.store.keyspace cimport keyspace_commit, keyspace_now
from tellstone._core.store.log cimport wal_reason

# The rows must be there before the first call is.
import tellstone._core.command.table

from tellstone.errors import ArgumentError

check_layout(__name__)

cdef enum:
    VIEWS = 16                      # arguments that need no allocation
    KEEP_MAX = 65536                # a reply buffer of more bytes is given back


@cython.final
cdef class Parked:
    """A control command that has passed all gates, in the place of its reply: Python has to handle it."""
    cdef readonly tuple arguments
    cdef readonly int db


@cython.final
@cython.no_gc_clear                 # the records watch the counters until __dealloc__ has told them
cdef class Caller:
    """A user of commands with a database and a name of its own, as a connection has. It belongs to one thread. records: what its calls
    are counted in; without, they leave nothing behind. safe: what a call has changed is as safe as the log's policy has it when it
    answers; without, somebody else sees to that."""

    def __cinit__(self, Store store not None, Records records=None, *, bint safe=False):
        self.store = store
        self.safe = safe
        self.client.proto = 3
        self.client.flags = CLIENT_EMBEDDED
        self.client.authenticated = 1
        self.client.fd = -1
        self.client.created_ms = keyspace_now(store.ks)
        if records is not None:
            records_watch(records, &self.counters)
            self.records = records

    def __dealloc__(self):
        if self.records is not None:
            records_forget(self.records, &self.counters)
        counters_free(&self.counters)
        outbuf_free(&self.out)
        free(self.client.name.ptr)
        free(self.client.lib_name.ptr)
        free(self.client.lib_ver.ptr)

    def call(self, tuple words not None, /):
        """Run a command; answers its full name ("client|list", None for one that is unknown) and its decoded reply. An error is a
        reply too, and what Python has to handle is Parked."""
        cdef View few[VIEWS]
        cdef View* argv = few
        cdef uint32_t argc = <uint32_t>len(words)
        cdef list keep = []
        if argc == 0:
            raise ArgumentError("a command begins with its name")
        if argc > VIEWS:
            argv = <View*>malloc(argc * sizeof(View))
            if argv == NULL:
                raise MemoryError()
        try:
            for i in range(argc):
                keep.append(take_value(words[i], &argv[i]))
            return run(self, argv, argc)
        finally:
            if argv != few:
                free(argv)

    def settle(self):
        """For those whose calls are not safe one by one: make safe what they have changed. Answers None, or the error."""
        cdef bint safe
        with nogil:
            safe = keyspace_commit(self.store.ks)
            if not safe:
                unsafe(self, &self.out)
        return None if safe else reply_of(self)


cdef void unsafe(Caller self, OutBuf* out) noexcept nogil:
    """In the place of a reply."""
    outbuf_clear(out)
    reply_status(out, ST_UNSAFE, wal_reason(self.store.ks.wal))


cdef inline bint has_written(const Context* c) noexcept nogil:
    """An error tells of no change, even where there has been part of one."""
    return c.command != NULL and c.command.flags & CMD_WRITE != 0 and not (c.out.len and c.out.data[0] == c'-')


cdef object run(Caller self, const View* argv, uint32_t argc):
    cdef Context c
    cdef int status
    memset(&c, 0, sizeof(Context))
    c.ks = self.store.ks
    c.client = &self.client
    c.out = &self.out
    c.argv = argv
    c.argc = argc
    c.now = keyspace_now(c.ks)
    c.counters = &self.counters
    self.client.proto = 3               # whatever HELLO or RESET has said
    self.client.active_ms = c.now
    self.client.commands += 1
    with nogil:
        status = command_call(&c, NULL, False)
        if self.safe and has_written(&c) and not keyspace_commit(c.ks):
            unsafe(self, &self.out)
    self.client.flags &= ~<uint32_t>CLIENT_CLOSE        # there is nothing to close
    name = None if c.command == NULL else c.command.full_name.decode()
    if status == ST_PARKED:
        return name, parked(&c)
    return name, reply_of(self)


cdef Parked parked(const Context* c):
    cdef Parked call = Parked.__new__(Parked)
    call.arguments = tuple([c.argv[i].ptr[:c.argv[i].len] for i in range(c.argc)])
    call.db = c.client.db
    return call


cdef object reply_of(Caller self):
    """The reply as an object. A few commands have none; they answer None."""
    try:
        if self.out.failed:
            raise MemoryError("no memory for the reply")
        return decode_output(&self.out) if self.out.len else None
    finally:
        if self.out.cap > KEEP_MAX:
            outbuf_free(&self.out)
        else:
            outbuf_clear(&self.out)
        self.out.failed = False
