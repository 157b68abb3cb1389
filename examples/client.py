"""A counter of visits and a cache with a time to live, from threads and from tasks, against a running server.

Start a server with `tellstone`, then: python examples/client.py [--host HOST] [--port PORT]
"""

from __future__ import annotations

import argparse
import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from tellstone import AsyncClient, Client, ConnectError


def report_of(client: Client, user: str) -> bytes:
    """A report that takes long to make, and is then good for a minute."""
    cached = client.get(f"report:{user}")
    if cached is not None:
        return cached
    time.sleep(0.1)
    report = f"report about {user}".encode()
    client.set(f"report:{user}", report, ttl=60)
    return report


def from_threads(client: Client) -> None:
    """Threads share a client; each call has a connection while it lasts."""
    with ThreadPoolExecutor(8) as pool:
        reports = list(pool.map(lambda n: report_of(client, f"user{n % 3}"), range(30)))
    print(len(reports), "reports,", len(set(reports)), "of them made")

    with client.pipeline() as pipe:
        for page in ("home", "news", "home"):
            pipe.execute("INCR", f"visits:{page}")
    print("visits:", pipe.results)


async def from_tasks(client: AsyncClient) -> None:
    """Tasks share a connection; what they ask at the same time goes out together."""

    async def visit(page: str) -> int:
        visits: int = await client.execute("INCR", f"visits:{page}")
        return visits

    visits = await asyncio.gather(*(visit("shop") for _ in range(1000)))
    print("the last visit to the shop was number", max(visits))


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9988)
    options = parser.parse_args()

    async def tasks() -> None:
        async with AsyncClient(options.host, options.port) as client:
            await from_tasks(client)

    try:
        with Client(options.host, options.port) as client:
            from_threads(client)
        asyncio.run(tasks())
    except ConnectError as error:
        raise SystemExit(f"{error}; start a server with `tellstone`") from None


if __name__ == "__main__":
    main()
