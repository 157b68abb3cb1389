"""What keeping data on disk costs, beside Redis, in one run.

    python -m benchmarks.durable
    python -m benchmarks.durable --only always --seconds 10 --directory DIR

always     writers in pipelines, each reply after a sync: how many changes a second
everysec   CPU of a change with a sync a second, beside the same server without a log
recovery   time to start on a million changes, less the time to start on none
snapshot   memory, and how long requests take, while snapshots of a million keys are taken under load

Servers run on one half of the cores and the generator on the other; they take turns, and medians count. A line ends
with what is to be reached. Redis writes its append-only file, with appendfsync as --wal-sync is here; what it needs for
a snapshot is counted with what its child needs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.costs import machine, rounds
from benchmarks.generators import Load, LoadError, TellstoneBench, run
from benchmarks.servers import HOST, KINDS, START_SECONDS, Cores, Kind, Server, Start, started, version_of
from benchmarks.setting import OUTPUT, command_line, cores_of, programs_of, save, settle

WRITERS = 64
PIPELINE = 16
VALUE = 64
READERS = 16
RATE = 20_000  # requests a second while snapshots are taken: far from what any of the servers can do
READS = 0.9
LOOK_SECONDS = 0.02
WAIT_SECONDS = 300.0
NAMES = ("redis", "tellstone")


@dataclass(frozen=True)
class Line:
    """One figure of all who were measured; the last of them is ours, and is held against the first."""

    name: str
    figures: dict[str, float]
    target: str  # of our figure divided by the other
    least: float | None = None
    most: float | None = None

    @property
    def ratio(self) -> float:
        first, *_, ours = self.figures.values()
        return ours / first

    @property
    def reached(self) -> bool:
        return (self.least is None or self.ratio >= self.least) and (self.most is None or self.ratio <= self.most)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "figures": {name: round(value, 3) for name, value in self.figures.items()},
            "ratio": round(self.ratio, 3),
            "target": self.target,
            "reached": self.reached,
        }

    def shown(self) -> str:
        figures = "  ".join(f"{name} {value:,.4g}" for name, value in self.figures.items())
        return f"{self.name:46} {figures:60} x{self.ratio:5.2f}  {self.target}{'' if self.reached else '  MISSED'}"


# Servers


class Place:
    """Where servers are started, each in a directory of its own, which it finds again when it is started again."""

    def __init__(self, directory: Path, programs: dict[str, str], cores: Cores) -> None:
        self.directory = directory
        self.programs = programs
        self.cores = cores
        self.generator = TellstoneBench(cores.load)

    def start(self, name: str, sync: str, *, place: str) -> Server:
        """A server that keeps its data: redis or tellstone, `sync` "" without a log. It answers when this returns."""
        home = self.directory / place
        home.mkdir(exist_ok=True)
        kind = replace(KINDS[name], name=place, command=partial(kept_command, KINDS[name], sync, home / "data"))
        server = started(kind, self.programs[name], self.cores.servers, home)
        until(lambda: ask(server, "DBSIZE").startswith(b":"), f"{place} does not load")
        return server

    @contextlib.contextmanager
    def running(self, name: str, sync: str, *, place: str) -> Iterator[Server]:
        """The same for a block."""
        server = self.start(name, sync, place=place)
        try:
            yield server
        finally:
            server.stop()


def kept_command(kind: Kind, sync: str, directory: Path, start: Start) -> list[str]:
    """Logs are not shortened by themselves: when would be a matter of luck."""
    words = kind.command(start)
    if not sync:
        return words
    if kind.name == "redis":
        return [*words, "--appendonly", "yes", "--appendfsync", sync, "--auto-aof-rewrite-percentage", "0"]
    where = ["--enable-persistence", "--persistence-dir", str(directory), "--snapshot-bytes", "0"]
    return [*words, *where, "--wal-sync", sync]


def ask(server: Server, *words: str) -> bytes:
    """One request's reply, of one line or one bulk string."""
    request = f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
    with socket.create_connection((HOST, server.port), START_SECONDS) as connected:
        connected.sendall(request.encode())
        reply = connected.makefile("rb")
        line = reply.readline()
        return reply.read(int(line[1:])) if line.startswith(b"$") else line


