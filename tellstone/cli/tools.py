"""What the commands for a directory of data share: their words, their directory, and a bar on a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from tellstone._core.store.recovery import RecoveryJob
from tellstone.cli.arguments import flag_text, value_of
from tellstone.durability.directory import LOGS, SNAPSHOTS
from tellstone.errors import OptionError, StartError
from tellstone.units import Kind

ASKED = ("-h", "--help")
BAR = 30  # characters
EVERY = 0.1  # seconds


def read_words(words: Sequence[str], what: str, kinds: Mapping[str, Kind[Any]]) -> tuple[str, dict[str, Any]]:
    """The one argument of a command and its options. Raises OptionError."""
    rest = iter(words)
    arguments: list[str] = []
    options: dict[str, Any] = {}
    for word in rest:
        if word.startswith("-") and word != "-":
            flag, text = flag_text(word, rest, kinds)
            options[flag] = value_of(kinds[flag], flag, text)
        elif arguments:
            raise OptionError(f"unexpected argument {word!r}")
        else:
            arguments.append(word)
    if not arguments:
        raise OptionError(f"{what} is missing; --help tells more")
    return arguments[0], options


def data_directory(name: str) -> Path:
    """A directory of data that is there. Raises OptionError, StartError."""
    directory = Path(name)
    if not directory.is_dir():
        raise OptionError(f"{name}: {'is not a directory' if directory.exists() else 'there is no such directory'}")
    if not any((directory / part).is_dir() for part in (LOGS, SNAPSHOTS)):
        raise StartError(f"{name}: there is no data in it: it has neither {LOGS}/ nor {SNAPSHOTS}/")
    return directory


def show_bytes(number: float) -> str:
    """Bytes, to three digits."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1024
    return f"{number:.3g} TiB"


class Bar:
    """A line that grows, on a terminal; elsewhere nothing."""

    def __init__(self, what: str, out: TextIO | None = None) -> None:
        self.what = what
        self.out = out or sys.stderr
        self.begun = time.monotonic()
        self.shown = ""

    def show(self, done: int, whole: int, more: str = "") -> None:
        """Draw so much of the whole."""
        if not self.out.isatty():
            return
        part = min(done / whole, 1.0) if whole else 0.0
        speed = done / max(time.monotonic() - self.begun, 0.001)
        bar = "#" * int(part * BAR)
        text = f"{self.what} [{bar:.<{BAR}}] {part:4.0%}  {show_bytes(done)}, {show_bytes(speed)}/s  {more}"
        self.out.write(f"\r{text:<{len(self.shown)}}")
        self.out.flush()
        self.shown = text

    def clear(self) -> None:
        """Leave the line empty."""
        if self.shown:
            self.out.write(f"\r{'':<{len(self.shown)}}\r")
            self.out.flush()
            self.shown = ""


@contextmanager
def watching(what: str) -> Iterator[Callable[[RecoveryJob], None]]:
    """Draws how far the job is that it is told of."""
    ended = threading.Event()
    jobs: list[RecoveryJob] = []
    bar = Bar(what)

    def draw() -> None:
        while not ended.wait(EVERY):
            for job in jobs:
                bar.show(job.bytes_done, job.bytes_all, f"{job.keys + job.records:,} entries")
        bar.clear()

    thread = threading.Thread(target=draw, name="progress", daemon=True)
    thread.start()
    try:
        yield jobs.append
    finally:
        ended.set()
        thread.join()
