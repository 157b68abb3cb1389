"""Reading a shard's log (see trail.pxd)."""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from tellstone._core.base.atomics cimport add_u64
from tellstone._core.base.bytesops cimport get_u32, get_u64
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.store.catalog cimport (
    FAULT_GAP, FAULT_HEAD, FAULT_NAME, FAULT_NEWER, FAULT_ORDER, FAULT_RECORD, FAULT_SHARDS, NAME_ROOM, PATH_ROOM, Fault, SegmentFile,
    catalog_segments, fault_set, faults_add, full_path, segment_name,
)
from tellstone._core.store.record cimport (
    RECORD_END, RECORD_HEAD, RECORD_LEAST, RECORD_MARK, RECORD_SHORT, RECORD_TORN, RECORD_WHOLE, Record, RecordRead, record_read,
)
from tellstone._core.store.segment cimport SEGMENT_HEAD, SEGMENT_NEWER, SEGMENT_WHOLE, SegmentHead, SegmentRead, segment_read_head
from tellstone._core.store.window cimport window_at, window_has, window_open, window_rest

check_layout(__name__)

cdef enum Finding:
    FOUND_NOTHING = 0
    FOUND_RECORD = 1
    FOUND_FAILED = 2

cdef struct Search:                 # for what stands behind a place where the sequence breaks
    uint64_t missing                # the number that is expected there
    uint32_t k                      # the next whole record that could go on from it
    uint64_t at
    uint64_t seq                    # of the record before it
    bint found
    bint proof                      # a sync had `missing` behind it


cdef void trail_open(Trail* t, const Catalog* catalog, uint64_t generation, uint32_t shard, uint64_t from_seq, Window* window) noexcept nogil:
    memset(t, 0, sizeof(Trail))
    t.catalog = catalog
    t.shard = shard
    t.window = window
    catalog_segments(catalog, generation, shard, &t.begin, &t.end)
    t.k = t.headed = t.begin
    while t.k + 1 < t.end and catalog.segments[t.k + 1].first <= from_seq:
        t.k += 1
    if t.k < t.end and (from_seq == 0 or catalog.segments[t.k].first < from_seq):
        t.seq = catalog.segments[t.k].first - 1
    else:
        t.seq = from_seq - 1 if from_seq else 0
    t.ended = t.begin == t.end


cdef bint open_segment(Trail* t, uint32_t k) noexcept nogil:
    cdef char name[NAME_ROOM]
    cdef char path[PATH_ROOM + NAME_ROOM]
    segment_name(name, &t.catalog.segments[k])
    full_path(path, t.catalog, name)
    return window_open(t.window, path)


# Records --------------------------------------------------------------------------------------------------------


cdef RecordRead zeros_to_end(Trail* t, uint64_t at, bint* failed) noexcept nogil:
    cdef const char* p
    cdef size_t len, i
    while at < t.window.size:
        p = window_at(t.window, at, 1)
        if p == NULL:
            failed[0] = True
            return RECORD_TORN
        len = window_rest(t.window, at)
        for i in range(len):
            if p[i] != 0:
                return RECORD_TORN
        at += len
    return RECORD_END


cdef TrailRead read_at(Trail* t, uint64_t at, Record* r, bint stay, RecordRead* read) noexcept nogil:
    """What stands at an offset of the segment; TRAIL_RECORD: *read says. A record that the window does not hold yet is fetched whole."""
    cdef uint64_t rest = t.window.size - at
    cdef uint64_t need = RECORD_LEAST
    cdef size_t len = 0
    cdef const char* p
    cdef bint failed = False
    read[0] = RECORD_END
    while len < rest:
        need = need if need < rest else rest
        if stay and not window_has(t.window, at, need):
            return TRAIL_MOVE
        p = window_at(t.window, at, <size_t>need)
        if p == NULL:
            return TRAIL_FAILED
        len = window_rest(t.window, at)
        read[0] = record_read(p, len, rest, r)
        if read[0] == RECORD_SHORT and len < rest:
            need = r.size
            continue
        if read[0] == RECORD_SHORT:
            read[0] = RECORD_TORN
        elif read[0] == RECORD_END and len < rest:
            if stay:
                return TRAIL_MOVE
            read[0] = zeros_to_end(t, at + len, &failed)
        break
    return TRAIL_FAILED if failed else TRAIL_RECORD


