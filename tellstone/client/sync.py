"""The client that waits. Any number of threads may use one; each call has a connection of its own while it lasts.

A call that meets a connection which the server has closed opens another one before it sends anything. What has been
sent is never sent again by itself: the request may have been carried out.
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from tellstone._core.client.link import Link
from tellstone._core.client.pool import Pool
from tellstone._core.protocol.exchange import Into
from tellstone._core.protocol.framing import Requests
from tellstone.client.base import BaseClient, first_error
from tellstone.client.conversions import PIPELINED

if TYPE_CHECKING:
    from datetime import timedelta

    from typing_extensions import Buffer, Self

    from tellstone.client.base import Key, Timeout, Value


class Client(BaseClient):
    """A client of a server, safe to use from any number of threads. A context manager; see BaseClient for its options.

    Keys are bytes-like or str, values these or numbers; what comes back is bytes. Every method may raise ConnectError,
    ConnectionLostError, TimedOutError and, for an error of the server, ResponseError.
    """

    CONNECTIONS = 16

    def _begin(self) -> None:
        self._pool = Pool(self._connect, self.connections, self.timeout)
        pools.add(self._pool)

    def get(self, key: Key) -> bytes | None:
        """The value of a key, None without one."""
        link = self._pool.take()
        try:
            return link.get(key)
        finally:
            self._pool.give(link)

    def set(
        self,
        key: Key,
        value: Value,
        ttl: float | timedelta | None = None,
        *,
        nx: bool = False,
        xx: bool = False,
        keep_ttl: bool = False,
    ) -> bool:
        """Store a value; answers whether it was stored.

        ttl: seconds or a timedelta until the key is gone; without it the key stays for ever, unless `keep_ttl` leaves
        it the one it has. nx: only if there is no such key. xx: only if there is one. With one of these three, key and
        value have at most 65535 bytes.
        """
        link = self._pool.take()
        try:
            return link.set(key, value, ttl, nx, xx, keep_ttl)
        finally:
            self._pool.give(link)

    def delete(self, key: Key) -> None:
        """Delete a key, if there is one. `execute("DEL", key)` tells whether there was."""
        link = self._pool.take()
        try:
            link.delete(key)
        finally:
            self._pool.give(link)

    def get_into(self, key: Key, buffer: Buffer) -> int | None:
        """Receive a value straight into a writable buffer; answers its length, None without the key.

        Raises BufferSizeError, which tells the length, if the value does not fit.
        """
        into = Into(buffer)
        link = self._pool.take()
        try:
            return link.get_into(key, into)
        finally:
            self._pool.give(link)
            into.release()

    def execute(self, *words: Value, timeout: Timeout = ...) -> Any:
        """Run a command and answer what Engine.execute does: `execute("SET", "k", "v", "EX", 5)`.

        A word has at most 65535 bytes. timeout: seconds, None for no limit, for a command that blocks.
        """
        link = self._pool.take()
        try:
            return link.execute(words) if timeout is ... else link.execute(words, timeout)
        finally:
            self._pool.give(link)

    def ping(self) -> bool:
        """Whether the server answers: True, or an exception."""
        link = self._pool.take()
        try:
            return link.ping()
        finally:
            self._pool.give(link)

    def pipeline(self, *, raise_on_error: bool = True) -> Pipeline:
        """Requests that are collected, and go out together at the end of a `with` block. See Pipeline."""
        return Pipeline(self, raise_on_error=raise_on_error)

    def close(self) -> None:
        """Close the connections; those in use when their calls end. Calls that begin later raise ClosedError."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _run(self, requests: Requests, timeout: Timeout) -> list[Any]:
        link = self._pool.take()
        try:
            return link.run(requests) if timeout is ... else link.run(requests, timeout)
        finally:
            if requests.stateful:
                link.close()
            self._pool.give(link)

    def _connect(self) -> Link:
        """A new connection, after as many attempts as are allowed and there is time for."""
        deadline = time.monotonic() + self.connect_timeout
        pauses = self.pauses()
        while True:
            left = max(deadline - time.monotonic(), 0.001)
            try:
                return self._attempt(left)
            except OSError as error:
                pause = next(pauses, None)
                if pause is None or time.monotonic() + pause >= deadline or self.is_hopeless(error):
                    raise self.connect_error(error) from error
                time.sleep(pause)

    def _attempt(self, timeout: float) -> Link:
        sock = dial(self.address.path or (self.address.host, self.address.port), timeout)
        try:
            if self.tls:
                sock = self.tls.wrap_socket(sock, server_hostname=self.address.host)
            link = Link(sock, str(self.address), self.new_exchange(), self.timeout, plain=is_plain(sock))
            greeting = self.greeting()
            if len(greeting) and (error := first_error(link.run(greeting, timeout))):
                raise error
        except BaseException:
            sock.close()
            raise
        return link


def dial(address: str | tuple[str, int], timeout: float) -> socket.socket:
    """A connected socket."""
    if isinstance(address, tuple):
        sock = socket.create_connection(address, timeout)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return sock
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.settimeout(timeout)
        sock.connect(address)
    except BaseException:
        sock.close()
        raise
    return sock


def is_plain(sock: socket.socket) -> bool:
    """Whether a socket is the interpreter's own, and nothing stands between it and its descriptor: TLS, or gevent."""
    return type(sock) is socket.socket and socket.socket.__module__ == "socket"


class Pipeline(Requests):
    """Requests that go out in one write, over one connection, and whose answers come back in their order.

        with client.pipeline() as pipe:
            pipe.set("a", 1)
            pipe.execute("INCR", "a")
        pipe.results  # [True, 2]

    The methods of Client collect here. The end of the block runs what has been collected; an exception in it drops it.
    All requests are run, whatever becomes of one of them. `results` has an answer for each, errors of the server as
    exceptions; the first of these is raised unless raise_on_error is False. If the connection is lost there are no
    results: any of the requests may have been carried out.

    A pipeline is no transaction, but MULTI and EXEC may stand in it. With them, or another command that changes its
    connection, it has one of its own, which is closed afterwards. It belongs to one thread.
    """

    def __new__(cls, client: Client, *, raise_on_error: bool = True) -> Self:  # noqa: D102
        self = super().__new__(cls, PIPELINED, client.max_request)
        self._client = client
        self.raise_on_error = raise_on_error
        self.results = []
        return self

    _client: Client
    raise_on_error: bool
    results: list[Any]

    def run(self, *, timeout: Timeout = ...) -> list[Any]:
        """Run what has been collected, and forget it; answers `results`. timeout: another one for all of it."""
        self.results = []
        if not len(self):
            return self.results
        try:
            self.results = self._client._run(self, timeout)
        finally:
            self.clear()
        if self.raise_on_error and (error := first_error(self.results)):
            raise error
        return self.results

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        if kind is None and len(self):
            self.run()
        self.clear()


pools: WeakSet[Pool] = WeakSet()


def forget_all() -> None:
    """A child has been forked: the connections are its parent's."""
    for pool in pools:
        pool.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_all)
