"""The keyspace (see keyspace.pxd)."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from tellstone._core.base.atomics cimport add_u64, load_ptr, load_u32, relaxed_u32, relaxed_u64, store_ptr, store_u32, store_u64
from tellstone._core.base.bytesops cimport View
from tellstone._core.base.debug cimport LIVE_KEYSPACE, live_add
from tellstone._core.base.fnv cimport fnv1a
from tellstone._core.base.lock cimport lock_acquire, lock_release, lock_try, word_wait, word_wake
from tellstone._core.base.platform cimport make_huge, prefetch, sleep_us, thread_create, thread_join
from tellstone._core.base.random cimport random_next
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.memory.arena cimport ARENA_PAGE_BITS, ARENA_SEGMENT, arena_full_segment, arena_ptr
from tellstone._core.memory.wheel cimport WHEEL_SLOTS_MAX, WHEEL_SLOTS_MIN, Wheel, wheel_sum
from tellstone._core.store.access cimport access_begin, shared_tracking
from tellstone._core.store.entry cimport entry_deadline, entry_expires, entry_is_over, entry_key
from tellstone._core.store.eviction cimport eviction_step
from tellstone._core.store.forks cimport fork_unwatch, fork_watch
from tellstone._core.store.grace cimport (
    grace_after_fork, grace_before_fork, grace_destroy, grace_enter, grace_init, grace_join, grace_leave, grace_reclaim, grace_retire,
)
from tellstone._core.store.log cimport log_flush, log_swap, wal_group_begin, wal_group_end
from tellstone._core.store.policy cimport SAMPLES_MAX, TRACK_S3FIFO, EvictionPolicy, policy_tracking
from tellstone._core.store.s3fifo cimport s3_clear
from tellstone._core.store.shard cimport (
    partition_free, partition_overhead, shard_account, shard_account_exactly, shard_compact, shard_disown, shard_expire, shard_find,
    shard_init, shard_partition, shard_remove, shard_write, shared_set_ceiling,
)
from tellstone._core.store.table cimport (
    TAG_MIXED, slot_handle, table_bytes, table_peek, table_prefetch, table_sample, table_scan, table_take_hint, table_work,
)
from tellstone._core.store.wal cimport wal_abandon

import os

check_layout(__name__)

cdef enum:
    EXPIRE_STEP = 64                # entries expired, moved or slots shifted under one hold of a shard's lock
    COMPACT_STEP = 32
    TABLE_UPKEEP = 512
    EVICT_UPKEEP = 512              # entries looked at in a round, to get below a ceiling that has come down
    SAMPLES_DEFAULT = 5
    LFU_LOG_FACTOR_DEFAULT = 10
    LFU_DECAY_TIME_DEFAULT = 1
    CURSOR_TAG_BITS = 32

# A cursor: shard << 33 | kind of tags << 32 | tag. Below 2^43, so that a client may keep it in a double.
cdef uint64_t ALL_TAGS = (<uint64_t>1) << 32

# By EvictionPolicy.
POLICIES = (
    "noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random", "allkeys-s3fifo", "volatile-lru", "volatile-lfu", "volatile-random",
    "volatile-ttl",
)

# One secret a process: tables of one process agree, crafted keys do not carry over to another.
cdef uint64_t process_secret[2]
cdef bytes _random = os.urandom(16)
process_secret[0] = <uint64_t>int.from_bytes(_random[:8], "little")
process_secret[1] = <uint64_t>int.from_bytes(_random[8:], "little")


# Forks ----------------------------------------------------------------------------------------------------------


cdef void before_fork(void* owner) noexcept nogil:
    cdef Keyspace* ks = <Keyspace*>owner
    keyspace_lock_all(ks)
    grace_before_fork(&ks.shared.grace)


cdef void after_fork(void* owner, bint child) noexcept nogil:
    """ORDER: the log before the shards: no change of a child's finds one that it could be appended to."""
    cdef Keyspace* ks = <Keyspace*>owner
    if child:
        if ks.upkeep_state != UPKEEP_NONE:
            ks.upkeep_state = UPKEEP_GONE
        store_u64(&ks.shared.round_now, 0)
        if ks.wal != NULL:
            wal_abandon(ks.wal)
    grace_after_fork(&ks.shared.grace, child)
    keyspace_unlock_all(ks)


