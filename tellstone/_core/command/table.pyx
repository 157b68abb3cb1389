"""The command table (see table.pxd).

A row names the command, its handler (none: a control command, answered by Python), its arity, flags, key positions, categories and
documentation, with Redis 7.2's values. Flags of Redis that mean nothing here yet are there all the same, because clients read them
from COMMAND. Rows of a container's subcommands follow the container.
"""
from libc.stdint cimport uint64_t

from tellstone._core.base.stamp cimport check_layout
from tellstone._core.command.command cimport *
from tellstone._core.command.connection cimport *
from tellstone._core.command.keys cimport *
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
    words = flags.split()
    row.handler = handler
    row.arity = arity
    row.flags = <uint64_t>sum(_FLAGS[word] for word in words)
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
              str categories) except -1:
    cdef Command* row
    container = _rows[parent.id]
    row = _add(name, parent, container["name"], handler, arity, flags, (0, 0, 0), container["group"], since, complexity, summary,
               categories)
    container["subcommands"].append(row.full_name.decode())
    return 0


_NONE = (0, 0, 0)
_ONE = (1, 1, 1)
_ALL = (1, -1, 1)
_TWO = (1, 2, 1)
_PAIRS = (1, -1, 2)


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


cdef int _keys() except -1:
    g = "generic"
    k = "keyspace"
    _row("del", cmd_del, -2, "write", _ALL, g, "1.0.0", "O(N) in the keys", "Deletes keys.", k)
    _row("exists", cmd_exists, -2, "readonly fast", _ALL, g, "1.0.0", "O(N) in the keys", "Counts which of some keys exist.", k)
    _row("expire", cmd_expire, -3, "write fast", _ONE, g, "1.0.0", "O(1)", "Gives a key some seconds to live.", k)
    _row("expireat", cmd_expireat, -3, "write fast", _ONE, g, "1.2.0", "O(1)", "Lets a key expire at a Unix time in seconds.", k)
    _row("expiretime", cmd_expiretime, 2, "readonly fast", _ONE, g, "7.0.0", "O(1)", "Answers when a key expires, in seconds of Unix time.", k)
    _row("keys", cmd_keys, 2, "readonly", _NONE, g, "1.0.0", "O(N) in the keys of the database", "Answers all keys that match a pattern.", "keyspace dangerous")
    _row("move", cmd_move, 3, "write fast", _ONE, g, "1.0.0", "O(1)", "Moves a key to another database.", k)
    _row("persist", cmd_persist, 2, "write fast", _ONE, g, "2.2.0", "O(1)", "Lets a key live for ever.", k)
    _row("pexpire", cmd_pexpire, -3, "write fast", _ONE, g, "2.6.0", "O(1)", "Gives a key some milliseconds to live.", k)
    _row("pexpireat", cmd_pexpireat, -3, "write fast", _ONE, g, "2.6.0", "O(1)", "Lets a key expire at a Unix time in milliseconds.", k)
    _row("pexpiretime", cmd_pexpiretime, 2, "readonly fast", _ONE, g, "7.0.0", "O(1)", "Answers when a key expires, in milliseconds of Unix time.", k)
    _row("pttl", cmd_pttl, 2, "readonly fast", _ONE, g, "2.6.0", "O(1)", "Answers how many milliseconds a key has to live.", k)
    _row("randomkey", cmd_randomkey, 1, "readonly", _NONE, g, "1.0.0", "O(1)", "Answers a key at random.", k)
    _row("rename", cmd_rename, 3, "write", _TWO, g, "1.0.0", "O(1)", "Gives a key another name, over what stood there.", k)
    _row("renamenx", cmd_renamenx, 3, "write fast", _TWO, g, "1.0.0", "O(1)", "Gives a key another name if that is free.", k)
    _row("scan", cmd_scan, -2, "readonly", _NONE, g, "2.8.0", "O(1) a call, O(N) in the keys for a whole round", "Walks over the keys a few at a time.", k)
    _row("touch", cmd_touch, -2, "readonly fast", _ALL, g, "3.2.1", "O(N) in the keys", "Counts which of some keys exist, as an access to them.", k)
    _row("ttl", cmd_ttl, 2, "readonly fast", _ONE, g, "1.0.0", "O(1)", "Answers how many seconds a key has to live.", k)
    _row("type", cmd_type, 2, "readonly fast", _ONE, g, "1.0.0", "O(1)", "Answers the type of a value.", k)
    _row("unlink", cmd_unlink, -2, "write fast", _ALL, g, "4.0.0", "O(N) in the keys", "Deletes keys; their memory follows behind the scenes.", k)
    return 0


