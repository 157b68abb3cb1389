"""A segment: one file of a shard's log, its name, its head, and how it comes to be (docs/format.md).

    logs/GENERATION-SHARD-FIRST.log     all three in 16 hexadecimal digits; FIRST is the number of its first record

    head       8 bytes magic · u32 version · u32 shard · u64 generation · u32 shards · u32 0 · u64 first · i64 Unix ms · 12 bytes 0 · u32 CRC-32C

Behind the head stand records, and zeros behind the last of them. A file is reserved under another name (NUMBER.part) and gets its own when its
head is on the disk, so every segment has a whole one; the directory is then to be synced. Answers are 0 or an errno.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef enum:
    SEGMENT_HEAD = 64
    SEGMENT_VERSION = 1
    SEGMENT_PATH = 4224             # bytes of a path, its end included
    SEGMENT_DIRECTORY = 4096        # and of its directory

cdef struct SegmentHead:
    uint32_t version
    uint32_t shard
    uint32_t shards
    uint64_t generation
    uint64_t first
    int64_t time

cdef enum SegmentRead:
    SEGMENT_WHOLE = 0
    SEGMENT_NEWER = 1               # of a later version; only head.version is set
    SEGMENT_TORN = 2                # not a head, or hurt

cdef SegmentRead segment_read_head(const char* bytes_, SegmentHead* head) noexcept nogil       # of SEGMENT_HEAD bytes
cdef void segment_path(char* path, const char* logs, uint64_t generation, uint32_t shard, uint64_t first) noexcept nogil
# Whether a file's name (without its directory) is that of a segment.
cdef bint segment_parse_name(const char* name, uint64_t* generation, uint32_t* shard, uint64_t* first) noexcept nogil
cdef bint segment_is_part(const char* name) noexcept nogil

cdef struct Segment:                # that is written
    int fd                          # -1: none
    uint64_t part                   # the number it was reserved under
    uint64_t first                  # number of its first record; 0: none yet, only reserved
    uint64_t at                     # bytes of it
    uint64_t room

# `zeros`: its blocks are written, not only reserved, so that a later sync has nothing to note about them.
cdef int segment_reserve(Segment* s, const char* logs, uint64_t part, uint64_t room, bint zeros) noexcept nogil
cdef int segment_extend(Segment* s, uint64_t room) noexcept nogil
cdef int segment_name(Segment* s, const char* logs, const SegmentHead* head) noexcept nogil
# ORDER: the struct forgets the descriptor before it is closed: the child of a fork in between closes none that has become another file's.
cdef void segment_close(Segment* s) noexcept nogil
cdef void segment_discard(Segment* s, const char* logs) noexcept nogil      # what was only reserved

# Before segments begin behind the numbers that recovery has found in a directory, one a shard: files that were only reserved go, and the last segment
# of each shard is synced: a process that was killed leaves records that are written and not synced, and recovery has read them. EEXIST: there are
# records behind these numbers.
cdef int segments_settle(const char* logs, uint64_t generation, uint32_t shards, const uint64_t* seqs) noexcept nogil
# Segments go whose records a snapshot covers: of generations before its own, and of its own those at or below its numbers, one a shard. The segment
# that the log goes on in behind the snapshot stays, and so do all after it. Answers how many went.
cdef uint64_t segments_drop(const char* logs, uint64_t generation, uint32_t shards, const uint64_t* seqs) noexcept nogil
