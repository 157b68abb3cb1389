"""Segments (see segment.pxd)."""
from libc.errno cimport EEXIST, ENOMEM
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset, strlen

from tellstone._core.base.bytesops cimport get_u32, get_u64, put_u32, put_u64
from tellstone._core.base.disk cimport (
    DISK_CREATE, DISK_MODIFY, disk_allocate, disk_close, disk_list, disk_open, disk_read, disk_rename, disk_size, disk_sync, disk_sync_all,
    disk_unlink, disk_write,
)
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.memory.checksum cimport crc32c
from tellstone._core.store.record cimport RECORD_LEAST, RECORD_SHORT, RECORD_WHOLE, Record, record_read

check_layout(__name__)

cdef enum:
    ZEROS = 65536
    DIGITS = 16

    # Fields of a head
    AT_VERSION = 8
    AT_SHARD = 12
    AT_GENERATION = 16
    AT_SHARDS = 24
    AT_FIRST = 32
    AT_TIME = 40
    AT_CRC = 60

cdef const char* MAGIC = b"\x89TSLOG\r\n"       # no text, and not what a transfer as text leaves of it
cdef char zeros[ZEROS]


# Names ----------------------------------------------------------------------------------------------------------


cdef void segment_path(char* path, const char* logs, uint64_t generation, uint32_t shard, uint64_t first) noexcept nogil:
    snprintf(path, SEGMENT_PATH, "%s/%016llx-%016llx-%016llx.log", logs, <unsigned long long>generation, <unsigned long long>shard,
             <unsigned long long>first)


cdef void part_path(char* path, const char* logs, uint64_t part) noexcept nogil:
    snprintf(path, SEGMENT_PATH, "%s/%016llx.part", logs, <unsigned long long>part)


cdef bint parse_hex(const char* p, uint64_t* number) noexcept nogil:
    cdef int i
    cdef char c
    number[0] = 0
    for i in range(DIGITS):
        c = p[i]
        if c'0' <= c <= c'9':
            number[0] = number[0] << 4 | <uint64_t>(c - c'0')
        elif c'a' <= c <= c'f':
            number[0] = number[0] << 4 | <uint64_t>(c - c'a' + 10)
        else:
            return False
    return True


cdef bint segment_parse_name(const char* name, uint64_t* generation, uint32_t* shard, uint64_t* first) noexcept nogil:
    cdef uint64_t wide
    if strlen(name) != 3 * DIGITS + 6 or name[DIGITS] != c'-' or name[2 * DIGITS + 1] != c'-' or memcmp(name + 3 * DIGITS + 2, b".log", 4):
        return False
    if not parse_hex(name, generation) or not parse_hex(name + DIGITS + 1, &wide) or not parse_hex(name + 2 * DIGITS + 2, first):
        return False
    shard[0] = <uint32_t>wide
    return wide == shard[0]


cdef bint segment_is_part(const char* name) noexcept nogil:
    cdef uint64_t part
    return strlen(name) == DIGITS + 5 and parse_hex(name, &part) and memcmp(name + DIGITS, b".part", 5) == 0


# Heads ----------------------------------------------------------------------------------------------------------


cdef void write_head(char* p, const SegmentHead* head) noexcept nogil:
    memset(p, 0, SEGMENT_HEAD)
    memcpy(p, MAGIC, 8)
    put_u32(p + AT_VERSION, head.version)
    put_u32(p + AT_SHARD, head.shard)
    put_u64(p + AT_GENERATION, head.generation)
    put_u32(p + AT_SHARDS, head.shards)
    put_u64(p + AT_FIRST, head.first)
    put_u64(p + AT_TIME, <uint64_t>head.time)
    put_u32(p + AT_CRC, crc32c(0, p, AT_CRC))


