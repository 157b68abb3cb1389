"""Histories of changes, the files that a server would have of them, and what must come back from such files.

Written from the pages of the formats and from nothing else, so that it disagrees where the core and the pages do.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tellstone import Engine
from tellstone._core.store.keyspace import Store
from tellstone._core.store.record import RecordWriter, crc32c_of

NEVER = -1
STRING, RAW, INT = 1, 0, 2
DATABASES = 16
NOW = 1_700_000_000_000  # what clocks of these tests say

Value = tuple[bytes, int]  # and its deadline
Shard = dict[int, dict[bytes, Value]]
State = dict[tuple[int, bytes], Value]


def fnv1a(key: bytes) -> int:
    h = 0xCBF29CE484222325
    for byte in key:
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def is_integer(text: bytes) -> bool:
    try:
        return len(text) < 20 and str(int(text)).encode() == text
    except ValueError:
        return False


def put_fields(key: bytes, value: Value) -> tuple[int, int, int, bytes, bytes]:
    """Type, encoding, deadline, key and value as a PUT has them."""
    text, deadline = value
    if is_integer(text):
        return STRING, INT, deadline, key, struct.pack("<q", int(text))
    return STRING, RAW, deadline, key, text


@dataclass
class Change:
    """What one record does."""

    kind: str
    db: int = 0
    key: bytes = b""
    value: Value = (b"", NEVER)
    offset: int = 0
    other: int = 0
    records: int = 0
    parts: tuple[tuple[int, int], ...] = ()

    def write(self, to: RecordWriter) -> None:
        if self.kind == "put":
            kind, encoding, deadline, key, text = put_fields(self.key, self.value)
            to.put(self.db, kind, encoding, deadline, key, text)
        elif self.kind == "patch":
            to.patch(self.db, self.key, self.offset, self.other, self.value[0])
        elif self.kind == "deadline":
            to.deadline(self.db, self.value[1], self.key)
        elif self.kind == "delete":
            to.delete(self.db, self.key)
        elif self.kind == "flush":
            to.flush(self.db)
        elif self.kind == "swap":
            to.swap(self.db, self.other)
        else:
            to.begin(self.records, self.parts)

    def do(self, to: Shard) -> None:
        keys = to.setdefault(self.db, {})
        text, deadline = keys.get(self.key, (b"", NEVER))
        if self.kind == "put":
            keys[self.key] = self.value
        elif self.kind == "patch":
            text = text[: self.other].ljust(self.other, b"\0")
            keys[self.key] = (text[: self.offset] + self.value[0] + text[self.offset + len(self.value[0]) :], deadline)
        elif self.kind == "deadline" and self.key in keys:
            keys[self.key] = (text, self.value[1])
        elif self.kind == "delete":
            keys.pop(self.key, None)
        elif self.kind == "flush":
            keys.clear()
        elif self.kind == "swap":
            to[self.db], to[self.other] = to.setdefault(self.other, {}), to[self.db]


@dataclass
class History:
    """Changes of so many shards, in the order of each; change n of a shard has the number n + 1."""

    shards: int
    journals: list[list[Change]] = field(default_factory=list)
    now: list[Shard] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.journals = [[] for _ in range(self.shards)]
        self.now = [{} for _ in range(self.shards)]

    def add(self, shard: int, change: Change) -> None:
        self.journals[shard].append(change)
        change.do(self.now[shard])

    def alone(self, change: Change) -> None:
        self.add(fnv1a(change.key) % self.shards, change)

    def together(self, changes: Iterable[tuple[int, Change]]) -> None:
        """A change of several shards."""
        by_shard: dict[int, list[Change]] = {}
        for shard, change in changes:
            by_shard.setdefault(shard, []).append(change)
        parts = tuple((shard, len(self.journals[shard]) + 1) for shard in sorted(by_shard))
        for shard, mine in sorted(by_shard.items()):
            self.add(shard, Change("begin", records=len(mine), parts=parts))
            for change in mine:
                self.add(shard, change)

    def put_many(self, items: list[tuple[bytes, Value]], db: int = 0) -> None:
        self.together((fnv1a(key) % self.shards, Change("put", db, key, value)) for key, value in items)

    def all_shards(self, change: Change) -> None:
        self.together((shard, change) for shard in range(self.shards))

    def state(self, numbers: list[int] | None = None) -> State:
        """Of every key, when each shard has made its changes up to a number."""
        found: State = {}
        for shard in range(self.shards):
            state = self.now[shard] if numbers is None else self.shard_at(shard, numbers[shard])
            found.update({(db, key): value for db, keys in state.items() for key, value in keys.items()})
        return found

    def shard_at(self, shard: int, number: int) -> Shard:
        state: Shard = {}
        for change in self.journals[shard][:number]:
            change.do(state)
        return state

    def whole(self, numbers: list[int], covered: list[int] | None = None) -> list[int]:
        """Up to which number each shard counts when so many of its records are there."""
        covered = covered or [0] * self.shards
        numbers = [max(pair) for pair in zip(numbers, covered, strict=True)]
        while True:
            ends = [
                next((n for n in range(covered[s], numbers[s]) if self.is_cut(s, n, numbers, covered)), numbers[s])
                for s in range(self.shards)
            ]
            if ends == numbers:
                return ends
            numbers = ends

    def is_cut(self, shard: int, index: int, numbers: list[int], covered: list[int]) -> bool:
        """The change there is of several shards, and some of it is missing."""
        change = self.journals[shard][index]
        if change.kind != "begin":
            return False
        return any(
            seq > covered[other] and seq + self.journals[other][seq - 1].records > numbers[other]
            for other, seq in change.parts
        )


def random_value(r: random.Random) -> Value:
    text = r.choice(
        [
            b"%d" % r.randrange(-(2**63), 2**63),
            b"%d" % r.randrange(300),
            r.randbytes(r.randrange(60)),
            r.randbytes(r.randrange(2000)),
            b"" if r.random() < 0.9 else r.randbytes(r.choice([31_999, 32_000, 100_000])),
        ]
    )
    return text, NEVER if r.random() < 0.7 else NOW + r.randrange(-(10**6), 10**6)


def random_history(r: random.Random, shards: int, changes: int, keys: int = 40) -> History:
    """Everything that a server may do, in proportions that make it interesting."""
    history = History(shards)
    change_at_random(r, history, changes, keys)
    return history


def change_at_random(r: random.Random, history: History, changes: int, keys: int = 40) -> None:
    """Go on with a history."""
    for _ in range(changes):
        db = r.choice([0, 0, 0, 1, 15])
        key = b"key:%d" % r.randrange(keys) * r.choice([1, 1, 1, 60])
        pick = r.random()
        if pick < 0.45:
            history.alone(Change("put", db, key, random_value(r)))
        elif pick < 0.6:
            add_patch(history, r, db, key)
        elif pick < 0.7:
            if key in history.now[fnv1a(key) % history.shards].get(db, {}):  # else a server logs none
                history.alone(Change("deadline", db, key, (b"", r.choice([NEVER, NOW - 5, NOW + 10**6]))))
        elif pick < 0.82:
            history.alone(Change("delete", db, key))
        elif pick < 0.97:
            history.put_many([(b"many:%d" % r.randrange(keys), random_value(r)) for _ in range(r.randrange(1, 6))], db)
        elif pick < 0.985:
            history.all_shards(Change("flush", db))
        else:
            history.all_shards(Change("swap", db, other=r.choice([1, 2, 15])))


def add_patch(history: History, r: random.Random, db: int, key: bytes) -> None:
    """A string that is grown or written into, as SETRANGE and APPEND do it."""
    was = history.now[fnv1a(key) % history.shards].get(db, {}).get(key, (b"", NEVER))[0]
    data = r.randbytes(r.randrange(1, 50))
    offset = len(was) if r.random() < 0.5 else r.choice([r.randrange(len(was) + 100), r.randrange(35_000)])
    size = max(len(was), offset + len(data))
    history.alone(Change("patch", db, key, (data, NEVER), offset, size))


# Files ----------------------------------------------------------------------------------------------------------


def segment_head(generation: int, shard: int, shards: int, first: int, version: int = 1) -> bytes:
    head = b"\x89TSLOG\r\n" + struct.pack("<IIQIIQq12x", version, shard, generation, shards, 0, first, NOW)
    return head + struct.pack("<I", crc32c_of(head))


def segment_name(generation: int, shard: int, first: int) -> str:
    return f"{generation:016x}-{shard:016x}-{first:016x}.log"


def snapshot_name(generation: int, number: int) -> str:
    return f"{generation:016x}-{number:016x}.snapshot"


@dataclass
class Written:
    """A segment's bytes, and where each of its records ends."""

    first: int
    data: bytes
    ends: list[int]  # by record, MARKs left out
    marks: list[int]  # where a MARK ends


