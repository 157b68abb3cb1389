"""A shard's log on the disk: its segments, read as one sequence of records.

Records are numbered without a gap, so whatever breaks the sequence shows: bytes that are no record, a missing file, a file under another's
name. What that means depends on what stands behind it.

    zeros to the end of the segment     the next segment goes on, or the log ends here
    the next segment goes on, too       what is left here does not matter
    nothing that proves that what is    the end was torn: a crash came before it was safe, and nobody was told of it. The log ends before it, whole
    missing was safe                    records behind it included
    a MARK that says so, or a later     something that was safe is damaged. A strict reader stops; a lenient one notes the fault and goes on with the
    segment, which is only begun then   next whole record

LIFETIME: a Record's views are good until trail_next answers TRAIL_MOVE or is called without `stay`.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.store.catalog cimport Catalog, FaultKind, Faults
from tellstone._core.store.record cimport Record
from tellstone._core.store.window cimport Window

cdef enum TrailRead:
    TRAIL_RECORD = 0
    TRAIL_END = 1
    TRAIL_MOVE = 2                  # only with `stay`: the next record needs the window
    TRAIL_STOP = 3                  # damage, or a later version: it is in the faults
    TRAIL_FAILED = 4                # reading has failed: window.error, in file k

cdef struct Trail:
    const Catalog* catalog
    uint32_t shard
    uint32_t shards                 # that heads must name; 0: the first one says
    uint64_t covered                # by the snapshot: a gap before it is none
    bint lenient
    bint exact                      # what is left behind the last record of a segment that is not the last one is damage, too
    Window* window
    Faults* faults                  # NULL: they are noted already
    uint32_t begin                  # its segments in the catalog
    uint32_t end
    uint32_t k                      # the one that is being read
    bint entered                    # its head has been read
    bint ended
    uint32_t headed                 # the last one with a head that goes on from the one before
    int64_t begun_ms                # when that one was begun, and everything before it was on the disk
    uint64_t at                     # offset of the next record; at the end where it would stand
    uint64_t record_at              # offset of the record that was given last; it is in k
    uint64_t seq                    # of the record that was given last
    bint torn                       # with TRAIL_END: at `at` of k
    uint64_t torn_bytes             # from there on, but for zeros at the end, and in segments before
    uint64_t* progress              # atomic, or NULL: segments add their size when they have been read

# Begin at the segment that has the record of this number; 0: at the first there is.
cdef void trail_open(Trail* t, const Catalog* catalog, uint64_t generation, uint32_t shard, uint64_t from_seq, Window* window) noexcept nogil
cdef TrailRead trail_next(Trail* t, Record* r, bint stay) noexcept nogil
