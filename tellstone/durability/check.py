"""What is damaged in a directory, file by file, with the keys that can still be read there."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tellstone._core.store.record import KINDS
from tellstone._core.store.recovery import RecoveryJob
from tellstone.durability.directory import LOGS
from tellstone.durability.past import Watch, bases_in
from tellstone.durability.snapshots import generation_of

KEYS_SHOWN = 8
READ_MOST = 1024**2  # bytes of a damaged place that are looked through for keys
RECORD_HEAD = 16
BLOCK_HEAD = 24
KEY_AT = {  # by the kind of a record: where the key's length stands in the body, if anywhere, and where the key does
    KINDS["put"]: (12, 16),
    KINDS["patch"]: (18, 22),
    KINDS["deadline"]: (None, 10),
    KINDS["delete"]: (None, 2),
}


@dataclass(frozen=True)
class Fault:
    """A damaged place."""

    file: str  # below the directory
    offset: int
    length: int
    shard: int | None
    first: int  # numbers of the records that are lost, 0 where they are not known
    last: int
    wrong: str
    keys: tuple[bytes, ...] = ()  # whose entries or records seem to have been there

    def __str__(self) -> str:
        text = f"{self.file}, offset {self.offset}, {self.length} bytes"
        text += f", shard {self.shard}" if self.shard is not None else ""
        text += f": {self.wrong}"
        text += f", numbers {self.first} to {self.last}" if self.first else ""
        shown = ", ".join(ascii(key)[1:] for key in self.keys[:KEYS_SHOWN])
        more = "..." if len(self.keys) > KEYS_SHOWN else ""
        return f"{text}; keys: {shown}{more}" if shown else text


@dataclass(frozen=True)
class End:
    """A log that ends in bytes which do not count: a crash came before they were safe."""

    file: str
    offset: int
    shard: int
    torn_bytes: int
    dropped: int  # whole records behind a change of several shards that is not whole

    def __str__(self) -> str:
        text = f"{self.file}, offset {self.offset}, shard {self.shard}: "
        parts = [f"{self.torn_bytes} bytes of unfinished writes"] * bool(self.torn_bytes)
        parts += [f"{self.dropped} records of changes that are not whole"] * bool(self.dropped)
        return text + (" and ".join(parts) or "nothing more")


@dataclass(frozen=True)
class Report:
    """What a check has found."""

    generation: int
    shards: int
    snapshots: int
    segments: int
    unfinished: int  # snapshots
    ends: list[End]
    faults: list[Fault]
    more_faults: int  # that are only counted

    @property
    def whole(self) -> bool:
        """Whether a server would start from it, with nothing lost that was acknowledged."""
        return not self.faults


def check(directory: Path, watch: Watch | None = None) -> Report:
    """Verify every file. Raises DamageError for files of a later version, StartError for files that cannot be read."""
    newest = run(directory, None, watch)
    older = [run(directory, base, watch) for base in older_logs(directory, newest.generation)]
    snapshots, segments = newest.files
    return Report(
        newest.generation,
        newest.shards,
        snapshots,
        segments,
        newest.unfinished,
        [End(file, offset, shard, torn, dropped) for shard, file, offset, torn, dropped in newest.ends],
        [fault for job in (newest, *older) for fault in faults_of(directory, job)],
        sum(job.more_faults for job in (newest, *older)),
    )


def run(directory: Path, base: tuple[int, int] | None, watch: Watch | None) -> RecoveryJob:
    """Check all snapshots and the newest logs, or the logs of an older generation."""
    job = RecoveryJob(None, directory, mode="check", base=base)
    if watch is not None:
        watch(job)
    job.run()
    return job


def older_logs(directory: Path, newest: int) -> Iterator[tuple[int, int]]:
    """What the logs of older generations go on from, as a RecoveryJob takes it: they are kept for earlier moments."""
    generations = {generation_of(path) for path in (directory / LOGS).glob("*.log")}
    numbers = {(base.generation, base.number) for base in bases_in(directory)}
    for generation in sorted(generations & {one for one, _ in numbers} - {newest}):
        yield max(one for one in numbers if one[0] == generation)


def faults_of(directory: Path, job: RecoveryJob) -> Iterator[Fault]:
    """What a job has found, with the keys that are there."""
    for fault in job.faults:
        yield Fault(*fault, tuple(keys_in(directory / fault[0], fault[1], fault[2])))


# Keys in what is hurt: lengths may be wrong there, so each is only a guess, and the first bad one ends it.


def keys_in(file: Path, offset: int, length: int) -> Iterator[bytes]:
    """The keys that seem to stand in a damaged place."""
    try:
        with file.open("rb") as stream:
            stream.seek(offset)
            data = stream.read(min(length, READ_MOST))
    except OSError:
        return
    if file.suffix == ".log":
        yield from record_keys(data)
    elif len(data) > BLOCK_HEAD:
        yield from entry_keys(data[BLOCK_HEAD:])


def record_keys(data: bytes) -> Iterator[bytes]:
    """Of records, one behind the other."""
    at = 0
    while at + RECORD_HEAD < len(data):
        (size,) = struct.unpack_from("<I", data, at + 4)
        body = data[at + RECORD_HEAD : at + RECORD_HEAD + size]
        if size < 2 or body[0] not in KINDS.values():
            return
        yield from key_of(body)
        at += RECORD_HEAD + size


def entry_keys(data: bytes) -> Iterator[bytes]:
    """Of a block's entries."""
    at = 0
    while at + 4 < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        body = data[at + 4 : at + 4 + size]
        if size < 2 or body[0] != KINDS["put"]:
            return
        yield from key_of(body)
        at += 4 + size


def key_of(body: bytes) -> Iterator[bytes]:
    """The key in a body, if it has one and its length can be right."""
    length_at, key_at = KEY_AT.get(body[0], (None, len(body)))
    end = len(body)
    if length_at is not None:
        if len(body) < key_at:
            return
        end = key_at + int(struct.unpack_from("<I", body, length_at)[0])
    if key_at < end <= len(body):
        yield body[key_at:end]
