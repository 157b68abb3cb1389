"""What a request costs a server: CPU time, read from the system around a run of a generator.

CPU time of a request is the figure to compare by: it holds when the generator is the limit, and a busy machine hardly
touches it. A round measures every server once, one after the other, so that what the machine does meanwhile falls on
all of them alike; the medians of the rounds count.
"""

from __future__ import annotations

import os
import platform
import statistics
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.generators import Generator, Load, LoadError
from benchmarks.servers import Cpu, Kind, Server

LOOK_SECONDS = 0.005
KEY_BYTES = 160  # that a key costs any of the servers beside its value, at most


@dataclass(frozen=True)
class Cost:
    """Of one request: CPU time, and how much of it is in the server's own code. Of all: how many there are in a second,
    and how long a pipeline of them takes.
    """

    cpu_ns: float
    own_ns: float
    throughput: float
    p50_us: float
    p99_us: float

    @classmethod
    def median(cls, costs: Sequence[Cost]) -> Cost:
        """Field by field."""
        return cls(*(statistics.median(getattr(cost, item.name) for cost in costs) for item in fields(cls)))

    def as_dict(self) -> dict[str, float]:
        """For JSON."""
        return {name: round(value, 1) for name, value in asdict(self).items()}


def measure(generator: Generator, server: Server, load: Load, seconds: float) -> Cost:
    """A load for so many seconds."""
    watch = Watch(server, load.connections, generator.cores)
    outcome = generator.measure(server, load, seconds)
    cpu = watch.end()
    requests = outcome.requests + load.connections * generator.greets
    if not outcome.requests:
        raise LoadError(f"{server.kind.name} has answered nothing")
    return Cost(
        cpu_ns=cpu.total_ns / requests,
        own_ns=cpu.own_ns / requests,
        throughput=outcome.requests / outcome.seconds,
        p50_us=outcome.p50_us,
        p99_us=outcome.p99_us,
    )


class Watch:
    """What a server takes from when all its connections are made until the first of them is closed: making and closing
    thousands would show in what a request seems to cost.
    """

    def __init__(self, server: Server, connections: int, cores: Sequence[int]) -> None:
        self.server = server
        self.cores = cores
        self.all = server.open_files() + connections
        self.first = self.last = server.cpu()
        self.seen = False  # all of them at once
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self) -> None:
        """In a thread of its own, now and then, and not on the server's core."""
        os.sched_setaffinity(0, self.cores)
        while not self.ended.wait(LOOK_SECONDS):
            if self.server.open_files() >= self.all:
                self.last = self.server.cpu()
                if not self.seen:
                    self.first, self.seen = self.last, True

    def end(self) -> Cpu:
        """All of the run, should it have been too short to be seen."""
        self.ended.set()
        self.thread.join()
        return (self.last if self.seen else self.server.cpu()) - self.first


def generator_for(kind: Kind, generators: Iterable[Generator]) -> Generator | None:
    """The first that speaks to such a server."""
    return next((generator for generator in generators if kind.protocol in generator.protocols), None)


def rounds(
    servers: Sequence[Server], made_by: Mapping[str, Generator], load: Load, seconds: float, count: int
) -> dict[str, Any]:
    """A load on all servers in turn, `count` times in `seconds` for each: medians, every round, what failed and why."""
    found: dict[str, list[Cost]] = {}
    failed: dict[str, str] = {}
    for _ in range(count):
        for server in servers:
            name = server.kind.name
            try:
                cost = measure(made_by[name], server, load, seconds / count)
            except LoadError as failure:
                failed[name] = str(failure)
            else:
                found.setdefault(name, []).append(cost)
    return {
        "costs": {name: Cost.median(costs).as_dict() for name, costs in found.items()},
        "rounds": {name: [cost.as_dict() for cost in costs] for name, costs in found.items()},
        "failed": failed,
    }


def shown(title: str, results: Mapping[str, Any]) -> str:
    """Results of rounds as lines; behind the x, multiples of the first server's cost."""
    lines = [title]
    costs = results["costs"]
    for name, cost in costs.items():
        times = cost["cpu_ns"] / next(iter(costs.values()))["cpu_ns"]
        lines.append(
            f"  {name:12} {cost['cpu_ns']:9,.0f} ns CPU  x{times:5.2f}"
            f"  {cost['throughput'] / 1000:9,.1f} k/s  p50 {cost['p50_us']:7,.0f} us  p99 {cost['p99_us']:7,.0f} us"
        )
    return "\n".join([*lines, *(f"  {name:12} {why}" for name, why in results["failed"].items())])


def keys_within(gibibytes: float, value: int, servers: int, wanted: int) -> int:
    """As many keys as wanted, or as fit into the memory that servers may take together; 0: half of what is free."""
    memory = gibibytes * 2**30 or available_memory() / 2
    return max(1, min(wanted, int(memory / servers / (value + KEY_BYTES))))


def available_memory() -> int:
    """Bytes that processes may still use."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 1 << 30


def machine() -> dict[str, str | int]:
    """What this was measured on."""
    facts = Path("/proc/cpuinfo").read_text().splitlines()
    models = [fact.partition(":")[2].strip() for fact in facts if fact.startswith("model name")]
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "python": platform.python_version(),
    }
