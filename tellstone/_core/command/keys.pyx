"""Commands on keys of any type, and on whole databases (see keys.pxd).

The handlers know entries, not types: a value moves between keys as the bytes of its entry, and takes what those point
to along.
"""
from libc.stdint cimport INT32_MAX, INT32_MIN, UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove, strlen

from tellstone._core.base.block cimport Block, block_ref
from tellstone._core.base.bytesops cimport View, format_u64, same_bytes
from tellstone._core.base.fnv cimport fnv1a
from tellstone._core.base.glob cimport glob_matches
from tellstone._core.base.outbuf cimport OutBuf, outbuf_reserve
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport (
    ST_DB_RANGE, ST_GT_LT, ST_INVALID_CURSOR, ST_INVALID_FIRST_DB, ST_INVALID_SECOND_DB, ST_MISSING, ST_NOMEM,
    ST_NO_KEY, ST_NX_WITH, ST_OK, ST_REFUSED, ST_SAME_OBJECT, ST_SYNTAX,
)
from tellstone._core.command.arguments cimport argument_between, argument_int, deadline_of, option_is
from tellstone._core.command.command cimport Context, touch_place
from tellstone._core.command.quoting cimport reply_error_quoting
from tellstone._core.protocol.reply cimport (
    reply_array, reply_array_later, reply_array_set, reply_bulk, reply_int, reply_null, reply_ok, reply_simple,
)
from tellstone._core.store.entry cimport (
    ENC_BLOCK, ENC_RAW, ENTRY_BLOCK_FROM, NO_DEADLINE, TYPE_STREAM, TYPE_STRING, entry_block, entry_deadline,
    entry_encoding, entry_key, entry_set_encoding, entry_type, entry_value, entry_value_len,
)
from tellstone._core.store.keyspace cimport (
    Place, ShardSet, keyspace_close, keyspace_find, keyspace_flush, keyspace_lock, keyspace_lock_all, keyspace_open,
    keyspace_random, keyspace_scan, keyspace_shard, keyspace_size, keyspace_swap, keyspace_unlock, keyspace_unlock_all,
    keyspace_visit_locked, place_changed, place_count, place_exists, place_remove, place_renew, place_touch, place_write, shard_set_add, shard_set_clear,
)
from tellstone._core.store.shard cimport DATABASES, shard_account, shard_set_deadline

check_layout(__name__)

cdef enum:
    HASHES_KEPT = 64                # of a command's keys; those of further keys are computed twice

    EXPIRE_NX = 1                   # only a key without a deadline
    EXPIRE_XX = 2                   # only a key that has one
    EXPIRE_GT = 4                   # only to a later one; none is the latest
    EXPIRE_LT = 8                   # only to an earlier one

    ANY_TYPE = 0
    NO_TYPE = 255                   # of SCAN's TYPE: a name that no key's type has

# By the type's number in store.entry; what is not there has type 0.
cdef const char* type_names[7]
type_names[:] = [b"none", b"string", b"list", b"set", b"zset", b"hash", b"stream"]


cdef inline uint64_t hash_of(View key) noexcept nogil:
    return fnv1a(key.ptr, key.len)


# Any number of keys ---------------------------------------------------------------------------------------------

# What a command does with each key, under its shard's lock. True: the key counts in the reply.
ctypedef bint (*KeyWork)(Place* place) noexcept nogil


cdef bint remove_key(Place* place) noexcept nogil:
    if not place_exists(place):
        return False
    place_remove(place)
    return True


cdef bint look_at_key(Place* place) noexcept nogil:
    place_count(place)
    return place_exists(place)


cdef bint touch_key(Place* place) noexcept nogil:
    """An access even by a client that leaves no trace otherwise: it asks for nothing else."""
    place_touch(place)
    return look_at_key(place)


