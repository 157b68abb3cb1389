"""What COMMAND tells beside the command table: what commands do to their keys, and Redis's tips for proxies."""

from __future__ import annotations

from collections.abc import Sequence

from tellstone.control.encode import keyword

OBJECT_FACTS = ("object|encoding", "object|freq", "object|idletime", "object|refcount")

# How keys are used, in Redis's words: all of a command's keys, or its first ones in turn and then the rest.
KEY_ACCESS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("exists", "strlen", "touch", "type"), ("RO",)),
    **dict.fromkeys((*OBJECT_FACTS, "memory|usage"), ("RO",)),
    **dict.fromkeys(("dump", "get", "getrange", "lcs", "mget", "sort", "sort_ro", "substr"), ("RO access",)),
    **dict.fromkeys(("bitcount", "bitfield_ro", "bitpos", "getbit"), ("RO access",)),
    **dict.fromkeys(("expiretime", "pexpiretime", "pttl", "ttl"), ("RO access",)),
    **dict.fromkeys(("decr", "decrby", "incr", "incrby", "incrbyfloat"), ("RW access update",)),
    **dict.fromkeys(("getex", "getset", "move", "setbit"), ("RW access update",)),
    **dict.fromkeys(("expire", "expireat", "pexpire", "pexpireat", "persist", "setrange"), ("RW update",)),
    **dict.fromkeys(("mset", "psetex", "restore", "setex"), ("OW update",)),
    **dict.fromkeys(("msetnx", "setnx"), ("OW insert",)),
    **dict.fromkeys(("del", "unlink"), ("RM delete",)),
    "append": ("RW insert",),
    "bitfield": ("RW access update variable_flags",),
    "bitop": ("OW update", "RO access"),
    "copy": ("RO access", "OW update"),
    "getdel": ("RW access delete",),
    "rename": ("RW access delete", "OW update"),
    "renamenx": ("RW access delete", "OW insert"),
    "set": ("RW access update variable_flags",),
}
KEY_NOTES = {
    "bitfield": "This command allows both access and modification of the key",
    "getex": "RW and UPDATE because it changes the TTL",
    "set": "RW and ACCESS due to the optional `GET` argument",
}
# Keys that no position tells: why, and how they are used.
NOT_WRITTEN = (
    "For the optional BY/GET keyword. It is marked 'unknown' because"
    " the key names derive from the content of the key we sort"
)
NOT_PLACED = (
    "For the optional STORE keyword. It is marked 'unknown' because"
    " the keyword can appear anywhere in the argument array"
)
SORT_KEYS, STORE_KEY = (NOT_WRITTEN, "RO access"), (NOT_PLACED, "OW update")
UNKNOWN_KEYS: dict[str, tuple[tuple[str, str], ...]] = {"sort": (SORT_KEYS, STORE_KEY), "sort_ro": (SORT_KEYS,)}

SORT_ARGUMENTS = {b"limit": 2, b"get": 1, b"by": 1}


def stored_key(request: Sequence[bytes]) -> bytes | None:
    """Where a SORT stores its result: behind its last STORE, whatever the rest of the request is."""
    found = None
    at = 2
    while at < len(request):
        word = keyword(request[at])
        if word == b"store" and at + 1 < len(request):
            found = request[at + 1]
        at += 1 + SORT_ARGUMENTS.get(word, 0)
    return found


BITFIELD_ARGUMENTS = {b"get": 2, b"overflow": 1}


def only_reads(words: list[bytes]) -> bool:
    """Whether BITFIELD's operations change nothing; False for what is no operation."""
    at = 0
    while at < len(words):
        at += 1 + BITFIELD_ARGUMENTS.get(keyword(words[at]), len(words))
    return at == len(words)


def key_access(name: str, request: list[bytes]) -> tuple[str, ...]:
    """How a request uses its keys, each as the last entry if there are more of them."""
    if name == "set":
        reads = any(keyword(argument) == b"get" for argument in request[3:])
        return ("RW access update",) if reads else ("OW update",)
    if name == "sort" and stored_key(request) is not None:
        return ("RO access", "OW update")
    if name == "bitfield":
        return ("RO access",) if only_reads(request[2:]) else ("RW access update",)
    return KEY_ACCESS[name]


TO_ALL_NODES = ("request_policy:all_nodes", "response_policy:all_succeeded")
TO_ALL_SHARDS = ("request_policy:all_shards", "response_policy:all_succeeded")
SUM_OF_SHARDS = ("request_policy:multi_shard", "response_policy:agg_sum")

OF_ALL_NODES = ("nondeterministic_output", "request_policy:all_nodes", "response_policy:special")
OF_ALL_SHARDS = ("nondeterministic_output", "request_policy:all_shards", "response_policy:special")
NOT_FIXED = ("nondeterministic_output",)