# Life -----------------------------------------------------------------------------------------------------------


cdef Keyspace* keyspace_new(uint32_t shards, int64_t evict_interval_ms, uint32_t evict_slots, uint64_t max_memory) noexcept nogil:
    cdef Keyspace* ks = <Keyspace*>calloc(1, sizeof(Keyspace))
    cdef uint32_t i
    if ks == NULL:
        return NULL
    ks.shards = <Shard*>calloc(shards, sizeof(Shard))
    if ks.shards == NULL:
        free(ks)
        return NULL
    grace_init(&ks.shared.grace)
    ks.upkeep_reader = grace_join(&ks.shared.grace)
    ks.shared.secret[0] = process_secret[0]
    ks.shared.secret[1] = process_secret[1]
    ks.shared.tick_ms = evict_interval_ms if evict_interval_ms > 0 else 1000
    ks.shared.wheel_slots = evict_slots
    shared_set_ceiling(&ks.shared, max_memory)
    ks.shared.rules.samples = SAMPLES_DEFAULT
    ks.shared.rules.lfu_log_factor = LFU_LOG_FACTOR_DEFAULT
    ks.shared.rules.lfu_decay_time = LFU_DECAY_TIME_DEFAULT
    ks.shard_count = shards
    ks.shard_mask = shards - 1 if (shards & (shards - 1)) == 0 else 0xFFFFFFFFULL
    ks.active_expiry = evict_interval_ms > 0
    ks.max_value = 512 * 1024 * 1024
    ks.random_state = process_secret[0] | 1
    for i in range(shards):
        shard_init(&ks.shards[i], &ks.shared, i)
    ks.forks.owner = ks
    ks.forks.before = before_fork
    ks.forks.after = after_fork
    fork_watch(&ks.forks)
    live_add(LIVE_KEYSPACE, 1)
    return ks


cdef void keyspace_free(Keyspace* ks) noexcept nogil:
    cdef uint32_t i
    cdef int db
    keyspace_stop_upkeep(ks)
    fork_unwatch(&ks.forks)
    for i in range(ks.shard_count):
        for db in range(DATABASES):
            if ks.shards[i].parts[db] != NULL:
                partition_free(ks.shards[i].parts[db])
        free(ks.shards[i].candidates)
    grace_destroy(&ks.shared.grace)
    free(ks.shards)
    free(ks)
    live_add(LIVE_KEYSPACE, -1)


cdef void keyspace_add_used(Keyspace* ks, int64_t bytes) noexcept nogil:
    add_u64(&ks.shared.used, <uint64_t>bytes)


# Places ---------------------------------------------------------------------------------------------------------


cdef inline void find_hinted(Keyspace* ks, int db, View key, uint64_t hash, int64_t now, const SlotHint* hint,
                             Place* place) noexcept nogil:
    cdef Shard* s = keyspace_shard(ks, hash)
    cdef Partition* p = s.parts[db]
    place.ks = ks
    place.shard = s
    place.part = p
    place.key = key
    place.hash = hash
    place.db = db
    place.now = now
    if p == NULL:
        place.found.slot = NULL
        place.found.entry = NULL
        place.found.handle = 0
        return
    if (hint != NULL and table_take_hint(&p.table, &p.arena, key, hint, &place.found)
            and not entry_is_over(place.found.entry, now)):
        return
    shard_find(s, p, key, hash, now, &place.found)


cdef void keyspace_find(Keyspace* ks, int db, View key, uint64_t hash, int64_t now, Place* place) noexcept nogil:
    find_hinted(ks, db, key, hash, now, NULL, place)


cdef void keyspace_open(Keyspace* ks, int db, View key, uint64_t hash, int64_t now, Place* place) noexcept nogil:
    lock_acquire(&keyspace_shard(ks, hash).lock)
    find_hinted(ks, db, key, hash, now, NULL, place)


cdef void keyspace_open_hinted(Keyspace* ks, int db, View key, uint64_t hash, int64_t now, const SlotHint* hint,
                               Place* place) noexcept nogil:
    lock_acquire(&keyspace_shard(ks, hash).lock)
    find_hinted(ks, db, key, hash, now, hint, place)


