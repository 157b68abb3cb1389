"""Snapshots of a store that is changed all the while: with the log behind them they end in the state that was last."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest
from store import histories

from tellstone import Engine
from tellstone._core.store.keyspace import Store
from tellstone._core.store.recovery import RecoveryJob, recover
from tellstone.durability.directory import Directory
from tellstone.durability.persistence import Persistence

pytestmark = pytest.mark.core

FAR = 4_000_000_000_000
ROUNDS = 4


def change(engine: Engine, seed: int, done: threading.Event) -> None:
    """Everything that changes a store, at random."""
    r = random.Random(seed)
    engine.execute("SELECT", seed % 2)
    while not done.is_set():
        key, other = (f"key:{r.randrange(3000)}" for _ in range(2))
        pick = r.random()
        if pick < 0.3:
            engine.execute(
                "SET",
                key,
                "x" * 40_000 if r.random() < 0.01 else r.choice([r.randrange(10**9), "text" * r.randrange(30)]),
            )
        elif pick < 0.4:
            engine.execute("MSET", key, seed, other, seed, "third", seed)
        elif pick < 0.5:
            engine.execute("APPEND", key, "more")
        elif pick < 0.6:
            engine.execute("SETRANGE", key, r.choice([3, 200]), "part")
        elif pick < 0.7:
            engine.execute("SET", key, "with a deadline", "PXAT", FAR + r.randrange(100))
        elif pick < 0.8:
            engine.execute(*r.choice([("PERSIST", key), ("PEXPIREAT", key, FAR), ("PEXPIREAT", key, 1)]))
        elif pick < 0.9:
            engine.execute("DEL", key, other)
        elif pick < 0.98:
            if key != other and engine.execute("EXISTS", key):
                engine.execute("COPY", key, other, "REPLACE")
        elif pick < 0.999:
            engine.execute("SWAPDB", 0, r.choice([1, 2]))
        else:
            engine.execute("FLUSHDB")


@pytest.mark.parametrize("shards", [1, 4])
def test_snapshots_while_everything_changes(tmp_path: Path, shards: int) -> None:
    store = Store(shards)
    done = threading.Event()
    with Directory(tmp_path) as directory, Engine._over(store) as engine:
        persistence = Persistence(store, directory, sync="no")
        persistence.recover()
        for i in range(20_000):
            engine.set(f"still:{i}", i)
        threads = [threading.Thread(target=change, args=(engine, seed, done)) for seed in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(ROUNDS):
                assert persistence.save(gentle=True)
        finally:
            done.set()
            for thread in threads:
                thread.join()
        assert persistence.close()
        last = histories.content(store)
    for others in {shards, 3}:
        again = Store(others)
        job = recover(again, tmp_path)
        assert histories.content(again) == last
        assert job.number == ROUNDS and job.keys > 0
    check = RecoveryJob(None, tmp_path, mode="check")
    check.run()
    assert (check.faults, check.torn_bytes) == ([], 0)
