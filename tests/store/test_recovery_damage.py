"""Damage is seen, told from a torn end, named, and gone around where that is asked for."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from store import histories
from store.histories import Change, History

from tellstone._core.store.keyspace import Store
from tellstone._core.store.recovery import RecoveryJob, recover
from tellstone.errors import DamageError

pytestmark = pytest.mark.core


def value(text: bytes) -> histories.Value:
    return text, histories.NEVER


def small_history() -> History:
    history = History(2)
    for i in range(4):
        history.alone(Change("put", 0, b"key:%d" % i, value(b"value %d" % i)))
    history.put_many([(b"many:%d" % i, value(b"x")) for i in range(3)])
    history.alone(Change("delete", 0, b"key:1"))
    history.all_shards(Change("swap", 0, other=1))
    history.alone(Change("put", 3, b"later", (b"9", histories.NOW)))
    return history


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A snapshot from the middle of the log, and the log in segments, the last ones with zeros behind them."""
    history = small_history()
    histories.write_logs(history, tmp_path, every=6, zeros=8, batch=3)
    states = [(2, history.shard_at(shard, 2)) for shard in range(2)]
    (tmp_path / "snapshots" / histories.snapshot_name(1, 1)).write_bytes(histories.snapshot_bytes(states, block=60))
    return tmp_path


def check(root: Path) -> RecoveryJob:
    job = RecoveryJob(None, root, mode="check")
    job.run(threads=1)
    return job


def noticed(root: Path) -> bool:
    """By a start: refused, or told of a torn end."""
    store = Store(2, upkeep=False)
    store.set_clock(histories.NOW)
    try:
        job = recover(store, root, threads=1)
    except DamageError:
        return True
    return job.torn_bytes > 0 or job.dropped > 0


def test_the_directory_is_whole(directory: Path) -> None:
    job = check(directory)
    assert (job.faults, job.torn_bytes, job.ends, job.text) == ([], 0, [], "")
    store = histories.new_store(2)
    recover(store, directory)
    assert histories.content(store) == histories.living(small_history().state())
    assert not noticed(directory)


def test_every_flipped_byte_is_detected(directory: Path) -> None:
    """Bit by bit would take eight times as long and find the same."""
    r = random.Random(1)
    missed = []
    for file in sorted(directory.rglob("*-*")):
        whole = file.read_bytes()
        for i in range(len(whole)):
            hurt = bytearray(whole)
            hurt[i] ^= 1 << r.randrange(8)
            file.write_bytes(hurt)
            job = check(directory)
            if not (job.faults or job.torn_bytes) or not noticed(directory):
                missed.append((file.name, i))
        file.write_bytes(whole)
    assert missed == []


# A log of one shard with a key a record, and what becomes of it -------------------------------------------------


def one_log(root: Path, every: int = 10) -> tuple[History, list[histories.Written]]:
    history = History(1)
    for i in range(30):
        history.alone(Change("put", 0, b"key:%02d" % i, value(b"v" * i)))
    return history, histories.write_logs(history, root, every=every, batch=4)[0]


def log_file(root: Path, segment: histories.Written, shard: int = 0) -> Path:
    return root / "logs" / histories.segment_name(1, shard, segment.first)


def refused(root: Path, *words: str, shards: int = 1) -> None:
    """A start from here is refused in one line that has these words."""
    with pytest.raises(DamageError) as error:
        recover(histories.new_store(shards), root)
    for word in (*words, str(root)):
        assert word in str(error.value)
    assert "\n" not in str(error.value)


def salvaged(root: Path, shards: int = 1) -> tuple[histories.State, RecoveryJob]:
    store = histories.new_store(shards)
    job = RecoveryJob(store, root, mode="salvage")
    job.run()
    return histories.content(store), job


def without(history: History, *keys: bytes) -> histories.State:
    return {place: value for place, value in history.state().items() if place[1] not in keys}


def flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 4
    file.write_bytes(data)


def test_a_hurt_record_that_was_safe(tmp_path: Path) -> None:
    history, (first, *_) = one_log(tmp_path)
    at = first.ends[2]
    flip(log_file(tmp_path, first), at + 20)
    refused(tmp_path, f"offset {at} ", "shard 0", log_file(tmp_path, first).name, "numbers 4 to 4")
    refused(tmp_path, f"`tellstone repair {tmp_path}`")
    (fault,) = check(tmp_path).faults
    assert fault[:6] == (f"logs/{log_file(tmp_path, first).name}", at, first.ends[3] - at, 0, 4, 4)
    found, job = salvaged(tmp_path)
    assert found == without(history, b"key:03")
    assert job.faults == [fault]


def test_a_hurt_record_that_nothing_proves_safe(tmp_path: Path) -> None:
    """Whole records behind it may be what a power failure has kept of one write: the log ends before it."""
    history, segments = one_log(tmp_path, every=100)
    (segment,) = segments
    at = segment.ends[28]  # behind the MARK that says that 28 were synced: there is none
    flip(log_file(tmp_path, segment), at + 20)
    store = histories.new_store(1)
    job = recover(store, tmp_path)
    assert histories.content(store) == histories.living(history.state([29]))
    torn = len(segment.data.rstrip(b"\0")) - at
    assert job.ends == [(0, f"logs/{log_file(tmp_path, segment).name}", at, torn, 0)]
    assert check(tmp_path).faults == []