cdef SegmentRead segment_read_head(const char* bytes_, SegmentHead* head) noexcept nogil:
    """Magic, version and checksum stand where they stand in every version."""
    if memcmp(bytes_, MAGIC, 8) != 0 or get_u32(bytes_ + AT_CRC) != crc32c(0, bytes_, AT_CRC):
        return SEGMENT_TORN
    head.version = get_u32(bytes_ + AT_VERSION)
    if head.version > SEGMENT_VERSION:
        return SEGMENT_NEWER
    head.shard = get_u32(bytes_ + AT_SHARD)
    head.generation = get_u64(bytes_ + AT_GENERATION)
    head.shards = get_u32(bytes_ + AT_SHARDS)
    head.first = get_u64(bytes_ + AT_FIRST)
    head.time = <int64_t>get_u64(bytes_ + AT_TIME)
    return SEGMENT_WHOLE if head.shard < head.shards and head.first > 0 else SEGMENT_TORN


# Files ----------------------------------------------------------------------------------------------------------


cdef int fill(Segment* s) noexcept nogil:
    cdef uint64_t at = 0
    cdef uint64_t n
    cdef int failed
    while at < s.room:
        n = s.room - at
        failed = disk_write(s.fd, zeros, ZEROS if n > ZEROS else <size_t>n, at)
        if failed:
            return failed
        at += ZEROS
    return 0


cdef int segment_reserve(Segment* s, const char* logs, uint64_t part, uint64_t room, bint zeros) noexcept nogil:
    cdef char path[SEGMENT_PATH]
    cdef int failed
    part_path(path, logs, part)
    s.fd = disk_open(path, DISK_CREATE)
    if s.fd < 0:
        failed = -s.fd
        s.fd = -1
        return failed
    s.part = part
    s.first = 0
    s.at = 0
    s.room = room
    failed = disk_allocate(s.fd, room)
    if not failed and zeros:
        failed = fill(s)
    if not failed:
        failed = disk_sync_all(s.fd)
    if failed:
        segment_discard(s, logs)
    return failed


cdef int segment_extend(Segment* s, uint64_t room) noexcept nogil:
    cdef int failed = disk_allocate(s.fd, room)
    if not failed:
        s.room = room
    return failed


cdef int segment_name(Segment* s, const char* logs, const SegmentHead* head) noexcept nogil:
    cdef char part[SEGMENT_PATH]
    cdef char path[SEGMENT_PATH]
    cdef char bytes_[SEGMENT_HEAD]
    cdef int failed
    write_head(bytes_, head)
    part_path(part, logs, s.part)
    segment_path(path, logs, head.generation, head.shard, head.first)
    failed = disk_write(s.fd, bytes_, SEGMENT_HEAD, 0)
    if not failed:
        failed = disk_sync(s.fd)
    if not failed:
        failed = disk_rename(part, path)
    if not failed:
        s.first = head.first
        s.at = SEGMENT_HEAD
    return failed


cdef void segment_close(Segment* s) noexcept nogil:
    cdef int fd = s.fd
    s.fd = -1
    if fd >= 0:
        disk_close(fd)


cdef void segment_discard(Segment* s, const char* logs) noexcept nogil:
    cdef char path[SEGMENT_PATH]
    if s.fd < 0:
        return
    segment_close(s)
    part_path(path, logs, s.part)
    disk_unlink(path)


# Directories ----------------------------------------------------------------------------------------------------


cdef struct Directory:              # what a walk through it looks for and finds
    const char* logs
    uint64_t generation
    uint32_t shards
    const uint64_t* seqs            # of a snapshot; NULL: any
    uint64_t* last                  # for each shard the highest number of a segment, not past that snapshot; 0: none
    uint64_t gone


cdef int note_last(void* owner, const char* name) noexcept nogil:
    cdef Directory* d = <Directory*>owner
    cdef uint64_t generation, first
    cdef uint32_t shard
    if (segment_parse_name(name, &generation, &shard, &first) and generation == d.generation and shard < d.shards
            and first > d.last[shard] and (d.seqs == NULL or first <= d.seqs[shard] + 1)):
        d.last[shard] = first
    return 0


