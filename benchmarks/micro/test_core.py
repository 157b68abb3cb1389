"""The core in C. Where the original has a benchmark of the same, keys, values and their number are those of its own."""

from __future__ import annotations

import random
import struct
import time
from typing import TYPE_CHECKING

import pytest

from benchmarks.micro.loops import Bytes, Connection, Embedded, Entries, Keys, Timing
from tellstone import Engine
from tellstone._core.store.keyspace import Store
from tellstone.automatic import automatic_shards

if TYPE_CHECKING:
    from benchmarks.micro.conftest import Measure

pytestmark = pytest.mark.benchmark(timer=time.thread_time)

SHARDS = automatic_shards(1)
VALUE = b"benchmark_value"
SOME = 1000  # keys of the original's SET
MANY = 100_000  # more than the caches near the core hold
MOST = 1_000_000
PACE = 850  # keys that the original sets in a millisecond while it lets them expire


def request(*words: bytes) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def frame(kind: int, payload: bytes) -> bytes:
    return struct.pack(">IB", len(payload) + 1, kind) + payload


def native_request(operation: int, key: bytes, value: bytes = b"") -> bytes:
    return frame(2, struct.pack(">BHq", operation, len(key), 0) + key + value)


def shuffled(pattern: bytes, count: int) -> list[bytes]:
    keys = [pattern % n for n in range(count)]
    random.Random(1).shuffle(keys)
    return keys


# Protocols

GET = request(b"GET", b"benchmark_key_01")
SET = request(b"SET", b"benchmark_key_01", b"benchmark_value1")


@pytest.mark.parametrize(
    ("name", "data", "requests", "original"),
    [
        ("RESP parse of a GET", GET, 1, 42),
        ("RESP parse of a SET", SET, 1, 62),
        ("RESP parse in a pipeline of ten GETs", GET * 10, 10, None),
        ("RESP parse in a pipeline of ten SETs", SET * 10, 10, None),
    ],
)
def test_parse(measure: Measure, name: str, data: bytes, requests: int, original: float | None) -> None:
    measure(name, Bytes(data, requests).parse_resp, original=original)


@pytest.mark.parametrize(
    ("name", "frames", "original"), [("native decode of a frame", 1, 6.5), ("native decode in a row of 64", 64, None)]
)
def test_decode(measure: Measure, name: str, frames: int, original: float | None) -> None:
    data = native_request(1, b"benchmark_key", b"benchmark_value_payload")
    measure(name, Bytes(data * frames, frames).decode_frames, original=original, limit=3)


# Hashing


@pytest.mark.parametrize("size", [16, 64])
def test_hash_alone(measure: Measure, size: int) -> None:
    measure(f"FNV-1a of {size} bytes, alone", Keys(shuffled(b"%%0%dd" % size, SOME)).hash_alone)


@pytest.mark.parametrize("size", [16, 64])
def test_hash_lanes(measure: Measure, size: int) -> None:
    measure(f"FNV-1a of {size} bytes, in lanes", Keys(shuffled(b"%%0%dd" % size, SOME)).hash_lanes)


# The engine


def embedded(keys: list[bytes]) -> Embedded:
    engine = Engine(shards=SHARDS)
    engine.set_many((key, VALUE) for key in keys)
    return Embedded(engine, Keys(keys), VALUE)


def test_engine_get(measure: Measure) -> None:
    measure("engine get, one key", embedded([b"benchmark_key"]).get, original=41)


def test_engine_get_of_many(measure: Measure) -> None:
    measure(f"engine get, {MANY:,} keys", embedded(shuffled(b"key:%012d", MANY)).get)


def test_engine_set(measure: Measure) -> None:
    keys = [b"benchmark_key_%d" % n for n in range(SOME)]
    measure(f"engine set, {SOME:,} keys", embedded(keys).overwrite, original=134)


# The store as commands use it


def entries(keys: list[bytes], store: Store | None = None) -> Entries:
    return Entries(store or Store(SHARDS), Keys(keys), VALUE)


@pytest.mark.parametrize("count", [1, SOME, MANY, MOST])
def test_get(measure: Measure, count: int) -> None:
    stored = entries(shuffled(b"key:%012d", count))
    stored.set(count)
    measure(f"get, {count:,} keys" if count > 1 else "get, one key", stored.get, n=MANY)


def test_get_missing(measure: Measure) -> None:
    keys = shuffled(b"key:%012d", 2 * MANY)
    store = Store(SHARDS)
    entries(keys[:MANY], store).set(MANY)
    measure(f"get of a missing key, {MANY:,} keys", entries(keys[MANY:], store).miss)


def test_set(measure: Measure) -> None:
    stored = entries(shuffled(b"key:%012d", MANY))
    measure(f"set of {MANY:,} new keys", stored.set, n=MANY, prepare=stored.clear)


def test_overwrite(measure: Measure) -> None:
    stored = entries(shuffled(b"key:%012d", MANY))
    stored.set(MANY)
    measure(f"overwrite, {MANY:,} keys", stored.set, n=MANY)


def test_delete(measure: Measure) -> None:
    stored = entries(shuffled(b"key:%012d", MANY))
    measure(f"delete of {MANY:,} keys", stored.delete, n=MANY, prepare=lambda: stored.set(MANY))


# The wheel


def test_wheel(measure: Measure) -> None:
    timing = Timing(30 * PACE)
    measure("wheel alone, register and fire", lambda n: timing.fire(n, PACE), n=MANY)


def test_expiry(measure: Measure) -> None:
    keys = [b"tellstone:session:cluster-node-a:active:user:%d" % n for n in range(50_000)]
    stored = Entries(Store(SHARDS, 1, SOME, upkeep=False), Keys(keys), b"raw_protobuf_bytes_32_bytes_long")
    measure("set, get, register and fire", lambda n: stored.expire(n, PACE), n=MANY, original=1180)


# Dispatch


def connection(data: bytes, reply: bytes, count: int = 1, *, native: bool = False) -> Connection:
    store = Store(SHARDS)
    entries([b"k"], store).set(1)
    return Connection(store, Bytes(data * count, count), reply * count, native=native)


COMMANDS = {
    "GET": (request(b"GET", b"k"), b"$%d\r\n%s\r\n" % (len(VALUE), VALUE)),
    "SET": (request(b"SET", b"k", VALUE), b"+OK\r\n"),
}
FRAMES = {
    "GET": (native_request(1, b"k"), frame(3, VALUE)),
    "SET": (native_request(2, b"k", VALUE), frame(3, b"OK")),
}


@pytest.mark.parametrize(("command", "original"), [("GET", 35), ("SET", 56)])
def test_dispatch(measure: Measure, command: str, original: float) -> None:
    measure(f"dispatch of a {command}", connection(*COMMANDS[command]).call, original=original)


@pytest.mark.parametrize("count", [1, 10, 64])
@pytest.mark.parametrize("command", COMMANDS)
def test_session(measure: Measure, command: str, count: int) -> None:
    """Bytes in, bytes out."""
    measure(f"session, RESP {command}, {count} at a time", connection(*COMMANDS[command], count).feed)


@pytest.mark.parametrize("count", [1, 10, 64])
@pytest.mark.parametrize("command", FRAMES)
def test_native_session(measure: Measure, command: str, count: int) -> None:
    measure(f"session, native {command}, {count} at a time", connection(*FRAMES[command], count, native=True).feed)
