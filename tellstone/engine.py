"""The embedded engine: a store in the program's own process, used like a dict, by commands, and by other processes.

    from tellstone import Engine

    with Engine(path="/var/lib/app", max_memory="256MiB") as engine:  # without a path it is in memory only
        engine["greeting"] = "hello"  # keys are bytes-like or str, values these or numbers
        engine["greeting"]  # b"hello": what comes back is bytes
        engine.set("session", token, ttl=timedelta(minutes=5))
        engine.execute("INCRBY", "visits", 3)  # any command, answered as redis-py answers it
        engine.listen("unix:/run/app/tellstone.sock")  # the same data for other processes

The operations are compiled (tellstone._core.engine). Here is what reaches up from them: commands, sockets and what
keeps the data on disk, none of them loaded before its first use.
"""

from __future__ import annotations

import os
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from tellstone._core.engine import Engine as Operations
from tellstone._core.store.keyspace import POLICIES, Store
from tellstone.automatic import automatic_shards, automatic_threads
from tellstone.errors import ClosedError, OptionError, StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer, Self

    from tellstone.commands import Commands
    from tellstone.keeper import Keeper
    from tellstone.server import Server

MILLISECOND = timedelta(milliseconds=1)
INTERVAL_MAX = timedelta(hours=1)
SIZE_MAX = 2**63 - 1


