"""What handlers of control commands work on: a store, its options, and whatever runs around it.

A Context is a server, or an engine in somebody's program that has no connections (Embedded). Handlers wait for nothing
but the coroutines of their context, so those of an Embedded one, which never suspend, need no event loop.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tellstone._core.session.records import Records
from tellstone.config import BY_NAME, Options
from tellstone.control.blocked import Blocked
from tellstone.errors import ResponseError
from tellstone.units import INT64_MAX, Address

if TYPE_CHECKING:
    from tellstone._core.store.keyspace import Store
    from tellstone.durability.persistence import Persistence
    from tellstone.keeper import Keeper

Result = TypeVar("Result")

SLOWLOG_MAX = 2**20  # calls that a slow log can hold; a longer one is not refused, it is just not longer
MONITOR_MAX = INT64_MAX // 10**6  # milliseconds; more is never

# What a context counts.
TOTALS = (
    *("accepted", "rejected", "timed_out", "closed_over_input_limit", "closed_over_output_limit"),
    *("commands", "errors", "input_bytes", "output_bytes", "ticks"),
)


class Call(Protocol):
    """A control command as it was sent, all gates passed."""

    @property
    def name(self) -> str:
        """The command's full name: "config|get"."""

    @property
    def args(self) -> tuple[bytes, ...]:
        """The arguments as sent, the command's own words included."""

    @property
    def client_id(self) -> int:
        """Who sent it; 0 is nobody."""

    @property
    def db(self) -> int:
        """The client's database."""

    @property
    def proto(self) -> int:
        """The client's version of RESP."""

    @property
    def addr(self) -> bytes:
        """Where the client is: b"127.0.0.1:5000", b"/path:0"; empty for this process."""

    @property
    def laddr(self) -> bytes:
        """What it has connected to, likewise."""

    @property
    def client_name(self) -> bytes:
        """What the client calls itself."""


@dataclass(frozen=True)
class LocalCall:
    """A Call from this process."""

    name: str
    args: tuple[bytes, ...]
    client_id: int = 0
    db: int = 0
    proto: int = 3
    addr: bytes = b""
    laddr: bytes = b""
    client_name: bytes = b""


@dataclass(frozen=True)
class ClientFilter:
    """Which clients a question is about. None and an empty tuple do not filter."""

    ids: tuple[int, ...] = ()
    addr: str | None = None
    laddr: str | None = None
    type: str | None = None
    user: str | None = None
    caller: int = 0  # the client that asks; 0: none
    skip_caller: bool = False


@dataclass
class ClientReport:
    """Clients that passed a filter: how many, and their lines of CLIENT LIST by number."""

    count: int = 0
    lines: dict[int, str] = field(default_factory=dict)


def configure_store(store: Store, options: Options) -> None:
    """Let a store have the options that it takes at any time."""
    store.max_memory_policy = options.max_mem_policy
    store.max_memory_samples = options.maxmemory_samples
    store.lfu_log_factor = options.lfu_log_factor
    store.lfu_decay_time = options.lfu_decay_time
    store.max_memory = options.max_mem_bytes


def ceiling_of(store: Store) -> dict[str, Any]:
    """The same options as a store has them."""
    return {
        "max_mem_policy": store.max_memory_policy,
        "maxmemory_samples": store.max_memory_samples,
        "lfu_log_factor": store.lfu_log_factor,
        "lfu_decay_time": store.lfu_decay_time,
        "max_mem_bytes": store.max_memory,
    }


