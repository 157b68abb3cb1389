"""An engine with a path: what is written is there again, however the engine ends."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from disk import call_of, environment
from store.histories import State, content
from wire import Closed, Wire

from tellstone import ClosedError, DamageError, Engine, OptionError, StartError, StorageError
from tellstone.cli import main
from tellstone.config import Options
from tellstone.server import Server
from tellstone.units import parse_address

LONG = os.urandom(200_000)


def write_everything(engine: Engine) -> None:
    """Every kind of write, and of value."""
    engine.set("short", "value")
    engine.set("long", LONG)
    engine.set("timed", "value", ttl=1000)
    engine.set("new", "1", nx=True)
    engine.set("new", "2", nx=True)
    engine.set("timed", "later", keep_ttl=True)
    engine["item"] = b"\0\xff"
    engine["gone"] = "x"
    del engine["gone"]
    engine.set_many({f"many:{n}": n for n in range(100)})
    engine.set_many([("pair:1", "a"), ("pair:2", 2.5)], ttl=timedelta(hours=1))
    assert engine.delete("many:1", "many:2", "none") == 2
    assert engine.incr("number", 5) == 5 and engine.incr("number") == 6 and engine.incr("sum", 0.5) == 0.5
    engine["expires"] = engine["expired"] = engine["persists"] = "x"
    assert engine.expire("expires", 500) and engine.expire("expired", 0)
    assert engine.expire("persists", 5) and engine.persist("persists")
    engine.execute("MSET", "m:1", "a", "m:2", "b", "m:3", "c")
    engine.execute("APPEND", "m:1", "bc")
    engine.execute("SETRANGE", "long", 100_000, "patch")
    engine.execute("RENAME", "m:2", "m:4")
    engine.execute("SELECT", 3)
    engine.execute("SET", "other", "database")
    engine.execute("SWAPDB", 3, 4)
    engine.execute("SELECT", 0)


def kept(engine: Engine) -> State:
    return content(engine._store)


@pytest.mark.parametrize("sync", ["always", "everysec", "no"])
def test_what_is_written_is_there_again(tmp_path: Path, sync: str) -> None:
    with Engine(path=tmp_path / "data", sync=sync) as engine:
        write_everything(engine)
        before = kept(engine)
    assert len(before) > 100
    with Engine(path=str(tmp_path / "data"), sync=sync) as engine:
        assert kept(engine) == before
        assert engine["long"] == LONG[:100_000] + b"patch" + LONG[100_005:]
        assert engine["new"] == b"1" and "expired" not in engine and (engine.ttl("timed") or 0) > 990
        engine.flush()
        engine["after"] = "the flush"
        after = kept(engine)
    with Engine(path=tmp_path / "data") as engine:
        assert kept(engine) == after
        assert list(engine) == [b"after"] and engine.execute("DBSIZE") == 1
    assert main(["check", str(tmp_path / "data")]) == 0


def test_time_passes_while_it_is_closed(tmp_path: Path) -> None:
    with Engine(path=tmp_path) as engine:
        engine.set("short", "x", ttl=0.2)
        earliest = time.time() + 100
        engine.set("long", "x", ttl=100)
        latest = time.time() + 100
    time.sleep(0.25)
    with Engine(path=tmp_path) as engine:
        assert "short" not in engine and len(engine) == 1
        before, left, after = time.time(), engine.ttl("long"), time.time()
        assert left is not None and earliest - after - 0.01 <= left <= latest - before + 0.01


def test_a_server_and_an_engine_take_turns(tmp_path: Path) -> None:
    with Engine(path=tmp_path / "data", shards=4) as engine:
        write_everything(engine)
        before = kept(engine)
    options = Options(enable_persistence=True, persistence_dir=str(tmp_path / "data"), shards=8, io_threads=1)
    options.enable_resp, options.resp_addr = True, parse_address(f"unix:{tmp_path}/s")
    server = Server(options, protocols=["resp"])
    server.start_thread()
    try:
        with Wire(f"{tmp_path}/s") as wire:
            while wire.call("PING").startswith(b"-LOADING"):
                time.sleep(0.01)
            assert wire.call("GET", "number") == b"$1\r\n6\r\n"
            assert wire.call("SET", "served", "x") == b"+OK\r\n"
        with pytest.raises(StartError, match="in use by process"):
            Engine(path=tmp_path / "data")
    finally:
        server.close()
    with Engine(path=tmp_path / "data", shards=3) as engine:
        assert engine["served"] == b"x" and len(engine) == engine.execute("DBSIZE")
        del engine["served"]
        assert kept(engine) == before


def test_another_number_of_shards(tmp_path: Path) -> None:
    before: State | None = None
    for shards in (1, 5, 8, 8, 1):
        with Engine(path=tmp_path, shards=shards) as engine:
            if before is None:
                write_everything(engine)
            else:
                assert kept(engine) == before
            engine.incr("rounds")
            before = kept(engine)
    assert main(["check", str(tmp_path)]) == 0


# Who may open ---------------------------------------------------------------------------------------------------------


def open_in_vain(directory: str) -> None:
    try:
        Engine(path=directory)
    except StartError as error:
        print(error)


def test_a_second_opener_is_told_who_has_it(tmp_path: Path) -> None:
    with Engine(path=tmp_path) as engine:
        engine["k"] = "v"
        with pytest.raises(StartError, match=f"path {tmp_path} is in use by process {os.getpid()}, this one"):
            Engine(path=tmp_path)
        done = subprocess.run(
            [sys.executable, "-c", call_of(open_in_vain), str(tmp_path)],
            env=environment(),
            capture_output=True,
            text=True,
        )
        assert done.stdout == f"path {tmp_path} is in use by process {os.getpid()}: one process at a time\n", (
            done.stderr
        )
        engine["k"] = "still"
    with Engine(path=tmp_path) as engine:
        assert engine["k"] == b"still"


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StartError, match=f"path {tmp_path}/file: "):
        Engine(path=tmp_path / "file")
    with pytest.raises(OptionError, match="sync: 'sometimes' is not one of always, everysec, no"):
        Engine(path=tmp_path, sync="sometimes")
    with pytest.raises(OptionError, match="sync: 'no' is for an engine with a path"):
        Engine(sync="no")
    for wrong in ("", 5):
        with pytest.raises(OptionError, match=r"path: .* does not name a directory"):
            Engine(path=wrong)  # type: ignore[arg-type]


def test_damage_is_told_and_the_directory_given_free(tmp_path: Path) -> None:
    with Engine(path=tmp_path, shards=1) as engine:
        engine.set_many({f"k{n}": "value" for n in range(1000)})
        engine.snapshot()
    (snapshot,) = (tmp_path / "snapshots").iterdir()
    data = bytearray(snapshot.read_bytes())
    data[len(data) // 2] ^= 1
    snapshot.write_bytes(data)
    for _ in range(2):
        with pytest.raises(DamageError, match=str(snapshot.name)):
            Engine(path=tmp_path)
    assert main(["repair", str(tmp_path)]) == 0
    with Engine(path=tmp_path) as engine:
        engine["k"] = "v"


# Snapshots ------------------------------------------------------------------------------------------------------------


def snapshots(directory: Path) -> list[str]:
    return sorted(path.name for path in (directory / "snapshots").glob("*.snapshot"))


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_snapshot_is_there_when_it_returns(tmp_path: Path) -> None:
    with Engine(path=tmp_path, shards=2) as engine:
        write_everything(engine)
        engine.snapshot()
        (first,) = snapshots(tmp_path)
        assert engine.execute("INFO", "persistence")["rdb_last_bgsave_status"] == "ok"
        engine["after"] = "it"
        engine.snapshot(wait=False)
        wait_for(lambda: first not in snapshots(tmp_path))
        wait_for(lambda: not engine.execute("INFO", "persistence")["rdb_bgsave_in_progress"])
        assert engine.execute("SAVE") == b"OK"
        before = kept(engine)
    with Engine(path=tmp_path) as engine:
        assert kept(engine) == before
    with pytest.raises(ClosedError):
        engine.snapshot()


def test_without_a_path_there_is_no_snapshot() -> None:
    with Engine() as engine, pytest.raises(StorageError, match="no path"):
        engine.snapshot()


def test_a_log_that_has_grown_is_cut(tmp_path: Path) -> None:
    with Engine(path=tmp_path, sync="no") as engine:
        assert engine.execute("CONFIG", "GET", "snapshot-bytes") == {"snapshot-bytes": str(64 * 1024**2)}
        engine.execute("CONFIG", "SET", "snapshot-bytes", "100kb")
        engine.set_many({f"k{n}": "v" * 100 for n in range(2000)})
        wait_for(lambda: bool(snapshots(tmp_path)))
        before = kept(engine)
    with Engine(path=tmp_path) as engine:
        assert kept(engine) == before


# Ends -----------------------------------------------------------------------------------------------------------------


def test_closed_is_closed(tmp_path: Path) -> None:
    engine = Engine(path=tmp_path)
    engine["k"] = "v"
    engine.close()
    engine.close()
    for write in (lambda: engine.set("k", "x"), engine.flush, lambda: engine.execute("SET", "k", "x")):
        with pytest.raises(ClosedError):
            write()
    with Engine(path=tmp_path) as again:
        assert again["k"] == b"v"


def test_writers_meet_the_end(tmp_path: Path) -> None:
    """Whatever a call has answered before the engine is closed under it is there."""
    for round_ in range(5):
        engine = Engine(path=tmp_path, sync=("always", "no")[round_ % 2])
        told = [0, 0, 0]

        def write(which: int, engine: Engine = engine, told: list[int] = told) -> None:
            try:
                for number in range(1, 1_000_000):
                    if which == 2:
                        engine.execute("SET", which, number)
                    else:
                        engine[str(which)] = number
                    told[which] = number
            except ClosedError:
                pass

        threads = [threading.Thread(target=write, args=(which,)) for which in range(3)]
        for thread in threads:
            thread.start()
        wait_for(lambda told=told: min(told) > 3)  # type: ignore[misc]
        engine.close()
        for thread in threads:
            thread.join()
        with Engine(path=tmp_path) as again:
            for which in range(3):
                assert int(again[str(which)]) in (told[which], told[which] + 1)
            again.flush()


def test_one_that_is_forgotten_is_closed(tmp_path: Path) -> None:
    for round_ in range(3):
        engine = Engine(path=tmp_path, sync="no")
        assert engine.get("round") == (b"%d" % (round_ - 1) if round_ else None)
        engine["round"] = round_
        if round_ == 1:
            engine_in_a_cycle = [engine]
            engine_in_a_cycle.append(engine_in_a_cycle)  # type: ignore[arg-type]
            del engine_in_a_cycle
        del engine
        gc.collect()


def test_one_that_listens_is_not_forgotten(tmp_path: Path) -> None:
    listening = Engine(path=tmp_path / "data").listen(f"unix:{tmp_path}/s")
    gc.collect()
    with listening, Wire(f"{tmp_path}/s") as wire:
        assert wire.call("SET", "k", "v") == b"+OK\r\n"
        assert b"aof_enabled:1" in wire.call("INFO", "persistence")
        assert wire.call("CONFIG", "GET", "wal-sync") == b"*2\r\n$8\r\nwal-sync\r\n$6\r\nalways\r\n"
        with pytest.raises(StartError, match="in use"):
            Engine(path=tmp_path / "data")
    del listening
    gc.collect()
    with Engine(path=tmp_path / "data") as engine:
        assert engine["k"] == b"v"


def end_without_close(directory: str) -> None:
    """With a thread that writes to the last moment, and tells what has been stored."""
    engine = Engine(path=directory)
    lazy = Engine(path=f"{directory}/lazy", sync="everysec")
    begun = threading.Event()

    def write() -> None:
        for number in range(1_000_000):
            engine[str(number)] = "x"
            os.write(1, b"%d\n" % number)
            begun.set()

    threading.Thread(target=write, daemon=True).start()
    begun.wait()
    lazy["k"] = "not synced yet"


def test_a_program_that_ends_without_close_loses_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", call_of(end_without_close), str(tmp_path)]
    done = subprocess.run(command, env=environment(), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    stored = done.stdout.split()
    with Engine(path=tmp_path) as engine, Engine(path=tmp_path / "lazy") as lazy:
        assert stored and all(engine.get_many(stored))
        assert len(stored) <= len(engine) <= len(stored) + 1
        assert lazy["k"] == b"not synced yet"


def write_until_killed(directory: str) -> None:
    engine = Engine(path=f"{directory}/data", shards=4)
    engine.listen(f"unix:{directory}/s")

    def write(which: int) -> None:
        for number in range(1_000_000):
            key = f"{which}:{number}"
            if which == 0:
                engine[key] = number
            elif which == 1:
                engine.execute("MSET", key, number, f"{key}:too", number)
            elif which == 2:
                engine.set_many({key: number, f"{key}:too": number})
            else:
                engine.incr(key, number)
                engine.delete(f"{which}:{number - 1}")
            os.write(1, b"%d %d\n" % (which, number))

    for which in range(4):
        threading.Thread(target=write, args=(which,), daemon=True).start()
    time.sleep(60)


def test_nothing_acknowledged_is_lost_when_it_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", call_of(write_until_killed), str(tmp_path)]
    last, served = [-1] * 4, -1

    def note(line: bytes) -> None:
        which, number = line.split()
        last[int(which)] = int(number)

    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while min(last) < 3:
            note(process.stdout.readline())
        with Wire(f"{tmp_path}/s") as wire:
            try:
                while wire.call("SET", f"served:{served + 1}", "x") == b"+OK\r\n":
                    served += 1
                    if served == 3:
                        threading.Timer(0.3, process.send_signal, (signal.SIGKILL,)).start()
            except (Closed, OSError):
                pass
        for line in process.stdout.read().split(b"\n")[:-1]:
            note(line)
    assert served >= 3
    with Engine(path=tmp_path / "data") as engine:
        for which in range(3):
            assert all(int(engine[f"{which}:{number}"]) == number for number in range(last[which] + 1))
        assert all(
            int(engine[f"{which}:{number}:too"]) == number for which in (1, 2) for number in range(last[which] + 1)
        )
        assert any(engine.get(f"3:{number}") == b"%d" % number for number in (last[3], last[3] + 1))
        assert not engine.exists(*(f"3:{number}" for number in range(last[3])))
        assert all(engine.get_many(f"served:{number}" for number in range(served + 1)))