# What stands behind a break -------------------------------------------------------------------------------------


cdef bint weigh(Search* s, const Record* r, uint32_t k, uint64_t at) noexcept nogil:
    """A whole record. True: nothing more needs to be known."""
    cdef bint mark = r.kind == RECORD_MARK
    if not s.found and (r.seq >= s.missing or (mark and r.seq + 1 >= s.missing)):
        s.found = True
        s.k = k
        s.at = at
        s.seq = r.seq if mark else r.seq - 1
    if mark and r.synced >= s.missing:
        s.proof = True
    return s.found and s.proof


cdef inline bint may_be_record(const SegmentFile* f, uint64_t size, uint64_t at, const char* p) noexcept nogil:
    """What stands at an offset of a segment could be the head of a record of it: worth a checksum."""
    cdef uint64_t seq = get_u64(p + 8)
    return f.first <= seq + 1 and seq <= f.first + size // RECORD_LEAST and get_u32(p + 4) <= size - at - RECORD_HEAD


cdef Finding search_segment(Trail* t, Search* s, uint32_t k, uint64_t at) noexcept nogil:
    """From an offset on, byte by byte where it must be."""
    cdef const SegmentFile* f = &t.catalog.segments[k]
    cdef const char* p
    cdef Record r
    cdef RecordRead read
    while at + RECORD_LEAST <= t.window.size:
        p = window_at(t.window, at, RECORD_HEAD)
        if p == NULL:
            return FOUND_FAILED
        if get_u64(p) == 0 and get_u64(p + 8) == 0:
            at += RECORD_HEAD - 7           # a record from before here on would have a size of zero
            continue
        if may_be_record(f, t.window.size, at, p):
            if read_at(t, at, &r, False, &read) == TRAIL_FAILED:
                return FOUND_FAILED
            if read == RECORD_WHOLE:
                if weigh(s, &r, k, at):
                    return FOUND_RECORD
                at += r.size
                continue
        at += 1
    return FOUND_NOTHING


cdef inline bint is_named(const SegmentHead* head, const SegmentFile* f) noexcept nogil:
    return head.generation == f.generation and head.shard == f.shard and head.first == f.first


cdef bint weigh_head(Trail* t, Search* s, uint32_t k) noexcept nogil:
    """The open segment may have records of this log. Its own head is proof of everything before it."""
    cdef SegmentHead head
    cdef const char* p
    if t.window.size < SEGMENT_HEAD:
        return True
    p = window_at(t.window, 0, SEGMENT_HEAD)
    if p == NULL or segment_read_head(p, &head) != SEGMENT_WHOLE:
        return True
    if not is_named(&head, &t.catalog.segments[k]):
        return False
    if head.first > s.missing and head.first > t.covered + 1:
        s.proof = True
    return True


cdef Finding search_behind(Trail* t, Search* s) noexcept nogil:
    """The rest of this segment and all later ones."""
    cdef uint32_t k = t.k
    cdef Finding finding = search_segment(t, s, k, t.at)
    while finding == FOUND_NOTHING and not s.proof and k + 1 < t.end:
        k += 1
        if not open_segment(t, k):
            return FOUND_FAILED
        if weigh_head(t, s, k):
            finding = search_segment(t, s, k, SEGMENT_HEAD)
    return finding


