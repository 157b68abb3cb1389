"""What a load has measured, as text for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tellstone._core.load.histogram import Histogram
from tellstone._core.load.outcome import Tally
from tellstone._core.load.requests import Workload
from tellstone.bench.options import Options, given
from tellstone.units import plain_number
from tellstone.version import tellstone_version

PERCENTILES = (50.0, 90.0, 99.0, 99.9)
BEHIND = 0.95  # of a rate: less is worth a line


def milliseconds(ns: float) -> str:
    """A duration to the microsecond."""
    return f"{ns / 1e6:.3f}"


@dataclass
class Report:
    """A load that has ended."""

    options: Options
    workload: Workload
    tally: Tally
    seconds: float
    cpu_seconds: float  # of this process while it measured
    load_seconds: float | None
    interrupted: bool

    @property
    def throughput(self) -> float:
        """Replies a second."""
        return self.tally.answered / self.seconds if self.seconds > 0 else 0.0

    @property
    def missing(self) -> int:
        """Keys that were written and are not there any more, if that was to be found out."""
        return self.tally.misses if self.options.verify and self.load_seconds is not None else 0

    @property
    def good(self) -> bool:
        """Whether every request was answered, and as it should be."""
        return not any(self.faults())

    def histograms(self) -> dict[str, Histogram]:
        """Latencies by what was asked, those that there are, and of all together."""
        found = {"reads": self.tally.reads, "writes": self.tally.writes}
        together = Histogram()
        for histogram in found.values():
            together.merge(histogram)
        return {name: one for name, one in found.items() if one.count} | {"all": together}

    def faults(self) -> Iterator[str]:
        """A line for everything that went wrong."""
        tally = self.tally
        if tally.first_error is not None:
            yield f"{tally.errors:,} replies were errors, the first one: {shown(tally.first_error)}"
        if tally.first_wrong is not None:
            number, value = tally.first_wrong
            key = self.workload.key(number).decode()
            yield f"{tally.wrong:,} values were wrong, the first one: {key} held {shown(value)!r}"
        if self.missing:
            yield f"{self.missing:,} reads found no value where one had been written"
        if tally.closed:
            yield f"{tally.closed:,} of {self.options.connections:,} connections were closed by the server"
        if tally.garbled:
            yield f"{tally.garbled:,} connections brought something else than replies to what was asked"
        if tally.unanswered:
            yield f"{tally.unanswered:,} requests were not answered"

    def text(self) -> str:
        """For people."""
        lines = [*self.heading(), "", *self.rows(), "", *self.latencies()]
        if self.options.rate and self.throughput < BEHIND * self.options.rate:
            lines += ["", f"The server did not keep up with {plain_number(self.options.rate)} requests/s."]
        faults = list(self.faults())
        return "\n".join([*lines, *([""] if faults else []), *faults]) + "\n"

    def heading(self) -> list[str]:
        """What was done."""
        o = self.options
        keys = f"{o.keyspace:,} keys" + (f" by Zipf's law, skew {plain_number(o.skew)}" if o.skew else "")
        rate = f", {plain_number(o.rate)} requests/s" if o.rate else ""
        return [
            f"tellstone bench: {o.protocol} at {o.address}{' over TLS' if o.tls else ''}",
            f"{counted(o.connections, 'connection')}, {counted(o.threads, 'thread')}, pipeline {o.pipeline}{rate}",
            f"{keys}, {plain_number(100 * o.read_ratio)} % reads, values of {counted(o.value_size, 'byte')}",
        ]

    def rows(self) -> Iterator[str]:
        """What came of it."""
        tally = self.tally
        if self.load_seconds is not None:
            yield f"  {'written first':<15}{self.options.keyspace:,} keys in {self.load_seconds:.2f} s"
        ended = " (interrupted)" if self.interrupted else ""
        yield f"  {'requests':<15}{tally.answered:,} in {self.seconds:.2f} s{ended}"
        yield f"  {'throughput':<15}{self.throughput:,.0f} requests/s"
        if tally.hits or tally.misses:
            share = 100 * tally.hits / (tally.hits + tally.misses)
            yield f"  {'found':<15}{tally.hits:,} of {tally.hits + tally.misses:,} reads, {share:.1f} %"
        if self.options.verify:
            yield f"  {'verified':<15}{tally.hits - tally.wrong:,} values are right, {tally.wrong:,} wrong"
        sent, received = (count / 1e6 / max(self.seconds, 1e-9) for count in (tally.bytes_out, tally.bytes_in))
        yield f"  {'traffic':<15}{sent:,.1f} MB/s sent, {received:,.1f} MB/s received"
        cost = 1e9 * self.cpu_seconds / tally.answered if tally.answered else 0
        yield f"  {'generator':<15}{cost:,.0f} ns CPU a request"

    def latencies(self) -> Iterator[str]:
        """The table."""
        names = [f"p{plain_number(percent)}" for percent in PERCENTILES]
        since = "since they were due" if self.options.rate else ""
        yield f"  {'latency, ms':<13}" + "".join(f"{name:>10}" for name in (*names, "max")) + f"   {since}".rstrip()
        for what, one in self.histograms().items():
            row = [*(one.percentile(percent) for percent in PERCENTILES), one.longest]
            yield f"  {what:<13}" + "".join(f"{milliseconds(ns):>10}" for ns in row)

    def json(self) -> str:
        """For programs: one object, durations in seconds and milliseconds as the names say."""
        tally = self.tally
        latency = {
            what: {
                "count": one.count,
                "mean": one.mean / 1e6,
                **{f"p{plain_number(percent)}": one.percentile(percent) / 1e6 for percent in PERCENTILES},
                "max": one.longest / 1e6,
            }
            for what, one in self.histograms().items()
        }
        wrong = tally.first_wrong
        fields: dict[str, Any] = {
            "version": tellstone_version(),
            "options": given(self.options),
            "load_seconds": self.load_seconds,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "sent": tally.sent,
            "requests": tally.answered,
            "throughput": self.throughput,
            "hits": tally.hits,
            "misses": tally.misses,
            "errors": tally.errors,
            "first_error": None if tally.first_error is None else shown(tally.first_error),
            "wrong": tally.wrong,
            "first_wrong": wrong and {"key": self.workload.key(wrong[0]).decode(), "value": shown(wrong[1])},
            "closed": tally.closed,
            "garbled": tally.garbled,
            "unanswered": tally.unanswered,
            "bytes_sent": tally.bytes_out,
            "bytes_received": tally.bytes_in,
            "cpu_seconds": self.cpu_seconds,
            "latency_ms": latency,
        }
        return json.dumps(fields, indent=2) + "\n"


def shown(text: bytes) -> str:
    """What a server sent, on one line."""
    return text.decode("utf-8", "backslashreplace").replace("\r", "\\r").replace("\n", "\\n")


def counted(number: int, what: str) -> str:
    """As in "1 thread", "2 threads"."""
    return f"{number:,} {what}{'s' * (number != 1)}"
