"""redis-py, synchronous and asynchronous, in both protocols, with its own parser and with hiredis."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from servers import Server

redis_py = pytest.importorskip("redis")
aio = pytest.importorskip("redis.asyncio")
parsers = pytest.importorskip("redis._parsers")

LARGE = bytes(range(256)) * 1000


def parser_class(name: str, proto: int, asynchronous: bool) -> type:
    """A parser of redis-py by name; hiredis speaks both protocols."""
    if name == "hiredis":
        pytest.importorskip("hiredis")
        found = parsers._AsyncHiredisParser if asynchronous else parsers._HiredisParser
    else:
        found = getattr(parsers, f"_{'Async' * asynchronous}RESP{proto}Parser")
    assert isinstance(found, type)
    return found


@pytest.fixture(params=["resp2 python", "resp3 python", "resp2 hiredis", "resp3 hiredis"])
def flavour(request: pytest.FixtureRequest) -> tuple[int, str]:
    """The protocol's version, and whose parser."""
    proto, parser = request.param.split()
    return int(proto[-1]), parser


@pytest.fixture
def client(flavour: tuple[int, str], server: Server) -> Iterator[Any]:
    proto, parser = flavour
    host, port = server.address
    pool = redis_py.ConnectionPool(
        host=host, port=port, protocol=proto, parser_class=parser_class(parser, proto, False), client_name="tests"
    )
    made = redis_py.Redis(connection_pool=pool)
    made.flushall()
    yield made
    made.close()
    pool.disconnect()


def test_values(client: Any) -> None:
    for value in (b"", b"x", b"\r\n$-1\r\n", bytes(range(256)), LARGE):
        assert client.set(b"k", value) is True
        assert client.get("k") == value
    assert client.set("k", "new", nx=True) is None
    assert client.set("k", "new", get=True) == LARGE
    assert client.get("missing") is None
    assert client.mset({"a": 1, "b": 2.5, "c": b"x"}) is True
    assert client.mget("a", "missing", "c") == [b"1", None, b"x"]
    assert client.incr("a", 41) == 42 and client.decr("a") == 41
    assert client.incrbyfloat("b", 0.25) == 2.75
    assert client.append("c", "yz") == 3 and client.strlen("c") == 3
    assert client.getrange("c", 1, -1) == b"yz" and client.setrange("c", 5, "!") == 6
    assert client.getdel("c") == b"xyz\0\0!"
    assert client.delete("a", "b", "missing") == 2
    with pytest.raises(redis_py.ResponseError, match="not an integer or out of range"):
        client.incr("k")


def test_deadlines(client: Any) -> None:
    assert client.set("k", "v", ex=timedelta(seconds=100)) and 99 <= client.ttl("k") <= 100
    assert client.expire("k", 200, gt=True) == 1 and client.expire("k", 300, lt=True) == 0
    assert client.pexpireat("k", client.expiretime("k") * 1000 + 5000)
    assert client.getex("k", persist=True) == b"v" and client.ttl("k") == -1
    assert client.expire("k", 0) and client.exists("k") == 0


def test_keys(client: Any) -> None:
    client.mset({f"key:{i}": i for i in range(300)})
    assert set(client.scan_iter("key:1??", count=7)) == {b"key:%d" % i for i in range(100, 200)}
    assert len(client.keys("*")) == client.dbsize() == 300
    assert client.randomkey() in set(client.keys())
    assert client.type("key:1") == b"string" and client.rename("key:1", "other") and client.touch("other") == 1
    assert client.move("other", 3) and not client.exists("other")
    assert client.flushdb() and client.dbsize() == 0


def test_connection(client: Any, flavour: tuple[int, str]) -> None:
    proto, _ = flavour
    assert client.ping() and client.echo("x") == b"x"
    assert client.client_getname() in ("tests", b"tests")
    info = client.client_info()
    # redis-py tells its name to servers from 7.2 on.
    assert int(info["resp"]) == proto and info["lib-name"].startswith("redis-py") and info["lib-ver"]
    assert [c["name"] for c in client.client_list() if int(c["id"]) == int(info["id"])] == ["tests"]
    assert client.info("server")["redis_version"].startswith("7.2")
    seconds, microseconds = client.time()
    assert seconds > 1_600_000_000 and 0 <= microseconds < 1_000_000
    assert client.command_count() == len(client.command())


