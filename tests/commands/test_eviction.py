"""Policies of eviction against a real redis-server: what is tracked, what is told of it, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from commands.comparing import Talk, differences
from servers import Server, redis_program, redis_version
from wire import Arg

POLICIES = (
    *("volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"),
    *("allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction"),
)
OPTIONS = {"maxmemory": "0", "maxmemory-policy": "noeviction", "maxmemory-samples": "5"}
LFU = {"lfu-log-factor": "10", "lfu-decay-time": "1"}
LONG = "x" * 40_000
TOLD = [(word, key) for word in ("FREQ", "IDLETIME") for key in ("k", "l", "none")]
ASK: list[Sequence[Arg]] = [("OBJECT", word, key) for word, key in TOLD]
CALLS: list[Sequence[Arg]] = [
    *[("SET", "k", "v"), ("SET", "l", LONG), *ASK],
    *[("GET", "k"), *ASK, ("GET", "k"), ("MGET", "k", "l", "k"), *ASK],
    *[("SET", "k", "other"), ("APPEND", "l", "more"), ("SETRANGE", "l", 5, "y"), *ASK],
    *[("STRLEN", "k"), ("EXISTS", "k"), ("TTL", "k"), ("TYPE", "k"), ("TOUCH", "l"), *ASK],
    *[("SET", "k", 5), ("INCR", "k"), ("INCRBYFLOAT", "k", 1), *ASK],  # GETSET is two accesses in Redis, and one here
    *[("EXPIRE", "k", 1000), ("PERSIST", "k"), ("GETEX", "k", "EX", 100), *ASK],
    *[("RENAME", "k", "m"), ("RENAME", "m", "k"), *ASK, ("RENAME", "l", "k"), ("SET", "l", "v"), *ASK],
    *[("GET", "k"), ("COPY", "k", "m"), ("OBJECT", "FREQ", "m"), ("GET", "l"), ("COPY", "k", "l", "REPLACE"), *ASK],
    *[("CLIENT", "NO-TOUCH", "on"), ("GET", "k"), ("GET", "l"), *ASK, ("CLIENT", "NO-TOUCH", "off")],
]


@pytest.fixture(autouse=True)
def settings(server: Server, redis: Server) -> Iterator[None]:
    """As they were."""
    yield
    for one in (server, redis):
        with one.connect() as wire:
            for name, value in (OPTIONS | LFU).items():
                assert wire.call("CONFIG", "SET", name, value) == b"+OK\r\n"


def configure(servers: Sequence[Server], **options: object) -> None:
    for one in servers:
        with one.connect() as wire:
            for name, value in options.items():
                assert wire.call("CONFIG", "SET", name.replace("_", "-"), str(value)) == b"+OK\r\n"


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_told_of_accesses(policy: str, server: Server, redis: Server) -> None:
    """A factor of 0 makes every access count."""
    if redis_version(redis_program() or "") < (7, 2):
        pytest.skip("before 7.2 a renamed key kept its accesses, and CLIENT NO-TOUCH was unknown")
    configure([server, redis], maxmemory_policy=policy, lfu_log_factor=0, lfu_decay_time=0)
    talk = Talk()
    found = differences(CALLS, talk.run(server, CALLS), talk.run(redis, CALLS))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("policy", ["allkeys-lfu", "volatile-lru"])
def test_what_is_restored(policy: str, server: Server, redis: Server) -> None:
    configure([server, redis], maxmemory_policy=policy, lfu_log_factor=0)
    with redis.connect() as wire:
        wire.call("SET", "k", "v")
        payload = wire.call("DUMP", "k").split(b"\r\n", 1)[1][:-2]
    calls: list[Sequence[Arg]] = [("GET", "k")]
    for options in ((), ("FREQ", 200), ("FREQ", 0), ("IDLETIME", 1000), ("FREQ", 255), ("FREQ", 256), ("IDLETIME", -1)):
        calls += [("RESTORE", "k", 0, payload, "REPLACE", *options), *ASK, ("GET", "k"), *ASK]
    talk = Talk()
    found = differences(calls, talk.run(server, calls), talk.run(redis, calls))
    assert not found, "\n".join(found)


def test_values_of_options(server: Server, redis: Server) -> None:
    values = ["", "0", "1", "-1", "64", "x", "1.5", "2147483647", "2147483648", "9" * 30]
    names = ["maxmemory-samples", "lfu-log-factor", "lfu-decay-time"]
    calls: list[Sequence[Arg]] = []
    for name in names:
        for value in values:
            calls += [("CONFIG", "SET", name, value), ("CONFIG", "GET", name)]
    for policy in ("allkeys-LRU", "Volatile-TTL", "noeviction"):
        calls += [("CONFIG", "SET", "maxmemory-policy", policy), ("CONFIG", "GET", "maxmemory-policy")]
    talk = Talk()
    found = differences(calls, talk.run(server, calls), talk.run(redis, calls))
    assert not found, "\n".join(found)


def test_our_own_policy_is_among_those_that_an_error_names(server: Server, redis: Server) -> None:
    replies = []
    for one in (server, redis):
        with one.connect() as wire:
            replies.append(wire.call("CONFIG", "SET", "maxmemory-policy", "lru"))
    assert replies[0] == replies[1].replace(b"\r\n", b", allkeys-s3fifo\r\n")


@pytest.mark.parametrize("policy", POLICIES)
def test_writes_where_nothing_may_go(policy: str, server: Server, redis: Server) -> None:
    """Where no key has a deadline, and a ceiling that what a server needs for itself reaches alone."""
    if policy.startswith("allkeys-"):
        pytest.skip("evicts")
    calls: list[Sequence[Arg]] = [("SET", f"k{n}", "v" * 3000) for n in range(100)]
    calls += [("CONFIG", "SET", "maxmemory-policy", policy), ("CONFIG", "SET", "maxmemory", "100kb")]
    calls += [("SET", "new", "v"), ("APPEND", "k1", "v"), ("INCR", "n"), ("GET", "k1"), ("DEL", "k0"), ("DBSIZE",)]
    calls += [("CONFIG", "SET", "maxmemory", "0"), ("SET", "new", "v")]
    talk = Talk()
    found = differences(calls, talk.run(server, calls), talk.run(redis, calls))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-lfu", "allkeys-random", "allkeys-s3fifo", "volatile-ttl"])
def test_a_server_evicts_and_says_so(policy: str, server: Server) -> None:
    with server.connect() as wire:
        wire.call("FLUSHALL")
        wire.call("CONFIG", "SET", "maxmemory", "1mb")
        wire.call("CONFIG", "SET", "maxmemory-policy", policy)
        wire.call("CONFIG", "RESETSTAT")
        for n in range(3000):
            assert wire.call("SET", f"k{n}", "v" * 1000, "EX", 1000) == b"+OK\r\n"
        wire.call("CONFIG", "SET", "maxmemory", "0")  # upkeep might evict one more meanwhile
        stats = wire.call("INFO", "stats")
        kept = int(wire.call("DBSIZE")[1:])
        assert 400 < kept < 1100
        assert b"\r\nevicted_keys:%d\r\n" % (3000 - kept) in stats
        assert b"\r\nmaxmemory_policy:%b\r\n" % policy.encode() in wire.call("INFO", "memory")
        wire.call("FLUSHALL")
