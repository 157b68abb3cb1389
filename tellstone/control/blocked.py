"""Clients that wait in a command for something to happen, and how others end that: CLIENT UNBLOCK."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

UNBLOCKED = "UNBLOCKED client unblocked via CLIENT UNBLOCK"


class Blocked:
    """A client that waits. When it is `released`, it waits no longer: as after its timeout, or with an error."""

    def __init__(self, *, has_timeout: bool) -> None:
        self.has_timeout = has_timeout
        self.released = False
        self.error: str | None = None
        self._sleeping: asyncio.Task[None] | None = None

    async def sleep(self, time: Coroutine[None, None, None]) -> None:
        """Wait, until the time is over or the client is released."""
        self._sleeping = asyncio.ensure_future(time)
        try:
            await asyncio.wait([self._sleeping])
        finally:
            self._sleeping.cancel()

    def release(self, *, error: bool) -> None:
        """End the waiting."""
        self.released, self.error = True, UNBLOCKED if error else None
        if self._sleeping is not None:
            self._sleeping.cancel()
