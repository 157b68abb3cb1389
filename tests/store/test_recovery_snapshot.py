"""A snapshot that was taken while the store changed, and the log behind it, end in the state that was last."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from store import histories
from store.histories import History, Shard

from tellstone._core.store.recovery import RecoveryJob, recover

pytestmark = pytest.mark.core


def slices(r: random.Random, history: History, shard: int) -> tuple[int, int, Shard]:
    """The number noted for a shard, the one of its last slice, and what slices have seen of it in between."""
    journal = history.journals[shard]
    begin = r.randrange(len(journal) + 1)
    end = begin
    while end < len(journal) and journal[end].kind != "swap" and r.random() < 0.95:
        end += 1
    states = [history.shard_at(shard, n) for n in range(begin, end + 1)]
    seen: Shard = {}
    for db in range(histories.DATABASES):
        for key in {key for state in states for key in state.get(db, {})}:
            keys = r.choice(states).get(db, {})
            if key in keys:
                seen.setdefault(db, {})[key] = keys[key]
    return begin, end, seen


def write_all(r: random.Random, history: History, root: Path) -> tuple[list[int], list[int]]:
    """Snapshot and log, the log torn behind what the snapshot has seen. Answers what is covered, and the ends."""
    taken = [slices(r, history, shard) for shard in range(history.shards)]
    covered = [begin for begin, _, _ in taken]
    written = histories.write_logs(history, root, every=r.choice([7, 20, 1000]), zeros=r.choice([0, 100]))
    for number, generation in ((9, 1), (10, 1)):
        shards = [(begin, seen) for begin, _, seen in taken] if number == 10 else [(0, {})] * history.shards
        file = root / "snapshots" / histories.snapshot_name(generation, number)
        file.write_bytes(histories.snapshot_bytes(shards, generation, block=r.choice([1, 300, 10**6])))
    (root / "snapshots" / (histories.snapshot_name(1, 11) + ".part")).write_bytes(b"unfinished")
    numbers = [r.randrange(end, len(history.journals[s]) + 1) for s, (_, end, _) in enumerate(taken)]
    ends = history.whole(numbers, covered)
    if any(ends[s] < end for s, (_, end, _) in enumerate(taken)):
        numbers = [len(journal) for journal in history.journals]  # what a snapshot has seen is in the logs
        ends = history.whole(numbers, covered)
    for shard, segments in enumerate(written):
        tear(root, shard, segments, numbers[shard], covered[shard])
    return covered, ends


def tear(root: Path, shard: int, segments: list[histories.Written], number: int, covered: int) -> None:
    """End a log behind a number, and drop segments that are covered."""
    for i, segment in enumerate(segments):
        file = root / "logs" / histories.segment_name(1, shard, segment.first)
        last = i + 1 == len(segments) or segments[i + 1].first > number
        if last:
            at = number - segment.first
            file.write_bytes(segment.data[: segment.ends[at] if at >= 0 else 64] + b"\1\2\3")
            for later in segments[i + 1 :]:
                (root / "logs" / histories.segment_name(1, shard, later.first)).unlink()
            return
        if segments[i + 1].first <= covered + 1:
            file.unlink()


@pytest.mark.parametrize("seed", range(40))
def test_a_snapshot_and_its_log(tmp_path: Path, seed: int) -> None:
    r = random.Random(seed)
    history = histories.random_history(r, r.choice([1, 2, 4]), 150)
    covered, ends = write_all(r, history, tmp_path)
    for shards in {history.shards, r.choice([1, 3, 16])}:
        store = histories.new_store(shards)
        job = recover(store, tmp_path, threads=2)
        assert histories.content(store) == histories.living(history.state(ends))
        assert (job.generation, job.number, job.seqs, job.unfinished) == (1, 10, ends, 1)
        assert job.records >= sum(ends) - sum(covered)
    check = RecoveryJob(None, tmp_path, mode="check")
    check.run()
    assert check.faults == []
    job.cut()
    again = histories.new_store(history.shards)
    assert recover(again, tmp_path).torn_bytes == 0
    assert histories.content(again) == histories.living(history.state(ends))