class Engine(Operations):
    """A key/value store in this process, safe to use from any number of threads.

    shards: independent parts of the keyspace, 0 for as many as the CPUs ask for.
    max_memory: bytes, or a size such as "64MiB", that all data may take; 0 is no limit.
    max_memory_policy: what a write does that finds no room. "noeviction" refuses it; "allkeys-s3fifo" evicts keys that
    are not asked for, which is what a cache wants; "allkeys-lru", "allkeys-lfu" and "allkeys-random" do as Redis does,
    and "volatile-lru", "volatile-lfu", "volatile-random" and "volatile-ttl" among keys with a time to live alone.
    evict_interval: seconds or a timedelta between two looks for expired keys. Reads never see one; 0 leaves them in
    memory until they are met.
    evict_slots: slots of a timing wheel's level, 8 to 1024.
    path: a directory that keeps the data, in the files of a server with --persistence-dir. Opening reads what is there.
    sync: when a change is on the disk. "always": before the call that makes it returns, threads sharing syncs;
    "everysec": within a second; "no": when the system likes.

    With a path, writes raise StorageError while the disk fails; reads go on, and writing does by itself when the disk
    works again. One process has a directory at a time. However the program ends, nothing is lost that "always" has told
    it is stored; `close` puts on the disk what the other two have not.

    In a child of os.fork an engine has what the parent's had in memory at that moment, to read. One with a path belongs
    to the parent: the child's refuses writes with StorageError, and touches no file.

    Its methods, and its use as a mapping, are about database 0. `execute` is a connection, one for each thread: SELECT,
    HELLO or CLIENT SETNAME change that of the calling thread and no other.
    """

    __slots__ = ("__weakref__", "_closing", "_commands", "_keeper", "_servers", "_state")

    _state: threading.Lock  # of the rest
    _closing: bool
    _servers: list[Listening]
    _commands: Commands | None
    _keeper: Keeper | None  # LIFETIME: held for as long as anybody may change the store

    def __new__(
        cls,
        *,
        path: str | os.PathLike[str] | None = None,
        sync: str = "always",
        shards: int = 0,
        max_memory: int | str = 0,
        max_memory_policy: str = "noeviction",
        evict_interval: float | timedelta = 1.0,
        evict_slots: int = 256,
    ) -> Self:
        """Make an engine and start its upkeep. Raises OptionError; StartError for a directory that cannot be had or
        read, DamageError for one whose files are not whole.
        """
        if path is None and sync != "always":
            raise OptionError(f"sync: {sync!r} is for an engine with a path")
        store = Store(
            whole("shards", shards, 0, 1024) or automatic_shards(automatic_threads()),
            milliseconds("evict_interval", evict_interval),
            whole("evict_slots", evict_slots, 8, 1024),
            size("max_memory", max_memory),
        )
        store.max_memory_policy = word("max_memory_policy", max_memory_policy, POLICIES)
        return cls._over(store, None if path is None else open_keeper(store, path, sync))

    @classmethod
    def _over(cls, store: Store, keeper: Keeper | None = None) -> Self:
        """An engine over a store that is there already."""
        self = Operations.__new__(cls, store)
        self._state = threading.Lock()
        self._closing = False
        self._servers = []
        self._commands = None
        self._keeper = keeper
        _engines.add(self)
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
        if self.closed or (self._closing and isinstance(answer, StorageError)):
            # ORDER: behind the work, which may have met a store that was being emptied, or its log at its end
            raise ClosedError("the engine is closed")
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _open_commands(self) -> Commands:
        from tellstone.commands import Commands

        with self._state:
            self._commands = self._commands or Commands(self._store, self._keeper)
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
            server = Server(options, store=self._store, protocols=[protocol], keeper=self._keeper)
            server.start_thread()
            listening = Listening(server)
            self._servers.append(listening)
            return listening

    def snapshot(self, *, wait: bool = True) -> None:
        """Write all data into a snapshot, behind which the log before it can go; returns when it is on the disk. An
        engine does this by itself when the log has grown by 64 MiB.

        wait=False returns at once, and a failure is only logged. Raises StorageError where there is no path, or the
        disk fails; what was on it before is still there then.
        """
        if self.closed:
            raise ClosedError("the engine is closed")
        if self._keeper is None:
            raise StorageError("ERR no snapshot: the engine has no path")
        if not wait:
            self._keeper.save_later()
            return
        try:
            written = self._keeper.persistence.save()
        except OSError as error:
            raise StorageError(f"MISCONF no snapshot: {error.strerror or error}") from None
        if not written:
            raise ClosedError("the engine is closed")

    def close(self) -> None:
        """Stop serving, put on the disk what is not there yet, give the directory free, and drop all data from memory.
        Calls in flight end as if they had come before, or raise ClosedError. Closing again does nothing.

        Raises StorageError, when all is done, if something could not be put on the disk.
        """
        with self._state:
            self._closing = True
            servers, self._servers = self._servers, []
        for server in servers:
            server.close()
        safe = self.closed or self._keeper is None or self._keeper.close()
        super().close()
        if not safe and self._keeper is not None:
            reason = self._keeper.persistence.log.error
            raise StorageError(f"MISCONF the end of the log could not be written: {reason}")

    def _live_on(self) -> None:
        """In a child of os.fork: there are no other threads, and what listens is the parent's."""
        self._state = threading.Lock()
        self._servers = []
        self._store.resume_upkeep()


_engines: WeakSet[Engine] = WeakSet()


def in_child() -> None:
    """A child has been forked."""
    for engine in _engines:
        engine._live_on()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=in_child)


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


def open_keeper(store: Store, path: str | os.PathLike[str], sync: str) -> Keeper:
    """What keeps a store in a directory; what is there has been read."""
    from tellstone._core.store.durable import POLICIES
    from tellstone.config import Options
    from tellstone.keeper import Keeper

    if sync not in POLICIES:
        raise OptionError(f"sync: {sync!r} is not one of {', '.join(POLICIES)}")
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise OptionError(f"path: {path!r} does not name a directory")
    options = Options(enable_persistence=True, persistence_dir=os.fspath(path), wal_sync=sync)
    kept = Keeper(store, options, named="path")
    try:
        kept.load()
    except BaseException:
        kept.close()
        raise
    return kept


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


def word(name: str, chosen: str, words: Sequence[str]) -> str:
    """One of some words."""
    if chosen not in words:
        raise OptionError(f"{name}: {chosen!r} is none of {', '.join(words)}")
    return chosen


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
