"""What a directory keeps (see kept.pxd)."""
from libc.stdint cimport uint32_t
from libc.string cimport memset

from tellstone._core.base.stamp cimport check_layout
from tellstone._core.store.catalog cimport NAME_ROOM, PATH_ROOM, Catalog, catalog_free, catalog_read, full_path, segment_name
from tellstone._core.store.segment cimport SEGMENT_HEAD, SEGMENT_WHOLE, SegmentHead, segment_read_head
from tellstone._core.store.unpack cimport UNPACK_OK, Unpack, unpack_close, unpack_open
from tellstone._core.store.window cimport Window, window_at, window_free, window_open

import os

check_layout(__name__)


cdef void open_catalog(Catalog* c, bytes path) except *:
    """Raises OSError, and then there is nothing to free."""
    cdef const char* at = path
    cdef int error
    with nogil:
        error = catalog_read(c, at)
    if error:
        catalog_free(c)
        raise OSError(error, os.strerror(error), os.fsdecode(path))


cdef bint read_head(const Catalog* c, uint32_t i, Window* w, SegmentHead* head) noexcept nogil:
    cdef char name[NAME_ROOM]
    cdef char path[PATH_ROOM + NAME_ROOM]
    cdef const char* p
    segment_name(name, &c.segments[i])
    full_path(path, c, name)
    if not window_open(w, path) or w.size < SEGMENT_HEAD:
        return False
    p = window_at(w, 0, SEGMENT_HEAD)
    return p != NULL and segment_read_head(p, head) == SEGMENT_WHOLE


cdef void kept_find_beginning(const Catalog* c, Window* w, Beginning* b) noexcept nogil:
    cdef SegmentHead head
    cdef uint32_t i
    for i in range(c.segment_count):
        if c.segments[i].generation != FIRST_GENERATION or c.segments[i].first != 1 or not read_head(c, i, w, &head):
            continue
        b.begun += 1
        b.shards = head.shards
        if head.time > b.time_ms:
            b.time_ms = head.time


cdef tuple facts_of(const Catalog* c, uint32_t i, const Unpack* u):
    cdef uint32_t shard
    return (
        c.snapshots[i].generation, c.snapshots[i].number, u.head.shards, u.head.begun_ms, u.whole_ms,
        [u.feet[shard].seq for shard in range(u.head.shards)],
    )


def kept_snapshots(directory not None):
    """Oldest first: generation, number, shards, Unix ms of the beginning and from when on states can be made of it, and the number of each shard
    from which its log goes on. Raises OSError."""
    cdef Catalog catalog
    cdef Unpack u
    cdef Window w
    cdef list found = []
    cdef uint32_t i
    cdef bint whole
    memset(&w, 0, sizeof(Window))
    open_catalog(&catalog, os.fsencode(directory))
    try:
        for i in range(catalog.snapshot_count):
            with nogil:
                whole = unpack_open(&u, &catalog, i, False, NULL, &w) == UNPACK_OK
            if whole:
                found.append(facts_of(&catalog, i, &u))
            unpack_close(&u)
    finally:
        window_free(&w)
        catalog_free(&catalog)
    return found


def kept_beginning(directory not None):
    """Where every shard's log of the first generation is there from its beginning: generation, shards and Unix ms of when the log was begun; else
    None. Raises OSError."""
    cdef Catalog catalog
    cdef Window w
    cdef Beginning b
    memset(&w, 0, sizeof(Window))
    memset(&b, 0, sizeof(Beginning))
    open_catalog(&catalog, os.fsencode(directory))
    with nogil:
        kept_find_beginning(&catalog, &w, &b)
    window_free(&w)
    catalog_free(&catalog)
    return (FIRST_GENERATION, b.shards, b.time_ms) if b.begun and b.begun == b.shards else None
