"""The command row, the context of a call, lookup, and the gates every call passes.

A handler checks its arguments, works through types and store, and writes one reply; or it answers a negative Status, which
becomes the error reply in command_call. Handlers hold no state and are called without the GIL from any thread.

ORDER: the gates are exists, arity, authenticated, permitted, memory, the log; as in Redis's processCommand.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.command.client cimport CLIENT_NO_TOUCH, Client
from tellstone._core.command.record cimport COMMANDS_MAX, Counters
from tellstone._core.store.keyspace cimport Keyspace, Place, place_touch
from tellstone._core.store.table cimport SlotHint

cdef enum CommandFlag:              # Redis's command flags, and their order in COMMAND INFO
    CMD_WRITE = 1
    CMD_READONLY = 2
    CMD_DENYOOM = 4                 # may use more memory: refused above the ceiling
    CMD_ADMIN = 8
    CMD_PUBSUB = 16
    CMD_NOSCRIPT = 32
    CMD_BLOCKING = 64
    CMD_LOADING = 128               # allowed while loading
    CMD_STALE = 256
    CMD_SKIP_MONITOR = 512
    CMD_SKIP_SLOWLOG = 1024
    CMD_ASKING = 2048
    CMD_FAST = 4096
    CMD_NO_AUTH = 8192
    CMD_MAY_REPLICATE = 16384
    CMD_NO_ASYNC_LOADING = 32768
    CMD_NO_MULTI = 65536
    CMD_MOVABLE_KEYS = 131072
    CMD_ALLOW_BUSY = 262144
    CMD_TELLS_HEALTH = 1048576      # ours: refused like a write where the log cannot be written (PING)
    CMD_QUICK = 524288              # ours: takes a constant time, so it is timed by the group (command.record)

cdef enum:
    COMMAND_NAME_MAX = 32

ctypedef int (*Handler)(Context* c) noexcept nogil

cdef struct Command:
    const char* name                # lower case, terminated: "get", and "list" for CLIENT LIST
    uint32_t name_len
    const char* full_name           # "client|list"
    Handler handler                 # NULL: a control command, answered by Python
    int32_t arity                   # the command's name counts; negative: at least
    uint64_t flags
    int32_t first_key               # 0: no keys
    int32_t last_key                # negative: from the end
    int32_t key_step
    uint16_t id                     # index of Counters.calls
    Command* subs                   # rows of the subcommands of a container, NULL for others
    uint32_t sub_count

cdef struct Context:
    Keyspace* ks
    Client* client
    OutBuf* out
    const View* argv                # argv[0] is the command's name as sent
    uint32_t argc
    const Command* command          # the subcommand's row, where there is one
    uint64_t hash                   # fnv1a of argv[command.first_key], where there are keys
    const SlotHint* hint            # where look-ahead has seen that key; NULL: it has not looked
    int64_t now                     # Unix ms
    Counters* counters
    uint64_t timed                  # ticks of this group's calls that were timed by themselves

# The row of a name, letters without case; NULL: unknown. For a container its own row.
cdef const Command* command_find(const char* name, size_t len) noexcept nogil
# Gates and handler of a request (argv, argc and now are set; command, hash are set here unless `row` is given).
# ST_OK: a reply has been written. ST_PARKED: a control command, all gates passed; c.command tells which.
cdef int command_call(Context* c, const Command* row, bint hashed) noexcept nogil
# The row of a request that would pass all gates now, subcommands included; NULL: it would be refused. Changes nothing.
cdef const Command* command_admits(const Context* c, const Command* row) noexcept nogil
# Refuse a request that would have passed.
cdef void command_refuse(Context* c, const Command* row, const char* error) noexcept nogil
cdef inline bint command_has_keys(const Command* row) noexcept nogil:
    return row.first_key > 0
cdef const Command* command_row(uint32_t id) noexcept nogil      # by id; NULL past the end

cdef inline void touch_place(const Context* c, Place* place) noexcept nogil:
    """Note the access, unless the client wants to leave no trace. Every handler does so with each key that it has looked up, but
    those that tell about keys and not their values: EXISTS, TYPE, TTL and its kin, OBJECT."""
    if not c.client.flags & CLIENT_NO_TOUCH:
        place_touch(place)

cdef inline uint64_t bulk_bytes(uint64_t length) noexcept nogil:
    """Of a line that announces a length: a letter, digits, CR and LF."""
    cdef uint64_t n = 4
    while length > 9:
        length //= 10
        n += 1
    return n

cdef inline void command_hold(Context* c) noexcept nogil:
    """Let the client's line tell of this request, as long as it waits: command_let_go."""
    cdef uint32_t i
    c.client.argv_bytes = 0
    c.client.query_bytes = bulk_bytes(c.argc)
    for i in range(c.argc):
        c.client.argv_bytes += c.argv[i].len
        c.client.query_bytes += bulk_bytes(c.argv[i].len) + c.argv[i].len + 2

cdef inline void command_let_go(Client* client) noexcept nogil:
    client.argv_bytes = 0
    client.query_bytes = 0

# Filling the table, at import, by command.table alone. Names are kept for the life of the process.
cdef Command* command_add(const char* name, const char* full_name, Command* parent) noexcept nogil
# Build the index over all rows; False: no perfect index was found.
cdef bint command_seal() noexcept nogil
