"""A server whose disk is full, or fails: changes are refused, reads go on, nothing that was acknowledged is lost, and
when the disk is well again it goes on by itself. A killed one recovers everything.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from crash.crashing import Crashing
from crash.units import NEVER, Found
from crash.writers import read
from disk import mounted
from frames import ERROR, Native, put
from wire import Closed, Wire

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a small file system is mounted as Linux does it"),
]

MIB = 1 << 20
VALUE = b"v" * 50_000
CROWD = 200  # connections; more than send their replies together


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "small", "24m") as path:
        yield path


class Filling:
    """A server, and what it was told to keep."""

    def __init__(self, server: Crashing) -> None:
        self.server = server
        self.kept: dict[bytes, bytes] = {}  # what was acknowledged
        self.asked: dict[bytes, bytes] = {}  # and what may be there: nobody was told
        self.number = 0

    def write(self, wire: Wire, value: bytes) -> bytes:
        """One change, and its reply; nothing where the connection was closed instead."""
        self.number += 1
        key, value = b"key:%d" % self.number, b"%d:%s" % (self.number, value)
        self.asked[key] = value
        try:
            reply = wire.call(b"SET", key, value)
        except Closed:
            return b""
        if reply == b"+OK\r\n":
            self.kept[key] = value
        elif reply.startswith(b"-MISCONF"):
            del self.asked[key]
        return reply

    def write_together(self, wires: list[Wire]) -> int:
        """One change on each connection, all at once; how many are refused. Closed connections are replaced. The server
        sleeps until all have come, so it finds them together.
        """
        assert self.server.process is not None
        sent, refused = [], 0
        self.server.process.send_signal(signal.SIGSTOP)
        for wire in wires:
            self.number += 1
            key, value = b"key:%d" % self.number, b"%d:%s" % (self.number, VALUE[:2000])
            self.asked[key] = value
            wire.send(wire.encode(b"SET", key, value))
            sent.append((key, value))
        self.server.process.send_signal(signal.SIGCONT)
        for place, (key, value) in enumerate(sent):
            try:
                reply = wires[place].reply()
            except Closed:
                wires[place] = Wire(self.server.resp)
                continue
            if reply == b"+OK\r\n":
                self.kept[key] = value
            else:
                assert reply.startswith(b"-MISCONF"), reply
                del self.asked[key]
                refused += 1
        return refused

    def fill(self) -> None:
        """Until a change is refused."""
        wire = Wire(self.server.resp)
        while not (reply := self.write(wire, VALUE)).startswith(b"-MISCONF"):
            assert reply in (b"+OK\r\n", b""), reply
            assert self.number < 1000, "the disk is not full"
            if not reply:
                wire = Wire(self.server.resp)

    def resume(self) -> None:
        """Nothing is wrong with the disk any more; changes are taken again by and by."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with Wire(self.server.resp) as wire:
                if self.write(wire, b"small") == b"+OK\r\n":
                    return
            time.sleep(0.05)
        raise AssertionError(f"changes are still refused: {self.server.tail()}")

    def verify(self) -> None:
        with Wire(self.server.resp) as wire:
            found: Found = read(wire, list(self.asked))
        assert self.kept.keys() <= found.keys()
        assert all(held == (self.asked[key], NEVER) for key, held in found.items())


class Ballast:
    """Takes half of a small disk until it is thrown off."""

    def __init__(self, disk: Path) -> None:
        self.file = disk / "ballast"
        self.file.write_bytes(bytes(12 * MIB))

    def drop(self) -> None:
        self.file.unlink()


def on_small_disk(directory: Path, disk: Path) -> tuple[Filling, Ballast]:
    return Filling(Crashing(directory, "--wal-sync", "always", data=disk / "data")), Ballast(disk)


def test_it_refuses_changes_and_goes_on_when_there_is_room(tmp_path: Path, small_disk: Path) -> None:
    filling, ballast = on_small_disk(tmp_path, small_disk)
    with filling.server.started() as server:
        filling.fill()
        with Wire(server.resp) as wire, Native(server.native) as native:
            key, value = next(iter(filling.kept.items()))
            assert wire.call(b"GET", key) == b"$%d\r\n%s\r\n" % (len(value), value)
            assert native.call(b"STRLEN", key) == b":%d\r\n" % len(value)
            assert native.ask(put(b"refused", b"value")) == (ERROR, b"STORAGE_FAILURE")
            assert wire.call(b"DEL", key).startswith(b"-MISCONF")
            assert wire.call(b"PING").startswith(b"-MISCONF")
        filling.verify()
        ballast.drop()
        filling.resume()
        filling.verify()
        server.kill()
        server.start()
        filling.verify()


def test_a_crowd_is_told_nothing_that_is_not_so(tmp_path: Path, small_disk: Path) -> None:
    """Many connections write at the moment in which the disk is full: what they are told is true."""
    filling, ballast = on_small_disk(tmp_path, small_disk)
    with filling.server.started() as server:
        crowd = [Wire(server.resp) for _ in range(CROWD)]
        while not filling.write_together(crowd):
            assert filling.number < 100 * CROWD, "the disk is not full"
        server.kill()
        ballast.drop()
        server.start()
        filling.verify()


def test_it_is_killed_while_the_disk_is_full(tmp_path: Path, small_disk: Path) -> None:
    filling, ballast = on_small_disk(tmp_path, small_disk)
    with filling.server.started() as server:
        filling.fill()
        server.kill()
        process = server.spawn()
        end = time.monotonic() + 30
        while process.poll() is None and server.says() != b"+PONG\r\n" and time.monotonic() < end:
            time.sleep(0.02)
        if process.poll() is None:  # it may start where it needs no more room than there is
            filling.verify()
            server.kill()
        else:
            assert "no space" in server.tail().lower()
        ballast.drop()
        server.start()
        filling.verify()
        with Wire(server.resp) as wire:
            assert filling.write(wire, VALUE) == b"+OK\r\n"


def test_syncs_fail_while_a_crowd_waits(tmp_path: Path, shim: str) -> None:
    """Who waits for a reply gets none; whoever comes later is refused, until a snapshot has made all of it safe."""
    root, trouble = tmp_path / "disk", tmp_path / "trouble"
    root.mkdir()
    variables = {"LD_PRELOAD": shim, "JOURNAL": str(tmp_path / "journal"), "JOURNAL_ROOT": str(root)}
    server = Crashing(tmp_path, "--io-threads", "1", data=root / "data", **variables, JOURNAL_TROUBLE=str(trouble))
    filling = Filling(server)
    with server.started():
        crowd = [Wire(server.resp) for _ in range(CROWD)]
        for _ in range(2):
            before = len(filling.kept)
            assert filling.write_together(crowd) == 0
            assert len(filling.kept) == before + CROWD
            trouble.touch()
            filling.write_together(crowd)
            assert filling.write(crowd[0], b"late").startswith(b"-MISCONF")
            filling.verify()
            trouble.unlink()
            filling.resume()
        server.kill()
        server.start()
        filling.verify()
