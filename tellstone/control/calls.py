"""Calls: what those that Python answers leave behind, and what INFO and LATENCY tell of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tellstone._core.session.records import Records
from tellstone.control.commands import BY_NAME
from tellstone.control.context import Call, Context
from tellstone.control.encode import ENCODING, ERRORS, NOTHING, ErrorReply, Reply

Durations = Sequence[tuple[float, int]]  # (microseconds, calls), from short to long

NAMES = {row["id"]: name for name, row in BY_NAME.items()}
# Redis's histogram: nanoseconds, a bucket for each power of two from 1024 on.
SHORTEST = 1024
BUCKETS = 30
SECRETS = (b"requirepass", b"masterauth", b"masteruser", b"tls-key-file-pass", b"tls-client-key-file-pass")


def shown_arguments(call: Call) -> tuple[bytes, ...]:
    """What the slow log may show of a call."""
    if call.name != "config|set":
        return call.args
    hidden = {at + 1 for at in range(2, len(call.args), 2) if call.args[at].lower() in SECRETS}
    return tuple(b"(redacted)" if at in hidden else argument for at, argument in enumerate(call.args))


def note_call(records: Records, call: Call, reply: Reply, seconds: float) -> None:
    """Add the time of a call, and its failure. Who waits for something to happen has taken no time, as in Redis."""
    row = BY_NAME[call.name]
    records.add_call(
        row["id"],
        0 if "blocking" in row["flags"] else seconds * 1e6,
        shown_arguments(call),
        addr=call.addr,
        name=call.client_name,
        fast="fast" in row["flags"],
        error=reply.encode(ENCODING, ERRORS) if isinstance(reply, ErrorReply) and reply is not NOTHING else None,
    )


@dataclass(frozen=True)
class CommandCalls:
    """A command's calls since the last reset."""

    name: str
    calls: int
    microseconds: float
    failed: int
    rejected: int
    durations: Durations


def commands_called(context: Context, asking: str = "") -> Iterator[CommandCalls]:
    """Commands that have been called or refused, in the order of the table. asking: the command that wants to know,
    whose present call has not ended yet.
    """
    for row, (calls, microseconds, failed, rejected, durations) in sorted(context.records.tally()["rows"].items()):
        name = NAMES[row]
        ended = calls - (asking == name and calls > 0)
        if ended or failed or rejected:
            yield CommandCalls(name, ended, microseconds, failed, rejected, durations)


def percentile(durations: Durations, percent: float) -> float:
    """The duration that so many percent of the calls do not exceed, in microseconds; 0 without calls."""
    total = sum(calls for _, calls in durations)
    wanted = max(percent / 100 * total, 1)
    seen = 0
    for microseconds, calls in durations:
        seen += calls
        if seen >= wanted:
            return microseconds
    return durations[-1][0] if durations else 0.0


def distribution(durations: Durations) -> dict[int, int]:
    """How many calls took at most so many microseconds, as LATENCY HISTOGRAM answers: buckets that add calls."""
    found: dict[int, int] = {}
    seen = counted = at = 0
    for power in range(BUCKETS):
        limit = SHORTEST << power
        while at < len(durations) and durations[at][0] * 1000 <= limit:
            seen += durations[at][1]
            at += 1
        if seen > counted:
            found[(limit + limit // 128 - 1) // 1000] = counted = seen
    return found
