"""Eviction (see eviction.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc
from libc.string cimport memmove

from tellstone._core.base.atomics cimport add_u64, relaxed_u32, relaxed_u64
from tellstone._core.base.bytesops cimport View
from tellstone._core.base.fnv cimport fnv1a
from tellstone._core.base.lock cimport lock_acquire, lock_release, lock_try
from tellstone._core.base.random cimport random_next
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.memory.arena cimport arena_ptr
from tellstone._core.memory.wheel cimport wheel_first, wheel_nearest, wheel_next
from tellstone._core.store.access cimport LFU_MAX, access_frequency, access_idle, shared_tracking
from tellstone._core.store.entry cimport DATABASES, ENTRY_ACCESS_MASK, entry_access, entry_deadline, entry_expires, entry_key
from tellstone._core.store.policy cimport (
    POLICY_ALLKEYS_RANDOM, POLICY_ALLKEYS_S3FIFO, POLICY_NONE, POLICY_VOLATILE_RANDOM, POLICY_VOLATILE_TTL, SAMPLES_MAX, TRACK_LFU,
    EvictionPolicy, policy_is_volatile,
)
from tellstone._core.store.s3fifo cimport s3_victim
from tellstone._core.store.shard cimport (
    CANDIDATES_MAX, Candidate, Candidates, Found, Partition, Shard, Shared, shard_evict, shared_lately,
)
from tellstone._core.store.table cimport slot_handle, slot_tag, table_find, table_first_of, table_sample

check_layout(__name__)

cdef enum:
    RARE = 8                        # keys with a deadline are rare below one in so many
    NEAREST_LOOKS = 64              # nodes of a wheel's bucket that the nearest deadline is looked for among
    AHEAD = 3600                    # seconds by which clocks may differ, or have been set back
    OVERSHOOT = 16                  # the part of the ceiling that a write may go above it, while eviction is under way

cdef enum Eviction:                 # how a search for a key to evict has ended
    EVICTED = 0
    UNDER_WAY = 1                   # the budget is used up
    NOTHING = 2                     # no key may be evicted


# Finding keys again ---------------------------------------------------------------------------------------------


cdef inline void found_at(Partition* p, uint64_t* slot, Found* found) noexcept nogil:
    found.slot = slot
    found.tag = slot_tag(slot[0])
    found.handle = slot_handle(slot[0])
    found.entry = arena_ptr(&p.arena, found.handle)


cdef inline bint find_slot(Partition* p, uint64_t word, Found* found) noexcept nogil:
    """The entry whose slot had this value, if it is still there."""
    cdef uint64_t* slot = table_first_of(&p.table, slot_tag(word))
    while slot != NULL and slot[0] and slot_tag(slot[0]) == slot_tag(word):
        if slot[0] == word:
            found_at(p, slot, found)
            return True
        slot += 1
    return False


cdef inline void find_handle(Partition* p, uint32_t handle, Found* found) noexcept nogil:
    cdef View key = entry_key(arena_ptr(&p.arena, handle))
    table_find(&p.table, &p.arena, key, fnv1a(key.ptr, key.len), found)


cdef inline uint64_t eligible(const Partition* p, EvictionPolicy policy) noexcept nogil:
    """How many keys may go."""
    if p == NULL:
        return 0
    return p.wheel.count if policy_is_volatile(policy) else p.table.count


cdef inline bint is_rare(const Partition* p) noexcept nogil:
    return p.wheel.count * RARE < p.table.count


cdef inline void spend(uint32_t* looks, uint32_t n) noexcept nogil:
    looks[0] -= n if n < looks[0] else looks[0]


# The wheel, bucket after bucket ---------------------------------------------------------------------------------


cdef void sweep_on(Partition* p, Found* found) noexcept nogil:
    """The next key with a deadline, in the order of the wheel's buckets, round and round. There is one."""
    cdef uint32_t next_handle
    cdef Found after
    if not (p.sweep_slot and find_slot(p, p.sweep_slot, found) and entry_expires(found.entry)):
        find_handle(p, wheel_first(&p.wheel, &p.sweep_bucket), found)
    next_handle = wheel_next(&p.arena, found.handle)
    if next_handle:
        find_handle(p, next_handle, &after)
        p.sweep_slot = after.slot[0]
    else:
        p.sweep_slot = 0
        p.sweep_bucket += 1


# Candidates -----------------------------------------------------------------------------------------------------


cdef inline int64_t merit_of(const Shard* s, const char* e) noexcept nogil:
    """The clock that is read here may be behind that of whoever asked for the key."""
    cdef uint32_t access = entry_access(e)
    cdef uint32_t idle
    if shared_tracking(s.shared) == TRACK_LFU:
        return <int64_t>LFU_MAX - access_frequency(s, access)
    idle = access_idle(access, shared_lately(s.shared))
    return idle if idle < ENTRY_ACCESS_MASK - AHEAD else 0


