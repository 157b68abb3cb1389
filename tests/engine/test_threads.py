"""Many threads on one engine, each sure of its own keys, all sharing some."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import pytest

from tellstone import ClosedError, Engine

pytestmark = pytest.mark.core

THREADS = 8


def in_threads(work: Callable[[int], None], threads: int = THREADS) -> None:
    """Run work(0), work(1), ... at the same time; the first exception is raised here."""
    errors: list[BaseException] = []
    start = threading.Barrier(threads)

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("shards", [1, 8])
def test_eight_threads(shards: int) -> None:
    """Every operation, against a dict of the thread's own; shared counters add up."""
    rounds = 4000
    with Engine(shards=shards, evict_interval=0.01) as engine:

        def hammer(number: int) -> None:
            chance = random.Random(number)
            mine: dict[bytes, bytes] = {}
            for n in range(rounds):
                key = b"%d:%d" % (number, chance.randrange(300))
                match chance.randrange(10):
                    case 0 | 1:
                        value = bytes([n % 256]) * chance.choice([0, 5, 600, 20_000, 33_000, 80_000])
                        engine.set(key, value, ttl=1000 if n % 3 == 0 else None)
                        mine[key] = value
                    case 2:
                        assert engine.delete(key) == (mine.pop(key, None) is not None)
                    case 3:
                        assert engine.execute("GET", key) == mine.get(key)
                    case 4:
                        assert engine.get_many([key, b"counter"])[0] == mine.get(key)
                    case 5:
                        assert engine.expire(key, 500) == (key in mine)
                    case 6:
                        engine.set(b"passing:%d" % n, b"v", ttl=0.005)
                    case 7:
                        assert (key in engine) == (key in mine)
                    case _:
                        assert engine.get(key) == mine.get(key)
                engine.incr("counter")
                engine.incr(f"counter:{n % 3}", number)
            assert {key: engine[key] for key in mine} == mine
            assert set(engine) >= set(mine)

        in_threads(hammer)
        assert engine["counter"] == b"%d" % (THREADS * rounds)
        assert sum(int(engine[f"counter:{n}"]) for n in range(3)) == rounds * sum(range(THREADS))


def test_a_value_is_never_half_of_another(engine: Engine) -> None:
    """Readers of a key that is overwritten see one of its values, whole."""
    values = [bytes([n]) * size for n, size in enumerate([3, 500, 600, 10_000, 31_999, 32_000, 100_000, 1_000_000])]
    engine["k"] = values[0]
    until = time.monotonic() + 2

    def work(number: int) -> None:
        for n in range(10**9):
            if time.monotonic() > until:
                return
            if number < 2:
                engine["k"] = values[(n + number) % len(values)]
            else:
                assert engine["k"] in values

    in_threads(work, 6)


def test_flushing_under_load(engine: Engine) -> None:
    def work(number: int) -> None:
        for n in range(300):
            if number == 0:
                engine.flush()
            elif number == 1:
                assert all(key.startswith(b"k") for key in engine)
            else:
                engine.set_many({b"k%d:%d" % (number, m): b"v" * 100 for m in range(50)}, ttl=n + 1)
                assert set(engine.get_many([b"k%d:%d" % (number, m) for m in range(50)])) <= {None, b"v" * 100}

    in_threads(work)
    engine.flush()
    assert len(engine) == 0


@pytest.mark.parametrize("attempt", range(10))
def test_closing_under_load(attempt: int) -> None:
    """Whoever is in a call ends it, with the right answer or with ClosedError."""
    engine = Engine()
    engine.set_many({b"k%d" % n: b"%d" % n for n in range(1000)})
    engine["long"] = b"v" * 200_000
    calls: list[Callable[[int], bool]] = [
        lambda n: engine.get(b"k%d" % n) == b"%d" % n,
        lambda n: engine["long"] == b"v" * 200_000,
        lambda n: engine.get_many([b"k%d" % n, b"k0"]) == [b"%d" % n, b"0"],
        lambda n: b"k%d" % n in engine,
        lambda n: engine.execute("GET", b"k%d" % n) == b"%d" % n,
        lambda n: sum(key.startswith(b"k") for key in engine) == 1000,
        lambda n: engine.incr(b"n%d" % n) >= 1,
        lambda n: len(engine) >= 1000,
    ]
    working = threading.Barrier(len(calls) + 1)

    def work(number: int) -> None:
        if number == len(calls):
            working.wait()
            time.sleep(0.002 * attempt)
            engine.close()
            return
        working.wait()
        with pytest.raises(ClosedError):
            for n in range(10**9):
                assert calls[number](n % 1000)

    in_threads(work, len(calls) + 1)
    assert engine.closed


def test_threads_that_open_and_close_engines() -> None:
    def work(number: int) -> None:
        for n in range(10):
            with Engine(shards=2, evict_interval=0.01) as engine:
                engine.set("k", n, ttl=5)
                assert engine.execute("INCR", "k") == n + 1

    in_threads(work)
