"""Time to live: exact for who reads, prompt in memory, and no pause however much is due."""

from __future__ import annotations

import random
import time
from datetime import timedelta

import pytest
from engine.conftest import Clocked

from tellstone import ArgumentError, DataError, Engine

MILLION = 1_000_000


@pytest.mark.core
def test_a_key_lives_to_its_deadline_and_not_past_it(clocked: Clocked) -> None:
    engine = clocked.engine
    engine.set("k", "v", ttl=1.5)
    clocked.pass_ms(1500)
    assert engine["k"] == b"v" and engine.ttl("k") == 0
    clocked.pass_ms(1)
    assert engine.get("k") is None and "k" not in engine
    assert engine.delete("k") == 0


@pytest.mark.core
@pytest.mark.parametrize(
    "operation", ["get", "contains", "delete", "incr", "expire", "ttl", "persist", "nx", "xx", "keep"]
)
def test_no_operation_sees_an_expired_key(clocked: Clocked, operation: str) -> None:
    engine = clocked.engine
    engine.set("k", 5, ttl=1)
    clocked.pass_ms(1001)
    match operation:
        case "get":
            assert engine.get("k") is None and engine.get_many(["k"]) == [None]
        case "contains":
            assert "k" not in engine and engine.exists("k") == 0
        case "delete":
            assert engine.delete("k") == 0
        case "incr":
            assert engine.incr("k") == 1 and engine.ttl("k") is None
        case "expire":
            assert not engine.expire("k", 10)
        case "ttl":
            with pytest.raises(KeyError):
                engine.ttl("k")
        case "persist":
            assert not engine.persist("k")
        case "nx":
            assert engine.set("k", 1, nx=True) and engine.ttl("k") is None
        case "xx":
            assert not engine.set("k", 1, xx=True)
        case "keep":
            assert engine.set("k", 1, keep_ttl=True) and engine.ttl("k") is None
    assert clocked.held == (operation in ("incr", "nx", "keep"))


@pytest.mark.core
def test_spans_are_seconds_or_timedeltas(clocked: Clocked) -> None:
    engine = clocked.engine
    for ttl, shown in [
        (2, 2.0),
        (0.25, 0.25),
        (1e-9, 0.001),
        (2.0004, 2.0),
        (10**9, 1e9),
        (timedelta(minutes=1, milliseconds=5), 60.005),
    ]:
        engine.set("k", "v", ttl)
        assert engine.ttl("k") == shown
        engine.set("k", "v")
        assert engine.ttl("k") is None
        assert engine.expire("k", ttl) and engine.ttl("k") == shown
        engine.set_many({"k": "v"}, ttl=ttl)
        assert engine.ttl("k") == shown


@pytest.mark.core
def test_spans_that_are_none(clocked: Clocked) -> None:
    engine = clocked.engine
    engine["k"] = "v"
    for ttl in (0, -1, timedelta(0), timedelta(seconds=-5), float("nan"), float("inf"), 10**400, 1e300):
        with pytest.raises(ArgumentError):
            engine.set("k", "w", ttl)
    for wrong in ("5", b"5", True, [], object()):
        with pytest.raises(DataError):
            engine.set("k", "w", wrong)  # type: ignore[arg-type]
        with pytest.raises(DataError):
            engine.expire("k", wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError):
        engine.set("k", "w", 5, keep_ttl=True)
    assert engine["k"] == b"v" and engine.ttl("k") is None
    assert engine.expire("k", 0) and "k" not in engine
    assert not engine.expire("k", -1)


@pytest.mark.core
@pytest.mark.parametrize("slots", [8, 64, 256])
def test_deadlines_on_every_level_of_the_wheel(slots: int) -> None:
    """From the next tick to beyond the horizon: each key goes in the tick that begins after its deadline."""
    clocked = Clocked(1, tick_ms=10, slots=slots)
    start = clocked.now
    ticks = sorted(
        {k for p in range(4) for n in (1, 2, slots - 1) for k in (n * slots**p - 1, n * slots**p, n * slots**p + 1)}
    )
    ticks = [t for t in ticks if 0 < t < 300_000]
    for t in ticks:
        clocked.engine.set(b"%d" % t, "v", ttl=t / 100)
    for done, t in enumerate(ticks):
        clocked.pass_ms(start + t * 10 - clocked.now, upkeep=True)
        assert clocked.held == len(ticks) - done
        clocked.pass_ms(10, upkeep=True)
        assert clocked.held <= len(ticks) - done - 1
    clocked.engine.close()


