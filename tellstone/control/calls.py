"""What INFO and LATENCY tell of calls: counts and times by command, percentiles, distributions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tellstone.control.commands import BY_NAME
from tellstone.control.context import Context

Durations = Sequence[tuple[float, int]]  # (microseconds, calls), from short to long

NAMES = {row["id"]: name for name, row in BY_NAME.items()}
# Redis's histogram: nanoseconds, a bucket for each power of two from 1024 on.
SHORTEST = 1024
BUCKETS = 30


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
