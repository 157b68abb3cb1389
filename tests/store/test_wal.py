"""The write-ahead log on a sound disk: what is committed stands in the files, as docs/format.md has it."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from store.reading import HEAD, Damaged, read_log, read_logs, segments

from tellstone._core.store.appender import Appender

pytestmark = pytest.mark.core

MIB = 1 << 20
Open = Callable[..., Appender]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    logs: list[Appender] = []

    def open_log(shards: int = 1, **options: Any) -> Appender:
        logs.append(Appender(os.fsencode(tmp_path), shards, **options))
        return logs[-1]

    yield open_log
    for log in logs:
        log.close()


def files(tmp_path: Path, pattern: str = "*.log") -> list[str]:
    return sorted(path.name for path in (tmp_path / "logs").glob(pattern))


def wait_until(true: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


# What is appended ---------------------------------------------------------------------------------------------------


def test_what_is_committed_stands_in_the_files(tmp_path: Path, opened: Open) -> None:
    log = opened(2)
    log.put(0, 0, b"key", b"value")
    log.put(1, 3, b"number", -300, 1_900_000_000_000)
    log.put(0, 0, b"k" * 300, b"v" * 50_000)
    log.patch(0, 0, b"key", b"value and more", 5, 9)
    log.patch(0, 0, b"number", 12, 0, 1)
    log.deadline(1, 3, b"number", 1_800_000_000_000)
    log.delete(0, 0, b"key")
    log.flush(1, 3)
    log.swap(1, 0, 15)
    assert log.commit()
    logs = read_logs(tmp_path)
    number = (-300).to_bytes(8, "little", signed=True)
    assert [(r.seq, r.kind, r.fields) for r in logs[0]] == [
        (1, "put", (0, 1, 0, -1, b"key", b"value")),
        (2, "put", (0, 1, 0, -1, b"k" * 300, b"v" * 50_000)),
        (3, "patch", (0, b"key", 5, 14, b" and more")),
        (4, "put", (0, 1, 2, -1, b"number", (12).to_bytes(8, "little"))),
        (5, "delete", (0, b"key")),
    ]
    assert [(r.seq, r.kind, r.fields) for r in logs[1]] == [
        (1, "put", (3, 1, 2, 1_900_000_000_000, b"number", number)),
        (2, "deadline", (3, 1_800_000_000_000, b"number")),
        (3, "flush", (3,)),
        (4, "swap", (0, 15)),
    ]
    assert log.numbers(0) == (5, 5, 5) and log.numbers(1) == (4, 4, 4)


def test_nothing_appended_is_nothing_synced(opened: Open) -> None:
    log = opened(4)
    assert log.commit() and log.syncs == 0
    log.put(2, 0, b"key", b"value")
    assert log.commit() and log.syncs == 1
    assert log.commit() and log.syncs == 1


def test_modes_and_names(tmp_path: Path, opened: Open) -> None:
    opened(2, generation=17, seqs=[41, 0])
    assert files(tmp_path) == [
        "0000000000000011-0000000000000000-000000000000002a.log",
        "0000000000000011-0000000000000001-0000000000000001.log",
    ]
    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "logs").iterdir()} == {0o600}


def test_a_batch_ends_with_a_mark(tmp_path: Path, opened: Open) -> None:
    log = opened()
    before = int(time.time() * 1000)
    for number in range(3):
        log.put(0, 0, b"a%d" % number, b"v")
        log.put(0, 0, b"b%d" % number, b"v")
        assert log.commit()
        records, torn = read_log(segments(tmp_path)[0])
        assert torn == b"" and (records[-1].kind, records[-1].seq) == ("mark", 2 * number + 2)
    assert [r.seq for r in records if r.kind == "put"] == [1, 2, 3, 4, 5, 6]
    # A thread of the log may have written a batch of its own in between.
    times, synced = zip(*[r.fields for r in records if r.kind == "mark"], strict=True)
    assert list(synced) == sorted(synced) and synced[0] == 0 and {2, 4} <= set(synced)
    assert [before, *times, int(time.time() * 1000)] == sorted([before, *times, int(time.time() * 1000)])


def test_silence_is_marked_too(tmp_path: Path, opened: Open) -> None:
    log = opened()
    log.put(0, 0, b"key", b"value")
    assert log.commit()
    wait_until(lambda: [r.fields[1] for r in read_log(segments(tmp_path)[0])[0] if r.kind == "mark"] == [0, 1])
    assert log.syncs == 1


# Groups -------------------------------------------------------------------------------------------------------------


def test_a_change_of_several_shards_is_named_in_each(tmp_path: Path, opened: Open) -> None:
    log = opened(3)
    log.put(0, 0, b"before", b"v")
    log.group((0, 2), [("put", 0, 0, b"a", b"1"), ("put", 2, 0, b"b", b"2"), ("delete", 2, 0, b"c")])
    assert log.commit()
    logs = read_logs(tmp_path)
    parts = ((0, 2), (2, 1))
    assert [(r.kind, r.seq, r.fields) for r in logs[0][1:]] == [
        ("begin", 2, (1, parts)),
        ("put", 3, (0, 1, 0, -1, b"a", b"1")),
    ]
    assert [(r.kind, r.seq) for r in logs[2]] == [("begin", 1), ("put", 2), ("delete", 3)]
    assert logs[2][0].fields == (2, parts) and logs[1] == []


def test_a_part_without_records_is_a_part(tmp_path: Path, opened: Open) -> None:
    log = opened(2)
    log.group((0, 1), [("put", 1, 0, b"a", b"1")])
    assert log.commit()
    logs = read_logs(tmp_path)
    assert [r.fields for r in logs[0]] == [(0, ((0, 1), (1, 1)))]
    assert logs[1][0].fields == (1, ((0, 1), (1, 1)))


def test_a_change_of_nothing_leaves_nothing(tmp_path: Path, opened: Open) -> None:
    log = opened(2)
    log.put(0, 0, b"key", b"value")
    log.group((0, 1), [])
    log.put(0, 0, b"key", b"value")
    assert log.commit()
    logs = read_logs(tmp_path)
    assert [(r.kind, r.seq) for r in logs[0]] == [("put", 1), ("put", 2)] and logs[1] == []


# Segments -----------------------------------------------------------------------------------------------------------


def test_segments_roll_over_and_double(tmp_path: Path, opened: Open) -> None:
    log = opened(policy="no")
    for number in range(150):
        log.put(0, 0, b"key:%d" % number, b"%d" % number * 10_000)
        assert number % 10 or log.sync()
    assert log.sync()
    of_shard = segments(tmp_path)[0]
    assert [len(segment.data) // MIB for segment in of_shard] == [1, 2, 4]
    records = read_logs(tmp_path)[0]
    assert [r.seq for r in records] == list(range(1, 151))
    assert records[149].fields[4:] == (b"key:149", b"149" * 10_000)


def test_the_next_segment_is_reserved_before_it_is_needed(tmp_path: Path, opened: Open) -> None:
    log = opened()
    assert files(tmp_path, "*.part") == []
    log.put(0, 0, b"key", b"v" * (MIB // 2))
    assert log.commit()
    wait_until(lambda: len(files(tmp_path, "*.part")) == 1)
    assert (tmp_path / "logs" / files(tmp_path, "*.part")[0]).stat().st_size == 2 * MIB
    assert log.close()
    assert files(tmp_path, "*.part") == []


def test_a_record_larger_than_a_segment_gets_one_of_its_own_size(tmp_path: Path, opened: Open) -> None:
    log = opened(policy="no")
    value = os.urandom(5 * MIB)
    log.put(0, 0, b"small", b"value")
    log.put(0, 0, b"large", value)
    log.put(0, 0, b"small", b"again")
    assert log.sync()
    of_shard = segments(tmp_path)[0]
    assert [segment.first for segment in of_shard] == [1, 2, 3]
    assert value in of_shard[1].data
    assert log.numbers(0) == (3, 3, 3)


def test_a_closed_log_ends_with_its_last_record(tmp_path: Path, opened: Open) -> None:
    log = opened(2)
    log.put(0, 0, b"key", b"value")
    assert log.close() and log.close()
    of_shard = segments(tmp_path)
    assert read_log(of_shard[0])[0][-1].kind == "mark"
    assert read_log(of_shard[0])[0][-1].fields[1] == 1
    assert not of_shard[0][0].data.endswith(bytes(64))
    assert len(of_shard[1][0].data) == HEAD


def test_a_log_goes_on_in_a_segment_of_its_own(tmp_path: Path, opened: Open) -> None:
    log = opened(2)
    for number in range(3):
        log.put(0, 0, b"%d" % number, b"")
    assert log.close()
    for _ in range(3):  # shard 1 has had nothing: its segment is replaced each time
        log = opened(2, seqs=[3, 0])
        assert log.numbers(0) == (3, 3, 3)
        assert log.close()
    log = opened(2, seqs=[3, 0])
    log.put(0, 0, b"3", b"")
    log.put(1, 0, b"x", b"")
    assert log.commit()
    assert [s.first for s in segments(tmp_path)[0]] == [1, 4] and [s.first for s in segments(tmp_path)[1]] == [1]
    logs = read_logs(tmp_path)
    assert [r.fields[4] for r in logs[0]] == [b"0", b"1", b"2", b"3"] and len(logs[1]) == 1


def test_what_an_ended_process_had_reserved_goes(tmp_path: Path, opened: Open) -> None:
    opened().close()
    (tmp_path / "logs" / "00000000000000ff.part").write_bytes(b"")
    (tmp_path / "logs" / "notes.part").write_bytes(b"")
    opened()
    assert files(tmp_path, "*.part") == ["notes.part"]


def test_records_behind_what_recovery_has_found_are_not_replaced(tmp_path: Path, opened: Open) -> None:
    log = opened()
    for _ in range(3):
        log.put(0, 0, b"key", b"v" * (MIB // 3))
    assert log.commit() and log.close()
    assert [s.first for s in segments(tmp_path)[0]] == [1, 3]
    for seq in (0, 1, 2):
        with pytest.raises(FileExistsError):
            opened(seqs=[seq])
    assert len(read_logs(tmp_path)[0]) == 3
    last = tmp_path / "logs" / files(tmp_path)[1]
    last.write_bytes(last.read_bytes()[:-100])  # torn, and so no record
    assert opened(seqs=[2]).close()


def test_a_torn_end_stays_and_does_not_count(tmp_path: Path, opened: Open) -> None:
    log = opened()
    for number in range(4):
        log.put(0, 0, b"%d" % number, b"")
    assert log.close()
    path = tmp_path / "logs" / files(tmp_path)[0]
    data = path.read_bytes()
    at = data.index(b"\x03" + bytes(7) + b"\x01\x00")  # number and kind of the third record
    path.write_bytes(data[: at + 10])
    records, torn = read_log(segments(tmp_path)[0])
    assert [r.seq for r in records] == [1, 2] and torn
    log = opened(seqs=[2])
    log.put(0, 0, b"other", b"")
    assert log.commit()
    assert [(r.seq, r.fields[4]) for r in read_logs(tmp_path)[0]] == [(1, b"0"), (2, b"1"), (3, b"other")]


def test_damage_is_told_from_a_torn_end(tmp_path: Path, opened: Open) -> None:
    log = opened()
    for number in range(3):
        log.put(0, 0, b"key", b"value %d" % number)
        assert log.commit()
    log.close()
    path = tmp_path / "logs" / files(tmp_path)[0]
    sound = path.read_bytes()
    sound = sound[: sound.index(b"value 2") + 7 + 34]  # without the MARK of the end

    def hurt(text: bytes) -> None:
        data = bytearray(sound)
        data[sound.index(text)] ^= 1
        path.write_bytes(data)

    hurt(b"value 1")  # the MARK behind value 2 tells of its sync
    with pytest.raises(Damaged):
        read_log(segments(tmp_path)[0])
    hurt(b"value 2")  # nothing tells of this one: a power failure may have done it
    records, torn = read_log(segments(tmp_path)[0])
    assert [r.seq for r in records if r.kind == "put"] == [1, 2] and torn


# Behind a snapshot --------------------------------------------------------------------------------------------------


def fill_segments(log: Appender, shard: int, count: int) -> None:
    """Records of which few fit a segment."""
    for _ in range(count):
        log.put(shard, 0, b"key", b"v" * (MIB // 3))
        assert log.sync()


def test_covered_segments_go(tmp_path: Path, opened: Open) -> None:
    log = opened(2, policy="no")
    fill_segments(log, 0, 24)
    firsts = [s.first for s in segments(tmp_path)[0]]
    assert len(firsts) > 3
    assert log.drop(1, [firsts[2] - 2, 0]) == 1  # the record before the third segment is not covered
    assert [s.first for s in segments(tmp_path)[0]] == firsts[1:]
    assert log.drop(1, [firsts[2] - 1, 0]) == 1
    assert [s.first for s in segments(tmp_path)[0]] == firsts[2:]
    assert [r.seq for r in read_logs(tmp_path, [firsts[2] - 1, 0])[0]] == list(range(firsts[2], 25))
    assert log.drop(1, [1000, 1000]) == len(firsts) - 3
    assert [s.first for s in segments(tmp_path)[0]] == firsts[-1:]
    assert len(segments(tmp_path)[1]) == 1
    log.put(0, 0, b"key", b"value")
    assert log.sync()


def test_segments_of_older_generations_go(tmp_path: Path, opened: Open) -> None:
    opened(3, generation=1).close()
    log = opened(1, generation=2)
    assert len(files(tmp_path)) == 4
    assert log.drop(1, [0, 0, 0]) == 0
    assert log.drop(3, [5]) == 0
    assert log.drop(2, [0]) == 3
    assert len(files(tmp_path)) == 1


def test_bytes_are_counted_from_the_snapshot_on(opened: Open) -> None:
    log = opened(2)
    log.put(0, 0, b"key", b"value")
    log.put(1, 0, b"key", b"value")
    assert log.bytes_since(0) == 40
    assert log.cover(0) == 1
    assert (log.bytes_since(0), log.bytes_since(1)) == (0, 40)
    log.group((0,), [("delete", 0, 0, b"key")])
    assert log.bytes_since(0) == 38 + 21
    assert log.commit() and log.pending(0) == 0


# Policies -----------------------------------------------------------------------------------------------------------


def test_everysec_writes_soon_and_syncs_within_a_second(tmp_path: Path, opened: Open) -> None:
    log = opened(2, policy="everysec")
    log.put(0, 0, b"key", b"value")
    assert log.commit()
    begun = time.monotonic()
    wait_until(lambda: log.numbers(0)[1] == 1)
    wait_until(lambda: log.numbers(0)[2] == 1)
    assert time.monotonic() - begun < 5
    assert log.syncs == 1
    assert len(read_logs(tmp_path)[0]) == 1


def test_no_writes_and_leaves_syncing_to_others(tmp_path: Path, opened: Open) -> None:
    log = opened(policy="no")
    log.put(0, 0, b"key", b"value")
    assert log.commit()
    wait_until(lambda: log.numbers(0)[1] == 1)
    time.sleep(1.1)
    assert log.numbers(0) == (1, 1, 0) and log.syncs == 0
    assert log.sync() and log.numbers(0) == (1, 1, 1)


def test_a_long_buffer_is_written_by_its_committer(tmp_path: Path) -> None:
    for attempt in range(8):  # a thread of the log may have taken a part just before, so that the rest is not long
        directory = tmp_path / str(attempt)
        directory.mkdir()
        log = Appender(os.fsencode(directory), policy="no")
        for _ in range(20):
            log.put(0, 0, b"key", b"v" * 20_000)
        assert log.commit()
        pending = log.pending(0)
        assert log.close()
        if pending == 0:
            return
    raise AssertionError("nobody has written it")


def test_a_policy_is_changed_on_the_way(opened: Open) -> None:
    log = opened(policy="no")
    log.put(0, 0, b"key", b"value")
    log.set_policy("always")
    assert log.commit() and log.numbers(0) == (1, 1, 1)


def test_under_always_what_nobody_commits_is_synced_too(opened: Open) -> None:
    log = opened()
    log.delete(0, 0, b"key")
    wait_until(lambda: log.numbers(0) == (1, 1, 1))


# Threads ------------------------------------------------------------------------------------------------------------


def test_committers_share_syncs_and_lose_nothing(tmp_path: Path, opened: Open) -> None:
    log = opened(4)
    each, threads = 60, 6
    failures = []

    def work(number: int) -> None:
        for i in range(each):
            log.put((number + i) % 4, 0, b"%d" % number, b"%d" % i)
            log.group((1, 3), [("put", 1, 0, b"g%d" % number, b"%d" % i), ("put", 3, 0, b"g%d" % number, b"%d" % i)])
            if not log.commit() or any(log.numbers(s)[2] == 0 for s in (1, 3)):
                failures.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []
    assert log.syncs < each * threads * 3  # what each would have needed by itself
    logs = read_logs(tmp_path)
    for shard, records in logs.items():
        assert [r.seq for r in records] == list(range(1, len(records) + 1))
        for number in range(threads):
            values = [int(r.fields[5]) for r in records if r.kind == "put" and r.fields[4] == b"%d" % number]
            assert values == [i for i in range(each) if (number + i) % 4 == shard]
    begins = [[r.fields[1] for r in logs[shard] if r.kind == "begin"] for shard in (1, 3)]
    assert begins[0] == begins[1] and len(begins[0]) == each * threads


def test_changes_go_on_while_segments_end(tmp_path: Path, opened: Open) -> None:
    log = opened(2, policy="everysec")
    done = threading.Event()

    def commit() -> None:
        while not done.is_set():
            log.commit()

    committer = threading.Thread(target=commit)
    committer.start()
    for number in range(400):
        log.put(number % 2, 0, b"%d" % number, b"v" * 20_000)
    done.set()
    committer.join()
    assert log.close()
    logs = read_logs(tmp_path)
    assert [r.fields[4] for r in logs[0]] == [b"%d" % n for n in range(0, 400, 2)]
    assert [r.fields[4] for r in logs[1]] == [b"%d" % n for n in range(1, 400, 2)]


# Ends of a process --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_of_fork_leaves_the_files_alone(tmp_path: Path, opened: Open) -> None:
    log = opened(2)
    log.put(0, 0, b"key", b"value")
    assert log.commit()
    log.put(0, 0, b"parent", b"value")
    child = os.fork()
    if child == 0:
        log.abandon()
        log.put(0, 0, b"child", b"value")
        well = not log.commit() and log.health == "foreign" and not log.resume([9, 9]) and not log.close()
        os._exit(0 if well else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert log.commit() and log.health == "sound"
    assert [r.fields[4] for r in read_logs(tmp_path)[0]] == [b"key", b"parent"]


def test_a_directory_that_is_not_there_is_named_by_its_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Appender(os.fsencode(tmp_path / "missing"))
    (tmp_path / "logs").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        Appender(os.fsencode(tmp_path))
