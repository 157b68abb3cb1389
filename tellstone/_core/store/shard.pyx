"""Shards and partitions (see shard.pxd)."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from tellstone._core.base.atomics cimport add_u64, relaxed_u64, store_ptr, store_u64
from tellstone._core.base.block cimport Block, block_unref
from tellstone._core.base.bytesops cimport View
from tellstone._core.base.debug cimport LIVE_PARTITION, check, live_add
from tellstone._core.base.fnv cimport fnv1a
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.memory.arena cimport (
    arena_alloc, arena_attach, arena_destroy, arena_detach, arena_free, arena_init, arena_next_live, arena_ptr,
    arena_slot_size, arena_sparse_page,
)
from tellstone._core.memory.wheel cimport (
    WHEEL_LEVELS, wheel_add, wheel_advance, wheel_cancel, wheel_destroy, wheel_init, wheel_moved, wheel_ready,
)
from tellstone._core.store.entry cimport (
    ENC_BLOCK, NO_DEADLINE, entry_access, entry_block, entry_deadline, entry_encoding, entry_expires, entry_is_over, entry_key, entry_set_access,
    entry_set_encoding, entry_size, entry_size_for, entry_type, entry_value, entry_value_len, entry_write,
)
from tellstone._core.store.grace cimport grace_retire
from tellstone._core.store.log cimport log_deadline, log_delete, log_expire
from tellstone._core.store.s3fifo cimport s3_clear
from tellstone._core.store.table cimport (
    slot_handle, table_bytes, table_delete, table_destroy, table_find, table_init, table_insert, table_slot_of,
)

check_layout(__name__)

cdef enum:
    ACCOUNT_STEP = 4096             # bytes a partition may be off in Shared.used: at most, and this share of the ceiling
    ACCOUNT_SHARE = 65536
    LAZY_BLOCK = 1048576            # blocks of this size are freed by upkeep, not by the request that drops them


cdef void shared_set_ceiling(Shared* shared, uint64_t bytes) noexcept nogil:
    cdef uint64_t step = bytes // ACCOUNT_SHARE
    if bytes == 0 or step > ACCOUNT_STEP:
        step = ACCOUNT_STEP
    store_u64(&shared.account_step, step)
    store_u64(&shared.max_memory, bytes)


cdef void shard_init(Shard* s, Shared* shared, uint32_t index) noexcept nogil:
    cdef int db
    memset(s, 0, sizeof(Shard))
    s.shared = shared
    s.index = index
    s.random = shared.secret[0] ^ index
    for db in range(DATABASES):
        s.contents[db] = <uint8_t>db


cdef Partition* shard_partition(Shard* s, int db) noexcept nogil:
    cdef Partition* p = s.parts[db]
    if p != NULL:
        return p
    p = <Partition*>calloc(1, sizeof(Partition))
    if p == NULL:
        return NULL
    p.shard = s
    p.db = db
    wheel_init(&p.wheel, s.shared.tick_ms, s.shared.wheel_slots)
    if not arena_init(&p.arena) or not table_init(&p.table, &s.shared.grace, s.shared.secret):
        arena_destroy(&p.arena)
        free(p)
        return NULL
    store_ptr(<void**>&s.parts[db], p)     # ORDER: look-ahead may follow it at once, so what it points to comes first
    live_add(LIVE_PARTITION, 1)
    shard_account(p)
    return p


cdef void partition_free(Partition* p) noexcept nogil:
    cdef uint32_t page, cursor, handle
    cdef char* e
    if p.block_bytes:
        for page in range(1, p.arena.page_count):
            cursor = 0
            handle = arena_next_live(&p.arena, page, &cursor)
            while handle:
                e = arena_ptr(&p.arena, handle)
                if entry_encoding(e) == ENC_BLOCK:
                    block_unref(entry_block(e))
                handle = arena_next_live(&p.arena, page, &cursor)
    add_u64(&p.shard.shared.used, <uint64_t>0 - p.accounted)
    table_destroy(&p.table)
    wheel_destroy(&p.wheel)
    s3_clear(&p.s3fifo)
    arena_destroy(&p.arena)
    free(p)
    live_add(LIVE_PARTITION, -1)


cdef uint64_t partition_overhead(const Partition* p) noexcept nogil:
    cdef uint64_t bytes = sizeof(Partition) + p.s3fifo.bytes
    if p.wheel.heads != NULL:
        bytes += WHEEL_LEVELS * p.wheel.slots * sizeof(uint32_t)
    return bytes


cdef inline uint64_t partition_bytes(const Partition* p) noexcept nogil:
    return p.arena.live_bytes + p.block_bytes + table_bytes(&p.table) + partition_overhead(p)


cdef void shard_account_exactly(Partition* p) noexcept nogil:
    cdef uint64_t bytes = partition_bytes(p)
    add_u64(&p.shard.shared.used, bytes - p.accounted)
    store_u64(&p.shard.bytes, p.shard.bytes + bytes - p.accounted)
    p.accounted = bytes


cdef void shard_disown(Partition* p) noexcept nogil:
    add_u64(&p.shard.shared.used, <uint64_t>0 - p.accounted)
    store_u64(&p.shard.bytes, p.shard.bytes - p.accounted)
    p.accounted = 0


cdef void shard_account(Partition* p) noexcept nogil:
    """The shared sum is a line that all threads write to, so small changes are saved up."""
    cdef int64_t delta = <int64_t>(partition_bytes(p) - p.accounted)
    cdef int64_t step = <int64_t>relaxed_u64(&p.shard.shared.account_step)
    if delta >= step or delta <= -step:
        shard_account_exactly(p)


# Entries --------------------------------------------------------------------------------------------------------


cdef void retired_block(void* p, uint64_t size) noexcept nogil:
    block_unref(<Block*>p)


cdef inline void drop_value(Partition* p, char* e) noexcept nogil:
    """Let go of what an entry points to. A huge block goes to upkeep, so that no request pays for its pages."""
    cdef Block* b
    if entry_encoding(e) != ENC_BLOCK:
        return
    b = entry_block(e)
    p.block_bytes -= b.room
    if b.room >= LAZY_BLOCK:
        grace_retire(&p.shard.shared.grace, b, b.room, retired_block)
    else:
        block_unref(b)


cdef inline void drop_entry(Partition* p, char* e, uint32_t handle) noexcept nogil:
    if entry_expires(e):
        wheel_cancel(&p.wheel, &p.arena, handle)
    drop_value(p, e)
    arena_free(&p.arena, handle)


cdef inline void remove_found(Partition* p, Found* found) noexcept nogil:
    table_delete(&p.table, &p.arena, found.slot)
    drop_entry(p, found.entry, found.handle)
    found.slot = NULL
    found.entry = NULL
    found.handle = 0
    shard_account(p)


cdef void shard_remove(Partition* p, Found* found) noexcept nogil:
    log_delete(p.shard.log, p.db, entry_key(found.entry))
    remove_found(p, found)


cdef void shard_evict(Partition* p, Found* found) noexcept nogil:
    """What it frees shows at once in what is used."""
    log_expire(p.shard.log, p.db, entry_key(found.entry))
    remove_found(p, found)
    shard_account_exactly(p)
    p.shard.evicted += 1


cdef void shard_find(Shard* s, Partition* p, View key, uint64_t hash, int64_t now, Found* found) noexcept nogil:
    """Look a key up. Side effect: an entry whose time has come is removed, and not found."""
    table_find(&p.table, &p.arena, key, hash, found)
    if found.entry != NULL and entry_is_over(found.entry, now):
        log_expire(p.shard.log, p.db, entry_key(found.entry))
        remove_found(p, found)
        s.expired += 1
        s.expired_lazy += 1


cdef inline char* write_in_place(Partition* p, Found* found, uint8_t type, uint8_t encoding, size_t value_len,
                                 int64_t deadline) noexcept nogil:
    cdef char* e = found.entry
    if entry_encoding(e) == ENC_BLOCK:
        drop_value(p, e)
        shard_account(p)
    e[0] = <char>((<uint8_t>e[0] & ~0x0F) | type)
    entry_set_encoding(e, encoding, value_len)
    if deadline != NO_DEADLINE and deadline != entry_deadline(e):
        wheel_cancel(&p.wheel, &p.arena, found.handle)
        wheel_add(&p.wheel, &p.arena, found.handle, deadline)
    return entry_value(e)


cdef char* shard_write(Partition* p, View key, Found* found, uint8_t type, uint8_t encoding, size_t value_len,
                       int64_t deadline) noexcept nogil:
    cdef char* was = found.entry
    cdef char* e
    cdef uint32_t handle
    cdef size_t size
    if deadline == DEADLINE_KEEP:
        deadline = entry_deadline(was) if was != NULL else NO_DEADLINE
    size = entry_size_for(key.len, value_len, deadline != NO_DEADLINE)
    if was != NULL and entry_expires(was) == (deadline != NO_DEADLINE) and arena_slot_size(entry_size(was)) == arena_slot_size(size):
        return write_in_place(p, found, type, encoding, value_len, deadline)
    if deadline != NO_DEADLINE and not wheel_ready(&p.wheel, shared_now(p.shard.shared)):
        return NULL
    e = arena_alloc(&p.arena, size, &handle)
    if e == NULL:
        return NULL
    entry_write(e, type, encoding, key.ptr, key.len, value_len, deadline != NO_DEADLINE)
    if was != NULL:
        entry_set_access(e, entry_access(was))
        drop_entry(p, was, found.handle)
        found.slot[0] = (found.slot[0] & ~(<uint64_t>0xFFFFFFFFULL)) | handle
    elif not table_insert(&p.table, &p.arena, found.tag, handle):
        arena_free(&p.arena, handle)
        return NULL
    else:
        found.slot = NULL                   # the insert may have shifted anything
    if deadline != NO_DEADLINE:
        wheel_add(&p.wheel, &p.arena, handle, deadline)
    found.entry = e
    found.handle = handle
    shard_account(p)
    return entry_value(e)


cdef char* replace(Partition* p, Found* found, size_t value_len, bint expires) noexcept nogil:
    """Copy an entry to a new place with another length of its value part, or with or without a node; the value's owner
    changes with it. Answers the new entry, whose wheel node is not on the wheel. NULL without memory."""
    cdef char* was = found.entry
    cdef char* e
    cdef char* value
    cdef uint32_t handle
    cdef View key = entry_key(was)
    cdef size_t kept = entry_value_len(was)
    e = arena_alloc(&p.arena, entry_size_for(key.len, value_len, expires), &handle)
    if e == NULL:
        return NULL
    value = entry_write(e, entry_type(was), entry_encoding(was), key.ptr, key.len, value_len, expires)
    entry_set_access(e, entry_access(was))
    memcpy(value, entry_value(was), kept if kept < value_len else value_len)
    if entry_expires(was):
        wheel_cancel(&p.wheel, &p.arena, found.handle)
    arena_free(&p.arena, found.handle)
    found.slot[0] = (found.slot[0] & ~(<uint64_t>0xFFFFFFFFULL)) | handle
    found.entry = e
    found.handle = handle
    return e


cdef char* shard_resize(Partition* p, Found* found, size_t value_len) noexcept nogil:
    cdef char* e = found.entry
    cdef int64_t deadline = entry_deadline(e)
    cdef size_t size = entry_size(e) - entry_value_len(e) + value_len
    if arena_slot_size(entry_size(e)) == arena_slot_size(size):
        entry_set_encoding(e, entry_encoding(e), value_len)
        return entry_value(e)
    e = replace(p, found, value_len, deadline != NO_DEADLINE)
    if e == NULL:
        return NULL
    if deadline != NO_DEADLINE:
        wheel_add(&p.wheel, &p.arena, found.handle, deadline)
    shard_account(p)
    return entry_value(e)


cdef inline bint set_deadline(Partition* p, Found* found, int64_t deadline) noexcept nogil:
    cdef bint had = entry_expires(found.entry)
    if deadline != NO_DEADLINE and had:
        wheel_cancel(&p.wheel, &p.arena, found.handle)
        wheel_add(&p.wheel, &p.arena, found.handle, deadline)
        return True
    if deadline != NO_DEADLINE and not wheel_ready(&p.wheel, shared_now(p.shard.shared)):
        return False
    if replace(p, found, entry_value_len(found.entry), deadline != NO_DEADLINE) == NULL:
        return False
    if deadline != NO_DEADLINE:
        wheel_add(&p.wheel, &p.arena, found.handle, deadline)
    shard_account(p)
    return True


cdef bint shard_set_deadline(Partition* p, Found* found, int64_t deadline) noexcept nogil:
    if deadline == NO_DEADLINE and not entry_expires(found.entry):
        return True
    if not set_deadline(p, found, deadline):
        return False
    log_deadline(p.shard.log, p.db, found.entry)
    return True


# Upkeep ---------------------------------------------------------------------------------------------------------


cdef void expire_entry(void* owner, uint32_t handle) noexcept nogil:
    """The wheel's callback: the node is off the wheel already."""
    cdef Partition* p = <Partition*>owner
    cdef char* e = arena_ptr(&p.arena, handle)
    cdef View key = entry_key(e)
    cdef uint64_t* slot = table_slot_of(&p.table, &p.arena, handle, key, fnv1a(key.ptr, key.len))
    check(slot != NULL)
    log_expire(p.shard.log, p.db, key)
    table_delete(&p.table, &p.arena, slot)
    drop_value(p, e)
    arena_free(&p.arena, handle)
    p.shard.expired += 1


