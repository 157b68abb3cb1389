"""Control commands over a socket, byte for byte what redis-server answers."""

from __future__ import annotations

import pytest
from servers import Server, redis_program, redis_version
from wire import encode, in_order, joined, tree, value

SAME = """
CONFIG
CONFIG GET
CONFIG NOSUCH
CONFIG GET nosuch
CONFIG GET maxmemory
CONFIG GET MAXMEMORY
CONFIG GET maxmemory MAXMEMORY maxmemory
CONFIG GET maxmemory-policy save appendonly databases
CONFIG GET timeout tcp-keepalive maxclients proto-max-bulk-len
CONFIG GET tcp-keepaliv[ex]
CONFIG GET [
CONFIG SET
CONFIG SET maxmemory
CONFIG SET maxmemory 0 timeout
CONFIG SET nosuch 1
CONFIG SET maxmemory x
CONFIG SET MAXMEMORY x
CONFIG SET maxmemory -1
CONFIG SET maxmemory 1x
CONFIG SET maxmemory 1gb foo 1
CONFIG SET foo 1 maxmemory x
CONFIG SET maxmemory 1gb MAXMEMORY 2gb
CONFIG SET databases 3 foo 1
CONFIG SET databases 3
CONFIG SET DATABASES 3
CONFIG SET maxclients 0
CONFIG SET maxclients 1.5
CONFIG SET maxclients +1
CONFIG SET timeout -1
CONFIG SET timeout x
CONFIG SET client-output-buffer-limit 1
CONFIG SET client-output-buffer-limit normal
CONFIG SET maxmemory 100mb
CONFIG GET maxmemory
CONFIG SET maxmemory 0
CONFIG SET save "" appendonly no maxmemory-policy noeviction
CONFIG RESETSTAT x
CONFIG RESETSTAT
CLIENT
CLIENT NOSUCH
CLIENT LIST x
CLIENT LIST TYPE x
CLIENT LIST TYPE
CLIENT LIST ID
CLIENT LIST ID x
CLIENT LIST ID 987654321
CLIENT LIST ID -1
CLIENT LIST TYPE pubsub
CLIENT LIST TYPE replica
CLIENT KILL
CLIENT KILL 127.0.0.1:1
CLIENT KILL ID
CLIENT KILL ID x
CLIENT KILL ID 0
CLIENT KILL ID 987654321
CLIENT KILL ID 987654321 ID
CLIENT KILL TYPE x
CLIENT KILL TYPE pubsub
CLIENT KILL TYPE slave
CLIENT KILL USER nobody
CLIENT KILL USER default ID 987654321
CLIENT KILL SKIPME maybe
CLIENT KILL SKIPME no ADDR 127.0.0.1:1
CLIENT KILL LADDR 127.0.0.1:1
CLIENT KILL FOO bar
COMMAND NOSUCH
COMMAND COUNT x
COMMAND INFO nosuch
COMMAND DOCS nosuch
COMMAND LIST x
COMMAND LIST FILTERBY x y
COMMAND LIST FILTERBY PATTERN
COMMAND LIST FILTERBY PATTERN getdel
COMMAND LIST FILTERBY PATTERN GETD?[l]
COMMAND LIST FILTERBY PATTERN config|get
COMMAND LIST FILTERBY ACLCAT nosuch
COMMAND LIST FILTERBY MODULE nosuch
COMMAND GETKEYS
COMMAND GETKEYS nosuch x
COMMAND GETKEYS ping x
COMMAND GETKEYS get a b
COMMAND GETKEYS get a
COMMAND GETKEYS MSET a 1 b 2
COMMAND GETKEYS RENAME a b
COMMAND GETKEYS config get maxmemory
COMMAND GETKEYSANDFLAGS get a
COMMAND GETKEYSANDFLAGS mget a b c
COMMAND GETKEYSANDFLAGS rename a b
COMMAND GETKEYSANDFLAGS set a GET
COMMAND GETKEYSANDFLAGS set a 1 NX get
COMMAND GETKEYSANDFLAGS del a b
COMMAND HELP x
CONFIG HELP x
DEBUG
DEBUG NOSUCH
DEBUG SLEEP
DEBUG SLEEP 0
DEBUG SLEEP x
debug sleep 0.001
SHUTDOWN x
SHUTDOWN NOSAVE SAVE
SHUTDOWN ABORT
SHUTDOWN ABORT NOW
INFO nosuch
INFO nosuch another
"""
# Redis before 7.2 answers some of these otherwise.
SAME_AS_7_2 = """
CONFIG HELP
CONFIG REWRITE
CONFIG REWRITE x
CONFIG GET slowlog-log-slower-than
CONFIG GET slowlog* latency*
CONFIG SET slowlog-log-slower-than x
CONFIG SET slowlog-log-slower-than -2
CONFIG SET slowlog-max-len -1
CONFIG SET slowlog-max-len 9223372036854775808
CONFIG SET latency-monitor-threshold -1
CONFIG SET latency-monitor-threshold -0
CONFIG SET latency-tracking x
CONFIG SET latency-tracking-info-percentiles 101
CONFIG SET latency-tracking-info-percentiles x
CONFIG SET latency-tracking yes
CONFIG SET enable-debug-command no
CONFIG SET enable-module-command no
CONFIG SET cluster-enabled yes
CONFIG GET enable-debug-command enable-module-command cluster-enabled
COMMAND HELP
COMMAND LIST FILTERBY
COMMAND GETKEYS memory usage x
COMMAND GETKEYS memory usage
COMMAND GETKEYS memory
COMMAND GETKEYSANDFLAGS memory usage x
INFO modules
INFO module_list
INFO MODULES cluster
MEMORY
MEMORY NOSUCH
MEMORY USAGE
MEMORY USAGE nokey
MEMORY USAGE nokey y
MEMORY USAGE nokey samples
MEMORY USAGE nokey samples -1
MEMORY USAGE nokey samples z
MEMORY USAGE nokey samples 0
MEMORY USAGE nokey SAMPLES 1 samples 2
MEMORY HELP
MEMORY HELP x
MEMORY PURGE
MEMORY PURGE x
MODULE
MODULE LIST
MODULE LIST x
MODULE LOAD x
MODULE LOADEX x
MODULE UNLOAD x
MODULE UNLOAD
MODULE HELP
MODULE NOSUCH
SLOWLOG
SLOWLOG NOSUCH
SLOWLOG GET x
SLOWLOG GET -2
SLOWLOG GET 9223372036854775808
SLOWLOG GET 1 2
SLOWLOG GET 0
SLOWLOG LEN x
SLOWLOG RESET x
SLOWLOG RESET
SLOWLOG HELP
LATENCY
LATENCY NOSUCH
LATENCY HISTORY
LATENCY HISTORY nosuch
LATENCY GRAPH nosuch
LATENCY GRAPH
LATENCY LATEST x
LATENCY RESET
LATENCY RESET x y
LATENCY HELP
LATENCY HISTOGRAM nosuch
LATENCY HISTOGRAM memory|nosuch
LOLWUT VERSION x
READONLY
READONLY x
READWRITE
ASKING
REPLICAOF NO ONE
replicaof no one
REPLICAOF a b
REPLICAOF no x
REPLICAOF a 99999
REPLICAOF a
SLAVEOF NO ONE
SLAVEOF a -1
FAILOVER
FAILOVER ABORT
FAILOVER ABORT x
FAILOVER x
FAILOVER TO a 1 FORCE
FAILOVER TO a
FAILOVER TIMEOUT x
FAILOVER TIMEOUT -1
FAILOVER TIMEOUT 0
FAILOVER TIMEOUT 10 TIMEOUT 10
FAILOVER TIMEOUT
FAILOVER TO a b
FAILOVER FORCE
FAILOVER FORCE FORCE
REPLCONF
REPLCONF x
REPLCONF listening-port 1
REPLCONF listening-port x
REPLCONF capa eof capa psync2
REPLCONF x y
REPLCONF rdb-only 2
REPLCONF rdb-only x
SYNC x
PSYNC a
PSYNC a 1 failover
CLUSTER
CLUSTER INFO
CLUSTER NOSUCH
CLUSTER HELP
CLUSTER KEYSLOT
CLUSTER KEYSLOT x
CLUSTER MEET a
CLUSTER MEET a b
CLUSTER SLOTS
CLUSTER COUNTKEYSINSLOT
CLUSTER MYID x
DEBUG JMAP
DEBUG PROTOCOL string
DEBUG PROTOCOL integer
DEBUG PROTOCOL double
DEBUG PROTOCOL bignum
DEBUG PROTOCOL null
DEBUG PROTOCOL array
DEBUG PROTOCOL set
DEBUG PROTOCOL map
DEBUG PROTOCOL push
DEBUG PROTOCOL true
DEBUG PROTOCOL false
DEBUG PROTOCOL verbatim
DEBUG PROTOCOL nosuch
DEBUG PROTOCOL
DEBUG DIGEST-VALUE nokey
DEBUG DIGEST-VALUE
DEBUG OBJECT nokey
DEBUG OBJECT
DEBUG ERROR hello
DEBUG ERROR
DEBUG RELOAD x
DEBUG POPULATE x
DEBUG POPULATE -1
DEBUG POPULATE 0
DEBUG POPULATE 1 a -1
DEBUG SET-ACTIVE-EXPIRE 1
"""


