"""Strings against a plain model, at lengths where their form changes: integer, bytes in the entry, counted block."""

from __future__ import annotations

import contextlib
import locale
import threading
from collections.abc import Iterator

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st

from tellstone import Engine
from tellstone._core.store.keyspace import Store
from tellstone.errors import ResponseError

pytestmark = pytest.mark.core

BLOCK_FROM = 32000
LONGEST = 100_000
TOO_LONG = "string exceeds maximum allowed size"
NOT_INTEGER = "value is not an integer or out of range"
OVERFLOW = "increment or decrement would overflow"
ERRORS = (TOO_LONG, NOT_INTEGER, OVERFLOW)
INTEGERS = [0, 1, -1, 127, 128, -128, -129, 32767, 32768, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63)]

KEYS = st.sampled_from([b"a", b"b" * 255, b"c" * 256])
LENGTHS = st.one_of(
    st.integers(0, 40), st.integers(0, 1500), st.integers(BLOCK_FROM - 3, BLOCK_FROM + 3), st.integers(0, 60_000)
)
TEXTS = st.builds(lambda length, byte: bytes([byte]) * length, LENGTHS, st.integers(0, 255))
VALUES = st.one_of(TEXTS, st.sampled_from(INTEGERS).map(lambda n: b"%d" % n))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([b"SET", b"APPEND", b"GETSET"]), KEYS, VALUES),
        st.tuples(st.just(b"SETRANGE"), KEYS, st.one_of(LENGTHS, st.integers(0, LONGEST + 2)), VALUES),
        st.tuples(st.just(b"GETRANGE"), KEYS, st.integers(-70_000, 70_000), st.integers(-70_000, 70_000)),
        st.tuples(st.just(b"INCRBY"), KEYS, st.sampled_from([1, -1, 1000, -(2**40), 2**62])),
        st.tuples(st.sampled_from([b"GET", b"GETDEL", b"STRLEN"]), KEYS),
    ),
    max_size=30,
)


class Model:
    """What the commands mean, on a dict. A reply that is a str is part of an error's text."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}

    def run(self, name: bytes, key: bytes, *args: bytes | int) -> bytes | int | bool | str | None:
        answer: bytes | int | bool | str | None = getattr(self, name.decode().lower())(key, *args)
        return answer

    def get(self, key: bytes) -> bytes | None:
        return self.values.get(key)

    def getdel(self, key: bytes) -> bytes | None:
        return self.values.pop(key, None)

    def strlen(self, key: bytes) -> int:
        return len(self.values.get(key, b""))

    def set(self, key: bytes, value: bytes) -> bool:
        self.values[key] = value
        return True

    def getset(self, key: bytes, value: bytes) -> bytes | None:
        old = self.values.get(key)
        self.values[key] = value
        return old

    def append(self, key: bytes, tail: bytes) -> int | str:
        value = self.values.get(key, b"") + tail
        if len(value) > LONGEST:
            return TOO_LONG
        self.values[key] = value
        return len(value)

    def setrange(self, key: bytes, offset: int, part: bytes) -> int | str:
        value = self.values.get(key, b"")
        if not part:
            return len(value)
        if offset + len(part) > LONGEST:
            return TOO_LONG
        value = value.ljust(offset, b"\0")
        self.values[key] = value[:offset] + part + value[offset + len(part) :]
        return len(self.values[key])

    def getrange(self, key: bytes, start: int, end: int) -> bytes:
        value = self.values.get(key, b"")
        if start < 0 and end < 0 and start > end:
            return b""
        start, end = (max(i + len(value), 0) if i < 0 else i for i in (start, end))
        return value[start : end + 1]

    def incrby(self, key: bytes, by: int) -> int | str:
        text = self.values.get(key, b"0")
        number = int(text) if text.lstrip(b"-").isdigit() and len(text) <= 20 else 0
        if b"%d" % number != text or not -(2**63) <= number < 2**63:
            return NOT_INTEGER
        if not -(2**63) <= number + by < 2**63:
            return OVERFLOW
        self.values[key] = b"%d" % (number + by)
        return number + by


@contextlib.contextmanager
def engine_over(store: Store) -> Iterator[Engine]:
    with Engine._over(store) as engine:
        yield engine


def ask(engine: Engine, *command: bytes | str | int) -> object:
    """The answer, or which of the model's errors it is."""
    try:
        return engine.execute(*command)
    except ResponseError as error:
        return next((text for text in ERRORS if text in str(error)), str(error))


@examples(150)
@given(STEPS)
def test_strings_agree_with_a_model(steps: list[tuple[bytes, bytes, bytes | int]]) -> None:
    store = Store(2, upkeep=False)
    store.max_value = LONGEST
    model = Model()
    with engine_over(store) as engine:
        for step in steps:
            assert ask(engine, *step) == model.run(*step)
        assert {key: engine[key] for key in engine} == model.values


def test_the_longest_string() -> None:
    store = Store(1, upkeep=False)
    store.max_value = LONGEST
    with engine_over(store) as engine:
        for key in ("new", "integer", "block"):
            engine.execute("MSET", "integer", 12, "block", b"x" * BLOCK_FROM)
            assert ask(engine, "SETRANGE", key, LONGEST - 1, b"xy") == TOO_LONG
            assert ask(engine, "SETRANGE", key, LONGEST - 1, b"x") == LONGEST
            assert ask(engine, "APPEND", key, b"") == LONGEST
            assert ask(engine, "APPEND", key, b"x") == TOO_LONG
            assert ask(engine, "STRLEN", key) == LONGEST
            assert ask(engine, "SETRANGE", key, 0, b"y" * LONGEST) == LONGEST


def test_appends_keep_room_for_more_but_not_much() -> None:
    store = Store(1, upkeep=False)
    with engine_over(store) as engine:
        engine.execute("SET", "warm", "up")
        before = store.used_memory
        for _ in range(4000):
            engine.execute("APPEND", "k", b"x" * 4096)
        length = 4000 * 4096
        assert engine.execute("STRLEN", "k") == length
        assert length <= store.used_memory - before <= length * 1.5 + 65536
        engine.execute("DEL", "k")
        store.upkeep()
        assert store.used_memory - before < 65536


def test_a_reader_sees_a_whole_value_while_others_write_it() -> None:
    size = 4 * BLOCK_FROM
    torn: list[bytes] = []
    with Engine(shards=1) as engine:
        engine.set("k", b"a" * size)
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                value = engine.execute("GET", "k")
                if len(value) < size or len(set(value[:size])) != 1:
                    torn.append(value[:100])
                    return

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for i in range(300):
            engine.execute("SETRANGE", "k", 0, bytes([i % 256]) * size)
            engine.execute("APPEND", "k", b"tail")
        done.set()
        for reader in readers:
            reader.join()
        assert not torn
        assert engine.execute("STRLEN", "k") == size + 300 * len("tail")


def test_numbers_do_not_depend_on_the_locale() -> None:
    was = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8", "German_Germany"):
        with contextlib.suppress(locale.Error):
            locale.setlocale(locale.LC_NUMERIC, name)
            break
    else:
        pytest.skip("no locale with another decimal point is installed")
    try:
        with Engine() as engine:
            assert engine.execute("INCRBYFLOAT", "k", "1.5") == 1.5
            assert engine.execute("INCRBYFLOAT", "k", "-0.25") == 1.25
            assert engine["k"] == b"1.25"
            with pytest.raises(ResponseError, match="not a valid float"):
                engine.execute("INCRBYFLOAT", "k", "1,5")
    finally:
        locale.setlocale(locale.LC_NUMERIC, was)
