"""Commands: lookup, and the gates in front of every handler (see command.pxd).

Lookup is perfect: a name's first and last eight letters and its length select one place of an index, for which a multiplier
without collisions is searched once, at import; one comparison confirms it.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy, memset, strlen

from tellstone._core.base.atomics cimport relaxed_u32
from tellstone._core.base.bytesops cimport View, get_u32, get_u64, same_word, view_is
from tellstone._core.base.fnv cimport fnv1a
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.ticks cimport ticks_now
from tellstone._core.base.status cimport ST_ARITY, ST_LOADING, ST_OK, ST_OOM, ST_PARKED, ST_REPLIED, ST_STORAGE
from tellstone._core.command.client cimport CLIENT_CLOSE
from tellstone._core.command.record cimport counters_precise, record_call, record_error
from tellstone._core.protocol.reply cimport reply_error, reply_error_view, reply_status
from tellstone._core.store.keyspace cimport keyspace_can_evict, keyspace_has_room, keyspace_is_full, keyspace_is_hurt
from tellstone._core.store.log cimport wal_reason

check_layout(__name__)

cdef enum:
    INDEX_BITS = 13
    SEEDS_TRIED = 200000
    QUOTED_MAX = 128                # letters of a name, and of all arguments, that an error repeats

cdef Command rows[COMMANDS_MAX]
cdef uint32_t row_count = 0
cdef uint16_t name_index[1 << INDEX_BITS]     # row + 1; 0: none
cdef uint64_t seed = 0


# The index ------------------------------------------------------------------------------------------------------


cdef inline uint64_t letters(const char* p, size_t n) noexcept nogil:
    """Up to eight bytes, letters without case. Short words are read as two overlapping halves, without a loop."""
    if n >= 8:
        return get_u64(p) | 0x2020202020202020ULL
    if n >= 4:
        return (get_u32(p) | <uint64_t>get_u32(p + n - 4) << 32) | 0x2020202020202020ULL
    return (<uint8_t>p[0] | <uint64_t>(<uint8_t>p[n >> 1]) << 8 | <uint64_t>(<uint8_t>p[n - 1]) << 16) | 0x202020ULL


cdef inline uint32_t place_of(const char* name, size_t len, uint64_t multiplier) noexcept nogil:
    cdef uint64_t first = letters(name, len)
    cdef uint64_t last = letters(name + len - 8, 8) if len > 8 else first
    cdef uint64_t mixed = (first ^ (last << 7 | last >> 57) ^ len) * multiplier
    return <uint32_t>((mixed ^ mixed >> 29) * multiplier >> (64 - INDEX_BITS))


cdef Command* command_add(const char* name, const char* full_name, Command* parent) noexcept nogil:
    global row_count
    cdef Command* row
    if row_count == COMMANDS_MAX or strlen(name) > COMMAND_NAME_MAX:
        return NULL
    row = &rows[row_count]
    memset(row, 0, sizeof(Command))
    row.name = name
    row.name_len = <uint32_t>strlen(name)
    row.full_name = full_name
    row.id = <uint16_t>row_count
    if parent != NULL:                  # a container's rows follow it without a gap
        if parent.subs == NULL:
            parent.subs = row
        parent.sub_count += 1
    row_count += 1
    return row


cdef bint fill(uint64_t multiplier) noexcept nogil:
    cdef uint32_t i = 0, at
    memset(name_index, 0, sizeof(name_index))
    while i < row_count:
        at = place_of(rows[i].name, rows[i].name_len, multiplier)
        if name_index[at]:
            return False
        name_index[at] = <uint16_t>(i + 1)
        i += 1 + rows[i].sub_count
    return True


cdef bint command_seal() noexcept nogil:
    global seed
    cdef uint64_t multiplier = 0x9e3779b97f4a7c15ULL
    cdef int tried
    for tried in range(SEEDS_TRIED):
        if fill(multiplier):
            seed = multiplier
            return True
        multiplier = multiplier * 6364136223846793005ULL + 1442695040888963407ULL | 1
    return False


cdef const Command* command_find(const char* name, size_t len) noexcept nogil:
    cdef uint32_t at
    cdef const Command* row
    if len == 0 or len > COMMAND_NAME_MAX:
        return NULL
    at = name_index[place_of(name, len, seed)]
    if at == 0:
        return NULL
    row = &rows[at - 1]
    return row if same_word(name, len, row.name, row.name_len) else NULL


cdef const Command* command_row(uint32_t id) noexcept nogil:
    return &rows[id] if id < row_count else NULL


cdef const Command* find_subcommand(const Command* container, View name) noexcept nogil:
    cdef uint32_t i
    for i in range(container.sub_count):
        if same_word(name.ptr, name.len, container.subs[i].name, container.subs[i].name_len):
            return &container.subs[i]
    return NULL


# Errors that quote the request ----------------------------------------------------------------------------------


cdef inline int text_len(View v, int most) noexcept nogil:
    """Length of an argument as C's printf sees it: up to `most` bytes, up to a NUL."""
    cdef int i = 0
    while i < most and <size_t>i < v.len and v.ptr[i] != 0:
        i += 1
    return i