cdef int64_t work_on_keys(Context* c, KeyWork work) noexcept nogil:
    """All arguments are keys, with all their shards locked at once. A key may be named more than once."""
    cdef uint64_t hashes[HASHES_KEPT]
    cdef ShardSet shards
    cdef Place place
    cdef uint64_t hash
    cdef uint32_t i
    cdef int64_t n = 0
    shard_set_clear(&shards)
    for i in range(1, c.argc):
        hash = hash_of(c.argv[i])
        if i < HASHES_KEPT:
            hashes[i] = hash
        shard_set_add(&shards, keyspace_shard(c.ks, hash).index)
    keyspace_lock(c.ks, &shards)
    for i in range(1, c.argc):
        hash = hashes[i] if i < HASHES_KEPT else hash_of(c.argv[i])
        keyspace_find(c.ks, c.client.db, c.argv[i], hash, c.now, &place)
        n += work(&place)
    keyspace_unlock(c.ks, &shards)
    return n


cdef inline bint work_on_key(Context* c, KeyWork work) noexcept nogil:
    cdef Place place
    cdef bint done
    keyspace_open(c.ks, c.client.db, c.argv[1], c.hash, c.now, &place)
    done = work(&place)
    keyspace_close(&place)
    return done


cdef int reply_worked(Context* c, KeyWork work) noexcept nogil:
    reply_int(c.out, work_on_key(c, work) if c.argc == 2 else work_on_keys(c, work))
    return ST_OK


cdef bint key_remove(Context* c) noexcept nogil:
    return work_on_key(c, remove_key)


# DEL key [key ...]
cdef int cmd_del(Context* c) noexcept nogil:
    return reply_worked(c, remove_key)


# UNLINK key [key ...]
cdef int cmd_unlink(Context* c) noexcept nogil:
    """The same as DEL: what is large is freed behind the scenes in both."""
    return reply_worked(c, remove_key)


# EXISTS key [key ...]
cdef int cmd_exists(Context* c) noexcept nogil:
    return reply_worked(c, look_at_key)


# TOUCH key [key ...]
cdef int cmd_touch(Context* c) noexcept nogil:
    return reply_worked(c, touch_key)


# TYPE key
cdef int cmd_type(Context* c) noexcept nogil:
    cdef Place place
    cdef const char* name
    keyspace_open(c.ks, c.client.db, c.argv[1], c.hash, c.now, &place)
    place_count(&place)
    name = type_names[entry_type(place.found.entry)] if place_exists(&place) else type_names[0]
    keyspace_close(&place)
    reply_simple(c.out, name, strlen(name))
    return ST_OK


# Deadlines ------------------------------------------------------------------------------------------------------


cdef int64_t read_deadline(Context* c) noexcept nogil:
    """Unix ms; as Redis replies, -1 for a key without a deadline and -2 for none at all."""
    cdef Place place
    cdef int64_t deadline = -2
    keyspace_open(c.ks, c.client.db, c.argv[1], c.hash, c.now, &place)
    place_count(&place)
    if place_exists(&place):
        deadline = entry_deadline(place.found.entry)        # INVARIANT: NO_DEADLINE is -1
    keyspace_close(&place)
    return deadline