# What redis-py rewrites: each has a parser of its own in either protocol.
QUESTIONS: dict[str, Callable[[Any], object]] = {
    "CLIENT INFO": lambda client: client.client_info(),
    "CLIENT LIST": lambda client: client.client_list()[0],
    "CLIENT TRACKINGINFO": lambda client: client.client_trackinginfo(),
    "COMMAND": lambda client: client.command()["get"],
    "COMMAND GETKEYSANDFLAGS": lambda client: client.command_getkeysandflags("MSET", "a", 1, "b", 2),
    "CONFIG GET": lambda client: client.config_get("maxmemory", "save"),
    "DEBUG OBJECT": lambda client: client.debug_object("k"),
    "INFO": lambda client: {name: what for name, what in client.info("everything").items() if name != "redis_build_id"},
    "LATENCY LATEST": lambda client: client.latency_latest(),
    "LCS": lambda client: client.lcs("a", "b", idx=True, withmatchlen=True),
    "MEMORY STATS": lambda client: client.memory_stats(),
    "MODULE LIST": lambda client: client.module_list(),
    "ROLE": lambda client: client.role(),
    "SLOWLOG GET": lambda client: client.slowlog_get(1)[0],
    "TIME": lambda client: client.time(),
}


def same_kind(ours: object, theirs: object) -> bool:
    """Of the same type, and so are the items of dictionaries that both have."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return all(same_kind(ours[name], theirs[name]) for name in ours.keys() & theirs.keys())
    return type(ours) is type(theirs)


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions(question: str, client: Any, flavour: tuple[int, str], redis: Server) -> None:
    """redis-py makes the same of an answer as of Redis's."""
    host, port = redis.address
    with redis_py.Redis(host=host, port=port, protocol=flavour[0], client_name="tests") as other:
        answers = []
        for asked in (client, other):
            asked.config_set("slowlog-log-slower-than", 0)
            asked.mset({"k": 1, "a": "ohmytext", "b": "mynewtext"})
            asked.set("k", 1, ex=100)
            with pytest.raises(redis_py.ResponseError):
                asked.execute_command("NOSUCH")
            asked.config_set("slowlog-log-slower-than", 10_000)
            answers.append(QUESTIONS[question](asked))
    assert same_kind(*answers), answers


def test_pipeline(client: Any) -> None:
    pipe = client.pipeline(transaction=False)
    for i in range(5000):
        pipe.set(f"k{i}", i).get(f"k{i}")
    assert pipe.execute() == [x for i in range(5000) for x in (True, b"%d" % i)]
    pipe = client.pipeline(transaction=False)
    results = pipe.set("k", "text").incr("k").get("k").execute(raise_on_error=False)
    assert results[::2] == [True, b"text"] and isinstance(results[1], redis_py.ResponseError)


def test_threads_share_a_client(client: Any) -> None:
    def work() -> None:
        for _ in range(200):
            client.incr("counter")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.get("counter") == b"1600"


def run(server: Server, flavour: tuple[int, str], work: Callable[[Any], Awaitable[None]]) -> None:
    """Work with an asynchronous client, in a loop of its own."""

    async def session() -> None:
        proto, parser = flavour
        host, port = server.address
        pool = aio.ConnectionPool(host=host, port=port, protocol=proto, parser_class=parser_class(parser, proto, True))
        client = aio.Redis(connection_pool=pool)
        try:
            await client.flushall()
            await work(client)
        finally:
            await client.aclose()
            await pool.disconnect()

    asyncio.run(session())


def test_asynchronous(server: Server, flavour: tuple[int, str]) -> None:
    async def work(client: Any) -> None:
        assert await client.set("k", LARGE, px=50_000) is True
        assert await client.get("k") == LARGE and 0 < await client.pttl("k") <= 50_000
        assert await client.mget("k", "missing") == [LARGE, None]
        assert {key async for key in client.scan_iter()} == {b"k"}
        with pytest.raises(redis_py.ResponseError, match="wrong number of arguments"):
            await client.execute_command("GET")
        pipe = client.pipeline(transaction=False)
        for _ in range(1000):
            pipe.incr("counter")
        assert await pipe.execute() == list(range(1, 1001))

    run(server, flavour, work)


def test_asynchronous_at_once(server: Server, flavour: tuple[int, str]) -> None:
    async def work(client: Any) -> None:
        for _ in range(5):
            await asyncio.gather(*(client.incr("counter") for _ in range(80)))
        assert await client.get("counter") == b"400"

    run(server, flavour, work)


def test_from_url(server: Server) -> None:
    host, port = server.address
    with redis_py.Redis.from_url(f"redis://{host}:{port}/7?protocol=3", decode_responses=True) as client:
        client.set("k", "ü")
        assert client.get("k") == "ü" and int(client.client_info()["db"]) == 7
        client.flushdb()