DIFFERENT_IN_7_2 = {
    "client|setinfo",
    "client|no-touch",
    "wait",
    "command|getkeys",
    "command|getkeysandflags",
}
FACTS_OF_7_0 = 7  # of ten; tips and key specifications have grown since


def words(line: str) -> list[str]:
    return [word.strip('"') for word in line.split()]


@pytest.mark.parametrize("line", [line for line in (SAME + SAME_AS_7_2).splitlines() if line])
@pytest.mark.parametrize("proto", [2, 3])
def test_the_same_bytes(server: Server, redis: Server, line: str, proto: int) -> None:
    if line in SAME_AS_7_2.splitlines() and redis_version(str(redis_program())) < (7, 2):
        pytest.skip("redis-server is too old")
    replies = []
    for one in (redis, server):
        with one.connect() as wire:
            wire.call("HELLO", proto)
            wire.send(encode(*words(line)))
            replies.append(wire.reply())
    assert in_order(replies[1]) == in_order(replies[0])  # Redis's maps come in the order of its hash table


def facts(server: Server, name: str, count: int) -> list[bytes]:
    """The first so many facts of a command."""
    with server.connect() as wire:
        (row,) = tree(wire.call("COMMAND", "INFO", name))[1]
    return [in_order(joined(fact)) for fact in row[1][:count]]


def knows(server: Server, name: bytes) -> bool:
    """Whether a command is there at all: WAITAOF came with 7.2."""
    with server.connect() as wire:
        (row,) = tree(wire.call("COMMAND", "INFO", name))[1]
    return isinstance(row, tuple)


def test_the_facts_of_every_command(server: Server, redis: Server) -> None:
    """Of each command and subcommand that we have, but for commands with subcommands that we do not have."""
    with server.connect() as wire:
        names = value(wire.call("COMMAND", "LIST"))
    left_out = {name.partition("|")[0] for name in names if "|" in name}
    count = 10
    if redis_version(str(redis_program())) < (7, 2):
        left_out |= DIFFERENT_IN_7_2 | {name for name in names if name.startswith("cluster|")}
        left_out |= {name for name in names if not knows(redis, name)}
        count = FACTS_OF_7_0
    for name in sorted({*names} - left_out):
        assert facts(server, name, count) == facts(redis, name, count)
