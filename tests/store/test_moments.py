"""States of a moment, from files that are written by the page (docs/format.md), and how moments are written."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from store import histories

from tellstone._core.store.recovery import RecoveryJob
from tellstone.durability.moments import parse_moment, show_moment
from tellstone.durability.past import bases_in, spans_in
from tellstone.durability.restore import load_moment
from tellstone.errors import DamageError

pytestmark = pytest.mark.core


def numbers_at(written: list[list[histories.Written]], after: int) -> list[int]:
    """By shard: the last number that a MARK tells of by so many ms after NOW. A MARK's time is NOW and its number."""
    found = []
    for segments in written:
        ends = [
            written.first + sum(1 for end in written.ends if end < mark) - 1
            for written in segments
            for mark in written.marks
        ]
        found.append(max([number for number in ends if number <= after], default=0))
    return found


def state_at(root: Path, at_ms: int, shards: int = 2, base: tuple[int, int] = (1, 0)) -> histories.State:
    store = histories.new_store(shards)
    RecoveryJob(store, root, base=base, until_ms=at_ms).run(2)
    return histories.content(store)


@pytest.mark.parametrize("seed", range(12))
def test_the_newest_whole_state_of_a_moment(tmp_path: Path, seed: int) -> None:
    r = random.Random(seed)
    shards = r.choice([1, 2, 3, 8])
    history = histories.random_history(r, shards, 150)
    written = histories.write_logs(history, tmp_path, every=r.choice([7, 40, 1000]), batch=r.randrange(1, 9))
    most = max(len(journal) for journal in history.journals)
    for after in [0, most, *(r.randrange(most) for _ in range(6))]:
        ends = history.whole(numbers_at(written, after))
        found = state_at(tmp_path, histories.NOW + after, r.choice([shards, 3]))
        assert found == histories.living(history.state(ends)), after
    assert state_at(tmp_path, histories.NOW - 1) == {}


@pytest.mark.parametrize("seed", range(8))
def test_behind_a_snapshot(tmp_path: Path, seed: int) -> None:
    r = random.Random(100 + seed)
    history = histories.random_history(r, 3, 150)
    written = histories.write_logs(history, tmp_path, every=20, batch=4)
    least = min(len(journal) for journal in history.journals)
    ready = r.randrange(least)
    covered = history.whole(numbers_at(written, ready))
    states = [(number, history.shard_at(shard, number)) for shard, number in enumerate(covered)]
    (tmp_path / "snapshots" / histories.snapshot_name(1, 5)).write_bytes(histories.snapshot_bytes(states))
    for after in range(ready, max(len(journal) for journal in history.journals), 9):
        ends = history.whole(numbers_at(written, after), covered)
        found = state_at(tmp_path, histories.NOW + after, 3, (1, 5))
        assert found == histories.living(history.state(ends)) == state_at(tmp_path, histories.NOW + after), after


def one_shard(root: Path, changes: int = 30) -> histories.History:
    history = histories.History(1)
    for i in range(changes):
        history.alone(histories.Change("put", 0, b"key:%d" % (i % 7), (b"%d" % i, histories.NEVER)))
    histories.write_logs(history, root, every=10, batch=2)
    return history


def test_what_entries_show_already_is_not_taken_back(tmp_path: Path) -> None:
    """A snapshot whose entries were read while four more records came serves for no moment before these."""
    history = one_shard(tmp_path)
    data = bytearray(histories.snapshot_bytes([(10, history.shard_at(0, 14))]))
    foot = data[-64:]
    foot[28:32] = (4).to_bytes(4, "little")
    foot[52:56] = histories.crc32c_of(bytes(foot[:52])).to_bytes(4, "little")
    data[-64:] = foot
    (tmp_path / "snapshots" / histories.snapshot_name(1, 1)).write_bytes(data)
    with pytest.raises(DamageError, match="of a later time"):
        state_at(tmp_path, histories.NOW + 13, base=(1, 1))
    assert state_at(tmp_path, histories.NOW + 14, base=(1, 1)) == history.state([14])


