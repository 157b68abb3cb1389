"""The embedded engine: a store in the program's own process, used like a dict, by commands, and by other processes.

    from tellstone import Engine

    with Engine(max_memory="256MiB") as engine:
        engine["greeting"] = "hello"  # keys are bytes-like or str, values these or numbers
        engine["greeting"]  # b"hello": what comes back is bytes
        engine.set("session", token, ttl=timedelta(minutes=5))
        engine.execute("INCRBY", "visits", 3)  # any command, answered as redis-py answers it
        engine.listen("unix:/run/app/tellstone.sock")  # the same data for other processes

The operations are compiled (tellstone._core.engine). Here is what reaches up from them: commands and sockets, neither
of them loaded before its first use.
"""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tellstone._core.engine import Engine as Operations
from tellstone._core.store.keyspace import Store
from tellstone.automatic import automatic_shards, automatic_threads
from tellstone.errors import ClosedError, OptionError

if TYPE_CHECKING:
    from typing_extensions import Buffer, Self

    from tellstone.commands import Commands
    from tellstone.server import Server

MILLISECOND = timedelta(milliseconds=1)
INTERVAL_MAX = timedelta(hours=1)
SIZE_MAX = 2**63 - 1


class Engine(Operations):
    """A key/value store in this process, safe to use from any number of threads.

    shards: independent parts of the keyspace, 0 for as many as the CPUs ask for.
    max_memory: bytes, or a size such as "64MiB", above which writes are refused; 0 is no limit.
    evict_interval: seconds or a timedelta between two looks for expired keys. Reads never see one; 0 leaves them in
    memory until they are met.
    evict_slots: slots of a timing wheel's level, 8 to 1024.

    Its methods, and its use as a mapping, are about database 0. `execute` is a connection, one for each thread: SELECT,
    HELLO or CLIENT SETNAME change that of the calling thread and no other.
    """

    __slots__ = ("__weakref__", "_closing", "_commands", "_servers", "_state")

    _state: threading.Lock  # of the rest
    _closing: bool
    _servers: list[Listening]
    _commands: Commands | None

    def __new__(
        cls,
        *,
        shards: int = 0,
        max_memory: int | str = 0,
        evict_interval: float | timedelta = 1.0,
        evict_slots: int = 256,
    ) -> Self:
        """Make an engine and start its upkeep. Raises OptionError."""
        store = Store(
            whole("shards", shards, 0, 1024) or automatic_shards(automatic_threads()),
            milliseconds("evict_interval", evict_interval),
            whole("evict_slots", evict_slots, 8, 1024),
            size("max_memory", max_memory),
        )
        return cls._over(store)

    @classmethod
    def _over(cls, store: Store) -> Self:
        """An engine over a store that is there already."""
        self = Operations.__new__(cls, store)
        self._state = threading.Lock()
        self._closing = False
        self._servers = []
        self._commands = None
        return self

    def execute(self, *command: Buffer | str | float) -> Any:
        """Run a command and answer what redis-py would: `execute("SET", "k", "v", "EX", 5)`.

        A word is bytes-like, str, int or float, and the first one may be two ("CONFIG GET"). An error reply is raised,
        as a ResponseError with Redis's text. Commands about a connection do what is left of them without a socket. What
        INFO, SLOWLOG and LATENCY tell of calls is about those of `execute`.
        """
        if self.closed:
            raise ClosedError("the engine is closed")
        answer = (self._commands or self._open_commands()).execute(command)
        if self.closed:  # ORDER: behind the work, which may have met a store that was being emptied
            raise ClosedError("the engine is closed")
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _open_commands(self) -> Commands:
        from tellstone.commands import Commands

        with self._state:
            self._commands = self._commands or Commands(self._store)
            return self._commands

    def listen(
        self, address: str, *, protocol: str = "resp", io_threads: int = 0, max_clients: int = 10_000
    ) -> Listening:
        """Serve clients at "host:port", "[ipv6]:port" or "unix:/path", from threads in the background.

        They see what this engine holds, all databases of it, until the answer is closed, or the engine. protocol:
        "resp" for Redis clients, "native" for those of the native protocol. io_threads: 0 for one a CPU. Raises
        OptionError for what cannot be an address, StartError for one that is not to be had.
        """
        from tellstone.server import Server

        with self._state:
            if self._closing:
                raise ClosedError("the engine is closed")
            options = serving(address, protocol, io_threads, max_clients)
            server = Server(options, store=self._store, protocols=[protocol])
            server.start_thread()
            listening = Listening(server)
            self._servers.append(listening)
            return listening

    def close(self) -> None:
        """Stop serving, drop all data and give its memory back. Calls in flight end as if they had come before, or
        raise ClosedError. Closing again does nothing.
        """
        with self._state:
            self._closing = True
            servers, self._servers = self._servers, []
        for server in servers:
            server.close()
        super().close()


class Listening:
    """What `Engine.listen` serves, until it is closed. A context manager."""

    def __init__(self, server: Server) -> None:
        self._server = server

    @property
    def address(self) -> str:
        """The address, with the port that port 0 has become."""
        (address,) = self._server.addresses.values()
        return str(address)

    def close(self) -> None:
        """Answer what clients have sent, disconnect them, and wait for the threads to end. May be called again."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def serving(address: str, protocol: str, io_threads: int, max_clients: int) -> Any:
    """The options of a server at an address."""
    from tellstone.config import Options
    from tellstone.units import parse_address

    try:
        parsed = parse_address(address)
    except ValueError:
        raise OptionError(f"address: {address!r} is not host:port, [ipv6]:port, :port or unix:/path") from None
    if protocol not in ("resp", "native"):
        raise OptionError(f"protocol: {protocol!r} is neither resp nor native")
    options = Options(io_threads=io_threads, max_clients=max_clients)
    if protocol == "resp":
        options.enable_resp, options.resp_addr = True, parsed
    else:
        options.addr = parsed
    return options


def whole(name: str, number: int, low: int, high: int) -> int:
    """A whole number within bounds."""
    if not low <= number <= high:
        raise OptionError(f"{name}: {number!r} is not a whole number from {low} to {high}")
    return number


def size(name: str, memory: int | str) -> int:
    """A number of bytes, or a size in words."""
    if isinstance(memory, str):
        from tellstone.units import parse_size

        try:
            memory = parse_size(memory)
        except ValueError:
            raise OptionError(f"{name}: {memory!r} is not a size such as 64MiB") from None
    return whole(name, memory, 0, SIZE_MAX)


def milliseconds(name: str, interval: float | timedelta) -> int:
    """An interval in whole milliseconds; what is not zero does not become zero."""
    try:
        span = interval if isinstance(interval, timedelta) else timedelta(seconds=interval)
    except (OverflowError, ValueError):
        span = timedelta(-1)
    if not timedelta(0) <= span <= INTERVAL_MAX:
        raise OptionError(f"{name}: {interval!r} is not between 0 and an hour")
    return max(span // MILLISECOND, int(span > timedelta(0)))
