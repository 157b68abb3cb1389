"""Byte arenas (see arena.pxd for what they promise and who may touch them)."""
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from tellstone._core.base.bytesops cimport get_u16, put_u16
from tellstone._core.base.debug cimport check, poison, unpoison
from tellstone._core.base.platform cimport discard_memory, map_aligned, map_memory, unmap_memory
from tellstone._core.base.stamp cimport check_layout

check_layout(__name__)

cdef enum:
    NO_SLOT = 0xFFFF
    SEGMENT = ARENA_SEGMENT
    SEGMENT_PAGES = 32
    KEEP_FREE = 4                   # free pages that keep their memory, so that a page is not given back and forth
    SPARSE_LOOK = 32                # how many pages of a class the search for a sparse one looks at


cdef size_t class_sizes[ARENA_CLASSES]


cdef inline uint32_t class_of(size_t size) noexcept nogil:
    """Steps of 8 bytes up to 512, then eight steps a doubling: at most an eighth of an object is lost."""
    cdef uint32_t doubling = 0
    cdef size_t base = 512
    if size <= 512:
        return <uint32_t>((size + 7) >> 3) - 1 if size else 0
    while size > base * 2:
        base *= 2
        doubling += 1
    return 64 + doubling * 8 + <uint32_t>((size - 1 - base) // (base >> 3))


cdef void fill_class_sizes() noexcept:
    cdef uint32_t c, k
    cdef size_t base
    for c in range(<uint32_t>ARENA_CLASSES):
        if c < 64:
            class_sizes[c] = (c + 1) * 8
        else:
            k = c - 64
            base = (<size_t>512) << (k >> 3)
            class_sizes[c] = base + ((k & 7) + 1) * (base >> 3)


fill_class_sizes()


cdef size_t arena_slot_size(size_t size) noexcept nogil:
    if size > ARENA_SMALL_MAX:
        return (size + 7) & ~(<size_t>7)
    return class_sizes[class_of(size)]


cdef bint arena_init(Arena* a) noexcept nogil:
    memset(a, 0, sizeof(Arena))
    a.bases = <char**>map_memory(ARENA_PAGES_MAX * sizeof(char*))
    a.pages = <ArenaPage*>map_memory(ARENA_PAGES_MAX * sizeof(ArenaPage))
    if a.bases == NULL or a.pages == NULL:
        arena_destroy(a)
        return False
    a.page_count = 1
    return True


cdef void arena_destroy(Arena* a) noexcept nogil:
    cdef uint32_t i
    for i in range(1, a.page_count):
        if a.pages[i].cls == ARENA_LARGE and a.bases[i] != NULL:
            free(a.bases[i])
    for i in range(a.segment_count):
        unpoison(a.segments[i], SEGMENT)
        unmap_memory(a.segments[i], SEGMENT)
    free(a.segments)
    if a.bases != NULL:
        unmap_memory(a.bases, ARENA_PAGES_MAX * sizeof(char*))
    if a.pages != NULL:
        unmap_memory(a.pages, ARENA_PAGES_MAX * sizeof(ArenaPage))
    memset(a, 0, sizeof(Arena))


# Lists of pages -------------------------------------------------------------------------------------------------


cdef inline void list_push(Arena* a, uint32_t* head, uint32_t page) noexcept nogil:
    a.pages[page].next = head[0]
    a.pages[page].prev = 0
    if head[0]:
        a.pages[head[0]].prev = page
    head[0] = page


cdef inline void list_remove(Arena* a, uint32_t* head, uint32_t page) noexcept nogil:
    cdef ArenaPage* p = &a.pages[page]
    if p.prev:
        a.pages[p.prev].next = p.next
    else:
        head[0] = p.next
    if p.next:
        a.pages[p.next].prev = p.prev


cdef uint32_t new_page_index(Arena* a) noexcept nogil:
    if a.page_count >= ARENA_PAGES_MAX:
        return 0
    a.page_count += 1
    return a.page_count - 1


cdef bint add_segment(Arena* a) noexcept nogil:
    """Map 32 more pages and put them on the list of those without memory. They cost nothing until they are touched."""
    cdef char** grown
    cdef char* base
    cdef uint32_t i, page, cap
    if a.page_count + SEGMENT_PAGES > ARENA_PAGES_MAX:
        return False
    if a.segment_count == a.segment_cap:
        cap = a.segment_cap * 2 if a.segment_cap else 8
        grown = <char**>realloc(a.segments, cap * sizeof(char*))
        if grown == NULL:
            return False
        a.segments = grown
        a.segment_cap = cap
    base = <char*>map_aligned(SEGMENT)
    if base == NULL:
        return False
    a.segments[a.segment_count] = base
    a.segment_count += 1
    for i in range(<uint32_t>SEGMENT_PAGES):
        page = new_page_index(a)
        a.bases[page] = base + <size_t>(SEGMENT_PAGES - 1 - i) * ARENA_PAGE   # so that the list starts at the front
        list_push(a, &a.free_discarded, page)
    return True


cdef uint32_t take_page(Arena* a, uint32_t cls) noexcept nogil:
    """A free page for a class, at the head of the class's list of pages with room. 0: no memory."""
    cdef uint32_t page = a.free_pages
    cdef ArenaPage* p
    if page:
        list_remove(a, &a.free_pages, page)
        a.free_resident -= 1
    else:
        if a.free_discarded == 0 and not add_segment(a):
            return 0
        page = a.free_discarded
        list_remove(a, &a.free_discarded, page)
        a.held_bytes += ARENA_PAGE
    p = &a.pages[page]
    p.cls = <uint8_t>cls
    p.detached = 0
    p.used = 0
    p.bump = 0
    p.free_head = NO_SLOT
    list_push(a, &a.partial[cls], page)
    a.class_pages[cls] += 1
    return page


cdef void give_page(Arena* a, uint32_t page) noexcept nogil:
    """An empty page leaves its class; beyond a few spare ones its memory goes back to the system at once."""
    cdef ArenaPage* p = &a.pages[page]
    if not p.detached:
        list_remove(a, &a.partial[p.cls], page)
    a.class_pages[p.cls] -= 1
    p.detached = 0
    unpoison(a.bases[page], ARENA_PAGE)
    list_push(a, &a.free_pages, page)
    a.free_resident += 1
    if a.free_resident > KEEP_FREE + (a.page_count >> 6):
        arena_trim(a, KEEP_FREE)


cdef uint64_t arena_trim(Arena* a, uint32_t keep) noexcept nogil:
    cdef uint32_t page
    cdef uint64_t given = 0
    while a.free_resident > keep:
        page = a.free_pages
        list_remove(a, &a.free_pages, page)
        a.free_resident -= 1
        discard_memory(a.bases[page], ARENA_PAGE)
        list_push(a, &a.free_discarded, page)
        a.held_bytes -= ARENA_PAGE
        given += ARENA_PAGE
    return given


cdef char* arena_full_segment(Arena* a) noexcept nogil:
    """INVARIANT: a new segment is mapped when every page of those before it has been taken once, so all but the last are full."""
    if a.huge_count + 1 >= a.segment_count:
        return NULL
    a.huge_count += 1
    return a.segments[a.huge_count - 1]


# Objects --------------------------------------------------------------------------------------------------------


cdef inline bint page_full(const ArenaPage* p, size_t slot) noexcept nogil:
    return p.free_head == NO_SLOT and (p.bump + 1) * slot > ARENA_PAGE


cdef char* alloc_large(Arena* a, size_t size, uint32_t* handle) noexcept nogil:
    cdef uint32_t page
    cdef char* p
    size = (size + 7) & ~(<size_t>7)
    p = <char*>malloc(size)
    if p == NULL:
        return NULL
    page = a.free_numbers
    if page:
        a.free_numbers = a.pages[page].next
    else:
        page = new_page_index(a)
        if page == 0:
            free(p)
            return NULL
    a.bases[page] = p
    a.pages[page].cls = ARENA_LARGE
    a.pages[page].used = 1
    a.pages[page].next = <uint32_t>(size >> 3)
    a.live_bytes += size
    a.held_bytes += size
    handle[0] = page << ARENA_PAGE_BITS
    return p


cdef char* arena_alloc(Arena* a, size_t size, uint32_t* handle) noexcept nogil:
    cdef uint32_t cls, page, unit
    cdef ArenaPage* p
    cdef size_t slot
    cdef char* at
    if size > ARENA_SMALL_MAX:
        return alloc_large(a, size, handle)
    cls = class_of(size)
    page = a.partial[cls]
    if page == 0:
        page = take_page(a, cls)
        if page == 0:
            return NULL
    p = &a.pages[page]
    slot = class_sizes[cls]
    if p.free_head != NO_SLOT:
        unit = p.free_head
        at = a.bases[page] + (<size_t>unit << 3)
        unpoison(at, slot)
        p.free_head = get_u16(at + 2)
    else:
        unit = <uint32_t>((p.bump * slot) >> 3)
        p.bump += 1
        at = a.bases[page] + (<size_t>unit << 3)
    p.used += 1
    if page_full(p, slot):
        list_remove(a, &a.partial[cls], page)
    a.class_used[cls] += 1
    a.live_bytes += slot
    handle[0] = page << ARENA_PAGE_BITS | unit
    return at


cdef void free_large(Arena* a, uint32_t page) noexcept nogil:
    """A large object's memory goes at once; its page's number waits for the next large object."""
    free(a.bases[page])
    a.bases[page] = NULL
    a.pages[page].used = 0
    a.pages[page].next = a.free_numbers
    a.free_numbers = page


cdef void arena_free(Arena* a, uint32_t handle) noexcept nogil:
    cdef uint32_t page = handle >> ARENA_PAGE_BITS
    cdef uint32_t unit = handle & 8191
    cdef ArenaPage* p = &a.pages[page]
    cdef size_t slot
    cdef char* at
    if p.cls == ARENA_LARGE:
        a.live_bytes -= <uint64_t>p.next << 3
        a.held_bytes -= <uint64_t>p.next << 3
        free_large(a, page)
        return
    slot = class_sizes[p.cls]
    at = a.bases[page] + (<size_t>unit << 3)
    check(at[0] != 0)
    if page_full(p, slot) and not p.detached:
        list_push(a, &a.partial[p.cls], page)
    at[0] = 0
    put_u16(at + 2, p.free_head)
    poison(at + 8, slot - 8)
    p.free_head = <uint16_t>unit
    p.used -= 1
    a.class_used[p.cls] -= 1
    a.live_bytes -= slot
    if p.used == 0:
        give_page(a, page)


# Compaction -----------------------------------------------------------------------------------------------------


cdef uint32_t arena_sparse_page(Arena* a) noexcept nogil:
    """The emptiest of some pages of a class whose free slots would fill two pages and a quarter of the class."""
    cdef uint32_t c, page, best, look, capacity
    cdef uint64_t room
    for c in range(<uint32_t>ARENA_CLASSES):
        if a.class_pages[c] < 2:
            continue
        capacity = <uint32_t>(ARENA_PAGE // class_sizes[c])
        room = <uint64_t>a.class_pages[c] * capacity - a.class_used[c]
        if room < 2 * capacity or room * 4 < <uint64_t>a.class_pages[c] * capacity:
            continue
        best = 0
        look = 0
        page = a.partial[c]
        while page and look < SPARSE_LOOK:
            if best == 0 or a.pages[page].used < a.pages[best].used:
                best = page
            page = a.pages[page].next
            look += 1
        if best and a.pages[best].used * 4 <= capacity * 3:
            return best
    return 0


cdef void arena_detach(Arena* a, uint32_t page) noexcept nogil:
    list_remove(a, &a.partial[a.pages[page].cls], page)
    a.pages[page].detached = 1


cdef void arena_attach(Arena* a, uint32_t page) noexcept nogil:
    cdef ArenaPage* p = &a.pages[page]
    if not p.detached:
        return                          # it became empty meanwhile and has left its class
    p.detached = 0
    if not page_full(p, class_sizes[p.cls]):
        list_push(a, &a.partial[p.cls], page)


cdef uint32_t arena_next_live(Arena* a, uint32_t page, uint32_t* cursor) noexcept nogil:
    cdef ArenaPage* p = &a.pages[page]
    cdef size_t slot
    cdef uint32_t i
    if p.used == 0:
        return 0
    if p.cls == ARENA_LARGE:
        if cursor[0]:
            return 0
        cursor[0] = 1
        return page << ARENA_PAGE_BITS
    slot = class_sizes[p.cls]
    while cursor[0] < p.bump:
        i = cursor[0]
        cursor[0] += 1
        if a.bases[page][i * slot] != 0:
            return page << ARENA_PAGE_BITS | <uint32_t>((i * slot) >> 3)
    return 0
