"""`tellstone restore` on what real servers have written: a history with known times, brought back at its moments."""

from __future__ import annotations

import bisect
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from servers import environment
from store import histories
from wire import Closed, Wire

from tellstone._core.store.keyspace import Store
from tellstone._core.store.recovery import recover
from tellstone.cli import main
from tellstone.durability.moments import show_moment
from tellstone.durability.restore import load_moment

Said = pytest.CaptureFixture[str]
State = dict[tuple[int, bytes], bytes]
FAR = 4_000_000_000_000


@contextmanager
def serving(root: Path, *words: str, kill: bool = False) -> Iterator[Wire]:
    """A server on root/data, and a client of it."""
    command = [sys.executable, "-m", "tellstone", "--addr", f"unix:{root}/n", "--enable-resp"]
    command += ["--resp-addr", f"unix:{root}/s", "--enable-persistence", *words]
    command += ["--persistence-dir", str(root / "data")]
    with (root / "log").open("ab") as log:
        process = subprocess.Popen(command, env=environment(), stdout=log, stderr=log)
    try:
        with connected(root, process) as wire:
            yield wire
    finally:
        process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        status = process.wait(20)
    assert status == (-signal.SIGKILL if kill else 0), (root / "log").read_text()


def connected(root: Path, process: subprocess.Popen[bytes]) -> Wire:
    deadline = time.monotonic() + 20
    while True:
        try:
            wire = Wire(str(root / "s"))
            if wire.call("PING") == b"+PONG\r\n":
                return wire
            wire.close()
        except (Closed, OSError):
            pass
        assert process.poll() is None and time.monotonic() < deadline, (root / "log").read_text()
        time.sleep(0.02)


