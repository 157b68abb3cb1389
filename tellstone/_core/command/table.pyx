"""The command table (see table.pxd).

A row names the command, its handler (none: a control command, answered by Python), its arity, flags, key positions, categories and
documentation, with Redis 7.2's values. Flags of Redis that mean nothing here yet are there all the same, because clients read them
from COMMAND. Rows of a container's subcommands follow the container.
"""
from libc.stdint cimport uint64_t

from tellstone._core.base.stamp cimport check_layout
from tellstone._core.command.bits cimport *
from tellstone._core.command.command cimport *
from tellstone._core.command.connection cimport *
from tellstone._core.command.keys cimport *
from tellstone._core.command.lcs cimport cmd_lcs
from tellstone._core.command.memory cimport cmd_memory_usage
from tellstone._core.command.monitor cimport cmd_monitor
from tellstone._core.command.object cimport *
from tellstone._core.command.serial cimport *
from tellstone._core.command.sort cimport *
from tellstone._core.command.string cimport *

check_layout(__name__)

_FLAGS = {
    "write": CMD_WRITE, "readonly": CMD_READONLY, "denyoom": CMD_DENYOOM, "admin": CMD_ADMIN, "pubsub": CMD_PUBSUB,
    "noscript": CMD_NOSCRIPT, "blocking": CMD_BLOCKING, "loading": CMD_LOADING, "stale": CMD_STALE,
    "skip_monitor": CMD_SKIP_MONITOR, "skip_slowlog": CMD_SKIP_SLOWLOG, "asking": CMD_ASKING, "fast": CMD_FAST,
    "no_auth": CMD_NO_AUTH, "may_replicate": CMD_MAY_REPLICATE, "no_async_loading": CMD_NO_ASYNC_LOADING,
    "no_multi": CMD_NO_MULTI, "movablekeys": CMD_MOVABLE_KEYS, "allow_busy": CMD_ALLOW_BUSY,
}

# Categories that follow from flags, as in Redis's setImplicitACLCategories.
_IMPLIED = {"write": "write", "readonly": "read", "pubsub": "pubsub", "fast": "fast", "blocking": "blocking"}

_rows: list = []                    # one dict a row, in the order of ids
_names: list = []                   # bytes that C rows point into

# What most rows of the server and the connection have in common.
_ANYTIME = "noscript loading stale"
_ADMIN = "admin noscript loading stale"
_MODULES = "no_async_loading admin noscript"
_DEPENDS = "depends on the subcommand"
_GREETING = "noscript loading stale fast no_auth allow_busy"


cdef Command* _add(str name, Command* parent, str parent_name, Handler handler, int arity, str flags, keys, str group, str since,
                   str complexity, str summary, str categories) except NULL:
    cdef bytes short = name.encode()
    cdef bytes full = f"{parent_name}|{name}".encode() if parent_name else short
    cdef Command* row
    _names.append(short)
    _names.append(full)
    row = command_add(short, full, parent)
    if row == NULL:
        raise ImportError(f"the command table has no room for {full.decode()}")
    words = [word for word in _FLAGS if word in flags.split()]
    unknown = set(flags.split()) - set(words)
    if unknown:
        raise ImportError(f"{full.decode()}: unknown flags {unknown}")
    row.handler = handler
    row.arity = arity
    row.flags = <uint64_t>sum(_FLAGS[word] for word in words)
    if complexity == "O(1)":
        row.flags |= CMD_QUICK
    if handler == cmd_ping:
        row.flags |= CMD_TELLS_HEALTH
    row.first_key, row.last_key, row.key_step = keys
    implied = [_IMPLIED[word] for word in words if word in _IMPLIED]
    if "admin" in words:
        implied += ["admin", "dangerous"]
    if "fast" not in words:
        implied.append("slow")
    entry = {
        "id": row.id, "name": name, "full_name": full.decode(), "arity": arity, "flags": words,
        "first_key": keys[0], "last_key": keys[1], "key_step": keys[2], "control": handler == NULL,
        "categories": [*dict.fromkeys([*categories.split(), *implied])],
        "group": group, "since": since, "complexity": complexity, "summary": summary, "subcommands": [],
    }
    _rows.append(entry)
    return row


