"""Directories of durable data (see catalog.pxd)."""
from libc.errno cimport ENOENT, ENOMEM
from libc.stdint cimport uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, qsort, realloc
from libc.string cimport memset, strlen, strncpy

from tellstone._core.base.disk cimport DiskVisit, disk_list
from tellstone._core.base.lock cimport lock_acquire, lock_release
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.store.segment cimport segment_parse_name, segment_path

check_layout(__name__)

cdef enum:
    DIGITS = 16                     # of a number in a name


# Names ----------------------------------------------------------------------------------------------------------


cdef void snapshot_name(char* name, const SnapshotFile* f) noexcept nogil:
    snprintf(name, NAME_ROOM, b"snapshots/%016llx-%016llx.snapshot", <unsigned long long>f.generation, <unsigned long long>f.number)


cdef void segment_name(char* name, const SegmentFile* f) noexcept nogil:
    segment_path(name, b"logs", f.generation, f.shard, f.first)


cdef void full_path(char* path, const Catalog* c, const char* name) noexcept nogil:
    snprintf(path, PATH_ROOM + NAME_ROOM, b"%s/%s", <const char*>c.directory, name)


cdef bint take_number(const char** at, char end, uint64_t* number) noexcept nogil:
    """16 hexadecimal digits and the character behind them; the position moves on."""
    cdef const char* p = at[0]
    cdef char c
    cdef int i
    number[0] = 0
    for i in range(DIGITS):
        c = p[i]
        if c"0" <= c <= c"9":
            number[0] = number[0] << 4 | <uint64_t>(c - c"0")
        elif c"a" <= c <= c"f":
            number[0] = number[0] << 4 | <uint64_t>(c - c"a" + 10)
        else:
            return False
    at[0] = p + DIGITS + 1
    return p[DIGITS] == end


cdef bint ends_as(const char* p, const char* word) noexcept nogil:
    while p[0] == word[0] and p[0] != 0:
        p += 1
        word += 1
    return p[0] == word[0]


# Listing --------------------------------------------------------------------------------------------------------


cdef bint has_room(void** items, uint32_t count, size_t size) noexcept nogil:
    """Room for one more of an array that doubles."""
    cdef void* grown
    if count & (count - 1) or 0 < count < 16:       # a power of two from 16 on is where the room ends
        return True
    grown = realloc(items[0], (count * 2 if count else 16) * size)
    if grown == NULL:
        return False
    items[0] = grown
    return True


cdef int take_snapshot(void* owner, const char* name) noexcept nogil:
    cdef Catalog* c = <Catalog*>owner
    cdef SnapshotFile f
    if not take_number(&name, c"-", &f.generation) or not take_number(&name, c".", &f.number):
        return 0
    if ends_as(name, b"snapshot.part"):
        c.unfinished += 1
    elif ends_as(name, b"snapshot"):
        if not has_room(<void**>&c.snapshots, c.snapshot_count, sizeof(SnapshotFile)):
            c.error = ENOMEM
            return 1
        c.snapshots[c.snapshot_count] = f
        c.snapshot_count += 1
    return 0


cdef int take_segment(void* owner, const char* name) noexcept nogil:
    cdef Catalog* c = <Catalog*>owner
    cdef SegmentFile f
    if not segment_parse_name(name, &f.generation, &f.shard, &f.first):
        return 0
    if not has_room(<void**>&c.segments, c.segment_count, sizeof(SegmentFile)):
        c.error = ENOMEM
        return 1
    c.segments[c.segment_count] = f
    c.segment_count += 1
    return 0


cdef inline int order(uint64_t a, uint64_t b) noexcept nogil:
    return (a > b) - (a < b)


cdef int snapshot_order(const void* one, const void* two) noexcept nogil:
    cdef const SnapshotFile* a = <const SnapshotFile*>one
    cdef const SnapshotFile* b = <const SnapshotFile*>two
    return order(a.generation, b.generation) or order(a.number, b.number)


cdef int segment_order(const void* one, const void* two) noexcept nogil:
    cdef const SegmentFile* a = <const SegmentFile*>one
    cdef const SegmentFile* b = <const SegmentFile*>two
    return order(a.generation, b.generation) or order(a.shard, b.shard) or order(a.first, b.first)


cdef int list_files(Catalog* c, const char* name, DiskVisit take) noexcept nogil:
    cdef char path[PATH_ROOM + NAME_ROOM]
    cdef int error
    full_path(path, c, name)
    error = disk_list(path, take, c)
    return c.error if error == 0 or error == ENOENT else error


