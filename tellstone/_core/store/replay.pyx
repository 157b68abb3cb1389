"""Effects back into a keyspace (see replay.pxd)."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memset

from tellstone._core.base.block cimport Block, block_new, block_shared, block_unref
from tellstone._core.base.bytesops cimport View, copy_bytes, format_i64, get_u64, view_of
from tellstone._core.base.fnv cimport fnv1a
from tellstone._core.base.lock cimport lock_acquire, lock_release
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.memory.arena cimport arena_ptr
from tellstone._core.store.access cimport access_begin, access_touch
from tellstone._core.store.entry cimport (
    ENC_BLOCK, ENC_INT, ENC_WIDENED, ENTRY_BLOCK_FROM, NO_DEADLINE, TYPE_STRING, access_clock, entry_block, entry_deadline, entry_encoding, entry_int,
    entry_is_bytes, entry_is_over, entry_key, entry_set_encoding, entry_type, entry_value, entry_value_len, int_width, int_write,
)
from tellstone._core.store.keyspace cimport keyspace_now, keyspace_shard
from tellstone._core.store.record cimport RECORD_DEADLINE, RECORD_DELETE, RECORD_PATCH, RECORD_PUT, RECORD_SWAP, Record
from tellstone._core.store.shard cimport (
    DEADLINE_KEEP, Found, Partition, Shard, shard_account, shard_partition, shard_remove, shard_resize, shard_set_deadline, shard_write,
)
from tellstone._core.store.table cimport table_find, table_prefetch, table_scan

check_layout(__name__)

cdef enum:
    OVER_MOST = 128                 # keys removed under one hold of a lock
    OVER_SCAN = 64

cdef uint64_t ALL_TAGS = (<uint64_t>1) << 32

cdef struct Spot:                   # where a record's key is, or would be
    Replay* p
    Partition* part
    Found found


# Values ---------------------------------------------------------------------------------------------------------


cdef char* write_entry(Spot* at, const Record* r, uint8_t encoding, size_t len, int64_t deadline) noexcept nogil:
    cdef bint existed = at.found.entry != NULL
    cdef char* value = shard_write(at.part, r.key, &at.found, TYPE_STRING, encoding, len, deadline)
    if value == NULL:
        return NULL
    if existed:
        access_touch(at.part.shard, at.found.entry, at.p.clock)
    else:
        access_begin(at.part, &at.found, at.p.clock)
    return value


cdef bint write_block(Spot* at, const Record* r, Block* b, int64_t deadline) noexcept nogil:
    """Takes the count over."""
    cdef char* value
    if b == NULL:
        return False
    value = write_entry(at, r, ENC_BLOCK, sizeof(Block*), deadline)
    if value == NULL:
        block_unref(b)
        return False
    memcpy(value, &b, sizeof(Block*))
    at.part.block_bytes += b.room
    shard_account(at.part)
    return True


cdef ReplayResult put(Spot* at, const Record* r) noexcept nogil:
    cdef char* value
    cdef int64_t number
    cdef Block* b
    if r.encoding == ENC_INT:
        number = <int64_t>get_u64(r.value.ptr)
        value = write_entry(at, r, ENC_INT, int_width(number), r.deadline)
        if value != NULL:
            int_write(value, int_width(number), number)
    elif r.value.len < ENTRY_BLOCK_FROM:
        value = write_entry(at, r, r.encoding, r.value.len, r.deadline)
        if value != NULL:
            copy_bytes(value, r.value.ptr, r.value.len)
    else:
        b = block_new(r.value.len, r.value.len)
        if b != NULL:
            copy_bytes(b.data, r.value.ptr, r.value.len)
        return REPLAY_OK if write_block(at, r, b, r.deadline) else REPLAY_NOMEM
    return REPLAY_OK if value != NULL else REPLAY_NOMEM


# Patches --------------------------------------------------------------------------------------------------------


cdef bint grow_block(Spot* at, uint64_t size) noexcept nogil:
    """The entry's block with room for so much: half as much again, so that a value built by appends costs a constant a byte."""
    cdef Block* b = entry_block(at.found.entry)
    cdef uint64_t was = b.room
    cdef uint64_t room = size + size // 2
    if size <= was:
        return True
    b = <Block*>realloc(b, sizeof(Block) + room)
    if b == NULL:
        return False
    b.room = room
    memcpy(entry_value(at.found.entry), &b, sizeof(Block*))
    at.part.block_bytes += room - was
    shard_account(at.part)
    return True


