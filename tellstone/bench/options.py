"""The options of `tellstone bench`: one table, of which flags, messages and the help are made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import timedelta
from typing import Annotated, Any, get_args, get_type_hints

from tellstone.cli.arguments import flag_text, value_of
from tellstone.config import NATIVE_ADDRESS, RESP_ADDRESS, VALUE_MAX
from tellstone.errors import OptionError
from tellstone.units import (
    MILLISECOND,
    Address,
    Choice,
    Duration,
    Endpoint,
    Flag,
    Kind,
    Path,
    Size,
    Whole,
    plain_number,
)

KEYS_MAX = 2**32 - 1
BATCH_MAX = 1024**3  # bytes of the requests that a thread sends at once
REQUESTS = 100_000  # where nothing says when to end


@dataclass(frozen=True)
class Number(Kind[float]):
    """A number within bounds, with or without a fraction."""

    low: float
    high: float
    metavar = "NUMBER"

    @property
    def allowed(self) -> str:
        """See Kind."""
        return f"a number from {plain_number(self.low)} to {plain_number(self.high)}"

    def parse(self, text: str) -> float:
        """Digits, and a point."""
        if not re.fullmatch(r"[0-9]+\.?[0-9]*|\.[0-9]+", text, re.ASCII) or not self.low <= float(text) <= self.high:
            raise ValueError(text)
        return float(text)

    def show(self, value: float) -> str:
        """See Kind."""
        return plain_number(value)


@dataclass(frozen=True)
class Credentials(Kind[tuple[str, str]]):
    """A user's name, which may be missing, and a password."""

    metavar = "[USER:]PASSWORD"

    @property
    def allowed(self) -> str:
        """See Kind."""
        return "password or user:password"

    def parse(self, text: str) -> tuple[str, str]:
        """The name ends at the first colon."""
        user, colon, password = text.partition(":")
        return (user, password) if colon else ("", user)


@dataclass(frozen=True)
class Row:
    """What the table says of an option, beside its name, type and default."""

    kind: Kind[Any]
    help: str
    short: str = ""  # a second flag
    default: str = ""  # what is said of it in the help, if not the value


@dataclass
class Options:
    """What a load is to be."""

    addr: Annotated[
        Address | None,
        Row(Endpoint(), "Address of the server", default=f"{RESP_ADDRESS}, native: {NATIVE_ADDRESS}"),
    ] = None
    protocol: Annotated[str, Row(Choice(("resp", "native")), "Protocol to speak: resp or native")] = "resp"
    auth: Annotated[tuple[str, str] | None, Row(Credentials(), "Log in on every connection", default="no log-in")] = (
        None
    )
    tls: Annotated[bool, Row(Flag(), "Speak TLS; the load is then made in Python, on one thread, and slower")] = False
    cacert: Annotated[str, Row(Path(), "Certificates to trust", default="the system's")] = ""
    insecure: Annotated[bool, Row(Flag(), "Trust any certificate")] = False

    connections: Annotated[int, Row(Whole(1, 65536), "Connections at the same time", short="-c")] = 50
    threads: Annotated[int, Row(Whole(1, 128), "Threads that share the connections")] = 1
    pipeline: Annotated[int, Row(Whole(1, 1_000_000), "Requests sent before their replies are awaited", short="-P")] = 1
    rate: Annotated[
        float,
        Row(
            Number(0, 1e9),
            "Requests a second; a latency counts from when its request was due",
            default="0: no rate",
        ),
    ] = 0.0
    requests: Annotated[
        int | None,
        Row(
            Whole(1, 2**63 - 1),
            "Requests to send",
            short="-n",
            default=f"{REQUESTS} without --duration",
        ),
    ] = None
    duration: Annotated[
        timedelta | None,
        Row(Duration(MILLISECOND, timedelta(days=1)), "Time to send them for", default="until all are sent"),
    ] = None

    keyspace: Annotated[int, Row(Whole(1, KEYS_MAX), "Keys: key:000000000000 and up")] = 100_000
    skew: Annotated[
        float, Row(Number(0, 10), "Skew of Zipf's law, by which low numbers come more often", default="0: all alike")
    ] = 0.0
    read_ratio: Annotated[float, Row(Number(0, 1), "Share of reads, the others write")] = 0.5
    value_size: Annotated[int, Row(Size(1, VALUE_MAX), "Bytes of a value", short="-d")] = 3
    load: Annotated[
        bool | None, Row(Flag(), "First write every key once", default="where there are reads; --no-load: do not")
    ] = None
    verify: Annotated[bool, Row(Flag(), "Compare every value read with what its key must hold")] = False

    json: Annotated[bool, Row(Flag(), "Print one JSON object")] = False

    @property
    def address(self) -> Address:
        """Where the server is. An empty host is this machine."""
        return self.addr or (RESP_ADDRESS if self.protocol == "resp" else NATIVE_ADDRESS)

    @property
    def limit(self) -> int | None:
        """How many requests there are; None: as many as the time allows."""
        return REQUESTS if self.requests is None and self.duration is None else self.requests

    @property
    def loads(self) -> bool:
        """Whether every key is written first."""
        return self.read_ratio > 0 if self.load is None else self.load