def test_damage_behind_the_moment_does_not_matter(tmp_path: Path) -> None:
    history = one_shard(tmp_path)
    file = tmp_path / "logs" / histories.segment_name(1, 0, 11)
    data = bytearray(file.read_bytes())
    data[300] ^= 1
    file.write_bytes(data)
    (span,) = spans_in(tmp_path)
    assert not span.latest and histories.NOW + 10 <= span.last_ms < histories.NOW + 20
    last = span.last_ms - histories.NOW
    assert state_at(tmp_path, span.last_ms - 1) == history.state([last - 2])
    assert state_at(tmp_path, span.last_ms) == history.state([last])
    with pytest.raises(DamageError):
        state_at(tmp_path, histories.NOW + 25)
    assert load_moment(tmp_path, histories.NOW + 25, None) is None


def test_an_older_base_serves_where_a_newer_one_is_damaged(tmp_path: Path) -> None:
    history = one_shard(tmp_path)
    for number, covered in ((1, 4), (2, 12)):
        data = bytearray(histories.snapshot_bytes([(covered, history.shard_at(0, covered))]))
        data[80] ^= number == 2
        (tmp_path / "snapshots" / histories.snapshot_name(1, number)).write_bytes(data)
    assert [base.number for base in bases_in(tmp_path)] == [0, 1, 2]
    loaded = load_moment(tmp_path, histories.NOW + 20, None)
    assert loaded is not None and loaded[2].number == 1
    assert histories.content(loaded[0]) == history.state([20])


def test_logs_that_are_missing_end_a_span(tmp_path: Path) -> None:
    history = one_shard(tmp_path)
    states = [(25, history.shard_at(0, 25))]
    (tmp_path / "snapshots" / histories.snapshot_name(1, 1)).write_bytes(later(histories.snapshot_bytes(states), 25))
    (tmp_path / "logs" / histories.segment_name(1, 0, 11)).unlink()
    first, second = spans_in(tmp_path)
    assert (first.first_ms, first.last_ms, first.latest) == (histories.NOW, histories.NOW + 10, False)
    assert (second.first_ms, second.last_ms, second.latest) == (histories.NOW + 25, histories.NOW + 30, True)
    assert load_moment(tmp_path, histories.NOW + 15, None) is None
    loaded = load_moment(tmp_path, histories.NOW + 26, None)
    assert loaded is not None and histories.content(loaded[0]) == history.state([26])


def later(snapshot: bytes, milliseconds: int) -> bytes:
    """A snapshot that was begun so much later."""
    head = bytearray(snapshot[:36])
    head[24:32] = (histories.NOW + milliseconds).to_bytes(8, "little")
    return bytes(head) + histories.crc32c_of(bytes(head)).to_bytes(4, "little") + snapshot[40:]


@pytest.mark.parametrize(
    ("text", "unix_ms"),
    [
        ("1700000000", 1_700_000_000_000),
        ("1700000000.1239", 1_700_000_000_123),
        ("0", 0),
        ("2026-01-31T12:00:00Z", 1_769_860_800_000),
        ("2026-01-31t12:00:00.5z", 1_769_860_800_500),
        ("2026-01-31 13:00:00+01:00", 1_769_860_800_000),
        ("2026-01-31T06:30:00-05:30", 1_769_860_800_000),
    ],
)
def test_a_moment(text: str, unix_ms: int) -> None:
    assert parse_moment(text) == unix_ms
    assert parse_moment(show_moment(unix_ms)) == unix_ms


def test_a_moment_without_an_offset_is_this_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(time, "tzset"):
        pytest.skip("there is no way to set the zone here")
    monkeypatch.setenv("TZ", "XXX-3")
    time.tzset()
    try:
        assert parse_moment("2026-01-31T15:00:00") == 1_769_860_800_000
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "text",
    ["", "now", "12:00", "2026-01-31", "2026-02-30T00:00:00Z", "2026-01-31T25:00:00Z", "-1", "1e9", "1700000000."],
)
def test_no_moment(text: str) -> None:
    with pytest.raises(ValueError):
        parse_moment(text)