cdef int catalog_read(Catalog* c, const char* directory) noexcept nogil:
    cdef int error
    memset(c, 0, sizeof(Catalog))
    strncpy(c.directory, directory, PATH_ROOM - 1)
    error = list_files(c, b"snapshots", take_snapshot)
    if error == 0:
        error = list_files(c, b"logs", take_segment)
    if c.snapshot_count:
        qsort(c.snapshots, c.snapshot_count, sizeof(SnapshotFile), snapshot_order)
    if c.segment_count:
        qsort(c.segments, c.segment_count, sizeof(SegmentFile), segment_order)
    return error


cdef void catalog_free(Catalog* c) noexcept nogil:
    free(c.snapshots)
    free(c.segments)
    memset(c, 0, sizeof(Catalog))


cdef void catalog_segments(const Catalog* c, uint64_t generation, uint32_t shard, uint32_t* begin, uint32_t* end) noexcept nogil:
    cdef uint32_t i = 0
    while i < c.segment_count and (c.segments[i].generation != generation or c.segments[i].shard != shard):
        i += 1
    begin[0] = i
    while i < c.segment_count and c.segments[i].generation == generation and c.segments[i].shard == shard:
        i += 1
    end[0] = i


# Faults ---------------------------------------------------------------------------------------------------------


cdef void fault_set(Fault* f, FaultKind kind, const char* name, uint32_t shard, uint64_t offset, uint64_t length) noexcept nogil:
    memset(f, 0, sizeof(Fault))
    f.kind = kind
    strncpy(f.file, name, NAME_ROOM - 1)
    f.shard = shard
    f.offset = offset
    f.length = length


cdef void faults_add(Faults* all_, const Fault* f) noexcept nogil:
    cdef Fault* grown
    lock_acquire(&all_.lock)
    if all_.count == all_.cap and all_.count < FAULTS_KEPT:
        grown = <Fault*>realloc(all_.items, (all_.cap + 16) * sizeof(Fault))
        if grown != NULL:
            all_.items = grown
            all_.cap += 16
    if all_.count < all_.cap:
        all_.items[all_.count] = f[0]
        all_.count += 1
    else:
        all_.more += 1
    lock_release(&all_.lock)


cdef void faults_free(Faults* all_) noexcept nogil:
    free(all_.items)
    memset(all_, 0, sizeof(Faults))


cdef const char* words[FAULT_SNAPSHOT + 1]
words[<int>FAULT_HEAD] = b"the head of the file is damaged"
words[<int>FAULT_NEWER] = b"the format is of a later version"
words[<int>FAULT_NAME] = b"it is not the file that its name says"
words[<int>FAULT_SHARDS] = b"it belongs to another number of shards than the other files"
words[<int>FAULT_RECORD] = b"there is no whole record where one was written"
words[<int>FAULT_GAP] = b"records before it are missing"
words[<int>FAULT_ORDER] = b"its records have been there before"
words[<int>FAULT_CHANGE] = b"a change of several shards has fewer records than it says"
words[<int>FAULT_TYPE] = b"a value is of a type that this version does not know"
words[<int>FAULT_BLOCK] = b"the checksum of a block is wrong"
words[<int>FAULT_ENTRY] = b"an entry makes no sense"
words[<int>FAULT_FOOT] = b"the foot of the file is damaged or missing"
words[<int>FAULT_SUM] = b"blocks are missing"
words[<int>FAULT_SNAPSHOT] = b"the snapshot that it continues is missing"


cdef const char* fault_words(FaultKind kind) noexcept nogil:
    return words[<int>kind]


cdef void fault_text(const Fault* f, const char* directory, char* out, size_t room) noexcept nogil:
    cdef size_t len
    if f.kind == FAULT_NEWER:
        snprintf(out, room, b"%s/%s: the format is of version %u, later than this program's", directory, <const char*>f.file, f.version)
        return
    snprintf(out, room, b"%s/%s: damaged at offset %llu", directory, <const char*>f.file, <unsigned long long>f.offset)
    len = strlen(out)
    if f.shard != <uint32_t>NO_SHARD:
        snprintf(out + len, room - len, b" (shard %u)", f.shard)
        len = strlen(out)
    snprintf(out + len, room - len, b": %s", fault_words(f.kind))
    len = strlen(out)
    if f.first:
        snprintf(out + len, room - len, b", numbers %llu to %llu", <unsigned long long>f.first, <unsigned long long>f.last)
        len = strlen(out)
    snprintf(out + len, room - len, b"; `tellstone repair %s` keeps what is whole", directory)
