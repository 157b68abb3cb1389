"""A load from beginning to end: connect, write the keys, measure; with a line of progress where somebody watches."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, TextIO

from tellstone._core.load.exchange import Plan
from tellstone._core.load.outcome import Tally
from tellstone._core.load.requests import Workload
from tellstone.bench.connect import connections
from tellstone.bench.options import Options
from tellstone.bench.portable import PortableGenerator
from tellstone.bench.report import Report, milliseconds
from tellstone.errors import StartError

GRACE_S = 10.0  # when all is sent: how long to wait for the next reply
INTERRUPTED_S = 1.0  # and after Ctrl-C
REFRESH_S = 0.5
LOAD_PIPELINE = 64
LOAD_BYTES = 1 << 20  # that a connection sends at once while keys are written


class Driver(Protocol):
    """What carries out a plan."""

    @property
    def seconds(self) -> float:
        """From the start to the last reply."""

    def start(self) -> None:
        """Begin."""

    def join(self, timeout_s: float) -> bool:
        """Whether it has ended; waits for that."""

    def halt(self) -> None:
        """Send nothing more."""

    def kill(self) -> None:
        """End at once."""

    def tally(self) -> Tally:
        """What has been met with."""


def driver(options: Options, plan: Plan, sockets: Sequence[socket.socket]) -> Driver:
    """The core's threads, or what stands in for them."""
    if not options.tls:
        try:
            from tellstone._core.load.generator import Generator
        except ImportError:  # a system without epoll and kqueue
            pass
        else:
            return Generator(plan, [one.fileno() for one in sockets], options.threads, GRACE_S)
    return PortableGenerator(plan, sockets, GRACE_S)


@dataclass
class Progress:
    """One line that is written over and over, if the stream is a terminal."""

    stream: TextIO

    def show(self, text: str) -> None:
        """Write the line anew."""
        if self.stream.isatty():
            self.stream.write(f"\r{text}\x1b[K")
            self.stream.flush()

    def clear(self) -> None:
        """Take the line away."""
        self.show("")
        if self.stream.isatty():
            self.stream.write("\r")


def carry_out(running: Driver, progress: Progress, what: str) -> bool:
    """Run to the end, or to a first Ctrl-C; a second one does not wait for replies. Whether it was the end."""
    running.start()
    before, since = 0, 0.0
    try:
        while not running.join(REFRESH_S):
            tally, seconds = running.tally(), running.seconds
            rate = (tally.answered - before) / max(seconds - since, 1e-9)
            before, since = tally.answered, seconds
            progress.show(f"{what} {seconds:6.1f} s  {before:,} requests  {rate:,.0f}/s  {latencies(tally)}")
    except KeyboardInterrupt:
        running.halt()
        with suppress(KeyboardInterrupt):
            running.join(INTERRUPTED_S)
        running.kill()
        running.join(INTERRUPTED_S)
        return False
    finally:
        progress.clear()
    return True


def latencies(tally: Tally) -> str:
    """Two percentiles, and errors if there are any."""
    both = tally.reads
    both.merge(tally.writes)
    errors = f"  {tally.errors:,} errors" if tally.errors else ""
    return f"p50 {milliseconds(both.percentile(50))} ms  p99 {milliseconds(both.percentile(99))} ms{errors}"


def write_keys(options: Options, workload: Workload, sockets: Sequence[socket.socket], progress: Progress) -> float:
    """Write every key once; how long it took. Raises StartError if that fails."""
    batch = max(1, min(LOAD_PIPELINE, LOAD_BYTES // workload.longest))
    plan = Plan(workload, connections=len(sockets), pipeline=batch, in_turn=True)
    running = driver(options, plan, sockets)
    if not carry_out(running, progress, "writing keys"):
        raise KeyboardInterrupt
    tally = running.tally()
    if tally.errors:
        raise StartError(f"cannot write the keys: {(tally.first_error or b'').decode(errors='replace')}")
    if tally.answered < workload.keyspace:
        raise StartError(f"cannot write the keys: {tally.closed + tally.garbled} connections were lost")
    return running.seconds


def run(options: Options) -> Report:
    """Do it all. Raises StartError; KeyboardInterrupt if there is nothing to report yet."""
    progress = Progress(sys.stderr)
    workload = Workload(
        options.protocol,
        keyspace=options.keyspace,
        value_size=options.value_size,
        read_ratio=options.read_ratio,
        skew=options.skew,
    )
    with connections(options) as sockets:
        load_seconds = write_keys(options, workload, sockets, progress) if options.loads else None
        plan = Plan(
            workload,
            connections=options.connections,
            pipeline=options.pipeline,
            requests=options.limit,
            duration_s=None if options.duration is None else options.duration / timedelta(seconds=1),
            rate=options.rate,
            verify=options.verify,
        )
        running = driver(options, plan, sockets)
        cpu = time.process_time()
        finished = carry_out(running, progress, "")
        cpu = time.process_time() - cpu
    return Report(options, workload, running.tally(), running.seconds, cpu, load_seconds, interrupted=not finished)
