"""Put another state in the place of what a directory holds, and destroy nothing.

The new state becomes a snapshot of a generation that is newer than all files there. When it is on the disk, it is what
counts; then everything else moves to a directory of its own in the same directory. So a crash at any point leaves the
old state or the new one, and all files.
"""

from __future__ import annotations

import time
from pathlib import Path

from tellstone._core.store.keyspace import Store
from tellstone._core.store.snapshot import SnapshotJob
from tellstone.durability.directory import LOGS, PRIVATE, SNAPSHOTS, Directory, sync
from tellstone.durability.snapshots import NO_GENERATION, generation_of, snapshot_name
from tellstone.errors import StartError


def replace_by(directory: Directory, store: Store, word: str) -> tuple[int, Path]:
    """Make a store's content the directory's, and move the files there were to WORD-TIME. Answers how many keys there
    are, and where the files are now. Raises StartError.
    """
    generation = newest_generation(directory) + 1
    snapshot = SnapshotJob(store, generation)
    try:
        snapshot.write(directory.snapshots / snapshot_name(generation, 1))
        return snapshot.keys, set_aside(directory.path, generation, word)
    except OSError as error:
        raise StartError(f"{error.filename or directory.path}: {error.strerror}") from None


def newest_generation(directory: Directory) -> int:
    """The highest that a file has, 0 if there is none."""
    files = [*directory.snapshots.iterdir(), *directory.logs.iterdir()]
    return max((number for file in files if (number := generation_of(file)) < NO_GENERATION), default=0)


def set_aside(directory: Path, generation: int, word: str) -> Path:
    """Move all files but those of a generation. Answers where to."""
    aside = directory / time.strftime(f"{word}-%Y%m%dT%H%M%S", time.gmtime())
    aside = next(place for n in range(1000) if not (place := Path(f"{aside}{f'-{n}' * bool(n)}")).exists())
    for place in (aside, aside / SNAPSHOTS, aside / LOGS):
        place.mkdir(mode=PRIVATE)
        sync(place.parent)  # ORDER: before a file is nowhere else
    for name in (SNAPSHOTS, LOGS):
        here, there = directory / name, aside / name
        for file in here.iterdir():
            if not file.name.startswith(f"{generation:016x}-"):
                file.rename(there / file.name)
        sync(there)
        sync(here)
    return aside
