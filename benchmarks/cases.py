"""The loads that servers are compared under, and how they are chosen by name.

A case is what is asked, by how many connections, how many requests each sends before it waits, and the bytes of a
value: `get-c50-p1-v256`. Modes are `get`, `set`, and `mix` of one write to ten reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

from benchmarks.generators import Load

READS = {"get": 1.0, "set": 0.0, "mix": 10 / 11}
PIPELINES = (1, 10, 100)
CONNECTIONS = (1, 50, 1000)
VALUES = (16, 256, 4096)


@dataclass(frozen=True)
class Case:
    """One load."""

    mode: str
    connections: int
    pipeline: int
    value: int

    @property
    def name(self) -> str:
        """As on the command line."""
        return f"{self.mode}-c{self.connections}-p{self.pipeline}-v{self.value}"

    def load(self, keys: int) -> Load:
        """For a generator."""
        return Load(READS[self.mode], self.connections, self.pipeline, self.value, keys)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"name": self.name} | asdict(self)


TABLE = {
    "GET, 50 connections, no pipeline": Case("get", 50, 1, 256),
    "GET, 16 connections, pipeline 10": Case("get", 16, 10, 256),
    "1 SET to 10 GETs, 16 connections, pipeline 10": Case("mix", 16, 10, 256),
    "SET, 16 connections, pipeline 10": Case("set", 16, 10, 256),
    "GET, 16 connections, pipeline 100": Case("get", 16, 100, 256),
    "SET, 16 connections, pipeline 100": Case("set", 16, 100, 256),
}
MATRIX = [Case(*each) for each in product(READS, CONNECTIONS, PIPELINES, VALUES)]
ALL = [*TABLE.values(), *MATRIX]


def chosen(patterns: Sequence[str]) -> list[Case]:
    """The cases that one of the patterns names, by the size of their values; all without a pattern.

    A pattern is a name with * and ?, or `table` for the rows of the README's table. Raises ValueError for one that
    names nothing.
    """
    named: list[Case] = [] if patterns else ALL
    for pattern in patterns:
        found = [case for case in ALL if fnmatchcase(case.name, pattern)]
        if pattern == "table":
            found = list(TABLE.values())
        if not found:
            raise ValueError(f"no case is named {pattern!r}: they are like {ALL[0].name}, or `table`")
        named = [*named, *found]
    return sorted(dict.fromkeys(named), key=lambda case: case.value)
