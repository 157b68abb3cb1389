"""Whatever is done to the files, a recovery ends, and what it loads is a state that was."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from store import histories

from tellstone._core.store.recovery import RecoveryJob, recover
from tellstone.errors import DamageError, StartError

pytestmark = pytest.mark.core


def mutate(r: random.Random, data: bytes) -> bytes:
    """One thing that may befall a file."""
    at = r.randrange(len(data) + 1)
    more = r.randrange(1, 60)
    return r.choice(
        [
            data[:at],
            data[:at] + r.randbytes(more) + data[at + more :],
            data[:at] + bytes(more) + data[at + more :],
            data[:at] + r.randbytes(more) + data[at:],
            data[:at] + data[at + more :],
            data[:at] + data[max(0, at - more) :],
            data + r.randbytes(more),
            r.randbytes(more),
            b"",
        ]
    )


def runs(root: Path, shards: int) -> tuple[histories.State, list[int]] | None:
    """All three ways to read; what a start has loaded, None where it was refused."""
    check = RecoveryJob(None, root, mode="check")
    try:
        check.run(threads=2)
        RecoveryJob(histories.new_store(shards), root, mode="salvage").run(threads=2)
    except DamageError:
        pass
    store = histories.new_store(shards)
    try:
        job = recover(store, root, threads=2)
    except (DamageError, StartError):
        return None
    return histories.content(store), job.seqs


@pytest.mark.parametrize("seed", range(60))
def test_mutated_files(tmp_path: Path, seed: int) -> None:
    r = random.Random(seed)
    history = histories.random_history(r, r.choice([1, 3]), 60, keys=8)
    histories.write_logs(history, tmp_path, every=r.choice([9, 1000]), batch=r.randrange(1, 9))
    if r.random() < 0.6:
        seqs = [r.randrange(len(journal) + 1) for journal in history.journals]
        shards = [(seq, history.shard_at(shard, seq)) for shard, seq in enumerate(seqs)]
        (tmp_path / "snapshots" / histories.snapshot_name(1, 1)).write_bytes(histories.snapshot_bytes(shards))
    files = sorted(tmp_path.rglob("*-*"))
    for file in r.sample(files, min(len(files), r.choice([1, 1, 2, 5]))):
        file.write_bytes(mutate(r, file.read_bytes()))
    loaded = runs(tmp_path, r.choice([history.shards, 2]))
    if loaded is not None:
        found, seqs = loaded
        assert found == histories.living(history.state(seqs))
        assert history.whole(seqs) == seqs or any(tmp_path.glob("snapshots/*"))