cdef Command* _row(str name, Handler handler, int arity, str flags, keys, str group, str since, str complexity, str summary,
                   str categories="") except NULL:
    return _add(name, NULL, "", handler, arity, flags, keys, group, since, complexity, summary, categories)


cdef int _sub(Command* parent, str name, Handler handler, int arity, str flags, str since, str complexity, str summary,
              str categories, keys=(0, 0, 0)) except -1:
    cdef Command* row
    container = _rows[parent.id]
    row = _add(name, parent, container["name"], handler, arity, flags, keys, container["group"], since, complexity, summary,
               categories)
    container["subcommands"].append(row.full_name.decode())
    return 0


_NONE = (0, 0, 0)
_ONE = (1, 1, 1)
_ALL = (1, -1, 1)
_TWO = (1, 2, 1)
_SECOND = (2, 2, 1)
_PAIRS = (1, -1, 2)
_AFTER = (2, -1, 1)                 # behind the name of an operation


cdef int _strings() except -1:
    g = "string"
    _row("append", cmd_append, 3, "write denyoom fast", _ONE, g, "2.0.0", "O(1)", "Adds bytes to the end of a value; makes the key.", g)
    _row("decr", cmd_decr, 2, "write denyoom fast", _ONE, g, "1.0.0", "O(1)", "Takes one from the integer of a key.", g)
    _row("decrby", cmd_decrby, 3, "write denyoom fast", _ONE, g, "1.0.0", "O(1)", "Takes a number from the integer of a key.", g)
    _row("get", cmd_get, 2, "readonly fast", _ONE, g, "1.0.0", "O(1)", "Answers the value of a key.", g)
    _row("getdel", cmd_getdel, 2, "write fast", _ONE, g, "6.2.0", "O(1)", "Answers the value of a key and deletes it.", g)
    _row("getex", cmd_getex, -2, "write fast", _ONE, g, "6.2.0", "O(1)", "Answers the value of a key and changes its deadline.", g)
    _row("getrange", cmd_getrange, 4, "readonly", _ONE, g, "2.4.0", "O(N) in the bytes answered", "Answers a part of a value.", g)
    _row("getset", cmd_getset, 3, "write denyoom fast", _ONE, g, "1.0.0", "O(1)", "Sets a key and answers what it held before.", g)
    _row("incr", cmd_incr, 2, "write denyoom fast", _ONE, g, "1.0.0", "O(1)", "Adds one to the integer of a key.", g)
    _row("incrby", cmd_incrby, 3, "write denyoom fast", _ONE, g, "1.0.0", "O(1)", "Adds a number to the integer of a key.", g)
    _row("incrbyfloat", cmd_incrbyfloat, 3, "write denyoom fast", _ONE, g, "2.6.0", "O(1)", "Adds to the floating-point number of a key.", g)
    _row("lcs", cmd_lcs, -3, "readonly", _TWO, g, "7.0.0", "O(N*M) in the two lengths", "Finds the longest common subsequence of two values.", g)
    _row("mget", cmd_mget, -2, "readonly fast", _ALL, g, "1.0.0", "O(N) in the keys", "Answers the values of several keys at one moment.", g)
    _row("mset", cmd_mset, -3, "write denyoom", _PAIRS, g, "1.0.1", "O(N) in the keys", "Sets several keys at one moment.", g)
    _row("msetnx", cmd_msetnx, -3, "write denyoom", _PAIRS, g, "1.0.1", "O(N) in the keys", "Sets several keys if none of them exists.", g)
    _row("psetex", cmd_psetex, 4, "write denyoom", _ONE, g, "2.6.0", "O(1)", "Sets a key that lives for some milliseconds.", g)
    _row("set", cmd_set, -3, "write denyoom", _ONE, g, "1.0.0", "O(1)", "Sets a key, with conditions and a deadline.", g)
    _row("setex", cmd_setex, 4, "write denyoom", _ONE, g, "2.0.0", "O(1)", "Sets a key that lives for some seconds.", g)
    _row("setnx", cmd_setnx, 3, "write denyoom fast", _ONE, g, "1.0.0", "O(1)", "Sets a key if it does not exist.", g)
    _row("setrange", cmd_setrange, 4, "write denyoom", _ONE, g, "2.2.0", "O(N) in the bytes written", "Overwrites a part of a value.", g)
    _row("strlen", cmd_strlen, 2, "readonly fast", _ONE, g, "2.2.0", "O(1)", "Answers the length of a value.", g)
    _row("substr", cmd_getrange, 4, "readonly", _ONE, g, "1.0.0", "O(N) in the bytes answered", "The old name of GETRANGE.", g)
    return 0