cdef char* place_write(Place* place, uint8_t type, uint8_t encoding, size_t value_len, int64_t deadline) noexcept nogil:
    cdef char* value
    cdef bint existed = place.found.entry != NULL
    if place.part == NULL:
        place.part = shard_partition(place.shard, place.db)
        if place.part == NULL:
            return NULL
        shard_find(place.shard, place.part, place.key, place.hash, place.now, &place.found)   # for the tag
    value = shard_write(place.part, place.key, &place.found, type, encoding, value_len, deadline)
    if value != NULL and not existed:
        access_begin(place.part, &place.found, place_clock(place))
    return value


cdef void place_remove(Place* place) noexcept nogil:
    shard_remove(place.part, &place.found)


# Several shards -------------------------------------------------------------------------------------------------


cdef void keyspace_lock(Keyspace* ks, const ShardSet* s) noexcept nogil:
    cdef uint32_t i
    for i in range(ks.shard_count):
        if s.bits[i >> 6] >> (i & 63) & 1:
            lock_acquire(&ks.shards[i].lock)
    if ks.wal != NULL:
        wal_group_begin(ks.wal, s.bits, SHARD_WORDS)


cdef void keyspace_unlock(Keyspace* ks, const ShardSet* s) noexcept nogil:
    cdef uint32_t i
    if ks.wal != NULL:
        wal_group_end(ks.wal, s.bits, SHARD_WORDS)
    for i in range(ks.shard_count):
        if s.bits[i >> 6] >> (i & 63) & 1:
            lock_release(&ks.shards[i].lock)


cdef void keyspace_lock_all(Keyspace* ks) noexcept nogil:
    cdef uint32_t i
    for i in range(ks.shard_count):
        lock_acquire(&ks.shards[i].lock)


cdef void keyspace_unlock_all(Keyspace* ks) noexcept nogil:
    cdef uint32_t i
    for i in range(ks.shard_count):
        lock_release(&ks.shards[i].lock)


cdef uint64_t keyspace_size(Keyspace* ks, int db) noexcept nogil:
    cdef uint32_t i
    cdef uint64_t n = 0
    for i in range(ks.shard_count):
        lock_acquire(&ks.shards[i].lock)
        if ks.shards[i].parts[db] != NULL:
            n += ks.shards[i].parts[db].table.count
        lock_release(&ks.shards[i].lock)
    return n


cdef uint64_t keyspace_expires(Keyspace* ks, int db) noexcept nogil:
    cdef uint32_t i
    cdef uint64_t n = 0
    for i in range(ks.shard_count):
        lock_acquire(&ks.shards[i].lock)
        if ks.shards[i].parts[db] != NULL:
            n += ks.shards[i].parts[db].wheel.count
        lock_release(&ks.shards[i].lock)
    return n


cdef int64_t keyspace_average_ttl(Keyspace* ks, int db) noexcept nogil:
    cdef uint32_t i
    cdef double sum = 0
    cdef uint64_t n = 0
    cdef int64_t average
    cdef Wheel* wheel
    for i in range(ks.shard_count):
        lock_acquire(&ks.shards[i].lock)
        if ks.shards[i].parts[db] != NULL:
            wheel = &ks.shards[i].parts[db].wheel
            sum += wheel_sum(wheel)
            n += wheel.count
        lock_release(&ks.shards[i].lock)
    if n == 0:
        return 0
    average = <int64_t>(sum / <double>n - <double>keyspace_now(ks))
    return average if average > 0 else 0


cdef void keyspace_account(Keyspace* ks) noexcept nogil:
    cdef uint32_t i
    cdef int db
    for i in range(ks.shard_count):
        lock_acquire(&ks.shards[i].lock)
        for db in range(DATABASES):
            if ks.shards[i].parts[db] != NULL:
                shard_account_exactly(ks.shards[i].parts[db])
        lock_release(&ks.shards[i].lock)


cdef void retired_partition(void* p, uint64_t size) noexcept nogil:
    partition_free(<Partition*>p)


cdef void all_shards(const Keyspace* ks, ShardSet* s) noexcept nogil:
    cdef uint32_t i
    shard_set_clear(s)
    for i in range(ks.shard_count):
        shard_set_add(s, i)


