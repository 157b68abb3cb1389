"""SORT and SORT_RO (see sort.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.fnv cimport fnv1a
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_MISSING, ST_NOT_INTEGER, ST_OK, ST_SYNTAX, ST_WRONGTYPE
from tellstone._core.command.arguments cimport argument_int, option_is
from tellstone._core.command.command cimport Context, touch_place
from tellstone._core.command.places cimport open_key
from tellstone._core.protocol.reply cimport reply_array, reply_int
from tellstone._core.store.keyspace cimport (
    Place, ShardSet, keyspace_close, keyspace_find, keyspace_lock, keyspace_shard, keyspace_unlock, place_count, place_exists,
    place_remove, shard_set_add, shard_set_clear,
)

check_layout(__name__)

cdef struct SortOptions:
    bint storing
    View target                     # of the last STORE


cdef inline bint option_takes(Context* c, uint32_t i, const char* word, size_t len, uint32_t arguments) noexcept nogil:
    return i + arguments < c.argc and option_is(c.argv[i], word, len)


cdef int sort_options(Context* c, bint read_only, SortOptions* o) noexcept nogil:
    """ORDER: of left to right. An option that lacks its arguments is no option."""
    cdef uint32_t i = 2
    cdef int64_t number
    o.storing = False
    while i < c.argc:
        if option_takes(c, i, b"asc", 3, 0) or option_takes(c, i, b"desc", 4, 0) or option_takes(c, i, b"alpha", 5, 0):
            i += 1
        elif option_takes(c, i, b"limit", 5, 2):
            if argument_int(c.argv[i + 1], &number) != ST_OK or argument_int(c.argv[i + 2], &number) != ST_OK:
                return ST_NOT_INTEGER
            i += 3
        elif not read_only and option_takes(c, i, b"store", 5, 1):
            o.storing = True
            o.target = c.argv[i + 1]
            i += 2
        elif option_takes(c, i, b"by", 2, 1) or option_takes(c, i, b"get", 3, 1):
            i += 2
        else:
            return ST_SYNTAX
    return ST_OK


cdef int look_up(Place* place) noexcept nogil:
    """What there is to sort: ST_MISSING or ST_WRONGTYPE."""
    place_count(place)
    return ST_WRONGTYPE if place_exists(place) else ST_MISSING


cdef int store_nothing(Context* c, View target) noexcept nogil:
    """An empty list is no key, so the target goes."""
    cdef uint64_t hash = fnv1a(target.ptr, target.len)
    cdef ShardSet shards
    cdef Place place
    cdef int status
    shard_set_clear(&shards)
    shard_set_add(&shards, keyspace_shard(c.ks, c.hash).index)
    shard_set_add(&shards, keyspace_shard(c.ks, hash).index)
    keyspace_lock(c.ks, &shards)
    keyspace_find(c.ks, c.client.db, c.argv[1], c.hash, c.now, &place)
    touch_place(c, &place)
    status = look_up(&place)
    if status == ST_MISSING:
        keyspace_find(c.ks, c.client.db, target, hash, c.now, &place)
        if place_exists(&place):
            place_remove(&place)
    keyspace_unlock(c.ks, &shards)
    if status == ST_MISSING:
        reply_int(c.out, 0)
    return status


cdef int sort(Context* c, bint read_only) noexcept nogil:
    cdef SortOptions o
    cdef Place place
    cdef int status = sort_options(c, read_only, &o)
    if status != ST_OK:
        return status
    if o.storing:
        return store_nothing(c, o.target)
    open_key(c, &place)
    status = look_up(&place)
    keyspace_close(&place)
    if status == ST_MISSING:
        reply_array(c.out, 0)
    return status


# SORT key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA] [STORE destination]
cdef int cmd_sort(Context* c) noexcept nogil:
    return sort(c, False)


# SORT_RO key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA]
cdef int cmd_sort_ro(Context* c) noexcept nogil:
    return sort(c, True)
