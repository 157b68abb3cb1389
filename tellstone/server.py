"""A server: a store, reactors that serve it, and the event loop that answers what reactors leave to Python.

Life: sockets are bound first, so that a port in use is found before any thread runs; then the reactors start, and the
event loop drains the control bridge until a stop is asked for. A graceful stop ends accepting at once, gives
connections --shutdown-timeout to get the answers to what they have sent, then cuts them. `stop` may be called from any
thread and any number of times; `now` cuts at once.

A server needs no main thread and sets no signal handlers: a program with an embedded engine runs one in a thread of its
own (`start_thread`), the command line runs one in the foreground.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tellstone._core.net.control import ControlBridge, ControlCall, Report
from tellstone._core.store.keyspace import Store
from tellstone.automatic import automatic_shards, automatic_threads
from tellstone.config import Options
from tellstone.control import HANDLERS
from tellstone.control.calls import note_call
from tellstone.control.context import TOTALS, ClientFilter, ClientReport, Context, Result, ceiling_of, configure_store
from tellstone.control.encode import ENCODING, ERRORS, NOTHING, ErrorReply, Reply, encode, text
from tellstone.errors import ResponseError, StartError
from tellstone.listeners import Listener, close_all, listen, raise_file_limit, reason
from tellstone.log import fields, log, set_level
from tellstone.units import CLIENT_CLASSES, MILLISECOND, SECOND, Address, show_duration

if TYPE_CHECKING:
    from tellstone._core.net.reactor import ReactorGroup
    from tellstone.keeper import Keeper
    from tellstone.loops import LoopGroup

SAMPLE_SECONDS = 0.5  # between two looks at the counters
SAMPLE_COUNT = 8
RESERVED_FILES = 32  # beside connections
FILES_A_THREAD = 4
ANSWER_SECONDS = 5.0  # for all reactors to report on their clients
ADDRESSES = {"resp": "resp_addr", "native": "addr"}  # the options, by protocol
PERSISTENCE_OFF = "persistence is off, so there is nowhere to save; --enable-persistence turns it on"
LOAD_SECONDS = 1.0  # between two lines that tell of a long start
JOIN_SECONDS = 0.05  # between two looks, while reactors end, at whether they shall end at once


def settled(options: Options, store: Store | None, keeper: Keeper | None) -> Options:
    """A copy of the options with the automatic ones settled, and those that a given store has decided already, or its
    keeper.
    """
    if keeper is not None:
        options = keeper.told(options)
    threads = options.io_threads or automatic_threads()
    if store is None:
        return replace(options, io_threads=threads, shards=options.shards or automatic_shards(threads))
    return replace(
        options,
        io_threads=threads,
        shards=store.shard_count,
        **ceiling_of(store),
        proto_max_bulk_len=store.max_value,
    )


def driver(name: str) -> type[ReactorGroup] | type[LoopGroup]:
    """The kind of threads that serve connections."""
    if name == "asyncio":
        from tellstone.loops import LoopGroup

        return LoopGroup
    from tellstone._core.net.reactor import ReactorGroup

    return ReactorGroup


def make_store(options: Options) -> Store:
    """The store that settled options describe."""
    store = Store(options.shards, options.evict_interval // MILLISECOND, options.evict_slots)
    store.max_value = options.proto_max_bulk_len
    configure_store(store, options)
    return store


@dataclass
class Question:
    """A question to all reactors that waits for their reports."""

    missing: int
    answer: asyncio.Future[ClientReport]
    report: ClientReport = field(default_factory=ClientReport)

    def take(self, report: Report) -> None:
        """Add what one reactor says."""
        self.report.count += report.count
        for line in filter(None, text(report.lines or b"").split("\n")):
            self.report.lines[int(line.partition(" ")[0].removeprefix("id="))] = f"{line}\n"
        self.missing -= 1
        if not self.missing and not self.answer.done():
            self.answer.set_result(self.report)


class Server(Context):
    """See the module. Without a store of its owner's it makes one. A server lives once.

    protocols: what to serve of "resp" and "native"; None for what the options say. keeper: of the store, if its owner
    keeps it on disk.
    """

    parts = frozenset({"store", "reactors", "records", "server", "log", "durability"})

    def __init__(
        self,
        options: Options,
        *,
        store: Store | None = None,
        protocols: Collection[str] | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        given, options = options, settled(options, store, keeper)
        super().__init__(store or make_store(options), options)
        self.given = given
        self._protocols = protocols or (["resp", "native"] if options.enable_resp else ["native"])
        self.ready: Future[None] = Future()  # done when clients can connect; holds what went wrong before
        self.listeners: list[Listener] = []
        self._bridge = ControlBridge()
        self._reactors: ReactorGroup | LoopGroup | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._state = threading.Lock()  # of the next two and the loop
        self._stop_asked = False
        self._stop_now = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._questions: dict[int, Question] = {}
        self._tokens = itertools.count(1)
        self._samples: list[tuple[float, Mapping[str, int]]] = []
        self._thread: threading.Thread | None = None
        self._keeper = keeper
        self._keeps = keeper is None and options.enable_persistence  # by itself
        if keeper is not None:
            self.persistence = keeper.persistence

    # Life

    async def serve(self) -> None:
        """Serve until `stop`. Raises StartError before anything is served."""
        with self._state:
            self._loop = asyncio.get_running_loop()
            if self._stop_asked:
                self._wake.set()
        try:
            self._start(self._loop)
        except Exception as error:
            close_all(self.listeners)
            if self._keeps and self._keeper is not None:
                self._keeper.close()
            failure = StartError(f"cannot start: {reason(error)}") if isinstance(error, OSError) else error
            self.ready.set_exception(failure)
            raise failure from None
        try:
            if self._keeps:
                await self._load()
            await self._wake.wait()
        finally:
            await self._end()

    def stop(self, *, now: bool = False) -> None:
        """Ask for the end; from any thread, and from a signal handler of the loop."""
        with self._state:
            self._stop_asked = True
            self._stop_now |= now
            loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop is closed: it has ended already
                loop.call_soon_threadsafe(self._wake.set)

    @property
    def stopping(self) -> bool:
        """Whether an end has been asked for."""
        return self._stop_asked

    def abandon(self) -> None:
        """What must not be left behind when the process is about to end, come what may: the files of unix sockets."""
        for listener in self.listeners:
            listener.hide()

    def start_thread(self) -> None:
        """Serve in a thread of its own; returns when clients can connect. Raises StartError."""
        self._thread = threading.Thread(target=self._run_quietly, name="tellstone-server", daemon=True)
        self._thread.start()
        self.ready.result()

    def close(self) -> None:
        """Stop what `start_thread` has started, and wait for its end."""
        self.stop()
        if self._thread is not None:
            self._thread.join()

    def _run_quietly(self) -> None:
        try:
            asyncio.run(self.serve())
        except Exception as error:
            if not self.ready.done():  # not even the event loop could be made
                self.ready.set_exception(error)
            elif self.ready.exception() is None:  # else start_thread raises it
                log.exception("the server has failed")

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._fit_clients()
        self.store.cluster = self.is_cluster
        if self._keeps:
            self._keep()
        elif self.options.save and self._keeper is None:
            raise StartError(f"save: {PERSISTENCE_OFF}")
        for protocol in self._protocols:
            self._listen(protocol)
        options = self.options
        kind = driver(options.driver)
        self._reactors = kind(self.store, self._bridge, options.io_threads, **self._reactor_settings())
        self.records = self._reactors.records
        self.apply("records")
        for listener in self.listeners:
            laddr = listener.address.path or listener.name
            self._reactors.listen(listener.socket.detach(), listener.is_unix, laddr, listener.protocol)
        self._reactors.start()
        loop.add_reader(self._bridge.fileno(), self._drain)
        self._sample()
        self.ready.set_result(None)

    def _keep(self) -> None:
        from tellstone.keeper import Keeper

        self._keeper = Keeper(self.store, self.options)
        self.persistence = self._keeper.persistence
        self.store.loading = True

    async def _load(self) -> None:
        """Read what is on disk, and tell from time to time how far that is."""
        assert self._keeper is not None
        job = self._keeper.persistence.recovery
        loop = asyncio.get_running_loop()
        reading = loop.run_in_executor(None, self._keeper.load, self.options.io_threads)
        while not (await asyncio.wait((reading,), timeout=LOAD_SECONDS))[0]:
            log.info(
                "loading", extra=fields(bytes=job.bytes_done, of=job.bytes_all, keys=job.keys, records=job.records)
            )
        await reading

    def _listen(self, protocol: str) -> None:
        """Bind the address that the options have for a protocol, and put the port that port 0 has become there."""
        option = ADDRESSES[protocol]
        address: Address = getattr(self.options, option)
        found = listen(address, protocol)
        self.listeners += found
        if not address.path:
            address = replace(address, port=found[0].address.port)
        setattr(self.options, option, address)
        self.addresses[protocol] = address

    async def _end(self) -> None:
        """ORDER: reactors first, while handlers still answer what they wait for; handlers next, sockets last."""
        assert self._reactors is not None
        loop = asyncio.get_running_loop()
        for listener in self.listeners:
            listener.hide()
        self._reactors.stop(self.options.shutdown_timeout // MILLISECOND)
        begun, killed = time.monotonic(), False
        while not await loop.run_in_executor(None, self._reactors.join, JOIN_SECONDS):
            if self._stop_now and not killed:
                self._reactors.kill()
                killed = True
        if self.options.shutdown_timeout and time.monotonic() - begun >= self.options.shutdown_timeout / SECOND:
            log.warning("connections were cut", extra=fields(waited=show_duration(self.options.shutdown_timeout)))
        for task in self._tasks:
            task.cancel()
        loop.remove_reader(self._bridge.fileno())
        close_all(self.listeners)
        if self._keeps and self._keeper is not None:
            await loop.run_in_executor(None, self._keeper.close)

    # Commands

    def _drain(self) -> None:
        for item in self._bridge.drain():
            if isinstance(item, Report):
                question = self._questions.get(item.token)
                if question is not None:
                    question.take(item)
            else:
                self._handle(item)

    def _handle(self, call: ControlCall) -> None:
        """Answer a call at once, or start a task that does when its handler has to wait."""
        begun = time.perf_counter()
        try:
            reply = HANDLERS[call.name](self, call)
        except Exception as error:
            reply = refusal(call, error)
        if isinstance(reply, Awaitable):
            task = asyncio.ensure_future(self._answer_later(call, reply, begun))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._answer(call, reply, begun)

    async def _answer_later(self, call: ControlCall, waiting: Awaitable[Reply], begun: float) -> None:
        try:
            reply = await waiting
        except Exception as error:
            reply = refusal(call, error)
        self._answer(call, reply, begun)

    def _answer(self, call: ControlCall, reply: Reply, begun: float) -> None:
        """ORDER: the record comes last. The slow log shows no SLOWLOG GET that is being answered, nor does INFO count
        itself.
        """
        try:
            data = encode(reply, call.proto)
        except Exception as error:
            reply = refusal(call, error)
            data = encode(reply, call.proto)
        call.answer(data, close=reply is NOTHING)
        note_call(self.records, call, reply, time.perf_counter() - begun)

    # As a Context

    def totals(self) -> Mapping[str, int]:
        """See Context."""
        if self._reactors is None:
            return {}
        figures = self._reactors.stats()
        figures["errors"] += self._reactors.records.own_errors
        return {name: figures[name] for name in TOTALS}

    def gauges(self) -> Counter[str]:
        """See Context."""
        return Counter(self._reactors.stats()) if self._reactors else Counter()

    def rates(self) -> Mapping[str, float]:
        """Over the last few seconds."""
        if len(self._samples) < 2:
            return {}
        (begun, before), (ended, after) = self._samples[0], self._samples[-1]
        return {name: (after[name] - before[name]) / (ended - begun) for name in after}

    def reset_counters(self, row: int = -1) -> None:
        """See Context."""
        super().reset_counters(row)
        self._samples = []

    def _sample(self) -> None:
        """Look at the counters, now and from time to time."""
        assert self._loop is not None
        self.note_memory()
        self._samples = [*self._samples[-SAMPLE_COUNT:], (time.monotonic(), self.totals())]
        self._loop.call_later(SAMPLE_SECONDS, self._sample)

    async def sleep(self, seconds: float) -> None:
        """See Context."""
        end = time.monotonic() + seconds
        await asyncio.sleep(seconds)  # others have their turn, even where there is nothing to wait for
        # A loop's own clock is coarse, and it may wake a moment early.
        while (left := end - time.monotonic()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(left)

    async def work(self, function: Callable[[], Result]) -> Result:
        """See Context. Works in a thread."""
        return await asyncio.get_running_loop().run_in_executor(None, function)

    def save_later(self) -> None:
        """See Context."""
        assert self._keeper is not None
        self._keeper.save_later()

    async def clients(self, wanted: ClientFilter, *, kill: bool = False) -> ClientReport:
        """See Context. Reactors that do not report in time are left out."""
        assert self._reactors is not None
        token = next(self._tokens)
        asked = self._reactors.ask_clients(token, "kill" if kill else "list", **question_of(wanted))
        question = Question(asked, asyncio.get_running_loop().create_future())
        self._questions[token] = question
        try:
            return await asyncio.wait_for(question.answer, ANSWER_SECONDS) if asked else question.report
        except asyncio.TimeoutError:
            return question.report
        finally:
            del self._questions[token]

    def pause(self, milliseconds: int, *, everything: bool) -> None:
        """See Context."""
        assert self._reactors is not None
        self._reactors.pause(milliseconds, everything)

    def unpause(self) -> None:
        """See Context."""
        assert self._reactors is not None
        self._reactors.unpause()

    def shut_down(self, *, now: bool) -> None:
        """See Context."""
        log.info("stopping", extra=fields(reason="SHUTDOWN"))
        self.stop(now=now)

    # Options

    def apply(self, part: str) -> None:
        """See Context."""
        super().apply(part)
        if part == "log":
            set_level(self.options.log_level)
        if part == "durability" and self._keeper is not None:
            self._keeper.take(self.options)
        elif part == "durability" and self.options.save:
            raise ValueError(PERSISTENCE_OFF)
        if part == "reactors" and self._reactors is not None:
            self._require_files()
            self.store.max_value = self.options.proto_max_bulk_len
            self._reactors.configure(**self._reactor_settings())

    def _reactor_settings(self) -> dict[str, Any]:
        options = self.options
        limit = options.client_output_buffer_limit[CLIENT_CLASSES.index("normal")]
        return {
            "max_clients": options.max_clients,
            "idle_timeout_s": options.timeout // SECOND,
            "tcp_keepalive_s": options.tcp_keepalive // SECOND,
            "output_limit": (limit.hard, limit.soft, limit.soft_seconds),
            "max_request": min(options.max_msg_size, options.proto_max_bulk_len),
            "max_frame": options.max_msg_size,
        }

    @property
    def _reserved_files(self) -> int:
        return RESERVED_FILES + FILES_A_THREAD * self.options.io_threads

    def _fit_clients(self) -> None:
        """At the start: as many clients as the system allows files, with a warning if fewer than asked for."""
        wanted = self.options.max_clients + self._reserved_files
        allowed = raise_file_limit(wanted)
        if allowed >= wanted:
            return
        most = allowed - self._reserved_files
        if most < 1:
            raise StartError(f"the limit of {allowed} open files leaves none for clients: raise it (ulimit -n)")
        log.warning(
            "fewer clients than asked for, because of the limit of open files",
            extra=fields(asked=self.options.max_clients, allowed=most, files=allowed),
        )
        self.options.max_clients = most

    def _require_files(self) -> None:
        """While running: refuse more clients than the system allows files."""
        wanted = self.options.max_clients + self._reserved_files
        allowed = raise_file_limit(wanted)
        if allowed < wanted:
            raise ValueError(
                "The operating system is not able to handle the specified number of clients, "
                f"try with {allowed - self._reserved_files}"
            )


def question_of(wanted: ClientFilter) -> dict[str, Any]:
    """A filter as reactors take it: addresses as bytes, and no number that no client has."""
    values = asdict(wanted)
    for name in ("addr", "laddr", "user"):
        if values[name] is not None:
            values[name] = values[name].encode(ENCODING, ERRORS)
    return values


def refusal(call: ControlCall, error: Exception) -> Reply:
    """The error reply of a handler's exception. One that no handler means to raise is a defect, and is logged."""
    if isinstance(error, ResponseError):
        return ErrorReply(error)
    log.exception("a control command has failed", exc_info=error, extra=fields(command=call.name))
    return ErrorReply("ERR internal error, see the log")
