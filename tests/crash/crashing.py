"""A directory, and a server that is started on what crashes have left in it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from servers import environment
from wire import Closed, Wire

SHARDS = 4
START_SECONDS = 60
LOADING = b"-LOADING"


class Crashing:
    """The process listens at two unix sockets, one a protocol."""

    def __init__(self, directory: Path, *words: str, data: Path | None = None, **variables: str) -> None:
        self.directory = directory
        self.data = data or directory / "data"
        self.resp, self.native = str(directory / "r"), str(directory / "n")
        self.log = directory / "log"
        self.words = words
        self.variables = variables
        self.process: subprocess.Popen[bytes] | None = None

    def spawn(self, **variables: str) -> subprocess.Popen[bytes]:
        """Without waiting for anything."""
        for path in (self.resp, self.native):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        command = [sys.executable, "-m", "tellstone", "--addr", f"unix:{self.native}", "--enable-resp"]
        command += ["--resp-addr", f"unix:{self.resp}", "--enable-persistence", "--shards", str(SHARDS)]
        command += ["--persistence-dir", str(self.data), *self.words]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, env=environment() | self.variables | variables, stdout=log, stderr=log
            )
        return self.process

    def start(self, **variables: str) -> None:
        """It serves when this returns."""
        process = self.spawn(**variables)
        end = time.monotonic() + START_SECONDS
        while self.says() != b"+PONG\r\n":
            assert process.poll() is None and time.monotonic() < end, self.tail()
            time.sleep(0.005)

    def says(self) -> bytes:
        """What it answers to a PING; nothing while it does not listen."""
        try:
            with Wire(self.resp) as wire:
                return wire.call("PING")
        except (Closed, OSError):
            return b""

    def is_loading(self) -> bool:
        """Whether it says so: PING is answered all the time."""
        try:
            with Wire(self.resp) as wire:
                return wire.call("GET", "key").startswith(LOADING)
        except (Closed, OSError):
            return False

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]

    @contextlib.contextmanager
    def started(self) -> Iterator[Crashing]:
        """Running, and gone afterwards."""
        try:
            self.start()
            yield self
        finally:
            if self.running():
                self.kill()
