"""The table of Zipf's law (see draw.pxd)."""
from libc.math cimport log, pow
from libc.stdint cimport UINT32_MAX, uint32_t
from libc.stdlib cimport calloc, free

from tellstone._core.base.stamp cimport check_layout

check_layout(__name__)

cdef enum:
    SINGLE = 1024                   # keys that are ranges by themselves
    GROWTH = 64                     # a range further on is by so much shorter than what stands before it


cdef double share(double begin, double end, double skew) noexcept nogil:
    """The sum of k^-skew over the ranks from `begin` up to, not including, `end`: the area below the curve, which is close for one
    rank beyond SINGLE and exact enough for more."""
    if end - begin == 1:
        return pow(begin, -skew)
    if skew == 1:
        return log((end - 0.5) / (begin - 0.5))
    return (pow(end - 0.5, 1 - skew) - pow(begin - 0.5, 1 - skew)) / (1 - skew)


cdef list ranges_of(uint32_t keyspace):
    """(first, span) of ranges that cover the keyspace."""
    ranges = []
    cdef uint32_t first = 0, span
    while first < keyspace:
        span = 1 if first < SINGLE else first // GROWTH
        if span > keyspace - first:
            span = keyspace - first
        ranges.append((first, span))
        first += span
    return ranges


cdef int fill_cells(Cell* cells, list shares) except -1:
    """Vose's method: what a cell lacks to an equal share is filled up from one that has more, which is then that much smaller."""
    cdef double mean = sum(shares) / len(shares)
    scaled = [part / mean for part in shares]
    small = [i for i, part in enumerate(scaled) if part < 1]
    large = [i for i, part in enumerate(scaled) if part >= 1]
    while small and large:
        i = small.pop()
        giver = large[len(large) - 1]
        cells[<size_t>i].cut = <uint32_t>(scaled[i] * UINT32_MAX)
        cells[<size_t>i].other = giver
        scaled[giver] -= 1 - scaled[i]
        if scaled[giver] < 1:
            small.append(large.pop())
    for i in small + large:
        cells[<size_t>i].cut = UINT32_MAX
        cells[<size_t>i].other = i
    return 0


cdef int draw_init(Draw* d, uint32_t keyspace, double skew) except -1:
    """Raises MemoryError; draw_free cleans up either way."""
    cdef Cell* cell
    d.keyspace = keyspace
    if skew == 0:
        return 0
    ranges = ranges_of(keyspace)
    d.cells = <Cell*>calloc(len(ranges), sizeof(Cell))
    if d.cells == NULL:
        raise MemoryError("no memory for the law of Zipf")
    d.count = <uint32_t>len(ranges)
    cell = d.cells
    for first, span in ranges:
        cell.first = first
        cell.span = span
        cell += 1
    return fill_cells(d.cells, [share(first + 1.0, first + 1.0 + span, skew) for first, span in ranges])


cdef void draw_free(Draw* d) noexcept nogil:
    free(d.cells)
    d.cells = NULL
    d.count = 0