cdef int _bits() except -1:
    g = "bitmap"
    _row("bitcount", cmd_bitcount, -2, "readonly", _ONE, g, "2.6.0", "O(N) in the bytes counted", "Counts the bits that are set in a value.", g)
    _row("bitfield", cmd_bitfield, -2, "write denyoom", _ONE, g, "3.2.0", "O(1) an operation", "Reads and changes integers of any width inside a value.", g)
    _row("bitfield_ro", cmd_bitfield_ro, -2, "readonly fast", _ONE, g, "6.0.0", "O(1) an operation", "Reads integers of any width inside a value.", g)
    _row("bitop", cmd_bitop, -4, "write denyoom", _AFTER, g, "2.6.0", "O(N) in the bytes of all keys", "Sets a key to the AND, OR, XOR or NOT of values.", g)
    _row("bitpos", cmd_bitpos, -3, "readonly", _ONE, g, "2.8.7", "O(N) in the bytes searched", "Finds the first bit that is set, or clear.", g)
    _row("getbit", cmd_getbit, 3, "readonly fast", _ONE, g, "2.2.0", "O(1)", "Answers a bit of a value.", g)
    _row("setbit", cmd_setbit, 4, "write denyoom", _ONE, g, "2.2.0", "O(1), or O(N) in the bytes the value grows by", "Sets a bit of a value and answers what it was.", g)
    return 0