cdef int reply_deadline(Context* c, int64_t base, bint seconds) noexcept nogil:
    """The time from `base` to the deadline; seconds are rounded to the nearest."""
    cdef int64_t time = read_deadline(c)
    if time >= 0:
        time = time - base if time > base else 0
        if seconds:
            time = <int64_t>((<uint64_t>time + 500) // 1000)
    reply_int(c.out, time)
    return ST_OK


# TTL key
cdef int cmd_ttl(Context* c) noexcept nogil:
    return reply_deadline(c, c.now, True)


# PTTL key
cdef int cmd_pttl(Context* c) noexcept nogil:
    return reply_deadline(c, c.now, False)


# EXPIRETIME key
cdef int cmd_expiretime(Context* c) noexcept nogil:
    return reply_deadline(c, 0, True)


# PEXPIRETIME key
cdef int cmd_pexpiretime(Context* c) noexcept nogil:
    return reply_deadline(c, 0, False)


cdef uint32_t expire_option(View word) noexcept nogil:
    if option_is(word, b"nx", 2):
        return EXPIRE_NX
    if option_is(word, b"xx", 2):
        return EXPIRE_XX
    if option_is(word, b"gt", 2):
        return EXPIRE_GT
    if option_is(word, b"lt", 2):
        return EXPIRE_LT
    return 0


cdef int expire_options(Context* c, uint32_t* options) noexcept nogil:
    """ORDER: an unknown word is named before any conflict, wherever it stands."""
    cdef uint32_t i, option
    options[0] = 0
    for i in range(3, c.argc):
        option = expire_option(c.argv[i])
        if option == 0:
            return reply_error_quoting(c.out, b"ERR Unsupported option ", c.argv[i], b"")
        options[0] |= option
    if options[0] & EXPIRE_NX and options[0] != EXPIRE_NX:
        return ST_NX_WITH
    if options[0] & EXPIRE_GT and options[0] & EXPIRE_LT:
        return ST_GT_LT
    return ST_OK


cdef bint deadline_allowed(uint32_t options, int64_t current, int64_t wanted) noexcept nogil:
    if options & EXPIRE_NX and current != NO_DEADLINE:
        return False
    if options & EXPIRE_XX and current == NO_DEADLINE:
        return False
    if options & EXPIRE_GT and (current == NO_DEADLINE or wanted <= current):
        return False
    return not (options & EXPIRE_LT and current != NO_DEADLINE and wanted >= current)


cdef int expire_locked(Place* place, int64_t deadline, uint32_t options) noexcept nogil:
    """ST_OK, ST_MISSING, ST_REFUSED or ST_NOMEM. Side effect: a deadline not ahead of the clock removes the key."""
    if not place_exists(place):
        return ST_MISSING
    if not deadline_allowed(options, entry_deadline(place.found.entry), deadline):
        return ST_REFUSED
    if deadline <= place.now:
        place_remove(place)
    elif not shard_set_deadline(place.part, &place.found, deadline):
        return ST_NOMEM
    return ST_OK


cdef int expire(Context* c, int64_t base, bint seconds) noexcept nogil:
    """ORDER: options, the number, its range, and only then the key; as Redis checks them."""
    cdef Place place
    cdef uint32_t options
    cdef int64_t time, deadline
    cdef int status = expire_options(c, &options)
    if status == ST_OK:
        status = argument_int(c.argv[2], &time)
    if status == ST_OK:
        status = deadline_of(time, seconds, base, &deadline)
    if status != ST_OK:
        return status
    keyspace_open(c.ks, c.client.db, c.argv[1], c.hash, c.now, &place)
    touch_place(c, &place)
    status = expire_locked(&place, deadline, options)
    keyspace_close(&place)
    if status >= 0:
        reply_int(c.out, 1 if status == ST_OK else 0)
    return status


# EXPIRE key seconds [NX | XX | GT | LT]
cdef int cmd_expire(Context* c) noexcept nogil:
    return expire(c, c.now, True)


# PEXPIRE key milliseconds [NX | XX | GT | LT]
cdef int cmd_pexpire(Context* c) noexcept nogil:
    return expire(c, c.now, False)


# EXPIREAT key unix-time-seconds [NX | XX | GT | LT]
cdef int cmd_expireat(Context* c) noexcept nogil:
    return expire(c, 0, True)


# PEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT]
cdef int cmd_pexpireat(Context* c) noexcept nogil:
    return expire(c, 0, False)


# PERSIST key
cdef int cmd_persist(Context* c) noexcept nogil:
    cdef Place place
    cdef int64_t had = 0
    cdef bint done = True
    keyspace_open(c.ks, c.client.db, c.argv[1], c.hash, c.now, &place)
    touch_place(c, &place)
    if place_exists(&place) and entry_deadline(place.found.entry) != NO_DEADLINE:
        had = 1
        done = shard_set_deadline(place.part, &place.found, NO_DEADLINE)
    keyspace_close(&place)
    if not done:
        return ST_NOMEM
    reply_int(c.out, had)
    return ST_OK


# Moving values --------------------------------------------------------------------------------------------------


cdef void hand_over_block(Place* source, Place* target) noexcept nogil:
    """Both entries name one block and its one count: from now on both are the target's. The source's entry is left a
    plain string, so that its removal drops nothing."""
    cdef Block* block = entry_block(source.found.entry)
    target.part.block_bytes += block.room
    source.part.block_bytes -= block.room
    entry_set_encoding(source.found.entry, ENC_RAW, entry_value_len(source.found.entry))
    shard_account(target.part)


cdef int move_value_locked(Place* source, Place* target) noexcept nogil:
    """Value and deadline of one key to another, whatever that held; the source is gone then, and accesses begin anew. ST_OK, or
    ST_NOMEM with nothing changed. Two different places, of which the source was found last.

    ORDER: the target is written first, because writing may fail and removing cannot; the source is found again behind
    it, because the write may have moved its slot.
    """
    cdef char value[ENTRY_BLOCK_FROM]
    cdef const char* e = source.found.entry
    cdef uint8_t encoding = entry_encoding(e)
    cdef size_t length = entry_value_len(e)     # INVARIANT: below ENTRY_BLOCK_FROM, what is longer is in a block
    cdef bint existed = place_exists(target)
    cdef char* to
    memcpy(value, entry_value(e), length)
    to = place_write(target, entry_type(e), encoding, length, entry_deadline(e))
    if to == NULL:
        return ST_NOMEM
    memcpy(to, value, length)
    place_changed(target)
    if existed:
        place_renew(target)
    keyspace_find(source.ks, source.db, source.key, source.hash, source.now, source)
    if encoding == ENC_BLOCK:
        hand_over_block(source, target)
    place_remove(source)
    return ST_OK


cdef int rename_locked(Context* c, uint64_t target_hash, bint only_new) noexcept nogil:
    """ST_OK, ST_NO_KEY, ST_NOMEM, or ST_REFUSED when nothing has to be done. ORDER: the target is looked up first: an
    expired one is removed by that, which makes every place of its shard stale."""
    cdef View from_key = c.argv[1]
    cdef View to_key = c.argv[2]
    cdef Place source, target
    keyspace_find(c.ks, c.client.db, to_key, target_hash, c.now, &target)
    keyspace_find(c.ks, c.client.db, from_key, c.hash, c.now, &source)
    if not place_exists(&source):
        return ST_NO_KEY
    touch_place(c, &source)
    touch_place(c, &target)
    if from_key.len == to_key.len and same_bytes(from_key.ptr, to_key.ptr, to_key.len):
        return ST_REFUSED
    if only_new and place_exists(&target):
        return ST_REFUSED
    return move_value_locked(&source, &target)


cdef int rename(Context* c, bint only_new) noexcept nogil:
    cdef uint64_t target_hash = hash_of(c.argv[2])
    cdef ShardSet shards
    cdef int status
    shard_set_clear(&shards)
    shard_set_add(&shards, keyspace_shard(c.ks, c.hash).index)
    shard_set_add(&shards, keyspace_shard(c.ks, target_hash).index)
    keyspace_lock(c.ks, &shards)
    status = rename_locked(c, target_hash, only_new)
    keyspace_unlock(c.ks, &shards)
    return status


# RENAME key newkey
cdef int cmd_rename(Context* c) noexcept nogil:
    cdef int status = rename(c, False)
    if status >= 0:
        reply_ok(c.out)                 # a key renamed to itself is fine too
    return status


# RENAMENX key newkey
cdef int cmd_renamenx(Context* c) noexcept nogil:
    cdef int status = rename(c, True)
    if status >= 0:
        reply_int(c.out, 1 if status == ST_OK else 0)
    return status


# MOVE key db
cdef int cmd_move(Context* c) noexcept nogil:
    """One key has one shard, whatever its database."""
    cdef Place source, target
    cdef int64_t db
    cdef int status = argument_between(c.out, c.argv[2], INT32_MIN, INT32_MAX, &db)
    if status != ST_OK:
        return status
    if db < 0 or db >= DATABASES:
        return ST_DB_RANGE
    if db == c.client.db:
        return ST_SAME_OBJECT
    keyspace_open(c.ks, <int>db, c.argv[1], c.hash, c.now, &target)
    keyspace_find(c.ks, c.client.db, c.argv[1], c.hash, c.now, &source)
    touch_place(c, &source)
    touch_place(c, &target)
    if not place_exists(&source):
        status = ST_MISSING
    elif place_exists(&target):
        status = ST_REFUSED
    else:
        status = move_value_locked(&source, &target)
    keyspace_close(&target)
    if status >= 0:
        reply_int(c.out, 1 if status == ST_OK else 0)
    return status


# Copying values -------------------------------------------------------------------------------------------------


cdef struct CopyOptions:
    int db                          # of the target
    bint replace


cdef int copy_options(Context* c, CopyOptions* o) noexcept nogil:
    """ORDER: a database is checked where it is named, before the options behind it."""
    cdef uint32_t i = 3
    cdef int64_t db
    cdef int status
    o.db = c.client.db
    o.replace = False
    while i < c.argc:
        if option_is(c.argv[i], b"replace", 7):
            o.replace = True
        elif option_is(c.argv[i], b"db", 2) and i + 1 < c.argc:
            i += 1
            status = argument_between(c.out, c.argv[i], INT32_MIN, INT32_MAX, &db)
            if status != ST_OK:
                return status
            if db < 0 or db >= DATABASES:
                return ST_DB_RANGE
            o.db = <int>db
        else:
            return ST_SYNTAX
        i += 1
    return ST_OK


cdef int copy_value_locked(Place* source, Place* target) noexcept nogil:
    """Value and deadline of one key for another too, whose accesses begin anew, whatever that held. ST_OK, or ST_NOMEM with nothing changed. Two different
    places, of which the source was found last; it is stale then.

    A block is not copied: both entries hold a count of it, and the first that changes its bytes makes its own (types.string).
    """
    cdef char value[ENTRY_BLOCK_FROM]
    cdef const char* e = source.found.entry
    cdef uint8_t encoding = entry_encoding(e)
    cdef size_t length = entry_value_len(e)     # INVARIANT: as in move_value_locked
    cdef Block* block = entry_block(e) if encoding == ENC_BLOCK else NULL
    cdef bint existed = place_exists(target)
    cdef char* to
    memcpy(value, entry_value(e), length)
    to = place_write(target, entry_type(e), encoding, length, entry_deadline(e))
    if to == NULL:
        return ST_NOMEM
    memcpy(to, value, length)
    if existed:
        place_renew(target)
    if block != NULL:
        block_ref(block)
        target.part.block_bytes += block.room
        shard_account(target.part)
    place_changed(target)
    return ST_OK


cdef int copy_locked(Context* c, const CopyOptions* o, uint64_t target_hash) noexcept nogil:
    """ST_OK, ST_MISSING (no source), ST_REFUSED (by the target) or ST_NOMEM. ORDER: as in rename_locked."""
    cdef Place source, target
    keyspace_find(c.ks, o.db, c.argv[2], target_hash, c.now, &target)
    keyspace_find(c.ks, c.client.db, c.argv[1], c.hash, c.now, &source)
    place_count(&source)
    if not place_exists(&source):
        return ST_MISSING
    touch_place(c, &source)
    touch_place(c, &target)
    if place_exists(&target) and not o.replace:
        return ST_REFUSED
    return copy_value_locked(&source, &target)


# COPY source destination [DB destination-db] [REPLACE]
cdef int cmd_copy(Context* c) noexcept nogil:
    cdef uint64_t target_hash = hash_of(c.argv[2])
    cdef CopyOptions o
    cdef ShardSet shards
    cdef int status = copy_options(c, &o)
    if status != ST_OK:
        return status
    if o.db == c.client.db and c.argv[1].len == c.argv[2].len and same_bytes(c.argv[1].ptr, c.argv[2].ptr, c.argv[1].len):
        return ST_SAME_OBJECT
    shard_set_clear(&shards)
    shard_set_add(&shards, keyspace_shard(c.ks, c.hash).index)
    shard_set_add(&shards, keyspace_shard(c.ks, target_hash).index)
    keyspace_lock(c.ks, &shards)
    status = copy_locked(c, &o, target_hash)
    keyspace_unlock(c.ks, &shards)
    if status >= 0:
        reply_int(c.out, 1 if status == ST_OK else 0)
    return status


# Listing keys ---------------------------------------------------------------------------------------------------


cdef struct KeyFilter:
    OutBuf* out                     # takes the keys that pass, as bulks
    uint64_t passed
    View pattern
    bint matching                   # False: the pattern takes every key
    uint8_t type                    # ANY_TYPE, NO_TYPE or a key's type


cdef void filter_key(void* owner, char* entry) noexcept nogil:
    cdef KeyFilter* f = <KeyFilter*>owner
    cdef View key = entry_key(entry)
    if f.type != ANY_TYPE and f.type != entry_type(entry):
        return
    if f.matching and not glob_matches(f.pattern.ptr, f.pattern.len, key.ptr, key.len, False):
        return
    reply_bulk(f.out, key.ptr, key.len)
    f.passed += 1


cdef inline void filter_init(KeyFilter* f, OutBuf* out) noexcept nogil:
    f.out = out
    f.passed = 0
    f.matching = False
    f.type = ANY_TYPE


cdef inline void filter_match(KeyFilter* f, View pattern) noexcept nogil:
    """A lone star is no filter: unlike the other patterns of stars, it lets the empty key pass."""
    f.pattern = pattern
    f.matching = not (pattern.len == 1 and pattern.ptr[0] == c'*')


# KEYS pattern
cdef int cmd_keys(Context* c) noexcept nogil:
    cdef KeyFilter f
    cdef size_t mark = reply_array_later(c.out)
    filter_init(&f, c.out)
    filter_match(&f, c.argv[1])
    keyspace_lock_all(c.ks)
    keyspace_visit_locked(c.ks, c.client.db, c.now, filter_key, &f)
    keyspace_unlock_all(c.ks)
    reply_array_set(c.out, mark, f.passed)
    return ST_OK


cdef bint parse_cursor(View text, uint64_t* cursor) noexcept nogil:
    """As C's strtoul reads it: a sign if any, digits up to the end or a zero byte. No text at all is 0."""
    cdef size_t i = 0
    cdef uint64_t digit
    cdef bint negative = False
    cursor[0] = 0
    if text.len and (text.ptr[0] == c'-' or text.ptr[0] == c'+'):
        negative = text.ptr[0] == c'-'
        i = 1
        if text.len == 1 or text.ptr[1] == 0:
            return False
    while i < text.len and text.ptr[i] != 0:
        digit = <uint8_t>text.ptr[i] - <uint64_t>c'0'
        if digit > 9 or cursor[0] > (UINT64_MAX - digit) // 10:
            return False
        cursor[0] = cursor[0] * 10 + digit
        i += 1
    if negative:
        cursor[0] = 0 - cursor[0]
    return True


cdef uint8_t type_of_name(View name) noexcept nogil:
    cdef uint8_t type
    for type in range(TYPE_STRING, TYPE_STREAM + 1):
        if option_is(name, type_names[type], strlen(type_names[type])):
            return type
    return NO_TYPE


cdef int scan_options(Context* c, KeyFilter* f, int64_t* count) noexcept nogil:
    """Options in any order; of one that is given twice the last counts. An unknown type is no error: no key has it."""
    cdef uint32_t i = 2
    cdef int status
    while i < c.argc:
        if i + 1 == c.argc:
            return ST_SYNTAX
        if option_is(c.argv[i], b"count", 5):
            status = argument_int(c.argv[i + 1], count)
            if status != ST_OK:
                return status
            if count[0] < 1:
                return ST_SYNTAX
        elif option_is(c.argv[i], b"match", 5):
            filter_match(f, c.argv[i + 1])
        elif option_is(c.argv[i], b"type", 4):
            f.type = type_of_name(c.argv[i + 1])
        else:
            return ST_SYNTAX
        i += 2
    return ST_OK


cdef void insert_cursor(OutBuf* o, size_t at, uint64_t cursor) noexcept nogil:
    """A bulk in front of what has been written since `at`: only then is the cursor known.

    INVARIANT: no blocks stand behind `at`.
    """
    cdef char text[32]
    cdef char digits[20]
    cdef size_t n = format_u64(digits, cursor)
    cdef size_t length = 1
    text[0] = c'$'
    length += format_u64(text + 1, n)
    memcpy(text + length, b"\r\n", 2)
    memcpy(text + length + 2, digits, n)
    memcpy(text + length + 2 + n, b"\r\n", 2)
    length += n + 4
    if outbuf_reserve(o, length) == NULL:
        return
    memmove(o.data + at + length, o.data + at, o.len - at)
    memcpy(o.data + at, text, length)
    o.len += length


# SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]
cdef int cmd_scan(Context* c) noexcept nogil:
    cdef KeyFilter f
    cdef uint64_t cursor
    cdef int64_t count = 10
    cdef size_t start, mark
    cdef int status
    if not parse_cursor(c.argv[1], &cursor):
        return ST_INVALID_CURSOR
    filter_init(&f, c.out)
    status = scan_options(c, &f, &count)
    if status != ST_OK:
        return status
    reply_array(c.out, 2)
    start = c.out.len
    mark = reply_array_later(c.out)
    cursor = keyspace_scan(c.ks, c.client.db, cursor, <uint64_t>count, c.now, filter_key, &f)
    reply_array_set(c.out, mark, f.passed)
    if not c.out.failed:
        insert_cursor(c.out, start, cursor)
    return ST_OK


# RANDOMKEY
cdef int cmd_randomkey(Context* c) noexcept nogil:
    cdef KeyFilter f
    filter_init(&f, c.out)
    if not keyspace_random(c.ks, c.client.db, c.now, filter_key, &f):
        reply_null(c.out, c.client.proto)
    return ST_OK


# Whole databases ------------------------------------------------------------------------------------------------


# DBSIZE
cdef int cmd_dbsize(Context* c) noexcept nogil:
    reply_int(c.out, <int64_t>keyspace_size(c.ks, c.client.db))
    return ST_OK


cdef int flush(Context* c, int db) noexcept nogil:
    """SYNC and ASYNC are the same: the keys are gone at once, and their memory soon after."""
    if c.argc > 2:
        return ST_SYNTAX
    if c.argc == 2 and not option_is(c.argv[1], b"sync", 4) and not option_is(c.argv[1], b"async", 5):
        return ST_SYNTAX
    keyspace_flush(c.ks, db)
    reply_ok(c.out)
    return ST_OK


# FLUSHDB [ASYNC | SYNC]
cdef int cmd_flushdb(Context* c) noexcept nogil:
    return flush(c, c.client.db)


# FLUSHALL [ASYNC | SYNC]
cdef int cmd_flushall(Context* c) noexcept nogil:
    return flush(c, -1)


# SWAPDB index1 index2
cdef int cmd_swapdb(Context* c) noexcept nogil:
    """ORDER: both must be numbers before either must be a database."""
    cdef int64_t a, b
    if argument_int(c.argv[1], &a) != ST_OK or not INT32_MIN <= a <= INT32_MAX:
        return ST_INVALID_FIRST_DB
    if argument_int(c.argv[2], &b) != ST_OK or not INT32_MIN <= b <= INT32_MAX:
        return ST_INVALID_SECOND_DB
    if a < 0 or a >= DATABASES or b < 0 or b >= DATABASES:
        return ST_DB_RANGE
    if a != b:
        keyspace_swap(c.ks, <int>a, <int>b)
    reply_ok(c.out)
    return ST_OK


# For Python -----------------------------------------------------------------------------------------------------


def glob_match(bytes pattern not None, bytes text not None, bint nocase=False):
    """Whether a text matches a glob pattern, as Redis's KEYS and SCAN see it."""
    return bool(glob_matches(pattern, len(pattern), text, len(text), nocase))
