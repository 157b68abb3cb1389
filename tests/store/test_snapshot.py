"""Snapshots: the file is as its page says, holds what the store holds, and is there whole or not at all."""

from __future__ import annotations

import errno
import os
import random
import stat
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from store import histories

from tellstone import Engine
from tellstone._core.store.keyspace import Store
from tellstone._core.store.record import crc32c_of
from tellstone._core.store.recovery import recover
from tellstone._core.store.snapshot import SnapshotJob, snapshot

pytestmark = pytest.mark.core


def fill(engine: Engine, r: random.Random, changes: int) -> None:
    """All encodings, deadlines, databases, and values of all sizes."""
    for _ in range(changes):
        engine.execute("SELECT", r.choice([0, 0, 0, 1, 7, 15]))
        key = b"key:%d" % r.randrange(changes) * r.choice([1, 1, 1, 50])
        pick = r.randrange(7)
        if pick == 0:
            engine.execute("SET", key, r.choice([0, -1, 127, -129, 2**31, -(2**63), r.randrange(2**63)]))
        elif pick == 1:
            engine.execute("SET", key, r.randbytes(r.choice([0, 1, 44, 45, 300, 31_999, 32_000, 200_000])))
        elif pick == 2:
            engine.execute("SET", key, "text" * r.randrange(40), "PXAT", histories.NOW + r.randrange(1, 10**9))
        elif pick == 3:
            engine.execute("APPEND", key, r.randbytes(r.randrange(100)))
        elif pick == 4:
            engine.execute("SETRANGE", key, r.choice([0, 7, 40_000]), b"part")
        elif pick == 5:
            engine.execute("SETBIT", key, r.randrange(100), 1)
        else:
            engine.execute("INCRBYFLOAT", b"float" + key, "1.5")


def encodings(store: Store) -> dict[tuple[int, bytes], bytes]:
    engine = Engine._over(store)
    found = {}
    for db, key in histories.content(store):
        engine.execute("SELECT", db)
        found[db, key] = engine.execute("OBJECT", "ENCODING", key)
    return found


def place(root: Path, generation: int = 1) -> Path:
    histories.make_directories(root)
    return root / "snapshots" / histories.snapshot_name(generation, 1)


@pytest.fixture
def store() -> Iterator[Store]:
    store = histories.new_store(4)
    with Engine._over(store) as engine:
        fill(engine, random.Random(5), 600)
        yield store


@pytest.mark.parametrize("shards", [4, 1, 3, 32])
def test_a_store_comes_back(tmp_path: Path, store: Store, shards: int) -> None:
    count = snapshot(store, place(tmp_path))
    again = histories.new_store(shards)
    job = recover(again, tmp_path)
    assert histories.content(again) == histories.content(store)
    assert encodings(again) == encodings(store)
    assert count == job.keys == sum(keys for keys, _ in store.sizes())
    assert (job.generation, job.number, job.shards, job.seqs) == (1, 1, 4, [0] * 4)


def test_an_empty_store(tmp_path: Path) -> None:
    assert snapshot(histories.new_store(3), place(tmp_path, 7), 7) == 0
    again = histories.new_store(2)
    assert recover(again, tmp_path).generation == 7
    assert histories.content(again) == {}


def test_keys_that_are_over_are_not_loaded(tmp_path: Path, store: Store) -> None:
    snapshot(store, place(tmp_path))
    later = histories.NOW + 500_000_000
    again = histories.new_store(2, later)
    job = recover(again, tmp_path)
    assert histories.content(again) == histories.living(histories.content(store), later)
    assert job.expired == sum(keys for keys, _ in store.sizes()) - sum(keys for keys, _ in again.sizes()) > 0


def test_the_file_is_as_the_page_says(tmp_path: Path, store: Store) -> None:
    file = place(tmp_path, 3)
    before = int(time.time() * 1000)
    snapshot(store, file, 3)
    after = int(time.time() * 1000)
    data = file.read_bytes()
    assert data[:8] == b"\x89TSNAP\r\n"
    version, shards, generation, begun, zero, crc = struct.unpack_from("<IIQqII", data, 8)
    assert (version, shards, generation, zero, crc) == (1, 4, 3, 0, crc32c_of(data[:36]))
    assert before <= begun <= begun + struct.unpack_from("<I", data, len(data) - 16)[0] <= after
    found: histories.State = {}
    at = 40
    for shard, (number, offset, entries, total) in enumerate(feet(data, 4)):
        assert (number, offset) == (0, at)
        sums, count = 0, 0
        while at < len(data) - 5 * 32 and struct.unpack_from("<I", data, at + 8)[0] == shard:
            at, more = read_block(data, at, found)
            sums, count = crc32c_of(struct.pack("<I", more[0]), sums), count + more[1]
        assert (sums, count) == (total, entries)
    assert at == len(data) - 5 * 32
    assert found == histories.content(store)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 or os.name == "nt"
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def feet(data: bytes, shards: int) -> list[tuple[int, int, int, int]]:
    foot = data[-32 * (shards + 1) :]
    entries, offset, _, crc = struct.unpack_from("<QQII", foot, 32 * shards)
    assert (offset, foot[-8:]) == (len(data) - len(foot), b"TSNAPEND")
    assert crc == crc32c_of(foot[:-12])
    rows = [struct.unpack_from("<QQQII", foot, 32 * shard) for shard in range(shards)]
    assert sum(row[2] for row in rows) == entries and not any(row[4] for row in rows)
    return [row[:4] for row in rows]


