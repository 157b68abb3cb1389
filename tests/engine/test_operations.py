"""What goes in, what comes out, and what is refused."""

from __future__ import annotations

import array
import pickle
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import tellstone
from tellstone import (
    ArgumentError,
    ClosedError,
    DataError,
    Engine,
    Error,
    OptionError,
    OutOfMemoryError,
    ResponseError,
)

pytestmark = pytest.mark.core

INT_MIN, INT_MAX = -(2**63), 2**63 - 1


class Text(str):
    __slots__ = ()


class Raw(bytes):
    __slots__ = ()


class Number(int):
    def __repr__(self) -> str:
        return "not this"


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (b"\x00\xff", b"\x00\xff"),
        (bytearray(b"array"), b"array"),
        (memoryview(b"view"), b"view"),
        (memoryview(b"xviewx")[1:-1], b"view"),
        (array.array("B", b"items"), b"items"),
        (Raw(b"raw"), b"raw"),
        ("text", b"text"),
        ("größe", "größe".encode()),
        ("\u20ac" * 300, "\u20ac".encode() * 300),
        ("\U0001f600", "\U0001f600".encode()),
        (Text("text"), b"text"),
        ("", b""),
        (b"", b""),
    ],
)
def test_keys_and_values_of_every_kind(engine: Engine, given: Any, stored: bytes) -> None:
    assert engine.set(given, given)
    assert engine.get(given) == stored and engine[given] == stored
    assert engine.get(stored) == stored and given in engine
    assert list(engine) == [stored]
    assert engine.delete(given) == 1


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (5, b"5"),
        (-(10**30), b"-" + b"1" + b"0" * 30),
        (0.1, b"0.1"),
        (1e100, b"1e+100"),
        (Number(7), b"7"),
        (float("inf"), b"inf"),
    ],
)
def test_numbers_as_redis_py_writes_them(engine: Engine, value: Any, stored: bytes) -> None:
    engine["k"] = value
    assert engine["k"] == stored


@pytest.mark.parametrize("wrong", [None, True, False, [], {}, (), object(), 1j, {1}, Engine])
def test_nothing_else_goes_in(engine: Engine, wrong: Any) -> None:
    engine["k"] = "v"
    with pytest.raises(DataError):
        engine["k"] = wrong
    with pytest.raises(DataError):
        engine.set("k", wrong)
    with pytest.raises(DataError):
        engine.set_many({"k": wrong})
    assert engine["k"] == b"v"


@pytest.mark.parametrize("wrong", [None, True, 5, 0.5, [], object()])
def test_keys_are_bytes_or_text(engine: Engine, wrong: Any) -> None:
    calls: list[Callable[[], object]] = [
        *(lambda: engine[wrong], lambda: engine.get(wrong), lambda: engine.set(wrong, 1), lambda: wrong in engine),
        *(lambda: engine.delete("a", wrong), lambda: engine.exists(wrong), lambda: engine.incr(wrong)),
        *(lambda: engine.expire(wrong, 1), lambda: engine.ttl(wrong), lambda: engine.persist(wrong)),
        *(lambda: engine.get_many([wrong]), lambda: engine.set_many([(wrong, 1)])),
    ]
    for call in calls:
        with pytest.raises(DataError, match=type(wrong).__name__):
            call()


def test_memory_that_is_no_row_of_bytes(engine: Engine) -> None:
    with pytest.raises(DataError):
        engine["k"] = memoryview(b"abcdef")[::2]
    with pytest.raises(ArgumentError):
        engine["k"] = "\ud800"


def test_a_buffer_is_free_again_after_the_call(engine: Engine) -> None:
    buffer = bytearray(b"v" * 70_000)
    engine["k"] = buffer
    engine.set(buffer, buffer)
    buffer.append(1)  # raises BufferError while somebody looks at it
    assert engine["k"] == b"v" * 70_000


SIZES = [0, 1, 255, 256, 511, 512, 513, 4096, 31_999, 32_000, 32_001, 65_536, 65_537, 5_000_000]


