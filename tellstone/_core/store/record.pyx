"""Records: written into a shard's buffer, and read from bytes that may be anything (see record.pxd).

A record is put together where it will stay: reserve the room, write the body, then the head with the checksum over what is there. Reading
trusts no length before the checksum has agreed, and after that none that leaves its own body: bytes with a right checksum may still come
from somebody else.
"""
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc

from tellstone._core.base.block cimport Block
from tellstone._core.base.bytesops cimport View, copy_bytes, get_u32, get_u64, put_u32, put_u64, view_of
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.memory.checksum cimport crc32c, crc32c_by_tables
from tellstone._core.store.entry cimport (
    DATABASES, ENC_INT, ENC_RAW, ENC_WIDENED, entry_block, entry_encoding, entry_int, entry_value, entry_value_len,
)

check_layout(__name__)

cdef enum:
    BUFFER_LEAST = 4096

    # Fields of a body, after kind and database
    PUT_TYPE = 10
    PUT_ENCODING = 11
    PUT_KEY_LEN = 12
    PATCH_SIZE = 10
    PATCH_KEY_LEN = 18
    PATCH_LEAST = 22
    DEADLINE_LEAST = 10
    SWAP_SIZE = 3
    BEGIN_PARTS = 6
    BEGIN_LEAST = 10
    MARK_SYNCED = 10
    MARK_SIZE = 18

    PARTS_MOST = 64                 # that a RecordWriter takes


# Writing --------------------------------------------------------------------------------------------------------


cdef bint buffer_grow(RecordBuffer* b, size_t need) noexcept nogil:
    cdef size_t cap = b.cap * 2 if b.cap else BUFFER_LEAST
    cdef char* data
    if cap < b.len + need:
        cap = b.len + need
    data = <char*>realloc(b.data, cap)
    if data == NULL:
        b.failed = 1
        return False
    b.data = data
    b.cap = cap
    return True


cdef void buffer_free(RecordBuffer* b) noexcept nogil:
    free(b.data)
    b.data = NULL
    b.len = 0
    b.cap = 0


cdef inline char* body_room(RecordBuffer* b, size_t size) noexcept nogil:
    """Where the body of the next record goes; NULL: the buffer has failed."""
    if b.failed:
        return NULL
    if size > UINT32_MAX:
        b.failed = 1
        return NULL
    if b.cap - b.len < RECORD_HEAD + size and not buffer_grow(b, RECORD_HEAD + size):
        return NULL
    return b.data + b.len + RECORD_HEAD


cdef inline void seal(char* record, size_t size) noexcept nogil:
    put_u32(record, crc32c(0, record + 4, RECORD_HEAD - 4 + size))


cdef inline void end_record(RecordBuffer* b, size_t size, uint64_t seq) noexcept nogil:
    cdef char* record = b.data + b.len
    put_u32(record + 4, <uint32_t>size)
    put_u64(record + 8, seq)
    seal(record, size)
    b.len += RECORD_HEAD + size
    b.seq = seq


cdef inline char* put_kind(char* body, RecordKind kind, int db) noexcept nogil:
    body[0] = <char>kind
    body[1] = <char>db
    return body + 2


cdef inline void write_put(char* body, int db, uint8_t type, uint8_t encoding, int64_t deadline, View key, View value) noexcept nogil:
    put_u64(put_kind(body, RECORD_PUT, db), <uint64_t>deadline)
    body[PUT_TYPE] = <char>type
    body[PUT_ENCODING] = <char>encoding
    put_u32(body + PUT_KEY_LEN, <uint32_t>key.len)
    copy_bytes(body + PUT_LEAST, key.ptr, key.len)
    copy_bytes(body + PUT_LEAST + key.len, value.ptr, value.len)


cdef uint8_t entry_stored(const char* entry, char* scratch, View* value) noexcept nogil:
    cdef uint8_t encoding = entry_encoding(entry)
    cdef Block* block
    if encoding <= ENC_WIDENED:
        value[0] = view_of(entry_value(entry), entry_value_len(entry))
        return encoding
    if encoding == ENC_INT:
        put_u64(scratch, <uint64_t>entry_int(entry))
        value[0] = view_of(scratch, 8)
        return ENC_INT
    block = entry_block(entry)
    value[0] = view_of(block.data, block.size)
    return ENC_RAW


cdef void put_body(char* body, int db, uint8_t type, uint8_t encoding, int64_t deadline, View key, View value) noexcept nogil:
    write_put(body, db, type, encoding, deadline, key, value)