cdef void keyspace_flush(Keyspace* ks, int db) noexcept nogil:
    """Detach whole partitions with all shards locked: nobody sees half a flush, and nobody waits for the freeing. What they
    hold stops counting towards the ceiling at once, so that a flush makes room for the very next write."""
    cdef uint32_t i
    cdef int d
    cdef Partition* p
    cdef ShardSet all
    all_shards(ks, &all)
    keyspace_lock(ks, &all)
    for i in range(ks.shard_count):
        for d in range(DATABASES):
            p = ks.shards[i].parts[d]
            if p == NULL or (db >= 0 and d != db):
                continue
            log_flush(ks.shards[i].log, d, p.table.count)
            store_ptr(<void**>&ks.shards[i].parts[d], NULL)
            shard_disown(p)
            grace_retire(&ks.shared.grace, p, 0, retired_partition)
    keyspace_unlock(ks, &all)


cdef void swap_parts(Shard* s, int a, int b) noexcept nogil:
    cdef Partition* p = s.parts[a]
    cdef Partition* q = s.parts[b]
    store_ptr(<void**>&s.parts[a], q)
    store_ptr(<void**>&s.parts[b], p)
    if p != NULL:
        p.db = b
    if q != NULL:
        q.db = a
    if p != NULL or q != NULL:
        s.contents[a], s.contents[b] = s.contents[b], s.contents[a]
        log_swap(s.log, a, b)


cdef void keyspace_swap(Keyspace* ks, int a, int b) noexcept nogil:
    cdef uint32_t i
    cdef ShardSet all
    all_shards(ks, &all)
    keyspace_lock(ks, &all)
    for i in range(ks.shard_count):
        swap_parts(&ks.shards[i], a, b)
    keyspace_unlock(ks, &all)


cdef void keyspace_stats(Keyspace* ks, KeyspaceStats* out) noexcept nogil:
    cdef uint32_t i
    cdef int db
    cdef Shard* s
    cdef Partition* p
    memset(out, 0, sizeof(KeyspaceStats))
    for i in range(ks.shard_count):
        s = &ks.shards[i]
        lock_acquire(&s.lock)
        out.hits += s.hits
        out.misses += s.misses
        out.expired += s.expired
        out.expired_lazy += s.expired_lazy
        out.evicted += s.evicted
        for db in range(DATABASES):
            p = s.parts[db]
            if p != NULL:
                out.live_bytes += p.arena.live_bytes + p.block_bytes
                out.held_bytes += p.arena.held_bytes + p.block_bytes
                out.table_bytes += table_bytes(&p.table)
                out.other_bytes += partition_overhead(p)
        lock_release(&s.lock)
    out.retired = relaxed_u64(&ks.shared.grace.retired_count)


cdef void keyspace_reset_stats(Keyspace* ks) noexcept nogil:
    cdef uint32_t i
    for i in range(ks.shard_count):
        lock_acquire(&ks.shards[i].lock)
        ks.shards[i].hits = 0
        ks.shards[i].misses = 0
        ks.shards[i].expired = 0
        ks.shards[i].expired_lazy = 0
        ks.shards[i].evicted = 0
        lock_release(&ks.shards[i].lock)


# Walking --------------------------------------------------------------------------------------------------------


cdef struct Walk:
    KeyVisit visit
    void* owner
    int64_t now
    uint64_t visited


cdef void visit_live(void* owner, uint32_t handle, char* entry) noexcept nogil:
    cdef Walk* w = <Walk*>owner
    w.visited += 1
    if not entry_expires(entry) or entry_deadline(entry) >= w.now:
        w.visit(w.owner, entry)


cdef uint64_t keyspace_scan(Keyspace* ks, int db, uint64_t cursor, uint64_t count, int64_t now, KeyVisit visit, void* owner) noexcept nogil:
    cdef uint64_t index = cursor >> (CURSOR_TAG_BITS + 1)
    cdef uint64_t kind = cursor >> CURSOR_TAG_BITS & 1
    cdef uint64_t tag = cursor & 0xFFFFFFFFULL
    cdef Shard* s
    cdef Partition* p
    cdef Walk walk
    walk.visit = visit
    walk.owner = owner
    walk.now = now
    walk.visited = 0
    while index < ks.shard_count:
        s = &ks.shards[index]
        lock_acquire(&s.lock)
        p = s.parts[db]
        if p != NULL and p.table.count:
            if kind != <uint64_t>p.table.kind:
                tag = 0                     # the order of this shard has changed under the scan: begin it again
                kind = <uint64_t>p.table.kind
            tag = table_scan(&p.table, &p.arena, tag, count - walk.visited, visit_live, &walk)
        else:
            tag = ALL_TAGS
        lock_release(&s.lock)
        if tag < ALL_TAGS:
            return index << (CURSOR_TAG_BITS + 1) | kind << CURSOR_TAG_BITS | tag
        index += 1
        tag = 0
        kind = TAG_MIXED
        if walk.visited >= count and index < ks.shard_count:
            return index << (CURSOR_TAG_BITS + 1)
    return 0


