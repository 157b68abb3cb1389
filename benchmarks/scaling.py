"""Whether a request's cost stays what it is: CPU time as keys grow from a thousand to twenty million, and connections
from one to ten thousand.

    python -m benchmarks.scaling
    python -m benchmarks.scaling --servers tellstone,redis --memory 16 --keys 1000 1000000 20000000

What keys cost beyond the first thousands is misses of the processor's caches. Sizes that memory or the limit of open
files does not allow are left out, and said to be.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks import plots
from benchmarks.cases import READS
from benchmarks.costs import keys_within, rounds, shown
from benchmarks.generators import Load, LoadError
from benchmarks.servers import Server, descriptors, running
from benchmarks.setting import Setting, parser_of, save, settle

KEYS = (1_000, 10_000, 100_000, 1_000_000, 5_000_000, 20_000_000)
CONNECTIONS = (1, 10, 100, 1_000, 10_000)
FEW_KEYS = 100_000  # while connections grow
FEW_CONNECTIONS = 16  # while keys grow,
PIPELINE = 10  # with pipelines, lest the sockets' price hide that of the keys
FILES = 100  # that a server has open beside connections
MODES = ("get", "set")
Point = dict[str, Any]


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = parser_of("scaling", __doc__, servers="tellstone")
    parser.add_argument("--keys", type=int, nargs="*", metavar="N", help=f"[{' '.join(map(str, KEYS))}]")
    parser.add_argument("--connections", type=int, nargs="*", metavar="N", help=f"[{' '.join(map(str, CONNECTIONS))}]")
    parser.add_argument("--value", type=int, default=16, metavar="BYTES", help="[16]")
    return settle(parser.parse_args(words), keys=(KEYS, KEYS[:2]), connections=(CONNECTIONS, CONNECTIONS[:2]))


def by_keys(setting: Setting, servers: Sequence[Server], options: argparse.Namespace) -> Iterator[Point]:
    """Each number of keys, the least first."""
    for keys in sorted(options.keys):
        if keys_within(options.memory, options.value, len(servers), keys) < keys:
            print(f"{keys:,} keys are left out: they may not fit into memory")
            continue
        for server in servers:
            setting.made_by[server.kind.name].fill(server, keys, options.value)
        memory = {server.kind.name: server.memory_bytes() for server in servers}
        for mode in MODES:
            load = Load(READS[mode], FEW_CONNECTIONS, PIPELINE, options.value, keys)
            found = rounds(servers, setting.made_by, load, options.seconds, options.rounds)
            yield {"mode": mode, "keys": keys, "memory": memory} | found


def by_connections(setting: Setting, servers: Sequence[Server], options: argparse.Namespace) -> Iterator[Point]:
    """Each number of connections, without pipelines."""
    most = descriptors() - FILES
    for server in servers:
        setting.made_by[server.kind.name].fill(server, FEW_KEYS, options.value)
    for connections in sorted(options.connections):
        if connections > most:
            print(f"{connections:,} connections are left out: a process may have {most + FILES:,} files open")
            continue
        for mode in MODES:
            load = Load(READS[mode], connections, 1, options.value, FEW_KEYS)
            found = rounds(servers, setting.made_by, load, options.seconds, options.rounds)
            yield {"mode": mode, "connections": connections} | found


def scale(options: argparse.Namespace, words: Sequence[str]) -> dict[str, Any]:
    """Measure, and show each point when it is there. Servers start anew between the two."""
    setting = Setting.of(options)
    results = setting.results("scaling", words, options) | {"keys": [], "connections": []}
    for axis, points in (("keys", by_keys), ("connections", by_connections)):
        with running(setting.programs, setting.cores.servers, value=options.value) as servers:
            for point in points(setting, servers, options):
                results[axis].append(point)
                save(results, options.json)
                print(shown(f"{point['mode']}, {point[axis]:,} {axis}", point), flush=True)
    return results


def main(words: Sequence[str]) -> int:
    """Exit status 1: something could not be measured or drawn."""
    options = arguments(words)
    try:
        results = json.loads(options.earlier.read_text()) if options.earlier else scale(options, words)
        if results["keys"] or results["connections"]:
            plots.scaling(results, options.plot)
    except plots.NoPlotError as missing:
        print(missing)
    except (LoadError, OSError, RuntimeError, ValueError) as error:
        print(f"benchmarks.scaling: {error}", file=sys.stderr)
        return 1
    return 1 if any(point["failed"] for axis in ("keys", "connections") for point in results[axis]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
