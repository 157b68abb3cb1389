"""Growable output: the bytes of replies in order, with counted blocks spliced in by reference.

One thread uses an OutBuf at a time and owns what it points to. `data` may be lent by a driver that recycles
buffers (see net.sending); it is always memory of malloc. When memory runs out `failed` is set, what is there is
no longer the truth, and the owner closes the connection.
"""
from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc, realloc

from tellstone._core.base.block cimport Block, block_ref, block_unref
from tellstone._core.base.bytesops cimport copy_bytes

cdef struct OutRef:
    size_t at                       # the block's bytes stand before data[at]
    Block* block                    # one count is held here

cdef struct OutBuf:
    char* data
    size_t len
    size_t cap
    OutRef* refs                    # in the order of `at`
    uint32_t ref_count
    uint32_t ref_cap
    size_t ref_bytes                # the sum of the blocks' sizes
    bint failed

cdef inline size_t outbuf_size(const OutBuf* o) noexcept nogil:
    return o.len + o.ref_bytes

cdef inline bint outbuf_grow(OutBuf* o, size_t need) noexcept nogil:
    """Make room for `need` more bytes. False, with `failed` set, when memory is out."""
    cdef size_t cap = o.cap * 2 if o.cap >= 512 else 1024
    cdef char* data
    if cap < o.len + need:
        cap = o.len + need
    data = <char*>realloc(o.data, cap)
    if data == NULL:
        o.failed = True
        return False
    o.data = data
    o.cap = cap
    return True

cdef inline char* outbuf_reserve(OutBuf* o, size_t need) noexcept nogil:
    """Where the next `need` bytes may be written; the writer then adds what it wrote to `len`. NULL: out of memory."""
    if o.cap - o.len < need and not outbuf_grow(o, need):
        return NULL
    return o.data + o.len

cdef inline void outbuf_append(OutBuf* o, const char* p, size_t n) noexcept nogil:
    if o.cap - o.len < n and not outbuf_grow(o, n):
        return
    copy_bytes(o.data + o.len, p, n)
    o.len += n

cdef inline void outbuf_append_block(OutBuf* o, Block* b) noexcept nogil:
    """Splice the block in at the end; takes a count of its own."""
    cdef OutRef* refs
    cdef uint32_t cap
    if o.ref_count == o.ref_cap:
        cap = o.ref_cap * 2 if o.ref_cap else 4
        refs = <OutRef*>realloc(o.refs, cap * sizeof(OutRef))
        if refs == NULL:
            o.failed = True
            return
        o.refs = refs
        o.ref_cap = cap
    block_ref(b)
    o.refs[o.ref_count].at = o.len
    o.refs[o.ref_count].block = b
    o.ref_count += 1
    o.ref_bytes += b.size

cdef inline void outbuf_truncate(OutBuf* o, size_t len, uint32_t ref_count) noexcept nogil:
    """Take back everything written since the buffer had `len` bytes and `ref_count` blocks."""
    while o.ref_count > ref_count:
        o.ref_count -= 1
        o.ref_bytes -= o.refs[o.ref_count].block.size
        block_unref(o.refs[o.ref_count].block)
    o.len = len

cdef inline void outbuf_clear(OutBuf* o) noexcept nogil:
    """Empty, with the memory kept."""
    outbuf_truncate(o, 0, 0)

cdef inline void outbuf_free(OutBuf* o) noexcept nogil:
    outbuf_truncate(o, 0, 0)
    free(o.data)
    free(o.refs)
    o.data = NULL
    o.refs = NULL
    o.cap = 0
    o.ref_cap = 0
