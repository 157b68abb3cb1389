"""The power goes while a server works, and the disk keeps of what was not synced whatever it likes (crash.journal).

The server itself runs to its end, or to its death: what it does to its disk is written down, and any number of crashes
is made of that. From each, what was acknowledged before must come back, whole. The server also goes on from what some
crash has left, and loses power again.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from crash.crashing import SHARDS, Crashing
from crash.journal import Directory, Disk, Entry, File, Marker, contents, crash_points, entries
from crash.units import NEVER, SOON_MS, Found, Some, faults
from crash.writers import read, writing
from servers import environment
from wire import Closed, Wire

from tellstone import Engine
from tellstone._core.store.keyspace import Store
from tellstone._core.store.recovery import RecoveryJob
from tellstone.errors import DamageError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a library is preloaded as Linux does it"),
]

FACTOR = int(os.environ.get("TELLSTONE_CRASH_ROUNDS") or 1)
POINTS = 20
WRITERS = 3
MIB = 1 << 20
LATE_SECONDS = 1.0  # that a thread may be late in syncing on a busy machine


class Powered:
    """A server with a journal, sessions of load on it, and what may be left when the power goes in any of them."""

    def __init__(
        self, directory: Path, shim: str, seed: int, *words: str, some: list[Some] | None = None, pause: float = 0
    ) -> None:
        self.root = directory / "disk"
        self.root.mkdir(parents=True, exist_ok=True)
        self.journal = directory / "journal"
        self.directory = directory
        self.pause = pause  # of writers, between two pipelines
        self.draw = random.Random(seed)
        self.some = some or [Some(str(n), seed + n, sizes=(0, 10, 300, 3000, 20_000)) for n in range(WRITERS)]
        self.there = contents(self.root)
        variables = {"LD_PRELOAD": shim, "JOURNAL": str(self.journal), "JOURNAL_ROOT": str(self.root)}
        self.server = Crashing(directory, *words, data=self.root / "new" / "data", **variables)
        self.mark = Marker(self.journal)

    def session(self, seconds: float, death: int = 0) -> None:
        """Start it, read what it has, and write until it dies, before a change of its disk or when the time is over."""
        process = self.server.spawn(JOURNAL_DEATH=str(death))
        try:
            while self.server.running() and self.server.says() != b"+PONG\r\n":
                time.sleep(0.005)
            if self.server.running():
                self.load(seconds)
        finally:
            if self.server.running():
                process.send_signal(signal.SIGTERM)
            process.wait(30)
        assert process.returncode in (0, -signal.SIGKILL), self.server.tail()

    def load(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        with suppress(OSError, Closed):
            self.look()
            with (
                writing(
                    self.server.resp,
                    self.server.native,
                    self.some,
                    self.draw.randrange(1 << 30),
                    lambda: Marker(self.journal),
                    self.pause,
                ),
                Wire(self.server.resp) as wire,
            ):
                while time.monotonic() < end:
                    time.sleep(self.draw.uniform(0.01, seconds / 2))
                    wire.call("BGSAVE")

    def look(self) -> None:
        """What a server has when it has started is as safe as if it had just been acknowledged."""
        time.sleep(2 * SOON_MS / 1000)
        begun = self.mark()
        with Wire(self.server.resp) as wire:
            found = read(wire, self.keys())
        wrong = [fault for mine in self.some for fault in faults(mine.units, found, begun, begun)]
        assert not wrong, wrong[:3]
        for mine in self.some:
            mine.go_on(found, self.mark())

    def crashes(self, count: int, *deaf: type) -> Iterator[tuple[int, Path]]:
        """Moments in which the power goes, and a directory of what is left then."""
        yield from self.crashes_at(crash_points(list(entries(self.journal)), count, self.draw), *deaf)

    def crashes_at(self, moments: list[int], *deaf: type, most: bool = False) -> Iterator[tuple[int, Path]]:
        """The same for these moments, which are in order."""
        moments = list(moments)
        disk = Disk(self.root, self.there, deaf=deaf)
        into = self.directory / "left"
        for entry in entries(self.journal):
            disk.do(entry)
            while moments and moments[0] <= entry.end:
                shutil.rmtree(into, ignore_errors=True)
                disk.lose_power(self.draw, into, most=most)
                yield moments.pop(0), into

    def keys(self) -> list[bytes]:
        return [key for mine in self.some for unit in mine.units for key in unit.keys]

    def recovered(self, left: Path) -> Found:
        """What our reader makes of what is left. Raises DamageError."""
        return recovered(left / "new" / "data", self.keys())

    def wrong(self, moment: int, left: Path, safe: float | None = None) -> list[str]:
        """What is wrong with what is left."""
        found = self.recovered(left)
        safe = moment if safe is None else safe
        return [fault for mine in self.some for fault in faults(mine.units, found, safe, moment)]


def recovered(data: Path, keys: list[bytes]) -> Found:
    """What our reader makes of a directory. Raises DamageError."""
    store = Store(SHARDS)
    if (data / "logs").is_dir() and (data / "snapshots").is_dir():
        RecoveryJob(store, data).run(1)
    engine = Engine._over(store)
    found = {}
    for key in keys:
        held = engine.get(key)
        if held is not None:
            found[key] = held, max(engine.execute("PEXPIRETIME", key), NEVER)
    return found


def moment_before(done: list[Entry], moment: int, seconds: float) -> int:
    """The place in a journal where it was so long before another."""
    times = [(entry.time, entry.end) for entry in done if entry.time and entry.end <= moment]
    return max((end for at, end in times if at <= times[-1][0] - seconds), default=0) if times else 0


def begun(directory: Path, shim: str, seed: int, some: list[Some] | None = None) -> Powered:
    """A server that has died under load, has died again while it began, and has come to its end."""
    powered = Powered(directory, shim, seed, some=some)
    powered.session(0.3, powered.draw.randrange(200, 2000))
    powered.session(0.3, powered.draw.randrange(1, 150))
    powered.session(0.3)
    return powered


def test_nothing_acknowledged_is_lost(tmp_path: Path, shim: str) -> None:
    for seed in range(1000, 1000 + FACTOR):
        powered = begun(tmp_path / str(seed), shim, seed)
        kept = powered.draw.randrange(POINTS)
        for number, (moment, left) in enumerate(powered.crashes(POINTS)):
            assert powered.wrong(moment, left) == [], f"seed {seed}, {powered.journal}, crash {number}"
            if number == kept:
                found = powered.recovered(left)
                left.rename(powered.directory / "kept")
        again = tmp_path / f"{seed} again"
        again.mkdir()
        (powered.directory / "kept").rename(again / "disk")
        for some in powered.some:
            some.settle(found)
        powered = begun(again, shim, seed, some=powered.some)
        for number, (moment, left) in enumerate(powered.crashes(POINTS // 2)):
            assert powered.wrong(moment, left) == [], f"seed {seed}, {powered.journal}, crash {number}"


def test_at_most_a_second_is_lost(tmp_path: Path, shim: str) -> None:
    some = [Some(str(number), number) for number in range(WRITERS)]
    powered = Powered(tmp_path, shim, 2000, "--wal-sync", "everysec", some=some, pause=0.01)
    powered.session(2.2)
    done = list(entries(powered.journal))
    for number, (moment, left) in enumerate(powered.crashes(POINTS // 2 * FACTOR)):
        safe = moment_before(done, moment, 1.0 + LATE_SECONDS)
        assert powered.wrong(moment, left, safe) == [], f"journal {powered.journal}, crash {number}"


@pytest.mark.parametrize("deaf", [File, Directory])
def test_a_sync_that_is_missing_is_noticed(tmp_path: Path, shim: str, deaf: type) -> None:
    """Syncs of files, or of directories, do nothing: then there are crashes that lose what was acknowledged."""
    powered = Powered(tmp_path, shim, 3000)
    powered.session(0.2)
    assert any(lost(powered, moment, left) for moment, left in powered.crashes(POINTS, deaf))


def lost(powered: Powered, moment: int, left: Path) -> bool:
    try:
        return bool(powered.wrong(moment, left))
    except DamageError:
        return True


@pytest.mark.parametrize("driver", ["native", "asyncio"])
def test_a_reply_behind_others_that_wait_is_safe_when_it_comes(tmp_path: Path, shim: str, driver: str) -> None:
    """A client does not read, so the replies to it wait; then it changes something, and reads all of it."""
    (tmp_path / "disk" / "new" / "data").mkdir(parents=True)
    powered = Powered(tmp_path, shim, 4000, "--driver", driver)
    told: dict[int, bytes] = {}
    with powered.server.started() as server, Wire(server.resp) as wire:
        assert wire.call("SET", "long", "x" * MIB) == b"+OK\r\n"
        for number in range(8):
            wire.send(wire.encode("GET", "long") * 8)
            time.sleep(powered.draw.uniform(0.02, 0.12))
            wire.send(wire.encode("SET", f"key:{number}", "value"))
            time.sleep(powered.draw.uniform(0, 0.03))
            for _ in range(8):
                wire.reply()
            assert wire.reply() == b"+OK\r\n"
            told[powered.mark()] = b"key:%d" % number
    for moment, left in powered.crashes_at(sorted(told), most=True):
        assert recovered(left / "new" / "data", [told[moment]]) == {told[moment]: (b"value", NEVER)}


def test_files_that_are_set_aside_are_always_somewhere(tmp_path: Path, shim: str) -> None:
    """As a repair does it: whenever the power goes every file is in its old place, or in its new one, or in both."""
    root = tmp_path / "disk"
    wanted = {}
    for number, name in enumerate(("logs", "snapshots")):
        (root / "data" / name).mkdir(parents=True)
        for generation in (1, 2, 3):
            wanted[f"{generation:016x}-{number}"] = b"%d of %d" % (number, generation)
            (root / "data" / name / f"{generation:016x}-{number}").write_bytes(wanted[f"{generation:016x}-{number}"])
    there, journal = contents(root), tmp_path / "journal"
    program = "import sys, pathlib; from tellstone.durability.aside import set_aside; "
    program += "set_aside(pathlib.Path(sys.argv[1]), 3, 'aside')"
    variables = {"LD_PRELOAD": shim, "JOURNAL": str(journal), "JOURNAL_ROOT": str(root)}
    command = [sys.executable, "-c", program, str(root / "data")]
    subprocess.run(command, env=environment() | variables, check=True)
    disk = Disk(root, there)
    draw = random.Random(5000)
    for entry in entries(journal):
        disk.do(entry)
        for most in (True, False):
            left = tmp_path / "left"
            disk.lose_power(draw, left, most=most)
            assert {path.name: path.read_bytes() for path in left.rglob("0*")} == wanted
            shutil.rmtree(left)
