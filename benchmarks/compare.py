"""Servers beside each other: what a request costs each of them, and how many they answer.

    python -m benchmarks.compare                          every case: half an hour for five servers
    python -m benchmarks.compare --only table --readme    the README's table
    python -m benchmarks.compare --only 'mix-c50-*' --servers tellstone,redis
    python -m benchmarks.compare --program original=/opt/tellstone --only table

Servers run on one half of the cores and the generator on the other; they take turns, round by round. Results go into
a JSON file and a picture; `--from` makes picture and table of an earlier run's.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from benchmarks import plots, table
from benchmarks.cases import Case, chosen
from benchmarks.costs import keys_within, rounds, shown
from benchmarks.generators import LoadError
from benchmarks.servers import running
from benchmarks.setting import Setting, parser_of, save, settle

KEYS = 1_000_000
FEW_KEYS = 10_000


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = parser_of("compare", __doc__, servers="")
    parser.add_argument("--only", action="append", metavar="CASES", help="table, get-c50-p1-v256, 'get-*'")
    parser.add_argument("--list", action="store_true", help="name the cases and servers that are chosen, and end")
    parser.add_argument("--keys", type=int, help=f"fewer where memory is short [{KEYS:,}]")
    parser.add_argument("--readme", action="store_true", help="write the table into README.md")
    return settle(parser.parse_args(words), only=([], ["table"]), keys=(KEYS, FEW_KEYS))


def measured(cases: Sequence[Case], setting: Setting, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Case by case; for each size of values, servers start anew and are filled."""
    for value, some in groupby(cases, key=lambda case: case.value):
        keys = keys_within(options.memory, value, len(setting.programs), options.keys)
        with running(setting.programs, setting.cores.servers, value=value) as servers:
            for server in servers:
                setting.made_by[server.kind.name].fill(server, keys, value)
            for case in some:
                found = rounds(servers, setting.made_by, case.load(keys), options.seconds, options.rounds)
                yield case.as_dict() | {"keys": keys} | found


def compare(options: argparse.Namespace, words: Sequence[str]) -> dict[str, Any]:
    """Measure, and show each case when it is done."""
    cases = chosen(options.only)
    setting = Setting.of(options)
    results = setting.results("compare", words, options) | {"cases": []}
    if options.list:
        print(*(case.name for case in cases), "", *map(": ".join, setting.programs.items()), sep="\n")
        return results
    print(f"{len(cases)} cases, {len(setting.programs)} servers, {options.seconds:g} s each")
    for case in measured(cases, setting, options):
        results["cases"].append(case)
        save(results, options.json)  # what is there stays, should the next case be interrupted
        print(shown(f"{case['name']}, {case['keys']:,} keys", case), flush=True)
    return results


def main(words: Sequence[str]) -> int:
    """Exit status 1: something could not be measured, written or drawn."""
    options = arguments(words)
    try:
        results = json.loads(options.earlier.read_text()) if options.earlier else compare(options, words)
        if options.readme:
            table.write(results)
        if results["cases"]:
            plots.comparison(results, options.plot)
    except plots.NoPlotError as missing:
        print(missing)
    except (LoadError, OSError, RuntimeError, ValueError) as error:
        print(f"benchmarks.compare: {error}", file=sys.stderr)
        return 1
    return 1 if any(case["failed"] for case in results["cases"]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
