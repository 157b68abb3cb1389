"""Every command of the table with 0 to 8 random arguments, against a real redis-server: no crash, no hang, and the same
replies.

Replies are the same bytes, error texts included. Exceptions are what tells of the process, the time or chance, and
documented differences: there the kind of reply is the same, and the whole of an error.

TELLSTONE_TEST_EXAMPLES=50 makes a million calls in each version of the protocol, other ones in every run. A failure
names its seed, for TELLSTONE_TEST_SEED, and shows as few calls as it takes.
"""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path

import pytest
from budget import FACTOR
from commands.calls import ARGUMENTS_MAX, CONTAINERS, LEFT_OUT, NAMES, Calls
from commands.comparing import CLOSED, Request, cut, same, shown
from servers import Server, free_port, redis_command, redis_program, redis_version, tellstone_command
from wire import Closed, encode, to_bytes

from tellstone.differences import CHAPTERS

CALLS = 20_000 * FACTOR or 10_000
BATCH = 250  # on one connection
CLUSTER_BATCHES = 4 * max(FACTOR, 1)
TRIES = 3  # a difference counts if it shows every time: clocks move on between two replies
SEED = os.environ.get("TELLSTONE_TEST_SEED") or (str(time.time_ns()) if FACTOR else "tellstone")
HANG = 20.0  # seconds without a reply
SHOWN = 5  # differences of a batch

# Replies that tell of the process, of the time, of chance, or of what has been called before. DBSIZE counts keys that
# have expired until somebody removes them.
OF_THE_MOMENT = {
    *("client|id", "client|info", "client|list", "command", "command|count", "command|docs", "command|info"),
    *("command|list", "dbsize", "hello", "info", "latency|graph", "latency|histogram", "latency|history"),
    *("latency|latest", "latency|reset", "memory|stats", "object|idletime", "randomkey", "role", "slowlog|get"),
    *("slowlog|len", "time", "lastsave"),
}
DOCUMENTED = {  # and where, in tellstone.differences
    "cluster|help": "CLUSTER HELP",
    "debug|help": "DEBUG HELP",
    "debug|object": "DEBUG OBJECT",
    "latency|doctor": "LATENCY DOCTOR",
    "lolwut": "LOLWUT",
    "memory|doctor": "MEMORY DOCTOR",
    "memory|malloc-stats": "MEMORY MALLOC-STATS",
    "memory|usage": "MEMORY USAGE",
    "object|refcount": "OBJECT REFCOUNT",
}
UNORDERED = {"config|get"}
DEFAULTS: Request = (
    *("CONFIG", "SET", "slowlog-log-slower-than", 10000, "slowlog-max-len", 128, "latency-monitor-threshold", 0),
    *("timeout", 0, "latency-tracking", "yes", "latency-tracking-info-percentiles", "50 99 99.9"),
)
ABOUT_CLUSTER = [
    *("asking", "cluster", "cluster|count-failure-reports", "cluster|countkeysinslot", "cluster|getkeysinslot"),
    *("cluster|keyslot", "cluster|replicas", "cluster|slaves", "readonly", "readwrite"),
]
# Redis 7.0 does not know these, or answers them otherwise: its replies are not looked at.
OTHERWISE_IN_7_0 = {
    *("client|no-touch", "client|setinfo", "cluster|myshardid", "command|getkeys", "command|getkeysandflags", "wait"),
    *("waitaof", *(name for name in NAMES if name.endswith("|help"))),
}


@cache
def otherwise() -> set[str]:
    """Commands of which the Redis at hand knows no better."""
    return OTHERWISE_IN_7_0 if redis_version(str(redis_program())) < (7, 2) else set()


def name_of(request: Request) -> str:
    """The full name of the command that is called."""
    words = [to_bytes(word).decode("latin-1").lower() for word in request[:2]]
    return "|".join(words) if words[0] in CONTAINERS else words[0]


def kind(reply: bytes) -> bytes:
    """What a reply is; a text is a text, for people or not."""
    return reply[:1].replace(b"=", b"$")


def agree(request: Request, ours: bytes, theirs: bytes) -> bool:
    """Whether two replies are the same, as far as they can be."""
    if CLOSED in (ours, theirs):
        return False
    name = name_of(request)
    if ours == theirs or name in otherwise():
        return True
    many = name == "config|get" and any(b"*" in to_bytes(word) for word in request[2:])  # options that one side lacks
    if many or name in OF_THE_MOMENT or name in DOCUMENTED:
        return kind(ours) == kind(theirs) != b"-"
    return same(request, ours, theirs, unordered=name in UNORDERED)


