"""Iterating while the engine changes: keys that stay are met, each once, whatever else comes and goes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count

import pytest
from budget import examples
from engine.conftest import Clocked
from hypothesis import given
from hypothesis import strategies as st

from tellstone import Engine

pytestmark = pytest.mark.core

STABLE = {b"stable:%d" % n for n in range(2000)}


def batches(engine: Engine, size: int) -> Iterator[list[bytes]]:
    cursor, keys = engine.scan(0, count=size)
    yield keys
    while cursor:
        cursor, keys = engine.scan(cursor, count=size)
        yield keys


def numbered(first: int, many: int) -> list[bytes]:
    return [b"passing:%d" % n for n in range(first, first + many)]


@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize("change", ["grow", "shrink", "both", "flush and refill", "settle"])
def test_scan_while_the_table_changes(shards: int, change: str) -> None:
    clocked = Clocked(shards)
    engine = clocked.engine
    engine.set_many(dict.fromkeys(STABLE, b"v"))
    if change == "shrink":
        engine.set_many(dict.fromkeys(numbered(0, 60_000), b"v"))
    found: list[bytes] = []
    for step, keys in enumerate(batches(engine, 50)):
        found += keys
        if change == "grow":
            engine.set_many(dict.fromkeys(numbered(step * 100, 100), b"v"))
        if change == "both":
            engine.set_many(dict.fromkeys(numbered(step * 500, 500), b"v"))
        if change == "shrink":
            engine.delete(*numbered(step * 500, 500))
        if change == "both" and step % 7 == 6:
            engine.delete(*numbered((step - 6) * 500, 7 * 500))
        if change == "flush and refill" and step == 5:
            engine.flush()
            engine.set_many(dict.fromkeys(STABLE, b"v"))
        if change == "settle":
            clocked.store.upkeep()
            engine.set_many(dict.fromkeys(numbered(step * 100, 100), b"v"))
    kept = [key for key in found if key in STABLE]
    assert set(kept) == STABLE
    if change != "flush and refill":
        assert len(kept) == len(STABLE)  # Redis promises less: at least once
    engine.close()


@examples(60)
@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(-3000, 3000), st.integers(1, 200), st.booleans()), min_size=1, max_size=30),
)
def test_scan_with_any_changes(shards: int, steps: list[tuple[int, int, bool]]) -> None:
    clocked = Clocked(shards)
    engine = clocked.engine
    stable = {b"s%d" % n for n in range(300)}
    engine.set_many(dict.fromkeys(stable, b"v"))
    here = 0
    found: list[bytes] = []
    cursor = -1
    for n in count():
        change, size, upkeep = steps[n % len(steps)]
        cursor, keys = engine.scan(max(cursor, 0), count=size)
        found += keys
        if not cursor:
            break
        if n < 3 * len(steps):
            if change > 0:
                engine.set_many({b"p%d" % k: b"v" for k in range(here, here + change)})
                here += change
            else:
                engine.delete(*(b"p%d" % k for k in range(max(0, here + change), here)))
                here = max(0, here + change)
            if upkeep:
                clocked.store.upkeep()
    kept = [key for key in found if key.startswith(b"s")]
    assert sorted(kept) == sorted(stable)
    engine.close()


def test_an_iterator_bears_changes(engine: Engine) -> None:
    engine.set_many(dict.fromkeys(STABLE, b"v"))
    met = set()
    for n, key in enumerate(engine):
        met.add(key)
        engine.set_many(dict.fromkeys(numbered(n, 1), b"v"))
        engine.delete(*numbered(n - 1000, 1))
    assert met >= STABLE
    for key in engine:
        del engine[key]
    assert len(engine) == 0


def test_iterators_of_many_threads(engine: Engine) -> None:
    engine.set_many(dict.fromkeys(STABLE, b"v"))
    stop = threading.Event()
    missed: list[set[bytes]] = []

    def change() -> None:
        for n in count():
            if stop.is_set():
                break
            engine.set_many(dict.fromkeys(numbered(n % 50 * 1000, 1000), b"v"))
            engine.delete(*numbered((n + 25) % 50 * 1000, 1000))

    def walk() -> None:
        for _ in range(5):
            missed.append(STABLE - set(engine))

    changing = threading.Thread(target=change)
    walking = [threading.Thread(target=walk) for _ in range(3)]
    for thread in [changing, *walking]:
        thread.start()
    for thread in walking:
        thread.join()
    stop.set()
    changing.join()
    assert missed == [set()] * 15
