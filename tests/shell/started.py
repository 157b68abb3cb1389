"""A server process with options of its own, and its log as it comes."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading

from servers import environment
from wire import Wire

LISTENING = re.compile(r"protocol=resp addr=(?:redis://([\d.]+):(\d+)|unix://(\S+))")


class Started:
    """A `tellstone` process and what it writes to its standard error."""

    def __init__(self, *words: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tellstone", *words],
            env=environment() | (env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self.changed = threading.Condition()
        self.ended = False
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def line(self, text: str, timeout: float = 20) -> str:
        """The first line that holds a text; waits for it."""
        with self.changed:
            found = self.changed.wait_for(lambda: self.ended or any(text in line for line in self.lines), timeout)
            assert found
            lines = [line for line in self.lines if text in line]
            assert lines, f"no {text!r} in {self.lines}"
            return lines[0]

    def connect(self) -> Wire:
        match = LISTENING.search(self.line("listening"))
        assert match
        return Wire(match[3] or (match[1], int(match[2])))

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, timeout: float = 20) -> int:
        """The exit status; waits for it."""
        status = self.process.wait(timeout)
        self.reader.join(timeout)
        return status
