"""`tellstone check`, `repair`, `dump` and `load` on directories of data, as a person calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from servers import environment
from store import histories
from store.histories import Change, History

from tellstone import Engine
from tellstone._core.store.recovery import recover
from tellstone.cli import main
from tellstone.durability.entries import Entry, commands_in, form_of, resp

ODD = bytes(range(256)) + "é\\x41\u2028".encode()


def history() -> History:
    history = History(2)
    for i in range(40):
        history.alone(Change("put", i % 3, b"key:%d" % i, (b"value %d" % i, histories.NEVER)))
    far = 4_000_000_000_000
    history.alone(Change("put", 0, b"number", (b"-17", far)))
    history.alone(Change("put", 9, ODD, (ODD, histories.NEVER)))
    history.alone(Change("put", 0, b"over", (b"x", histories.NOW)))
    return history


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Whole, with a snapshot and a log."""
    made = history()
    root = tmp_path / "data"
    root.mkdir()
    histories.write_logs(made, root, every=9, batch=3)
    states = [(9, made.shard_at(shard, 9)) for shard in range(2)]
    (root / "snapshots" / histories.snapshot_name(1, 1)).write_bytes(histories.snapshot_bytes(states))
    return root


def damage(root: Path) -> Path:
    """A key in the middle of a log of shard 0."""
    file = sorted((root / "logs").glob("*-0000000000000000-*"))[1]
    data = bytearray(file.read_bytes())
    data[64 + 20] ^= 1
    file.write_bytes(data)
    return file


def files(root: Path) -> dict[str, bytes]:
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*-*") if file.is_file()}


def loaded(root: Path) -> histories.State:
    store = histories.new_store(3)
    recover(store, root)
    return histories.content(store)


Said = pytest.CaptureFixture[str]


def test_check_of_a_whole_directory(directory: Path, capsys: Said) -> None:
    before = files(directory)
    assert main(["check", str(directory)]) == 0
    said = capsys.readouterr()
    assert "1 snapshots" in said.out and "2 shards" in said.out and said.out.endswith("everything is whole\n")
    assert said.err == "" and files(directory) == before


def test_check_names_what_is_damaged(directory: Path, capsys: Said) -> None:
    before = files(directory)
    file = damage(directory)
    lost = history().journals[0][9]
    assert main(["check", str(directory)]) == 1
    out = capsys.readouterr().out
    (line,) = (line for line in out.splitlines() if line.startswith("damaged"))
    assert f"logs/{file.name}, offset 64, " in line and "shard 0" in line and "numbers 10 to 10" in line
    assert ascii(lost.key)[1:] in line
    assert f"tellstone repair {directory}" in out
    assert files(directory).keys() == before.keys()


def test_check_tells_a_torn_end_from_damage(directory: Path, capsys: Said) -> None:
    file = sorted((directory / "logs").glob("*-0000000000000000-*"))[-1]
    file.write_bytes(file.read_bytes() + b"unfinished")
    assert main(["check", str(directory)]) == 0
    assert "torn: logs/" + file.name in capsys.readouterr().out


def test_check_reads_the_logs_of_older_generations(directory: Path, capsys: Said) -> None:
    """They are kept for earlier moments."""
    newer = histories.History(1)
    newer.alone(Change("put", 0, b"k", (b"v", histories.NEVER)))
    histories.write_logs(newer, directory, generation=2)
    snapshot = histories.snapshot_bytes([(0, history().shard_at(0, 40))], generation=2)
    (directory / "snapshots" / histories.snapshot_name(2, 2)).write_bytes(snapshot)
    assert main(["check", str(directory)]) == 0
    assert "2 snapshots" in capsys.readouterr().out
    file = damage(directory)
    assert main(["check", str(directory)]) == 1
    assert f"damaged: logs/{file.name}, offset 64, " in capsys.readouterr().out