cdef bint count_left(Trail* t) noexcept nogil:
    """What stands at `at` of k and does not count, but for zeros at the end."""
    cdef const char* p
    cdef uint64_t at = t.at, end = t.at
    cdef size_t len, i
    if not open_segment(t, t.k):
        return False
    while at < t.window.size:
        p = window_at(t.window, at, 1)
        if p == NULL:
            return False
        len = window_rest(t.window, at)
        for i in range(len):
            if p[i] != 0:
                end = at + i + 1
        at += len
    t.torn_bytes += end - t.at
    return True


cdef inline bint is_foreign(FaultKind kind) noexcept nogil:
    """Nothing in the file is of this log."""
    return kind == FAULT_NAME or kind == FAULT_SHARDS


cdef void note_fault(const Trail* t, FaultKind kind, uint64_t first, uint64_t last, uint64_t end) noexcept nogil:
    """From `at` to an offset, and the numbers that this costs."""
    cdef Fault fault
    cdef char name[NAME_ROOM]
    cdef uint64_t at = 0 if is_foreign(kind) else t.at
    if t.faults == NULL:
        return
    segment_name(name, &t.catalog.segments[t.k])
    fault_set(&fault, kind, name, t.shard, at, end - at)
    if last >= first:
        fault.first = first
        fault.last = last
    faults_add(t.faults, &fault)


cdef void next_segment(Trail* t) noexcept nogil:
    """Whatever there was of this one."""
    t.k += 1
    t.entered = False
    t.ended = t.k == t.end
    if not t.ended and t.catalog.segments[t.k].first > t.seq:
        t.seq = t.catalog.segments[t.k].first - 1


cdef TrailRead go_on(Trail* t, const Search* s, FaultKind kind, uint64_t size) noexcept nogil:
    """Behind damage: at the next whole record of this segment, or at the next segment."""
    cdef Trail was = t[0]
    cdef bint here = s.found and s.k == t.k
    if here:
        t.seq = s.seq
        t.at = s.at
    else:
        next_segment(t)
    note_fault(&was, kind, s.missing, t.seq, s.at if here else size)
    if not t.lenient:
        return TRAIL_STOP
    if here and not open_segment(t, t.k):
        return TRAIL_FAILED
    t.entered = here
    return TRAIL_RECORD


cdef inline bint is_passed(const Trail* t) noexcept nogil:
    """The next segment begins with what the snapshot covers: after a failure the log went on behind it, wherever this one ended."""
    return t.k + 1 < t.end and t.catalog.segments[t.k + 1].first <= t.covered + 1


cdef inline bint is_continued(const Trail* t, FaultKind kind) noexcept nogil:
    """The next segment begins with what is missing here: the log once ended here in a crash, and was not cut."""
    return kind == FAULT_RECORD and not t.exact and t.k + 1 < t.end and t.catalog.segments[t.k + 1].first == t.seq + 1


cdef inline bint is_left(const Trail* t, FaultKind kind, const Search* s) noexcept nogil:
    """Nothing whole is behind it in this segment, and the log goes on behind the snapshot: so it was where a disk failed, whatever is proven by now."""
    return kind == FAULT_RECORD and is_passed(t) and not (s.found and s.k == t.k)


cdef TrailRead judge(Trail* t, FaultKind kind, bint proof) noexcept nogil:
    """The sequence breaks at `at` of k. Torn: TRAIL_END. Damaged: TRAIL_STOP, or TRAIL_RECORD for a lenient reader to go on."""
    cdef Search s
    cdef uint64_t size = t.window.size
    memset(&s, 0, sizeof(Search))
    s.missing = t.seq + 1
    s.proof = proof
    if is_foreign(kind):
        t.at = size
    if not is_continued(t, kind):
        if search_behind(t, &s) == FOUND_FAILED:
            return TRAIL_FAILED
        if s.proof and not is_left(t, kind, &s):
            return go_on(t, &s, kind, size)
        if not is_passed(t):
            t.torn = True
            t.ended = True
            return TRAIL_END if count_left(t) else TRAIL_FAILED
    if not count_left(t):
        return TRAIL_FAILED
    next_segment(t)
    return TRAIL_RECORD


