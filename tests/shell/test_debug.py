"""DEBUG: who may use it, and what it answers about data, against a real redis-server."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from servers import Server
from shell.started import Started
from wire import value

Start = Callable[..., Started]
REFUSED = b"-ERR DEBUG command not allowed. If the enable-debug-command option is set to"

DATA = [
    *([("SET", "a", "1"), ("SET", "b", "text"), ("SET", "c", "x" * 100), ("SET", "d", "v", "PXAT", 4102444800000)]),
    *([("APPEND", "e", "bytes\0\r\n"), ("SELECT", 3), ("SET", "a", "1"), ("SET", b"\xff", "")]),
]


@pytest.mark.parametrize(
    ("words", "may"), [([], False), (["no"], False), (["yes"], True), (["local"], True), (["LOCAL"], True)]
)
def test_who_may_use_it(start: Start, socket_path: Path, words: list[str], may: bool) -> None:
    # The second path is longer than what CLIENT LIST shows of an address.
    for address in ("127.0.0.1:0", f"unix:{socket_path}", f"unix:{str(socket_path).ljust(100, 'x')}"):
        option = [f"--enable-debug-command={word}" for word in words]
        with start("--enable-resp", "--resp-addr", address, *option).connect() as wire:
            reply = wire.call("DEBUG", "SLEEP", 0)
            assert reply == b"+OK\r\n" if may else reply.startswith(REFUSED)
            assert wire.call("CONFIG", "SET", "enable-debug-command", "yes").endswith(b"can't set immutable config\r\n")


def test_digests_are_those_of_redis(server: Server, redis: Server) -> None:
    digests = []
    for one in (redis, server):
        with one.connect() as wire:
            wire.call("FLUSHALL")
            assert wire.call("DEBUG", "DIGEST") == b"+" + b"0" * 40 + b"\r\n"
            for request in DATA:
                wire.call(*request)
            digests.append(wire.call("DEBUG", "DIGEST"))
            digests.append(wire.call("DEBUG", "DIGEST-VALUE", "a", b"\xff", "nosuch"))
            wire.call("FLUSHALL")
    assert digests[2:] == digests[:2]


def test_populate_is_that_of_redis(server: Server, redis: Server) -> None:
    digests = []
    for one in (redis, server):
        with one.connect() as wire:
            wire.call("FLUSHALL")
            wire.call("SET", "key:1", "mine")
            for words in ((2500,), (10, "p"), (10, "long", 300), (10, "short", 3)):
                assert wire.call("DEBUG", "POPULATE", *words) == b"+OK\r\n"
            digests.append((wire.call("DBSIZE"), wire.call("DEBUG", "DIGEST")))
            wire.call("FLUSHALL")
    assert digests[1] == digests[0]


def test_object(server: Server, redis: Server) -> None:
    answers = []
    for one in (server, redis):
        with one.connect() as wire:
            for text in (12, 12345, "x" * 100):
                wire.call("SET", "k", text)
                answers.append(value(wire.call("DEBUG", "OBJECT", "k")))
    ours, theirs = answers[:3], answers[3:]
    assert all(re.search(r" lru:\d+ lru_seconds_idle:[01]$", answer) for answer in ours)
    without = re.compile(r"at:0x\w+|lru.*")
    assert [without.sub("", answer) for answer in ours] == [without.sub("", answer) for answer in theirs]


def test_patterns(server: Server) -> None:
    with server.connect() as wire:
        assert wire.call("DEBUG", "STRINGMATCH-LEN", "abc", "a[b]?") == b":1\r\n"
        assert wire.call("DEBUG", "STRINGMATCH-LEN", "abc", "A*") == b":0\r\n"
        assert wire.call("DEBUG", "STRINGMATCH-LEN", "a" * 1000, "a*" * 500 + "b") == b":0\r\n"


def test_what_cannot_be_is_refused(server: Server) -> None:
    with server.connect() as wire:
        assert wire.call("DEBUG", "RELOAD") == b"-ERR DEBUG RELOAD is not supported: there is no persistence\r\n"
        assert wire.call("REPLICAOF", "localhost", 1) == b"-ERR replication is not supported by this server\r\n"
        assert wire.call("SYNC") == b"-ERR replication is not supported by this server\r\n"
        assert wire.call("PSYNC", "?", -1) == b"-ERR replication is not supported by this server\r\n"
        assert wire.call("PSYNC", "?", "x") == b"-ERR value is not an integer or out of range\r\n"
