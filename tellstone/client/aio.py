"""The client for asyncio. Calls of any number of tasks go over one connection at the same time, or over a few.

Requests that are made in one turn of the loop go out in one write. Answers come in the order of requests, so each finds
its task without a number; a task that is cancelled leaves its place in that order behind. When a connection ends, the
requests that had been sent fail, for they may have been carried out, and the others go out over the next one.

A request waits while too many are on their way, or while the server does not read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from tellstone._core.protocol.exchange import Exchange, Into
from tellstone._core.protocol.framing import Requests
from tellstone.client.base import BaseClient, first_error
from tellstone.client.conversions import PIPELINED
from tellstone.errors import ClosedError, ConnectionLostError, Error, ProtocolError, TimedOutError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import timedelta

    from typing_extensions import Buffer, Self

    from tellstone.client.base import Key, Timeout, Value

    Answer = asyncio.Future[Any]

OWING_MAX = 16384  # requests without an answer, over one connection
UNSENT_MAX = 1 << 20  # bytes of requests that the socket has not taken
TURNS_MAX = 64  # of those who have waited, so many go on at a time
FOREVER = float("inf")


class NotSentError(Error):
    """The connection ended before the request was handed to it, for the reason named."""


class Connection(asyncio.BufferedProtocol):
    """A connection in use by many tasks."""

    def __init__(self, exchange: Exchange, peer: str, loop: asyncio.AbstractEventLoop) -> None:
        self.exchange = exchange
        self.loop = loop
        self.open = False
        self.ended: asyncio.Future[None] = loop.create_future()
        self._peer = peer
        self._transport: asyncio.Transport
        self._reason: Exception | None = None  # for the end
        self._flushing = False  # a call of _flush is on its way
        self._paused = False
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = FOREVER
        self._line: deque[asyncio.Future[None]] = deque()  # who waits for room
        self._turns = 0  # of those whose turn it is, and who have not made their request yet

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio."""
        self._transport = cast(asyncio.Transport, transport)
        self.open = True

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        """See asyncio."""
        return self.exchange.room()

    def buffer_updated(self, nbytes: int) -> None:
        """See asyncio."""
        try:
            self.exchange.received(nbytes)
        except Exception as error:
            self.end(error)
        if self._line:
            self._admit()

    def eof_received(self) -> None:
        """At once: by itself the transport would first wait until the server has read what is on its way to it."""
        self.end(ConnectionError("the server has closed it"))

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self.end(exc or ConnectionError("it has been closed"))
        if not self.ended.done():
            self.ended.set_result(None)

    def pause_writing(self) -> None:
        """See asyncio."""
        self._paused = True

    def resume_writing(self) -> None:
        """See asyncio."""
        self._paused = False
        self._flush()

    # Requests

    @property
    def full(self) -> bool:
        """Whether another request has to wait for its turn."""
        exchange = self.exchange
        return bool(self._line) or exchange.owing + self._turns >= OWING_MAX or exchange.unsent >= UNSENT_MAX

    async def turn(self) -> None:
        """Wait for room for a request, which must be made before anything else is waited for; or for the end."""
        turn = self.loop.create_future()
        self._line.append(turn)
        try:
            await turn
        finally:
            if turn.cancelled():
                with suppress(ValueError):
                    self._line.remove(turn)
            else:
                self._turns -= 1
            self.loop.call_soon(self._admit)  # behind the request; or, if the task has been cancelled, instead of it

    def answer(self, timeout: float | None, make: Callable[..., object], *arguments: Any, **options: Any) -> Answer:
        """The answer to a request, which a method of Exchange makes."""
        make(self.exchange, *arguments, **options)
        waiter = self.loop.create_future()
        self.exchange.wait(waiter, FOREVER if timeout is None else self._until(timeout))
        if not self._flushing:
            self._flushing = True
            self.loop.call_soon(self._flush)
        return waiter

    def answers(self, timeout: float | None, requests: Requests) -> Answer:
        """The answers to a pipeline, errors among them."""
        waiter = self.loop.create_future()
        self.exchange.add(requests, waiter, FOREVER if timeout is None else self._until(timeout))
        if not self._flushing:
            self._flushing = True
            self.loop.call_soon(self._flush)
        return waiter

    def check(self) -> None:
        """Raise NotSentError if the connection has ended."""
        if not self.open:
            raise NotSentError(str(self._reason))

    def end(self, reason: Exception) -> None:
        """End the connection, and every request that it has."""
        if not self.open:
            return
        self.open = False
        self._reason = reason
        self._transport.abort()
        if self._alarm:
            self._alarm.cancel()
        in_flight, unsent = self.exchange.abandon()
        now = self.loop.time()
        for waiter, deadline in in_flight:
            if not waiter.done():
                waiter.set_exception(self._failure(reason, late=deadline <= now))
        for waiter, _ in unsent:
            if not waiter.done():
                waiter.set_exception(NotSentError(str(reason)))
        self._admit()

    def _failure(self, reason: Exception, *, late: bool) -> Exception:
        """What a request in flight is answered. Each gets an exception of its own, for it gets its traceback there."""
        if isinstance(reason, ProtocolError | ClosedError):
            return type(reason)(*reason.args)
        if isinstance(reason, TimedOutError) and late:
            return TimedOutError(f"no answer from {self._peer} in time; the request may have been carried out")
        text = f"the connection to {self._peer} was lost: {reason}; the request may have been carried out"
        error = ConnectionLostError(text)
        error.__cause__ = reason
        return error

    def _flush(self) -> None:
        self._flushing = False
        if self._paused or not self.open or self._transport.is_closing():
            return
        if self.exchange.unsent:
            self._transport.write(self.exchange.output())
        if self._line:
            self._admit()

    def _admit(self) -> None:
        """Let those who wait go on while there is room; a few at a time, for nobody knows how much they will send."""
        room = min(OWING_MAX - self.exchange.owing, TURNS_MAX) - self._turns
        if self._paused or self.exchange.unsent >= UNSENT_MAX:
            room = 0
        while self._line and (room > 0 or not self.open):
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
                self._turns += 1
                room -= 1

    # Time

    def _until(self, timeout: float) -> float:
        deadline = self.loop.time() + timeout
        if deadline < self._alarm_at:
            self._set_alarm(deadline)
        return deadline

    def _set_alarm(self, at: float) -> None:
        """One alarm for all requests. It rings when the first that there were is late, and is then set for the next."""
        if self._alarm:
            self._alarm.cancel()
        self._alarm_at = at
        self._alarm = self.loop.call_at(at, self._look_at_clock)

    def _look_at_clock(self) -> None:
        self._alarm = None
        self._alarm_at = FOREVER
        earliest = self.exchange.next_deadline()
        if earliest <= self.loop.time():
            self.end(TimedOutError("an answer did not come in time"))
        elif earliest < FOREVER:
            self._set_alarm(earliest)