cdef void record_put(RecordBuffer* b, int db, uint8_t type, uint8_t encoding, int64_t deadline, View key, View value) noexcept nogil:
    cdef size_t size = PUT_LEAST + key.len + value.len
    cdef char* body = body_room(b, size)
    if body != NULL:
        write_put(body, db, type, encoding, deadline, key, value)
        end_record(b, size, b.seq + 1)


cdef void record_patch(RecordBuffer* b, int db, View key, uint64_t offset, uint64_t size, View bytes_) noexcept nogil:
    cdef size_t length = PATCH_LEAST + key.len + bytes_.len
    cdef char* body = body_room(b, length)
    if body == NULL:
        return
    put_u64(put_kind(body, RECORD_PATCH, db), offset)
    put_u64(body + PATCH_SIZE, size)
    put_u32(body + PATCH_KEY_LEN, <uint32_t>key.len)
    copy_bytes(body + PATCH_LEAST, key.ptr, key.len)
    copy_bytes(body + PATCH_LEAST + key.len, bytes_.ptr, bytes_.len)
    end_record(b, length, b.seq + 1)


cdef void record_deadline(RecordBuffer* b, int db, int64_t deadline, View key) noexcept nogil:
    cdef char* body = body_room(b, DEADLINE_LEAST + key.len)
    if body != NULL:
        put_u64(put_kind(body, RECORD_DEADLINE, db), <uint64_t>deadline)
        copy_bytes(body + DEADLINE_LEAST, key.ptr, key.len)
        end_record(b, DEADLINE_LEAST + key.len, b.seq + 1)


cdef void record_delete(RecordBuffer* b, int db, View key) noexcept nogil:
    cdef char* body = body_room(b, 2 + key.len)
    if body != NULL:
        copy_bytes(put_kind(body, RECORD_DELETE, db), key.ptr, key.len)
        end_record(b, 2 + key.len, b.seq + 1)


cdef void record_flush(RecordBuffer* b, int db) noexcept nogil:
    cdef char* body = body_room(b, 2)
    if body != NULL:
        put_kind(body, RECORD_FLUSH, db)
        end_record(b, 2, b.seq + 1)


cdef void record_swap(RecordBuffer* b, int db, int other) noexcept nogil:
    cdef char* body = body_room(b, SWAP_SIZE)
    if body != NULL:
        put_kind(body, RECORD_SWAP, db)[0] = <char>other
        end_record(b, SWAP_SIZE, b.seq + 1)


cdef void record_begin(RecordBuffer* b, uint32_t records, uint32_t parts, const uint32_t* shards, const uint64_t* seqs) noexcept nogil:
    cdef size_t size = BEGIN_LEAST + <size_t>parts * RECORD_PART
    cdef char* body = body_room(b, size)
    cdef char* part
    cdef uint32_t i
    if body == NULL:
        return
    put_u32(put_kind(body, RECORD_BEGIN, 0), records)
    put_u32(body + BEGIN_PARTS, parts)
    part = body + BEGIN_LEAST
    for i in range(parts):
        put_u32(part, shards[i])
        put_u64(part + 4, seqs[i])
        part += RECORD_PART
    end_record(b, size, b.seq + 1)


cdef void record_set_count(char* begin, uint32_t records) noexcept nogil:
    put_u32(begin + RECORD_HEAD + 2, records)
    seal(begin, get_u32(begin + 4))


cdef void record_mark(RecordBuffer* b, int64_t time, uint64_t synced) noexcept nogil:
    cdef char* body = body_room(b, MARK_SIZE)
    if body != NULL:
        put_u64(put_kind(body, RECORD_MARK, 0), <uint64_t>time)
        put_u64(body + MARK_SYNCED, synced)
        end_record(b, MARK_SIZE, b.seq)


# Reading --------------------------------------------------------------------------------------------------------


cdef bint all_zero(const char* p, size_t len) noexcept nogil:
    while len >= 8:
        if get_u64(p) != 0:
            return False
        p += 8
        len -= 8
    while len:
        if p[0] != 0:
            return False
        p += 1
        len -= 1
    return True


