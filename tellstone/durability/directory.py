"""The directory that holds a store: where it is by default, who may read it, and that one process has it at a time.

    DIR/lock                                 held as long as a process uses the directory
    DIR/logs/GENERATION-SHARD-FIRST.log      the write-ahead log
    DIR/snapshots/GENERATION-NUMBER.snapshot

The lock is one of the system's (flock, or LockFile on Windows): it ends with the process that holds it, however that
ends. Who only reads takes it shared, and makes nothing in the directory; so a check beside a server is refused: what it
would find half written, or cut while it reads, is no damage.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from tellstone.errors import StartError

PRIVATE = 0o700
LOCK = "lock"
LOGS = "logs"
SNAPSHOTS = "snapshots"


def default_directory() -> Path:
    """Where a server keeps its data unless it is told: what the platform has for that.

    The XDG Base Directory Specification on Linux and BSD, Application Support on macOS, %APPDATA% on Windows.
    """
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "tellstone"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming") / "tellstone"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "tellstone"


def lock_file(file: IO[str], *, shared: bool = False) -> bool:
    """Take the lock without waiting; False: somebody has it. On Windows there is no shared one."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def sync(directory: Path) -> None:
    """The names in a directory are on the disk."""
    if os.name == "nt":  # renames write through there, and a directory cannot be opened
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make(path: Path) -> None:
    """Make a directory, and those above it that are missing, and put their names on the disk: what is synced within a
    directory whose own name is lost is lost as well. The lowest that was there already is synced, too, for whoever has
    made it may have died before he did that.
    """
    missing = sum(not place.exists() for place in (path, *path.parents))
    path.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    for place in (path, *path.parents)[: missing + 1]:
        with suppress(PermissionError):  # a directory of somebody else's, which is not for us to read
            sync(place.parent)


def in_use(path: Path, file: IO[str], named: str = "persistence-dir") -> StartError:
    """The error for a directory whose lock somebody has. The process that the file names may be gone: then others, who
    only read, have it.
    """
    owner = "another process"
    try:
        number = int(file.read())
        os.kill(number, 0)
        owner = f"process {number}" + ", this one" * (number == os.getpid())
    except PermissionError:  # it is there, and somebody else's
        owner = f"process {number}"
    except (ValueError, OSError):
        pass
    return StartError(f"{named} {path} is in use by {owner}: one process at a time")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """No process changes the directory meanwhile; others may read it too. Raises StartError while one has it."""
    try:
        file = (path / LOCK).open()
    except FileNotFoundError:  # a copy that no process has had yet
        yield
        return
    except OSError as error:
        raise StartError(f"{path / LOCK}: {(error.strerror or str(error)).lower()}") from None
    with file:
        if not lock_file(file, shared=True):
            raise in_use(path, file)
        yield


class Directory:
    """A store's directory, made if need be, and locked until `close`. Raises StartError, whose text is one line.

    named: what it is called where it is given.
    """

    def __init__(self, path: str | os.PathLike[str], *, named: str = "persistence-dir") -> None:
        self.path = Path(path).expanduser().absolute()
        self.logs = self.path / LOGS
        self.snapshots = self.path / SNAPSHOTS
        try:
            make(self.path)
            for part in (self.logs, self.snapshots):
                part.mkdir(mode=PRIVATE, exist_ok=True)
            sync(self.path)
            descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except (FileExistsError, NotADirectoryError) as error:
            place = Path(error.filename)
            file = next(part for part in (place, *place.parents) if part.exists() and not part.is_dir())
            raise StartError(f"{named} {self.path}: {file} is not a directory") from None
        except OSError as error:
            raise StartError(f"{named} {self.path}: {(error.strerror or str(error)).lower()}") from None
        self._lock: IO[str] = os.fdopen(descriptor, "r+")
        if not lock_file(self._lock):
            with self._lock:
                raise in_use(self.path, self._lock, named)
        self._lock.seek(0)
        self._lock.truncate()
        self._lock.write(f"{os.getpid()}\n")
        self._lock.flush()

    def close(self) -> None:
        """Let others have it."""
        self._lock.close()

    def forget(self) -> None:
        """In a child of os.fork: the lock stays with the parent. Closing a descriptor does not end it while another of
        it is open.
        """
        self._lock.close()

    def __enter__(self) -> Directory:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()