cdef void keyspace_visit_locked(Keyspace* ks, int db, int64_t now, KeyVisit visit, void* owner) noexcept nogil:
    cdef uint32_t i
    cdef uint64_t tag
    cdef Partition* p
    cdef Walk walk
    walk.visit = visit
    walk.owner = owner
    walk.now = now
    walk.visited = 0
    for i in range(ks.shard_count):
        p = ks.shards[i].parts[db]
        if p == NULL:
            continue
        tag = 0
        while tag < ALL_TAGS:
            tag = table_scan(&p.table, &p.arena, tag, ALL_TAGS, visit_live, &walk)


cdef void remove_expired(Shard* s, Partition* p, char* e, int64_t now) noexcept nogil:
    """shard_find removes what is past its time."""
    cdef Found found
    cdef View key = entry_key(e)
    shard_find(s, p, key, fnv1a(key.ptr, key.len), now, &found)


cdef bint keyspace_random(Keyspace* ks, int db, int64_t now, KeyVisit visit, void* owner) noexcept nogil:
    """A shard by its share of the keys, then an entry of it. Expired entries that it meets are removed."""
    cdef uint64_t total = 0, pick, slot = 0
    cdef uint32_t i
    cdef Partition* p
    cdef char* e
    cdef bint done = False
    keyspace_lock_all(ks)
    while not done:
        total = 0
        for i in range(ks.shard_count):
            if ks.shards[i].parts[db] != NULL:
                total += ks.shards[i].parts[db].table.count
        if total == 0:
            break
        pick = random_next(&ks.random_state) % total
        for i in range(ks.shard_count):
            p = ks.shards[i].parts[db]
            if p == NULL:
                continue
            if pick >= p.table.count:
                pick -= p.table.count
                continue
            table_sample(&p.table, random_next(&ks.random_state), 1, &slot)
            e = arena_ptr(&p.arena, slot_handle(slot))
            if entry_is_over(e, now):
                remove_expired(&ks.shards[i], p, e, now)
                break
            visit(owner, e)
            done = True
            break
    keyspace_unlock_all(ks)
    return done


# Looking ahead --------------------------------------------------------------------------------------------------


cdef inline Partition* peek_partition(Keyspace* ks, int db, uint64_t hash) noexcept nogil:
    return <Partition*>load_ptr(<void**>&keyspace_shard(ks, hash).parts[db])


cdef inline void ahead_slot(Keyspace* ks, int db, uint64_t hash) noexcept nogil:
    cdef Partition* p = peek_partition(ks, db, hash)
    if p != NULL:
        table_prefetch(&p.table, hash)


cdef inline void ahead_entry(Keyspace* ks, int db, uint64_t hash, SlotHint* hint) noexcept nogil:
    """The first five lines of the entry: a key and 256 bytes of value. What is longer streams well enough."""
    cdef Partition* p = peek_partition(ks, db, hash)
    cdef uint32_t handle
    cdef char* base
    hint.at = NULL
    if p == NULL:
        return
    handle = table_peek(&p.table, hash, hint)
    if handle:
        base = <char*>load_ptr(<void**>&p.arena.bases[handle >> ARENA_PAGE_BITS])
        base += <size_t>(handle & 8191) << 3
        prefetch(base)
        prefetch(base + 64)
        prefetch(base + 128)
        prefetch(base + 192)
        prefetch(base + 256)


cdef inline uint32_t at_most(uint32_t n, uint32_t most) noexcept nogil:
    return n if n < most else most


cdef void keyspace_ahead_begin(Keyspace* ks, int reader, int db, const uint64_t* hashes, SlotHint* hints, uint32_t n) noexcept nogil:
    cdef uint32_t i
    grace_enter(&ks.shared.grace, reader)
    for i in range(at_most(n, SLOTS_AHEAD)):
        ahead_slot(ks, db, hashes[i])
    for i in range(at_most(n, AHEAD_GROUP)):
        ahead_entry(ks, db, hashes[i], &hints[i])