cdef bint from_browser(View name) noexcept nogil:
    """The first words of an HTTP request: somebody makes a browser talk to us, and what follows is not for us to run."""
    return view_is(name, b"post", 4) or view_is(name, b"host:", 5)


cdef int unknown_command(Context* c) noexcept nogil:
    cdef char text[2 * QUOTED_MAX + 160]
    cdef int n, args = 0, take
    cdef uint32_t i = 1
    c.counters.unknown += 1
    n = snprintf(text, sizeof(text), b"ERR unknown command '%.*s', with args beginning with: ",
                 text_len(c.argv[0], QUOTED_MAX), c.argv[0].ptr)
    while i < c.argc and args < QUOTED_MAX:
        take = text_len(c.argv[i], QUOTED_MAX - args)
        text[n + args] = c"'"
        memcpy(text + n + args + 1, c.argv[i].ptr, take)
        text[n + args + 1 + take] = c"'"
        text[n + args + 2 + take] = c' '
        args += take + 3
        i += 1
    reply_error_view(c.out, text, n + args)
    record_error(c.counters, b"ERR", 3)
    return ST_OK


cdef int unknown_subcommand(Context* c) noexcept nogil:
    cdef char text[2 * QUOTED_MAX + 160]
    cdef char name[COMMAND_NAME_MAX + 1]
    cdef int i, n = text_len(c.argv[0], COMMAND_NAME_MAX)
    for i in range(n):
        name[i] = c.argv[0].ptr[i] - 32 if c'a' <= c.argv[0].ptr[i] <= c'z' else c.argv[0].ptr[i]
    name[n] = 0
    c.counters.unknown += 1
    n = snprintf(text, sizeof(text), b"ERR unknown subcommand '%.*s'. Try %s HELP.",
                 text_len(c.argv[1], QUOTED_MAX), c.argv[1].ptr, name)
    reply_error_view(c.out, text, n)
    record_error(c.counters, b"ERR", 3)
    return ST_OK


# The gates ------------------------------------------------------------------------------------------------------


cdef void record_reply(Context* c, size_t from_) noexcept nogil:
    """An error reply stands in the output from there on."""
    if c.out.len > from_ and c.out.data[from_] == c'-':
        record_error(c.counters, c.out.data + from_ + 1, c.out.len - from_ - 1)


cdef int refuse(Context* c, int status, const Command* row) noexcept nogil:
    cdef size_t was = c.out.len
    if status == ST_STORAGE:
        reply_status(c.out, status, wal_reason(c.ks.wal))
    else:
        reply_status(c.out, status, row.full_name)
    record_reply(c, was)
    c.counters.rejected[row.id] += 1
    return ST_OK


cdef inline bint arity_fits(const Command* row, uint32_t argc) noexcept nogil:
    return argc == <uint32_t>row.arity if row.arity > 0 else argc >= <uint32_t>(-row.arity)