def run(server: Server, proto: int, requests: Sequence[Request]) -> list[bytes]:
    """The replies on a new connection. The last one is CLOSED where the server hangs up or falls silent."""
    replies: list[bytes] = []
    with suppress(ConnectionError), server.connect(HANG) as wire:
        begin: list[Request] = [("HELLO", proto), ("FLUSHALL",), DEFAULTS]
        assert b"-" not in {reply[:1] for reply in wire.pipeline(begin)}
        with wire.sending(b"".join(encode(*request) for request in requests)):
            try:
                for _ in requests:
                    replies.append(wire.reply())
                return replies
            except (Closed, TimeoutError):
                wire.socket.shutdown(socket.SHUT_RDWR)  # for the thread that may still be sending
    return [*replies, CLOSED]


@dataclass(frozen=True)
class Comparison:
    """Two servers, and the version of the protocol that they are spoken to."""

    server: Server
    redis: Server
    proto: int

    def differences(self, requests: Sequence[Request]) -> list[str]:
        """What differs every time; empty if nothing does."""
        found: list[str] = []
        for _ in range(TRIES):
            replies = [run(one, self.proto, requests) for one in (self.server, self.redis)]
            found = [
                f"{shown(request)}\n     tellstone {cut(ours)!r}\n     redis     {cut(theirs)!r}"
                for request, ours, theirs in zip_longest(requests, *replies, fillvalue=CLOSED)
                if not agree(request, ours, theirs)
            ]
            if not found:
                break
        return found

    def shortened(self, requests: Sequence[Request]) -> Sequence[Request]:
        """As few of the requests as still differ."""
        step = len(requests) // 2
        while step:
            for at in range(len(requests) - step, -1, -step):
                fewer = [*requests[:at], *requests[at + step :]]
                if self.differences(fewer):
                    requests = fewer
            step //= 2
        return requests

    def check(self, number: int, requests: Sequence[Request]) -> None:
        """Fail, and say how, where a batch differs."""
        found = self.differences(requests)
        if found:
            where = f"TELLSTONE_TEST_SEED={SEED}, batch {number}"
            for one in (self.server, self.redis):
                assert not one.died(), f"{where}: a server is gone:\n{one.tail()}"
            shortest = self.shortened(requests)
            pytest.fail("\n".join([where, *self.differences(shortest)[:SHOWN], "of", *map(shown, shortest)]))


@pytest.mark.parametrize("proto", [2, 3], ids=["resp2", "resp3"])
def test_calls(proto: int, server: Server, redis: Server) -> None:
    comparison = Comparison(server, redis, proto)
    for number in range(CALLS // BATCH):
        comparison.check(number, Calls(f"{SEED}/{number}").batch(BATCH))


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[Server]]:
    """Ours, as a cluster of one node, and a node of Redis."""
    if redis_program() is None:
        pytest.skip("redis-server is not installed")
    commands = {
        "tellstone": tellstone_command("--cluster-mode", "emulated"),
        "redis": redis_command("--cluster-enabled", "yes", "--cluster-port", str(free_port())),
    }
    started: list[Server] = []
    for name, command in commands.items():
        (tmp_path / name).mkdir()
        started.append(Server(command, tmp_path / name).start())
    yield started
    for server in started:
        server.stop()


def test_calls_about_a_cluster(nodes: list[Server]) -> None:
    """Those that change nothing; what would change the cluster is refused by ours."""
    for number in range(CLUSTER_BATCHES):
        requests = Calls(f"{SEED}/{number}", ABOUT_CLUSTER).batch(BATCH, [])
        for proto in (2, 3):
            Comparison(nodes[0], nodes[1], proto).check(number, requests)


def test_what_is_called() -> None:
    """Every command but those that are left out whatever their arguments, with any number of them."""
    calls = Calls(SEED)
    drawn = [calls.request() for _ in range(CALLS)]
    assert set(NAMES) - {name_of(request) for request in drawn} == {"debug", "quit"}
    counts = Counter(len(request) - 1 - name_of(request).count("|") for request in drawn)
    assert set(counts) - {-1} == set(range(ARGUMENTS_MAX + 1))  # -1: a container's name alone
    again = Calls(SEED)
    assert drawn[:100] == [again.request() for _ in range(100)]


def test_exceptions_are_of_the_table() -> None:
    described = {where for table in CHAPTERS.values() for difference in table for where in difference.where}
    assert set(DOCUMENTED.values()) <= described
    known = {*NAMES, *(name for name in DOCUMENTED if name.startswith("debug|"))}
    assert OF_THE_MOMENT | set(DOCUMENTED) | UNORDERED | set(LEFT_OUT) | OTHERWISE_IN_7_0 <= known