def write_segments(
    history: History,
    shard: int,
    begin: int = 0,
    generation: int = 1,
    every: int = 1000,
    batch: int = 5,
) -> Iterator[Written]:
    """The records behind a number, so many a segment; behind each batch a MARK, whose predecessor was synced."""
    journal = history.journals[shard]
    synced = 0
    for start in range(begin, max(len(journal), begin + 1), every):
        writer = RecordWriter(start)
        head = segment_head(generation, shard, history.shards, start + 1)
        written = Written(start + 1, b"", [], [])
        for number, change in enumerate(journal[start : start + every], start + 1):
            change.write(writer)
            written.ends.append(len(head) + len(writer.data))
            if number % batch == 0 or number == min(start + every, len(journal)):
                writer.mark(NOW + number, synced)
                synced = number
                written.marks.append(len(head) + len(writer.data))
        written.data = head + writer.data
        yield written


def make_directories(root: Path) -> None:
    (root / "logs").mkdir(exist_ok=True)
    (root / "snapshots").mkdir(exist_ok=True)


def write_logs(
    history: History, root: Path, begins: list[int] | None = None, zeros: int = 0, **how: int
) -> list[list[Written]]:
    make_directories(root)
    generation = how.get("generation", 1)
    written = []
    for shard in range(history.shards):
        segments = list(write_segments(history, shard, begins[shard] if begins else 0, **how))
        for segment in segments:
            name = segment_name(generation, shard, segment.first)
            (root / "logs" / name).write_bytes(segment.data + bytes(zeros))
        written.append(segments)
    return written


