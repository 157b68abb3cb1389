"""Records: what a change of a shard is in its log, and how bytes of a log are read again (docs/format.md has the page).

    head       u32 CRC-32C of everything behind it in the record · u32 size of the body · u64 sequence number
    body       u8 kind · u8 database · what the kind needs

    PUT        i64 deadline · u8 type · u8 encoding · u32 length of the key · key · value     the key is this and nothing else
    PATCH      u64 offset · u64 size · u32 length of the key · key · bytes                  the string's size, and bytes in it; a gap is zero
    DEADLINE   i64 deadline · key
    DELETE     key
    FLUSH      nothing: every key of the database, in this shard
    SWAP       u8 the other database
    BEGIN      u32 records · u32 parts · as many times: u32 shard · u64 sequence number of the BEGIN there
    MARK       i64 Unix ms · u64 sequence number: what stands before it was written by then, and up to that number it was synced before

Integers are little-endian; deadlines are Unix ms, -1 for none. Records of a shard are numbered without a gap, from 1; a MARK is no change and
has the number of the record before it. A record is an effect and sets a state: reading a log twice, or from a point before a snapshot of a shard
that went on changing, ends in the same state.

A change of several shards is one BEGIN in each of them, followed by its records there. It counts only where it is whole: every part is in
its shard's log with all its records, or is older than what the snapshot of that shard covers.

A MARK ends what is written at once. It tells whole records behind hurt ones apart: where one of them is a MARK of a sync that the hurt ones
had behind them, something that was safe has been damaged; else a power failure has kept later pages and lost earlier ones, which nobody was
told of. It also says what the log was at a moment.
LIFETIME: a Record's views point into the bytes that were read.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tellstone._core.base.bytesops cimport View

cdef enum RecordKind:
    RECORD_PUT = 1
    RECORD_PATCH = 2
    RECORD_DEADLINE = 3
    RECORD_DELETE = 4
    RECORD_FLUSH = 5
    RECORD_SWAP = 6
    RECORD_BEGIN = 7
    RECORD_MARK = 8

cdef enum:
    RECORD_HEAD = 16
    RECORD_LEAST = 18               # head, kind, database
    RECORD_PART = 12                # bytes of a part of BEGIN
    PUT_LEAST = 16                  # body of a PUT without key and value

cdef enum RecordRead:
    RECORD_WHOLE = 0
    RECORD_END = 1                  # nothing more: the end of the bytes, or zeros from here to their end
    RECORD_SHORT = 2                # the bytes end before what may be a record does; `size` is what it takes to know more
    RECORD_TORN = 3                 # no record, or its checksum is wrong

cdef struct Record:
    uint64_t seq
    uint8_t kind
    uint8_t db                      # below DATABASES
    uint8_t other_db                # SWAP; likewise
    uint8_t type                    # PUT
    uint8_t encoding                # PUT: ENC_RAW, ENC_WIDENED, ENC_INT (8 bytes) as in store.entry; a block is written as ENC_RAW or ENC_WIDENED
    int64_t deadline                # PUT, DEADLINE
    int64_t time                    # MARK
    uint64_t synced                 # MARK
    uint64_t offset                 # PATCH
    uint64_t size_after             # PATCH: offset and value end within it
    View key
    View value                      # PUT, PATCH; of BEGIN the parts
    uint32_t records                # BEGIN: that follow and belong to it
    uint32_t parts                  # BEGIN
    size_t size                     # of the record, head included

# Where records are appended: malloc'ed, grows, keeps its memory. `failed`: there was no memory, or a record does not fit its u32; that record
# and all after it are missing, and `seq` has stopped before them.
cdef struct RecordBuffer:
    char* data
    size_t len
    size_t cap
    uint64_t seq                    # of the last record
    uint8_t failed

cdef void record_put(RecordBuffer* b, int db, uint8_t type, uint8_t encoding, int64_t deadline, View key, View value) noexcept nogil
cdef void record_patch(RecordBuffer* b, int db, View key, uint64_t offset, uint64_t size, View bytes_) noexcept nogil
cdef void record_deadline(RecordBuffer* b, int db, int64_t deadline, View key) noexcept nogil
cdef void record_delete(RecordBuffer* b, int db, View key) noexcept nogil
cdef void record_flush(RecordBuffer* b, int db) noexcept nogil
cdef void record_swap(RecordBuffer* b, int db, int other) noexcept nogil
# Begin a change of several shards in this one; its records follow. `shards` and `seqs` name all parts, this one too.
cdef void record_begin(RecordBuffer* b, uint32_t records, uint32_t parts, const uint32_t* shards, const uint64_t* seqs) noexcept nogil
cdef void record_set_count(char* begin, uint32_t records) noexcept nogil     # of a BEGIN that stands in a buffer
cdef void record_mark(RecordBuffer* b, int64_t time, uint64_t synced) noexcept nogil
cdef void buffer_free(RecordBuffer* b) noexcept nogil                       # its memory; the number stays

# The record at p. RECORD_TORN says nothing about what follows; `most` bounds what a record may claim to be, head included.
cdef RecordRead record_read(const char* p, size_t len, uint64_t most, Record* r) noexcept nogil
# A body alone, `size` bytes and no fewer; seq and size of the record are not touched. False: it is none.
cdef bint record_parse(const char* body, size_t size, Record* r) noexcept nogil
cdef void record_part(const Record* r, uint32_t i, uint32_t* shard, uint64_t* seq) noexcept nogil

# What a PUT has as the value of an entry, and its encoding; `scratch` takes 8 bytes.
# LIFETIME: the view is good as long as the entry and the scratch.
cdef uint8_t entry_stored(const char* entry, char* scratch, View* value) noexcept nogil
# The body of a PUT by itself, PUT_LEAST + key.len + value.len bytes.
cdef void put_body(char* body, int db, uint8_t type, uint8_t encoding, int64_t deadline, View key, View value) noexcept nogil
