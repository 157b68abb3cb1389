"""Connections that change units as fast as they are answered, until the server is gone or they are told to stop."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from crash.units import NEVER, Change, Found, Held, Some
from frames import Native
from wire import Closed, Wire, value

Clock = Callable[[], float]
PIPELINE = 20


class Writer(threading.Thread):
    """Sends pipelines, and notes when each was sent and each change acknowledged."""

    def __init__(self, wire: Wire, some: Some, seed: int, clock: Clock, pause: float) -> None:
        super().__init__(daemon=True)
        self.wire = wire
        self.some = some
        self.random = random.Random(seed)
        self.clock = clock
        self.pause = pause  # between two pipelines, in seconds
        self.stop = threading.Event()
        self.failure: BaseException | None = None
        self.acknowledged = 0

    def run(self) -> None:
        try:
            while not self.stop.wait(self.pause):
                self.pipeline([self.some.change() for _ in range(self.random.randrange(1, PIPELINE))])
        except (Closed, OSError):
            pass
        except BaseException as failure:
            self.failure = failure
        finally:
            self.wire.close()

    def pipeline(self, changes: list[Change]) -> None:
        now = self.clock()
        for _, unit, number in changes:
            unit.sent[number] = now
        self.wire.send(b"".join(self.wire.encode(*words) for words, _, _ in changes))
        for words, unit, number in changes:
            reply = self.wire.reply()
            if reply.startswith(b"-"):
                raise AssertionError(f"{words[:2]} is answered {reply!r}")
            unit.acknowledged[number] = self.clock()
            self.acknowledged += 1

    def end(self) -> None:
        """It has ended, and what has gone wrong is raised."""
        self.stop.set()
        self.join(30)
        assert not self.is_alive()
        if self.failure is not None:
            raise self.failure


@contextmanager
def writing(
    resp: str,
    native: str,
    some: list[Some],
    seed: int,
    clocks: Callable[[], Clock] = lambda: time.monotonic,
    pause: float = 0,
) -> Iterator[list[Writer]]:
    """A writer for each, every other one over the native protocol. Afterwards all of them have ended."""
    writers = []
    try:
        for number, mine in enumerate(some):
            wire = Native(native) if number % 2 else Wire(resp)
            writers.append(Writer(wire, mine, seed + number, clocks(), pause))
        for writer in writers:
            writer.start()
        yield writers
    finally:
        for writer in writers:
            if writer.is_alive():
                writer.stop.set()
    for writer in writers:
        writer.end()


def read(wire: Wire, keys: list[bytes]) -> Found:
    """What a server holds under these keys."""
    calls = [call for key in keys for call in ((b"GET", key), (b"PEXPIRETIME", key))]
    replies = wire.pipeline(calls)
    found: dict[bytes, Held] = {}
    for key, text, deadline in zip(keys, replies[::2], replies[1::2], strict=True):
        if text != b"$-1\r\n":
            found[key] = text.partition(b"\r\n")[2][:-2], max(value(deadline), NEVER)
    return found
