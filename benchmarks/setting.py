"""What comparing and scaling share: options, the servers and generators that these choose, and the frame of results."""

from __future__ import annotations

import argparse
import json
import shlex
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.costs import generator_for, machine
from benchmarks.generators import Generator, generators
from benchmarks.servers import KINDS, ROOT, Cores, program_of, version_of

OUTPUT = ROOT / "build" / "benchmarks"
PLACES = ("--json", "--plot", "--from", "--directory")  # options that name a place on this machine


def parser_of(module: str, text: str | None, servers: str) -> argparse.ArgumentParser:
    """A parser with the options that all have. `servers`: what is measured if nothing is said."""
    parser = argparse.ArgumentParser(
        f"python -m benchmarks.{module}", description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--servers", default=servers, metavar="NAME,...", help=f"of {', '.join(KINDS)} [{servers or 'all there are'}]")
    add("--program", action="append", default=[], metavar="NAME=PATH", help="where a server's program is")
    add("--generator", default="", metavar="NAME", help="`tellstone bench` or memtier_benchmark, where both would do")
    add("--seconds", type=float, help="of a load for each server, in all rounds together [2]")
    add("--rounds", type=int, help="of which the medians count [3]")
    add("--memory", type=float, default=0, metavar="GIB", help="for all servers together [half of what is free]")
    add("--server-cores", default="", metavar="N,...", help="[the first half]")
    add("--load-cores", default="", metavar="N,...", help="[the other half]")
    add("--quick", action="store_true", help="short rounds over little data: to see that it works")
    add("--json", type=Path, default=OUTPUT / f"{module}.json", metavar="FILE", help="results [build/benchmarks]")
    add("--plot", type=Path, default=OUTPUT / f"{module}.png", metavar="FILE", help="picture [build/benchmarks]")
    add("--from", dest="earlier", type=Path, metavar="FILE", help="results of an earlier run, instead of measuring")
    return parser


def settle(options: argparse.Namespace, **defaults: tuple[Any, Any]) -> argparse.Namespace:
    """Give options that were not given their values: the first of each pair, with --quick the second."""
    for name, values in {"seconds": (2.0, 0.3), "rounds": (3, 1), **defaults}.items():
        if getattr(options, name) is None:
            setattr(options, name, values[options.quick])
    return options


@dataclass(frozen=True)
class Setting:
    """Which servers are measured, by what, and on which cores."""

    cores: Cores
    programs: dict[str, str]
    made_by: dict[str, Generator]

    @classmethod
    def of(cls, options: argparse.Namespace) -> Setting:
        """As the options say. Raises ValueError for what is not there."""
        cores = cores_of(options.server_cores, options.load_cores)
        programs = programs_of(options.servers, options.program)
        there = generators(cores.load, options.generator)
        made_by = {name: found for name in programs if (found := generator_for(KINDS[name], there))}
        for name in programs.keys() - made_by.keys():
            print(f"{name} is left out: only memtier_benchmark speaks its protocol, and is not installed")
        return cls(cores, {name: programs[name] for name in programs if name in made_by}, made_by)

    def results(self, module: str, words: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
        """The frame of results: what was measured how, on what."""
        return {
            "command": command_line(module, words),
            "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "machine": machine() | {"server_cores": len(self.cores.servers)},
            "seconds": options.seconds,
            "rounds": options.rounds,
            "servers": {name: self.server(name) for name in self.programs},
        }

    def server(self, name: str) -> dict[str, str]:
        """What is said of a server."""
        kind = KINDS[name]
        version = version_of(self.programs[name]) if kind.programs else ""
        generator = self.made_by[name].name
        return {"title": kind.title, "protocol": kind.protocol, "version": version, "generator": generator}


def cores_of(servers: str, load: str) -> Cores:
    halves = Cores.halves()
    given = [tuple(int(word) for word in text.split(",") if word) for text in (servers, load)]
    return Cores(given[0] or halves.servers, given[1] or halves.load)


def programs_of(names: str, given: Sequence[str]) -> dict[str, str]:
    """Programs by the servers' names. Raises ValueError for a server that was asked for and is not there."""
    paths = dict(item.split("=", 1) for item in given)
    wanted = [name for name in names.split(",") if name]
    if unknown := {*wanted, *paths} - {*KINDS}:
        raise ValueError(f"no server is called {', '.join(sorted(unknown))}: they are {', '.join(KINDS)}")
    found = {}
    for name in wanted or KINDS:
        if program := program_of(KINDS[name], paths):
            found[name] = program
        elif name in wanted or name in paths:
            raise ValueError(f"{name} is not installed; --program {name}=PATH says where it is")
    return found


def command_line(module: str, words: Iterable[str]) -> str:
    """How to do it again, without the places of this machine."""
    kept = []
    rest = iter(words)
    for word in rest:
        flag, _, text = word.partition("=")
        if flag in PLACES:
            text = text or next(rest)
        elif flag == "--program":
            name, _, path = (text or next(rest)).partition("=")
            kept += ["--program", f"{name}={Path(path).name}"]
        else:
            kept.append(word)
    return shlex.join(["python", "-m", f"benchmarks.{module}", *kept])


def save(results: dict[str, Any], path: Path) -> None:
    """Write results, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(results, indent=1) + "\n")
    part.replace(path)