def snapshot_bytes(shards: list[tuple[int, Shard]], generation: int = 1, version: int = 1, block: int = 300) -> bytes:
    """The file of a snapshot: each shard's number, and its entries."""
    head = b"\x89TSNAP\r\n" + struct.pack("<IIQqI", version, len(shards), generation, NOW, 0)
    out = bytearray(head + struct.pack("<I", crc32c_of(head)))
    foot = b""
    for shard, (number, databases) in enumerate(shards):
        offset, total, total_sum = len(out), 0, 0
        for db, keys in sorted(databases.items()):
            for entries in blocks_of(db, keys, block):
                rest = struct.pack("<IIB3xQ", len(entries[0]), shard, db, number) + entries[0]
                out += struct.pack("<I", crc32c_of(rest)) + rest
                total_sum = crc32c_of(struct.pack("<I", crc32c_of(rest)), total_sum)
                total += entries[1]
        foot += struct.pack("<QQQII", number, offset, total, total_sum, 0)
    count = sum(len(keys) for _, databases in shards for keys in databases.values())
    foot += struct.pack("<QQI", count, len(out), 0)
    return bytes(out) + foot + struct.pack("<I", crc32c_of(foot)) + b"TSNAPEND"


def blocks_of(db: int, keys: dict[bytes, Value], least: int) -> Iterator[tuple[bytes, int]]:
    entries, count = b"", 0
    for key, value in keys.items():
        kind, encoding, deadline, key, text = put_fields(key, value)
        body = struct.pack("<BBqBBI", 1, db, deadline, kind, encoding, len(key)) + key + text
        entries += struct.pack("<I", len(body)) + body
        count += 1
        if len(entries) >= least:
            yield entries, count
            entries, count = b"", 0
    if count:
        yield entries, count


# Stores ---------------------------------------------------------------------------------------------------------


def new_store(shards: int, now: int = NOW) -> Store:
    store = Store(shards)
    store.set_clock(now)
    return store


def content(store: Store) -> State:
    """All keys, by way of commands."""
    engine = Engine._over(store)
    found: State = {}
    for db in range(DATABASES):
        engine.execute("SELECT", db)
        cursor = 0
        while True:
            cursor, keys = engine.execute("SCAN", cursor, "COUNT", 1000)
            for key in keys:
                found[db, key] = engine.execute("GET", key), engine.execute("PEXPIRETIME", key)
            if not int(cursor):
                break
    return found


def living(state: State, now: int = NOW) -> State:
    return {place: value for place, value in state.items() if value[1] == NEVER or value[1] >= now}