def read_block(data: bytes, at: int, found: histories.State) -> tuple[int, tuple[int, int]]:
    """Where the next block stands, and the checksum and number of entries of this one."""
    crc, size, _, db, number = struct.unpack_from("<IIIIQ", data, at)
    end = at + 24 + size
    assert (crc, number) == (crc32c_of(data[at + 4 : end]), 0) and db < 16
    at += 24
    count = 0
    while at < end:
        (size,) = struct.unpack_from("<I", data, at)
        kind, in_db, deadline, type_, encoding, key = struct.unpack_from("<BBqBBI", data, at + 4)
        body = data[at + 20 : at + 4 + size]
        value = body[key:]
        assert (kind, in_db, type_) == (1, db, 1) and encoding < 3
        found[db, body[:key]] = (b"%d" % struct.unpack("<q", value) if encoding == 2 else value), deadline
        at += 4 + size
        count += 1
    assert at == end
    return end, (crc, count)


def test_a_large_value_has_a_block_of_its_own(tmp_path: Path) -> None:
    store = histories.new_store(1)
    with Engine._over(store) as engine:
        for i in range(20):
            engine.set(f"small:{i}", "x" * 100)
            engine.set(f"large:{i}", os.urandom(100_000))
        snapshot(store, place(tmp_path))
        data = place(tmp_path).read_bytes()
        at, sizes = 40, []
        while at < len(data) - 64:
            sizes.append(struct.unpack_from("<I", data, at + 4)[0])
            at += 24 + sizes[-1]
        assert sum(size > 100_000 for size in sizes) == 20 and max(sizes) < 100_100
        again = histories.new_store(1)
        recover(again, tmp_path)
        assert histories.content(again) == histories.content(store)


# Failing --------------------------------------------------------------------------------------------------------


def test_a_directory_that_is_not_there(tmp_path: Path, store: Store) -> None:
    with pytest.raises(FileNotFoundError):
        snapshot(store, tmp_path / "nowhere" / "x")


def test_a_file_that_may_not_grow(tmp_path: Path, store: Store) -> None:
    resource = pytest.importorskip("resource")
    file = place(tmp_path)
    file.write_bytes(b"the old one")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError) as error:
            snapshot(store, file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert error.value.errno == errno.EFBIG
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]
    assert file.read_bytes() == b"the old one"
    file.with_name(file.name + ".part").write_bytes(b"left over")
    assert snapshot(store, file) > 0
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def test_a_cancelled_one_leaves_nothing(tmp_path: Path, store: Store) -> None:
    file = place(tmp_path)
    job = SnapshotJob(store)
    job.cancel()
    assert job.write(file) is False
    job = SnapshotJob(store)
    results: list[bool] = []
    with Engine._over(histories.new_store(1)) as engine:
        engine.execute("DEBUG", "POPULATE", 100_000)
        job = SnapshotJob(engine._store)
        thread = threading.Thread(target=lambda: results.append(job.write(file, gentle=True)))
        thread.start()
        while job.keys == 0:
            time.sleep(0.0001)
        job.cancel()
        thread.join()
        assert results == [False] and 0 < job.keys < 100_000 and job.bytes > 0
    assert list(file.parent.iterdir()) == []
    with pytest.raises(ValueError, match="one snapshot"):
        job.write(file)


# While the store changes ----------------------------------------------------------------------------------------


def test_threads_change_the_store_meanwhile(tmp_path: Path) -> None:
    """Without a log each key has a state that it had meanwhile, those that nobody touches above all."""
    store = histories.new_store(4)
    done = threading.Event()
    with Engine._over(store) as engine:
        for i in range(6_000):
            engine.set(f"still:{i}", i)
            engine.set(f"moving:{i}", f"0:{i}")

        def change(seed: int) -> None:
            r = random.Random(seed)
            step = 0
            while not done.is_set():
                step += 1
                i = r.randrange(6_000)
                engine.set(f"moving:{i}", f"{step}:{i}" + "x" * r.choice([0, 10, 40_000]))
                engine.set(f"new:{seed}:{step}", step)
                engine.delete(f"new:{seed}:{step - 50}")

        threads = [threading.Thread(target=change, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        job = SnapshotJob(store)
        assert job.write(place(tmp_path), gentle=True)
        done.set()
        for thread in threads:
            thread.join()
    again = histories.new_store(8)
    recover(again, tmp_path)
    with Engine._over(again) as engine:
        assert all(engine.get(f"still:{i}") == b"%d" % i for i in range(6_000))
        for i in range(6_000):
            step, _, rest = (engine.get(f"moving:{i}") or b"").partition(b":")
            assert step.isdigit() and rest.rstrip(b"x") == b"%d" % i


def test_swapped_databases_are_followed(tmp_path: Path) -> None:
    """A shard's databases are those that it had when its turn came, whatever they are swapped to meanwhile."""
    store = histories.new_store(2)
    done = threading.Event()
    with Engine._over(store) as engine:
        engine.execute("DEBUG", "POPULATE", 20_000, "zero")
        engine.execute("SELECT", 1)
        engine.execute("DEBUG", "POPULATE", 20_000, "one")

        def swap() -> None:
            while not done.is_set():
                engine.execute("SWAPDB", 0, 1)

        thread = threading.Thread(target=swap)
        thread.start()
        job = SnapshotJob(store)
        assert job.write(place(tmp_path), gentle=True)
        done.set()
        thread.join()
        assert job.keys == 40_000
    found: dict[int, set[tuple[int, bytes]]] = {0: set(), 1: set()}
    again = histories.new_store(2)
    recover(again, tmp_path)
    for db, key in histories.content(again):
        found[histories.fnv1a(key) % 2].add((db, key.partition(b":")[0]))
    assert all(sorted(shard) in ([(0, b"one"), (1, b"zero")], [(0, b"zero"), (1, b"one")]) for shard in found.values())
