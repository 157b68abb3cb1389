"""OBJECT IDLETIME with a clock that the test moves: what counts as an access to a key, and what does not."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from engine.conftest import Clocked

from tellstone import Engine, ResponseError

pytestmark = pytest.mark.core

IDLE = 100  # seconds

# Requests about the key k, which holds "12".
LOOKS = [
    *(
        "GET k",
        "GETRANGE k 0 1",
        "STRLEN k",
        "MGET a k",
        "GETEX k",
        "DUMP k",
        "SETNX k 1",
        "SET k 1 NX",
        "SET k 1 NX GET",
    ),
    *("INCR k", "EXPIRE k 1000", "EXPIRE k 1000 XX", "PERSIST k", "RENAME k k", "RENAMENX m k", "COPY k m"),
    *("SORT_RO k", "RESTORE k 0 x", "GETBIT k 0", "BITCOUNT k", "LCS k a"),
]
WRITES = [
    *("SET k 1", "SET k 1 XX", "GETSET k 1", "MSET k 1", "INCRBYFLOAT k 1", "APPEND k 3", "SETRANGE k 0 1"),
    *("SETBIT k 0 0", "BITOP NOT k k"),
]
# These make another key of it, which has just been used whoever made it.
MAKES = ["COPY m k REPLACE", "RENAME m k", "MOVE k 1"]
LEAVES = [
    *("EXISTS k", "TYPE k", "TTL k", "PTTL k", "EXPIRETIME k", "PEXPIRETIME k", "OBJECT ENCODING k", "OBJECT FREQ k"),
    *("KEYS *", "SCAN 0", "RANDOMKEY", "DBSIZE", "GET a", "MGET a b"),
]


def idle(clocked: Clocked, key: str = "k") -> int:
    return int(clocked.engine.execute("OBJECT", "IDLETIME", key))


def run(clocked: Clocked, request: str) -> None:
    with contextlib.suppress(ResponseError):  # a refusal looks at the key, too
        clocked.engine.execute(*request.split())


@pytest.fixture
def waiting(clocked: Clocked) -> Clocked:
    """Keys that were used some time ago."""
    clocked.engine.execute("MSET", "k", "12", "m", "3")
    assert idle(clocked) == 0
    clocked.pass_ms(IDLE * 1000)
    assert idle(clocked) == IDLE
    return clocked


@pytest.mark.parametrize("request_", [*LOOKS, *WRITES, *MAKES[:2], "TOUCH a k"])
def test_an_access(request_: str, waiting: Clocked) -> None:
    run(waiting, request_)
    assert idle(waiting) == 0
    waiting.pass_ms(1999)
    assert idle(waiting) == 1


@pytest.mark.parametrize("request_", LEAVES)
def test_no_access(request_: str, waiting: Clocked) -> None:
    run(waiting, request_)
    assert idle(waiting) == IDLE


@pytest.mark.parametrize("request_", [*LOOKS, *WRITES, *LEAVES])
def test_a_client_that_leaves_no_trace(request_: str, waiting: Clocked) -> None:
    waiting.engine.execute("CLIENT NO-TOUCH", "ON")
    run(waiting, request_)
    assert idle(waiting) == IDLE


@pytest.mark.parametrize("request_", [*MAKES, "TOUCH k"])
def test_what_leaves_a_trace_all_the_same(request_: str, waiting: Clocked) -> None:
    waiting.engine.execute("CLIENT NO-TOUCH", "ON")
    run(waiting, request_)
    if request_.startswith("MOVE"):
        waiting.engine.execute("SELECT", 1)
    assert idle(waiting) == 0


CALLS: dict[str, Callable[[Engine], object]] = {
    "get": lambda engine: engine.get("k"),
    "[]": lambda engine: engine["k"],
    "get_many": lambda engine: engine.get_many(["k"]),
    "set": lambda engine: engine.set("k", "1"),
    "set_many": lambda engine: engine.set_many([("k", "1")]),
    "incr": lambda engine: engine.incr("k"),
    "incr by a float": lambda engine: engine.incr("k", 0.5),
    "expire": lambda engine: engine.expire("k", 1000),
    "persist": lambda engine: engine.expire("k", 1000) and engine.persist("k"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_the_engine_is_an_access(name: str, waiting: Clocked) -> None:
    CALLS[name](waiting.engine)
    assert idle(waiting) == 0


def test_a_look_at_the_engine_is_none(waiting: Clocked) -> None:
    engine = waiting.engine
    assert "k" in engine and engine.exists("k") == 1 and engine.ttl("k") is None and len(list(engine)) == 2
    assert idle(waiting) == IDLE


@pytest.mark.parametrize("value", ["", "12", "x" * 300, "x" * 40_000])
@pytest.mark.parametrize("key", ["", "k", "k" * 300])
def test_the_time_moves_with_the_entry(key: str, value: str, clocked: Clocked) -> None:
    engine = clocked.engine
    engine.execute("CLIENT NO-TOUCH", "ON")
    engine.execute("SET", key, value)
    clocked.pass_ms(IDLE * 1000)
    for request in (("EXPIRE", key, 5000), ("PERSIST", key)):
        engine.execute(*request)
        assert idle(clocked, key) == IDLE


def test_the_time_moves_with_a_value_that_grows(clocked: Clocked) -> None:
    clocked.engine.execute("CLIENT NO-TOUCH", "ON")
    clocked.engine.execute("SET", "k", "text")
    clocked.pass_ms(IDLE * 1000)
    clocked.engine.execute("APPEND", "k", "x" * 100)
    assert idle(clocked) == IDLE


def test_the_clock_comes_round(clocked: Clocked) -> None:
    clocked.engine.execute("SET", "k", "v")
    clocked.pass_ms(2**24 * 1000 - 5000)
    assert idle(clocked) in (2**24 - 5, 2**24 - 6)  # as in Redis, one second is lost when it comes round
