"""What processes have done to a disk, written down by journal_shim.c, and what a power loss at any moment leaves of it.

What had been synced when the power went is there. Of everything else any part may be: a write is lost or kept sector
by sector, a file has one of the sizes that it had since its last sync, and of the names that were made, changed and
removed in a directory since that was synced each may be as it was. (A sector holds all that was written to it up to
some moment, and one renaming happens or does not: no disk and no file system tears these.)

A place in a journal is a moment. Tests put marks into it, too, so what they have seen has its moment as well.
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HEAD = struct.Struct("<IIQQq")
MARK, OPEN, WRITE, ZEROS, SIZE, RENAME, UNLINK, MAKE, SYNC, SYNCED = range(10)
RARE = {OPEN, SIZE, RENAME, UNLINK, MAKE}  # changes of what there is, beside those of what is in it
SECTOR = 512
MICRO = 1_000_000


@dataclass(frozen=True)
class Entry:
    """One thing that was done."""

    end: int  # the moment
    kind: int
    file: int
    at: int
    time: float
    data: bytes

    @property
    def makes(self) -> bool:
        """Whether a file is opened that may not have been there."""
        return self.kind == OPEN and bool(self.at)


def entries(path: Path) -> Iterator[Entry]:
    """Those of a journal."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        size, kind, file, where, time_us = HEAD.unpack_from(data, at)
        begin, at = at + HEAD.size, at + HEAD.size + size
        yield Entry(at, kind, file, where, time_us / MICRO, data[begin:at])


class Marker:
    """Puts marks into a journal; calling it answers the moment. For one thread."""

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def __call__(self) -> int:
        os.write(self.descriptor, HEAD.pack(0, MARK, 0, 0, 0))
        return os.lseek(self.descriptor, 0, os.SEEK_CUR)

    def __del__(self) -> None:
        os.close(self.descriptor)


# A disk -------------------------------------------------------------------------------------------------------------


@dataclass
class Change:
    """Of a file that is not known to be on the disk."""

    number: int
    at: int
    data: bytes | None  # None: only the size changes, to `at`

    @property
    def end(self) -> int:
        return self.at + len(self.data or b"")


