"""A partition's table: open addressing with slots kept in the order of their tags.

A slot is 8 bytes: a 32-bit tag above the 32-bit handle of an entry; zero is empty. A tag's home is tag * size >> 32, which
grows with the tag, so linear probing that keeps clusters sorted (ordered hash tables, Amble and Knuth 1974; Robin Hood
hashing, Celis 1985) keeps the whole array sorted by tag, with gaps. That one property pays for everything else:
- Any size will do, not only powers of two: tables grow by half, so they are 58 to 87 % full.
- Growing and shrinking is one pass in order, a few slots an operation, that never looks at an entry. `boundary` says which
  tags have moved already, so every look-up goes to exactly one of the two arrays.
- A missing key is known missing at the first larger tag; a delete shifts its cluster back and leaves no tombstone.
- A scan's cursor is a tag. It means the same in a table of any size, so SCAN returns all that stays, however the table changes.

Tags come from the key's FNV-1a mixed with a secret. FNV-1a itself has collisions that anyone can construct; when a cluster
grows past TABLE_SUSPECT the table changes to SipHash-1-3 of the key (Aumasson and Bernstein, 2012) with the same secret. During that
one change a look-up may visit both arrays.

LOCK: guarded by the shard's lock. Look-ahead reads arrays without it, inside a grace section (store.grace): one that
is replaced stays mapped until no reader can hold it, and its size stands in front of its slots, so that one pointer tells all.
"""
from libc.stdint cimport uint32_t, uint64_t

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.platform cimport mul_fold
from tellstone._core.memory.arena cimport Arena, arena_ptr
from tellstone._core.store.entry cimport entry_has_key
from tellstone._core.store.grace cimport Grace

cdef enum:
    TABLE_MIN = 16                  # homes of the smallest table
    TABLE_SUSPECT = 256             # slots from home: chance does not do this below 87 % full
    TABLE_STEP = 16                 # slots moved by an insert or delete while a change of size is under way

cdef enum TagKind:
    TAG_MIXED = 0                   # FNV-1a mixed with the secret
    TAG_KEYED = 1                   # SipHash-1-3

cdef extern from "tellstone/_core/store/table_peek.h" nogil:
    ctypedef struct SlotArray "ts_slot_array":
        uint64_t size               # homes; fixed for the array's life, as is slack
        uint64_t slack              # slots behind the last home, for its cluster; a few more stay empty for ever
        uint64_t* slot              # a flexible array

    ctypedef struct SlotHint "ts_slot_hint":
        const uint64_t* at          # NULL: none
        uint64_t value

    void peek_prefetch "ts_peek_prefetch"(SlotArray** now, SlotArray** old, const uint64_t* boundary, uint32_t tag) noexcept
    uint32_t peek_handle "ts_peek_handle"(SlotArray** now, SlotArray** old, const uint64_t* boundary, uint32_t tag,
                                          SlotHint* hint) noexcept

cdef struct Table:
    SlotArray* now                  # where new entries go
    SlotArray* old                  # the array being emptied, or NULL
    uint64_t old_pos                # slots of `old` before this one have moved
    uint64_t boundary               # tags below it are in `now`, the others in `old`; 2^32: all in `now`
    uint64_t count
    TagKind kind                    # of `now`
    TagKind old_kind
    uint64_t secret[2]
    Grace* grace                    # takes replaced arrays

cdef struct Found:
    uint64_t* slot                  # NULL: no such key. Good until the table's next insert or delete
    char* entry
    uint32_t handle
    uint32_t tag                    # for table_insert after a miss

ctypedef void (*TableVisit)(void* owner, uint32_t handle, char* entry) noexcept nogil

cdef inline uint32_t slot_handle(uint64_t slot) noexcept nogil:
    return <uint32_t>slot

cdef inline uint32_t slot_tag(uint64_t slot) noexcept nogil:
    return <uint32_t>(slot >> 32)

cdef bint table_init(Table* t, Grace* grace, const uint64_t* secret) noexcept nogil
cdef void table_destroy(Table* t) noexcept nogil
cdef uint64_t table_bytes(const Table* t) noexcept nogil
# hash is the key's FNV-1a
cdef void table_find(Table* t, Arena* a, View key, uint64_t hash, Found* found) noexcept nogil
# The slot that holds a handle: for moving entries. NULL only if it is not there.
cdef uint64_t* table_slot_of(Table* t, Arena* a, uint32_t handle, View key, uint64_t hash) noexcept nogil
# Insert a key that is not there (found.tag comes from table_find). False without memory: nothing has changed.
cdef bint table_insert(Table* t, Arena* a, uint32_t tag, uint32_t handle) noexcept nogil
cdef void table_delete(Table* t, Arena* a, uint64_t* slot) noexcept nogil
cdef bint table_work(Table* t, Arena* a, uint32_t slots) noexcept nogil    # push a change of size on; True: more to do
# Visit entries from a tag on, at least `most` slots' worth unless the table ends; answers the tag to go on from, 2^32: done.
# The visitor changes nothing.
cdef uint64_t table_scan(Table* t, Arena* a, uint64_t from_tag, uint64_t most, TableVisit visit, void* owner) noexcept nogil
# Slots of entries that lie side by side from a random place on, around the end; fewer than `most` only when there are no more.
cdef uint32_t table_sample(Table* t, uint64_t random, uint32_t most, uint64_t* slots) noexcept nogil
# The slot of the least tag that is not below one, and of that tag itself; others of the same tag follow it. NULL: there is none. Good until
# the table's next insert or delete. While the kind of tags changes, slots that have not moved yet may be missed.
cdef uint64_t* table_first(Table* t, uint64_t from_tag) noexcept nogil
cdef uint64_t* table_first_of(Table* t, uint32_t tag) noexcept nogil

cdef inline uint32_t mixed_tag(const Table* t, uint64_t hash) noexcept nogil:
    return <uint32_t>(mul_fold(hash ^ t.secret[0], t.secret[1]) >> 32)

# Look-ahead, without the lock and inside a grace section. Both only guess.
cdef inline void table_prefetch(Table* t, uint64_t hash) noexcept nogil:
    peek_prefetch(&t.now, &t.old, &t.boundary, mixed_tag(t, hash))

cdef inline uint32_t table_peek(Table* t, uint64_t hash, SlotHint* hint) noexcept nogil:
    """A likely handle, or 0, and where it was found."""
    return peek_handle(&t.now, &t.old, &t.boundary, mixed_tag(t, hash), hint)

cdef inline bint table_take_hint(const Table* t, const Arena* a, View key, const SlotHint* hint, Found* found) noexcept nogil:
    """Find a key where table_peek has seen its hash, without probing again. False: look it up. A hint may be out of date: it counts only if
    its place lies in the present array and still holds the same slot.
    LIFETIME: hint.at is only compared until that is known."""
    cdef SlotArray* s = t.now
    cdef char* e
    if not &s.slot[0] <= hint.at < &s.slot[s.size + s.slack] or hint.at[0] != hint.value:
        return False
    e = arena_ptr(a, slot_handle(hint.value))
    found.slot = <uint64_t*>hint.at
    found.entry = e
    found.handle = slot_handle(hint.value)
    found.tag = slot_tag(hint.value)
    return entry_has_key(e, key.ptr, key.len)

cdef void table_settle(Table* t, Arena* a) noexcept nogil                  # finish a change of size at once
