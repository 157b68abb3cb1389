"""How many snapshots stay, and which logs: across restarts, other numbers of shards, and fewer to keep."""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from disk import run, told
from store import histories

from tellstone import Engine
from tellstone._core.store.keyspace import Store
from tellstone._core.store.recovery import RecoveryJob
from tellstone.durability.check import check
from tellstone.durability.directory import Directory
from tellstone.durability.past import spans_in
from tellstone.durability.persistence import Persistence
from tellstone.durability.restore import load_moment
from tellstone.durability.snapshots import snapshots_in
from tellstone.errors import StorageError

pytestmark = pytest.mark.core

LONG = 300_000  # bytes: four of them are more than a log's first segment


@contextmanager
def opened(path: Path, keep: int, shards: int = 1) -> Iterator[tuple[Engine, Persistence]]:
    """A store that is kept there."""
    store = Store(shards)
    with Directory(path) as directory, Engine._over(store) as engine:
        persistence = Persistence(store, directory, sync="no", keep=keep)
        persistence.recover()
        yield engine, persistence
        assert persistence.close()


def fill(engine: Engine, serial: int) -> None:
    """Two segments of a log and more."""
    for i in range(12):
        engine.set(f"key:{i}", b"%d " % serial + b"x" * LONG)


def numbers(path: Path) -> list[tuple[int, int]]:
    return [(one.generation, one.number) for one in snapshots_in(path)]


def segments(path: Path) -> list[tuple[int, ...]]:
    return sorted(tuple(int(part, 16) for part in file.stem.split("-")) for file in (path / "logs").glob("*.log"))


def from_base(path: Path, generation: int, number: int) -> histories.State:
    """The last state, made of an older snapshot and all of its log."""
    store = Store(2)
    RecoveryJob(store, path, base=(generation, number)).run()
    return histories.content(store)


def test_one_is_kept_unless_more_are_asked_for(tmp_path: Path) -> None:
    with opened(tmp_path, 1) as (engine, persistence):
        for serial in range(3):
            fill(engine, serial)
            assert persistence.save()
            assert numbers(tmp_path) == [(1, serial + 1)]
        assert all(first > 12 for _, _, first in segments(tmp_path))


def test_so_many_stay_with_the_logs_that_they_need(tmp_path: Path) -> None:
    with opened(tmp_path, 3) as (engine, persistence):
        for serial in range(5):
            fill(engine, serial)
            assert persistence.save()
        fill(engine, 5)
    assert numbers(tmp_path) == [(1, 3), (1, 4), (1, 5)]
    oldest = snapshots_in(tmp_path)[0].seqs[0]
    firsts = [first for _, _, first in segments(tmp_path)]
    assert firsts[0] <= oldest + 1 < firsts[1]
    last = from_base(tmp_path, 1, 5)
    assert len(last) == 12 and last[0, b"key:3"][0].startswith(b"5 ")
    assert from_base(tmp_path, 1, 4) == from_base(tmp_path, 1, 3) == last
    (span,) = spans_in(tmp_path)
    assert span.latest and span.first_ms == snapshots_in(tmp_path)[0].whole_ms


def test_a_restart_keeps_them_and_a_lower_number_counts_at_the_next_snapshot(tmp_path: Path) -> None:
    with opened(tmp_path, 3) as (engine, persistence):
        for serial in range(3):
            fill(engine, serial)
            assert persistence.save()
    with opened(tmp_path, 3) as (engine, persistence):
        assert numbers(tmp_path) == [(1, 1), (1, 2), (1, 3)]
        fill(engine, 3)
        assert persistence.save()
        assert numbers(tmp_path) == [(1, 2), (1, 3), (1, 4)]
    with opened(tmp_path, 2) as (engine, persistence):
        assert numbers(tmp_path) == [(1, 2), (1, 3), (1, 4)]
        persistence.keep = 1
        assert persistence.save()
        assert numbers(tmp_path) == [(1, 5)]
        assert len(segments(tmp_path)) == 1
        assert histories.content(engine._store) == from_base(tmp_path, 1, 5)


