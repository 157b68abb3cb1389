"""How much of an OutBuf has been sent, and sending it: one write, or one writev where counted blocks are spliced in.

LOCK: of the serving thread, as everything of a connection.
"""
from libc.stdint cimport uint32_t
from libc.string cimport memmove

from tellstone._core.base.block cimport block_unref
from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.base.socket cimport IoVec, sock_write, sock_writev

cdef enum:
    OUTPUT_VECTOR = 64                  # pieces of one writev
    OUTPUT_COMPACT = 16384              # sent bytes at the front of a buffer that are worth moving the rest for

cdef struct Sent:
    size_t data                         # bytes of out.data; those before are with the kernel
    size_t block                        # bytes of the first block of out.refs; blocks sent whole are taken off

cdef inline size_t output_unsent(const OutBuf* out, const Sent* sent) noexcept nogil:
    return out.len - sent.data + out.ref_bytes - sent.block

cdef inline void output_compact(OutBuf* out, Sent* sent) noexcept nogil:
    """Before more is written behind unsent output: a byte is moved at most once for every byte that has been sent."""
    cdef uint32_t i
    if sent.data < OUTPUT_COMPACT or sent.data < out.len >> 1:
        return
    memmove(out.data, out.data + sent.data, out.len - sent.data)
    for i in range(out.ref_count):
        out.refs[i].at -= sent.data
    out.len -= sent.data
    sent.data = 0

cdef inline int output_vector(const OutBuf* out, const Sent* sent, IoVec* v) noexcept nogil:
    """The next pieces to send, in order."""
    cdef size_t at = sent.data
    cdef size_t skip = sent.block       # of the first block
    cdef uint32_t i
    cdef int n = 0
    for i in range(out.ref_count):
        if n + 3 > OUTPUT_VECTOR:       # this block, what stands before it, and the end
            return n
        if out.refs[i].at > at:
            v[n].iov_base = out.data + at
            v[n].iov_len = out.refs[i].at - at
            at = out.refs[i].at
            n += 1
        v[n].iov_base = <char*>out.refs[i].block.data + skip
        v[n].iov_len = out.refs[i].block.size - skip
        skip = 0
        n += 1
    if out.len > at:
        v[n].iov_base = out.data + at
        v[n].iov_len = out.len - at
        n += 1
    return n

cdef inline void output_advance(OutBuf* out, Sent* sent, size_t n) noexcept nogil:
    """n more bytes are with the kernel: count them off, and let go of the blocks that have been sent whole."""
    cdef uint32_t done = 0
    cdef size_t take
    while n and done < out.ref_count:
        take = out.refs[done].at - sent.data
        if n < take:
            break
        sent.data += take
        n -= take
        take = out.refs[done].block.size - sent.block
        if n < take:
            sent.block += n
            n = 0
            break
        n -= take
        sent.block = 0
        out.ref_bytes -= out.refs[done].block.size
        block_unref(out.refs[done].block)
        done += 1
    sent.data += n
    if done:
        out.ref_count -= done
        memmove(out.refs, out.refs + done, out.ref_count * sizeof(out.refs[0]))

cdef inline ssize_t output_write_vector(int fd, OutBuf* out, Sent* sent) noexcept nogil:
    cdef IoVec vector[OUTPUT_VECTOR]
    cdef ssize_t n = sock_writev(fd, vector, output_vector(out, sent, vector))
    if n > 0:
        output_advance(out, sent, <size_t>n)
    return n

cdef inline ssize_t output_write(int fd, OutBuf* out, Sent* sent) noexcept nogil:
    """Hand to the kernel what it takes: the number of bytes, SOCK_AGAIN or SOCK_BROKEN. There is something unsent."""
    cdef ssize_t n
    if out.ref_count:
        return output_write_vector(fd, out, sent)
    n = sock_write(fd, out.data + sent.data, out.len - sent.data)
    if n > 0:
        sent.data += <size_t>n
    return n
