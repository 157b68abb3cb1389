"""The option table. An option is a field of Options; everything else is made from that: flags, variables, `--help`,
the README's table, the names of the configuration file, and what CONFIG GET and SET know.

A field's name is the flag (`max_mem_bytes` is `--max-mem-bytes`), the variable (TSD_MAX_MEM_BYTES, unless the row says
otherwise) and the name in CONFIG; Redis's names for the same thing are aliases there. An option is added here when it
works, never before.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import timedelta
from typing import Annotated, Any, get_args, get_type_hints

from tellstone.units import (
    INT64_MAX,
    MILLISECOND,
    SECOND,
    SECONDS_MAX,
    Address,
    Choice,
    Duration,
    Endpoint,
    Flag,
    Folder,
    Kind,
    OutputBuffers,
    OutputLimit,
    OutputLimits,
    Path,
    Percentiles,
    SavePoints,
    Size,
    Whole,
)

INT32_MAX = 2**31 - 1
VALUE_MAX = 512 * 1024**2  # bytes of the longest string
DATABASES = 16
# In Redis's order, ours behind them.
POLICIES = (
    *("volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"),
    *("allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction", "allkeys-s3fifo"),
)
BACKLOG = 511
DRIVER = "native" if hasattr(select, "epoll") or hasattr(select, "kqueue") else "asyncio"
NATIVE_ADDRESS = Address("127.0.0.1", 9988)
RESP_ADDRESS = Address("127.0.0.1", 6379)
# Redis lets a normal client's unread replies grow without end; here a client that never reads costs a bounded amount.
OUTPUT_LIMITS = (
    OutputLimit(1024**3, 256 * 1024**2, 60),
    OutputLimit(256 * 1024**2, 64 * 1024**2, 60),
    OutputLimit(32 * 1024**2, 8 * 1024**2, 60),
)


@dataclass(frozen=True)
class Row:
    """What the table says of an option, beside its name, type and default."""

    kind: Kind[Any]
    group: str
    help: str
    zero: str = ""  # what a zero means
    env: str = ""  # the variable, if it is not named after the field
    config_only: bool = False  # no flag and no variable
    aliases: tuple[str, ...] = ()  # in CONFIG
    part: str = ""  # who takes a new value while the server runs, see server.Server.configure; empty: nobody


@dataclass
class Options:
    """What a server runs with."""

    addr: Annotated[
        Address, Row(Endpoint(), "Listening", "Address of the native protocol: `host:port` or `unix:/path`")
    ] = NATIVE_ADDRESS
    enable_resp: Annotated[bool, Row(Flag(), "Listening", "Serve Redis clients (RESP2 and RESP3)")] = False
    resp_addr: Annotated[
        Address, Row(Endpoint(), "Listening", "Address for Redis clients: `host:port` or `unix:/path`")
    ] = RESP_ADDRESS

    max_clients: Annotated[
        int,
        Row(Whole(1, 2**32 - 1), "Clients", "Connections at the same time", aliases=("maxclients",), part="reactors"),
    ] = 10_000
    timeout: Annotated[
        timedelta,
        Row(
            Duration(SECOND, SECONDS_MAX * SECOND),
            "Clients",
            "Close connections that have been idle for so long",
            zero="never",
            part="reactors",
        ),
    ] = timedelta(0)
    tcp_keepalive: Annotated[
        timedelta,
        Row(
            Duration(SECOND, 32767 * SECOND),
            "Clients",
            "Probe TCP connections that have been quiet for so long",
            zero="never",
            part="reactors",
        ),
    ] = timedelta(minutes=5)
    client_output_buffer_limit: Annotated[
        OutputLimits,
        Row(
            OutputBuffers(),
            "Clients",
            "Unread replies that cost a client its connection",
            config_only=True,
            part="reactors",
        ),
    ] = OUTPUT_LIMITS

    max_msg_size: Annotated[
        int,
        Row(
            Size(1024, VALUE_MAX),
            "Memory",
            "Longest argument of a request",
            part="reactors",
        ),
    ] = 16 * 1024**2
    proto_max_bulk_len: Annotated[
        int,
        Row(
            Size(1024, VALUE_MAX),
            "Memory",
            "Longest string, and longest argument of a request",
            config_only=True,
            part="reactors",
        ),
    ] = VALUE_MAX
    max_mem_bytes: Annotated[
        int,
        Row(
            Size(0, INT64_MAX),
            "Memory",
            "Memory ceiling; writes are refused above it, or evict",
            zero="unlimited",
            aliases=("maxmemory",),
            part="store",
        ),
    ] = 0
    max_mem_policy: Annotated[
        str,
        Row(
            Choice(POLICIES),
            "Memory",
            "At the ceiling: allkeys-s3fifo for caches, or as in Redis",
            aliases=("maxmemory-policy",),
            part="store",
        ),
    ] = "noeviction"
    maxmemory_samples: Annotated[
        int,
        Row(
            Whole(1, INT32_MAX),
            "Memory",
            "Keys that lru and lfu look at for each that they evict; beyond 64 as 64",
            config_only=True,
            part="store",
        ),
    ] = 5
    lfu_log_factor: Annotated[
        int,
        Row(
            Whole(0, INT32_MAX),
            "Memory",
            "How much more it takes to raise a counter of lfu further",
            config_only=True,
            part="store",
        ),
    ] = 10
    lfu_decay_time: Annotated[
        int,
        Row(
            Whole(0, INT32_MAX),
            "Memory",
            "Minutes that take 1 from a counter of lfu; 0: none do",
            config_only=True,
            part="store",
        ),
    ] = 1
    evict_interval: Annotated[
        timedelta,
        Row(
            Duration(MILLISECOND, timedelta(hours=1)),
            "Memory",
            "Tick of the timing wheels that free expired keys",
            zero="freed only when met",
        ),
    ] = timedelta(seconds=1)
    evict_slots: Annotated[int, Row(Whole(8, 1024), "Memory", "Slots of a level of a timing wheel")] = 256

    enable_persistence: Annotated[bool, Row(Flag(), "Durability", "Keep the data on disk")] = False
    persistence_dir: Annotated[str, Row(Folder(), "Durability", "Directory of the data", zero="the platform's")] = ""
    wal_sync: Annotated[
        str,
        Row(
            Choice(("always", "everysec", "no")),
            "Durability",
            "When the log is synced: always (before a reply), everysec, or no",
            aliases=("appendfsync",),
            part="durability",
        ),
    ] = "always"
    snapshot_interval: Annotated[
        timedelta,
        Row(
            Duration(SECOND, SECONDS_MAX * SECOND),
            "Durability",
            "Time from one snapshot to the next",
            zero="by size only",
            part="durability",
        ),
    ] = timedelta(0)
    snapshot_bytes: Annotated[
        int,
        Row(
            Size(0, INT64_MAX),
            "Durability",
            "Bytes of log after which a snapshot is taken",
            zero="by time only",
            part="durability",
        ),
    ] = 64 * 1024**2
    snapshot_keep: Annotated[
        int,
        Row(
            Whole(1, 10_000),
            "Durability",
            "Snapshots to keep, with all logs since the oldest",
            part="durability",
        ),
    ] = 1
    save: Annotated[
        tuple[tuple[int, int], ...],
        Row(
            SavePoints(),
            "Durability",
            "Seconds and changes that call for a snapshot: `3600 1 300 100`",
            zero="never",
            part="durability",
        ),
    ] = ()

    shards: Annotated[
        int,
        Row(Whole(0, 1024), "Threads", "Independent parts of the keyspace", zero="automatic", env="TSD_NUM_SHARDS"),
    ] = 0
    io_threads: Annotated[int, Row(Whole(0, 128), "Threads", "Threads that serve connections", zero="automatic")] = 0
    driver: Annotated[
        str,
        Row(
            Choice(("native", "asyncio")),
            "Threads",
            "What they are: native threads, or asyncio event loops",
        ),
    ] = DRIVER

    slowlog_log_slower_than: Annotated[
        int,
        Row(
            Whole(-1, INT64_MAX),
            "Observing",
            "Microseconds from which a call is slow; -1: none is",
            part="records",
        ),
    ] = 10_000
    slowlog_max_len: Annotated[
        int, Row(Whole(0, INT64_MAX), "Observing", "Slow calls that are kept for SLOWLOG", part="records")
    ] = 128
    latency_monitor_threshold: Annotated[
        int,
        Row(
            Whole(0, INT64_MAX),
            "Observing",
            "Milliseconds that make a call a latency event",
            zero="off",
            part="records",
        ),
    ] = 0
    latency_tracking: Annotated[
        bool,
        Row(
            Flag(),
            "Observing",
            "Record how the durations of commands are distributed",
            config_only=True,
            part="records",
        ),
    ] = True
    latency_tracking_info_percentiles: Annotated[
        tuple[float, ...],
        Row(
            Percentiles(),
            "Observing",
            "Percentiles of durations that INFO shows",
            config_only=True,
            part="records",
        ),
    ] = (50.0, 99.0, 99.9)

    config: Annotated[str, Row(Path(), "Process", "File of options: YAML, `name: value`")] = ""
    cluster_mode: Annotated[
        str,
        Row(
            Choice(("off", "emulated")),
            "Process",
            "Answer as a cluster of one node: emulated, or off",
        ),
    ] = "off"
    enable_debug_command: Annotated[
        str,
        Row(
            Choice(("no", "yes", "local")),
            "Process",
            "Allow DEBUG: no, yes, or local (from this machine)",
        ),
    ] = "no"
    shutdown_timeout: Annotated[
        timedelta,
        Row(
            Duration(MILLISECOND, timedelta(hours=24)),
            "Process",
            "Longest wait for connections to finish on SIGINT and SIGTERM",
            part="server",
        ),
    ] = timedelta(seconds=10)
    log_level: Annotated[
        str,
        Row(
            Choice(("debug", "info", "warning", "error")),
            "Process",
            "Least severity to log: debug, info, warning or error",
            part="log",
        ),
    ] = "info"
    log_format: Annotated[str, Row(Choice(("text", "json")), "Process", "Form of the log lines: text or json")] = "text"


@dataclass(frozen=True)
class Option:
    """A row of the table with its field's name and default."""

    name: str
    default: Any
    row: Row

    @property
    def dashed(self) -> str:
        """The name as flags and CONFIG have it."""
        return self.name.replace("_", "-")

    @property
    def flag(self) -> str:
        """The flag; empty for an option that has none."""
        return "" if self.row.config_only else f"--{self.dashed}"

    @property
    def env(self) -> str:
        """The variable; empty for an option that has none."""
        return "" if self.row.config_only else self.row.env or f"TSD_{self.name.upper()}"

    def from_text(self, text: str) -> Any:
        """A value as a flag, a variable or the configuration file has it. Raises ValueError."""
        if self.row.config_only:
            return self.row.kind.config_parse(text, self.default)
        return self.row.kind.parse(text)

    def to_text(self, value: Any) -> str:
        """A value as from_text reads it."""
        return self.row.kind.config_show(value) if self.row.config_only else self.row.kind.show(value)

    @property
    def shown_default(self) -> str:
        """The default as the help and the README give it."""
        shown = self.row.kind.show(self.default)
        return f"{shown} ({self.row.zero})".strip() if self.row.zero and not self.default else shown