cdef char* resize_block(Spot* at, uint64_t size, uint64_t* was) noexcept nogil:
    cdef Block* b
    if not grow_block(at, size):
        return NULL
    b = entry_block(at.found.entry)
    was[0] = b.size
    b.size = size
    return b.data


cdef char* rewrite(Spot* at, const Record* r, View old, uint64_t* was) noexcept nogil:
    """The value in another form: its kept bytes, in a block if it is long. `old` lies outside of the entry or in its block."""
    cdef size_t size = <size_t>r.size_after
    cdef Block* b
    cdef char* value
    was[0] = old.len if old.len < size else size
    if size >= ENTRY_BLOCK_FROM:
        b = block_new(size, size)
        if b == NULL:
            return NULL
        copy_bytes(b.data, old.ptr, <size_t>was[0])
        return b.data if write_block(at, r, b, DEADLINE_KEEP) else NULL
    value = write_entry(at, r, ENC_WIDENED, size, DEADLINE_KEEP)
    if value != NULL:
        copy_bytes(value, old.ptr, <size_t>was[0])
    return value


cdef char* shrink_block(Spot* at, const Record* r, uint64_t* was) noexcept nogil:
    """Into the entry. Only a log read from before the snapshot gets here: strings do not become shorter by patches."""
    cdef char kept[ENTRY_BLOCK_FROM]
    memcpy(kept, entry_block(at.found.entry).data, <size_t>r.size_after)
    return rewrite(at, r, view_of(kept, <size_t>r.size_after), was)


cdef char* resize_bytes(Spot* at, const Record* r, uint64_t* was) noexcept nogil:
    cdef char* value
    was[0] = entry_value_len(at.found.entry)
    value = shard_resize(at.part, &at.found, <size_t>r.size_after)
    if value != NULL:
        entry_set_encoding(at.found.entry, ENC_WIDENED, <size_t>r.size_after)
    return value


cdef char* sized_value(Spot* at, const Record* r, uint64_t* was) noexcept nogil:
    """The value as bytes of the size that the record gives it; *was of them are old. NULL without memory."""
    cdef char digits[32]
    cdef char* e = at.found.entry
    if e == NULL:
        return rewrite(at, r, view_of(digits, 0), was)
    if entry_encoding(e) == ENC_BLOCK:
        return resize_block(at, r.size_after, was) if r.size_after >= ENTRY_BLOCK_FROM else shrink_block(at, r, was)
    if entry_encoding(e) == ENC_INT:
        return rewrite(at, r, view_of(digits, format_i64(digits, entry_int(e))), was)
    if r.size_after < ENTRY_BLOCK_FROM:
        return resize_bytes(at, r, was)
    return rewrite(at, r, view_of(entry_value(e), entry_value_len(e)), was)     # into a block, before the entry goes


cdef ReplayResult patch(Spot* at, const Record* r) noexcept nogil:
    cdef uint64_t was = 0
    cdef char* value
    value = sized_value(at, r, &was)
    if value == NULL:
        return REPLAY_NOMEM
    if r.offset > was:
        memset(value + was, 0, <size_t>(r.offset - was))
    copy_bytes(value + r.offset, r.value.ptr, r.value.len)
    was = r.offset + r.value.len if r.offset + r.value.len > was else was
    if r.size_after > was:
        memset(value + was, 0, <size_t>(r.size_after - was))
    return REPLAY_OK


# Records --------------------------------------------------------------------------------------------------------


cdef ReplayResult do_record(Replay* p, Shard* shard, const Record* r, uint64_t hash) noexcept nogil:
    """LOCK: the shard's is held."""
    cdef Spot at
    at.p = p
    at.part = shard.parts[r.db]
    if at.part == NULL:
        if r.kind == RECORD_DELETE or r.kind == RECORD_DEADLINE:
            return REPLAY_OK
        at.part = shard_partition(shard, r.db)
        if at.part == NULL:
            return REPLAY_NOMEM
    table_find(&at.part.table, &at.part.arena, r.key, hash, &at.found)
    if r.kind == RECORD_PUT:
        return put(&at, r)
    if r.kind == RECORD_PATCH:
        return patch(&at, r)
    if at.found.entry == NULL:
        return REPLAY_OK
    if r.kind == RECORD_DELETE:
        shard_remove(at.part, &at.found)
        return REPLAY_OK
    return REPLAY_OK if shard_set_deadline(at.part, &at.found, r.deadline) else REPLAY_NOMEM


