"""Logs come back as what they are the history of, wherever they end."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from store import histories

from tellstone._core.store.recovery import RecoveryJob, recover

pytestmark = pytest.mark.core


def recovered(root: Path, shards: int, now: int = histories.NOW) -> tuple[histories.State, RecoveryJob]:
    store = histories.new_store(shards, now)
    job = recover(store, root, threads=2)
    assert sum(keys for keys, _ in store.sizes()) == len(histories.content(store)), "keys that are over were loaded"
    return histories.content(store), job


@pytest.mark.parametrize("seed", range(12))
def test_a_whole_log(tmp_path: Path, seed: int) -> None:
    r = random.Random(seed)
    shards = r.choice([1, 2, 3, 8])
    history = histories.random_history(r, shards, 300)
    histories.write_logs(
        history, tmp_path, zeros=r.choice([0, 1, 5000]), every=r.choice([3, 20, 1000]), batch=r.randrange(1, 9)
    )
    for others in {shards, r.choice([1, 2, 5, 64])}:
        found, job = recovered(tmp_path, others)
        assert found == histories.living(history.state())
        assert job.shards == shards
        assert job.seqs == [len(journal) for journal in history.journals]
        assert (job.torn_bytes, job.dropped) == (0, 0)


@pytest.mark.parametrize("seed", range(40))
def test_a_torn_log(tmp_path: Path, seed: int) -> None:
    """Each log ends anywhere: at a record or within one, which zeros behind it may complete."""
    r = random.Random(1000 + seed)
    shards = r.choice([1, 2, 4])
    history = histories.random_history(r, shards, 120)
    written = histories.write_logs(history, tmp_path, every=r.choice([10, 1000]), batch=r.randrange(1, 9))
    numbers = []
    for shard, segments in enumerate(written):
        keep = r.randrange(len(segments))
        for segment in segments[keep + 1 :]:
            (tmp_path / "logs" / histories.segment_name(1, shard, segment.first)).unlink()
        last = segments[keep]
        end = r.randrange(64, len(last.data) + 1)
        file = tmp_path / "logs" / histories.segment_name(1, shard, last.first)
        left = last.data[:end] + r.choice([b"", bytes(40), bytes(5000)])
        file.write_bytes(left)
        numbers.append(last.first - 1 + sum(1 for e in last.ends if left[:e] == last.data[:e]))
    ends = history.whole(numbers)
    found, job = recovered(tmp_path, r.choice([shards, 3]))
    assert found == histories.living(history.state(ends))
    assert job.seqs == ends
    assert job.dropped == sum(numbers) - sum(ends)
    job.cut()
    again, after = recovered(tmp_path, shards)
    assert again == found
    assert (after.seqs, after.torn_bytes, after.dropped, after.ends) == (ends, 0, 0, [])
