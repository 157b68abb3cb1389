"""What a request costs from Python: Client and AsyncClient beside redis-py, at the same server, in one run.

    python -m benchmarks.client [--seconds S] [--bytes N] [--uvloop]

Starts a server of its own. Contenders take turns, a moment each, so that whatever else goes on in the machine meets all
of them; the median of a contender's best quarter of moments counts. redis-py uses hiredis if it is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import redis
import redis.asyncio

from benchmarks.servers import KINDS, Start, environment, free_port, tellstone_command
from tellstone import AsyncClient, Client

KIND = KINDS["tellstone"]
PIPELINE = 100
TASKS = 64
Work = Callable[[], Any]  # does so many requests as its contest says


@contextlib.contextmanager
def server() -> Iterator[tuple[int, int]]:
    """The ports for redis-py and for our clients."""
    ports = free_port(), free_port()
    process = subprocess.Popen(tellstone_command(Start(sys.executable, *ports, value=0)), env=environment(KIND))
    try:
        Client(port=ports[1], connect_attempts=1000, connect_timeout=30).ping()
        yield ports
    finally:
        process.terminate()
        process.wait()


def rate(times: list[float], requests: int) -> float:
    """Requests per second, from the seconds of runs."""
    return requests / sorted(times)[len(times) // 8]


def report(name: str, rates: dict[str, float]) -> None:
    theirs = max(found for contender, found in rates.items() if contender.startswith("redis"))
    print(name)
    for contender, found in rates.items():
        note = "" if contender.startswith("redis") else f"  {found / theirs:.2f} times as many"
        print(f"  {contender:42} {found:10,.0f} requests/s{note}")


def contest(name: str, contenders: dict[str, Work], requests: int, seconds: float) -> None:
    took: dict[str, list[float]] = {contender: [] for contender in contenders}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for contender, work in contenders.items():
            begun = time.perf_counter()
            work()
            took[contender].append(time.perf_counter() - begun)
    report(name, {contender: rate(times, requests) for contender, times in took.items()})


async def async_contest(
    name: str, contenders: dict[str, Callable[[], Awaitable[Any]]], requests: int, seconds: float
) -> None:
    took: dict[str, list[float]] = {contender: [] for contender in contenders}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for contender, work in contenders.items():
            begun = time.perf_counter()
            await work()
            took[contender].append(time.perf_counter() - begun)
    report(name, {contender: rate(times, requests) for contender, times in took.items()})


def repeated(call: Callable[[str], Any], times: int) -> Work:
    def work() -> None:
        for _ in range(times):
            call("key")

    return work


def pipelines(client: Any, collect: Callable[[Any], Any], run: str, times: int) -> Work:
    def work() -> None:
        for _ in range(times):
            pipe = client()
            for _ in range(PIPELINE):
                collect(pipe)
            getattr(pipe, run)()

    return work


def tasks(call: Callable[[str], Awaitable[Any]], times: int) -> Callable[[], Awaitable[Any]]:
    async def one() -> None:
        for _ in range(times):
            await call("key")

    async def work() -> None:
        await asyncio.gather(*(one() for _ in range(TASKS)))

    return work


def waiting(resp: int, native: int, value: bytes, seconds: float) -> None:
    """One thread, one connection."""
    theirs, ours = redis.Redis(port=resp), Client(port=native)
    ours.set("key", value)
    gets = {"redis-py": repeated(theirs.get, 200), "Client": repeated(ours.get, 200)}
    contest("GET, one connection, no pipeline", gets, 200, seconds)
    sets = {
        "redis-py": repeated(lambda key: theirs.set(key, value), 200),
        "Client": repeated(lambda key: ours.set(key, value), 200),
    }
    contest("SET, one connection, no pipeline", sets, 200, seconds)
    their_pipe = lambda: theirs.pipeline(transaction=False)  # noqa: E731
    piped = {
        "redis-py": pipelines(their_pipe, lambda pipe: pipe.get("key"), "execute", 10),
        "Client": pipelines(ours.pipeline, lambda pipe: pipe.get("key"), "run", 10),
    }
    contest(f"GET, one connection, pipelines of {PIPELINE}", piped, 10 * PIPELINE, seconds)
    piped = {
        "redis-py": pipelines(their_pipe, lambda pipe: pipe.set("key", value), "execute", 10),
        "Client": pipelines(ours.pipeline, lambda pipe: pipe.set("key", value), "run", 10),
    }
    contest(f"SET, one connection, pipelines of {PIPELINE}", piped, 10 * PIPELINE, seconds)
    piped = {
        "redis-py": pipelines(their_pipe, lambda pipe: pipe.execute_command("GETRANGE", "key", 0, 9), "execute", 10),
        "Client": pipelines(ours.pipeline, lambda pipe: pipe.execute("GETRANGE", "key", 0, 9), "run", 10),
    }
    contest(f"any command, one connection, pipelines of {PIPELINE}", piped, 10 * PIPELINE, seconds)


async def concurrent(resp: int, native: int, seconds: float) -> None:
    """Many tasks, one connection."""
    pool = redis.asyncio.BlockingConnectionPool(port=resp, max_connections=1, timeout=None)
    pooled = redis.asyncio.Redis(connection_pool=pool)
    single = redis.asyncio.Redis(port=resp, single_connection_client=True)
    async with AsyncClient(port=native) as ours:
        contenders = {
            "redis.asyncio, a pool of one": tasks(pooled.get, 10),
            "redis.asyncio, single_connection_client": tasks(single.get, 10),
            "AsyncClient": tasks(ours.get, 10),
        }
        await async_contest(f"GET, {TASKS} tasks, one connection", contenders, 10 * TASKS, seconds)
    await single.aclose()
    await pooled.aclose()
    await pool.disconnect()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each contest")
    parser.add_argument("--bytes", type=int, default=64, help="of a value")
    parser.add_argument("--uvloop", action="store_true")
    options = parser.parse_args()
    if options.uvloop:
        import uvloop

        uvloop.install()
    with server() as (resp, native):
        waiting(resp, native, b"x" * options.bytes, options.seconds)
        asyncio.run(concurrent(resp, native, options.seconds))


if __name__ == "__main__":
    main()
