"""What a directory of durable data holds, file by file, and what is wrong with the files.

    snapshots/GENERATION-NUMBER.snapshot        a snapshot; with .part behind it one that was never finished
    logs/GENERATION-SHARD-FIRST.log             a segment of a shard's log, from its first sequence number on (store.segment)

All numbers of names are written in 16 hexadecimal digits, so that names sort as their files are used. Other files are left alone.
"""
from libc.stdint cimport uint32_t, uint64_t

from tellstone._core.base.lock cimport Lock

cdef enum:
    NAME_ROOM = 80                  # of a file's name below the directory
    PATH_ROOM = 4096
    FAULTS_KEPT = 4096              # more are only counted
    NO_SHARD = 0xFFFFFFFFU

cdef struct SnapshotFile:
    uint64_t generation
    uint64_t number

cdef struct SegmentFile:
    uint64_t generation
    uint32_t shard
    uint64_t first

cdef struct Catalog:
    char directory[PATH_ROOM]
    SnapshotFile* snapshots         # in order of generation and number
    uint32_t snapshot_count
    SegmentFile* segments           # in order of generation, shard and first number
    uint32_t segment_count
    uint32_t unfinished             # snapshots that are a .part
    int error

cdef enum FaultKind:
    FAULT_HEAD = 1
    FAULT_NEWER = 2
    FAULT_NAME = 3
    FAULT_SHARDS = 4
    FAULT_RECORD = 5
    FAULT_GAP = 6
    FAULT_ORDER = 7
    FAULT_CHANGE = 8
    FAULT_TYPE = 9
    FAULT_BLOCK = 10
    FAULT_ENTRY = 11
    FAULT_FOOT = 12
    FAULT_SUM = 13
    FAULT_SNAPSHOT = 14

cdef struct Fault:
    FaultKind kind
    char file[NAME_ROOM]
    uint64_t offset
    uint64_t length                 # bytes that are not whole
    uint32_t shard                  # or NO_SHARD
    uint64_t first                  # records that are lost, where their numbers are known: from .. to, else 0
    uint64_t last
    uint32_t version                # FAULT_NEWER

cdef struct Faults:                 # zeroed is empty. Threads may add to it side by side
    Lock lock
    Fault* items
    uint32_t count
    uint32_t cap
    uint64_t more                   # that have not been kept

cdef int catalog_read(Catalog* c, const char* directory) noexcept nogil     # 0, or errno. A directory that is not there is empty
cdef void catalog_free(Catalog* c) noexcept nogil
# The segments of a shard: from .. below. Empty where it has none.
cdef void catalog_segments(const Catalog* c, uint64_t generation, uint32_t shard, uint32_t* begin, uint32_t* end) noexcept nogil

cdef void snapshot_name(char* name, const SnapshotFile* f) noexcept nogil      # NAME_ROOM
cdef void segment_name(char* name, const SegmentFile* f) noexcept nogil
cdef void full_path(char* path, const Catalog* c, const char* name) noexcept nogil     # PATH_ROOM + NAME_ROOM

cdef void fault_set(Fault* f, FaultKind kind, const char* name, uint32_t shard, uint64_t offset, uint64_t length) noexcept nogil
cdef void faults_add(Faults* all_, const Fault* f) noexcept nogil
cdef void faults_free(Faults* all_) noexcept nogil
cdef const char* fault_words(FaultKind kind) noexcept nogil                    # "the checksum of a block is wrong"
# One line that names file, place and what is wrong.
cdef void fault_text(const Fault* f, const char* directory, char* out, size_t room) noexcept nogil