def options() -> Iterator[Option]:
    """The table, made from the fields of Options."""
    hints = get_type_hints(Options, include_extras=True)
    for item in fields(Options):
        assert item.default is not MISSING
        yield Option(item.name, item.default, get_args(hints[item.name])[1])


OPTIONS = tuple(options())
BY_NAME = {option.name: option for option in OPTIONS}
BY_FLAG = {option.flag: option for option in OPTIONS if option.flag}
BY_ENV = {option.env: option for option in OPTIONS if option.env}
BY_CONFIG = {name: option for option in OPTIONS for name in (option.dashed, *option.row.aliases)}


@dataclass(frozen=True)
class Fact:
    """A name of Redis's configuration that clients read and that cannot be changed here.

    Redis lets most of them be changed (`lenient`): setting such a one to what it is succeeds.
    """

    name: str
    value: str | Callable[[Options], str]
    lenient: bool = True


def resp_address(options: Options) -> Address:
    """Where Redis clients are served; no host and port 0, as Redis has it, where they are not."""
    return options.resp_addr if options.enable_resp else Address()


FACTS = {
    fact.name: fact
    for fact in (
        Fact("appendonly", lambda options: "yes" if options.enable_persistence else "no"),
        Fact("bind", lambda options: resp_address(options).host),
        Fact("cluster-enabled", lambda options: "yes" if options.cluster_mode == "emulated" else "no", lenient=False),
        Fact("daemonize", "no", lenient=False),
        Fact("databases", str(DATABASES), lenient=False),
        Fact("dir", lambda options: options.persistence_dir or os.getcwd()),
        Fact("enable-module-command", "no", lenient=False),
        Fact("logfile", "", lenient=False),
        Fact("notify-keyspace-events", ""),
        Fact("port", lambda options: str(resp_address(options).port)),
        Fact("protected-mode", "no"),
        Fact("replicaof", "", lenient=False),
        Fact("requirepass", ""),
        Fact("tcp-backlog", str(BACKLOG), lenient=False),
        Fact("tls-port", "0"),
        Fact("unixsocket", lambda options: resp_address(options).path, lenient=False),
    )
}


def config_value(entry: Option | Fact, options: Options) -> str:
    """The value that CONFIG GET answers."""
    if isinstance(entry, Option):
        return entry.row.kind.config_show(getattr(options, entry.name))
    return entry.value if isinstance(entry.value, str) else entry.value(options)


def from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of ours that are set, by variable; an empty one counts as not set."""
    return {name: environ[name] for name in BY_ENV if environ.get(name)}


def markdown_table() -> str:
    """The README's table of options."""
    rows = [
        f"| `{option.flag}` | `{option.env}` | {option.shown_default} | {option.row.help} |"
        for option in OPTIONS
        if option.flag
    ]
    return "\n".join(["| Flag | Variable | Default | Meaning |", "|---|---|---|---|", *rows]) + "\n"


if __name__ == "__main__":
    print(markdown_table(), end="")