cdef void candidate_offer(Candidates* c, uint64_t slot, int db, int64_t merit) noexcept nogil:
    """Put a key in its place, where the least worthy makes room for it."""
    cdef uint32_t i, at = 0
    for i in range(c.count):
        if c.each[i].slot == slot and c.each[i].db == db:
            return
        if c.each[i].merit < merit:
            at = i + 1
    if c.count == CANDIDATES_MAX:
        if at == 0:
            return
        at -= 1
        memmove(&c.each[0], &c.each[1], at * sizeof(Candidate))
    else:
        memmove(&c.each[at + 1], &c.each[at], (c.count - at) * sizeof(Candidate))
        c.count += 1
    c.each[at].slot = slot
    c.each[at].db = db
    c.each[at].merit = merit


cdef void sample_table(Shard* s, Partition* p, uint32_t wanted, bint expiring, uint32_t* looks) noexcept nogil:
    cdef uint64_t slots[SAMPLES_MAX]
    cdef uint32_t most = wanted * RARE if expiring else wanted
    cdef uint32_t n = table_sample(&p.table, random_next(&s.random), most if most < SAMPLES_MAX else <uint32_t>SAMPLES_MAX, slots)
    cdef uint32_t i
    cdef char* e
    for i in range(n):
        e = arena_ptr(&p.arena, slot_handle(slots[i]))
        if not expiring or entry_expires(e):
            candidate_offer(s.candidates, slots[i], p.db, merit_of(s, e))
    spend(looks, n)


cdef void sample_wheel(Shard* s, Partition* p, uint32_t wanted, uint32_t* looks) noexcept nogil:
    cdef Found found
    cdef uint32_t i
    for i in range(wanted):
        sweep_on(p, &found)
        candidate_offer(s.candidates, found.slot[0], p.db, merit_of(s, found.entry))
    spend(looks, wanted)


cdef void sample(Shard* s, EvictionPolicy policy, uint32_t* looks) noexcept nogil:
    """Some keys of every database."""
    cdef uint32_t wanted = relaxed_u32(&s.shared.rules.samples)
    cdef bint expiring = policy_is_volatile(policy)
    cdef Partition* p
    cdef int db
    for db in range(DATABASES):
        p = s.parts[db]
        if eligible(p, policy) == 0:
            continue
        if expiring and is_rare(p):
            sample_wheel(s, p, wanted, looks)
        else:
            sample_table(s, p, wanted, expiring, looks)


cdef bint take_candidate(Shard* s, EvictionPolicy policy, Found* found, Partition** of) noexcept nogil:
    """The best that is still what it was; those that are not are dropped."""
    cdef Candidates* c = s.candidates
    cdef Candidate* best
    while c.count:
        c.count -= 1
        best = &c.each[c.count]
        of[0] = s.parts[best.db]
        if of[0] == NULL or not find_slot(of[0], best.slot, found):
            continue
        if (entry_expires(found.entry) or not policy_is_volatile(policy)) and merit_of(s, found.entry) >= best.merit:
            return True
    return False


cdef bint choose_sampled(Shard* s, EvictionPolicy policy, Found* found, Partition** of, uint32_t* looks) noexcept nogil:
    if s.candidates == NULL:
        s.candidates = <Candidates*>calloc(1, sizeof(Candidates))
        if s.candidates == NULL:
            looks[0] = 0
            return False
    if s.candidates.policy != <uint32_t>policy:
        s.candidates.policy = policy
        s.candidates.count = 0
    while looks[0]:
        sample(s, policy, looks)
        if take_candidate(s, policy, found, of):
            return True
    return False


# The other policies ---------------------------------------------------------------------------------------------


cdef Partition* draw_partition(Shard* s, EvictionPolicy policy, uint64_t total) noexcept nogil:
    """A database by its share of the keys that may go; there are `total`, not 0."""
    cdef uint64_t pick = random_next(&s.random) % total
    cdef int db = 0
    while pick >= eligible(s.parts[db], policy):
        pick -= eligible(s.parts[db], policy)
        db += 1
    return s.parts[db]


cdef bint choose_random(Shard* s, Partition* p, Found* found, uint32_t* looks) noexcept nogil:
    cdef uint64_t slot = 0
    spend(looks, 1)
    return table_sample(&p.table, random_next(&s.random), 1, &slot) == 1 and find_slot(p, slot, found)


cdef bint choose_random_expiring(Shard* s, Partition* p, Found* found, uint32_t* looks) noexcept nogil:
    cdef uint32_t skip = <uint32_t>(random_next(&s.random) >> 60)
    while looks[0] and not is_rare(p):
        if choose_random(s, p, found, looks) and entry_expires(found.entry):
            return True
    while skip and looks[0] and is_rare(p):
        sweep_on(p, found)
        spend(looks, 1)
        skip -= 1
    spend(looks, 1)
    sweep_on(p, found)
    return True