cdef int _keys() except -1:
    cdef Command* about
    g = "generic"
    k = "keyspace"
    c = "connection"
    elements = "set sortedset list dangerous"
    sorting = "O(N log N) in the elements, O(N) without an order"
    _row("copy", cmd_copy, -3, "write denyoom", _TWO, g, "6.2.0", "O(1) for strings", "Copies the value of a key to another key.", k)
    _row("del", cmd_del, -2, "write", _ALL, g, "1.0.0", "O(N) in the keys", "Deletes keys.", k)
    _row("dump", cmd_dump, 2, "readonly", _ONE, g, "2.6.0", "O(N) in the bytes of the value", "Answers a value in Redis's serialization.", k)
    _row("exists", cmd_exists, -2, "readonly fast", _ALL, g, "1.0.0", "O(N) in the keys", "Counts which of some keys exist.", k)
    _row("expire", cmd_expire, -3, "write fast", _ONE, g, "1.0.0", "O(1)", "Gives a key some seconds to live.", k)
    _row("expireat", cmd_expireat, -3, "write fast", _ONE, g, "1.2.0", "O(1)", "Lets a key expire at a Unix time in seconds.", k)
    _row("expiretime", cmd_expiretime, 2, "readonly fast", _ONE, g, "7.0.0", "O(1)", "Answers when a key expires, in seconds of Unix time.", k)
    _row("keys", cmd_keys, 2, "readonly", _NONE, g, "1.0.0", "O(N) in the keys of the database", "Answers all keys that match a pattern.", "keyspace dangerous")
    _row("move", cmd_move, 3, "write fast", _ONE, g, "1.0.0", "O(1)", "Moves a key to another database.", k)
    about = _row("object", NULL, -2, "", _NONE, g, "2.2.3", "depends on the subcommand", "Commands about the inside of values.", "")
    _sub(about, "encoding", cmd_object_encoding, 3, "readonly", "2.2.3", "O(1)", "Answers how a value is stored.", k, _SECOND)
    _sub(about, "freq", cmd_object_freq, 3, "readonly", "4.0.0", "O(1)", "Answers how often a key is used.", k, _SECOND)
    _sub(about, "help", NULL, 2, "loading stale", "6.2.0", "O(1)", "Tells what OBJECT can do.", k)
    _sub(about, "idletime", cmd_object_idletime, 3, "readonly", "2.2.3", "O(1)", "Answers how many seconds ago a key was used.", k, _SECOND)
    _sub(about, "refcount", cmd_object_refcount, 3, "readonly", "2.2.3", "O(1)", "Answers how many references to a value there are.", k, _SECOND)
    _row("persist", cmd_persist, 2, "write fast", _ONE, g, "2.2.0", "O(1)", "Lets a key live for ever.", k)
    _row("pexpire", cmd_pexpire, -3, "write fast", _ONE, g, "2.6.0", "O(1)", "Gives a key some milliseconds to live.", k)
    _row("pexpireat", cmd_pexpireat, -3, "write fast", _ONE, g, "2.6.0", "O(1)", "Lets a key expire at a Unix time in milliseconds.", k)
    _row("pexpiretime", cmd_pexpiretime, 2, "readonly fast", _ONE, g, "7.0.0", "O(1)", "Answers when a key expires, in milliseconds of Unix time.", k)
    _row("pttl", cmd_pttl, 2, "readonly fast", _ONE, g, "2.6.0", "O(1)", "Answers how many milliseconds a key has to live.", k)
    _row("randomkey", cmd_randomkey, 1, "readonly", _NONE, g, "1.0.0", "O(1)", "Answers a key at random.", k)
    _row("rename", cmd_rename, 3, "write", _TWO, g, "1.0.0", "O(1)", "Gives a key another name, over what stood there.", k)
    _row("renamenx", cmd_renamenx, 3, "write fast", _TWO, g, "1.0.0", "O(1)", "Gives a key another name if that is free.", k)
    _row("restore", cmd_restore, -4, "write denyoom", _ONE, g, "2.6.0", "O(N) in the bytes of the value", "Sets a key to a value in Redis's serialization.", "keyspace dangerous")
    _row("scan", cmd_scan, -2, "readonly", _NONE, g, "2.8.0", "O(1) a call, O(N) in the keys for a whole round", "Walks over the keys a few at a time.", k)
    _row("sort", cmd_sort, -2, "write denyoom movablekeys", _ONE, g, "1.0.0", sorting, "Answers or stores the elements of a list, a set or a sorted set in order.", elements)
    _row("sort_ro", cmd_sort_ro, -2, "readonly movablekeys", _ONE, g, "7.0.0", sorting, "Answers the elements of a list, a set or a sorted set in order.", elements)
    _row("touch", cmd_touch, -2, "readonly fast", _ALL, g, "3.2.1", "O(N) in the keys", "Counts which of some keys exist, as an access to them.", k)
    _row("ttl", cmd_ttl, 2, "readonly fast", _ONE, g, "1.0.0", "O(1)", "Answers how many seconds a key has to live.", k)
    _row("type", cmd_type, 2, "readonly fast", _ONE, g, "1.0.0", "O(1)", "Answers the type of a value.", k)
    _row("unlink", cmd_unlink, -2, "write fast", _ALL, g, "4.0.0", "O(N) in the keys", "Deletes keys; their memory follows behind the scenes.", k)
    _row("wait", NULL, 3, "", _NONE, g, "3.0.0", "O(1)", "Waits until replicas have got what the connection has written.", c)
    _row("waitaof", NULL, 4, "noscript", _NONE, g, "7.2.0", "O(1)", "Waits until what the connection has written is on disk, here and at replicas.", c)
    return 0