def info(server: Server, name: str) -> str:
    """A field of INFO."""
    for line in ask(server, "INFO", "persistence").decode().splitlines():
        if line.startswith(f"{name}:"):
            return line.partition(":")[2]
    raise RuntimeError(f"{server.kind.name} tells no {name}")


def until(done: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not done():
        if time.monotonic() > end:
            raise RuntimeError(what)
        time.sleep(LOOK_SECONDS / 4)


# Figures


def always(place: Place, options: argparse.Namespace) -> Iterator[Line]:
    """Throughput of many who write and wait for their replies."""
    load = Load(0.0, WRITERS, PIPELINE, VALUE, options.keys)
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(place.running(name, "always", place=f"{name}-always")) for name in NAMES]
        found = rounds(servers, {s.kind.name: place.generator for s in servers}, load, options.seconds, options.rounds)
    complain(found)
    throughput = {name: cost["throughput"] for name, cost in found["costs"].items()}
    yield Line(f"always: changes a second, {WRITERS} writers", throughput, "at least 1", least=1.0)


def everysec(place: Place, options: argparse.Namespace) -> Iterator[Line]:
    """CPU of a change, our log against none of ours; Redis's beside it."""
    load = Load(0.0, WRITERS, PIPELINE, VALUE, options.keys)
    wanted = [("redis", ""), ("redis", "everysec"), ("tellstone", ""), ("tellstone", "everysec")]
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(place.running(name, sync, place=f"{name}-{sync or 'memory'}")) for name, sync in wanted
        ]
        for server in servers:
            place.generator.fill(server, options.keys, VALUE)
        found = rounds(servers, {s.kind.name: place.generator for s in servers}, load, options.seconds, options.rounds)
    complain(found)
    cpu = {name: cost["cpu_ns"] for name, cost in found["costs"].items()}
    yield Line("everysec: CPU of a change, ns", dict(list(cpu.items())[2:]), "at most 1.25", most=1.25)
    yield Line("          the same of Redis", dict(list(cpu.items())[:2]), "")


def recovery(place: Place, options: argparse.Namespace) -> Iterator[Line]:
    """How long a start takes with a log of so many changes, less one with none."""
    took: dict[str, list[float]] = {name: [] for name in NAMES}
    for name in NAMES:
        with place.running(name, "everysec", place=f"{name}-full") as server:
            place.generator.fill(server, options.keys, VALUE)
    for _ in range(options.rounds):
        for name in NAMES:
            bare, full = (
                start_seconds(place, name, f"{name}-{what}", keys)
                for what, keys in (("empty", 0), ("full", options.keys))
            )
            took[name].append(max(full - bare, LOOK_SECONDS))
    seconds = {name: statistics.median(times) for name, times in took.items()}
    yield Line(f"recovery: seconds for {options.keys:,} changes", seconds, "at most 1/3", most=1 / 3)


def start_seconds(place: Place, name: str, where: str, keys: int) -> float:
    begun = time.monotonic()
    with place.running(name, "everysec", place=where) as server:
        took = time.monotonic() - begun
        if ask(server, "DBSIZE") != b":%d\r\n" % keys:
            raise RuntimeError(f"{where} has not {keys} keys: {ask(server, 'DBSIZE')!r}")
    return took


def snapshot(place: Place, options: argparse.Namespace) -> Iterator[Line]:
    """Under the same load without snapshots, and with one after the other."""
    slow: dict[str, dict[str, float]] = {}
    memory: dict[str, dict[str, float]] = {}
    for name in reversed(NAMES):
        with place.running(name, "everysec", place=f"{name}-snapshots") as server:
            place.generator.fill(server, options.keys, VALUE)
            paced(place, server, options, options.seconds / 4)  # buffers and threads are there afterwards
            slow[name], memory[name] = {}, {}
            for what, saves in (("without", False), ("with", True)):
                with Memory(server) as watch, saving(server) if saves else contextlib.nullcontext():
                    slow[name][what] = paced(place, server, options, options.seconds)
                memory[name][what] = watch.most / 2**20
    mine = "tellstone"
    yield Line("snapshot: memory, MiB", memory[mine], "at most 1.1", most=1.1)
    yield Line("          the same of Redis and its child", memory["redis"], "")
    yield Line("snapshot: p99.9 of requests, ms", slow[mine], "at most 2", most=2.0)
    yield Line("          the same of Redis", slow["redis"], "")


