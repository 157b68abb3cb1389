"""An engine against a dict, step by step, with a clock that the test moves."""

from __future__ import annotations

import pytest
from budget import examples
from engine.conftest import Clocked
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from tellstone import ResponseError

pytestmark = pytest.mark.core

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
KEYS = st.one_of(
    st.integers(0, 40).map(lambda n: b"k%d" % n),
    st.binary(max_size=4),
    st.sampled_from([b"x" * 255, b"x" * 256, b"y" * 5000, b"z" * 40000]),
)
VALUES = st.one_of(
    st.binary(max_size=40),
    st.integers(INT_MIN, INT_MAX).map(lambda n: b"%d" % n),
    st.sampled_from([b"", b"-0", b"007", b"v" * 31999, b"v" * 32000, b"w" * 70000]),
    st.integers(0, 2000).map(lambda n: b"s" * n),
)
SPANS = st.one_of(st.integers(1, 5000), st.sampled_from([10**5, 10**7, 10**9, 10**12]))  # milliseconds


def canonical(value: bytes) -> int | None:
    """The integer that a value is, if Redis takes it for one."""
    try:
        number = int(value)
    except ValueError:
        return None
    return number if b"%d" % number == value and INT_MIN <= number <= INT_MAX else None


class Against(RuleBasedStateMachine):
    """The model: key -> (value, deadline in ms or None). A key is gone when the clock is past its deadline."""

    keys = Bundle("keys")

    @initialize(
        shards=st.sampled_from([1, 3, 8]), tick_ms=st.sampled_from([1, 50, 1000]), slots=st.sampled_from([8, 256])
    )
    def start(self, shards: int, tick_ms: int, slots: int) -> None:
        self.clocked = Clocked(shards, tick_ms=tick_ms, slots=slots)
        self.engine = self.clocked.engine
        self.model: dict[bytes, tuple[bytes, int | None]] = {}

    def teardown(self) -> None:
        if hasattr(self, "engine"):
            self.engine.close()

    def live(self) -> dict[bytes, tuple[bytes, int | None]]:
        now = self.clocked.now
        self.model = {key: item for key, item in self.model.items() if item[1] is None or now <= item[1]}
        return self.model

    @rule(target=keys, key=KEYS)
    def name(self, key: bytes) -> bytes:
        return key

    @rule(key=keys, value=VALUES, span=st.none() | SPANS, condition=st.sampled_from(["", "nx", "xx"]))
    def set(self, key: bytes, value: bytes, span: int | None, condition: str) -> None:
        stored = not condition or (key in self.live()) == (condition == "xx")
        ttl = None if span is None else span / 1000
        assert self.engine.set(key, value, ttl, nx=condition == "nx", xx=condition == "xx") == stored
        if stored:
            self.model[key] = (value, None if span is None else self.clocked.now + span)

    @rule(key=keys, value=VALUES)
    def set_and_keep(self, key: bytes, value: bytes) -> None:
        assert self.engine.set(key, value, keep_ttl=True)
        self.model[key] = (value, self.live().get(key, (b"", None))[1])

    @rule(key=keys, value=VALUES)
    def set_item(self, key: bytes, value: bytes) -> None:
        self.engine[key] = value
        self.model[key] = (value, None)

    @rule(keys=st.lists(keys, max_size=5), value=VALUES, span=st.none() | SPANS)
    def set_many(self, keys: list[bytes], value: bytes, span: int | None) -> None:
        self.engine.set_many(dict.fromkeys(keys, value), None if span is None else span / 1000)
        for key in keys:
            self.model[key] = (value, None if span is None else self.clocked.now + span)

    @rule(key=keys)
    def get(self, key: bytes) -> None:
        expected = self.live().get(key, (None, None))[0]
        assert self.engine.get(key) == expected
        assert self.engine.get(key, 7) == (7 if expected is None else expected)
        assert (key in self.engine) == (expected is not None)
        if expected is None:
            with pytest.raises(KeyError):
                self.engine[key]
        else:
            assert self.engine[key] == expected

    @rule(keys=st.lists(keys, max_size=8))
    def get_many(self, keys: list[bytes]) -> None:
        live = self.live()
        assert self.engine.get_many(keys) == [live.get(key, (None, None))[0] for key in keys]
        assert self.engine.exists(*keys) == sum(key in live for key in keys)

    @rule(keys=st.lists(keys, max_size=5))
    def delete(self, keys: list[bytes]) -> None:
        live = self.live()
        assert self.engine.delete(*keys) == len(live.keys() & set(keys))
        for key in keys:
            live.pop(key, None)

    @rule(key=keys)
    def delete_item(self, key: bytes) -> None:
        if self.live().pop(key, None) is None:
            with pytest.raises(KeyError):
                del self.engine[key]
        else:
            del self.engine[key]

    @rule(key=keys, by=st.integers(-1000, 1000) | st.sampled_from([INT_MIN, INT_MAX]))
    def incr(self, key: bytes, by: int) -> None:
        value, deadline = self.live().get(key, (b"0", None))
        number = canonical(value)
        if number is None or not INT_MIN <= number + by <= INT_MAX:
            with pytest.raises(ResponseError):
                self.engine.incr(key, by)
        else:
            assert self.engine.incr(key, by) == number + by
            self.model[key] = (b"%d" % (number + by), deadline)

    @rule(key=keys, span=SPANS | st.integers(-10, 0))
    def expire(self, key: bytes, span: int) -> None:
        live = self.live()
        assert self.engine.expire(key, span / 1000) == (key in live)
        if key in live:
            live[key] = (live[key][0], self.clocked.now + span)
            if span <= 0:
                del live[key]

    @rule(key=keys)
    def persist(self, key: bytes) -> None:
        value, deadline = self.live().get(key, (None, None))
        assert self.engine.persist(key) == (deadline is not None)
        if value is not None:
            self.model[key] = (value, None)

    @rule(key=keys)
    def ttl(self, key: bytes) -> None:
        if key not in self.live():
            with pytest.raises(KeyError):
                self.engine.ttl(key)
        else:
            deadline = self.model[key][1]
            assert self.engine.ttl(key) == (None if deadline is None else (deadline - self.clocked.now) / 1000)

    @rule(ms=st.integers(1, 3000) | st.sampled_from([10**5, 10**7, 10**9]), upkeep=st.booleans())
    def pass_time(self, ms: int, upkeep: bool) -> None:
        self.clocked.pass_ms(min(ms, 10**4 * self.clocked.tick_ms), upkeep=upkeep)

    @rule()
    def a_tick_begins(self) -> None:
        """What was due before it is not in memory any more."""
        self.clocked.pass_ms(self.clocked.tick_ms - self.clocked.now % self.clocked.tick_ms, upkeep=True)
        assert self.clocked.held == len(self.engine) == len(self.live())

    @rule(count=st.integers(1, 30))
    def scan(self, count: int) -> None:
        cursor, found = self.engine.scan(0, count=count)
        while cursor:
            cursor, more = self.engine.scan(cursor, count=count)
            found += more
        assert sorted(found) == sorted(self.live())

    @rule()
    def iterate(self) -> None:
        assert sorted(self.engine) == sorted(self.live())

    @precondition(lambda self: len(self.model) > 12)
    @rule()
    def flush(self) -> None:
        self.engine.flush()
        self.model.clear()
        assert len(self.engine) == 0

    @invariant()
    def nothing_is_lost(self) -> None:
        if hasattr(self, "engine"):
            assert self.clocked.held >= len(self.live())


TestAgainst = Against.TestCase
TestAgainst.settings = examples(60)