def test_what_was_left_where_a_log_ended_once(tmp_path: Path) -> None:
    """A later segment goes on behind the last whole record. A start says that there is something, a check where."""
    history, (first, *_) = one_log(tmp_path)
    log_file(tmp_path, first).write_bytes(first.data + b"torn" + bytes(100))
    store = histories.new_store(1)
    job = recover(store, tmp_path)
    assert histories.content(store) == history.state()
    assert (job.torn_bytes, job.ends) == (4, [])
    assert [fault[:3] for fault in check(tmp_path).faults] == [
        (f"logs/{log_file(tmp_path, first).name}", len(first.data), len(b"torn") + 100)
    ]


def test_a_missing_segment(tmp_path: Path) -> None:
    history, (_, second, third) = one_log(tmp_path)
    log_file(tmp_path, second).unlink()
    refused(tmp_path, log_file(tmp_path, third).name, "missing", "numbers 11 to 20")
    assert salvaged(tmp_path)[0] == without(history, *(b"key:%02d" % i for i in range(10, 20)))


def test_a_missing_first_segment(tmp_path: Path) -> None:
    history, (first, *_) = one_log(tmp_path)
    log_file(tmp_path, first).unlink()
    refused(tmp_path, "missing")
    assert check(tmp_path).faults
    assert salvaged(tmp_path)[0] == without(history, *(b"key:%02d" % i for i in range(10)))


def test_a_short_segment(tmp_path: Path) -> None:
    history, (first, *_) = one_log(tmp_path)
    log_file(tmp_path, first).write_bytes(first.data[: first.ends[7] - 1])
    refused(tmp_path, log_file(tmp_path, first).name, "numbers 8 to 10")
    assert salvaged(tmp_path)[0] == without(history, b"key:07", b"key:08", b"key:09")


def test_a_hurt_head(tmp_path: Path) -> None:
    history, (first, second, _) = one_log(tmp_path)
    flip(log_file(tmp_path, second), 3)
    refused(tmp_path, log_file(tmp_path, second).name, "head")
    assert salvaged(tmp_path)[0] == history.state()
    log_file(tmp_path, first).write_bytes(b"")
    assert salvaged(tmp_path)[0] == without(history, *(b"key:%02d" % i for i in range(10)))


def test_a_file_under_anothers_name(tmp_path: Path) -> None:
    history, (_, second, third) = one_log(tmp_path)
    log_file(tmp_path, second).write_bytes(third.data)
    refused(tmp_path, log_file(tmp_path, second).name, "name")
    assert salvaged(tmp_path)[0] == without(history, *(b"key:%02d" % i for i in range(10, 20)))


def test_records_that_have_been_there_before(tmp_path: Path) -> None:
    history, (first, *_) = one_log(tmp_path)
    writer = histories.RecordWriter(4)
    for change in history.journals[0][4:12]:
        change.write(writer)
    name = histories.segment_name(1, 0, 5)
    (tmp_path / "logs" / name).write_bytes(histories.segment_head(1, 0, 1, 5) + writer.data)
    log_file(tmp_path, first).write_bytes(first.data[: first.ends[6]])
    refused(tmp_path, name, "before")
    assert salvaged(tmp_path)[0] == history.state()


def test_another_number_of_shards_in_one_file(tmp_path: Path) -> None:
    _, (_, second, _) = one_log(tmp_path)
    log_file(tmp_path, second).write_bytes(histories.segment_head(1, 0, 2, 11) + second.data[64:])
    refused(tmp_path, log_file(tmp_path, second).name, "number of shards")


def test_a_log_of_a_shard_that_cannot_be(tmp_path: Path) -> None:
    one_log(tmp_path)
    name = histories.segment_name(1, 7, 1)
    (tmp_path / "logs" / name).write_bytes(histories.segment_head(1, 7, 8, 1))
    refused(tmp_path, name)


def test_a_log_without_its_snapshot(tmp_path: Path) -> None:
    """Generations follow one another by way of a snapshot."""
    history, _ = one_log(tmp_path)
    states = [(30, history.shard_at(0, 30))]
    (tmp_path / "snapshots" / histories.snapshot_name(1, 1)).write_bytes(histories.snapshot_bytes(states))
    name = histories.segment_name(2, 0, 1)
    (tmp_path / "logs" / name).write_bytes(histories.segment_head(2, 0, 1, 1))
    refused(tmp_path, name, "snapshot")