def test_a_log_that_went_on_behind_a_snapshot_is_whole(tmp_path: Path, capsys: Said) -> None:
    """When a disk fails a log ends somewhere in a segment, and goes on in another one behind a snapshot of everything;
    the one before it stays as long as an older snapshot does.
    """
    made = History(1)
    for i in range(40):
        made.alone(Change("put", 0, b"key:%d" % i, (b"v", histories.NEVER)))
    histories.write_logs(made, tmp_path, every=20, batch=4)
    first = tmp_path / "logs" / histories.segment_name(1, 0, 1)
    first.write_bytes(first.read_bytes()[:900] + b"half a record" + bytes(50))
    for number, covered in ((1, 3), (2, 20)):
        snapshot = histories.snapshot_bytes([(covered, made.shard_at(0, covered))])
        (tmp_path / "snapshots" / histories.snapshot_name(1, number)).write_bytes(snapshot)
    assert loaded(tmp_path) == made.state()
    assert main(["check", str(tmp_path)]) == 0, capsys.readouterr().out
    data = bytearray(first.read_bytes())
    data[200] ^= 1  # with whole records behind it
    first.write_bytes(data)
    assert main(["check", str(tmp_path)]) == 1


def test_repair_keeps_what_is_whole(directory: Path, capsys: Said) -> None:
    lost = history().journals[0][9]
    damage(directory)
    before = files(directory)
    assert main(["repair", str(directory)]) == 0
    out = capsys.readouterr().out
    (aside,) = directory.glob("damaged-*")
    assert str(aside) in out and "kept 41 keys" in out
    assert files(aside) == before
    assert [file.name for file in (directory / "snapshots").iterdir()] == [histories.snapshot_name(2, 1)]
    assert list((directory / "logs").iterdir()) == []
    expected = histories.living(history().state(), histories.NOW + 1)  # by the clock of the command
    del expected[lost.db, lost.key]
    assert loaded(directory) == expected
    assert main(["check", str(directory)]) == 0


def test_repair_leaves_a_whole_directory_alone(directory: Path, capsys: Said) -> None:
    before = files(directory)
    assert main(["repair", str(directory)]) == 0
    assert "everything is whole" in capsys.readouterr().out
    assert files(directory) == before


def test_repair_of_a_directory_in_use(directory: Path, capsys: Said) -> None:
    fcntl = pytest.importorskip("fcntl")
    damage(directory)
    before = files(directory)
    with open(directory / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["repair", str(directory)]) == 1
    assert "in use by another process" in capsys.readouterr().err
    assert files(directory) == before


@pytest.mark.parametrize("command", ["check", "repair", "restore", "dump", "load"])
def test_misuse(command: str, tmp_path: Path, capsys: Said) -> None:
    for words in ([], [str(tmp_path / "nowhere")], [str(tmp_path), "more"], [str(tmp_path), "--unknown"]):
        assert main([command, *words]) == 2
        said = capsys.readouterr()
        assert said.err.startswith("tellstone: ") and said.err.count("\n") == 1 and said.out == ""
    assert main([command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: tellstone {command} ")


def test_later_versions_are_named(directory: Path, capsys: Said) -> None:
    name = histories.snapshot_name(1, 2)
    (directory / "snapshots" / name).write_bytes(histories.snapshot_bytes([(0, {})], version=2))
    for command in ("check", "repair", "dump"):
        assert main([command, str(directory)]) == 1
        assert f"{name}: the format is of version 2" in capsys.readouterr().err


# Dump and load --------------------------------------------------------------------------------------------------


def dumped(directory: Path, form: str) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "tellstone", "dump", str(directory), "--format", form],
        capture_output=True,
        check=True,
        env=environment(),
    )
    assert done.stderr == b""
    return done.stdout