cdef inline int closed_to(const Context* c, const Command* row) noexcept nogil:
    """Why a command is refused now: ST_OOM, ST_STORAGE, ST_LOADING; or ST_OK. PING is what many clients use to ask. Where a policy evicts,
    whether there is room shows only when it has tried."""
    if row.flags & CMD_DENYOOM and keyspace_is_full(c.ks) and not keyspace_can_evict(c.ks):
        return ST_OOM
    if row.flags & (CMD_WRITE | CMD_TELLS_HEALTH) and keyspace_is_hurt(c.ks):
        return ST_STORAGE
    if not row.flags & CMD_LOADING and relaxed_u32(&c.ks.loading):
        return ST_LOADING
    return ST_OK


cdef const Command* command_admits(const Context* c, const Command* row) noexcept nogil:
    """As command_call decides it."""
    if row == NULL:
        row = command_find(c.argv[0].ptr, c.argv[0].len)
    if row != NULL and row.subs != NULL and c.argc > 1:
        row = find_subcommand(row, c.argv[1])
    if row == NULL or not arity_fits(row, c.argc) or closed_to(c, row):
        return NULL
    return row


cdef void command_refuse(Context* c, const Command* row, const char* error) noexcept nogil:
    cdef size_t was = c.out.len
    reply_error(c.out, error)
    record_reply(c, was)
    c.counters.rejected[row.id] += 1


cdef int failed(Context* c, int status, size_t was) noexcept nogil:
    """The handler has answered an error: in words already, or as a status."""
    if status != ST_REPLIED:
        reply_status(c.out, status, c.command.full_name)
    record_reply(c, was)
    c.counters.failed[c.command.id] += 1
    return ST_OK


cdef inline int handle(Context* c) noexcept nogil:
    cdef size_t was = c.out.len
    cdef int status = c.command.handler(c)
    return failed(c, status, was) if status < 0 else ST_OK


cdef int handle_timed(Context* c) noexcept nogil:
    cdef uint64_t begun = ticks_now()
    cdef int status = handle(c)
    cdef uint64_t took = ticks_now() - begun
    c.timed += took
    record_call(c.counters, c.command.id, c.command.flags & CMD_FAST != 0, took, c.argv, c.argc, c.client, c.now)
    return status


cdef int command_call(Context* c, const Command* row, bint hashed) noexcept nogil:
    cdef bint by_group                  # somebody else times the call
    cdef int status
    if row == NULL:
        row = command_find(c.argv[0].ptr, c.argv[0].len)
        if row == NULL and from_browser(c.argv[0]):
            c.client.flags |= CLIENT_CLOSE
            return ST_OK
        if row == NULL:
            return unknown_command(c)
    by_group = row.flags & CMD_QUICK != 0 and not counters_precise(c.counters)
    if row.subs != NULL and c.argc > 1:
        row = find_subcommand(row, c.argv[1])
        if row == NULL:
            return unknown_subcommand(c)
    c.command = row
    if c.argc < <uint32_t>(row.arity if row.arity > 0 else -row.arity) or (row.arity > 0 and c.argc != <uint32_t>row.arity):
        return refuse(c, ST_ARITY, row)
    c.client.last_command = row.full_name
    if row.flags & (CMD_WRITE | CMD_DENYOOM | CMD_TELLS_HEALTH) or relaxed_u32(&c.ks.loading):
        status = closed_to(c, row)
        if status == ST_OK and row.flags & CMD_DENYOOM and not keyspace_has_room(c.ks):
            status = ST_OOM
        if status != ST_OK:
            return refuse(c, status, row)
    c.counters.commands += 1
    c.counters.calls[row.id] += 1
    if row.handler == NULL:
        return ST_PARKED
    if row.first_key > 0 and not hashed:
        c.hash = fnv1a(c.argv[row.first_key].ptr, c.argv[row.first_key].len)
    return handle(c) if by_group else handle_timed(c)
