"""A thousand connections at once that do everything a peer may do, and then leave the server as it was before.

Each client draws its behaviour from a seeded generator. Those that behave check every byte they get back; those that do
not must not be noticed by anybody else.
"""

from __future__ import annotations

import contextlib
import random
import selectors
import socket
import struct
import time
from collections.abc import Iterator

import pytest
from net.serving import CONTROL, CONTROL_REPLY, PONG, Served, until
from wire import encode

pytestmark = pytest.mark.core

CLIENTS = 1000
LIVES = {"native": 8000, "asyncio": 2000}  # connections over the whole test
VALUE = b"v" * 3000


def conversation(rng: random.Random) -> tuple[bytes, bytes]:
    """Requests and the replies to them."""
    requests, replies = [], []
    for _ in range(rng.choice([1, 1, 2, 5, 50])):
        request, reply = rng.choice(
            [
                (b"PING\r\n", PONG),
                (encode("SET", rng.randrange(100), VALUE), b"+OK\r\n"),
                (encode("GET", "none"), b"$-1\r\n"),
                (encode("ECHO", VALUE[: rng.randrange(3000)]), None),
                (encode(*CONTROL), CONTROL_REPLY),
            ]
        )
        requests.append(request)
        replies.append(reply if reply is not None else request.partition(b"ECHO\r\n")[2])
    return b"".join(requests), b"".join(replies)


class Client:
    """One connection's life. `step` sends or reads a little; False: it is over."""

    def __init__(self, rng: random.Random, address: tuple[str, int]) -> None:
        self.rng = rng
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.connect_ex(address)
        self.kind = rng.choices(["good", "half-close", "vanish", "reset", "garbage", "deaf"], [10, 3, 3, 3, 2, 2])[0]
        self.requests, self.expected = conversation(rng)
        if self.kind == "garbage":
            self.requests = rng.randbytes(rng.randrange(1, 3000))
        self.sent = 0
        self.got = 0
        self.finished = False

    def step(self) -> bool:
        try:
            self._send()
            return self._receive()
        except ConnectionError:
            assert self.kind == "garbage", f"{self.kind}: the server has broken the connection"
            return False

    def _send(self) -> None:
        if self.sent == len(self.requests):
            if self.kind == "half-close" and not self.finished:
                self.socket.shutdown(socket.SHUT_WR)
                self.finished = True
            return
        size = self.rng.choice([1, 7, 100, 5000, 1 << 20])
        with contextlib.suppress(BlockingIOError):
            self.sent += self.socket.send(self.requests[self.sent : self.sent + size])

    def _receive(self) -> bool:
        if self.kind in ("vanish", "reset") and self.rng.random() < 0.1:
            return False
        silent = self.kind == "deaf" or (self.kind == "garbage" and self.sent == len(self.requests))
        if silent and self.rng.random() < 0.02:
            return False
        if self.kind == "deaf":
            return True
        try:
            data = self.socket.recv(self.rng.choice([1, 100, 1 << 16]))
        except BlockingIOError:
            return True
        if self.kind != "garbage":
            assert data == self.expected[self.got : self.got + len(data)], self.kind
            self.got += len(data)
            if not data:
                assert self.kind == "half-close" and self.got == len(self.expected)
                return False
            return self.kind == "half-close" or self.got < len(self.expected)
        return bool(data)

    def close(self) -> None:
        if self.kind == "reset":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def lives(served: Served, rng: random.Random, number: int) -> Iterator[Client]:
    for _ in range(number):
        yield Client(random.Random(rng.random()), served.address)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
def test_a_storm(threads: int, driver: str) -> None:
    with Served(threads=threads, idle_timeout_s=60) as served, served.connect() as witness:
        assert witness.call("PING") == PONG
        used = served.store.used_memory
        selector = selectors.DefaultSelector()
        coming = lives(served, random.Random(threads), LIVES[driver])
        alive = 0
        deadline = time.monotonic() + 120
        for client in coming:
            selector.register(client.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, client)
            alive += 1
            while alive >= CLIENTS:
                alive -= turn(selector)
        while alive:
            assert time.monotonic() < deadline, {key.data.kind for key in selector.get_map().values()}
            alive -= turn(selector)
        assert witness.call("PING") == PONG
        until(lambda: served.figure("connected") == 1)
        assert served.figure("accepted") == LIVES[driver] + 1
        assert served.figure("buffer_bytes") == 0
        assert witness.call("FLUSHALL") == b"+OK\r\n"
        until(lambda: served.store.used_memory <= used + (1 << 20))


def turn(selector: selectors.BaseSelector) -> int:
    """A step of everyone who can; the number of lives that have ended."""
    ended = 0
    for key, _ in selector.select(1):
        client: Client = key.data
        if not client.step():
            selector.unregister(client.socket)
            client.close()
            ended += 1
    return ended
