"""Values that name their key and a serial, so that a wrong answer cannot look right; a server to be killed; loops."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from frames import door
from servers import Server, free_port, tellstone_command

from tellstone import AsyncClient

Work = Callable[[AsyncClient], Awaitable[None]]


class Ledger:
    """What one writer knows of its key: the serials it has tried to store, and the last that it knows to be stored."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.tried = 0
        self.stored = 0

    def next_value(self) -> str:
        """The value to store now."""
        self.tried += 1
        return f"{self.key}={self.tried}"

    def check(self, value: bytes | None) -> None:
        """A value that was read must be one of this key, and not older than what is known to be stored. None is none: a
        server that has been started again has lost it.
        """
        if value is not None:
            key, _, serial = value.decode().partition("=")
            assert key == self.key and self.stored <= int(serial) <= self.tried, (self.key, value, self.stored)


class Restarted:
    """A server that can be killed and started again at the same address."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.server = Server(tellstone_command("--addr", f"127.0.0.1:{self.port}"), directory)
        self.server.start()

    def kill(self) -> None:
        """As the system would, without a word to the clients."""
        assert self.server.process is not None
        os.kill(self.server.process.pid, signal.SIGKILL)
        self.server.process.wait()

    def start(self) -> None:
        """Start it again; it has lost all it had."""
        self.server.start()


@contextlib.contextmanager
def restarted(directory: Path) -> Iterator[Restarted]:
    """A server of the test's own, which is stopped at the end."""
    running = Restarted(directory)
    try:
        yield running
    finally:
        running.server.stop()


def native_port(server: Server) -> int:
    """The port of the native protocol."""
    address = door(server).address
    if not isinstance(address, tuple):
        pytest.skip("the server has no port for the native protocol")
    return address[1]


def loops() -> list[str]:
    """The loops of this interpreter."""
    try:
        import uvloop  # noqa: F401
    except ImportError:
        return ["asyncio"]
    return ["asyncio", "uvloop"]


def run(work: Work, port: int, loop: str = "asyncio", **options: Any) -> None:
    """Work with a client in a loop of its own, which must be left without a word about something forgotten."""
    complaints: list[dict[str, Any]] = []

    async def session() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        async with AsyncClient(port=port, **options) as client:
            await asyncio.wait_for(work(client), 30)

    if loop == "uvloop":
        import uvloop

        policy = asyncio.get_event_loop_policy()
        uvloop.install()
        try:
            asyncio.run(session())
        finally:
            asyncio.set_event_loop_policy(policy)
    else:
        asyncio.run(session())
    assert complaints == []