cdef int _connection() except -1:
    cdef Command* client
    g = "connection"
    _row("auth", cmd_auth, -2, _GREETING, _NONE, g, "1.0.0", "O(N) in the passwords of the user", "Says who is calling.", g)
    client = _row("client", NULL, -2, "", _NONE, g, "2.4.0", "depends on the subcommand", "Commands about connections.", "")
    _sub(client, "caching", NULL, 3, _ANYTIME, "6.0.0", "O(1)", "Refused: nothing is tracked for client-side caching.", g)
    _sub(client, "getname", cmd_client_getname, 2, _ANYTIME, "2.6.9", "O(1)", "Answers the connection's name.", g)
    _sub(client, "getredir", cmd_client_getredir, 2, _ANYTIME, "6.0.0", "O(1)", "Answers -1: nothing is tracked for client-side caching.", g)
    _sub(client, "help", NULL, 2, "loading stale", "5.0.0", "O(1)", "Tells what CLIENT can do.", g)
    _sub(client, "id", cmd_client_id, 2, _ANYTIME, "5.0.0", "O(1)", "Answers the connection's number.", g)
    _sub(client, "info", cmd_client_info, 2, _ANYTIME, "6.2.0", "O(1)", "Describes this connection.", g)
    _sub(client, "kill", NULL, -3, _ADMIN, "2.4.0", "O(N) in the connections", "Closes connections.", g)
    _sub(client, "list", NULL, -2, _ADMIN, "2.4.0", "O(N) in the connections", "Describes all connections.", g)
    _sub(client, "no-evict", cmd_client_no_evict, 3, _ADMIN, "7.0.0", "O(1)", "Keeps this connection when memory is short.", g)
    _sub(client, "no-touch", cmd_client_no_touch, 3, _ANYTIME, "7.2.0", "O(1)", "Lets reads of this connection leave no trace of access.", g)
    _sub(client, "pause", NULL, -3, _ADMIN, "3.0.0", "O(1)", "Holds back the commands of all clients, or those that write.", g)
    _sub(client, "reply", cmd_client_reply, 3, _ANYTIME, "3.2.0", "O(1)", "Turns replies off, on, or skips one.", g)
    _sub(client, "setinfo", cmd_client_setinfo, 4, _ANYTIME, "7.2.0", "O(1)", "Names the client library of this connection.", g)
    _sub(client, "setname", cmd_client_setname, 3, _ANYTIME, "2.6.9", "O(1)", "Names this connection.", g)
    _sub(client, "tracking", NULL, -3, _ANYTIME, "6.0.0", "O(1)", "Refuses to track keys for client-side caching.", g)
    _sub(client, "trackinginfo", cmd_client_trackinginfo, 2, _ANYTIME, "6.2.0", "O(1)", "Tells what is tracked for client-side caching: nothing.", g)
    _sub(client, "unblock", NULL, -3, _ADMIN, "5.0.0", "O(1)", "Ends the waiting of a client that a command has blocked.", g)
    _sub(client, "unpause", NULL, 2, _ADMIN, "6.2.0", "O(N) in the connections held back", "Ends CLIENT PAUSE.", g)
    _row("echo", cmd_echo, 2, "loading stale fast", _NONE, g, "1.0.0", "O(1)", "Answers its argument.", g)
    _row("hello", cmd_hello, -1, _GREETING, _NONE, g, "6.0.0", "O(1)", "Agrees on the protocol, and says who is calling.", g)
    _row("ping", cmd_ping, -1, "fast", _NONE, g, "1.0.0", "O(1)", "Answers PONG, or its argument.", g)
    _row("quit", cmd_quit, -1, "noscript loading stale fast no_auth allow_busy", _NONE, g, "1.0.0", "O(1)", "Ends the connection.", g)
    _row("reset", cmd_reset, 1, _GREETING, _NONE, g, "6.2.0", "O(1)", "Makes the connection as new.", g)
    _row("select", cmd_select, 2, "loading stale fast", _NONE, g, "1.0.0", "O(1)", "Changes the database.", g)
    return 0


