"""When snapshots are taken by themselves, what INFO tells of them, and the options of both, beside redis-server's."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from servers import Server, redis_command, redis_program, redis_version, tellstone_command
from shell.started import Started
from wire import Wire

from tellstone._core.store.keyspace import Store
from tellstone.control.context import Embedded
from tellstone.control.info import persistence as fields_of
from tellstone.durability.directory import Directory
from tellstone.durability.persistence import Persistence

Start = Callable[..., Started]
PERSISTENT = ("--enable-persistence", "--shards", "3", "--snapshot-bytes", "0")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that keeps its data on disk."""
    root = tmp_path_factory.mktemp("saving")
    running = Server(tellstone_command(*PERSISTENT, "--persistence-dir", str(root / "data")), root).start()
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A redis-server that does."""
    if redis_program() is None:
        pytest.skip("redis-server is not installed")
    running = Server(redis_command("--appendonly", "yes"), tmp_path_factory.mktemp("redis")).start()
    yield running
    running.stop()


def persistence(wire: Wire) -> dict[str, str]:
    lines = wire.call("INFO", "persistence").decode().split("\r\n")
    return dict(line.split(":", 1) for line in lines if ":" in line)


def until(condition: Callable[[], bool], timeout: float = 30) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


VALUES = [
    *("", " ", "3600 1", "3600 1 300 100", "60 10000 300 10 900 1", "60 0", "60 1", "60 1 60 1"),
    *("60", "60 1 5", "0 1", "-1 1", "60 -1", "x", "60 x", "x 1", "60  1", " 60 1", "60 1 ", "1.5 1", "60 1x"),
    *("+60 +1", "060 01", "\t60 \n1", "60\t 1", "0x10 1", "+ 1", "9223372036854775807 1", "9223372036854775808 1"),
    *("60 2147483647", "60 2147483648", "60 4294967296", "60 99999999999999999999", "60\0x 1\0", "\0", "60\t1", "é 1"),
]


@pytest.mark.parametrize("value", VALUES)
def test_save_is_read_and_shown_as_redis_does(ours: Server, theirs: Server, value: str) -> None:
    with ours.connect() as left, theirs.connect() as right:
        for wire in (left, right):
            assert wire.call("CONFIG", "SET", "save", "77 7") == b"+OK\r\n"
        for call in (("SET", "SAVE", value), ("GET", "save"), ("SET", "save", ""), ("GET", "save")):
            assert left.call("CONFIG", *call) == right.call("CONFIG", *call), call


CHANGES = """
SET a 1
SET a 2 EX 1000
SET a 2 NX
MSET a 1 b 2 c 3
MSETNX a 1 d 4
DEL a b nosuch
UNLINK c
APPEND c text
SETRANGE c 2 x
INCR n
DECRBY n 3
EXPIRE n 1000
EXPIRE nosuch 1000
PERSIST n
PERSIST n
GETSET n 4
GETEX n EX 100
GETDEL n
GETDEL n
GET c
SETBIT bits 7 1
COPY c d
EXPIRE d -1
SET over 1 PX 1
PING
MSET a 1 b 2 c 3
FLUSHDB
FLUSHDB
"""


def test_changes_are_counted_as_redis_does(ours: Server, theirs: Server) -> None:
    counted = []
    for server in (ours, theirs):
        with server.connect() as wire:
            assert wire.call("FLUSHALL") == wire.call("CONFIG", "SET", "save", "") == b"+OK\r\n"
            counts = [int(persistence(wire)["rdb_changes_since_last_save"])]
            for line in CHANGES.strip().split("\n"):
                wire.call(*line.split())
                if " PX " in line:
                    time.sleep(0.05)
                    wire.call("GET", "over")
                counts.append(int(persistence(wire)["rdb_changes_since_last_save"]))
            counted.append([after - before for before, after in itertools.pairwise(counts)])
    lines = CHANGES.strip().split("\n")
    assert list(zip(lines, counted[0], strict=True)) == list(zip(lines, counted[1], strict=True))


def test_fields_of_persistence_are_redis_s(ours: Server, theirs: Server) -> None:
    if redis_version(redis_program() or "") < (7, 2):
        pytest.skip("an older redis-server has other fields")
    with ours.connect() as left, theirs.connect() as right:
        for wire in (left, right):
            wire.call("SET", "k", "v")
            assert wire.call("SAVE") == b"+OK\r\n"
        found, expected = persistence(left), persistence(right)
        assert list(found) == list(expected)
        for name in expected:
            if not re.search(r"time|size|length|saves|keys|cow|changes", name):
                assert found[name] == expected[name], name
        assert found["rdb_changes_since_last_save"] == expected["rdb_changes_since_last_save"] == "0"
        assert int(found["aof_current_size"]) >= int(found["aof_base_size"]) > 0


def test_fields_while_it_loads(tmp_path: Path) -> None:
    store = Store(1)
    context = Embedded(store)
    with Directory(tmp_path) as directory:
        context.persistence = Persistence(store, directory)
        names = list(fields_of(context))
        store.loading = True
        loading = fields_of(context)
    assert (loading["loading"], loading["loading_loaded_perc"], loading["loading_eta_seconds"]) == (1, "0.00", 1)
    assert list(loading) == [
        *names,
        *("loading_start_time", "loading_total_bytes", "loading_rdb_used_mem"),
        *("loading_loaded_bytes", "loading_loaded_perc", "loading_eta_seconds"),
    ]


def test_a_snapshot_is_taken_when_a_point_is_reached(ours: Server) -> None:
    with ours.connect() as wire:
        assert wire.call("CONFIG", "SET", "save", "100000 1 1 3") == b"+OK\r\n"
        assert wire.call("SAVE") == b"+OK\r\n"
        saves = int(persistence(wire)["rdb_saves"])
        wire.call("MSET", "a", "1", "b", "2")
        time.sleep(2.2)
        found = persistence(wire)
        assert (found["rdb_changes_since_last_save"], int(found["rdb_saves"])) == ("2", saves)
        wire.call("SET", "c", "3")
        until(lambda: int(persistence(wire)["rdb_saves"]) == saves + 1)
        assert persistence(wire)["rdb_changes_since_last_save"] == "0"
        assert wire.call("CONFIG", "SET", "save", "") == b"+OK\r\n"


def test_the_flag_is_the_same(resp: Start, tmp_path: Path) -> None:
    one = resp("--enable-persistence", "--persistence-dir", str(tmp_path), "--save", "1 1", "--snapshot-keep", "2")
    with one.connect() as wire:
        assert wire.call("CONFIG", "GET", "save") == b"*2\r\n$4\r\nsave\r\n$3\r\n1 1\r\n"
        until(lambda: wire.call("PING") == b"+PONG\r\n")  # it was loading
        for number in range(1, 4):
            assert wire.call("SET", "k", str(number)) == b"+OK\r\n"
            until(lambda number=number: int(persistence(wire)["rdb_saves"]) == number)  # type: ignore[misc]
        assert len(list((tmp_path / "snapshots").glob("*.snapshot"))) == 2
        assert wire.call("CONFIG", "SET", "snapshot-keep", "0").startswith(b"-ERR CONFIG SET failed")
        assert wire.call("CONFIG", "SET", "snapshot-keep", "1", "save", "") == b"+OK\r\n"
        assert wire.call("CONFIG", "GET", "snapshot-keep") == b"*2\r\n$13\r\nsnapshot-keep\r\n$1\r\n1\r\n"
        assert len(list((tmp_path / "snapshots").glob("*.snapshot"))) == 2
        assert wire.call("SAVE") == b"+OK\r\n"
        assert len(list((tmp_path / "snapshots").glob("*.snapshot"))) == 1


def test_without_persistence_there_is_nowhere_to_save(server: Server, start: Start) -> None:
    with server.connect() as wire:
        assert wire.call("CONFIG", "SET", "save", "") == b"+OK\r\n"
        refused = wire.call("CONFIG", "SET", "save", "60 1")
        assert refused.startswith(b"-ERR CONFIG SET failed (possibly related to argument 'save') - persistence is off")
        assert wire.call("CONFIG", "SET", "save", "x").endswith(b" - Invalid save parameters\r\n")
        assert wire.call("CONFIG", "GET", "save") == b"*2\r\n$4\r\nsave\r\n$0\r\n\r\n"
    one = start("--save", "60 1")
    assert one.end() == 1
    assert one.lines[-1].startswith("tellstone: save: persistence is off")


@pytest.mark.parametrize("part", ["", "/logs", "/snapshots"])
def test_a_directory_that_is_none(start: Start, tmp_path: Path, part: str) -> None:
    place = tmp_path / "data"
    if part:
        place.mkdir()
    Path(f"{place}{part}").write_text("mine")
    one = start("--enable-persistence", "--persistence-dir", str(place))
    assert one.end() == 1
    assert one.lines[-1] == f"tellstone: persistence-dir {place}: {place}{part} is not a directory"
    below = start("--enable-persistence", "--persistence-dir", f"{place}{part}/below")
    assert below.end() == 1
    assert below.lines[-1] == f"tellstone: persistence-dir {place}{part}/below: {place}{part} is not a directory"