cdef void keyspace_ahead(Keyspace* ks, int db, const uint64_t* hashes, SlotHint* hints, uint32_t n) noexcept nogil:
    cdef uint32_t i
    if n > SLOTS_AHEAD:
        for i in range(SLOTS_AHEAD, at_most(n, SLOTS_AHEAD + AHEAD_GROUP)):
            ahead_slot(ks, db, hashes[i])
    if n > AHEAD_GROUP:
        for i in range(AHEAD_GROUP, at_most(n, 2 * AHEAD_GROUP)):
            ahead_entry(ks, db, hashes[i], &hints[i])


cdef void keyspace_ahead_end(Keyspace* ks, int reader) noexcept nogil:
    grace_leave(&ks.shared.grace, reader)


cdef void keyspace_ahead_slot(Keyspace* ks, int reader, int db, uint64_t hash) noexcept nogil:
    grace_enter(&ks.shared.grace, reader)
    ahead_slot(ks, db, hash)
    grace_leave(&ks.shared.grace, reader)


cdef void keyspace_ahead_entry(Keyspace* ks, int reader, int db, uint64_t hash) noexcept nogil:
    cdef SlotHint hint
    grace_enter(&ks.shared.grace, reader)
    ahead_entry(ks, db, hash, &hint)
    grace_leave(&ks.shared.grace, reader)


# Upkeep ---------------------------------------------------------------------------------------------------------


cdef bint upkeep_partition(Keyspace* ks, Partition* p, int64_t now) noexcept nogil:
    cdef bint more = table_work(&p.table, &p.arena, TABLE_UPKEEP)
    if ks.active_expiry and shard_expire(p, now, EXPIRE_STEP):
        more = True
    if p.s3fifo.bytes and shared_tracking(&ks.shared) != TRACK_S3FIFO:
        s3_clear(&p.s3fifo)
        shard_account(p)
    if shard_compact(p, COMPACT_STEP):
        more = True
    return more


cdef char* next_full_segment(Keyspace* ks) noexcept nogil:
    cdef uint32_t i
    cdef int db
    cdef char* segment = NULL
    for i in range(ks.shard_count):
        for db in range(DATABASES):
            if load_ptr(<void**>&ks.shards[i].parts[db]) == NULL or not lock_try(&ks.shards[i].lock):
                continue
            if ks.shards[i].parts[db] != NULL:
                segment = arena_full_segment(&ks.shards[i].parts[db].arena)
            lock_release(&ks.shards[i].lock)
            if segment != NULL:
                return segment
    return NULL


cdef bint make_one_huge(Keyspace* ks) noexcept nogil:
    """LIFETIME: the segment is worked on without the shard's lock; its partition may be retired meanwhile, but is not freed before
    this section of a reader ends."""
    cdef char* segment
    if ks.upkeep_reader < 0:
        return False
    grace_enter(&ks.shared.grace, ks.upkeep_reader)
    segment = next_full_segment(ks)
    if segment != NULL:
        make_huge(segment, ARENA_SEGMENT)
    grace_leave(&ks.shared.grace, ks.upkeep_reader)
    return segment != NULL


cdef bint keyspace_upkeep(Keyspace* ks, int64_t now) noexcept nogil:
    """A little for every partition. The lock is only tried: a shard that is busy is looked at again in the next round."""
    cdef uint32_t i
    cdef int db
    cdef Shard* s
    cdef uint64_t before
    cdef bint more = False
    for i in range(ks.shard_count):
        s = &ks.shards[i]
        for db in range(DATABASES):
            if load_ptr(<void**>&s.parts[db]) == NULL:
                continue
            if not lock_try(&s.lock):
                more = True
                continue
            if s.parts[db] != NULL and upkeep_partition(ks, s.parts[db], now):
                more = True
            lock_release(&s.lock)
    if relaxed_u32(&ks.loading) == 0 and keyspace_is_full(ks) and keyspace_can_evict(ks):
        before = keyspace_used(ks)
        eviction_step(&ks.shared, ks.shards, ks.shard_count, EVICT_UPKEEP)
        if keyspace_is_full(ks) and keyspace_used(ks) < before:
            more = True
    if make_one_huge(ks):                       # one a round: it stops the process's page faults for a moment
        more = True
    grace_reclaim(&ks.shared.grace)
    return more


