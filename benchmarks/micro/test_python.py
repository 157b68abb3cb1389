"""The Python face: the engine beside what a program would use instead. Times include Python's own loop."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.servers import KINDS, Cores, program_of, running
from tellstone import Engine

if TYPE_CHECKING:
    from benchmarks.micro.conftest import Measure

pytestmark = pytest.mark.benchmark(timer=time.thread_time)

COUNT = 10_000
KEYS = [b"key:%012d" % n for n in range(COUNT)]
random.Random(1).shuffle(KEYS)
VALUE = bytes(range(16))
LIFETIME = 3600
Contender = tuple[Callable[[bytes], object], Callable[[bytes, bytes], object]]  # get and set


def some(count: int) -> Iterator[bytes]:
    """That many keys, over and over in the same order."""
    for start in range(0, count, COUNT):
        yield from KEYS[: count - start]


@contextmanager
def plain_dict(_: Path) -> Iterator[Contender]:
    mapping: dict[bytes, bytes] = {}
    yield mapping.get, mapping.__setitem__


@contextmanager
def locked_dict(_: Path) -> Iterator[Contender]:
    """May be used from several threads, as an engine may."""
    mapping: dict[bytes, bytes] = {}
    lock = threading.Lock()

    def get(key: bytes) -> object:
        with lock:
            return mapping.get(key)

    def put(key: bytes, value: bytes) -> None:
        with lock:
            mapping[key] = value

    yield get, put


@contextmanager
def engine(_: Path) -> Iterator[Contender]:
    with Engine() as opened:
        yield opened.get, opened.set


@contextmanager
def engine_with_ttl(_: Path) -> Iterator[Contender]:
    with Engine() as opened:
        yield opened.get, lambda key, value: opened.set(key, value, ttl=LIFETIME)


@contextmanager
def engine_execute(_: Path) -> Iterator[Contender]:
    with Engine() as opened:
        run = opened.execute
        yield lambda key: run("GET", key), lambda key, value: run("SET", key, value)


@contextmanager
def ttl_cache(_: Path) -> Iterator[Contender]:
    cache: Any = pytest.importorskip("cachetools").TTLCache(2 * COUNT, LIFETIME)
    yield cache.get, cache.__setitem__


@contextmanager
def disk_cache(directory: Path) -> Iterator[Contender]:
    with pytest.importorskip("diskcache").Cache(str(directory)) as cache:
        yield cache.get, cache.set


@contextmanager
def redis_server(_: Path) -> Iterator[Contender]:
    """redis-py, and a redis-server on this machine."""
    redis = pytest.importorskip("redis")
    program = program_of(KINDS["redis"], {})
    if program is None:
        pytest.skip("redis-server is not installed")
    with running({"redis": program}, Cores.halves().servers) as [server], redis.Redis(port=server.port) as client:
        yield client.get, client.set


CONTENDERS = {
    "dict": plain_dict,
    "dict with a lock": locked_dict,
    "Engine": engine,
    "Engine, with a ttl": engine_with_ttl,
    "Engine.execute": engine_execute,
    "cachetools.TTLCache": ttl_cache,
    "diskcache.Cache": disk_cache,
    "redis-py": redis_server,
}


WAITING = ("diskcache.Cache", "redis-py")  # for a disk, or another process: they are timed by the clock on the wall
BY_CLOCK = pytest.mark.benchmark(timer=time.perf_counter)
NAMES = [pytest.param(name, marks=BY_CLOCK if name in WAITING else ()) for name in CONTENDERS]


@pytest.mark.parametrize("name", NAMES)
def test_get(measure: Measure, tmp_path: Path, name: str) -> None:
    with CONTENDERS[name](tmp_path) as (get, put):
        for key in KEYS:
            put(key, VALUE)
        assert get(KEYS[-1]) == VALUE

        def run(count: int) -> None:
            for key in some(count):
                get(key)

        measure(f"get: {name}", run)


@pytest.mark.parametrize("name", NAMES)
def test_set(measure: Measure, tmp_path: Path, name: str) -> None:
    with CONTENDERS[name](tmp_path) as (get, put):

        def run(count: int) -> None:
            for key in some(count):
                put(key, VALUE)

        run(COUNT)
        measure(f"set: {name}", run)
        assert get(KEYS[0]) == VALUE


def test_get_many(measure: Measure) -> None:
    with Engine() as opened:
        opened.set_many((key, VALUE) for key in KEYS)
        assert opened.get_many(KEYS) == [VALUE] * COUNT
        measure("get: Engine.get_many of 10,000", lambda _: opened.get_many(KEYS), n=COUNT)