cdef int _server() except -1:
    cdef Command* command
    cdef Command* config
    g = "server"
    c = "connection"
    _row("bgrewriteaof", NULL, 1, "admin noscript no_async_loading", _NONE, g, "1.0.0", "O(N) in the keys, behind the scenes", "Shortens the log by a snapshot.")
    _row("bgsave", NULL, -1, "admin noscript no_async_loading", _NONE, g, "1.0.0", "O(N) in the keys, behind the scenes", "Begins to write a snapshot.")
    command = _row("command", NULL, -1, "loading stale", _NONE, g, "2.8.13", "O(N) in the commands", "Describes all commands.", c)
    _sub(command, "count", NULL, 2, "loading stale", "2.8.13", "O(1)", "Answers how many commands there are.", c)
    _sub(command, "docs", NULL, -2, "loading stale", "7.0.0", "O(N) in the names asked for", "Answers the documentation of commands.", c)
    _sub(command, "getkeys", NULL, -3, "loading stale", "2.8.13", "O(N) in the arguments", "Finds the keys of a request.", c)
    _sub(command, "getkeysandflags", NULL, -3, "loading stale", "7.0.0", "O(N) in the arguments", "Finds the keys of a request, and what it does to them.", c)
    _sub(command, "help", NULL, 2, "loading stale", "5.0.0", "O(1)", "Tells what COMMAND can do.", c)
    _sub(command, "info", NULL, -2, "loading stale", "2.8.13", "O(N) in the names asked for", "Describes some commands.", c)
    _sub(command, "list", NULL, -2, "loading stale", "7.0.0", "O(N) in the commands", "Answers the names of commands.", c)
    config = _row("config", NULL, -2, "", _NONE, g, "2.0.0", "depends on the subcommand", "Commands about the configuration.", "")
    _sub(config, "get", NULL, -3, _ADMIN, "2.0.0", "O(N) in the options", "Answers the values of options.", "")
    _sub(config, "help", NULL, 2, "loading stale", "5.0.0", "O(1)", "Tells what CONFIG can do.", "")
    _sub(config, "resetstat", NULL, 2, _ADMIN, "2.0.0", "O(1)", "Sets the statistics to zero.", "")
    _sub(config, "rewrite", NULL, 2, _ADMIN, "2.8.0", "O(N) in the options", "Writes the options into the configuration file.", "")
    _sub(config, "set", NULL, -4, _ADMIN, "2.0.0", "O(N) in the options", "Changes options, all of them or none.", "")
    _row("dbsize", cmd_dbsize, 1, "readonly fast", _NONE, g, "1.0.0", "O(1)", "Answers how many keys the database has.", "keyspace")
    _row("debug", NULL, -2, _ADMIN, _NONE, g, "1.0.0", "depends on the subcommand", "Commands for tests.", "")
    _row("flushall", cmd_flushall, -1, "write", _NONE, g, "1.0.0", "O(1); memory follows behind the scenes", "Deletes all keys of all databases.", "keyspace dangerous")
    _row("flushdb", cmd_flushdb, -1, "write", _NONE, g, "1.0.0", "O(1); memory follows behind the scenes", "Deletes all keys of the database.", "keyspace dangerous")
    _row("info", NULL, -1, "loading stale", _NONE, g, "1.0.0", "O(1)", "Tells about the server.", "dangerous")
    _row("lastsave", NULL, 1, "loading stale fast", _NONE, g, "1.0.0", "O(1)", "Answers when the last snapshot was written.", "admin dangerous")
    _row("monitor", cmd_monitor, 1, _ADMIN, _NONE, g, "1.0.0", "O(1)", "Shows the commands of all clients as they are executed.")
    _row("role", cmd_role, 1, "noscript loading stale fast", _NONE, g, "2.8.12", "O(1)", "Answers the part this server plays in replication.", "admin dangerous")
    _row("save", NULL, 1, "admin noscript no_async_loading no_multi", _NONE, g, "1.0.0", "O(N) in the keys", "Writes a snapshot and waits for it.")
    _row("shutdown", NULL, -1, "admin noscript loading stale no_multi allow_busy", _NONE, g, "1.0.0", "O(1)", "Ends the server.", "")
    _row("swapdb", cmd_swapdb, 3, "write fast", _NONE, g, "4.0.0", "O(1)", "Swaps two databases.", "keyspace dangerous")
    _row("time", cmd_time, 1, "loading stale fast", _NONE, g, "2.6.0", "O(1)", "Answers the server's time.", "")
    return 0