class AsyncClient(BaseClient):
    """A client of a server for asyncio. An asynchronous context manager; see BaseClient for its options.

    One client serves all tasks of a loop. Its methods are those of Client. A call that is cancelled may have been
    carried out. A command that blocks holds up those behind it on its connection: give it a client of its own.
    """

    def _begin(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: list[Connection] = []
        self._opening: asyncio.Task[Connection] | None = None
        self._closed = False

    async def get(self, key: Key) -> bytes | None:
        """The value of a key, None without one."""
        value: bytes | None = await self._call(Connection.answer, Exchange.get, key)
        return value

    async def set(
        self,
        key: Key,
        value: Value,
        ttl: float | timedelta | None = None,
        *,
        nx: bool = False,
        xx: bool = False,
        keep_ttl: bool = False,
    ) -> bool:
        """Store a value; answers whether it was stored. See Client.set."""
        stored: bool = await self._call(Connection.answer, set_request, key, value, ttl, nx, xx, keep_ttl)
        return stored

    async def delete(self, key: Key) -> None:
        """Delete a key, if there is one."""
        await self._call(Connection.answer, Exchange.delete, key)

    async def get_into(self, key: Key, buffer: Buffer) -> int | None:
        """Receive a value into a writable buffer; answers its length, None without the key.

        What has come together with earlier answers is copied, 64 KiB at most; the rest is received there. Raises
        BufferSizeError if the value does not fit. Nothing is written to the buffer after the call has ended.
        """
        into = Into(buffer)
        try:
            length: int | None = await self._call(Connection.answer, Exchange.get_into, key, into)
        finally:
            into.release()
        return length

    async def execute(self, *words: Value, timeout: Timeout = ...) -> Any:
        """Run a command and answer what Engine.execute does. See Client.execute."""
        return await self._call(Connection.answer, Exchange.execute, *words, timeout=timeout)

    async def ping(self) -> bool:
        """Whether the server answers: True, or an exception."""
        answered: bool = await self._call(Connection.answer, Exchange.ping)
        return answered

    def pipeline(self, *, raise_on_error: bool = True) -> AsyncPipeline:
        """Requests that are collected, and go out together at the end of an `async with` block."""
        return AsyncPipeline(self, raise_on_error=raise_on_error)

    async def close(self) -> None:
        """Close the connections. Calls that wait for an answer, and calls that begin later, raise ClosedError."""
        self._closed = True
        if self._opening:
            self._opening.cancel()
        connections, self._open = self._open, []
        for connection in connections:
            connection.end(ClosedError("the client is closed"))
            if connection.loop is asyncio.get_running_loop():
                await connection.ended

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _call(self, ask: Callable[..., Answer], *arguments: Any, timeout: Timeout = ...) -> Any:
        """Ask over a connection and wait for the answer; after a pause over another one, if nothing has been sent."""
        limit = self.timeout if timeout is ... else timeout
        pauses = None
        while True:
            try:
                connection = self._ready() or await self._wait()
                return await ask(connection, limit, *arguments)
            except NotSentError as error:
                failure = error
            pauses = await self._pause(pauses, failure)

    async def _run(self, requests: Requests, timeout: Timeout) -> list[Any]:
        run = self._run_apart if requests.stateful else self._call
        answers: list[Any] = await run(Connection.answers, requests, timeout=timeout)
        return answers

    async def _run_apart(self, ask: Callable[..., Answer], requests: Requests, *, timeout: Timeout) -> Any:
        """As _call, over a connection of its own, which nobody else shall find as it is left."""
        limit = self.timeout if timeout is ... else timeout
        pauses = None
        while True:
            connection = await self._connect()
            try:
                return await ask(connection, limit, requests)
            except NotSentError as error:
                pauses = await self._pause(pauses, error)
            finally:
                connection.end(ClosedError("the pipeline has ended"))

    async def _pause(self, pauses: Iterator[float] | None, error: NotSentError) -> Iterator[float]:
        """Wait before another attempt; the pauses that are left. Raises ConnectError if none is."""
        pauses = pauses or self.pauses()
        pause = next(pauses, None)
        if pause is None:
            raise self.connect_error(error) from error
        await asyncio.sleep(pause)
        return pauses

    # Connections

    def _ready(self) -> Connection | None:
        """A connection that takes a request now, the one with the least to do."""
        best: Connection | None = None
        least = OWING_MAX
        for connection in self._open:
            owing = connection.exchange.owing
            if owing < least and connection.open and not connection.full:
                best, least = connection, owing
        if best is None or best.loop is not asyncio.get_running_loop():
            return None
        return best if least == 0 or len(self._open) == self.connections else None

    async def _wait(self) -> Connection:
        """What _ready answers, when it has something. Raises NotSentError if a new connection has ended already."""
        while not (connection := self._ready()):
            if self._closed:
                raise ClosedError("the client is closed")
            loop = asyncio.get_running_loop()
            self._open = [connection for connection in self._open if connection.open and connection.loop is loop]
            if len(self._open) < self.connections:
                (await self._open_another(loop)).check()
            else:
                connection = min(self._open, key=lambda connection: connection.exchange.owing)
                await connection.turn()
                if connection.open:
                    break
        return connection

    async def _open_another(self, loop: asyncio.AbstractEventLoop) -> Connection:
        """Wait for the connection that is being opened for all who want one; it goes on if one of them is cancelled."""
        if self._opening is None or self._opening.done() or self._loop is not loop:
            self._loop = loop
            self._opening = loop.create_task(self._open_for_all())
        opening = self._opening
        try:
            return await asyncio.shield(opening)
        except Error as error:  # each task its own, for it gets its traceback there
            raise type(error)(*error.args) from error.__cause__
        except asyncio.CancelledError:
            if self._closed and opening.cancelled():
                raise ClosedError("the client is closed") from None
            raise

    async def _open_for_all(self) -> Connection:
        """A new connection among those of the client, which it joins before the task is done.

        Whoever awaits a task that is done goes on at once. If a callback of the task were to add the connection, a call
        that begins between the two would find nothing, ask again, and never let the callback run.
        """
        connection = await self._connect()
        if self._closed:
            connection.end(ClosedError("the client is closed"))
        else:
            self._open.append(connection)
        return connection

    async def _connect(self) -> Connection:
        """A new connection, after as many attempts as are allowed and there is time for."""
        if self._closed:
            raise ClosedError("the client is closed")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.connect_timeout
        pauses = self.pauses()
        while True:
            left = max(deadline - loop.time(), 0.001)
            try:
                return await asyncio.wait_for(self._attempt(loop), left)
            except (OSError, asyncio.TimeoutError) as error:
                pause = next(pauses, None)
                if pause is None or loop.time() + pause >= deadline or self.is_hopeless(error):
                    raise self.connect_error(error) from error
                await asyncio.sleep(pause)

    async def _attempt(self, loop: asyncio.AbstractEventLoop) -> Connection:
        address = self.address
        connection = Connection(self.new_exchange(), str(address), loop)
        if address.path:
            await loop.create_unix_connection(lambda: connection, address.path)
        else:
            await loop.create_connection(lambda: connection, address.host, address.port, ssl=self.tls)
        greeting = self.greeting()
        try:
            if len(greeting) and (error := first_error(await connection.answers(None, greeting))):
                raise error
        except BaseException as error:
            connection.end(ClosedError("it did not begin well"))
            raise error
        return connection


def set_request(exchange: Exchange, key: Any, value: Any, ttl: Any, nx: bool, xx: bool, keep_ttl: bool) -> None:
    """Exchange.set with its options in a row."""
    exchange.set(key, value, ttl, nx=nx, xx=xx, keep_ttl=keep_ttl)


class AsyncPipeline(Requests):
    """Requests that go out together, over one connection, and whose answers come back in their order.

        async with client.pipeline() as pipe:
            pipe.set("a", 1)
            pipe.execute("INCR", "a")
        pipe.results  # [True, 2]

    As Pipeline, for an AsyncClient. Requests of other tasks may go over the same connection before and behind it, never
    in between.
    """

    def __new__(cls, client: AsyncClient, *, raise_on_error: bool = True) -> Self:  # noqa: D102
        self = super().__new__(cls, PIPELINED, client.max_request)
        self._client = client
        self.raise_on_error = raise_on_error
        self.results = []
        return self

    _client: AsyncClient
    raise_on_error: bool
    results: list[Any]

    async def run(self, *, timeout: Timeout = ...) -> list[Any]:
        """Run what has been collected, and forget it; answers `results`. timeout: another one for all of it."""
        self.results = []
        if not len(self):
            return self.results
        try:
            self.results = await self._client._run(self, timeout)
        finally:
            self.clear()
        if self.raise_on_error and (error := first_error(self.results)):
            raise error
        return self.results

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        if kind is None and len(self):
            await self.run()
        self.clear()