cdef void upkeep_main(void* arg) noexcept nogil:
    """Rounds as long as there is work, then a pause: a quarter of a tick, at most 100 ms, so that expiry stays within two
    ticks of its deadline."""
    cdef Keyspace* ks = <Keyspace*>arg
    cdef int64_t pause = ks.shared.tick_ms * 250
    cdef int64_t now
    if pause > 100000:
        pause = 100000
    while load_u32(&ks.upkeep_state) == UPKEEP_RUNS:
        now = keyspace_now(ks)
        store_u64(&ks.shared.round_now, <uint64_t>now)
        if keyspace_upkeep(ks, now):
            sleep_us(20)            # let a waiting request have the core
        else:
            word_wait(&ks.upkeep_state, UPKEEP_RUNS, pause)
        add_u64(&ks.upkeep_rounds, 1)


cdef bint keyspace_start_upkeep(Keyspace* ks) noexcept nogil:
    if ks.upkeep_state == UPKEEP_RUNS:
        return True
    ks.upkeep_state = UPKEEP_RUNS
    if thread_create(&ks.upkeep_thread, upkeep_main, ks) != 0:
        ks.upkeep_state = UPKEEP_NONE
        return False
    return True


cdef void keyspace_stop_upkeep(Keyspace* ks) noexcept nogil:
    if ks.upkeep_state == UPKEEP_RUNS:
        store_u32(&ks.upkeep_state, UPKEEP_STOPS)
        word_wake(&ks.upkeep_state)
        thread_join(ks.upkeep_thread)
        store_u64(&ks.shared.round_now, 0)
    ks.upkeep_state = UPKEEP_NONE


# For Python -----------------------------------------------------------------------------------------------------


