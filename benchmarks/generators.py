"""Programs that put a load on a server: `tellstone bench`, and memtier_benchmark where it is installed.

Which of them is used makes no difference to what a request costs the server, as long as the server has enough to do;
it does to throughput, which is that of the slower of the two. memtier_benchmark is the one that speaks memcached's
protocol, and one that is not ours.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.servers import HOST, ROOT, Server, environment, pinned

FILLING = 16  # connections that fill a server
LOAD_SECONDS = 3600.0  # that it may take, at most
SLACK_SECONDS = 60.0  # for connecting and the last replies, beside the time of the load itself


@dataclass(frozen=True)
class Load:
    """Requests for random keys: connections, requests that each sends before it waits, and the share of reads."""

    reads: float
    connections: int
    pipeline: int
    value: int
    keys: int


@dataclass(frozen=True)
class Outcome:
    """What a run of a generator saw."""

    requests: int
    seconds: float
    p50_us: float
    p99_us: float
    text: str = ""  # as the generator tells it


class LoadError(RuntimeError):
    """A generator could not do its work; the text says why."""


def run(command: Sequence[str], server: Server, cores: Sequence[int], seconds: float) -> str:
    done = subprocess.run(
        pinned(command, cores),
        check=False,
        cwd=ROOT,
        env=environment(server.kind),
        capture_output=True,
        text=True,
        timeout=seconds + SLACK_SECONDS,
    )
    if done.returncode:
        raise LoadError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-1000:]}")
    return done.stdout


class TellstoneBench:
    """`tellstone bench` of this checkout."""

    name = "tellstone bench"
    protocols = ("resp", "native")
    greets = True  # sends a request on every connection before the load begins
    program = (sys.executable, "-m", "tellstone", "bench")

    def __init__(self, cores: Sequence[int]) -> None:
        self.cores = cores

    def command(self, server: Server, load: Load, *options: str) -> list[str]:
        where = ["--addr", server.address, "--protocol", server.kind.protocol]
        what = ["--keyspace", str(load.keys), "--value-size", str(load.value), "--read-ratio", f"{load.reads:.6f}"]
        threads = min(len(self.cores), load.connections)
        how = ["--connections", str(load.connections), "--pipeline", str(load.pipeline), "--threads", str(threads)]
        return [*self.program, *where, *what, *how, *options]

    def fill(self, server: Server, keys: int, value: int) -> None:
        """Write every key once."""
        load = Load(1.0, FILLING, 1, value, keys)
        run(self.command(server, load, "--load", "--requests", "1"), server, self.cores, LOAD_SECONDS)

    def measure(self, server: Server, load: Load, seconds: float) -> Outcome:
        """Put the load on a server that is filled."""
        how = ["--no-load", "--duration", f"{round(seconds * 1000)}ms", "--json"]
        found: dict[str, Any] = json.loads(run(self.command(server, load, *how), server, self.cores, seconds))
        latency = found["latency_ms"]["all"]
        return Outcome(found["requests"], found["seconds"], latency["p50"] * 1000, latency["p99"] * 1000)


class Memtier:
    """memtier_benchmark."""

    name = "memtier_benchmark"
    protocols = ("resp", "memcache")
    greets = False

    def __init__(self, program: str, cores: Sequence[int]) -> None:
        self.program = program
        self.cores = cores

    def command(self, server: Server, load: Load, threads: int, *options: str) -> list[str]:
        protocol = {"resp": "redis", "memcache": "memcache_text"}[server.kind.protocol]
        where = ["--server", HOST, "--port", str(server.port), "--protocol", protocol]
        keys = ["--key-prefix", "key:", "--key-minimum", "1", "--key-maximum", str(load.keys)]
        what = [*keys, "--data-size", str(load.value)]
        return [self.program, *where, *what, "--threads", str(threads), "--hide-histogram", *options]

    def fill(self, server: Server, keys: int, value: int) -> None:
        """Write every key once."""
        once = ["--clients", "1", "--pipeline", "64", "--ratio", "1:0", "--key-pattern", "S:S", "--requests", str(keys)]
        run(self.command(server, Load(0.0, 1, 64, value, keys), 1, *once), server, self.cores, LOAD_SECONDS)

    def measure(self, server: Server, load: Load, seconds: float) -> Outcome:
        """Put the load on a server that is filled, for whole seconds. The time it was given counts: what it reports of
        that is not always right.
        """
        threads = next(n for n in range(min(len(self.cores), load.connections), 0, -1) if load.connections % n == 0)
        ratio = {1.0: "0:1", 0.0: "1:0"}.get(load.reads) or f"1:{round(load.reads / (1 - load.reads))}"
        whole = max(1, round(seconds))
        how = ["--clients", str(load.connections // threads), "--pipeline", str(load.pipeline), "--ratio", ratio]
        with tempfile.NamedTemporaryFile(suffix=".json") as results:
            out = ["--test-time", str(whole), "--json-out-file", results.name]
            run(self.command(server, load, threads, *how, *out), server, self.cores, whole)
            totals = json.loads(Path(results.name).read_text())["ALL STATS"]["Totals"]
        latency = totals["Percentile Latencies"]
        return Outcome(totals["Count"], whole, latency["p50.00"] * 1000, latency["p99.00"] * 1000)


Generator = TellstoneBench | Memtier


def generators(cores: Sequence[int], wanted: str = "") -> list[Generator]:
    """Those that there are, in the order of preference; `wanted` is the name of one that shall come first."""
    found: list[Generator] = [TellstoneBench(cores)]
    if program := shutil.which("memtier_benchmark"):
        found.append(Memtier(program, cores))
    return sorted(found, key=lambda generator: generator.name != wanted)
