"""Logs as store.wal writes them: recovered, torn, cut, continued, and recovered again."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from store import histories
from store.histories import Change, History

from tellstone._core.store.appender import Appender
from tellstone._core.store.recovery import RecoveryJob, recover

pytestmark = pytest.mark.core


class Both(History):
    """A history that is written to a log as it goes on."""

    log: Appender

    def add(self, shard: int, change: Change) -> None:
        super().add(shard, change)
        if change.kind != "begin" and not self.grouped:
            name, *arguments = self.call(shard, change)
            getattr(self.log, name)(*arguments)

    grouped = False

    def together(self, changes: Any) -> None:
        changes = list(changes)
        self.grouped = True
        before = [len(journal) for journal in self.journals]
        super().together(changes)
        self.grouped = False
        calls = []
        for shard, journal in enumerate(self.journals):
            replayed = self.shard_at(shard, before[shard])
            for change in journal[before[shard] :]:
                change.do(replayed)
                if change.kind != "begin":
                    calls.append(self.call(shard, change, replayed))
        self.log.group(tuple(sorted({shard for shard, _ in changes})), calls)

    def call(self, shard: int, change: Change, state: histories.Shard | None = None) -> tuple[Any, ...]:
        """The Appender's method and its arguments."""
        text, deadline = change.value
        if change.kind == "put":
            return "put", shard, change.db, change.key, int(text) if histories.is_integer(text) else text, deadline
        if change.kind == "patch":
            whole = (state or self.now[shard])[change.db][change.key][0]
            return "patch", shard, change.db, change.key, whole, change.offset, len(text)
        if change.kind == "deadline":
            return "deadline", shard, change.db, change.key, deadline
        if change.kind == "delete":
            return "delete", shard, change.db, change.key
        return ("flush", shard, change.db) if change.kind == "flush" else ("swap", shard, change.db, change.other)

    def ends_at(self, numbers: list[int]) -> None:
        """Forget what a crash has lost."""
        for shard, number in enumerate(numbers):
            self.now[shard] = self.shard_at(shard, number)
            del self.journals[shard][number:]


def tear(r: random.Random, root: Path, shards: int) -> None:
    """What a power failure may leave of the last segments: less, and some of it overwritten."""
    for shard in range(shards):
        file = sorted((root / "logs").glob(f"*-{shard:016x}-*"))[-1]
        data = file.read_bytes().rstrip(b"\0")
        at = r.randrange(64, max(len(data), 64) + 1)
        hole = bytes(r.choice([0, 0, 30])) + r.randbytes(r.choice([0, 0, 7]))
        file.write_bytes((data[:at] + hole).ljust(len(data) + 5000, b"\0"))


@pytest.mark.parametrize("seed", range(6))
def test_a_log_that_is_torn_and_continued(tmp_path: Path, seed: int) -> None:
    r = random.Random(seed)
    shards = r.choice([1, 2, 4])
    history = Both(shards)
    root = tmp_path / "0"
    numbers = [0] * shards
    for i in range(4):
        root.mkdir(exist_ok=True)
        history.log = Appender(os.fsencode(root), shards, policy=r.choice(["always", "no"]), seqs=numbers)
        for _ in range(4):
            histories.change_at_random(r, history, 15)
            assert history.log.commit()
        assert history.log.sync()
        copy = tmp_path / f"{i + 1}"
        shutil.copytree(root, copy)
        history.log.close()
        whole = histories.new_store(shards)
        assert recover(whole, root).seqs == [len(journal) for journal in history.journals]
        assert histories.content(whole) == histories.living(history.state())
        tear(r, copy, shards)
        store = histories.new_store(r.choice([shards, 3]))
        job = recover(store, copy)
        job.cut()
        numbers = job.seqs
        assert history.whole(numbers) == numbers
        assert histories.content(store) == histories.living(history.state(numbers))
        check = RecoveryJob(None, copy, mode="check")
        check.run()
        assert (check.faults, check.torn_bytes) == ([], 0)
        history.ends_at(numbers)
        root = copy