@pytest.mark.parametrize("form", ["resp", "json", "csv"])
def test_a_dump_loads_into_a_server(directory: Path, tmp_path: Path, form: str, capsys: Said) -> None:
    dump = dumped(directory, form)
    assert form_of(dump[:64]) == form
    if form == "json":
        assert len(json.loads(dump)) == 42
    file = tmp_path / "dump"
    file.write_bytes(dump)
    with Engine() as engine:
        address = f"unix:{tmp_path}/s"
        listening = engine.listen(address)
        assert main(["load", str(file), "--addr", address]) == 0
        assert ", 0 refused" in capsys.readouterr().out
        listening.close()
        found = histories.content(engine._store)
    expected = histories.living(history().state(), histories.NOW + 1)
    assert found == expected and (9, ODD) in found


def test_load_from_standard_input(tmp_path: Path) -> None:
    with Engine() as engine:
        engine.set("wrong", 1)
        engine.listen(f"unix:{tmp_path}/s")
        text = resp([b"SET", b"a", b"1"]) + resp([b"INCR", b"a"]) + resp([b"GETEX"]) + resp([b"MGET", b"a", b"b"])
        command = [sys.executable, "-m", "tellstone", "load", "-", "--addr", f"unix:{tmp_path}/s"]
        done = subprocess.run(command, input=text, capture_output=True, check=False, env=environment())
        assert done.returncode == 1
        assert b"refused: ERR wrong number of arguments" in done.stderr
        assert done.stdout == b"3 commands done, 1 refused\n"
        assert engine.get("a") == b"2"


def test_load_without_a_server(directory: Path, tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "dump"
    file.write_bytes(resp([b"SET", b"a", b"1"]))
    assert main(["load", str(file), "--addr", f"unix:{tmp_path}/nowhere"]) == 1
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("form", "text", "where"),
    [
        ("resp", b"*1\r\n$4\r\nPI", "not whole"),
        ("resp", b"*x\r\n", "no command"),
        ("json", b'[\n{"db": 0, "key": "k"}\n]', "line 2"),
        ("json", b"nothing", "line 1"),
        ("json", b'{"key": "k", "value": "v", "type": "list"}', "list"),
        ("csv", b"db,name\r\n0,x\r\n", "first line"),
        ("csv", b"db,key,value\r\nzero,k,v\r\n", "line 2"),
    ],
)
def test_a_file_that_is_something_else(form: str, text: bytes, where: str, tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "file"
    file.write_bytes(text)
    with Engine() as engine:
        engine.listen(f"unix:{tmp_path}/s")
        assert main(["load", str(file), "--format", form, "--addr", f"unix:{tmp_path}/s"]) == 1
    said = capsys.readouterr()
    assert where in said.err and said.err.count("\n") == 1


def test_keys_that_are_over_are_left_out(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"key,value,expires_at_ms\r\nover,x,1\r\nthere,x,\r\n")
    with Engine() as engine:
        engine.listen(f"unix:{tmp_path}/s")
        assert main(["load", str(file), "--addr", f"unix:{tmp_path}/s"]) == 0
        assert list(engine) == [b"there"]
    assert capsys.readouterr().out == "1 commands done, 0 refused, 1 keys had expired\n"


def test_commands_of_an_entry(tmp_path: Path) -> None:
    assert Entry(0, b"k", "string", b"v", 5).command() == [b"SET", b"k", b"v", b"PXAT", b"5"]
    file = tmp_path / "file"
    file.write_bytes(b'key,db,value\r\nk,2,"a,b"\r\n')
    with file.open("rb") as stream:
        assert list(commands_in(stream, "csv")) == [[b"SELECT", b"2"], [b"SET", b"k", b"a,b"]]


def test_a_terminal_shows_how_far_it_is(directory: Path) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    program = "import time, sys; from tellstone.cli.tools import Bar; bar = Bar('checking')\n"
    program += "bar.show(1024, 4096, 'more'); bar.clear()"
    subprocess.run([sys.executable, "-c", program], stderr=theirs, check=True, env=environment())
    os.close(theirs)
    shown = os.read(ours, 1000)
    os.close(ours)
    assert b"\rchecking [#######......................." in shown and b" 25%" in shown and b"1 KiB" in shown
