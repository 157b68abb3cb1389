"""Which moments a directory can bring back: what its snapshots and logs cover (docs/format.md, A moment).

A base is what a state is made of: a snapshot, or the empty store that the first log began with. The log behind it leads
to every later moment, as far as it is whole. Bases follow one another, so what is covered is a list of spans: a log
that is whole up to the next base joins theirs, and one that is not leaves a gap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from tellstone._core.store.kept import kept_beginning
from tellstone._core.store.recovery import RecoveryJob
from tellstone.durability.moments import show_moment
from tellstone.durability.snapshots import snapshots_in

Watch = Callable[[RecoveryJob], None]


@dataclass(frozen=True)
class Base:
    """A snapshot, or number 0: an empty store."""

    generation: int
    number: int
    shards: int
    from_ms: int  # the first moment that can be made of it
    seqs: tuple[int, ...]  # by shard, the number behind which its log goes on


@dataclass(frozen=True)
class Span:
    """Every moment from the first to the last, and with `latest` every later one: nothing has changed since."""

    first_ms: int
    last_ms: int
    latest: bool

    def __contains__(self, unix_ms: int) -> bool:
        return self.first_ms <= unix_ms and (self.latest or unix_ms <= self.last_ms)

    def __str__(self) -> str:
        end = ", the last change" * self.latest
        return f"{show_moment(self.first_ms)} to {show_moment(self.last_ms)}{end}"


def bases_in(directory: Path) -> list[Base]:
    """All that can be read, oldest first. Raises OSError."""
    beginning = kept_beginning(directory)
    found = [
        Base(one.generation, one.number, one.shards, one.whole_ms, tuple(one.seqs)) for one in snapshots_in(directory)
    ]
    if beginning is not None:
        generation, shards, begun_ms = beginning
        found.insert(0, Base(generation, 0, shards, begun_ms, (0,) * shards))
    return found


def span_of(directory: Path, base: Base, following: Base | None, watch: Watch | None = None) -> Span:
    """What a base and its log cover, up to the following base. Raises StartError."""
    until = None if following is None else following.from_ms
    job = RecoveryJob(None, directory, mode="trace", base=(base.generation, base.number), until_ms=until)
    if watch is not None:
        watch(job)
    job.run()
    needed = following.seqs if following is not None and following.generation == base.generation else base.seqs
    ends = [
        max(time_ms, base.from_ms)
        for (seq, time_ms, broken), least in zip(job.traced, needed, strict=True)
        if broken or seq < least
    ]
    if ends:
        return Span(base.from_ms, min(ends), latest=False)
    if until is not None:
        return Span(base.from_ms, max(until, base.from_ms), latest=False)
    return Span(base.from_ms, max(job.time_ms, base.from_ms), latest=True)


def spans_in(directory: Path, watch: Watch | None = None) -> list[Span]:
    """All that is covered, oldest first. Every log is read. Raises OSError, StartError."""
    found: list[Span] = []
    bases = bases_in(directory)
    for base, following in zip_longest(bases, bases[1:]):
        span = span_of(directory, base, following, watch)
        if found and found[-1].last_ms >= span.first_ms:
            found[-1] = replace(span, first_ms=min(found[-1].first_ms, span.first_ms))
        else:
            found.append(span)
    return found