def paced(place: Place, server: Server, options: argparse.Namespace, seconds: float) -> float:
    """The p99.9 of requests that come at a rate, in ms."""
    load = Load(READS, READERS, 1, VALUE, options.keys)
    how = ["--no-load", "--rate", str(RATE), "--duration", f"{round(seconds * 1000)}ms", "--json"]
    found = json.loads(run(place.generator.command(server, load, *how), server, place.cores.load, seconds))
    slow: float = found["latency_ms"]["all"]["p99.9"]
    return slow


@contextlib.contextmanager
def saving(server: Server) -> Iterator[None]:
    """Snapshots, one after the other, at least one to its end."""
    ended = threading.Event()
    failed: list[Exception] = []

    def work() -> None:
        try:
            while not ended.is_set():
                ask(server, "BGSAVE")
                until(lambda: info(server, "rdb_bgsave_in_progress") == "0", "a snapshot does not end")
        except (OSError, RuntimeError) as failure:
            failed.append(failure)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if failed:
        raise failed[0]


class Memory:
    """The most memory of a server while a block lasts: what it and its children use, shared pages once."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.most = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self) -> None:
        while not self.ended.wait(LOOK_SECONDS):
            self.most = max(self.most, self.now())

    def now(self) -> int:
        pid = self.server.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return sum(proportional_bytes(int(process)) for process in (pid, *children))

    def __enter__(self) -> Memory:
        self.thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.ended.set()
        self.thread.join()
        self.most = max(self.most, self.now())


def proportional_bytes(process: int) -> int:
    """A child may be gone already."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def complain(found: dict[str, Any]) -> None:
    for name, why in found["failed"].items():
        raise LoadError(f"{name}: {why}")


PARTS = {"always": always, "everysec": everysec, "recovery": recovery, "snapshot": snapshot}


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.durable", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", action="append", choices=PARTS, help="of the four [all]")
    add("--keys", type=int, help="[1,000,000]")
    add("--seconds", type=float, help="of a load for each server, in all rounds together [6]")
    add("--rounds", type=int, help="of which the medians count [3]")
    add("--directory", type=Path, help="on the disk to be measured [where temporary files go]")
    add("--program", action="append", default=[], metavar="NAME=PATH", help="where a server's program is")
    add("--server-cores", default="", metavar="N,...", help="[the first half]")
    add("--load-cores", default="", metavar="N,...", help="[the other half]")
    add("--quick", action="store_true", help="short rounds over little data: to see that it works")
    add("--json", type=Path, default=OUTPUT / "durable.json", metavar="FILE", help="results [build/benchmarks]")
    options = parser.parse_args(words)
    return settle(options, seconds=(6.0, 0.3), rounds=(3, 1), keys=(1_000_000, 2_000), only=([*PARTS], [*PARTS]))


def measure(options: argparse.Namespace, words: Sequence[str]) -> None:
    """Measure, and show each line when it is there."""
    programs = programs_of(",".join(NAMES), options.program)
    cores = cores_of(options.server_cores, options.load_cores)
    results: dict[str, Any] = {
        "command": command_line("durable", words),
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": machine() | {"server_cores": len(cores.servers)},
        "redis": version_of(programs["redis"]),
        "keys": options.keys,
        "lines": [],
    }
    for name in options.only:
        with tempfile.TemporaryDirectory(dir=options.directory) as directory:
            for line in PARTS[name](Place(Path(directory), programs, cores), options):
                print(line.shown(), flush=True)
                results["lines"].append(line.as_dict())
                save(results, options.json)


def main(words: Sequence[str]) -> int:
    """Exit status 1: something could not be measured."""
    options = arguments(words)
    try:
        measure(options, words)
    except (LoadError, OSError, RuntimeError, ValueError) as error:
        print(f"benchmarks.durable: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