cdef bint shard_expire(Partition* p, int64_t now, uint32_t budget) noexcept nogil:
    cdef bint more = wheel_advance(&p.wheel, &p.arena, now, budget, expire_entry, p)
    shard_account(p)
    return more


cdef bint move_entry(Partition* p, uint32_t handle) noexcept nogil:
    """Copy one entry out of a detached page. False when there is no memory for it."""
    cdef char* was = arena_ptr(&p.arena, handle)
    cdef View key = entry_key(was)
    cdef uint64_t* slot
    cdef uint32_t fresh
    cdef size_t size = entry_size(was)
    cdef char* e = arena_alloc(&p.arena, size, &fresh)
    if e == NULL:
        return False
    slot = table_slot_of(&p.table, &p.arena, handle, key, fnv1a(key.ptr, key.len))
    check(slot != NULL)
    memcpy(e, was, size)
    slot[0] = (slot[0] & ~(<uint64_t>0xFFFFFFFFULL)) | fresh
    if entry_expires(e):
        wheel_moved(&p.wheel, &p.arena, handle, fresh)
    arena_free(&p.arena, handle)
    return True


cdef bint shard_compact(Partition* p, uint32_t budget) noexcept nogil:
    """Empty sparse pages by moving their entries to others of their class."""
    cdef uint32_t handle
    if p.compacting and not p.arena.pages[p.compacting].detached:
        p.compacting = 0                    # frees emptied it meanwhile; it may serve another class already
    if p.compacting == 0:
        p.compacting = arena_sparse_page(&p.arena)
        if p.compacting == 0:
            return False
        p.compact_cursor = 0
        arena_detach(&p.arena, p.compacting)
    while budget:
        budget -= 1
        handle = arena_next_live(&p.arena, p.compacting, &p.compact_cursor)
        if handle == 0 or not move_entry(p, handle):
            arena_attach(&p.arena, p.compacting)
            p.compacting = 0
            break
    return True
