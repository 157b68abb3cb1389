"""Records: what is written is read, what is hurt is noticed, and no bytes do harm."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from store import reading

from tellstone._core.store.record import KINDS, RecordWriter, crc32c_of, read_records

pytestmark = pytest.mark.core

Change = tuple[str, tuple[Any, ...]]
I64, U64, U32 = st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1)
DB, KEY, VALUE = st.integers(0, 15), st.binary(max_size=40), st.binary(max_size=300)


@st.composite
def patches(draw: st.DrawFn) -> tuple[Any, ...]:
    data = draw(VALUE)
    offset = draw(st.integers(0, 2**40))
    return draw(DB), draw(KEY), offset, offset + len(data) + draw(st.integers(0, 2**40)), data


PARTS = st.lists(st.tuples(U32, U64), min_size=1, max_size=5).map(tuple)
CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.tuples(DB, st.integers(0, 255), st.integers(0, 1), I64, KEY, VALUE).map(lambda it: ("put", it)),
    st.tuples(DB, st.integers(0, 255), st.just(2), I64, KEY, st.binary(min_size=8, max_size=8)).map(
        lambda it: ("put", it)
    ),
    patches().map(lambda it: ("patch", it)),
    st.tuples(DB, I64, KEY).map(lambda it: ("deadline", it)),
    st.tuples(DB, KEY).map(lambda it: ("delete", it)),
    st.tuples(DB).map(lambda it: ("flush", it)),
    st.tuples(DB, DB).map(lambda it: ("swap", it)),
    st.tuples(U32, PARTS).map(lambda it: ("begin", it)),
    st.tuples(I64, U64).map(lambda it: ("mark", it)),
)


def written(changes: list[Change], seq: int = 0) -> bytes:
    writer = RecordWriter(seq)
    for name, fields in changes:
        getattr(writer, name)(*fields)
    assert not writer.failed
    return writer.data


def read(data: bytes, **options: Any) -> tuple[list[tuple[int, str, int, tuple[Any, ...]]], tuple[int, str]]:
    """All whole records, and where and why reading ended."""
    records = []
    reader = read_records(data, **options)
    while True:
        try:
            records.append(next(reader))
        except StopIteration as end:
            return records, end.value


ONE_OF_EACH: list[Change] = [
    ("put", (3, 1, 0, -1, b"a key", b"a value")),
    ("put", (0, 1, 2, 1_800_000_000_000, b"", b"\x01" + bytes(7))),
    ("patch", (1, b"key", 5, 9, b"data")),
    ("deadline", (15, 1_800_000_000_000, b"key")),
    ("delete", (0, b"key")),
    ("flush", (2,)),
    ("swap", (4, 5)),
    ("begin", (2, ((0, 8), (3, 2**63)))),
    ("mark", (1_800_000_000_000, 7)),
]


# Checksums: RFC 3720, B.4 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_tables", [False, True])
@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (
            bytes.fromhex("01c00000000000000000000000000000140000000000040000000014000000182800000000000000")
            + bytes.fromhex("0200000000000000"),
            0xD9963A56,
        ),
    ],
)
def test_a_checksum_is_the_standard_s(data: bytes, crc: int, by_tables: bool) -> None:
    assert crc32c_of(data, by_tables=by_tables) == crc == reading.crc32c(data)


def test_checksums_agree_at_every_length_and_go_on() -> None:
    data = random.Random(1).randbytes(20_000)
    for n in [*range(80), 511, 512, 513, 1535, 1536, 1537, 3071, 3072, 4999, 20_000]:
        crc = crc32c_of(data[:n])
        assert crc == crc32c_of(data[:n], by_tables=True)
        assert crc == crc32c_of(data[n // 3 : n], crc32c_of(data[: n // 3]))


# Round trips --------------------------------------------------------------------------------------------------------


@examples(300)
@given(changes=st.lists(CHANGES, max_size=8), seq=st.integers(0, 2**63))
def test_what_is_written_is_read(changes: list[Change], seq: int) -> None:
    data = written(changes, seq)
    records, end = read(data)
    assert end == (len(data), "end")
    assert [(kind, fields) for _, kind, _, fields in records] == changes
    for _, kind, number, _ in records:
        seq += kind != "mark"
        assert number == seq


@examples(150)
@given(changes=st.lists(CHANGES, min_size=1, max_size=6))
def test_the_page_reads_what_is_written(changes: list[Change]) -> None:
    data = written(changes)
    at, found = 0, []
    while record := reading.record_at(data, at):
        found.append((record[0].kind, record[0].fields))
        at = record[1]
    assert found == changes and at == len(data)


def test_a_count_is_written_afterwards() -> None:
    writer = RecordWriter()
    writer.delete(0, b"k")
    at = len(writer.data)
    writer.begin(0, ((0, 2),))
    writer.delete(0, b"k")
    writer.set_count(at, 1)
    records, end = read(writer.data)
    assert records[1][3] == (1, ((0, 2),)) and end[1] == "end"


# Ends ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zeros", [0, 1, 7, 8, 17, 18, 4096])
def test_zeros_behind_the_last_record_are_an_end(zeros: int) -> None:
    data = written(ONE_OF_EACH)
    records, end = read(data + bytes(zeros))
    assert len(records) == len(ONE_OF_EACH) and end == (len(data), "end")


def test_a_record_cut_short_is_no_end() -> None:
    data = written([("put", (0, 1, 0, -1, b"key", b"value" * 10))])
    for n in range(1, len(data)):
        records, end = read(data[:n])
        assert records == [] and end == (0, "short")


def test_zeros_with_something_behind_them_are_torn() -> None:
    assert read(bytes(64) + b"\x01")[1] == (0, "torn")
    assert read(bytes(64) + written(ONE_OF_EACH))[1] == (0, "torn")


def test_a_record_may_not_claim_to_be_larger_than_it_is_bounded_to() -> None:
    data = written([("put", (0, 1, 0, -1, b"key", b"value"))])
    assert read(data, most=len(data))[1] == (len(data), "end")
    assert read(data, most=len(data) - 1)[1] == (0, "torn")


# Damage -------------------------------------------------------------------------------------------------------------


def test_every_flipped_bit_is_noticed() -> None:
    for change in ONE_OF_EACH:
        data = written([change, ("delete", (0, b"the next one"))])
        size = len(written([change]))
        for bit in range(8 * size):
            hurt = bytearray(data)
            hurt[bit >> 3] ^= 1 << (bit & 7)
            records, end = read(bytes(hurt))
            assert records == [] and end[0] == 0 and end[1] != "end", (change, bit)


@examples(300)
@given(data=st.binary(max_size=400), tail=st.booleans())
def test_no_bytes_do_harm(data: bytes, tail: bool) -> None:
    records, _ = read((written(ONE_OF_EACH) if tail else b"") + data)
    assert len(records) >= tail * len(ONE_OF_EACH)


@examples(600)
@given(kind=st.integers(0, 10), db=st.integers(0, 17), rest=st.binary(max_size=60))
def test_no_body_with_a_right_checksum_does_harm(kind: int, db: int, rest: bytes) -> None:
    body = bytes([kind, db]) + rest
    behind = struct.pack("<IQ", len(body), 1) + body
    records, end = read(struct.pack("<I", crc32c_of(behind)) + behind)
    if not records:
        assert end == (0, "torn")
        return
    _, name, _, fields = records[0]
    assert KINDS[name] == kind and db < 16
    if name == "patch":
        assert fields[2] + len(fields[4]) <= fields[3]
    assert sum(len(part) for part in fields if isinstance(part, bytes)) <= len(rest)