cdef class Store:
    """A keyspace with its upkeep thread.

    shards: 1 to 1024. evict_interval_ms: length of a wheel's tick, 0 leaves expiry to reads. evict_slots: buckets of a wheel's
    level, 8 to 1024. max_memory: bytes, 0 for no ceiling. upkeep=False leaves upkeep to calls of `upkeep()` (tests with a clock of
    their own).
    """

    def __cinit__(self, unsigned int shards, long long evict_interval_ms=1000, unsigned int evict_slots=256,
                  unsigned long long max_memory=0, *, bint upkeep=True):
        if not 1 <= shards <= SHARDS_MAX:
            raise ValueError(f"shards: {shards} is not between 1 and {SHARDS_MAX}")
        if not WHEEL_SLOTS_MIN <= evict_slots <= WHEEL_SLOTS_MAX:
            raise ValueError(f"evict_slots: {evict_slots} is not between {WHEEL_SLOTS_MIN} and {WHEEL_SLOTS_MAX}")
        if evict_interval_ms < 0:
            raise ValueError(f"evict_interval_ms: {evict_interval_ms} is negative")
        self.ks = keyspace_new(shards, evict_interval_ms, evict_slots, max_memory)
        if self.ks == NULL:
            raise MemoryError("no memory for the keyspace")
        if upkeep and not keyspace_start_upkeep(self.ks):
            raise RuntimeError("the upkeep thread cannot be started")

    def __dealloc__(self):
        if self.ks != NULL:
            keyspace_free(self.ks)

    def stop_upkeep(self):
        """End the upkeep thread and wait for it. Reads stay exact; memory of expired keys is freed when they are met."""
        with nogil:
            keyspace_stop_upkeep(self.ks)

    def resume_upkeep(self):
        """In a child of os.fork: start the thread again, if the parent has one. A child that can have none does without."""
        if self.ks.upkeep_state == UPKEEP_GONE:
            keyspace_start_upkeep(self.ks)

    def upkeep(self):
        """Do upkeep until nothing is left to do now; for stores without the thread."""
        with nogil:
            while keyspace_upkeep(self.ks, keyspace_now(self.ks)):
                pass

    def set_clock(self, long long ms):
        """Freeze the store's clock at a Unix time in milliseconds; 0 lets it run again. For tests."""
        store_u64(<uint64_t*>&self.ks.shared.fixed_now, <uint64_t>ms)

    @property
    def shard_count(self):
        """Number of shards."""
        return self.ks.shard_count

    @property
    def max_memory(self):
        """The memory ceiling in bytes; 0: none."""
        return relaxed_u64(&self.ks.shared.max_memory)

    @max_memory.setter
    def max_memory(self, unsigned long long value):
        shared_set_ceiling(&self.ks.shared, value)

    @property
    def max_memory_policy(self):
        """What is evicted at the ceiling: one of POLICIES."""
        return POLICIES[relaxed_u32(&self.ks.shared.rules.policy)]

    @max_memory_policy.setter
    def max_memory_policy(self, str value):
        if value not in POLICIES:
            raise ValueError(f"max_memory_policy: {value!r} is none of {', '.join(POLICIES)}")
        cdef uint32_t policy = POLICIES.index(value)
        store_u32(&self.ks.shared.rules.policy, policy)
        store_u32(&self.ks.shared.rules.tracking, policy_tracking(<EvictionPolicy>policy))

    @property
    def max_memory_samples(self):
        """How many keys lru and lfu look at for each that they evict: 1 to SAMPLES_MAX, what is beyond counts as that."""
        return relaxed_u32(&self.ks.shared.rules.samples)

    @max_memory_samples.setter
    def max_memory_samples(self, unsigned int value):
        store_u32(&self.ks.shared.rules.samples, min(max(value, 1), SAMPLES_MAX))

    @property
    def lfu_log_factor(self):
        """How much more it takes to count further."""
        return relaxed_u32(&self.ks.shared.rules.lfu_log_factor)

    @lfu_log_factor.setter
    def lfu_log_factor(self, unsigned int value):
        store_u32(&self.ks.shared.rules.lfu_log_factor, value)

    @property
    def lfu_decay_time(self):
        """Minutes that take 1 from a counter; 0: none do."""
        return relaxed_u32(&self.ks.shared.rules.lfu_decay_time)

    @lfu_decay_time.setter
    def lfu_decay_time(self, unsigned int value):
        store_u32(&self.ks.shared.rules.lfu_decay_time, value)

    @property
    def max_value(self):
        """The longest string in bytes (proto-max-bulk-len)."""
        return relaxed_u64(&self.ks.max_value)

    @max_value.setter
    def max_value(self, unsigned long long value):
        store_u64(&self.ks.max_value, value)

    @property
    def loading(self):
        """Whether what is on disk is being read: commands are refused meanwhile, but for those that tell how it stands."""
        return bool(relaxed_u32(&self.ks.loading))

    @loading.setter
    def loading(self, bint value):
        store_u32(&self.ks.loading, value)

    @property
    def cluster(self):
        """Whether clients are told that this is a cluster of one node."""
        return bool(self.ks.cluster)

    @cluster.setter
    def cluster(self, bint value):
        self.ks.cluster = value

    @property
    def active_expiry(self):
        """Whether the wheels turn."""
        return bool(self.ks.active_expiry)

    @active_expiry.setter
    def active_expiry(self, bint value):
        self.ks.active_expiry = value

    @property
    def used_memory(self):
        """Bytes that count towards the ceiling."""
        with nogil:
            keyspace_account(self.ks)
        return keyspace_used(self.ks)

    def sizes(self):
        """(keys, keys with a deadline) of each database, in order."""
        cdef int db
        return [(keyspace_size(self.ks, db), keyspace_expires(self.ks, db)) for db in range(DATABASES)]

    def average_ttl(self, int db):
        """What the keys of a database that have a deadline have left until then, in ms; 0 if it has none of them."""
        return keyspace_average_ttl(self.ks, db)

    def stats(self):
        """Counters and sizes of all shards, by name: hits, misses, expired, expired_lazy, evicted, live_bytes, held_bytes, table_bytes,
        other_bytes, retired."""
        cdef KeyspaceStats s
        with nogil:
            keyspace_stats(self.ks, &s)
        return {"hits": s.hits, "misses": s.misses, "expired": s.expired, "expired_lazy": s.expired_lazy, "evicted": s.evicted,
                "live_bytes": s.live_bytes, "held_bytes": s.held_bytes, "table_bytes": s.table_bytes,
                "other_bytes": s.other_bytes, "retired": s.retired}

    def reset_stats(self):
        """Set the counters to zero."""
        with nogil:
            keyspace_reset_stats(self.ks)
