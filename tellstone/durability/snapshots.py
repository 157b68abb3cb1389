"""The snapshots of a directory: their names, and what their heads and feet say.

DIR/snapshots/GENERATION-NUMBER.snapshot        both in 16 hexadecimal digits, so that names sort as snapshots do
DIR/snapshots/GENERATION-NUMBER.snapshot.part   one that is being written, or never was finished
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tellstone._core.store.kept import kept_snapshots
from tellstone.durability.directory import SNAPSHOTS

WHOLE = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}\.snapshot", re.ASCII)
UNFINISHED = re.compile(WHOLE.pattern + r"\.part", re.ASCII)
NO_GENERATION = 1 << 64  # none is so high


@dataclass(frozen=True)
class Snapshot:
    """One that is whole. With the log of its generation it can be made every state from `whole_ms` on."""

    generation: int
    number: int
    shards: int
    begun_ms: int  # Unix times
    whole_ms: int
    seqs: list[int]  # by shard, the number behind which its log goes on

    @property
    def name(self) -> str:
        """The file's."""
        return snapshot_name(self.generation, self.number)


def snapshot_name(generation: int, number: int) -> str:
    """A snapshot's file."""
    return f"{generation:016x}-{number:016x}.snapshot"


def snapshots_in(directory: Path) -> list[Snapshot]:
    """Those whose head and foot can be read, oldest first. Raises OSError."""
    return [Snapshot(*facts) for facts in kept_snapshots(directory)]


def files_like(directory: Path, pattern: re.Pattern[str]) -> list[Path]:
    """The files of snapshots whose whole name is such: WHOLE or UNFINISHED. Oldest first."""
    return sorted(path for path in (directory / SNAPSHOTS).iterdir() if pattern.fullmatch(path.name))


def generation_of(path: Path) -> int:
    """The first number of a file's name; one that is not ours counts as the newest, and stays."""
    try:
        return int(path.name.partition("-")[0], 16)
    except ValueError:
        return NO_GENERATION