cdef bint parse_put(const char* body, size_t size, Record* r) noexcept nogil:
    cdef size_t key_len
    if size < PUT_LEAST:
        return False
    key_len = get_u32(body + PUT_KEY_LEN)
    if key_len > size - PUT_LEAST:
        return False
    r.deadline = <int64_t>get_u64(body + 2)
    r.type = <uint8_t>body[PUT_TYPE]
    r.encoding = <uint8_t>body[PUT_ENCODING]
    r.key = view_of(body + PUT_LEAST, key_len)
    r.value = view_of(body + PUT_LEAST + key_len, size - PUT_LEAST - key_len)
    return r.encoding <= ENC_WIDENED or (r.encoding == ENC_INT and r.value.len == 8)


cdef bint parse_patch(const char* body, size_t size, Record* r) noexcept nogil:
    cdef size_t key_len
    if size < PATCH_LEAST:
        return False
    key_len = get_u32(body + PATCH_KEY_LEN)
    if key_len > size - PATCH_LEAST:
        return False
    r.offset = get_u64(body + 2)
    r.size_after = get_u64(body + PATCH_SIZE)
    r.key = view_of(body + PATCH_LEAST, key_len)
    r.value = view_of(body + PATCH_LEAST + key_len, size - PATCH_LEAST - key_len)
    return r.value.len <= r.size_after and r.offset <= r.size_after - r.value.len


cdef bint parse_begin(const char* body, size_t size, Record* r) noexcept nogil:
    if size < BEGIN_LEAST:
        return False
    r.records = get_u32(body + 2)
    r.parts = get_u32(body + BEGIN_PARTS)
    r.value = view_of(body + BEGIN_LEAST, size - BEGIN_LEAST)
    return r.parts > 0 and r.value.len == <uint64_t>r.parts * RECORD_PART


cdef bint record_parse(const char* body, size_t size, Record* r) noexcept nogil:
    if size < 2 or <uint8_t>body[1] >= DATABASES:
        return False
    r.kind = <uint8_t>body[0]
    r.db = <uint8_t>body[1]
    r.key = view_of(body + 2, 0)
    r.value = r.key
    if r.kind == RECORD_PUT:
        return parse_put(body, size, r)
    if r.kind == RECORD_PATCH:
        return parse_patch(body, size, r)
    if r.kind == RECORD_DELETE:
        r.key.len = size - 2
        return True
    if r.kind == RECORD_DEADLINE and size >= DEADLINE_LEAST:
        r.deadline = <int64_t>get_u64(body + 2)
        r.key = view_of(body + DEADLINE_LEAST, size - DEADLINE_LEAST)
        return True
    if r.kind == RECORD_MARK and size == MARK_SIZE:
        r.time = <int64_t>get_u64(body + 2)
        r.synced = get_u64(body + MARK_SYNCED)
        return r.db == 0
    if r.kind == RECORD_SWAP and size == SWAP_SIZE:
        r.other_db = <uint8_t>body[2]
        return r.other_db < DATABASES
    if r.kind == RECORD_BEGIN:
        return parse_begin(body, size, r)
    return r.kind == RECORD_FLUSH and size == 2


cdef RecordRead record_read(const char* p, size_t len, uint64_t most, Record* r) noexcept nogil:
    cdef uint64_t size
    r.size = RECORD_LEAST
    if len < RECORD_LEAST:
        return RECORD_END if all_zero(p, len) else RECORD_SHORT
    size = <uint64_t>get_u32(p + 4) + RECORD_HEAD
    if size < RECORD_LEAST or size > most:
        return RECORD_END if size == RECORD_HEAD and all_zero(p, len) else RECORD_TORN
    r.size = <size_t>size
    if size > len:
        return RECORD_SHORT
    if crc32c(0, p + 4, r.size - 4) != get_u32(p):
        return RECORD_TORN
    r.seq = get_u64(p + 8)
    return RECORD_WHOLE if record_parse(p + RECORD_HEAD, r.size - RECORD_HEAD, r) else RECORD_TORN


cdef void record_part(const Record* r, uint32_t i, uint32_t* shard, uint64_t* seq) noexcept nogil:
    cdef const char* part = r.value.ptr + <size_t>i * RECORD_PART
    shard[0] = get_u32(part)
    seq[0] = get_u64(part + 4)


# For Python -----------------------------------------------------------------------------------------------------

KINDS = {
    "put": RECORD_PUT, "patch": RECORD_PATCH, "deadline": RECORD_DEADLINE, "delete": RECORD_DELETE, "flush": RECORD_FLUSH,
    "swap": RECORD_SWAP, "begin": RECORD_BEGIN, "mark": RECORD_MARK,
}
cdef dict kind_names = {number: name for name, number in KINDS.items()}


