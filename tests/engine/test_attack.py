"""A table whose keys were chosen to collide becomes a keyed one, and stays fast and right."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from engine.colliding import colliding_keys, fnv1a

from tellstone import Engine

pytestmark = pytest.mark.core

COUNT = 3000


@pytest.fixture(scope="module")
def keys() -> list[bytes]:
    keys = colliding_keys(COUNT)
    assert len({fnv1a(key) for key in keys}) == 1
    return keys


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


@pytest.mark.parametrize("count", [250, 256, 257, 300, 1000, COUNT])
def test_all_keys_are_found(engine: Engine, keys: list[bytes], count: int) -> None:
    chosen = keys[:count]
    for key in chosen:
        engine[key] = key
    assert engine.get_many(chosen) == chosen
    assert len(engine) == count and set(engine) == set(chosen)
    assert not engine.exists(*keys[count:])
    assert engine.delete(*chosen[::2]) == len(chosen[::2])
    assert set(engine) == set(chosen[1::2])


def test_other_keys_stay_where_they_are(engine: Engine, keys: list[bytes]) -> None:
    others = {b"other:%d" % n: b"%d" % n for n in range(20_000)}
    engine.set_many(others)
    for n, key in enumerate(keys):
        engine[key] = b"%d" % n
        if n % 100 == 0:
            assert engine.get_many(list(others)[: n + 1]) == list(others.values())[: n + 1]
    assert engine.get_many(list(others)) == list(others.values())
    assert len(engine) == len(others) + len(keys)


def test_it_costs_little_more_than_harmless_keys(engine: Engine, keys: list[bytes]) -> None:
    harmless = [b"user:%016d" % n for n in range(COUNT)]
    engine.set_many(dict.fromkeys(harmless, b"v"))
    usual = min(seconds(lambda: engine.get_many(harmless)) for _ in range(5))
    first = seconds(lambda: engine.set_many(dict.fromkeys(keys, b"v")))
    engine._store.upkeep()  # the change of tags has ended
    attacked = min(seconds(lambda: engine.get_many(keys)) for _ in range(5))
    assert attacked < 20 * usual  # one after the other they would cost a thousand times as much
    assert first < 5


def test_a_scan_over_the_change(engine: Engine, keys: list[bytes]) -> None:
    """The order of a table that becomes keyed changes; a scan that has begun before it still finds all that stays."""
    stable = {b"stable:%d" % n for n in range(5000)}
    engine.set_many(dict.fromkeys(stable, b"v"))
    cursor, found = engine.scan(0, count=100)
    seen = set(found)
    waiting = iter(keys)
    while cursor:
        engine.set_many([(key, b"v") for _, key in zip(range(100), waiting, strict=False)])
        cursor, found = engine.scan(cursor, count=100)
        seen.update(found)
    assert stable <= seen