cdef int _connection() except -1:
    cdef Command* client
    g = "connection"
    _row("auth", cmd_auth, -2, _GREETING, _NONE, g, "1.0.0", "O(N) in the passwords of the user", "Says who is calling.", g)
    client = _row("client", NULL, -2, "", _NONE, g, "2.4.0", "depends on the subcommand", "Commands about connections.", "")
    _sub(client, "getname", cmd_client_getname, 2, _ANYTIME, "2.6.9", "O(1)", "Answers the connection's name.", g)
    _sub(client, "help", NULL, 2, "loading stale", "5.0.0", "O(1)", "Tells what CLIENT can do.", g)
    _sub(client, "id", cmd_client_id, 2, _ANYTIME, "5.0.0", "O(1)", "Answers the connection's number.", g)
    _sub(client, "info", cmd_client_info, 2, _ANYTIME, "6.2.0", "O(1)", "Describes this connection.", g)
    _sub(client, "kill", NULL, -3, _ADMIN, "2.4.0", "O(N) in the connections", "Closes connections.", g)
    _sub(client, "list", NULL, -2, _ADMIN, "2.4.0", "O(N) in the connections", "Describes all connections.", g)
    _sub(client, "no-evict", cmd_client_no_evict, 3, _ADMIN, "7.0.0", "O(1)", "Keeps this connection when memory is short.", g)
    _sub(client, "no-touch", cmd_client_no_touch, 3, _ANYTIME, "7.2.0", "O(1)", "Lets reads of this connection leave no trace of access.", g)
    _sub(client, "reply", cmd_client_reply, 3, _ANYTIME, "3.2.0", "O(1)", "Turns replies off, on, or skips one.", g)
    _sub(client, "setinfo", cmd_client_setinfo, 4, _ANYTIME, "7.2.0", "O(1)", "Names the client library of this connection.", g)
    _sub(client, "setname", cmd_client_setname, 3, _ANYTIME, "2.6.9", "O(1)", "Names this connection.", g)
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
    _sub(config, "set", NULL, -4, _ADMIN, "2.0.0", "O(N) in the options", "Changes options, all of them or none.", "")
    _row("dbsize", cmd_dbsize, 1, "readonly fast", _NONE, g, "1.0.0", "O(1)", "Answers how many keys the database has.", "keyspace")
    _row("debug", NULL, -2, _ADMIN, _NONE, g, "1.0.0", "depends on the subcommand", "Commands for tests.", "")
    _row("flushall", cmd_flushall, -1, "write", _NONE, g, "1.0.0", "O(1); memory follows behind the scenes", "Deletes all keys of all databases.", "keyspace dangerous")
    _row("flushdb", cmd_flushdb, -1, "write", _NONE, g, "1.0.0", "O(1); memory follows behind the scenes", "Deletes all keys of the database.", "keyspace dangerous")
    _row("info", NULL, -1, "loading stale", _NONE, g, "1.0.0", "O(1)", "Tells about the server.", "dangerous")
    _row("role", cmd_role, 1, "noscript loading stale fast", _NONE, g, "2.8.12", "O(1)", "Answers the part this server plays in replication.", "admin dangerous")
    _row("shutdown", NULL, -1, "admin noscript loading stale no_multi allow_busy", _NONE, g, "1.0.0", "O(1)", "Ends the server.", "")
    _row("swapdb", cmd_swapdb, 3, "write fast", _NONE, g, "4.0.0", "O(1)", "Swaps two databases.", "keyspace dangerous")
    _row("time", cmd_time, 1, "loading stale fast", _NONE, g, "2.6.0", "O(1)", "Answers the server's time.", "")
    return 0


_strings()
_keys()
_connection()
_server()
if not command_seal():
    raise ImportError("no perfect index over the command table was found")


def rows():
    """All rows as dictionaries, subcommands included: id, name, full_name, arity, flags, first_key, last_key, key_step, control,
    categories, group, since, complexity, summary, subcommands (full names). The caller does not change them."""
    return _rows