@dataclass(eq=False)
class File:
    """What a sync has put on the disk, and what was done to it since."""

    content: bytearray = field(default_factory=bytearray)
    pending: list[Change] = field(default_factory=list)

    def settle(self, number: int) -> None:
        """Everything before a number is on the disk."""
        for change in self.pending:
            if change.number < number:
                apply(self.content, change)
        self.pending = [change for change in self.pending if change.number >= number]

    def sizes(self) -> list[int]:
        """Those it had since it was synced."""
        found = [len(self.content)]
        for change in self.pending:
            found.append(change.at if change.data is None else max(found[-1], change.end))
        return found

    def left(self, draw: random.Random, keep: float) -> bytes:
        """What there may be of it; keep: the share of sectors that are as they were last. Below 0: of no change any."""
        content = bytearray(self.content)
        if keep < 0:
            return bytes(content)
        sectors: dict[int, list[Change]] = {}
        for change in self.pending:
            for piece in pieces(change):
                sectors.setdefault(piece.at // SECTOR, []).append(piece)
        for writes in sectors.values():
            count = len(writes) if draw.random() < keep else draw.randrange(len(writes))
            for write in writes[:count]:
                apply(content, write)
        sizes = self.sizes()
        size = sizes[-1] if draw.random() < keep else draw.choice(sizes)
        return bytes(content[:size].ljust(size, b"\0"))


def apply(content: bytearray, change: Change) -> None:
    if change.data is None:
        del content[change.at :]
    content.extend(bytes(max(0, change.end - len(content))))
    content[change.at : change.end] = change.data or b""


def pieces(change: Change) -> Iterator[Change]:
    """A write cut where sectors meet. One of zeros alone stays whole: nothing but room is made by it."""
    if change.data is None:
        return
    if not change.data.strip(b"\0"):
        yield change
        return
    at = change.at
    while at < change.end:
        end = min(change.end, (at // SECTOR + 1) * SECTOR)
        yield Change(change.number, at, change.data[at - change.at : end - change.at])
        at = end


Contents = dict[str, bytes | None]


def contents(path: Path) -> Contents:
    """A directory and what is in it: files' bytes, None for directories."""
    return {str(place): None if place.is_dir() else place.read_bytes() for place in (path, *path.rglob("*"))}


class Directory:
    """Stands for one among names."""


DIRECTORY: Final = Directory()
Thing = File | Directory | None  # None: there is no such name
Names = dict[str, Thing]


@dataclass
class Renaming:
    """Names that change together, and are not known to be so on the disk until one of their directories is synced."""

    number: int
    directories: set[str]
    names: Names


class Disk:
    """What entries of a journal make of a disk.

    there: what it has in a directory already, see `contents`.
    deaf: kinds of things whose syncs are not believed: with them a test sees that it would notice what is missing.
    """

    def __init__(self, root: Path, there: Contents, *, deaf: tuple[type, ...] = ()) -> None:
        self.root = str(root)
        self.deaf = deaf
        self.names: Names = {  # as processes see it
            name: DIRECTORY if data is None else File(bytearray(data)) for name, data in there.items()
        }
        self.durable: Names = dict(self.names)
        self.pending: list[Renaming] = []
        self.opened: dict[int, File | str] = {}  # a directory by its path
        self.syncing: dict[int, int] = {}  # how much had been done when it began
        self.count = 0

    def do(self, entry: Entry) -> None:
        self.count += 1
        if entry.kind == OPEN:
            self.open(entry)
        elif entry.kind in (WRITE, ZEROS, SIZE):
            data = bytes(int.from_bytes(entry.data, "little")) if entry.kind == ZEROS else entry.data
            self.file(entry).pending.append(Change(self.count, entry.at, None if entry.kind == SIZE else data))
        elif entry.kind == RENAME:
            before, after = entry.data.decode().split("\0")
            self.rename({after: self.names[before], before: None})
        elif entry.kind == UNLINK:
            self.rename({entry.data.decode(): None})
        elif entry.kind == MAKE:
            self.rename({entry.data.decode(): DIRECTORY})
        elif entry.kind == SYNC:
            self.syncing[entry.file] = self.count
        elif entry.kind == SYNCED:
            self.sync(self.opened[entry.file], self.syncing[entry.file])

    def open(self, entry: Entry) -> None:
        path = entry.data.decode()
        thing = self.names.get(path)
        if thing is None:
            thing = File()
            self.rename({path: thing})
        self.opened[entry.file] = thing if isinstance(thing, File) else path

    def file(self, entry: Entry) -> File:
        found = self.opened[entry.file]
        assert isinstance(found, File)
        return found

    def rename(self, names: Names) -> None:
        self.names.update(names)
        self.pending.append(Renaming(self.count, {os.path.dirname(name) for name in names}, names))

    def sync(self, thing: File | str, number: int) -> None:
        if isinstance(thing, File):
            if File not in self.deaf:
                thing.settle(number)
        elif Directory not in self.deaf:
            for renaming in self.pending:
                if thing in renaming.directories and renaming.number < number:
                    self.durable.update(renaming.names)
            self.pending = [r for r in self.pending if thing not in r.directories or r.number >= number]

    def lose_power(self, draw: random.Random, into: Path, *, most: bool = False) -> None:
        """Make a directory of what may be left; most: of no more than must be."""
        keep_names, keep_sectors = draw.choice((0.0, 0.5, 0.9, 1.0)), draw.choice((0.0, 0.3, 0.9, 1.0))
        if most:
            keep_names, keep_sectors = 0.0, -1.0
        names = dict(self.durable)
        for renaming in self.pending:
            if draw.random() < keep_names:
                names.update(renaming.names)
        into.mkdir()
        for path, thing in sorted(names.items()):
            place = Path(str(into) + path.removeprefix(self.root))
            if thing is None or place == into or not place.parent.is_dir():
                continue
            if isinstance(thing, File):
                left = thing.left(draw, keep_sectors)
                with place.open("wb") as file:
                    file.write(left.rstrip(b"\0"))
                    file.truncate(len(left))
            else:
                place.mkdir()


def crash_points(done: list[Entry], count: int, draw: random.Random) -> list[int]:
    """Moments in order: half of them just after something that is rare."""
    rare = [number for number, entry in enumerate(done) if entry.kind in RARE - {OPEN} or entry.makes]
    near = [min(draw.choice(rare) + draw.randrange(4), len(done) - 1) for _ in range(count // 2)] if rare else []
    anywhere = [draw.randrange(len(done)) for _ in range(count - len(near))]
    return [done[number].end for number in sorted(near + anywhere)]
