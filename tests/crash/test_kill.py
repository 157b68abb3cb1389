"""A server under load is killed, again and again, and started on what it has left behind.

It is killed at random moments: while it answers, while it begins segments, while it writes snapshots, and while it
recovers from having been killed before. After each start every unit (crash.units) must be in a state that it may be in:
under `always` none before the last acknowledged one, under `everysec` and `no` none before those of the last second.

TELLSTONE_CRASH_ROUNDS=20 asks for twenty times as many rounds.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from crash.crashing import Crashing
from crash.units import SOON_MS, Some, faults
from crash.writers import read, writing
from wire import Wire

pytestmark = pytest.mark.slow

FACTOR = int(os.environ.get("TELLSTONE_CRASH_ROUNDS") or 1)
WRITERS = 4
Load = Callable[["Killing", float], None]


class Killing:
    """Rounds of load, death, and a look at what is left."""

    def __init__(self, directory: Path, *words: str, lost_seconds: float = 0, sizes: tuple[int, ...] = (0, 10, 300)):
        self.seed = random.randrange(1 << 30)
        self.draw = random.Random(self.seed)
        self.server = Crashing(directory, *words)
        self.lost_seconds = lost_seconds
        self.some = [Some(str(number), self.seed + number, sizes=sizes) for number in range(WRITERS)]
        self.acknowledged = 0
        self.kills = 0
        self.loading = 0  # kills of these while the server said that it was loading

    def load(self, seconds: float) -> None:
        """Several connections that write, until the server is killed."""
        with self.writing():
            time.sleep(seconds)
            self.kill()

    @contextmanager
    def writing(self) -> Iterator[None]:
        with writing(self.server.resp, self.server.native, self.some, self.draw.randrange(1 << 30)) as writers:
            yield
        self.acknowledged += sum(writer.acknowledged for writer in writers)

    def kill(self) -> None:
        self.server.kill()
        self.killed = time.monotonic()
        self.kills += 1

    def kill_while_starting(self, longest: float) -> None:
        """After any time, or as soon as it says that it loads."""
        self.server.spawn()
        end = time.monotonic() + self.draw.uniform(0, longest)
        watch = self.draw.random() < 0.5
        while time.monotonic() < end and not (watch and self.server.is_loading()):
            time.sleep(0.001)
        self.loading += self.server.is_loading()
        self.server.kill()
        self.kills += 1

    def verify(self) -> None:
        time.sleep(2 * SOON_MS / 1000)
        units = [unit for mine in self.some for unit in mine.units]
        with Wire(self.server.resp) as wire:
            found = read(wire, [key for unit in units for key in unit.keys])
        wrong = faults(units, found, self.killed - self.lost_seconds, self.killed)
        assert not wrong, f"seed {self.seed}, kill {self.kills}: {wrong[:3]}"
        for mine in self.some:
            mine.settle(found)

    def rounds(self, count: int, load: Load, seconds: tuple[float, float], *, startings: int = 0) -> None:
        """So many; in each, before the start that counts, up to so many that end early."""
        longest = 0.5
        with self.server.started():
            for _ in range(count * FACTOR):
                load(self, self.draw.uniform(*seconds))
                for _ in range(self.draw.randint(0, startings)):
                    self.kill_while_starting(longest)
                begun = time.monotonic()
                self.server.start()
                longest = time.monotonic() - begun
                self.verify()
        assert self.acknowledged


def saving(killing: Killing, seconds: float) -> None:
    """One snapshot after the other, while there is load; the server dies in one of them, or between two."""
    end = time.monotonic() + seconds
    with killing.writing():
        with Wire(killing.server.resp) as wire:
            while time.monotonic() < end:
                wire.call("BGSAVE")
                time.sleep(killing.draw.uniform(0, 0.02))
        killing.kill()


def segment_names(server: Crashing) -> set[str]:
    return {path.name for path in (server.data / "logs").glob("*.log")}


def changing_segments(killing: Killing, seconds: float) -> None:
    """Long values fill segments; the server dies about when some log begins its next one."""
    with killing.writing():
        end = time.monotonic() + 20
        before = segment_names(killing.server)
        while segment_names(killing.server) == before and time.monotonic() < end:
            time.sleep(0.001)
        time.sleep(killing.draw.choice((0, 0, seconds)))
        killing.kill()


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    killing = Killing(tmp_path, "--wal-sync", "always", "--snapshot-bytes", "200KiB")
    killing.rounds(6, Killing.load, (0.02, 0.4), startings=2)


def test_killed_while_it_takes_snapshots(tmp_path: Path) -> None:
    Killing(tmp_path, "--wal-sync", "always").rounds(4, saving, (0.05, 0.2))


def test_killed_while_it_changes_segments(tmp_path: Path) -> None:
    """Every start begins segments of a megabyte; each later one is twice as long."""
    killing = Killing(tmp_path, "--wal-sync", "always", sizes=(20_000, 60_000))
    killing.rounds(4, changing_segments, (0, 0.05), startings=1)


def test_killed_while_it_loads(tmp_path: Path) -> None:
    """There is so much to load that the server says LOADING for a while; it dies then, several times in a row."""
    killing = Killing(tmp_path, "--wal-sync", "always")
    with killing.server.started():
        with Wire(killing.server.resp) as wire:
            for part in range(10):
                words = [word for i in range(10_000) for word in (f"filler:{part}:{i}", "x" * 100)]
                assert wire.call("MSET", *words) == b"+OK\r\n"
            killing.load(0.1)
        for _ in range(FACTOR):
            for _ in range(3):
                killing.kill_while_starting(2.0)
            killing.server.start()
            killing.verify()
            with Wire(killing.server.resp) as wire:
                assert int(wire.call("DBSIZE")[1:]) >= 100_000
            killing.load(0.05)


@pytest.mark.parametrize(("policy", "rounds"), [("everysec", 2), ("no", 1)])
def test_at_most_the_last_second_is_lost(tmp_path: Path, policy: str, rounds: int) -> None:
    """A killed process loses what it has not written, a tenth of a second; only a dead machine would lose the rest."""
    killing = Killing(tmp_path, "--wal-sync", policy, "--snapshot-bytes", "200KiB", lost_seconds=1.0)
    killing.rounds(rounds, Killing.load, (1.1, 1.3), startings=1)
