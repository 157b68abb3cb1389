"""SCAN's promise: a key that is there from the beginning of a scan to its end is returned, one that never was is not.

It holds while the table grows, shrinks and is refilled between the calls of a scan. A key may be returned repeatedly.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from servers import Server
from wire import Arg, Wire, value

STAYING = 2000
SHORT_LIVED = 30_000


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    with server.connect() as made:
        made.call("FLUSHALL")
        yield made
        made.call("FLUSHALL")


def scan(wire: Wire, *options: Arg, between: Callable[[int], None] = lambda _: None) -> list[str]:
    """All keys of a whole scan, in order, repeated ones too; `between` runs after each call."""
    found: list[str] = []
    cursor, calls = "0", 0
    while calls == 0 or cursor != "0":
        cursor, keys = value(wire.call("SCAN", cursor, *options))
        found += keys
        calls += 1
        assert calls < 1_000_000
        between(calls)
    return found


def fill(wire: Wire, prefix: str, numbers: range) -> None:
    if numbers:
        pairs = [part for i in numbers for part in (f"{prefix}{i}", i)]
        assert wire.call("MSET", *pairs) == b"+OK\r\n"


def empty(wire: Wire, prefix: str, numbers: range) -> None:
    if numbers:
        wire.call("DEL", *(f"{prefix}{i}" for i in numbers))


@pytest.mark.parametrize("count", [1, 10, 100, 5000])
def test_nothing_changes(count: int, wire: Wire) -> None:
    fill(wire, "k", range(STAYING))
    found = scan(wire, "COUNT", count)
    assert sorted(found) == sorted(f"k{i}" for i in range(STAYING))  # and none twice


@pytest.mark.parametrize("step", [1, 50, 2000])
def test_growing(step: int, wire: Wire) -> None:
    fill(wire, "stays", range(STAYING))
    grown = 0

    def grow(_: int) -> None:
        nonlocal grown
        fill(wire, "new", range(grown, min(grown + step, SHORT_LIVED)))
        grown = min(grown + step, SHORT_LIVED)

    promise(scan(wire, "COUNT", 20, between=grow))


@pytest.mark.parametrize("step", [1, 50, 2000])
def test_shrinking(step: int, wire: Wire) -> None:
    fill(wire, "stays", range(STAYING))
    fill(wire, "goes", range(SHORT_LIVED))
    left = SHORT_LIVED

    def shrink(_: int) -> None:
        nonlocal left
        empty(wire, "goes", range(max(left - step, 0), left))
        left = max(left - step, 0)

    promise(scan(wire, "COUNT", 20, between=shrink))


@pytest.mark.parametrize("seed", range(3))
def test_growing_and_shrinking(seed: int, wire: Wire) -> None:
    fill(wire, "stays", range(STAYING))
    source = random.Random(seed)
    size = 0

    def change(_: int) -> None:
        nonlocal size
        wanted = source.choice([0, 10, 500, 5000, SHORT_LIVED])
        fill(wire, "new", range(size, wanted))
        empty(wire, "new", range(wanted, size))
        size = wanted

    promise(scan(wire, "COUNT", source.choice([10, 50, 300]), between=change))


def promise(found: list[str]) -> None:
    assert {key for key in found if key.startswith("stays")} == {f"stays{i}" for i in range(STAYING)}
    assert all(key.startswith(("stays", "new", "goes")) for key in found)


def test_overwriting_moves_no_key_out_of_sight(wire: Wire) -> None:
    """Values of other sizes lie elsewhere; the key is where it was."""
    fill(wire, "stays", range(STAYING))
    source = random.Random(0)

    def overwrite(_: int) -> None:
        requests = []
        for _ in range(100):
            requests.append(("SET", f"stays{source.randrange(STAYING)}", "x" * source.choice([0, 10, 300, 40000])))
        wire.pipeline(requests)

    promise(scan(wire, "COUNT", 10, between=overwrite))


def test_a_flush_ends_a_scan(wire: Wire) -> None:
    fill(wire, "k", range(STAYING))
    cursor, _ = value(wire.call("SCAN", 0, "COUNT", 50))
    wire.call("FLUSHDB")
    found = []
    while cursor != "0":
        cursor, keys = value(wire.call("SCAN", cursor, "COUNT", 50))
        found += keys
    assert found == []


def test_filters(wire: Wire) -> None:
    fill(wire, "k", range(3000))
    assert len(scan(wire, "MATCH", "k1*", "COUNT", 7)) == 1111
    assert len(scan(wire, "TYPE", "string", "COUNT", 500)) == 3000
    assert scan(wire, "TYPE", "list", "COUNT", 500) == []
    wire.call("SELECT", 9)
    assert scan(wire) == []


def test_expired_keys_are_left_out(wire: Wire) -> None:
    fill(wire, "k", range(100))
    wire.pipeline([("PEXPIREAT", f"k{i}", 1 if i % 2 else 99_999_999_999_999) for i in range(100)])
    assert sorted(scan(wire, "COUNT", 3)) == sorted(f"k{i}" for i in range(0, 100, 2))


def test_any_cursor_is_good(wire: Wire) -> None:
    """A cursor that no scan has given, or one of a table that was larger, may give anything but an error."""
    fill(wire, "k", range(STAYING))
    for cursor in (1, 2, 3, 1000, 2**31, 2**32, 2**48 + 5, 2**63, 2**64 - 1):
        after, keys = value(wire.call("SCAN", cursor, "COUNT", 100))
        assert after.isdigit() and {key[0] for key in keys} <= {"k"}
