"""The write-ahead log on a disk that fails: full, broken, and well again.

Each case is a function that runs in a process of its own: under a limit of file sizes, on a small file system, or with
a library preloaded that makes the C library's disk calls fail.
"""

from __future__ import annotations

import errno
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from disk import asked, mounted, run, told
from store.reading import read_log, read_logs, segments

from tellstone._core.store.appender import Appender

MIB = 1 << 20
HALF = b"v" * (MIB // 2)
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="preloading and limits as Linux has them")


def recovers(log: Appender, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while log.health != "sound" and time.monotonic() < end:
        time.sleep(0.02)
    return log.health == "sound"


# A preloaded library ------------------------------------------------------------------------------------------------


def a_failed_sync_is_never_tried_again(directory: str) -> None:
    log = Appender(os.fsencode(directory), 2)
    log.put(0, 0, b"safe", b"1")
    assert log.commit()
    told(fail_sync=errno.EIO)
    log.put(0, 0, b"not safe", b"2")
    assert not log.commit()
    told(fail_sync=0)
    assert (log.health, log.error, log.lost) == ("broken", errno.EIO, True)
    syncs = asked("syncs")
    log.put(1, 0, b"later", b"3")
    for _ in range(3):  # on any log, by a committer or by a thread of the log
        assert not log.commit() and not log.sync()
        time.sleep(0.3)
    assert asked("syncs") == syncs
    assert log.numbers(0)[2] == 1 and log.numbers(1)[1] == 0

    assert not log.resume([1, 0])  # a snapshot from before the failure has not what was lost
    seqs = [log.cover(0), log.cover(1)]
    assert seqs == [2, 1]
    log.delete(0, 0, b"during the snapshot")
    assert not log.commit()
    assert log.resume(seqs) and log.health == "sound" and not log.lost
    assert log.numbers(0) == (3, 3, 3)
    log.put(0, 0, b"after", b"4")
    log.put(1, 0, b"after", b"5")
    assert log.commit()
    assert asked("syncs_of_failed") == 0
    logs = read_logs(Path(directory), seqs)
    assert [(r.kind, r.seq) for r in logs[0]] == [("delete", 3), ("put", 4)]
    assert [(r.kind, r.seq) for r in logs[1]] == [("put", 2)]
    assert [s.first for s in segments(Path(directory))[0]] == [1, 3]
    assert log.drop(1, seqs) == 2
    assert log.close()


def a_failed_write_is_not_written_over(directory: str) -> None:
    log = Appender(os.fsencode(directory))
    told(fail_write=errno.EIO)
    log.put(0, 0, b"key", b"1")
    assert not log.commit()
    assert (log.health, log.error, log.lost) == ("broken", errno.EIO, True)
    told(fail_write=0)
    time.sleep(0.7)
    assert not log.commit() and log.health == "broken"
    assert not log.close()
    assert read_log(segments(Path(directory))[0])[0] == []


def short_writes_are_gone_on_with(directory: str) -> None:
    log = Appender(os.fsencode(directory))
    told(short_write=7)
    log.put(0, 0, b"key", b"value" * 100)
    assert log.commit()
    told(short_write=0)
    assert read_logs(Path(directory))[0][0].fields[5] == b"value" * 100
    assert log.close()


def a_full_disk_is_waited_for(directory: str) -> None:
    log = Appender(os.fsencode(directory), 2)
    told(fail_write=errno.ENOSPC)
    log.put(0, 0, b"key", b"1")
    assert not log.commit()
    assert (log.health, log.error, log.lost) == ("full", errno.ENOSPC, False)
    log.put(0, 0, b"key", b"2")
    time.sleep(0.7)
    assert not log.commit() and log.health == "full"
    told(fail_write=0)
    assert recovers(log) and log.commit()
    assert [r.fields[5] for r in read_logs(Path(directory))[0]] == [b"1", b"2"]
    assert log.close()


def a_full_disk_is_noticed_before_a_write_is_lost(directory: str) -> None:
    log = Appender(os.fsencode(directory))
    told(fail_allocate=errno.ENOSPC)
    log.put(0, 0, b"key", HALF)
    assert log.commit()
    end = time.monotonic() + 5
    while log.health == "sound" and time.monotonic() < end:
        time.sleep(0.02)
    assert (log.health, log.lost) == ("full", False)
    log.put(0, 0, b"last", b"one that fits")
    assert log.commit()
    told(fail_allocate=0)
    assert recovers(log)
    log.put(0, 0, b"key", HALF)
    assert log.commit()
    assert [len(s.data) for s in segments(Path(directory))[0]] == [MIB, 2 * MIB]
    assert len(read_logs(Path(directory))[0]) == 3
    assert log.close()


def a_full_disk_is_resumed_at_once_when_asked(directory: str) -> None:
    log = Appender(os.fsencode(directory))
    told(fail_write=errno.ENOSPC)
    log.put(0, 0, b"key", b"1")
    assert not log.commit() and not log.resume([0])
    told(fail_write=0)
    assert log.resume([0]) and log.health == "sound"
    assert len(read_logs(Path(directory))[0]) == 1
    assert log.close()


def a_segment_that_cannot_be_named_is_lost(directory: str) -> None:
    log = Appender(os.fsencode(directory), policy="no")
    log.put(0, 0, b"key", HALF)
    assert log.sync()
    told(fail_directory=errno.EIO)
    log.put(0, 0, b"key", HALF)
    assert not log.sync() and log.lost and log.error == errno.EIO
    assert log.numbers(0)[2] == 1
    seqs = [log.cover(0)]
    assert not log.resume(seqs)  # still failing
    told(fail_directory=0)
    assert log.resume(seqs) and log.commit()
    log.put(0, 0, b"key", b"value")
    assert log.sync()
    assert [r.seq for r in read_logs(Path(directory), seqs)[0]] == [3]
    assert log.close()


def every_log_resumes(directory: str) -> None:
    """A snapshot that begins after the failure, and fails itself before another does not."""
    log = Appender(os.fsencode(directory), 4)
    told(fail_sync=errno.EIO)
    for shard in range(4):
        log.put(shard, 0, b"key", b"1")
    assert not log.commit()
    told(fail_sync=0)
    first = [log.cover(shard) for shard in range(4)]
    log.group((0, 2), [("put", 0, 0, b"g", b"2"), ("put", 2, 0, b"g", b"2")])
    second = [log.cover(shard) for shard in range(4)]
    assert not log.resume(first)
    log.group((1, 2), [("put", 1, 0, b"g", b"3"), ("put", 2, 0, b"g", b"3")])
    assert log.resume(second)
    assert second == [3, 1, 3, 1]
    logs = read_logs(Path(directory), second)
    assert [r.kind for r in logs[1]] == [r.kind for r in logs[2]] == ["begin", "put"]
    assert log.close()


@pytest.mark.parametrize(
    "case",
    [
        a_failed_sync_is_never_tried_again,
        a_failed_write_is_not_written_over,
        short_writes_are_gone_on_with,
        a_full_disk_is_waited_for,
        a_full_disk_is_noticed_before_a_write_is_lost,
        a_full_disk_is_resumed_at_once_when_asked,
        a_segment_that_cannot_be_named_is_lost,
        every_log_resumes,
    ],
    ids=lambda case: case.__name__,
)
def test_preloaded(case: Callable[..., None], tmp_path: Path, shim: str) -> None:
    run(case, tmp_path, LD_PRELOAD=shim)


# Limits and small file systems --------------------------------------------------------------------------------------


def fill(log: Appender) -> int:
    """Commit until it fails; how many were safe. Every one is as long as a quarter of the first segment."""
    for number in range(1000):
        log.put(0, 0, b"%d" % number, HALF[: MIB // 4])
        if not log.commit():
            return number
    raise AssertionError("the disk is not full")


def files_may_not_grow(directory: str) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 * MIB, resource.RLIM_INFINITY))  # the third segment has four
    log = Appender(os.fsencode(directory))
    safe = fill(log)
    assert (log.health, log.error, log.lost) == ("full", errno.EFBIG, False)
    assert safe > 3
    assert [r.fields[4] for r in read_log(segments(Path(directory))[0])[0] if r.kind == "put"] == [
        b"%d" % number for number in range(safe)
    ]
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert recovers(log) and log.commit()
    assert len(read_logs(Path(directory))[0]) == safe + 1
    assert log.close()


def test_a_limit_of_file_sizes_is_a_full_disk(tmp_path: Path) -> None:
    run(files_may_not_grow, tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "small", "9m") as path:
        yield path


def a_small_disk_fills(directory: str) -> None:
    ballast = Path(directory, "ballast")
    ballast.write_bytes(bytes(3 * MIB))  # without it there is room for a third segment
    log = Appender(os.fsencode(directory))
    safe = fill(log)
    assert (log.health, log.error, log.lost) == ("full", errno.ENOSPC, False)
    ballast.unlink()
    assert recovers(log) and log.commit()
    assert len(read_logs(Path(directory))[0]) == safe + 1
    assert log.close()


def test_a_small_disk(small_disk: Path) -> None:
    run(a_small_disk_fills, small_disk)
