"""The output of connections, and their end (see net.connection).

A hosted connection sends in two halves: connection_send notes that there is something, and when its driver has handed bytes to the
transport, connection_sent tells what the kernel has taken.
"""
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport malloc

from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.net.connection cimport (
    CONN_ENDING, CONN_FREE, DEFERRED_BYTES, DEFERRED_MAX, OUTPUT_SIZE, Connection, Connections,
)
from tellstone._core.net.output cimport output_compact, output_unsent

cdef void set_interest(Connections* cs, Connection* c, uint32_t interest) noexcept nogil
cdef void leave_load(Connections* cs) noexcept nogil                        # a client, or one that was to be, is gone
cdef void connection_close(Connections* cs, Connection* c) noexcept nogil   # at once, with output unsent
# Nothing more is read; the caller sends what is there, and the last byte of it ends the connection.
cdef void begin_ending(Connections* cs, Connection* c) noexcept nogil
cdef bint over_output_limit(Connections* cs, Connection* c, uint64_t unsent) noexcept nogil
# Output is left that the kernel does not take.
cdef void connection_wait(Connections* cs, Connection* c) noexcept nogil
# One write for all there is to send. What the kernel does not take waits until the poller asks for it.
cdef void connection_send(Connections* cs, Connection* c) noexcept nogil
# n more bytes are with the kernel.
cdef void connection_sent(Connections* cs, Connection* c, size_t n) noexcept nogil
# Send what the turns of this tick have written.
cdef void connections_flush(Connections* cs) noexcept nogil

cdef inline void lend_output(Connections* cs, Connection* c) noexcept nogil:
    """Before the session writes. Where there is neither a spare buffer nor memory for one, the session finds out."""
    cdef OutBuf* out = &c.session.out
    if out.data != NULL:
        output_compact(out, &c.sent)
        return
    if cs.spare_count:
        cs.spare_count -= 1
        out.data = cs.spares[cs.spare_count]
        out.cap = cs.spare_caps[cs.spare_count]
        return
    out.data = <char*>malloc(OUTPUT_SIZE)
    out.cap = OUTPUT_SIZE if out.data != NULL else 0

cdef inline void connection_defer(Connections* cs, Connection* c) noexcept nogil:
    """Send at the end of the tick, or at once where there is nothing to wait for."""
    cdef size_t size
    if c.deferred:
        return
    size = output_unsent(&c.session.out, &c.sent)
    if size == 0 or c.mode == CONN_ENDING or c.session.out.failed:
        connection_send(cs, c)
        return
    if cs.deferred_count == DEFERRED_MAX or cs.deferred_bytes >= DEFERRED_BYTES:
        connections_flush(cs)
        if c.mode == CONN_FREE:             # its changes could not be made safe
            return
    cs.deferred[cs.deferred_count] = c
    cs.deferred_count += 1
    cs.deferred_bytes += size
    c.deferred = True
