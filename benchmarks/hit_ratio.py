"""What is left in a cache that is too small: hit ratios of eviction policies, ours and those of a redis-server.

    python -m benchmarks.hit_ratio
    python -m benchmarks.hit_ratio --requests 2000000 --policies tellstone:allkeys-s3fifo,redis:allkeys-lfu

A trace asks for keys by Zipf's law; what a server does not have is written to it. Some traces are broken by scans: runs
of keys that nobody asks for again. Every policy replays the same requests in a memory that has room for a share of the
keys: the server is filled with that many, and what it uses then becomes its ceiling. Speed is not measured.
"""

from __future__ import annotations

import argparse
import itertools
import random
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import plots
from benchmarks.servers import HOST, KINDS, Server, program_of, running
from benchmarks.setting import OUTPUT, command_line, cores_of, save

POLICIES = "tellstone:allkeys-s3fifo,tellstone:allkeys-lru,tellstone:allkeys-lfu,redis:allkeys-lru,redis:allkeys-lfu"
KEYS, FEW_KEYS = 20_000, 2_000
REQUESTS, FEW_REQUESTS = 200_000, 6_000
SKEWS = (0.9, 1.1)
ROOMS = (0.01, 0.1)
SCANS = 10  # in a trace; each of a twentieth of the keys
SCAN_SHARE = 20
BATCH = 16  # requests sent at once: little beside a small cache, because a server counts what it buffers
SEED = 20231023


@dataclass(frozen=True)
class Trace:
    """Requests, by the numbers of their keys."""

    skew: float
    scans: bool
    requests: list[int]

    @property
    def title(self) -> str:
        return f"Zipf {self.skew}{', scans' if self.scans else ''}"


def zipf(count: int, keys: int, skew: float) -> list[int]:
    """That many requests; which key is how popular is drawn too."""
    chance = random.Random(f"{SEED} {skew}")
    shares = list(itertools.accumulate((rank + 1) ** -skew for rank in range(keys)))
    numbers = list(range(keys))
    chance.shuffle(numbers)
    return [numbers[rank] for rank in chance.choices(range(keys), cum_weights=shares, k=count)]


def with_scans(requests: list[int], keys: int) -> list[int]:
    """Scans between the requests, of keys that come once."""
    length, step = keys // SCAN_SHARE, len(requests) // SCANS
    broken: list[int] = []
    for scan in range(SCANS):
        first = keys + scan * length
        broken += requests[scan * step : (scan + 1) * step]
        broken += range(first, first + length)
    return broken


def traces(count: int, keys: int) -> Iterator[Trace]:
    for skew in SKEWS:
        requests = zipf(count, keys, skew)
        yield Trace(skew, False, requests)
        yield Trace(skew, True, with_scans(requests, keys))


class Connection:
    """Just enough of RESP for pipelines of requests whose replies are short lines or values."""

    def __init__(self, server: Server, value: int) -> None:
        self.socket = socket.create_connection((HOST, server.port))
        self.file = self.socket.makefile("rb", 1 << 20)
        self.value = b"v" * value

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def reply(self) -> bytes | None:
        """A line without its mark, or a value. Raises RuntimeError for an error."""
        line = self.file.readline()
        if not line or line[:1] == b"-":
            raise RuntimeError(line.decode(errors="replace").strip() or "the server has hung up")
        if line[:1] != b"$":
            return line[1:-2]
        return None if line == b"$-1\r\n" else self.file.read(int(line[1:]) + 2)[:-2]

    def call(self, *words: bytes | str) -> bytes | None:
        self.socket.sendall(request(*words))
        return self.reply()

    def set(self, numbers: Iterable[int]) -> None:
        """Write keys."""
        requests = [request("SET", key(number), self.value) for number in numbers]
        self.socket.sendall(b"".join(requests))
        for _ in requests:
            self.reply()

    def hits(self, numbers: Sequence[int]) -> int:
        """Read keys, and write those that are missing. One that is asked for again before it is written counts as
        found then.
        """
        self.socket.sendall(b"".join(request("GET", key(number)) for number in numbers))
        missing = dict.fromkeys(number for number in numbers if self.reply() is None)
        self.set(missing)
        return len(numbers) - len(missing)


def request(*words: bytes | str) -> bytes:
    encoded = [word.encode() if isinstance(word, str) else word for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in encoded)


