"""A server under load is killed at a random moment, again and again, and started on what it has left behind.

Writers know what they have sent and what was acknowledged. After each start every key has to be in a state that it had
between its last acknowledged change and the last one that was sent; under `always` that is all that is allowed, under
`everysec` and `no` older states are, as far as the policy lets them be lost. Keys that are always set together must be
equal, whatever the policy.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from servers import environment
from wire import Closed, Wire

WRITERS = 4
KEYS = 40
PIPELINE = 20
State = bytes | None


class Key:
    """What has become of a key, in the order in which it was asked for."""

    def __init__(self) -> None:
        self.states: list[State] = [None]
        self.times: list[float] = [0.0]  # of the acknowledgement; infinite while there is none
        self.acknowledged = 0

    def sent(self, state: State) -> int:
        self.states.append(state)
        self.times.append(float("inf"))
        return len(self.states) - 1

    def seen(self, number: int) -> None:
        self.acknowledged = number
        self.times[number] = time.monotonic()

    def least(self, killed: float, seconds: float) -> int:
        """The oldest state that a policy may go back to, which loses what was acknowledged in the last seconds."""
        if seconds == 0:
            return self.acknowledged
        return max(number for number, when in enumerate(self.times) if when <= killed - seconds)

    def settle(self, state: State) -> None:
        self.states, self.times, self.acknowledged = [state], [0.0], 0


class Writer(threading.Thread):
    """Changes keys of its own, a pipeline at a time, until the server is gone."""

    def __init__(self, path: str, number: int, keys: dict[bytes, Key], seed: int) -> None:
        super().__init__(daemon=True)
        self.wire = Wire(path)
        self.number = number
        self.keys = keys
        self.random = random.Random(seed)
        self.serial = 0

    def run(self) -> None:
        try:
            while True:
                calls, changes = zip(*(self.change() for _ in range(PIPELINE)), strict=True)
                self.wire.send(b"".join(self.wire.encode(*call) for call in calls))
                for change in changes:
                    reply = self.wire.reply()
                    assert not reply.startswith(b"-"), reply
                    for key, number in change:
                        key.seen(number)
        except (Closed, OSError):
            pass

    def key(self, kind: str, number: int) -> bytes:
        return b"%s:%d:%d" % (kind.encode(), self.number, number)

    def change(self) -> tuple[list[bytes], list[tuple[Key, int]]]:
        draw, at = self.random.random(), self.random.randrange(KEYS)
        self.serial += 1
        value = b"%d:%s" % (self.serial, b"x" * self.random.choice((0, 10, 300)))
        if draw < 0.2:
            left, right = self.key("left", at), self.key("right", at)
            call = [b"MSET", left, value, right, value]
            return call, [(self.keys[name], self.keys[name].sent(value)) for name in (left, right)]
        name = self.key("one", at)
        if draw < 0.35:
            return [b"DEL", name], [(self.keys[name], self.keys[name].sent(None))]
        if draw < 0.5:
            before = self.keys[name].states[-1] or b""
            return [b"APPEND", name, value], [(self.keys[name], self.keys[name].sent(before + value))]
        return [b"SET", name, value], [(self.keys[name], self.keys[name].sent(value))]


class Crashing:
    """A directory, and the server that is started on it again and again."""

    def __init__(self, directory: Path, *words: str) -> None:
        self.directory = directory
        self.path = str(directory / "s")
        self.words = words
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "tellstone", "--addr", f"unix:{self.directory}/n", "--enable-resp"]
        command += ["--resp-addr", f"unix:{self.path}", "--enable-persistence", "--shards", "4"]
        command += ["--persistence-dir", str(self.directory / "data"), *self.words]
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(command, env=environment(), stdout=log, stderr=log)
        deadline = time.monotonic() + 20
        while not self.answers():
            assert self.process.poll() is None and time.monotonic() < deadline, (self.directory / "log").read_text()
            time.sleep(0.02)

    def answers(self) -> bool:
        try:
            with Wire(self.path) as wire:
                return wire.call("PING") == b"+PONG\r\n"
        except (Closed, OSError):
            return False

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def read(self, names: list[bytes]) -> list[State]:
        with Wire(self.path) as wire:
            wire.send(b"".join(wire.encode(b"GET", name) for name in names))
            replies = [wire.reply() for _ in names]
        return [None if reply == b"$-1\r\n" else reply.partition(b"\r\n")[2][:-2] for reply in replies]


def fresh_keys() -> dict[bytes, Key]:
    kinds = (b"one", b"left", b"right")
    return {b"%s:%d:%d" % (kind, w, k): Key() for kind in kinds for w in range(WRITERS) for k in range(KEYS)}


def verify(server: Crashing, keys: dict[bytes, Key], killed: float, seconds: float) -> None:
    found = dict(zip(keys, server.read(list(keys)), strict=True))
    for name, key in keys.items():
        allowed = key.states[key.least(killed, seconds) :]
        assert found[name] in allowed, (name, found[name], allowed[:3], len(allowed))
        if name.startswith(b"left"):
            assert found[name] == found[name.replace(b"left", b"right")], name
    for name, key in keys.items():
        key.settle(found[name])


def crash_rounds(tmp_path: Path, rounds: int, policy: str, lost_seconds: float, runs: tuple[float, float]) -> None:
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    keys = fresh_keys()
    server = Crashing(tmp_path, "--wal-sync", policy, "--snapshot-bytes", "200KiB")
    server.start()
    try:
        for number in range(rounds):
            writers = [Writer(server.path, n, keys, draw.randrange(1 << 30)) for n in range(WRITERS)]
            for writer in writers:
                writer.start()
            time.sleep(draw.uniform(*runs))
            if draw.random() < 0.4:
                with Wire(server.path) as wire:
                    wire.send(wire.encode(b"BGSAVE"))
                time.sleep(draw.uniform(0, 0.05))
            server.kill()
            killed = time.monotonic()
            for writer in writers:
                writer.join(10)
                assert not writer.is_alive()
            server.start()
            try:
                verify(server, keys, killed, lost_seconds)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, round {number}: {error}") from error
    finally:
        server.kill()


@pytest.mark.slow
def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    crash_rounds(tmp_path, 25, "always", 0, (0.02, 0.4))


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["everysec", "no"])
def test_at_most_the_last_second_is_lost(tmp_path: Path, policy: str) -> None:
    """A killed process loses what it has not written, a tenth of a second; only a dead machine would lose the rest."""
    crash_rounds(tmp_path, 5, policy, 1.0, (1.2, 2.0))