class Context(ABC):
    """A store with options. `parts` names what may be changed by CONFIG SET: see config.Row."""

    parts: frozenset[str] = frozenset()

    def __init__(self, store: Store, options: Options, records: Records | None = None) -> None:
        self.store = store
        self.options = options
        self.given = replace(options)  # as they were at the start
        self.changed: set[str] = set()  # options that CONFIG SET has changed
        self.addresses: dict[str, Address] = {}  # where clients are served, by protocol: "resp", "native"
        self.records = records or Records()  # of the calls that this context's connections make
        self.blocked: dict[int, Blocked] = {}  # by the client's number
        self.persistence: Persistence | None = None  # what keeps the store on disk
        self.run_id = os.urandom(20).hex()
        self.started = time.time()
        self.startup_memory = self.peak_memory = store.used_memory
        self._reset_at: Counter[str] = Counter()

    @property
    def is_cluster(self) -> bool:
        """Whether it answers as a cluster of one node."""
        return self.options.cluster_mode == "emulated"

    @property
    def uptime(self) -> float:
        """Seconds since the start."""
        return time.time() - self.started

    def totals(self) -> Mapping[str, int]:
        """Counts of TOTALS since the start."""
        return {}

    def gauges(self) -> Counter[str]:
        """Present values: clients that are connected, their longest_input and longest_output waiting, buffer_bytes,
        how many are held back by a pause.
        """
        return Counter()

    def rates(self) -> Mapping[str, float]:
        """How fast totals have grown lately, a second."""
        return {}

    def counters(self) -> Counter[str]:
        """`totals` since the last reset."""
        counters = Counter(self.totals())
        counters.subtract(self._reset_at)
        return counters

    def reset_counters(self, row: int = -1) -> None:
        """Count from here, the store's counters and the records too. row: of the command that asks for it."""
        self.records.reset(row)
        self._reset_at = Counter(self.totals())
        self.store.reset_stats()

    def note_memory(self) -> int:
        """The memory that is used now; remembers the peak."""
        used = self.store.used_memory
        self.peak_memory = max(self.peak_memory, used)
        return used

    def lasting_options(self) -> dict[str, Any]:
        """The options that another start should have: as given, and as CONFIG SET has changed them since. What is
        automatic stays so.
        """
        return vars(self.given) | {name: getattr(self.options, name) for name in self.changed}

    def configure(self, values: Mapping[str, Any]) -> None:
        """Change options, by name: all, or none and a ValueError with Redis's text."""
        before = {name: getattr(self.options, name) for name in values}
        parts = {BY_NAME[name].row.part for name in values}
        try:
            self._assign(values, parts)
        except ValueError:
            self._assign(before, parts)
            raise
        self.changed |= values.keys()

    def _assign(self, values: Mapping[str, Any], parts: set[str]) -> None:
        for name, value in values.items():
            setattr(self.options, name, value)
        for part in sorted(parts):
            self.apply(part)

    def apply(self, part: str) -> None:
        """Let a part of the whole take the options as they are now."""
        if part == "store":
            configure_store(self.store, self.options)
        elif part == "records":
            self.records.configure(
                slow_us=self.options.slowlog_log_slower_than,
                slow_max=min(self.options.slowlog_max_len, SLOWLOG_MAX),
                monitor_ms=min(self.options.latency_monitor_threshold, MONITOR_MAX),
                tracking=self.options.latency_tracking,
            )

    @abstractmethod
    async def sleep(self, seconds: float) -> None:
        """Wait."""

    @abstractmethod
    async def work(self, function: Callable[[], Result]) -> Result:
        """Wait for a function that takes its time."""

    @abstractmethod
    def save_later(self) -> None:
        """Begin to write a snapshot, and do not wait for it."""

    @abstractmethod
    async def clients(self, wanted: ClientFilter, *, kill: bool = False) -> ClientReport:
        """The clients that pass a filter; they are disconnected with `kill`."""

    @abstractmethod
    def pause(self, milliseconds: int, *, everything: bool) -> None:
        """Hold back the commands of all clients, or those that write."""

    @abstractmethod
    def unpause(self) -> None:
        """End a pause."""

    @abstractmethod
    def shut_down(self, *, now: bool) -> None:
        """Begin to stop; without `now` connections have --shutdown-timeout to finish."""


class Embedded(Context):
    """An engine in somebody's program: there are no clients, and only the program can end it. Its records are of what
    the program has commands do.
    """

    parts = frozenset({"store", "records"})

    def __init__(self, store: Store, records: Records | None = None, keeper: Keeper | None = None) -> None:
        options = Options(
            shards=store.shard_count,
            proto_max_bulk_len=store.max_value,
            **ceiling_of(store),
            shutdown_timeout=timedelta(0),
        )
        super().__init__(store, options if keeper is None else keeper.told(options), records)
        self._keeper = keeper
        if keeper is not None:
            self.persistence = keeper.persistence
            self.parts |= {"durability"}
        self.apply("records")

    def apply(self, part: str) -> None:
        """See Context."""
        super().apply(part)
        if part == "durability" and self._keeper is not None:
            self._keeper.take(self.options)

    def totals(self) -> Mapping[str, int]:
        """See Context."""
        tally = self.records.tally()
        return {"commands": sum(row[0] for row in tally["rows"].values()), "errors": sum(tally["words"].values())}

    async def sleep(self, seconds: float) -> None:
        """Blocks the calling thread, as any call of an engine may."""
        time.sleep(seconds)  # noqa: ASYNC251

    async def work(self, function: Callable[[], Result]) -> Result:
        """Works in the calling thread."""
        return function()

    def save_later(self) -> None:
        """Writes it in a thread of its own, which a program that ends does not wait for."""
        assert self._keeper is not None
        self._keeper.save_later()

    async def clients(self, wanted: ClientFilter, *, kill: bool = False) -> ClientReport:
        """Nobody."""
        del wanted, kill
        return ClientReport()

    def pause(self, milliseconds: int, *, everything: bool) -> None:
        """Holds nobody back: there is only the program."""
        del milliseconds, everything

    def unpause(self) -> None:
        """Nobody is held back."""

    def shut_down(self, *, now: bool) -> None:
        """Refuses."""
        del now
        raise ResponseError("ERR an embedded engine is closed by its program, not by SHUTDOWN")