class Past:
    """What a client has had done, and the state at each moment that it has noted: behind a reply, before the next."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now: State = {}
        self.moments: list[tuple[int, State]] = []

    def note(self) -> None:
        time.sleep(0.002)
        self.moments.append((time.time_ns() // 1_000_000, dict(self.now)))
        time.sleep(0.002)

    def change(self, wire: Wire) -> None:
        pick, r = self.random.random(), self.random
        keys = [b"key:%d" % r.randrange(20) for _ in range(3)]
        value = b"%d" % r.randrange(10**6) + b"x" * r.choice([0, 50, 400_000 if pick < 0.02 else 0])
        if pick < 0.4:
            call = [b"SET", keys[0], value, *r.choice([[], [b"PXAT", b"%d" % FAR]])]
            self.now[0, keys[0]] = value
        elif pick < 0.6:
            call = [b"MSET", *(part for key in keys for part in (key, value))]
            self.now |= {(0, key): value for key in keys}
        elif pick < 0.75:
            call = [b"DEL", *keys]
            for key in keys:
                self.now.pop((0, key), None)
        elif pick < 0.9:
            call = [b"APPEND", keys[0], b"more"]
            self.now[0, keys[0]] = self.now.get((0, keys[0]), b"") + b"more"
        elif pick < 0.96:
            call = [b"SWAPDB", b"0", b"1"]
            self.now = {(1 - db, key): text for (db, key), text in self.now.items()}
        else:
            call = [b"FLUSHDB"]
            self.now = {place: text for place, text in self.now.items() if place[0]}
        reply = wire.call(*call)
        assert not reply.startswith(b"-"), reply

    def go_on(self, wire: Wire, steps: int) -> None:
        for step in range(steps):
            assert wire.call("SET", "step", str(step)) == b"+OK\r\n"
            self.now[0, b"step"] = b"%d" % step
            for _ in range(3):
                self.change(wire)
            self.note()


def found_in(data: Path) -> State:
    store = Store(2)
    recover(store, data)
    return {place: text for place, (text, _) in histories.content(store).items()}


def moment(unix_ms: int) -> str:
    return f"{unix_ms // 1000}.{unix_ms % 1000:03}"


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Past]:
    """A directory with a past: snapshots, a stop, another number of shards, a kill."""
    root = tmp_path_factory.mktemp("past")
    past = Past(random.randrange(1 << 30))
    keep = ["--snapshot-keep", "9"]
    with serving(root, "--shards", "3", *keep) as wire:
        assert wire.call("SAVE") == b"+OK\r\n"
        past.note()
        past.go_on(wire, 15)
        assert wire.call("SAVE") == b"+OK\r\n"
        past.go_on(wire, 15)
        assert wire.call("SAVE") == b"+OK\r\n"
        past.go_on(wire, 5)
    past.note()
    with serving(root, "--shards", "2", *keep, kill=True) as wire:
        past.note()
        past.go_on(wire, 15)
        assert wire.call("SAVE") == b"+OK\r\n"
        past.go_on(wire, 15)
    past.note()
    return root / "data", past


def copied(past: tuple[Path, Past], tmp_path: Path) -> Path:
    return Path(shutil.copytree(past[0], tmp_path / "data"))


def test_what_is_covered(past: tuple[Path, Past], capsys: Said) -> None:
    before = {file: file.stat().st_size for file in past[0].rglob("*")}
    assert main(["restore", str(past[0])]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    first, last = line.removeprefix("covered: ").removesuffix(", the last change").split(" to ")
    assert first <= show_moment(past[1].moments[0][0])
    assert show_moment(past[1].moments[-3][0]) <= last <= show_moment(past[1].moments[-2][0])
    assert {file: file.stat().st_size for file in past[0].rglob("*")} == before


def test_every_moment_comes_back(past: tuple[Path, Past], tmp_path: Path, capsys: Said) -> None:
    """One after the other from the same files: what a restore sets aside is a directory of data like any other."""
    data = copied(past, tmp_path)
    moments = past[1].moments
    picked = {0, 1, 16, 31, 36, 37, 38, len(moments) - 1, *random.sample(range(len(moments)), 8)}
    for number in sorted(picked, key=lambda _: random.random()):
        at, expected = moments[number]
        assert main(["restore", str(data), "--at", moment(at)]) == 0
        said = capsys.readouterr()
        assert said.out.startswith(f"restored {len(expected)} keys as of ") and said.err == ""
        assert found_in(data) == expected, f"moment {number} of {len(moments)}"
        (aside,) = data.glob("replaced-*")
        assert main(["check", str(data)]) == main(["check", str(aside)]) == 0
        capsys.readouterr()
        data = Path(shutil.move(aside, tmp_path / f"data{number}"))
        assert sorted(files(data)) == sorted(files(past[0]))


def files(data: Path) -> dict[str, bytes]:
    return {str(file.relative_to(data)): file.read_bytes() for file in data.rglob("*-*") if file.is_file()}


@pytest.mark.parametrize("shards", ["2", "5"])
def test_a_server_goes_on_from_there(past: tuple[Path, Past], tmp_path: Path, shards: str) -> None:
    data = copied(past, tmp_path)
    at, expected = past[1].moments[20]
    assert main(["restore", str(data), "--at", show_moment(at)]) == 0
    again = Past(1)
    again.now = dict(expected)
    with serving(tmp_path, "--shards", shards, "--snapshot-keep", "3", kill=True) as wire:
        again.go_on(wire, 5)
        assert wire.call("SAVE") == b"+OK\r\n"
        again.go_on(wire, 5)
    with serving(tmp_path, "--shards", shards, "--snapshot-keep", "3") as wire:
        again.go_on(wire, 1)
    assert found_in(data) == again.now
    at, expected = again.moments[2]
    assert main(["restore", str(data), "--at", moment(at)]) == 0
    assert found_in(data) == expected
    assert len(list(data.glob("replaced-*"))) == 2


def test_what_is_over_by_now_is_gone(tmp_path: Path, capsys: Said) -> None:
    with serving(tmp_path, "--shards", "2") as wire:
        wire.call("SET", "short", "1", "PX", "60")
        wire.call("SET", "long", "2", "EX", "1000")
        at = time.time_ns() // 1_000_000
        time.sleep(0.1)
        wire.call("DEL", "long")
    assert main(["restore", str(tmp_path / "data"), "--at", moment(at)]) == 0
    assert "1 keys as of" in (out := capsys.readouterr().out) and "1 keys had expired since" in out
    assert found_in(tmp_path / "data") == {(0, b"long"): b"2"}


def test_moments_that_are_not_covered(past: tuple[Path, Past], tmp_path: Path, capsys: Said) -> None:
    data = copied(past, tmp_path)
    before = files(data)
    first = past[1].moments[0][0] - 60_000
    for at, why in ((first, "is not covered"), (time.time() * 1000 + 100_000, "is in the future")):
        assert main(["restore", str(data), "--at", moment(int(at))]) == 1
        said = capsys.readouterr()
        assert said.err.startswith(f"tellstone: {show_moment(int(at))} {why}: {data} has ")
        assert said.err.count("\n") == 1 and " to " in said.err and said.out == ""
    assert main(["restore", str(data), "--at", "yesterday"]) == 2
    assert "--at: 'yesterday' is not a time such as 2026-01-31T12:00:00Z" in capsys.readouterr().err
    assert files(data) == before and not list(data.glob("replaced-*"))


def test_snapshots_that_are_gone_are_not_covered(tmp_path: Path, capsys: Said) -> None:
    """With one snapshot the past before it goes, as far as its log does."""
    past = Past(5)
    with serving(tmp_path, "--shards", "1", "--snapshot-keep", "1") as wire:
        past.go_on(wire, 2)
        wire.call("SET", "large", b"x" * 5_000_000)
        wire.call("SET", "large", "small")
        past.now[0, b"large"] = b"small"
        assert wire.call("SAVE") == b"+OK\r\n"
        past.note()
    assert main(["restore", str(tmp_path / "data"), "--at", moment(past.moments[0][0])]) == 1
    assert "is not covered" in capsys.readouterr().err
    assert main(["restore", str(tmp_path / "data"), "--at", moment(past.moments[-1][0])]) == 0
    assert found_in(tmp_path / "data") == past.now


@pytest.mark.parametrize("command", ["restore", "check", "dump", "repair"])
def test_a_directory_that_a_server_has_is_refused(tmp_path: Path, command: str, capsys: Said) -> None:
    with serving(tmp_path, "--shards", "1") as wire:
        wire.call("SET", "k", "v")
        reply = wire.call("INFO", "server")
        number = reply.partition(b"process_id:")[2].partition(b"\r\n")[0].decode()
        for words in ([], ["--at", moment(time.time_ns() // 1_000_000)])[: 1 + (command == "restore")]:
            assert main([command, str(tmp_path / "data"), *words]) == 1
            said = capsys.readouterr()
            assert said.err.endswith(f"is in use by process {number}: one process at a time\n") and said.out == ""
    assert main([command, str(tmp_path / "data")]) == 0


def test_readers_do_not_shut_one_another_out(past: tuple[Path, Past], tmp_path: Path, capsys: Said) -> None:
    fcntl = pytest.importorskip("fcntl")
    data = copied(past, tmp_path)
    (data / "lock").write_text(f"{2**22 + 1}\n")  # of a process that is gone
    with open(data / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        assert main(["check", str(data)]) == 0
        assert main(["restore", str(data), "--at", moment(past[1].moments[3][0])]) == 1
    assert "is in use by another process" in capsys.readouterr().err


def test_a_restore_that_is_killed_leaves_one_state_or_the_other(past: tuple[Path, Past], tmp_path: Path) -> None:
    """Between the snapshot and the last file that is moved the new state counts already, whatever has been moved."""
    data = copied(past, tmp_path)
    at, expected = past[1].moments[12]
    program = "import os, sys, pathlib; from tellstone.cli import main; left = [int(sys.argv[1])]\n"
    program += "def rename(self, to, real=pathlib.Path.rename):\n"
    program += "    left[0] -= 1\n    if left[0] < 0: os._exit(9)\n    return real(self, to)\n"
    program += "pathlib.Path.rename = rename; main(sys.argv[2:])"
    command = [sys.executable, "-c", program, "2", "restore", str(data), "--at", moment(at)]
    assert subprocess.run(command, env=environment(), check=False).returncode == 9
    assert found_in(data) == expected
    with serving(tmp_path, "--shards", "2") as wire:
        assert wire.call("SET", "on", "1") == b"+OK\r\n"
    assert found_in(data) == expected | {(0, b"on"): b"1"}


def test_a_full_disk_changes_nothing(past: tuple[Path, Past], tmp_path: Path) -> None:
    """A limit of file sizes is as good: nothing that is longer can be written."""
    pytest.importorskip("resource")
    data = copied(past, tmp_path)
    before = files(data)
    program = "import resource, sys; from tellstone.cli import main\n"
    program += "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "restore", str(data), "--at", moment(past[1].moments[9][0])]
    done = subprocess.run(command, env=environment(), check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"tellstone: {data}/snapshots/") and done.stderr.count("\n") == 1
    assert files(data) == before


def test_a_directory_without_data(tmp_path: Path, capsys: Said) -> None:
    for command in ("restore", "check", "dump", "repair"):
        assert main([command, str(tmp_path)]) == 1
        assert "there is no data in it" in capsys.readouterr().err
        file = tmp_path / "file"
        file.write_text("")
        assert main([command, str(file)]) == 2
        assert capsys.readouterr().err == f"tellstone: {file}: is not a directory\n"
        file.unlink()
    assert list(tmp_path.iterdir()) == []


class Counting(threading.Thread):
    """Counts in two keys that are always set together, and notes when each number was sent and when answered."""

    def __init__(self, root: Path, number: int, ended: threading.Event) -> None:
        super().__init__(daemon=True)
        self.wire = Wire(str(root / "s"))
        self.keys = b"left:%d" % number, b"right:%d" % (number * 7)
        self.ended = ended
        self.sent: list[int] = []
        self.answered: list[int] = []

    def run(self) -> None:
        with self.wire:
            while not self.ended.is_set():
                text = b"%d" % len(self.sent)
                self.sent.append(time.time_ns() // 1_000_000)
                assert self.wire.call(b"MSET", self.keys[0], text, self.keys[1], text) == b"+OK\r\n"
                self.answered.append(time.time_ns() // 1_000_000)

    def allowed(self, at_ms: int) -> range:
        """The numbers that may have been there: all that had been answered before, and none that was sent later."""
        least = bisect.bisect_left(self.answered, at_ms) - 1
        return range(least, bisect.bisect_right(self.sent, at_ms))


def test_moments_while_everything_changes(tmp_path: Path) -> None:
    """Snapshots are written while clients count, and each moment has numbers that it may have."""
    ended = threading.Event()
    with serving(tmp_path, "--shards", "3", "--snapshot-keep", "100", kill=True) as wire:
        for number in range(0, 3000, 100):  # for snapshots to take their time
            calls = [("SET", f"still:{i}", "x" * 1000) for i in range(number, number + 100)]
            assert set(wire.pipeline(calls)) == {b"+OK\r\n"}
        assert wire.call("SAVE") == b"+OK\r\n"
        counting = [Counting(tmp_path, number, ended) for number in range(4)]
        for one in counting:
            one.start()
        begun = time.time_ns() // 1_000_000
        for _ in range(6):
            assert wire.call("SAVE") == b"+OK\r\n"
            time.sleep(0.1)
        last = time.time_ns() // 1_000_000
        ended.set()
        for one in counting:
            one.join(10)
            assert not one.is_alive()
    numbers = set()
    for at in (begun, last, *(random.randrange(begun, last) for _ in range(20))):
        loaded = load_moment(tmp_path / "data", at, None)
        assert loaded is not None
        store, _, base = loaded
        numbers.add(base.number)
        found = {key: int(text) for (_, key), (text, _) in histories.content(store).items() if b"still" not in key}
        for one in counting:
            left, right = (found.get(key, -1) for key in one.keys)
            assert left == right and left in one.allowed(at), (at, base)
    assert len(numbers) > 1