cdef void replay_init(Replay* p, Keyspace* ks, uint32_t shard, bint own) noexcept nogil:
    cdef int db
    memset(p, 0, sizeof(Replay))
    p.ks = ks
    p.shard = shard
    p.own = own
    p.clock = access_clock(keyspace_now(ks))
    for db in range(DATABASES):
        p.place[db] = <uint8_t>db


cdef bint replay_take(Replay* p, const Record* r) noexcept nogil:
    cdef uint8_t place
    cdef Record* mine
    p.done += 1
    if r.kind == RECORD_SWAP:
        place = p.place[r.db]
        p.place[r.db] = p.place[r.other_db]
        p.place[r.other_db] = place
        return False
    if r.kind > RECORD_DELETE:
        return False
    place = p.place[r.db]
    if r.seq < p.flushed[place]:
        return False
    mine = &p.records[p.count]
    mine[0] = r[0]
    mine.db = place
    p.hashes[p.count] = fnv1a(r.key.ptr, r.key.len)
    p.count += 1
    return p.count == REPLAY_BATCH


cdef ReplayResult batch_of_own(Replay* p) noexcept nogil:
    """The slots' lines are fetched for all before the first is looked at."""
    cdef Shard* shard = &p.ks.shards[p.shard]
    cdef Partition* part
    cdef ReplayResult result = REPLAY_OK
    cdef uint32_t i
    lock_acquire(&shard.lock)
    for i in range(p.count):
        part = shard.parts[p.records[i].db]
        if part != NULL:
            table_prefetch(&part.table, p.hashes[i])
    for i in range(p.count):
        if result == REPLAY_OK:
            result = do_record(p, shard, &p.records[i], p.hashes[i])
    lock_release(&shard.lock)
    return result


cdef ReplayResult batch_of_others(Replay* p) noexcept nogil:
    cdef Shard* shard
    cdef ReplayResult result = REPLAY_OK
    cdef uint32_t i
    for i in range(p.count):
        shard = keyspace_shard(p.ks, p.hashes[i])
        lock_acquire(&shard.lock)
        if result == REPLAY_OK:
            result = do_record(p, shard, &p.records[i], p.hashes[i])
        lock_release(&shard.lock)
    return result


cdef ReplayResult replay_batch(Replay* p) noexcept nogil:
    cdef ReplayResult result = batch_of_own(p) if p.own else batch_of_others(p)
    p.count = 0
    return result


# What is over ---------------------------------------------------------------------------------------------------


cdef struct Over:
    int64_t now
    uint32_t handles[OVER_MOST]
    uint32_t count


cdef void note_over(void* owner, uint32_t handle, char* entry) noexcept nogil:
    cdef Over* over = <Over*>owner
    if entry_is_over(entry, over.now) and over.count < OVER_MOST:
        over.handles[over.count] = handle
        over.count += 1


cdef void remove_over(Partition* part, Over* over) noexcept nogil:
    cdef Found found
    cdef View key
    cdef uint32_t i
    for i in range(over.count):
        key = entry_key(arena_ptr(&part.arena, over.handles[i]))
        table_find(&part.table, &part.arena, key, fnv1a(key.ptr, key.len), &found)
        shard_remove(part, &found)


cdef uint64_t replay_expire(Keyspace* ks, uint32_t shard) noexcept nogil:
    cdef Shard* s = &ks.shards[shard]
    cdef Partition* part
    cdef Over over
    cdef uint64_t removed = 0, tag
    cdef int db
    over.now = keyspace_now(ks)
    for db in range(DATABASES):
        tag = 0
        while tag < ALL_TAGS:
            over.count = 0
            lock_acquire(&s.lock)
            part = s.parts[db]
            if part == NULL or part.wheel.count == 0:
                tag = ALL_TAGS
            else:
                tag = table_scan(&part.table, &part.arena, tag, OVER_SCAN, note_over, &over)
                remove_over(part, &over)
            lock_release(&s.lock)
            removed += over.count
    return removed