@pytest.mark.parametrize("size", SIZES)
def test_values_of_every_size(engine: Engine, size: int) -> None:
    value = bytes(n % 251 for n in range(min(size, 1000))) * (size // 1000 + 1)
    value = value[:size]
    engine["k"] = value
    assert engine["k"] == value and engine.get("k") == value and engine.get_many(["k"]) == [value]
    engine["k"] = b"short"
    assert engine["k"] == b"short"


@pytest.mark.parametrize("size", SIZES)
def test_keys_of_every_size(engine: Engine, size: int) -> None:
    key = b"k" * size
    engine.set_many({key + b"1": 1, key: 2, key + b"2": 3})
    assert engine.get_many([key + b"1", key, key + b"2"]) == [b"1", b"2", b"3"]
    assert engine.expire(key, 5) and engine.ttl(key) and engine.persist(key)
    assert set(engine) == {key, key + b"1", key + b"2"}
    assert engine.delete(key) == 1 and key not in engine and key + b"1" in engine


@pytest.mark.slow
def test_the_largest_value(engine: Engine) -> None:
    largest = 512 << 20
    value = bytearray(largest)
    value[-1] = 7
    engine["k"] = value
    assert len(engine.execute("GET", "k")) == largest
    got = engine["k"]
    assert len(got) == largest and got[-1] == 7 and got == value
    with pytest.raises(ResponseError, match="proto-max-bulk-len"):
        engine["k"] = bytes(largest + 1)
    with pytest.raises(ResponseError, match="proto-max-bulk-len"):
        engine[bytes(largest + 1)] = b"v"
    assert engine["k"] is not None


def test_set_and_its_conditions(engine: Engine) -> None:
    assert not engine.set("k", "v", xx=True) and engine.get("k") is None
    assert engine.set("k", "v", nx=True)
    assert not engine.set("k", "w", nx=True) and engine["k"] == b"v"
    assert engine.set("k", "w", xx=True) and engine["k"] == b"w"
    with pytest.raises(ArgumentError):
        engine.set("k", "v", nx=True, xx=True)
    assert engine.set("k", "v", 100) and engine.set("k", "w", keep_ttl=True)
    assert 99 < (engine.ttl("k") or 0) <= 100
    assert engine.set("k", "w") and engine.ttl("k") is None


def test_incr(engine: Engine) -> None:
    assert engine.incr("n") == 1 and engine.incr("n", 41) == 42 and engine.incr("n", -50) == -8
    assert engine.incr("f", 0.5) == 0.5 and engine.incr("f", 1.25) == 1.75 and engine["f"] == b"1.75"
    assert engine.incr("f", 0.25) == 2.0 and engine["f"] == b"2"
    engine["max"] = INT_MAX
    with pytest.raises(ResponseError, match="overflow"):
        engine.incr("max")
    with pytest.raises(ResponseError, match="not an integer or out of range"):
        engine.incr("n", INT_MAX + 1)
    engine["text"] = "text"
    with pytest.raises(ResponseError, match="not an integer"):
        engine.incr("text")
    with pytest.raises(ResponseError, match="not a valid float"):
        engine.incr("text", 1.5)
    with pytest.raises(ResponseError):
        engine.incr("f", float("nan"))
    with pytest.raises(ResponseError):
        engine.incr("f", float("inf"))
    for wrong in (True, "1", None):
        with pytest.raises(DataError):
            engine.incr("n", wrong)  # type: ignore[call-overload]
    assert engine["max"] == b"%d" % INT_MAX and engine["text"] == b"text"


def test_several_keys(engine: Engine) -> None:
    engine.set_many([("a", 1), (b"b", 2.5)])
    engine.set_many({"c": "3"}, ttl=timedelta(minutes=1))
    engine.set_many({})
    assert engine.get_many(["a", "b", "c", "d"]) == [b"1", b"2.5", b"3", None]
    assert engine.get_many(key for key in ("c", "c")) == [b"3", b"3"]
    assert engine.get_many([]) == []
    assert engine.exists("a", "a", "x") == 2 and engine.exists() == 0
    assert engine.delete("a", "a", "x") == 1 and engine.delete() == 0
    with pytest.raises((TypeError, ValueError)):
        engine.set_many(["abc"])  # type: ignore[list-item]


def test_the_mapping(engine: Engine) -> None:
    engine["k"] = "v"
    assert engine["k"] == b"v" and "k" in engine and len(engine) == 1 and list(engine) == [b"k"]
    del engine["k"]
    for missing in (lambda: engine["k"], lambda: engine.ttl("k"), lambda: engine.__delitem__("k")):
        with pytest.raises(KeyError, match="'k'"):
            missing()
    assert "k" not in engine and len(engine) == 0
    assert engine.get("k", "default") == "default" and engine.get("k") is None


def test_scan_and_its_patterns(engine: Engine) -> None:
    engine.set_many({f"key:{n}": n for n in range(100)} | {"other": 1})
    assert engine.scan(0, "other", 1000) == (0, [b"other"])
    assert sorted(engine.scan(match=b"key:[1-3]", count=1000)[1]) == [b"key:1", b"key:2", b"key:3"]
    cursor, keys = engine.scan(count=5)
    assert cursor and 5 <= len(keys) < 20
    with pytest.raises(ArgumentError):
        engine.scan(count=0)
    with pytest.raises(ArgumentError):
        engine.scan(count=-1)
    with pytest.raises(ArgumentError):
        engine.scan(-1)


def test_close(engine: Engine) -> None:
    engine["k"] = "v"
    iterator = iter(engine)
    assert not engine.closed
    engine.close()
    engine.close()
    assert engine.closed and "closed" in repr(engine)
    calls: list[Callable[[], object]] = [
        *(lambda: engine["k"], lambda: engine.get("k"), lambda: engine.set("k", 1), lambda: "k" in engine),
        *(
            lambda: engine.delete("k"),
            lambda: engine.exists("k"),
            lambda: engine.incr("k"),
            lambda: engine.incr("k", 0.5),
        ),
        *(lambda: engine.expire("k", 1), lambda: engine.ttl("k"), lambda: engine.persist("k")),
        *(
            lambda: engine.get_many(["k"]),
            lambda: engine.set_many({"k": 1}),
            lambda: engine.scan(),
            lambda: len(engine),
        ),
        *(lambda: list(engine), lambda: next(iterator), engine.flush, engine.__enter__),
        *(lambda: engine.execute("GET", "k"), lambda: engine.execute("INFO"), lambda: engine.listen("127.0.0.1:0")),
        lambda: engine.__delitem__("k"),
    ]
    for call in calls:
        with pytest.raises(ClosedError):
            call()
    assert engine._store.sizes()[0] == (0, 0)


def test_options() -> None:
    with Engine(shards=3, max_memory="64MiB", evict_interval=timedelta(milliseconds=20), evict_slots=8) as engine:
        assert engine._store.shard_count == 3 and engine._store.max_memory == 64 << 20
        engine["k"] = "v"
        assert repr(engine) == "<Engine: 1 keys in 3 shards>"
    for wrong in (
        *({"shards": -1}, {"shards": 1025}, {"evict_slots": 7}, {"evict_slots": 1025}, {"max_memory": "64 apples"}),
        *({"max_memory": -1}, {"max_memory": 2**63}, {"evict_interval": -1}, {"evict_interval": float("nan")}),
        *({"evict_interval": timedelta(hours=2)}, {"evict_interval": 1e300}),
    ):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            Engine(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Engine(8)  # type: ignore[misc]


def test_an_engine_is_not_pickled(engine: Engine) -> None:
    with pytest.raises(TypeError):
        pickle.dumps(engine)


def test_every_error_is_a_tellstone_error() -> None:
    errors = [value for value in vars(tellstone).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(errors) >= 8 and all(issubclass(error, Error) for error in errors)
    assert issubclass(DataError, TypeError) and issubclass(ArgumentError, ValueError)
    assert issubclass(OutOfMemoryError, ResponseError)
    assert ResponseError("WRONGTYPE Operation").code == "WRONGTYPE"
    assert tellstone.__version__
    with pytest.raises(AttributeError):
        tellstone.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_the_interpreter_ends_with_an_engine_open() -> None:
    program = "from tellstone import Engine; e = Engine(); e['k'] = 1; e.execute('PING'); print(e['k'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "b'1'\n", "")
