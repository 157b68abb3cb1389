"""A store served by threads in this very process, with a thread that answers what goes to Python."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from wire import Wire

from tellstone._core.net.control import ControlBridge, ControlCall, Report
from tellstone._core.net.reactor import ReactorGroup
from tellstone._core.store.keyspace import Store
from tellstone.loops import LoopGroup

PONG = b"+PONG\r\n"
TIMEOUT = 30.0

# Most tests answer a control command by its name, so that replies show which call they belong to.
CONTROL = ("CONFIG", "GET", "x")
CONTROL_REPLY = b"+config|get\r\n"


def answer_name(call: ControlCall) -> None:
    call.answer(b"+%s\r\n" % call.name.encode())


def until(condition: Callable[[], object], timeout: float = TIMEOUT) -> None:
    """Wait for something that another thread brings about."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it has not come true in time"
        time.sleep(0.002)


GROUPS = {"native": ReactorGroup, "asyncio": LoopGroup}
driver = "native"  # what the tests are about; see conftest.py


def make_group(*arguments: Any, **settings: Any) -> ReactorGroup | LoopGroup:
    return GROUPS[driver](*arguments, **settings)


# For a test of what is the same code on both drivers.
one_driver = pytest.mark.parametrize("driver", ["native"], indirect=True)


class Served:
    """A running group of threads on a TCP port of 127.0.0.1, and on more listeners where a test adds them.

    answer: what to do with control calls, on a thread of its own; None leaves them in the bridge.
    """

    def __init__(
        self,
        threads: int = 2,
        *,
        answer: Callable[[ControlCall], None] | None = answer_name,
        capacity: int = 1024,
        unix: Path | None = None,
        ipv6: bool = False,
        native: bool = False,
        **settings: Any,
    ) -> None:
        self.store = Store(4)
        self.bridge = ControlBridge(capacity)
        self.group = make_group(self.store, self.bridge, threads, **settings)
        self.answer = answer
        self.reports: queue.Queue[Report] = queue.Queue()
        self.address = self._listen(socket.AF_INET, ("127.0.0.1", 0))
        self.address6 = self._listen(socket.AF_INET6, ("::1", 0)) if ipv6 else None
        self.native = self._listen(socket.AF_INET, ("127.0.0.1", 0), "native") if native else None
        self.path = str(self._listen(socket.AF_UNIX, str(unix))) if unix else None
        self._ended = os.pipe()
        self._control = threading.Thread(target=self._answer_all)
        self.group.start()
        if answer is not None:
            self._control.start()

    def _listen(self, family: int, address: Any, protocol: str = "resp") -> Any:
        listener = socket.socket(family)
        listener.bind(address)
        listener.listen(4096)
        listener.setblocking(False)
        bound = listener.getsockname()
        is_unix = family == getattr(socket, "AF_UNIX", None)
        self.group.listen(listener.detach(), is_unix, str(bound), protocol)
        return bound

    def _answer_all(self) -> None:
        while True:
            ready, _, _ = select.select([self.bridge.fileno(), self._ended[0]], [], [])
            if self._ended[0] in ready:
                return
            self.take()

    def take(self) -> list[ControlCall]:
        """Drain the bridge: reports go to `reports`, calls are answered, or handed out if nothing answers them."""
        calls = []
        for item in self.bridge.drain():
            if isinstance(item, Report):
                self.reports.put(item)
            elif self.answer is None:
                calls.append(item)
            else:
                self.answer(item)
        return calls

    def calls(self, count: int = 1) -> list[ControlCall]:
        """Wait for calls; for tests without `answer`."""
        calls: list[ControlCall] = []
        until(lambda: calls.extend(self.take()) or len(calls) >= count)
        assert len(calls) == count
        return calls

    def ask(self, kind: str, **filters: Any) -> tuple[int, list[bytes]]:
        """CLIENT LIST or CLIENT KILL: how many clients matched, and their lines by number."""
        count, lines = 0, []
        for _ in range(self.group.ask_clients(1, kind, **filters)):
            report = self.report()
            count += report.count
            lines += (report.lines or b"").splitlines()
        return count, sorted(lines, key=lambda line: int(line.split()[0][3:]))

    def report(self) -> Report:
        if self.answer is None:
            until(lambda: self.take() or not self.reports.empty())
        return self.reports.get(timeout=TIMEOUT)

    def connect(self, timeout: float = TIMEOUT) -> Wire:
        return Wire(self.address, timeout)

    def figure(self, name: str) -> int:
        value: int = self.group.stats()[name]
        return value

    def close(self) -> None:
        self.group.kill()
        assert self.group.join(TIMEOUT)
        os.write(self._ended[1], b"x")
        if self._control.ident is not None:
            self._control.join()
        for end in self._ended:
            os.close(end)
        del self.group, self.bridge, self.store  # pytest keeps the last test's fixtures past the count of live objects

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def small_buffers(wire: Wire) -> Wire:
    """Let the kernel buffer little for this connection, so that a test need not move much to fill it.

    With still less the window is below the loopback's segment size, and TCP crawls.
    """
    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    return wire


@contextlib.contextmanager
def unanswered(served: Served, wire: Wire) -> Iterator[ControlCall]:
    """A connection that waits for a control call; the test answers it."""
    wire.send(b"CONFIG GET x\r\n")
    (call,) = served.calls()
    yield call
