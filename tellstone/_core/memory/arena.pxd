"""Byte arenas: the memory of a partition's entries.

An arena hands out objects of 8 bytes to 32 KiB from pages of 64 KiB, each page cut into slots of one size class, and
single larger objects from mappings of their own. An object is named by a 32-bit handle: 19 bits of page, 13 bits of
offset in units of 8 bytes. Handles instead of pointers make table slots 8 bytes small and let `store.shard` move
objects out of sparse pages, so that memory goes back to the system (size classes and per-page free lists as in
Bonwick's slab allocator, 1994; moving by handle as in log-structured memory, Rumble et al., FAST 2014).

LOCK: everything here is guarded by the lock of the shard that owns the arena. Look-ahead may read `bases` without
it: the directory and the segments are mapped once and never move or go away before the arena does.
INVARIANT: the first byte of a live object is not zero; of a free slot it is zero.
INVARIANT: page 0 is never used, so a handle is at least 8192 and 0 means none.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    ARENA_PAGE = 65536              # bytes
    ARENA_SEGMENT = 2097152         # a mapping of 32 pages, the size of a huge page
    ARENA_PAGE_BITS = 13            # of a handle, for the offset in 8-byte units
    ARENA_CLASSES = 112
    ARENA_SMALL_MAX = 32768         # larger objects get a mapping of their own
    ARENA_LARGE = 255               # the class of such a page
    ARENA_PAGES_MAX = 524288

cdef struct ArenaPage:
    uint8_t cls                     # size class, or ARENA_LARGE
    uint8_t detached                # being emptied: frees do not put it back on its class's list
    uint16_t used                   # live objects
    uint16_t bump                   # slots handed out at least once; those above are untouched
    uint16_t free_head              # a free slot's offset in units, 0xFFFF: none
    uint32_t next                   # list of its class's pages with room, or of free pages; a large object's units
    uint32_t prev

cdef struct Arena:
    char** bases                    # page -> address; reserved whole, so that it never moves
    ArenaPage* pages
    uint32_t page_count             # pages ever made, page 0 included
    uint32_t free_pages             # list of pages without a class
    uint32_t free_resident          # how many of those still hold memory of the system
    uint32_t free_discarded         # list of free pages whose memory has been given back
    uint32_t free_numbers           # list of page numbers that large objects have left
    uint32_t partial[ARENA_CLASSES]         # list of pages with room, by class
    uint32_t class_pages[ARENA_CLASSES]
    uint32_t class_used[ARENA_CLASSES]
    char** segments                 # mappings of 2 MiB, for the end
    uint32_t segment_count
    uint32_t segment_cap
    uint32_t huge_count             # segments that arena_full_segment has named
    uint64_t live_bytes             # of slots in use, at their class's size, and of large objects
    uint64_t held_bytes             # of pages that hold the system's memory, and of large objects

cdef inline char* arena_ptr(const Arena* a, uint32_t handle) noexcept nogil:
    """The object of a live handle. LIFETIME: until it is freed or moved, that is, until the shard's lock is let go."""
    return a.bases[handle >> ARENA_PAGE_BITS] + (<size_t>(handle & 8191) << 3)

cdef size_t arena_slot_size(size_t size) noexcept nogil      # what an object of this size really takes
cdef bint arena_init(Arena* a) noexcept nogil                # False without memory
cdef void arena_destroy(Arena* a) noexcept nogil             # every object goes, without being looked at
cdef char* arena_alloc(Arena* a, size_t size, uint32_t* handle) noexcept nogil   # NULL without memory
cdef void arena_free(Arena* a, uint32_t handle) noexcept nogil
# Compaction, driven by the shard: pick a page worth emptying (0: none), take it off its list, walk its live objects
# (`cursor` starts at 0; 0 ends the walk), and put it back if some had to stay.
cdef uint32_t arena_sparse_page(Arena* a) noexcept nogil
cdef void arena_detach(Arena* a, uint32_t page) noexcept nogil
cdef void arena_attach(Arena* a, uint32_t page) noexcept nogil
cdef uint32_t arena_next_live(Arena* a, uint32_t page, uint32_t* cursor) noexcept nogil
# Give the memory of free pages back, down to `keep` pages; answers the bytes.
cdef uint64_t arena_trim(Arena* a, uint32_t keep) noexcept nogil
# The next segment whose pages are all in use, each once; NULL: none. Upkeep makes huge pages of them: filling up small pages first
# keeps a small store small, huge pages keep the TLB misses of a large one down.
cdef char* arena_full_segment(Arena* a) noexcept nogil