cdef int _inspection() except -1:
    """What a server knows of itself."""
    cdef Command* latency
    cdef Command* memory
    cdef Command* module
    cdef Command* slowlog
    g = "server"
    quick = "O(1)"
    latency = _row("latency", NULL, -2, "", _NONE, g, "2.8.13", _DEPENDS, "Commands about latencies.", "")
    _sub(latency, "doctor", NULL, 2, _ADMIN, "2.8.13", quick, "Explains the latency events in words.", "")
    _sub(latency, "graph", NULL, 3, _ADMIN, "2.8.13", quick, "Draws the samples of a latency event.", "")
    _sub(latency, "help", NULL, 2, "loading stale", "2.8.13", quick, "Tells what LATENCY can do.", "")
    _sub(latency, "histogram", NULL, -2, _ADMIN, "7.0.0", "O(N) in the commands", "Answers how the durations of commands are distributed.", "")
    _sub(latency, "history", NULL, 3, _ADMIN, "2.8.13", quick, "Answers the samples of a latency event.", "")
    _sub(latency, "latest", NULL, 2, _ADMIN, "2.8.13", quick, "Answers the latest sample of each latency event.", "")
    _sub(latency, "reset", NULL, -2, _ADMIN, "2.8.13", quick, "Forgets the samples of latency events.", "")
    memory = _row("memory", NULL, -2, "", _NONE, g, "4.0.0", _DEPENDS, "Commands about memory.", "")
    _sub(memory, "doctor", NULL, 2, "", "4.0.0", quick, "Explains the use of memory in words.", "")
    _sub(memory, "help", NULL, 2, "loading stale", "4.0.0", quick, "Tells what MEMORY can do.", "")
    _sub(memory, "malloc-stats", NULL, 2, "", "4.0.0", quick, "Answers what the allocator knows.", "")
    _sub(memory, "purge", NULL, 2, "", "4.0.0", quick, "Gives free memory back to the system.", "")
    _sub(memory, "stats", NULL, 2, "", "4.0.0", quick, "Answers where memory is used.", "")
    _sub(memory, "usage", cmd_memory_usage, -3, "readonly", "4.0.0", quick, "Answers how many bytes a key takes.", "", (2, 2, 1))
    module = _row("module", NULL, -2, "", _NONE, g, "4.0.0", _DEPENDS, "Commands about modules, of which there are none.", "")
    _sub(module, "help", NULL, 2, "loading stale", "5.0.0", quick, "Tells what MODULE can do.", "")
    _sub(module, "list", NULL, 2, "admin noscript", "4.0.0", quick, "Answers the modules that are loaded.", "")
    _sub(module, "load", NULL, -3, _MODULES, "4.0.0", quick, "Refuses to load a module.", "")
    _sub(module, "loadex", NULL, -3, _MODULES, "7.0.0", quick, "Refuses to load a module.", "")
    _sub(module, "unload", NULL, 3, _MODULES, "4.0.0", quick, "Refuses to unload a module.", "")
    slowlog = _row("slowlog", NULL, -2, "", _NONE, g, "2.2.12", _DEPENDS, "Commands about the slow log.", "")
    _sub(slowlog, "get", NULL, -2, "admin loading stale", "2.2.12", "O(N) in the calls answered", "Answers the newest calls of the slow log.", "")
    _sub(slowlog, "help", NULL, 2, "loading stale", "6.2.0", quick, "Tells what SLOWLOG can do.", "")
    _sub(slowlog, "len", NULL, 2, "admin loading stale", "2.2.12", quick, "Answers how many calls the slow log holds.", "")
    _sub(slowlog, "reset", NULL, 2, "admin loading stale", "2.2.12", "O(N) in the calls it holds", "Empties the slow log.", "")
    _row("lolwut", NULL, -1, "readonly fast", _NONE, g, "5.0.0", quick, "Draws something.", "")
    return 0


cdef int _replication() except -1:
    """There is one server. What clients ask of several is refused in Redis's words."""
    g = "server"
    quick = "O(1)"
    words = "no_async_loading admin noscript stale"
    _row("failover", NULL, -1, "admin noscript stale", _NONE, g, "6.2.0", quick, "Refuses to hand over to a replica: there is none.", "")
    _row("psync", NULL, -3, "no_async_loading admin no_multi noscript", _NONE, g, "2.8.0", quick, "Refuses to be replicated.", "")
    _row("replconf", NULL, -1, "admin noscript loading stale allow_busy", _NONE, g, "3.0.0", quick, "Takes what a replica says of itself.", "")
    _row("replicaof", NULL, 3, words, _NONE, g, "5.0.0", quick, "Refuses to become a replica; NO ONE is what it is.", "")
    _row("slaveof", NULL, 3, words, _NONE, g, "1.0.0", quick, "The old name of REPLICAOF.", "")
    _row("sync", NULL, 1, "no_async_loading admin no_multi noscript", _NONE, g, "1.0.0", quick, "Refuses to be replicated.", "")
    return 0


