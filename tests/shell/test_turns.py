"""Control commands that look at all keys take turns with others."""

from __future__ import annotations

import select
from collections.abc import Callable

import pytest
from shell.started import Started
from wire import Arg, encode, value

KEYS = 30_000
SLOT_OF_K = 7629

LONG: list[tuple[Arg, ...]] = [
    ("DEBUG", "DIGEST"),
    ("DEBUG", "DIGEST-VALUE", *(f"k:{number}" for number in range(KEYS))),
    ("DEBUG", "POPULATE", KEYS, "more"),
    ("CLUSTER", "COUNTKEYSINSLOT", SLOT_OF_K),
    ("CLUSTER", "GETKEYSINSLOT", SLOT_OF_K, 10),
]


@pytest.fixture
def full(resp: Callable[..., Started]) -> Started:
    """A server with many keys, which answers as a cluster of one node."""
    server = resp("--cluster-mode", "emulated")
    with server.connect() as wire:
        assert wire.call("DEBUG", "POPULATE", KEYS, "k") == b"+OK\r\n"
        assert wire.call("SET", "k", "v") == b"+OK\r\n"
    return server


def test_others_are_answered_meanwhile(full: Started) -> None:
    for request in LONG:
        with full.connect() as long, full.connect() as short:
            long.send(encode(*request))
            answered = 0
            while not select.select([long.socket], [], [], 0)[0]:
                assert value(short.call("CONFIG", "GET", "timeout"))[0] == "timeout"
                answered += 1
            assert long.reply()[:1] in b"+*:"
            assert answered > 2, request


def test_answers(full: Started) -> None:
    with full.connect() as wire:
        assert value(wire.call("CLUSTER", "KEYSLOT", "k")) == SLOT_OF_K
        slots = [value(wire.call("CLUSTER", "COUNTKEYSINSLOT", slot)) for slot in range(SLOT_OF_K, SLOT_OF_K + 2)]
        assert slots[0] >= 1
        assert "k" in value(wire.call("CLUSTER", "GETKEYSINSLOT", SLOT_OF_K, KEYS))
        digest = wire.call("DEBUG", "DIGEST")
        assert wire.call("DEBUG", "DIGEST") == digest
        assert wire.call("DEL", "k") == b":1\r\n"
        assert wire.call("DEBUG", "DIGEST") != digest
        assert value(wire.call("CLUSTER", "COUNTKEYSINSLOT", SLOT_OF_K)) == slots[0] - 1
