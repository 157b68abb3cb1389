"""What COMMAND tells beside the command table: what commands do to their keys, and Redis's tips for proxies."""

from __future__ import annotations

# How keys are used, in Redis's words. RENAME and RENAMENX treat their two keys differently.
KEY_ACCESS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("exists", "strlen", "touch", "type"), ("RO",)),
    **dict.fromkeys(("get", "getrange", "mget", "substr"), ("RO access",)),
    **dict.fromkeys(("expiretime", "pexpiretime", "pttl", "ttl"), ("RO access",)),
    **dict.fromkeys(("decr", "decrby", "incr", "incrby", "incrbyfloat"), ("RW access update",)),
    **dict.fromkeys(("getex", "getset", "move"), ("RW access update",)),
    **dict.fromkeys(("expire", "expireat", "pexpire", "pexpireat", "persist", "setrange"), ("RW update",)),
    **dict.fromkeys(("mset", "psetex", "setex"), ("OW update",)),
    **dict.fromkeys(("msetnx", "setnx"), ("OW insert",)),
    **dict.fromkeys(("del", "unlink"), ("RM delete",)),
    "append": ("RW insert",),
    "getdel": ("RW access delete",),
    "rename": ("RW access delete", "OW update"),
    "renamenx": ("RW access delete", "OW insert"),
    "set": ("RW access update variable_flags",),
}
KEY_NOTES = {
    "getex": "RW and UPDATE because it changes the TTL",
    "set": "RW and ACCESS due to the optional `GET` argument",
}


def key_access(name: str, request: list[bytes]) -> tuple[str, ...]:
    """How a request uses its keys, each as the last entry if there are more of them."""
    if name == "set":
        reads = any(argument.lower() == b"get" for argument in request[3:])
        return ("RW access update",) if reads else ("OW update",)
    return KEY_ACCESS[name]


TO_ALL_NODES = ("request_policy:all_nodes", "response_policy:all_succeeded")
TO_ALL_SHARDS = ("request_policy:all_shards", "response_policy:all_succeeded")
SUM_OF_SHARDS = ("request_policy:multi_shard", "response_policy:agg_sum")

TIPS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("client|setinfo", "client|setname", "config|resetstat", "config|set"), TO_ALL_NODES),
    **dict.fromkeys(("flushall", "flushdb", "ping"), TO_ALL_SHARDS),
    **dict.fromkeys(("del", "exists", "touch", "unlink"), SUM_OF_SHARDS),
    **dict.fromkeys(("client|info", "client|list", "pttl", "time", "ttl"), ("nondeterministic_output",)),
    **dict.fromkeys(("command", "command|docs", "command|info", "command|list"), ("nondeterministic_output_order",)),
    "dbsize": ("request_policy:all_shards", "response_policy:agg_sum"),
    "info": ("nondeterministic_output", "request_policy:all_shards", "response_policy:special"),
    "keys": ("request_policy:all_shards", "nondeterministic_output_order"),
    "mget": ("request_policy:multi_shard",),
    "mset": ("request_policy:multi_shard", "response_policy:all_succeeded"),
    "randomkey": ("request_policy:all_shards", "response_policy:special", "nondeterministic_output"),
    "scan": ("nondeterministic_output", "request_policy:special", "response_policy:special"),
}