cdef bytes view_bytes(View v):
    return v.ptr[:v.len]


cdef tuple fields_of(const Record* r):
    cdef uint32_t i, shard = 0
    cdef uint64_t seq = 0
    cdef list parts
    if r.kind == RECORD_PUT:
        return r.db, r.type, r.encoding, r.deadline, view_bytes(r.key), view_bytes(r.value)
    if r.kind == RECORD_PATCH:
        return r.db, view_bytes(r.key), r.offset, r.size_after, view_bytes(r.value)
    if r.kind == RECORD_DEADLINE:
        return r.db, r.deadline, view_bytes(r.key)
    if r.kind == RECORD_DELETE:
        return r.db, view_bytes(r.key)
    if r.kind == RECORD_FLUSH:
        return r.db,
    if r.kind == RECORD_SWAP:
        return r.db, r.other_db
    if r.kind == RECORD_MARK:
        return r.time, r.synced
    parts = []
    for i in range(r.parts):
        record_part(r, i, &shard, &seq)
        parts.append((shard, seq))
    return r.records, tuple(parts)


def read_records(bytes data not None, size_t offset=0, unsigned long long most=UINT32_MAX):
    """Yield (offset, kind, sequence number, fields) for every whole record from an offset on; `fields` are those of the kind, in the order of
    docs/format.md. Returns (offset, why) where it ended: "end", "short" or "torn"."""
    cdef Record r
    cdef RecordRead read
    while True:
        if offset > <size_t>len(data):
            raise ValueError(f"offset: {offset} is behind the end, {len(data)}")
        read = record_read(<const char*>data + offset, <size_t>len(data) - offset, most, &r)
        if read != RECORD_WHOLE:
            return offset, {RECORD_END: "end", RECORD_SHORT: "short", RECORD_TORN: "torn"}[read]
        yield offset, kind_names[r.kind], r.seq, fields_of(&r)
        offset += r.size


cdef View view_from(bytes text):
    return view_of(text, len(text))


cdef class RecordWriter:
    """Records put behind each other in memory, for tests and tools."""

    cdef RecordBuffer buffer

    def __cinit__(self, uint64_t seq=0):
        self.buffer.seq = seq

    def __dealloc__(self):
        buffer_free(&self.buffer)

    def put(self, int db, uint8_t type, uint8_t encoding, int64_t deadline, bytes key not None, bytes value not None):
        record_put(&self.buffer, db, type, encoding, deadline, view_from(key), view_from(value))

    def patch(self, int db, bytes key not None, uint64_t offset, uint64_t size, bytes data not None):
        record_patch(&self.buffer, db, view_from(key), offset, size, view_from(data))

    def deadline(self, int db, int64_t deadline, bytes key not None):
        record_deadline(&self.buffer, db, deadline, view_from(key))

    def delete(self, int db, bytes key not None):
        record_delete(&self.buffer, db, view_from(key))

    def flush(self, int db):
        record_flush(&self.buffer, db)

    def swap(self, int db, int other):
        record_swap(&self.buffer, db, other)

    def begin(self, uint32_t records, tuple parts not None):
        """parts: (shard, sequence number) of each."""
        cdef uint32_t shards[PARTS_MOST]
        cdef uint64_t seqs[PARTS_MOST]
        if len(parts) > PARTS_MOST:
            raise ValueError(f"parts: {len(parts)} are more than {PARTS_MOST}")
        for i, (shard, seq) in enumerate(parts):
            shards[<size_t>i] = shard
            seqs[<size_t>i] = seq
        record_begin(&self.buffer, records, <uint32_t>len(parts), shards, seqs)

    def set_count(self, size_t offset, uint32_t records):
        """Of the BEGIN that stands there."""
        if self.buffer.len < RECORD_LEAST or offset > self.buffer.len - RECORD_LEAST:
            raise ValueError(f"offset: no record begins at {offset}")
        record_set_count(self.buffer.data + offset, records)

    def mark(self, int64_t time, uint64_t synced):
        record_mark(&self.buffer, time, synced)

    @property
    def data(self):
        """What has been written."""
        return self.buffer.data[:self.buffer.len] if self.buffer.len else b""

    @property
    def failed(self):
        return bool(self.buffer.failed)


def crc32c_of(bytes data not None, uint32_t crc=0, *, bint by_tables=False):
    """The checksum of records, going on from that of the bytes before."""
    if by_tables:
        return crc32c_by_tables(crc, data, len(data))
    return crc32c(crc, data, len(data))