cdef int remove_file(Directory* d, const char* name) noexcept nogil:
    cdef char path[SEGMENT_PATH]
    snprintf(path, SEGMENT_PATH, "%s/%s", d.logs, name)
    return disk_unlink(path)


cdef int remove_part(void* owner, const char* name) noexcept nogil:
    if segment_is_part(name):
        remove_file(<Directory*>owner, name)
    return 0


cdef int remove_covered(void* owner, const char* name) noexcept nogil:
    cdef Directory* d = <Directory*>owner
    cdef uint64_t generation, first
    cdef uint32_t shard
    if not segment_parse_name(name, &generation, &shard, &first) or generation > d.generation:
        return 0
    if (generation < d.generation or (shard < d.shards and first < d.last[shard])) and remove_file(d, name) == 0:
        d.gone += 1
    return 0


cdef int first_record(int fd, uint64_t first, bint* there) noexcept nogil:
    """Whether the first record of a segment is whole. 0 or an errno."""
    cdef Record r
    cdef char head[RECORD_LEAST]
    cdef char* record
    cdef int64_t size = disk_size(fd), n
    there[0] = False
    n = disk_read(fd, head, RECORD_LEAST, SEGMENT_HEAD) if size >= 0 else size
    if n < RECORD_LEAST:
        return <int>-n if n < 0 else 0
    if record_read(head, RECORD_LEAST, <uint64_t>size, &r) not in (RECORD_WHOLE, RECORD_SHORT):
        return 0
    record = <char*>malloc(r.size)
    if record == NULL:
        return ENOMEM
    n = disk_read(fd, record, r.size, SEGMENT_HEAD)
    there[0] = n == <int64_t>r.size and record_read(record, r.size, r.size, &r) == RECORD_WHOLE and r.seq == first
    free(record)
    return <int>-n if n < 0 else 0


cdef int settle(const char* path, bint empty, uint64_t first) noexcept nogil:
    """Sync a file; with `empty` it may have no record."""
    cdef int failed = 0
    cdef bint there = False
    cdef int fd = disk_open(path, DISK_MODIFY)
    if fd < 0:
        return -fd
    if empty:
        failed = first_record(fd, first, &there)
    if not failed:
        failed = EEXIST if there else disk_sync_all(fd)
    disk_close(fd)
    return failed


cdef int directory_open(Directory* d, const char* logs, uint64_t generation, uint32_t shards, const uint64_t* seqs) noexcept nogil:
    """Walk once for `last`, which the caller frees."""
    memset(d, 0, sizeof(Directory))
    d.logs = logs
    d.generation = generation
    d.shards = shards
    d.seqs = seqs
    d.last = <uint64_t*>calloc(shards, sizeof(uint64_t))
    return disk_list(logs, note_last, d) if d.last != NULL else ENOMEM


cdef int segments_settle(const char* logs, uint64_t generation, uint32_t shards, const uint64_t* seqs) noexcept nogil:
    cdef Directory d
    cdef char path[SEGMENT_PATH]
    cdef uint32_t i
    cdef int failed = directory_open(&d, logs, generation, shards, NULL)
    if not failed:
        failed = disk_list(logs, remove_part, &d)
    for i in range(shards):
        if failed or d.last[i] == 0:
            continue
        segment_path(path, logs, generation, i, d.last[i])
        failed = EEXIST if d.last[i] > seqs[i] + 1 else settle(path, d.last[i] == seqs[i] + 1, d.last[i])
    free(d.last)
    return failed


cdef uint64_t segments_drop(const char* logs, uint64_t generation, uint32_t shards, const uint64_t* seqs) noexcept nogil:
    cdef Directory d
    if directory_open(&d, logs, generation, shards, seqs) == 0:
        disk_list(logs, remove_covered, &d)
    free(d.last)
    return d.gone
