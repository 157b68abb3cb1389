"""Engine.execute answers what redis-py answers, and raises what Redis says."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import servers

from tellstone import ArgumentError, DataError, Engine, OutOfMemoryError, ResponseError, WrongTypeError
from tellstone._core.command.table import rows
from tellstone.results import CONVERTERS

redis = servers.redis
redis_py = pytest.importorskip("redis")

Words = tuple[Any, ...]

# In this order, on one database.
SAME: list[Words] = [
    *[
        ("PING",),
        ("ECHO", b"\x00\xff\r\n"),
        ("DBSIZE",),
        ("RANDOMKEY",),
        ("KEYS", "*"),
        ("SCAN", 0),
        ("SELECT", 0),
        ("ROLE",),
    ],
    *[
        ("SET", "k", "v"),
        ("SET", "k", "v", "NX"),
        ("SET", "k", "w", "GET"),
        ("SET", "new", "w", "GET"),
        ("SET", "k", "OK", "EX", 100),
    ],
    *[
        ("GET", "k"),
        ("GET", "missing"),
        ("GETSET", "k", "x"),
        ("GETEX", "k", "EX", 50),
        ("GETDEL", "new"),
        ("STRLEN", "k"),
    ],
    *[
        ("SETNX", "k", 1),
        ("SETNX", "n", 1),
        ("SETEX", "k", 100, 5),
        ("PSETEX", "k", 100_000, 5),
        ("APPEND", "k", 5.5),
        ("SETRANGE", "k", 1, "z"),
    ],
    *[
        ("GETRANGE", "k", 0, -1),
        ("SUBSTR", "k", 0, 1),
        ("INCR", "n"),
        ("INCRBY", "n", 10),
        ("DECR", "n"),
        ("DECRBY", "n", 5),
    ],
    *[
        ("INCRBYFLOAT", "n", 1.5),
        ("INCRBYFLOAT", "n", "0.5"),
        ("MSET", "a", 1, "b", 2),
        ("MSETNX", "a", 1),
        ("MSETNX", "c", 1),
    ],
    *[
        ("MGET", "a", "b", "missing"),
        ("EXISTS", "a", "a", "missing"),
        ("TYPE", "a"),
        ("TYPE", "missing"),
        ("TOUCH", "a", "b"),
    ],
    *[("TTL", "k"), ("TTL", "a"), ("TTL", "missing"), ("PTTL", "a"), ("EXPIRE", "a", 100), ("EXPIRE", "missing", 1)],
    *[
        ("PEXPIRE", "a", 100_000),
        ("EXPIREAT", "a", 4_000_000_000),
        ("PEXPIREAT", "a", 4_000_000_000_000),
        ("EXPIRETIME", "a"),
    ],
    *[
        ("PEXPIRETIME", "a"),
        ("PERSIST", "a"),
        ("PERSIST", "a"),
        ("RENAME", "a", "aa"),
        ("RENAMENX", "aa", "b"),
        ("RENAMENX", "aa", "z"),
    ],
    *[
        ("MOVE", "z", 3),
        ("MOVE", "missing", 3),
        ("SWAPDB", 3, 4),
        ("SELECT", 4),
        ("GET", "z"),
        ("SELECT", 0),
        ("DEL", "b", "c"),
        ("UNLINK", "k"),
    ],
    *[("CLIENT", "GETNAME"), ("CLIENT SETNAME", "me"), ("CLIENT", "GETNAME"), ("COMMAND", "GETKEYS", "MGET", "a", "b")],
    *[
        ("CONFIG SET", "maxmemory", "100mb"),
        ("CONFIG GET", "maxmemory"),
        ("CONFIG", "GET", "nothing"),
        ("CONFIG", "RESETSTAT"),
        ("DEBUG", "SLEEP", 0),
        ("FLUSHDB",),
        ("FLUSHALL",),
    ],
    *[
        ("GET",),
        ("SET", "k", "v", "XX", "NX"),
        ("SET", "k", "v", "EX", 0),
        ("INCRBY", "n", "x"),
        ("NOSUCH", "a b", b"\xff"),
        ("SELECT", 99),
    ],
    *[("CLIENT", "NOSUCH"), ("RENAME", "missing", "x"), ("CONFIG SET", "maxmemory", "x"), ("GETRANGE", "k", "a", "b")],
]


CONTAINERS = ("CLIENT", "COMMAND", "CONFIG", "DEBUG")


def outcome(execute: Any, words: Words, **options: Any) -> Any:
    try:
        return execute(*words, **options)
    except (ResponseError, redis_py.ResponseError) as error:
        return str(error).removeprefix("ERR ")  # which redis-py leaves out


def as_redis_py(client: Any, words: Words) -> Any:
    """redis-py wants a subcommand in the name, and is told of an option that changes what is answered."""
    if words[0] in CONTAINERS:
        words = (" ".join(words[:2]), *words[2:])
    return outcome(client.execute_command, words, **({"get": True} if words[0] == "SET" and words[-1] == "GET" else {}))


@pytest.fixture(scope="module")
def client(redis: servers.Server) -> Iterator[Any]:
    client = redis_py.Redis(*redis.address, single_connection_client=True)
    client.flushall()
    yield client
    client.close()


def test_answers_are_those_of_redis_py(engine: Engine, client: Any) -> None:
    for words in SAME:
        ours, theirs = outcome(engine.execute, words), as_redis_py(client, words)
        assert (ours, type(ours)) == (theirs, type(theirs)), words


def test_answers_that_differ_from_server_to_server(engine: Engine, client: Any) -> None:
    """The same shape, with other facts in it."""
    for words in [("TIME",), ("INFO",), ("CLIENT", "LIST"), ("CLIENT", "INFO"), ("CLIENT", "ID"), ("COMMAND", "COUNT")]:
        assert type(engine.execute(*words)) is type(as_redis_py(client, words)), words
    seconds, microseconds = engine.execute("TIME")
    assert abs(seconds - time.time()) < 5 and 0 <= microseconds < 1_000_000
    info = engine.execute("INFO")
    assert info["redis_version"].startswith("7.2") and isinstance(info["used_memory"], int)
    assert engine.execute("CLIENT", "LIST") == []
    us, them = engine.execute("CLIENT INFO"), client.execute_command("CLIENT INFO")
    shared = us.keys() & them.keys()
    assert len(shared) > 25 and {name: type(us[name]) for name in shared} == {name: type(them[name]) for name in shared}
    theirs = client.execute_command("COMMAND")
    ours = engine.execute("COMMAND")
    del ours["waitaof"]  # which came with 7.2
    assert set(ours) <= set(theirs)
    same = ("name", "arity", "first_key_pos", "last_key_pos", "step_count")
    assert [[ours[name][fact] for fact in same] for name in ours] == [
        [theirs[name][fact] for fact in same] for name in ours
    ]
    assert set(ours["get"]) == set(theirs["get"])
    assert list(engine.execute("COMMAND INFO", "get", "nosuch")) == ["get"]
    assert engine.execute("HELLO", 3)[b"server"] == engine.execute("HELLO", 2)[b"server"] == b"redis"
    assert engine.execute("GET", "missing") is None
    assert b"get" in engine.execute("COMMAND", "LIST") and b"get" in engine.execute("COMMAND", "DOCS", "get")
    assert engine.execute("RESET") == "RESET" and engine.execute("QUIT") is True
    assert engine.execute("PING", "message") == b"message"
    assert engine.execute("CLIENT", "REPLY", "OFF") is None and engine.execute("PING") is True


@pytest.mark.core
def test_scan_and_keys(engine: Engine) -> None:
    keys = {b"k%d" % n for n in range(1000)}
    engine.execute("MSET", *(word for key in keys for word in (key, 1)))
    cursor, found = engine.execute("SCAN", 0, "COUNT", 100)
    while cursor:
        cursor, more = engine.execute("SCAN", cursor, "COUNT", 100)
        found += more
    assert sorted(found) == sorted(keys)
    assert sorted(engine.execute("KEYS", "k1?")) == sorted(b"k%d" % n for n in range(10, 20))


@pytest.mark.core
@pytest.mark.parametrize("size", [31_999, 32_000, 100_000, 3_000_000])
def test_long_values(engine: Engine, size: int) -> None:
    value = b"v" * size
    assert engine.execute("SET", "k", value) is True
    assert engine.execute("GET", "k") == value == engine["k"]
    assert engine.execute("MGET", "k", "missing", "k") == [value, None, value]
    assert engine.execute("SET", "k", bytearray(b"short"), "GET") == value
    assert engine.execute("GET", memoryview(b"k")) == b"short"


@pytest.mark.core
def test_errors(engine: Engine) -> None:
    with pytest.raises(ResponseError, match=r"^ERR wrong number of arguments for 'get' command$") as error:
        engine.execute("GET")
    assert error.value.code == "ERR" and type(error.value) is ResponseError
    with pytest.raises(ResponseError, match="unknown command 'NO', with args beginning with: 'a' 'b' "):
        engine.execute("NO", "a", "b")
    with pytest.raises(ResponseError, match="SHUTDOWN"):
        engine.execute("SHUTDOWN", "NOSAVE")
    assert engine.execute("GET", "still here") is None
    for wrong in (None, True, [], object()):
        with pytest.raises(DataError):
            engine.execute("SET", "k", wrong)
    with pytest.raises(ArgumentError):
        engine.execute()
    engine.execute("CONFIG", "SET", "maxmemory", 1)
    with pytest.raises(OutOfMemoryError, match=r"^OOM command not allowed"):
        for n in range(10_000):
            engine.execute("SET", n, "v")
    assert issubclass(WrongTypeError, ResponseError)


@pytest.mark.core
def test_each_thread_is_a_connection(engine: Engine) -> None:
    engine.execute("SET", "k", "zero")
    engine.execute("SELECT", 5)
    engine.execute("SET", "k", "five")
    seen: list[Any] = []
    thread = threading.Thread(
        target=lambda: seen.extend([engine.execute("GET", "k"), engine.execute("CLIENT", "GETNAME")])
    )
    engine.execute("CLIENT", "SETNAME", "first")
    thread.start()
    thread.join()
    assert seen == [b"zero", None]
    assert engine.execute("GET", "k") == b"five" and engine["k"] == b"zero" and len(engine) == 1
    other = Engine()
    assert other.execute("GET", "k") is None and other.execute("CLIENT", "GETNAME") is None
    other.close()
    assert engine.execute("CONFIG GET", "databases") == {"databases": "16"}
    engine.execute("FLUSHALL")
    assert len(engine) == 0


@pytest.mark.core
def test_many_arguments(engine: Engine) -> None:
    for many in (1, 7, 15, 16, 17, 1000, 50_000):
        words = [word for n in range(many) for word in (f"k{n}", n)]
        assert engine.execute("MSET", *words) is True
        assert engine.execute("MGET", *words[::2]) == [b"%d" % n for n in range(many)]
        assert engine.execute("DEL", *words[::2]) == many


def test_conversions_belong_to_commands() -> None:
    names = {row["full_name"] for row in rows()}
    assert set(CONVERTERS) <= names, set(CONVERTERS) - names
