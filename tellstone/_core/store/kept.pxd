"""What a directory keeps that a store can be made of: its snapshots, by what their heads and feet say.

Blocks are not read: a snapshot has its name since it was whole. One whose head or foot cannot be read is left out. The log of the first generation
needs no snapshot where it is there from its beginning: that generation, and no other, began with an empty store.
"""
from libc.stdint cimport int64_t, uint32_t

from tellstone._core.store.catalog cimport Catalog
from tellstone._core.store.window cimport Window

cdef enum:
    FIRST_GENERATION = 1

cdef struct Beginning:              # of the first generation's log
    uint32_t shards                 # as a head says
    uint32_t begun                  # of these, whose first segment is there
    int64_t time_ms                 # when the last of them was

# begun == shards: all of it is there
cdef void kept_find_beginning(const Catalog* c, Window* w, Beginning* b) noexcept nogil