@pytest.mark.core
def test_the_clock_of_the_machine_may_jump(clocked: Clocked) -> None:
    engine = clocked.engine
    engine.set_many({b"%d" % n: "v" for n in range(1000)}, ttl=100)
    clocked.store.upkeep()
    clocked.pass_ms(-3_600_000, upkeep=True)
    assert len(engine) == 1000 and engine.ttl("1") == 3700
    engine.set("new", "v", ttl=1)
    clocked.pass_ms(2000, upkeep=True)
    assert "new" not in engine
    clocked.pass_ms(3_600_000, upkeep=True)
    assert len(engine) <= 1001
    clocked.pass_ms(100_000, upkeep=True)
    assert clocked.held == 0


def wait_until_held(engine: Engine, keys: int, seconds: float) -> float:
    """How long it takes until so many keys are in memory, with nobody reading."""
    begun = time.monotonic()
    while engine._store.sizes()[0][0] > keys:
        assert time.monotonic() - begun < seconds, engine._store.sizes()[0]
        time.sleep(0.005)
    return time.monotonic() - begun


@pytest.mark.core
@pytest.mark.parametrize("tick", [0.1, 0.5])
def test_promptness(tick: float) -> None:
    """Of 100,000 keys, the 1,000 that fall due together are gone within two ticks, with nobody reading."""
    with Engine(evict_interval=tick) as engine:
        engine.set_many({b"stay:%d" % n: b"v" for n in range(49_000)})
        engine.set_many({b"later:%d" % n: b"v" for n in range(50_000)}, ttl=3600)
        engine.set_many({b"due:%d" % n: b"v" for n in range(1000)}, ttl=0.3)
        assert len(engine) == 100_000
        time.sleep(0.3)
        wait_until_held(engine, 99_000, 2 * tick + 0.5)  # the half second is the machine's, not the engine's
        assert engine._store.stats()["expired_lazy"] == 0


def test_active_expiry_can_be_off() -> None:
    with Engine(evict_interval=0) as engine:
        engine.set_many({b"%d" % n: b"v" for n in range(100)}, ttl=0.01)
        time.sleep(0.2)
        assert engine._store.sizes()[0][0] == 100
        assert engine.get("5") is None and list(engine) == []
        assert engine._store.sizes()[0][0] == 99


@pytest.mark.slow
def test_a_million_keys_of_one_second() -> None:
    """Their memory is free soon after; meanwhile reads and writes never wait for them."""
    with Engine(evict_interval=0.2) as engine:
        engine.set("steady", "v")
        begun = time.monotonic()
        for first in range(0, MILLION, 10_000):
            engine.set_many(
                {b"key:%d" % n: b"v" for n in range(first, first + 10_000)}, ttl=20 - (time.monotonic() - begun)
            )
        filled = time.monotonic() - begun
        assert filled < 19, "the machine is too slow for this test"
        assert len(engine) == MILLION + 1
        time.sleep(20.1 - filled)  # the last call to fill may have read the clock a moment after we did
        slowest = 0.0
        while engine._store.sizes()[0][0] > 1:
            before = time.perf_counter()
            assert engine["steady"] == b"v" and engine.get("key:5") is None
            engine["steady"] = b"v"
            slowest = max(slowest, time.perf_counter() - before)
            time.sleep(0.001)
            assert time.monotonic() - begun < 20 + 15
        assert slowest < 0.25  # a moment in which somebody else had the processor
        engine._store.upkeep()
        assert engine._store.stats()["held_bytes"] < 4 << 20


@pytest.mark.core
def test_the_average_of_what_is_left(clocked: Clocked) -> None:
    """However keys came by their deadlines, and lost them."""
    chance, engine = random.Random(3), clocked.engine
    deadlines: dict[str, int] = {}
    assert clocked.store.average_ttl(0) == 0
    for _ in range(3000):
        key, left = f"k{chance.randrange(60)}", chance.choice([500, 3_000, 10**9, 2**62])
        match chance.randrange(6):
            case 0:
                engine.execute("SET", key, "v" * chance.randrange(90), "PX", left)
                deadlines[key] = clocked.now + left
            case 1 if engine.execute("PEXPIRE", key, left):
                deadlines[key] = clocked.now + left
            case 2:
                engine.execute("PERSIST", key)
                deadlines.pop(key, None)
            case 3:
                engine.delete(key)
                deadlines.pop(key, None)
            case 4:
                engine.execute("APPEND", key, "more" * chance.randrange(20))
            case _:
                clocked.pass_ms(chance.randrange(400), upkeep=True)
        deadlines = {key: deadline for key, deadline in deadlines.items() if deadline >= clocked.now}
        clocked.store.upkeep()
        engine.get_many([f"k{n}" for n in range(60)])  # what is over is gone
        expected = sum(deadlines.values()) // len(deadlines) - clocked.now if deadlines else 0
        assert abs(clocked.store.average_ttl(0) - expected) <= max(1, expected >> 50)
