"""The ceiling, and memory that comes back."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

import pytest

from tellstone import Engine, OutOfMemoryError

MIB = 1 << 20
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def resident() -> int:
    """Bytes of memory that this process has."""
    gc.collect()
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * 4096


def eventually(met: Callable[[], bool], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not met() and time.monotonic() < end:
        time.sleep(0.02)
    return met()


@pytest.mark.core
@pytest.mark.parametrize("value", [b"v" * 30, b"v" * 5000, b"v" * 100_000], ids=len)
def test_writes_are_refused_above_the_ceiling(value: bytes) -> None:
    with Engine(max_memory="8MiB", shards=4) as engine:
        kept = 0
        with pytest.raises(OutOfMemoryError, match=r"^OOM command not allowed when used memory > 'maxmemory'.$"):
            for kept in range(10**6):
                engine[b"k%d" % kept] = value
        assert engine._store.used_memory >= 7 * MIB
        assert kept * len(value) < 9 * MIB
        for write in (
            *(lambda: engine.set("new", "v"), lambda: engine.set("k0", "v"), lambda: engine.incr("n")),
            *(
                lambda: engine.incr("n", 0.5),
                lambda: engine.set_many({"n": 1}),
                lambda: engine.execute("APPEND", "k0", "v"),
            ),
        ):
            with pytest.raises(OutOfMemoryError):
                write()
        assert engine["k0"] == value and engine.get_many(["k1", "n"]) == [value, None]
        assert len(engine) == kept and sum(1 for _ in engine) == kept
        assert engine.expire("k1", 1000) and engine.persist("k1") and engine.ttl("k1") is None
        assert engine.delete(*(b"k%d" % n for n in range(kept // 2))) == kept // 2
        assert engine.set("new", value) and engine["new"] == value
        with pytest.raises(OutOfMemoryError):
            engine.set_many({b"again:%d" % n: value for n in range(10**6)})
        engine.flush()
        engine["after"] = value  # a flush makes room at once, whenever its memory goes back


@pytest.mark.core
def test_the_ceiling_moves(engine: Engine) -> None:
    engine.set_many({b"k%d" % n: b"v" * 100 for n in range(20_000)})
    engine.execute("CONFIG", "SET", "maxmemory", "1mb")
    with pytest.raises(OutOfMemoryError):
        engine["new"] = "v"
    engine.execute("CONFIG", "SET", "maxmemory", "1gb")
    engine["new"] = "v"


@linux
def test_a_flush_gives_memory_back() -> None:
    with Engine() as engine:
        engine["warm"] = "up"
        before = resident()
        engine.set_many({b"key:%d" % n: b"v" * 100 for n in range(400_000)})
        engine.set_many({b"long:%d" % n: b"v" * MIB for n in range(50)})
        full = resident()
        assert full - before > 90 * MIB
        engine.flush()
        assert len(engine) == 0
        assert eventually(lambda: engine._store.stats()["held_bytes"] == 0)
        assert eventually(lambda: resident() - before < 15 * MIB), (before, full, resident())
        engine["after"] = "flush"


@linux
def test_closing_gives_memory_back() -> None:
    before = resident()
    for _ in range(3):
        with Engine() as engine:
            engine.set_many({b"key:%d" % n: b"v" * 100 for n in range(300_000)})
            assert resident() - before > 30 * MIB  # what others left behind may have been used again
        assert resident() - before < 20 * MIB


@linux
@pytest.mark.slow
@pytest.mark.parametrize("ttl", [None, 5000], ids=["for ever", "with a ttl"])
def test_compaction_gives_memory_back(ttl: int | None) -> None:
    """Of a million keys, every tenth stays: pages are sparse, and entries move together."""
    with Engine() as engine:
        engine["warm"] = "up"
        before = resident()
        for first in range(0, 1_000_000, 20_000):
            engine.set_many({b"key:%d" % n: b"%d" % n for n in range(first, first + 20_000)}, ttl=ttl)
        full, held = resident() - before, engine._store.stats()["held_bytes"]
        for first in range(0, 1_000_000, 20_000):
            engine.delete(*(b"key:%d" % n for n in range(first, first + 20_000) if n % 10))
        assert eventually(lambda: engine._store.stats()["held_bytes"] < held / 3, 30), engine._store.stats()
        assert eventually(lambda: resident() - before < full / 2, 30), (full, resident() - before)
        assert len(engine) == 100_001
        assert engine.get_many([b"key:%d" % n for n in range(0, 1_000_000, 10)]) == [
            b"%d" % n for n in range(0, 1_000_000, 10)
        ]
        assert sum(1 for _ in engine) == 100_001


@linux
@pytest.mark.slow
def test_steady_memory_over_ten_million_operations() -> None:
    """Keys come and go, values change their size, some expire: after a first round no more memory is needed."""
    with Engine(evict_interval=0.1) as engine:

        def a_round(number: int) -> None:
            for first in range(0, 100_000, 1000):
                names = [b"key:%d" % n for n in range(first, first + 1000)]
                size = (first // 1000 * 7 + number * 13) % 300
                engine.set_many(dict.fromkeys(names, b"v" * size), ttl=0.5 if first % 3000 == 0 else None)
                engine.get_many(names)
                engine.delete(*names[:: 2 + number % 3])
                engine.set_many({b"long:%d" % (first % 7): b"l" * (40_000 + number % 5 * 1000)})
                engine.set_many({b"n%d:%d" % (number % 4, n): n for n in range(first, first + 500)})
            engine.execute("MGET", *names)

        operations = 0
        highest: list[int] = []
        number = 0
        while operations < 10_000_000:
            a_round(number)
            operations += 300_000
            number += 1
            highest.append(resident())
        first, last = max(highest[5:12]), max(highest[-7:])
        assert last < first * 1.1, [size // MIB for size in highest]


@pytest.mark.core
def test_the_accounts_agree(engine: Engine) -> None:
    """What counts towards the ceiling is what is there, whatever has happened before."""
    for _ in range(3):
        engine.set_many({b"k%d" % n: b"v" * (n % 1000) for n in range(10_000)}, ttl=1000)
        engine.set_many({b"long:%d" % n: b"v" * 50_000 for n in range(20)})
        engine.set_many({b"k%d" % n: n for n in range(5000)})
        engine.incr("k1", 0.5)
        stats = engine._store.stats()
        used = engine._store.used_memory
        assert (
            stats["live_bytes"] + stats["table_bytes"] <= used <= stats["held_bytes"] + stats["table_bytes"] + 100_000
        )
        engine.delete(*list(engine))
        assert engine._store.stats()["live_bytes"] == 0
        assert engine._store.used_memory < 400_000
    engine.flush()
    assert eventually(lambda: engine._store.used_memory == 0)