TIPS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("latency|doctor", "latency|graph", "latency|histogram"), OF_ALL_NODES),
    **dict.fromkeys(("latency|history", "latency|latest"), OF_ALL_NODES),
    **dict.fromkeys(("memory|doctor", "memory|malloc-stats", "memory|stats"), OF_ALL_SHARDS),
    **dict.fromkeys(("cluster|bumpepoch", "cluster|count-failure-reports", "cluster|getkeysinslot"), NOT_FIXED),
    **dict.fromkeys(("cluster|info", "cluster|links", "cluster|myshardid", "cluster|nodes"), NOT_FIXED),
    **dict.fromkeys(("cluster|replicas", "cluster|shards", "cluster|slaves", "cluster|slots"), NOT_FIXED),
    "config|rewrite": TO_ALL_NODES,
    "lastsave": NOT_FIXED,
    "latency|reset": ("request_policy:all_nodes", "response_policy:agg_sum"),
    "memory|purge": TO_ALL_SHARDS,
    "module|list": ("nondeterministic_output_order",),
    "slowlog|get": ("request_policy:all_nodes", "nondeterministic_output"),
    "slowlog|len": ("request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"),
    "slowlog|reset": TO_ALL_NODES,
    **dict.fromkeys(("client|setinfo", "client|setname", "config|resetstat", "config|set"), TO_ALL_NODES),
    **dict.fromkeys(("flushall", "flushdb", "ping"), TO_ALL_SHARDS),
    **dict.fromkeys(("del", "exists", "touch", "unlink"), SUM_OF_SHARDS),
    **dict.fromkeys(("client|info", "client|list", "dump", "pttl", "time", "ttl"), ("nondeterministic_output",)),
    **dict.fromkeys(OBJECT_FACTS, ("nondeterministic_output",)),
    **dict.fromkeys(("wait", "waitaof"), ("request_policy:all_shards", "response_policy:agg_min")),
    **dict.fromkeys(("command", "command|docs", "command|info", "command|list"), ("nondeterministic_output_order",)),
    "dbsize": ("request_policy:all_shards", "response_policy:agg_sum"),
    "info": ("nondeterministic_output", "request_policy:all_shards", "response_policy:special"),
    "keys": ("request_policy:all_shards", "nondeterministic_output_order"),
    "mget": ("request_policy:multi_shard",),
    "mset": ("request_policy:multi_shard", "response_policy:all_succeeded"),
    "randomkey": ("request_policy:all_shards", "response_policy:special", "nondeterministic_output"),
    "scan": ("nondeterministic_output", "request_policy:special", "response_policy:special"),
}


WHEN_OPTIONS = (("7.0.0", "The options NX, XX, GT and LT."),)
FLUSH_OPTIONS = (("4.0.0", "The option ASYNC."), ("6.2.0", "The option SYNC."))
BIT_RANGES = (("7.0.0", "Ranges in bits."),)

# What has changed since a command is there, by Redis's versions.
HISTORY: dict[str, tuple[tuple[str, str], ...]] = {
    **dict.fromkeys(("expire", "expireat", "pexpire", "pexpireat"), WHEN_OPTIONS),
    **dict.fromkeys(("flushall", "flushdb"), FLUSH_OPTIONS),
    **dict.fromkeys(("bitcount", "bitpos"), BIT_RANGES),
    **dict.fromkeys(("pttl", "ttl"), (("2.8.0", "The reply -2."),)),
    "bgsave": (("3.2.2", "The option SCHEDULE."),),
    "auth": (("6.0.0", "The name of a user."),),
    "client|kill": (
        ("2.8.12", "Filters."),
        ("2.8.12", "The filter ID."),
        ("3.2.0", "The type master."),
        ("5.0.0", "The type replica, once called slave."),
        ("6.2.0", "The filter LADDR."),
    ),
    "client|list": (
        ("2.8.12", "The field id."),
        ("5.0.0", "The filter TYPE."),
        ("6.0.0", "The field user."),
        ("6.2.0", "The fields argv-mem, tot-mem, laddr and redir, and the filter ID."),
        ("7.0.0", "The fields resp, multi-mem, rbs and rbp."),
        ("7.0.3", "The field ssub."),
    ),
    "client|pause": (("6.2.0", "The mode WRITE."),),
    "cluster|meet": (("4.0.0", "The port of the bus."),),
    "cluster|slots": (("4.0.0", "The ids of nodes."), ("7.0.0", "More about the network of nodes.")),
    "command|info": (("7.0.0", "All commands where none is named."),),
    "config|get": (("7.0.0", "Several patterns."),),
    "config|set": (("7.0.0", "Several options."),),
    "exists": (("3.0.3", "Several keys."),),
    "hello": (("6.2.0", "No version of the protocol: just tell about the connection."),),
    "info": (("7.0.0", "Several sections."),),
    "renamenx": (("3.2.0", "No error when both names are the same."),),
    "restore": (
        ("3.0.0", "The option REPLACE."),
        ("5.0.0", "The option ABSTTL."),
        ("5.0.0", "The options IDLETIME and FREQ."),
    ),
    "scan": (("6.0.0", "The option TYPE."),),
    "set": (
        ("2.6.12", "The options EX, PX, NX and XX."),
        ("6.0.0", "The option KEEPTTL."),
        ("6.2.0", "The options GET, EXAT and PXAT."),
        ("7.0.0", "NX together with GET."),
    ),
    "shutdown": (("7.0.0", "The options NOW, FORCE and ABORT."),),
    "slowlog|get": (("4.0.0", "The client's address and name."),),
}

# Since when, and what to use instead.
DEPRECATED: dict[str, tuple[str, str]] = {
    "cluster|slaves": ("5.0.0", "`CLUSTER REPLICAS`"),
    "cluster|slots": ("7.0.0", "`CLUSTER SHARDS`"),
    "getset": ("6.2.0", "`SET` with the `!GET` argument"),
    "psetex": ("2.6.12", "`SET` with the `PX` argument"),
    "quit": ("7.2.0", "just closing the connection"),
    "setex": ("2.6.12", "`SET` with the `EX` argument"),
    "setnx": ("2.6.12", "`SET` with the `NX` argument"),
    "slaveof": ("5.0.0", "`REPLICAOF`"),
    "substr": ("2.0.0", "`GETRANGE`"),
}
FOR_SERVERS = ("debug", "replconf")  # "syscmd" in Redis: not for users