def key(number: int) -> bytes:
    return b"key:%012d" % number


def batches(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    return (numbers[at : at + BATCH] for at in range(0, len(numbers), BATCH))


def used_memory(connection: Connection) -> int:
    info = connection.call("INFO", "memory") or b""
    return int(info.split(b"\r\nused_memory:", 1)[1].split(b"\r\n", 1)[0])


def replay(server: Server, policy: str, trace: Trace, room: int, value: int) -> dict[str, Any]:
    """The hit ratio of a trace where there is room for so many keys."""
    connection = Connection(server, value)
    try:
        connection.call("CONFIG", "SET", "maxmemory", "0")
        connection.call("CONFIG", "SET", "maxmemory-policy", policy)
        connection.call("FLUSHALL")
        for numbers in batches(range(room)):
            connection.set(numbers)
        ceiling = used_memory(connection)
        connection.call("FLUSHALL")
        connection.call("CONFIG", "SET", "maxmemory", str(ceiling))
        hits = sum(connection.hits(numbers) for numbers in batches(trace.requests))
        held = int(connection.call("DBSIZE") or 0)
    finally:
        connection.close()
    return {"ratio": hits / len(trace.requests), "held": held, "ceiling": ceiling}


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.hit_ratio", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--policies", default=POLICIES, metavar="SERVER:POLICY,...", help=f"[{POLICIES}]")
    add("--program", action="append", default=[], metavar="NAME=PATH", help="where a server's program is")
    add("--keys", type=int, metavar="N", help=f"[{KEYS}]")
    add("--requests", type=int, metavar="N", help=f"of a trace, scans not counted [{REQUESTS}]")
    add("--value", type=int, default=2048, metavar="BYTES", help="[2048]")
    add("--quick", action="store_true", help="short traces of few keys: to see that it works")
    add("--json", type=Path, default=OUTPUT / "hit_ratio.json", metavar="FILE", help="results [build/benchmarks]")
    add("--plot", type=Path, default=OUTPUT / "hit_ratio.png", metavar="FILE", help="picture [build/benchmarks]")
    options = parser.parse_args(words)
    options.keys = options.keys or (FEW_KEYS if options.quick else KEYS)
    options.requests = options.requests or (FEW_REQUESTS if options.quick else REQUESTS)
    return options


def measure(options: argparse.Namespace, words: Sequence[str]) -> dict[str, Any]:
    """Replay all traces, and show each when it is there. A server that is not installed is left out."""
    policies = [name.split(":", 1) for name in options.policies.split(",")]
    wanted = dict.fromkeys(server for server, _ in policies)
    if unknown := [server for server in wanted if server not in KINDS]:
        raise ValueError(f"no server is called {', '.join(unknown)}: they are {', '.join(KINDS)}")
    given = dict(item.split("=", 1) for item in options.program)
    programs = {name: program for name in wanted if (program := program_of(KINDS[name], given))}
    results: dict[str, Any] = {
        "command": command_line("hit_ratio", words),
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "keys": options.keys,
        "value": options.value,
        "traces": [],
    }
    with running(programs, cores_of("", "").servers) as servers:
        by_name = {server.kind.name: server for server in servers}
        for trace in traces(options.requests, options.keys):
            for share in ROOMS:
                room = max(1, round(options.keys * share))
                found = {
                    f"{name}:{policy}": replay(by_name[name], policy, trace, room, options.value)
                    for name, policy in policies
                    if name in by_name
                }
                point = {"skew": trace.skew, "scans": trace.scans, "room": share, "requests": len(trace.requests)}
                results["traces"].append(point | {"policies": found})
                save(results, options.json)
                print(f"{trace.title}, room for {share:.0%} of the keys")
                for name, one in found.items():
                    print(f"    {name:<28} {one['ratio']:7.2%}   {one['held']:,} keys at the end", flush=True)
    return results


def main(words: Sequence[str]) -> int:
    """Exit status 1: something could not be measured or drawn."""
    options = arguments(words)
    try:
        results = measure(options, words)
        plots.hit_ratios(results, options.plot)
    except plots.NoPlotError as missing:
        print(missing)
    except (OSError, RuntimeError, ValueError) as error:
        print(f"benchmarks.hit_ratio: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