# Segments -------------------------------------------------------------------------------------------------------


cdef TrailRead newer(Trail* t, uint32_t version) noexcept nogil:
    cdef Fault fault
    cdef char name[NAME_ROOM]
    if t.faults != NULL:
        segment_name(name, &t.catalog.segments[t.k])
        fault_set(&fault, FAULT_NEWER, name, t.shard, 0, t.window.size)
        fault.version = version
        faults_add(t.faults, &fault)
    return TRAIL_STOP


cdef TrailRead check_head(Trail* t, const SegmentHead* head) noexcept nogil:
    if not is_named(head, &t.catalog.segments[t.k]):
        return judge(t, FAULT_NAME, True)
    if t.shards == 0:
        t.shards = head.shards
    if head.shards != t.shards:
        return judge(t, FAULT_SHARDS, True)
    if head.first <= t.seq:
        return judge(t, FAULT_ORDER, True)
    if head.first > t.seq + 1 and head.first > t.covered + 1:
        return judge(t, FAULT_GAP, True)
    t.seq = head.first - 1
    t.headed = t.k
    t.begun_ms = head.time
    t.at = SEGMENT_HEAD
    return TRAIL_RECORD


cdef TrailRead enter(Trail* t) noexcept nogil:
    """ORDER: a segment gets its name when its head is on the disk, so one without a head is damaged, not torn."""
    cdef SegmentHead head
    cdef SegmentRead read
    cdef const char* p
    if not open_segment(t, t.k):
        return TRAIL_FAILED
    t.at = 0
    t.entered = True
    if t.window.size < SEGMENT_HEAD:
        return judge(t, FAULT_HEAD, True)
    p = window_at(t.window, 0, SEGMENT_HEAD)
    if p == NULL:
        return TRAIL_FAILED
    read = segment_read_head(p, &head)
    if read == SEGMENT_NEWER:
        return newer(t, head.version)
    return check_head(t, &head) if read == SEGMENT_WHOLE else judge(t, FAULT_HEAD, True)


cdef TrailRead leave(Trail* t) noexcept nogil:
    """At the end of the segment's records. In the last one `at` stays: there the log goes on."""
    if t.progress != NULL:
        add_u64(t.progress, t.window.size)
    t.ended = t.k + 1 == t.end
    if not t.ended:
        t.k += 1
        t.entered = False
    return TRAIL_RECORD


cdef TrailRead broken(Trail* t, const Record* r, RecordRead read) noexcept nogil:
    """Not the record that is due. TRAIL_RECORD: go on at the place where the trail is now."""
    if read == RECORD_END:
        return leave(t)
    if read == RECORD_WHOLE:
        return judge(t, FAULT_GAP if r.seq > t.seq else FAULT_ORDER, True)
    return judge(t, FAULT_RECORD, False)


cdef inline bint is_due(const Trail* t, const Record* r) noexcept nogil:
    return r.seq == (t.seq if r.kind == RECORD_MARK else t.seq + 1)


cdef TrailRead trail_next(Trail* t, Record* r, bint stay) noexcept nogil:
    cdef RecordRead read
    cdef TrailRead result
    while not t.ended:
        if stay and not t.entered:
            return TRAIL_MOVE
        if not t.entered:
            result = enter(t)
        else:
            result = read_at(t, t.at, r, stay, &read)
            if result == TRAIL_RECORD and read == RECORD_WHOLE and is_due(t, r):
                t.record_at = t.at
                t.at += r.size
                t.seq = r.seq
                return TRAIL_RECORD
            if result == TRAIL_RECORD:
                result = broken(t, r, read) if not stay else TRAIL_MOVE
        if result != TRAIL_RECORD:
            return result
    return TRAIL_END