cdef bint choose_nearest(Shard* s, Found* found, Partition** of, uint32_t* looks) noexcept nogil:
    """The nearest deadline of all databases."""
    cdef int64_t nearest = 0
    cdef uint32_t handle, best = 0
    cdef int64_t deadline
    cdef int db
    for db in range(DATABASES):
        if eligible(s.parts[db], POLICY_VOLATILE_TTL) == 0:
            continue
        handle = wheel_nearest(&s.parts[db].wheel, &s.parts[db].arena, NEAREST_LOOKS)
        deadline = entry_deadline(arena_ptr(&s.parts[db].arena, handle))
        spend(looks, 1)
        if best == 0 or deadline < nearest:
            of[0] = s.parts[db]
            best = handle
            nearest = deadline
    find_handle(of[0], best, found)
    return True


cdef bint choose_s3fifo(Partition* p, Found* found, uint32_t* looks) noexcept nogil:
    cdef uint64_t* slot = s3_victim(&p.s3fifo, &p.table, &p.arena, looks)
    if slot != NULL:
        found_at(p, slot, found)
    return slot != NULL


# Making room ----------------------------------------------------------------------------------------------------


cdef Eviction evict_locked(Shard* s, EvictionPolicy policy, uint32_t* looks) noexcept nogil:
    """One key of a shard."""
    cdef Found found
    cdef Partition* p = NULL
    cdef uint64_t total = 0
    cdef bint chosen
    cdef int db
    for db in range(DATABASES):
        total += eligible(s.parts[db], policy)
    if total == 0:
        return NOTHING
    if policy == POLICY_VOLATILE_TTL:
        chosen = choose_nearest(s, &found, &p, looks)
    elif policy == POLICY_ALLKEYS_RANDOM:
        p = draw_partition(s, policy, total)
        chosen = choose_random(s, p, &found, looks)
    elif policy == POLICY_VOLATILE_RANDOM:
        p = draw_partition(s, policy, total)
        chosen = choose_random_expiring(s, p, &found, looks)
    elif policy == POLICY_ALLKEYS_S3FIFO:
        p = draw_partition(s, policy, total)
        chosen = choose_s3fifo(p, &found, looks)
    else:
        chosen = choose_sampled(s, policy, &found, &p, looks)
    if not chosen:
        return UNDER_WAY
    shard_evict(p, &found)
    return EVICTED


cdef inline uint32_t draw_shard(Shared* shared, Shard* shards, uint32_t count) noexcept nogil:
    """The fuller of two: shards are emptied by what they hold, and none of them runs dry by chance."""
    cdef uint64_t state = add_u64(&shared.draws, 1)
    cdef uint64_t random
    state *= 0x9e3779b97f4a7c15ULL
    random = random_next(&state)
    cdef uint32_t a = <uint32_t>(random % count)
    cdef uint32_t b = <uint32_t>((random >> 32) % count)
    return a if relaxed_u64(&shards[a].bytes) >= relaxed_u64(&shards[b].bytes) else b


cdef Eviction evict_one(Shared* shared, Shard* shards, uint32_t count, EvictionPolicy policy, uint32_t* looks) noexcept nogil:
    """From a shard that is drawn, or the next one that has a key to give. ORDER: shards that are busy are waited for only when those that are
    not have given nothing."""
    cdef uint32_t first = draw_shard(shared, shards, count)
    cdef uint32_t i, attempt
    cdef Shard* s
    cdef Eviction end = NOTHING
    for attempt in range(2):
        for i in range(count):
            s = &shards[(first + i) % count]
            if attempt:
                lock_acquire(&s.lock)
            elif not lock_try(&s.lock):
                continue
            end = evict_locked(s, policy, looks)
            lock_release(&s.lock)
            if end != NOTHING:
                return end
    return NOTHING


cdef inline bint is_full(const Shared* shared, bint allowance) noexcept nogil:
    cdef uint64_t ceiling = relaxed_u64(&shared.max_memory)
    return ceiling != 0 and relaxed_u64(&shared.used) >= ceiling + (ceiling // OVERSHOOT if allowance else 0)


cdef bint evict(Shared* shared, Shard* shards, uint32_t count, uint32_t looks, bint allowance) noexcept nogil:
    """Until there is room or the looks are used up. False: nothing may go any more."""
    cdef EvictionPolicy policy = <EvictionPolicy>relaxed_u32(&shared.rules.policy)
    while looks and is_full(shared, allowance):
        if policy == POLICY_NONE or evict_one(shared, shards, count, policy, &looks) == NOTHING:
            return False
    return True


cdef bint eviction_step(Shared* shared, Shard* shards, uint32_t count, uint32_t looks) noexcept nogil:
    return evict(shared, shards, count, looks, False)


cdef bint eviction_makes_room(Shared* shared, Shard* shards, uint32_t count) noexcept nogil:
    return (evict(shared, shards, count, EVICT_LOOKS, False) and evict(shared, shards, count, EVICT_LOOKS_MOST, True)
            and not is_full(shared, True))
