"""A reader of logs, written from docs/format.md alone: what the page says is what these tests hold the writer to.

Only checksums come from the core, for speed; test_record compares them with the page's own.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellstone._core.store.record import crc32c_of

MAGIC = b"\x89TSLOG\r\n"
HEAD, RECORD_HEAD = 64, 16
KINDS = {1: "put", 2: "patch", 3: "deadline", 4: "delete", 5: "flush", 6: "swap", 7: "begin", 8: "mark"}
TABLE: list[int] = []
for byte in range(256):
    crc = byte
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    TABLE.append(crc)


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class Damaged(Exception):
    """A log that no crash leaves."""


@dataclass
class Record:
    kind: str
    seq: int
    fields: tuple[Any, ...]


@dataclass
class Segment:
    generation: int
    shard: int
    first: int
    shards: int
    time: int
    data: bytes


def parse_body(body: bytes) -> tuple[str, tuple[Any, ...]]:
    kind, db, rest = KINDS[body[0]], body[1], body[2:]
    if kind == "put":
        deadline, type_, encoding, n = struct.unpack_from("<qBBI", rest)
        return kind, (db, type_, encoding, deadline, rest[14 : 14 + n], rest[14 + n :])
    if kind == "patch":
        offset, size, n = struct.unpack_from("<QQI", rest)
        return kind, (db, rest[20 : 20 + n], offset, size, rest[20 + n :])
    if kind == "deadline":
        return kind, (db, *struct.unpack_from("<q", rest), rest[8:])
    if kind == "delete":
        return kind, (db, rest)
    if kind == "flush":
        return kind, (db,)
    if kind == "swap":
        return kind, (db, rest[0])
    if kind == "mark":
        return kind, struct.unpack("<qQ", rest)
    records, parts = struct.unpack_from("<II", rest)
    return kind, (records, tuple(struct.unpack_from("<IQ", rest, 8 + 12 * i) for i in range(parts)))


def record_at(data: bytes, at: int) -> tuple[Record, int] | None:
    """The record, and where the next one would begin."""
    if len(data) - at < RECORD_HEAD:
        return None
    crc, size, seq = struct.unpack_from("<IIQ", data, at)
    end = at + RECORD_HEAD + size
    if size < 2 or end > len(data) or crc32c_of(data[at + 4 : end]) != crc:
        return None
    kind, fields = parse_body(data[at + RECORD_HEAD : end])
    return Record(kind, seq, fields), end


def segments(directory: Path) -> dict[int, list[Segment]]:
    """Those of the newest generation by shard, in order."""
    found: list[Segment] = []
    for path in (directory / "logs").glob("*.log"):
        generation, shard, first = (int(part, 16) for part in path.stem.split("-"))
        data = path.read_bytes()
        version, in_shard, in_generation, shards, zero, in_first, time = struct.unpack_from("<IIQIIQq", data, 8)
        assert data[:8] == MAGIC and version == 1 and zero == 0 and data[48:60] == bytes(12)
        assert struct.unpack_from("<I", data, 60)[0] == crc32c_of(data[:60])
        assert (in_generation, in_shard, in_first) == (generation, shard, first)
        found.append(Segment(generation, shard, first, shards, time, data))
    newest = max(segment.generation for segment in found)
    by_shard: dict[int, list[Segment]] = {}
    for segment in sorted(found, key=lambda s: s.first):
        if segment.generation == newest:
            by_shard.setdefault(segment.shard, []).append(segment)
    return by_shard


def hurt_was_safe(data: bytes, at: int, missing: int) -> bool:
    """Whether a MARK behind bytes that are no record says that they had been one, and safe."""
    for offset in range(at, len(data.rstrip(b"\0"))):
        found = record_at(data, offset)
        if found and found[0].kind == "mark" and found[0].fields[1] >= missing:
            return True
    return False


def read_log(of_shard: list[Segment], covered: int = 0) -> tuple[list[Record], bytes]:
    """Records above the number that a snapshot covers, MARKs included, and the torn end."""
    start = max(i for i, segment in enumerate(of_shard) if segment.first <= covered + 1)
    records: list[Record] = []
    expected, data, at = of_shard[start].first, b"", 0
    for i, segment in enumerate(of_shard[start:]):
        if segment.first != expected:
            raise Damaged(f"segment {i} begins with {segment.first}, not with {expected}")
        data, at = segment.data, HEAD
        while (found := record_at(data, at)) and found[0].seq == expected - (found[0].kind == "mark"):
            expected += found[0].kind != "mark"
            if found[0].seq > covered:
                records.append(found[0])
            at = found[1]
    if hurt_was_safe(data, at, expected):
        raise Damaged(f"record {expected} at {at}")
    return records, data[at:].rstrip(b"\0")


def read_logs(directory: Path, covered: list[int] | None = None) -> dict[int, list[Record]]:
    """What each shard's log says, without MARKs; there must be no torn end."""
    result = {}
    for shard, of_shard in segments(directory).items():
        records, torn = read_log(of_shard, covered[shard] if covered else 0)
        assert torn == b""
        result[shard] = [record for record in records if record.kind != "mark"]
    return result