cdef int _cluster() except -1:
    cdef Command* cluster
    g = "cluster"
    quick = "O(1)"
    admin = "no_async_loading admin stale"
    slots = "O(N) in the slots"
    cluster = _row("cluster", NULL, -2, "", _NONE, g, "3.0.0", _DEPENDS, "Commands about the cluster, emulated as one node.", "")
    _sub(cluster, "addslots", NULL, -3, admin, "3.0.0", slots, "Refused: the one node has all slots.", "")
    _sub(cluster, "addslotsrange", NULL, -4, admin, "7.0.0", slots, "Refused: the one node has all slots.", "")
    _sub(cluster, "bumpepoch", NULL, 2, admin, "3.0.0", quick, "Refused: there is one node.", "")
    _sub(cluster, "count-failure-reports", NULL, 3, "admin stale", "3.0.0", quick, "Answers 0: nobody reports.", "")
    _sub(cluster, "countkeysinslot", NULL, 3, "stale", "3.0.0", "O(N) in the keys of database 0", "Counts the keys of a slot.", "")
    _sub(cluster, "delslots", NULL, -3, admin, "3.0.0", slots, "Refused: the one node has all slots.", "")
    _sub(cluster, "delslotsrange", NULL, -4, admin, "7.0.0", slots, "Refused: the one node has all slots.", "")
    _sub(cluster, "failover", NULL, -2, admin, "3.0.0", quick, "Refused: there is no replica.", "")
    _sub(cluster, "flushslots", NULL, 2, admin, "3.0.0", quick, "Refused: the one node has all slots.", "")
    _sub(cluster, "forget", NULL, 3, admin, "3.0.0", quick, "Refused: there is one node.", "")
    _sub(cluster, "getkeysinslot", NULL, 4, "stale", "3.0.0", "O(N) in the keys of database 0", "Answers keys of a slot.", "")
    _sub(cluster, "help", NULL, 2, "loading stale", "5.0.0", quick, "Tells what CLUSTER can do.", "")
    _sub(cluster, "info", NULL, 2, "stale", "3.0.0", quick, "Tells about the cluster.", "")
    _sub(cluster, "keyslot", NULL, 3, "stale", "3.0.0", "O(N) in the bytes of the key", "Answers the slot of a key.", "")
    _sub(cluster, "links", NULL, 2, "stale", "7.0.0", quick, "Answers the links between nodes: none.", "")
    _sub(cluster, "meet", NULL, -4, admin, "3.0.0", quick, "Refused: there is one node.", "")
    _sub(cluster, "myid", NULL, 2, "stale", "3.0.0", quick, "Answers the id of the node.", "")
    _sub(cluster, "myshardid", NULL, 2, "stale", "7.2.0", quick, "Answers the id of the node's shard.", "")
    _sub(cluster, "nodes", NULL, 2, "stale", "3.0.0", quick, "Describes the nodes.", "")
    _sub(cluster, "replicas", NULL, 3, "admin stale", "5.0.0", quick, "Describes the replicas of a node: none.", "")
    _sub(cluster, "replicate", NULL, 3, admin, "3.0.0", quick, "Refused: there is one node.", "")
    _sub(cluster, "reset", NULL, -2, "admin stale noscript", "3.0.0", quick, "Refused: there is one node.", "")
    _sub(cluster, "saveconfig", NULL, 2, admin, "3.0.0", quick, "Answers OK: there is nothing to save.", "")
    _sub(cluster, "set-config-epoch", NULL, 3, admin, "3.0.0", quick, "Refused: there is one node.", "")
    _sub(cluster, "setslot", NULL, -4, admin, "3.0.0", quick, "Refused: the one node has all slots.", "")
    _sub(cluster, "shards", NULL, 2, "loading stale", "7.0.0", quick, "Answers which slots and nodes the shards have.", "")
    _sub(cluster, "slaves", NULL, 3, "admin stale", "3.0.0", quick, "The old name of CLUSTER REPLICAS.", "")
    _sub(cluster, "slots", NULL, 2, "loading stale", "3.0.0", quick, "Answers which node has which slots.", "")
    _row("asking", NULL, 1, "fast", _NONE, g, "3.0.0", quick, "Allows the next command in a slot that is on its way.", "connection")
    _row("readonly", NULL, 1, "fast loading stale", _NONE, g, "3.0.0", quick, "Allows reads from a replica.", "connection")
    _row("readwrite", NULL, 1, "fast loading stale", _NONE, g, "3.0.0", quick, "Takes READONLY back.", "connection")
    return 0


_strings()
_bits()
_keys()
_connection()
_server()
_inspection()
_replication()
_cluster()
if not command_seal():
    raise ImportError("no perfect index over the command table was found")


def rows():
    """All rows as dictionaries, subcommands included: id, name, full_name, arity, flags, first_key, last_key, key_step, control,
    categories, group, since, complexity, summary, subcommands (full names). The caller does not change them."""
    return _rows