@dataclass(frozen=True)
class Option:
    """A row of the table with its field's name and default."""

    name: str
    default: Any
    row: Row

    @property
    def flag(self) -> str:
        """The long flag."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def flags(self) -> list[str]:
        """All its flags, the short one first."""
        return [self.row.short, self.flag] if self.row.short else [self.flag]

    @property
    def shown_default(self) -> str:
        """The default as the help gives it."""
        return self.row.default or self.row.kind.show(self.default)


def table() -> Iterator[Option]:
    """The rows, made from the fields of Options."""
    hints = get_type_hints(Options, include_extras=True)
    for item in fields(Options):
        assert item.default is not MISSING
        yield Option(item.name, item.default, get_args(hints[item.name])[1])


OPTIONS = tuple(table())
BY_FLAG = {flag: option for option in OPTIONS for flag in option.flags}
KINDS = {flag: option.row.kind for flag, option in BY_FLAG.items()}


def parse(words: Sequence[str]) -> Options:
    """Read the words behind `bench`. Raises OptionError."""
    options = Options()
    rest = iter(words)
    for word in rest:
        if word == "--no-load":
            options.load = False
        elif word.startswith("-"):
            flag, text = flag_text(word, rest, KINDS)
            setattr(options, BY_FLAG[flag].name, value_of(KINDS[flag], flag, text))
        else:
            raise OptionError(f"unexpected argument {word!r}")
    check(options)
    return options


def check(options: Options) -> None:
    """What options allow only together."""
    if options.duration == timedelta(0):
        raise OptionError("--duration: '0' is not a time to measure in")
    if options.threads > options.connections:
        raise OptionError(f"--threads: {options.threads} is more than there are connections, {options.connections}")
    if options.pipeline * (options.value_size + 64) > BATCH_MAX:
        raise OptionError(f"--pipeline: {options.pipeline} requests of this --value-size are more than 1GiB")
    if (options.cacert or options.insecure) and not options.tls:
        raise OptionError(f"{'--cacert' if options.cacert else '--insecure'} needs --tls")
    if options.tls and options.threads > 1:
        raise OptionError("--threads: the load of --tls has one thread")


HEAD = """\
Put a load on a server and measure it.

Usage: tellstone bench [options]

"""
FOOT = """\
  -h, --help                   Print this text and exit

In brackets: the default. Sizes are written as 64KiB, 16MiB or 1GiB, durations as 500ms, 10s or 1h30m.

Ctrl-C ends the load and prints what has been measured so far. Exit status: 0; 1 if the server cannot be reached, or if
a reply was an error, wrong, or missing; 2 if the command line cannot be understood; 130 after Ctrl-C.
"""


def usage() -> str:
    """The text of `tellstone bench --help`."""
    lines = []
    for option in OPTIONS:
        flags = f"{', '.join(option.flags)} {option.row.kind.metavar}"
        lines.append(f"  {flags:<28} {option.row.help} [{option.shown_default}]\n")
    return HEAD + "".join(lines) + FOOT


def given(options: Options) -> dict[str, Any]:
    """The options as plain values, for JSON; the password is left out."""
    plain: dict[str, Any] = {option.name: getattr(options, option.name) for option in OPTIONS}
    plain |= {"addr": str(options.address), "requests": options.limit, "load": options.loads}
    plain["duration"] = options.duration / timedelta(seconds=1) if options.duration else None
    plain["auth"] = options.auth is not None
    del plain["json"]
    return plain