def test_another_number_of_shards_keeps_what_was_there_before(tmp_path: Path) -> None:
    with opened(tmp_path, 3, 1) as (engine, persistence):
        fill(engine, 0)
        assert persistence.save()
        fill(engine, 1)
    before = from_base(tmp_path, 1, 1)
    with opened(tmp_path, 3, 2) as (engine, persistence):
        assert numbers(tmp_path) == [(1, 1), (2, 2)]
        fill(engine, 2)
        assert persistence.save()
    assert numbers(tmp_path) == [(1, 1), (2, 2), (2, 3)]
    assert from_base(tmp_path, 1, 1) == before and before[0, b"key:0"][0].startswith(b"1 ")
    assert from_base(tmp_path, 2, 2) == from_base(tmp_path, 2, 3)
    with opened(tmp_path, 2, 2) as (engine, persistence):
        assert persistence.save()
    assert numbers(tmp_path) == [(2, 3), (2, 4)]
    assert {generation for generation, _, _ in segments(tmp_path)} == {2}


def test_a_snapshot_that_cannot_be_read_does_not_count(tmp_path: Path) -> None:
    with opened(tmp_path, 2) as (engine, persistence):
        fill(engine, 0)
        assert persistence.save() and persistence.save()
        file = tmp_path / "snapshots" / snapshots_in(tmp_path)[1].name
        file.write_bytes(file.read_bytes()[:-1])
        assert persistence.save()
        assert numbers(tmp_path) == [(1, 1), (1, 3)] and file.exists()
        assert persistence.save()
        assert numbers(tmp_path) == [(1, 3), (1, 4)] and not file.exists()


def test_an_unfinished_snapshot_goes_at_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(tmp_path, 1) as (engine, persistence):
        engine.set("k", "v")
        assert persistence.save()
    left = tmp_path / "snapshots" / f"{histories.snapshot_name(1, 2)}.part"
    other = tmp_path / "snapshots" / "mine.part"
    for file in (left, other):
        file.write_bytes(b"begun")
    with caplog.at_level("WARNING", "tellstone"), opened(tmp_path, 1) as (engine, _):
        assert engine.get("k") == b"v"
    assert not left.exists() and other.exists()
    (record,) = caplog.records
    assert record.getMessage() == "an unfinished snapshot has been removed"


def a_disk_that_fails_between_two_snapshots(directory: str) -> None:
    """What was lost by that is missing from the past as well, and nothing else is."""
    path = Path(directory)
    moments = []

    def note() -> None:
        time.sleep(0.002)
        moments.append(time.time_ns() // 1_000_000)
        time.sleep(0.002)

    with opened(path, 5) as (engine, persistence):
        persistence.log.set_sync("always")
        engine.set("a", 1)
        assert persistence.save()
        engine.set("b", 2)
        assert persistence.log.commit()
        note()
        told(fail_write=errno.EIO)
        with pytest.raises(StorageError):
            engine.set("c", 3)
        assert not persistence.log.commit() and persistence.log.lost
        note()
        told(fail_write=0)
        assert persistence.heal()
        note()
        engine.set("d", 4)
        assert persistence.log.commit()
    assert numbers(path) == [(1, 1), (1, 2)]
    first, second = spans_in(path)
    assert not first.latest and second.latest
    assert first.last_ms < moments[1] < second.first_ms < moments[2] < second.last_ms
    found = [load_moment(path, at, None) for at in (first.last_ms, moments[1], moments[2], second.last_ms)]
    assert [loaded and sorted(key for _, key in histories.content(loaded[0])) for loaded in found] == [
        *([b"a", b"b"], None, [b"a", b"b", b"c"], [b"a", b"b", b"c", b"d"])
    ]
    assert check(path).whole


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="preloading as Linux has it")
def test_a_disk_that_fails_between_two_snapshots(tmp_path: Path, shim: str) -> None:
    run(a_disk_that_fails_between_two_snapshots, tmp_path, LD_PRELOAD=shim)
