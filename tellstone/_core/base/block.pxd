"""Counted blocks of bytes: values of 32 KiB and more (`block.h`).

An entry holds one count; a reply in flight holds another, so it needs neither a copy nor the shard's lock.
INVARIANT: the bytes of a block change only while its single count is the entry's, under the shard's lock.
"""
from libc.stdint cimport uint32_t, uint64_t

cdef extern from "block.h" nogil:
    ctypedef struct Block "ts_block":
        uint32_t refs
        uint64_t size
        uint64_t room
        char* data                    # a flexible array: the bytes follow the header
    Block* block_new "ts_block_new"(size_t size, size_t room) noexcept    # one count; NULL without memory
    void block_ref "ts_block_ref"(Block* b) noexcept
    void block_unref "ts_block_unref"(Block* b) noexcept
    bint block_shared "ts_block_shared"(Block* b) noexcept