def test_a_value_of_an_unknown_type(tmp_path: Path) -> None:
    writer = histories.RecordWriter()
    writer.put(0, 9, 0, -1, b"strange", b"value")
    writer.put(0, 1, 0, -1, b"known", b"value")
    histories.make_directories(tmp_path)
    name = histories.segment_name(1, 0, 1)
    (tmp_path / "logs" / name).write_bytes(histories.segment_head(1, 0, 1, 1) + writer.data)
    refused(tmp_path, name, "offset 64", "type")
    assert salvaged(tmp_path)[0] == {(0, b"known"): value(b"value")}


@pytest.mark.parametrize("kind", ["log", "snapshot"])
def test_a_later_version_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    _, (_, second, _) = one_log(tmp_path)
    if kind == "log":
        file = log_file(tmp_path, second)
        file.write_bytes(histories.segment_head(1, 0, 1, 11, version=3) + b"anything")
    else:
        file = tmp_path / "snapshots" / histories.snapshot_name(1, 1)
        file.write_bytes(histories.snapshot_bytes([(0, {})], version=3))
    before = {file: file.read_bytes() for file in tmp_path.rglob("*-*")}
    with pytest.raises(DamageError, match=rf"{file.name}: the format is of version 3"):
        recover(histories.new_store(1), tmp_path)
    for mode in ("salvage", "check"):
        with pytest.raises(DamageError, match=r"version 3"):
            RecoveryJob(histories.new_store(1) if mode == "salvage" else None, tmp_path, mode=mode).run()
    assert {file: file.read_bytes() for file in tmp_path.rglob("*-*")} == before


# Several shards -------------------------------------------------------------------------------------------------


def test_a_change_with_a_damaged_part_is_left_out_everywhere(tmp_path: Path) -> None:
    history = History(2)
    history.put_many([(b"many:%d" % i, value(b"old")) for i in range(8)])
    for i in range(8):
        history.alone(Change("put", 0, b"alone:%d" % i, value(b"x")))
    history.put_many([(b"many:%d" % i, value(b"new")) for i in range(8)])
    begins = [next(n for n, c in enumerate(j) if n and c.kind == "begin") for j in history.journals]
    for i in range(8, 40):
        history.alone(Change("put", 0, b"alone:%d" % i, value(b"x")))
    written = histories.write_logs(history, tmp_path, batch=3)
    flip(log_file(tmp_path, written[0][0]), written[0][0].ends[begins[0]] + 20)
    refused(tmp_path, "shard 0", shards=2)
    found, _ = salvaged(tmp_path, shards=3)
    many = {key[1]: text for key, (text, _) in found.items() if key[1].startswith(b"many")}
    assert many == {b"many:%d" % i: b"old" for i in range(8)}
    assert all((0, b"alone:%d" % i) in found for i in range(40))


# Snapshots ------------------------------------------------------------------------------------------------------


def two_snapshots(root: Path) -> tuple[History, Path, Path]:
    """An older and a newer snapshot, and the whole log."""
    history, _ = one_log(root)
    files = []
    for number, seq in ((1, 10), (2, 20)):
        files.append(root / "snapshots" / histories.snapshot_name(1, number))
        files[-1].write_bytes(histories.snapshot_bytes([(seq, history.shard_at(0, seq))], block=100))
    return history, files[0], files[1]


@pytest.mark.parametrize(("at", "words"), [(5, "head"), (70, "checksum of a block"), (-20, "foot"), (None, "foot")])
def test_a_hurt_snapshot(tmp_path: Path, at: int | None, words: str) -> None:
    """It stops a start. A salvage takes the older one: the log behind that is whole."""
    history, older, newer = two_snapshots(tmp_path)
    if at is None:
        newer.write_bytes(newer.read_bytes()[:-10])
    else:
        flip(newer, at % newer.stat().st_size)
    refused(tmp_path, newer.name, words)
    assert [fault[0] for fault in check(tmp_path).faults] == [f"snapshots/{newer.name}"]
    found, job = salvaged(tmp_path)
    assert (found, job.number) == (history.state(), 1)
    older.unlink()
    for segment in (1, 11):
        (tmp_path / "logs" / histories.segment_name(1, 0, segment)).unlink()
    found, job = salvaged(tmp_path)
    assert job.number == 2
    lost = set(history.state()) - set(found)
    assert found == {place: value for place, value in history.state().items() if place not in lost}
    assert (0 < len(lost) < 6) == (words == "checksum of a block")


def test_blocks_that_belong_elsewhere(tmp_path: Path) -> None:
    """Blocks with right checksums, one of them twice: the file's sums tell."""
    _, older, newer = two_snapshots(tmp_path)
    whole = newer.read_bytes()
    size = 24 + int.from_bytes(whole[44:48], "little")
    second = whole[40 + size :]
    swapped = whole[:40] + second[: 24 + int.from_bytes(second[4:8], "little")] + whole[40 : 40 + size]
    newer.write_bytes(swapped + whole[len(swapped) :])
    refused(tmp_path, newer.name, "blocks are missing")
    assert check(tmp_path).faults[0][0] == f"snapshots/{newer.name}"
    newer.write_bytes(older.read_bytes())  # whole, and under another number: nothing tells, and the log is there
    assert check(tmp_path).faults == []
