"""Replication: there is one server. What Redis refuses is refused in its words, the rest in ours."""

from __future__ import annotations

from collections.abc import Sequence

from tellstone.control.context import Call, Context
from tellstone.control.encode import OK, Reply, keyword, word
from tellstone.control.keys import NOT_INTEGER, integer
from tellstone.errors import ResponseError

ALONE = "ERR replication is not supported by this server"
PORT_MAX = 65535
HOST_MAX = 255  # bytes of a replica's address


# FAILOVER [TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]
def failover(context: Context, call: Call) -> Reply:
    """Refused: there is no replica to hand over to."""
    if context.is_cluster:
        raise ResponseError("ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead.")
    words = call.args[1:]
    if [*map(keyword, words)] == [b"abort"]:
        raise ResponseError("ERR No failover in progress.")
    read_failover(words)
    raise ResponseError("ERR FAILOVER requires connected replicas.")


def read_failover(words: Sequence[bytes]) -> None:
    """Check the options of FAILOVER, each of which may be there once."""
    at, seen = 0, set()
    while at < len(words):
        option, left = keyword(words[at]), len(words) - at - 1
        if option in seen or option not in (b"timeout", b"to", b"force"):
            raise ResponseError("ERR syntax error")
        if option == b"timeout" and left >= 1:
            if integer(words[at + 1], NOT_INTEGER) <= 0:
                raise ResponseError("ERR FAILOVER timeout must be greater than 0")
            at += 1
        elif option == b"to" and left >= 2:
            integer(words[at + 2], NOT_INTEGER)
            at += 2
        elif option != b"force":
            raise ResponseError("ERR syntax error")
        seen.add(option)
        at += 1


# REPLICAOF host port
# REPLICAOF NO ONE
def replicaof(context: Context, call: Call) -> Reply:
    """NO ONE is what this server follows anyway; anybody else it cannot follow."""
    if context.is_cluster:
        raise ResponseError("ERR REPLICAOF not allowed in cluster mode.")
    host, port = call.args[1:]
    if (keyword(host), keyword(port)) == (b"no", b"one"):
        return OK
    integer(port, "Invalid master port", 0, PORT_MAX)
    raise ResponseError(ALONE)


# SYNC
# PSYNC replicationid offset
def sync(context: Context, call: Call) -> Reply:
    """Refused: a replica would wait for a stream that never comes."""
    del context
    if call.name == "psync":
        if len(call.args) > 3 and keyword(call.args[3]) == b"failover":
            raise ResponseError("ERR PSYNC FAILOVER can't be sent to a master.")
        integer(call.args[2], NOT_INTEGER)
    raise ResponseError(ALONE)


# REPLCONF [option value [option value ...]]
def replconf(context: Context, call: Call) -> Reply:
    """What a replica says of itself before it asks for the stream. It is taken note of, that is, forgotten."""
    del context
    words = call.args[1:]
    if len(words) % 2:
        raise ResponseError("ERR syntax error")
    for option, value in zip(words[::2], words[1::2], strict=True):
        check_replica_option(option, value)
    return OK


def check_replica_option(option: bytes, value: bytes) -> None:
    """Refuse what Redis refuses."""
    name = keyword(option)
    if name == b"listening-port":
        integer(value, NOT_INTEGER)
    elif name == b"ip-address" and len(value) > HOST_MAX:
        raise ResponseError(f"ERR REPLCONF ip-address provided by replica instance is too long: {len(value)} bytes")
    elif name == b"rdb-only":
        integer(value, NOT_INTEGER)
        integer(value, "value is out of range, value must between 0 and 1", 0, 1)
    elif name not in (b"ip-address", b"capa", b"ack", b"getack", b"rdb-filter-only"):
        raise ResponseError(f"ERR Unrecognized REPLCONF option: {word(option)}")
