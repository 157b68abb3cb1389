"""Long work on the event loop, in turns: other control commands are answered in between.

What looks at keys does it with commands, as a client would, on a connection of its own.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

from tellstone._core.session.embedded import Caller
from tellstone.control.context import Context
from tellstone.errors import ResponseError

TURN_SECONDS = 0.002
SCANNED = 100  # keys of one step
SETS = 1024  # that remember keys: one large set would take long when it grows


class Turns:
    """Bounds how long work goes on without a pause, if `between` is awaited between its pieces."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.begun = time.perf_counter()

    async def between(self) -> None:
        """Let others work if it is their turn."""
        if time.perf_counter() - self.begun > TURN_SECONDS:
            await self.context.sleep(0)
            self.begun = time.perf_counter()


def run(caller: Caller, *words: bytes | str | int) -> Any:
    """The reply of a command; an error is raised."""
    _, reply = caller.call(words)
    if isinstance(reply, ResponseError):
        raise reply
    return reply


async def settle(context: Context, caller: Caller) -> None:
    """Behind changes of a caller: they are as safe as the log's policy has it. Raises StorageError."""
    error = await context.work(caller.settle)
    if error is not None:
        raise error


def caller_in(context: Context, db: int) -> Caller:
    """A connection of ours to a database."""
    caller = Caller(context.store)
    run(caller, "SELECT", db)
    return caller


async def all_keys(caller: Caller, turns: Turns) -> AsyncIterator[list[bytes]]:
    """The keys of a connection's database, each once, some at a time. There may be others when it comes to the end."""
    seen: list[set[bytes]] = [set() for _ in range(SETS)]
    cursor = b"0"
    while True:
        cursor, keys = run(caller, "SCAN", cursor, "COUNT", SCANNED)
        yield [key for key in dict.fromkeys(keys) if key not in seen[hash(key) % SETS]]
        for key in keys:
            seen[hash(key) % SETS].add(key)
        if cursor == b"0":
            return
        await turns.between()
