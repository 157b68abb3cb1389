"""Real servers for tests: a redis-server to compare with, and the server under test, as processes on free ports.

    TELLSTONE_TEST_ADDR=host:port      use a server that is running instead of starting one (it is not restarted)
    TELLSTONE_TEST_REDIS=path          the redis-server to compare with, instead of the one on PATH

A test asks for the fixture `server` or `redis`; conftest.py of its directory brings them in. Both live as long as the
session. `server_survives` ends every test by asking whether the server still answers; if not, that test has failed, and
the next one gets another server.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from wire import Closed, Wire

PROTO_MAX_BULK = 16 << 20  # our --max-msg-size; set on both servers, which then refuse the same arguments and growth
START_TIMEOUT = 30.0
STOP_TIMEOUT = 15.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as s:
        port: int = s.getsockname()[1]
        return port


class Server:
    """A server process. It answers when `start` returns; its output is in `log`."""

    def __init__(self, command: Callable[[int], list[str]], directory: Path) -> None:
        self.command = command
        self.directory = directory
        self.log = directory / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self.address = ("127.0.0.1", 0)

    def start(self) -> Server:
        for attempts_left in (2, 1, 0):  # another process may take the port before ours does
            self.address = ("127.0.0.1", free_port())
            with self.log.open("ab") as log:
                self.process = subprocess.Popen(
                    self.command(self.address[1]),
                    cwd=self.directory,
                    env=environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            if self._ready():
                self.configure()
                break
            self.stop()
            if not attempts_left:
                raise RuntimeError(f"{self.process.args!r} does not answer:\n{self.tail()}")
        return self

    def configure(self) -> None:
        with self.connect() as wire:
            assert wire.call("CONFIG", "SET", "proto-max-bulk-len", PROTO_MAX_BULK) == b"+OK\r\n"

    def _ready(self) -> bool:
        deadline = time.monotonic() + START_TIMEOUT
        while self.running() and time.monotonic() < deadline:
            if self.answers():
                return True
            time.sleep(0.02)
        return False

    def running(self) -> bool:
        return self.process is None or self.process.poll() is None

    def died(self, within: float = 0.5) -> bool:
        """Whether the process has ended, or does so presently; then another is started, for a property to go on."""
        if self.process is None:
            return False
        try:
            self.process.wait(within)
        except subprocess.TimeoutExpired:
            return False
        self.start()
        return True

    def answers(self, timeout: float = 5) -> bool:
        """Whether a new connection is served."""
        try:
            with self.connect(timeout) as wire:
                return wire.call("PING") == b"+PONG\r\n"
        except (OSError, Closed):
            return False

    def connect(self, timeout: float = 30) -> Wire:
        return Wire(self.address, timeout)

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""

    def stop(self) -> int:
        """Ask it to stop, and its exit status; one that does not stop is killed."""
        if self.process is None:
            return 0
        if self.running():
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"{self.process.args!r} does not stop:\n{self.tail()}") from None


def environment() -> dict[str, str]:
    """Ours, with the package that the tests would import in front, and none of a user's options; the native protocol
    gets a free port, so that servers do not meet.
    """
    spec = importlib.util.find_spec("tellstone")
    places = [str(Path(place).parent) for place in (spec.submodule_search_locations or [] if spec else [])]
    paths = [*places, *filter(None, [os.environ.get("PYTHONPATH")])]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TSD_")}
    return kept | {"PYTHONPATH": os.pathsep.join(paths), "TSD_ADDR": "127.0.0.1:0"}


DEBUG = ("--enable-debug-command", "yes")


def tellstone_command(*options: str) -> Callable[[int], list[str]]:
    def command(port: int) -> list[str]:
        where = ["--enable-resp", "--resp-addr", f"127.0.0.1:{port}"]
        return [sys.executable, "-m", "tellstone", *where, *DEBUG, *options]

    return command


def redis_program() -> str | None:
    return shutil.which(os.environ.get("TELLSTONE_TEST_REDIS") or "redis-server")


def redis_command(*options: str) -> Callable[[int], list[str]]:
    def command(port: int) -> list[str]:
        fixed = [*("--port", str(port)), *("--save", ""), *("--appendonly", "no"), *("--enable-debug-command", "yes")]
        return [redis_program() or "redis-server", *fixed, *options]

    return command


@cache
def redis_version(program: str) -> tuple[int, ...]:
    text = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"v=(\d+)\.(\d+)\.(\d+)", text)
    assert match, text
    return tuple(map(int, match.groups()))


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A redis-server to compare with."""
    if redis_program() is None:
        pytest.skip("redis-server is not installed")
    running = Server(redis_command(), tmp_path_factory.mktemp("redis")).start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server under test."""
    tested = Server(tellstone_command(), tmp_path_factory.mktemp("tellstone"))
    address = os.environ.get("TELLSTONE_TEST_ADDR")
    if address:
        host, _, port = address.rpartition(":")
        tested.address = (host, int(port))
        tested.configure()
        yield tested
        return
    tested.start()
    yield tested
    assert tested.stop() == 0, tested.tail()


@pytest.fixture(autouse=True)
def server_survives(request: pytest.FixtureRequest) -> Iterator[None]:
    """After a test: the server still answers. If not, the test has failed, and the next one gets a new server."""
    yield
    if "server" in request.fixturenames:
        tested: Server = request.getfixturevalue("server")
        if not (tested.running() and tested.answers()):
            log = tested.tail()
            if tested.process is not None:
                tested.process.kill()
                tested.process.wait()
                tested.start()
            pytest.fail(f"the server is gone, or answers no more; the end of its log:\n{log}")
