"""Keep what is whole in a directory, and set everything else aside.

What is whole is loaded, and written as one snapshot of a new generation; when that is on the disk every file that was
there before moves to damaged-TIME in the same directory. So nothing is deleted, and a crash in between leaves a
directory that is whole already.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from tellstone._core.store.keyspace import Store
from tellstone._core.store.recovery import RecoveryJob
from tellstone._core.store.snapshot import SnapshotJob
from tellstone.durability.check import Report, Watch
from tellstone.durability.directory import LOGS, PRIVATE, SNAPSHOTS, Directory, sync
from tellstone.durability.persistence import generation_of, snapshot_name
from tellstone.errors import StartError

GENERATIONS = 1 << 64  # none is so high


@dataclass(frozen=True)
class Repaired:
    """What a repair has done."""

    keys: int  # that were kept
    aside: Path  # where the files are that were there before


def repair(directory: Directory, report: Report, watch: Watch | None = None) -> Repaired:
    """Do it, when a check has found damage. Raises StartError."""
    generation = newest_generation(directory) + 1
    store = Store(max(report.shards, 1))
    job = RecoveryJob(store, directory.path, mode="salvage")
    if watch is not None:
        watch(job)
    job.run()
    snapshot = SnapshotJob(store, generation)
    try:
        snapshot.write(directory.snapshots / snapshot_name(generation, 1))
        aside = set_aside(directory.path, generation)
    except OSError as error:
        raise StartError(f"{error.filename or directory.path}: {error.strerror}") from None
    return Repaired(snapshot.keys, aside)


def newest_generation(directory: Directory) -> int:
    """The highest that a file has, 0 if there is none."""
    files = [*directory.snapshots.iterdir(), *directory.logs.iterdir()]
    return max((number for file in files if (number := generation_of(file)) < GENERATIONS), default=0)


def set_aside(directory: Path, generation: int) -> Path:
    """Move all files but those of a generation. Answers where to."""
    aside = directory / time.strftime("damaged-%Y%m%dT%H%M%S", time.gmtime())
    aside = next(place for n in range(1000) if not (place := Path(f"{aside}{f'-{n}' * bool(n)}")).exists())
    aside.mkdir(mode=PRIVATE)
    for name in (SNAPSHOTS, LOGS):
        here, there = directory / name, aside / name
        there.mkdir(mode=PRIVATE)
        for file in here.iterdir():
            if not file.name.startswith(f"{generation:016x}-"):
                file.rename(there / file.name)
        sync(there)
        sync(here)
    sync(aside)
    sync(directory)
    return aside
