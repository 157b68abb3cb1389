"""Where files stand in a directory of durable data, and the lock that keeps a second process out of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tellstone.errors import StartError

SNAPSHOTS = "snapshots"
LOGS = "logs"
LOCK = "lock"
GENERATION = re.compile(r"([0-9a-f]{16})-[0-9a-f]{16}(?:\.snapshot|-[0-9a-f]{16}\.log)")


def snapshot_path(directory: Path, generation: int, number: int) -> Path:
    """Where a snapshot stands."""
    return directory / SNAPSHOTS / f"{generation:016x}-{number:016x}.snapshot"


def newest_generation(directory: Path) -> int:
    """The highest that a file's name has, 0 if there is none."""
    names = [file.name for part in (SNAPSHOTS, LOGS) for file in (directory / part).glob("*")]
    return max((int(match[1], 16) for name in names if (match := GENERATION.fullmatch(name))), default=0)


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Nobody else has the directory meanwhile. Raises StartError where somebody has it."""
    try:
        import fcntl
    except ImportError:  # Windows: there a file that a server holds cannot be opened for writing
        fcntl = None  # type: ignore[assignment]
    try:
        file = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except PermissionError as error:
        raise StartError(f"{directory}: {error.strerror}; perhaps a server uses it") from None
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise StartError(f"{directory}: a server uses it") from None
    finally:
        os.close(file)
