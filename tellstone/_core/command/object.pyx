"""OBJECT (see object.pxd).

The answers are those of a Redis that went through the same commands. Our own encodings are others (store.entry): Redis
keeps short strings inside their object ("embstr") until a part of them is changed.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t

from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_MISSING, ST_OK, ST_REPLIED
from tellstone._core.command.command cimport Context
from tellstone._core.protocol.reply cimport reply_bulk_text, reply_error, reply_int, reply_null
from tellstone._core.store.access cimport access_frequency, access_idle, shared_tracking
from tellstone._core.store.entry cimport ENC_INT, ENC_RAW, entry_access, entry_encoding, entry_int, entry_value_len
from tellstone._core.store.keyspace cimport Place, keyspace_close, keyspace_open, place_count, place_exists
from tellstone._core.store.policy cimport TRACK_S3FIFO, TRACK_TIME

check_layout(__name__)

cdef enum:
    EMBEDDED_MOST = 44              # bytes of a string inside its object
    SHARED_INTEGERS = 10000         # 0 and up exist once in Redis
    SHARED_REFERENCES = 2147483647  # what it tells of their number
    NOT_TRACKED = -1

# What is told of a place's entry, under its shard's lock.
ctypedef int64_t (*Question)(const Context* c, const Place* place) noexcept nogil


cdef int ask(Context* c, Question question, int64_t* answer) noexcept nogil:
    """ST_OK, or ST_MISSING after the null that all of OBJECT replies then."""
    cdef Place place
    cdef int status = ST_MISSING
    keyspace_open(c.ks, c.client.db, c.argv[2], c.hash, c.now, &place)
    place_count(&place)
    if place_exists(&place):
        answer[0] = question(c, &place)
        status = ST_OK
    keyspace_close(&place)
    if status == ST_MISSING:
        reply_null(c.out, c.client.proto)
    return status


cdef int reply_number(Context* c, Question question) noexcept nogil:
    cdef int64_t answer
    cdef int status = ask(c, question, &answer)
    if status == ST_OK:
        reply_int(c.out, answer)
    return status


cdef enum:
    AS_INT = 0
    AS_EMBSTR = 1
    AS_RAW = 2

cdef const char* encoding_names[3]
encoding_names[:] = [b"int", b"embstr", b"raw"]


cdef int64_t encoding_of(const Context* c, const Place* place) noexcept nogil:
    cdef const char* entry = place.found.entry
    cdef uint8_t encoding = entry_encoding(entry)
    if encoding == ENC_INT:
        return AS_INT
    return AS_EMBSTR if encoding == ENC_RAW and entry_value_len(entry) <= EMBEDDED_MOST else AS_RAW


# OBJECT ENCODING key
cdef int cmd_object_encoding(Context* c) noexcept nogil:
    cdef int64_t name
    cdef int status = ask(c, encoding_of, &name)
    if status == ST_OK:
        reply_bulk_text(c.out, encoding_names[name])
    return status


cdef int64_t references_of(const Context* c, const Place* place) noexcept nogil:
    cdef const char* entry = place.found.entry
    if entry_encoding(entry) == ENC_INT and 0 <= entry_int(entry) < SHARED_INTEGERS:
        return SHARED_REFERENCES
    return 1


# OBJECT REFCOUNT key
cdef int cmd_object_refcount(Context* c) noexcept nogil:
    return reply_number(c, references_of)


# What is tracked of accesses depends on the policy of eviction. ORDER: a key that is missing comes first.


cdef int64_t idle_seconds(const Context* c, const Place* place) noexcept nogil:
    if shared_tracking(place.shard.shared) != TRACK_TIME:
        return NOT_TRACKED
    return access_idle(entry_access(place.found.entry), c.now)


cdef int reply_tracked(Context* c, Question of, const char* not_tracked) noexcept nogil:
    """What is kept of the accesses to the key, or the error that it is not."""
    cdef int64_t number
    cdef int status = ask(c, of, &number)
    if status != ST_OK:
        return status
    if number == NOT_TRACKED:
        reply_error(c.out, not_tracked)
        return ST_REPLIED
    reply_int(c.out, number)
    return ST_OK


# OBJECT IDLETIME key
cdef int cmd_object_idletime(Context* c) noexcept nogil:
    if shared_tracking(&c.ks.shared) == TRACK_S3FIFO:
        return reply_tracked(c, idle_seconds, b"ERR The allkeys-s3fifo maxmemory policy is selected, idle time not tracked. "
                             b"Please note that when switching between policies at runtime what is tracked will take "
                             b"some time to adjust.")
    return reply_tracked(c, idle_seconds, b"ERR An LFU maxmemory policy is selected, idle time not tracked. "
                         b"Please note that when switching between policies at runtime LRU and LFU data will take "
                         b"some time to adjust.")


cdef int64_t frequency_of(const Context* c, const Place* place) noexcept nogil:
    if shared_tracking(place.shard.shared) == TRACK_TIME:
        return NOT_TRACKED
    return access_frequency(place.shard, entry_access(place.found.entry))


# OBJECT FREQ key
cdef int cmd_object_freq(Context* c) noexcept nogil:
    """0 to 255 by LFU's logarithm, 0 to 3 by allkeys-s3fifo."""
    return reply_tracked(c, frequency_of, b"ERR An LFU maxmemory policy is not selected, access frequency not tracked. "
                         b"Please note that when switching between policies at runtime LRU and LFU data will take "
                         b"some time to adjust.")
