"""Drawing numbers of keys: each as often as any other, or by Zipf's law, where the k-th key is asked for in proportion to k^-skew.

Zipf's law by an alias table: a cell is drawn uniformly, and stands for its own range of keys or for another cell's. The first keys
are ranges by themselves; further on a range grows in proportion to its place, and its keys are drawn uniformly, which is wrong by less
than 1 % of a key's share. So a draw costs two random numbers and a table that stays in the cache, at any number of keys.
"""
from libc.stdint cimport uint32_t, uint64_t

from tellstone._core.base.random cimport random_next

cdef struct Cell:
    uint32_t cut                    # of 2^32: below it this cell is meant, above it the other one
    uint32_t other
    uint32_t first
    uint32_t span

cdef struct Draw:
    uint32_t keyspace
    uint32_t count                  # of cells; 0: uniform
    Cell* cells

cdef inline uint32_t random_below(uint64_t* state, uint32_t bound) noexcept nogil:
    return <uint32_t>((random_next(state) >> 32) * bound >> 32)

cdef inline uint32_t draw_number(const Draw* d, uint64_t* state) noexcept nogil:
    """A key's number, below `keyspace`."""
    cdef uint64_t random
    cdef const Cell* cell
    if d.count == 0:
        return random_below(state, d.keyspace)
    random = random_next(state)
    cell = &d.cells[(random >> 32) * d.count >> 32]
    if <uint32_t>random >= cell.cut:
        cell = &d.cells[cell.other]
    return cell.first if cell.span == 1 else cell.first + random_below(state, cell.span)

cdef int draw_init(Draw* d, uint32_t keyspace, double skew) except -1
cdef void draw_free(Draw* d) noexcept nogil
