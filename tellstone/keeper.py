"""A store on disk: loaded at the start, looked after while it is used, closed at the end; a server's and an engine's.

The work is that of durability.persistence; here is when it is done, by a thread that looks once a second. A snapshot is
taken when the log has grown by --snapshot-bytes, when the last one is --snapshot-interval old, or when one of the
points of --save is reached. One that has failed is tried again a few seconds later. While the disk fails, going on is
tried at every look.

A keeper that nobody holds any more is closed, and so is every one when the interpreter ends: its store refuses changes
from then on. Whoever changes the store holds the keeper therefore. In a child of os.fork it lets everything be, which
is its parent's.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from dataclasses import replace

from tellstone._core.store.keyspace import Store
from tellstone.config import Options
from tellstone.durability.directory import Directory, default_directory
from tellstone.durability.persistence import Persistence
from tellstone.log import fields, log
from tellstone.units import SECOND

LOOK_SECONDS = 1.0
RETRY_SECONDS = 5.0
RULES = ("wal_sync", "snapshot_interval", "snapshot_bytes", "snapshot_keep", "save")  # options that may change


class Watch(threading.Thread):
    """Looks after a store until `end`, and closes it then. It does not hold the keeper, which may become garbage."""

    def __init__(self, persistence: Persistence, directory: Directory, options: Options) -> None:
        super().__init__(name="tellstone-keeper", daemon=True)
        self.persistence = persistence
        self.directory = directory
        self.options = options
        self.safe = True  # whether everything is on disk, when it has ended
        self._asked = threading.Event()
        self._hurt = ""  # what has been logged of a failing disk

    def run(self) -> None:
        """See threading.Thread."""
        while not self._asked.wait(LOOK_SECONDS):
            self._look()
        self.safe = self.persistence.close()
        if not self.safe:
            log.error("the end of the log could not be written", extra=fields(reason=self.persistence.log.error))
        self.directory.close()

    def end(self) -> None:
        """Put everything on disk; returns when that is done. May be called again. Where garbage is collected in this
        very thread it only asks for it.
        """
        self._asked.set()
        self.persistence.stop()
        if self is not threading.current_thread():
            self.join()

    def _look(self) -> None:
        try:
            if self.persistence.log.health != "ok":
                self._heal()
            elif self._is_due() and not self.persistence.saving:
                self.persistence.save_gently()
        except Exception:  # the next look may go better, and somebody has to close
            log.exception("the look after the store on disk has failed")

    def _is_due(self) -> bool:
        saves, changes = self.persistence.saves, self.persistence.changes
        limit, interval, points = self.options.snapshot_bytes, self.options.snapshot_interval, self.options.save
        if not saves.last_ok:
            return bool(limit or interval or points) and time.monotonic() - saves.last_end >= RETRY_SECONDS
        age, grown = time.time() - saves.last_time, self.persistence.log.bytes
        return (
            bool(limit and grown >= limit)
            or bool(interval and grown and age >= interval / SECOND)
            or any(age >= seconds and changes >= least for seconds, least in points)
        )

    def _heal(self) -> None:
        reason = self.persistence.log.error
        if reason != self._hurt:
            log.error("the log cannot be written: changes are refused", extra=fields(reason=reason))
            self._hurt = reason
        if self.persistence.heal():
            self._hurt = ""


class Keeper:
    """See the module. Takes the directory at once, and raises StartError if it cannot be had.

    options: --persistence-dir, --wal-sync and when to take snapshots; looked at as they are at each moment. named: what
    the directory is called where it is given.
    """

    def __init__(self, store: Store, options: Options, *, named: str = "persistence-dir") -> None:
        self._store = store
        self._options = options
        self._directory = Directory(options.persistence_dir or default_directory(), named=named)
        options.persistence_dir = str(self._directory.path)
        self.persistence = Persistence(store, self._directory, sync=options.wal_sync, keep=options.snapshot_keep)
        self._watch: Watch | None = None
        self._finish: weakref.finalize[[], Keeper] | None = None
        _keepers.add(self)

    def load(self, threads: int = 0) -> None:
        """Read what is on disk, and look after it from here on. Clients are told LOADING meanwhile. threads: that read
        side by side, 0 for one a CPU. Raises StartError.
        """
        self._store.loading = True
        self.persistence.recover(threads)
        self._store.loading = False
        self._watch = Watch(self.persistence, self._directory, self._options)
        self._watch.start()
        self._finish = weakref.finalize(self, self._watch.end)

    def save_later(self) -> None:
        """Begin to write a snapshot beside everything else. Raises StorageError where there is no writing."""
        self.persistence.require_ours()
        threading.Thread(target=self._save, name="tellstone-snapshot", daemon=True).start()

    def _save(self) -> None:
        """LIFETIME: the thread holds the keeper, so nothing is closed by what it collects while it writes."""
        self.persistence.save_gently()

    def take(self, options: Options) -> None:
        """Take the rules that these options have now."""
        for name in RULES:
            setattr(self._options, name, getattr(options, name))
        self.persistence.keep = options.snapshot_keep
        if self.persistence.recovered:
            self.persistence.log.set_sync(options.wal_sync)

    def told(self, options: Options) -> Options:
        """A copy of options that says how the store is kept."""
        kept = {name: getattr(self._options, name) for name in ("enable_persistence", "persistence_dir", *RULES)}
        return replace(options, **kept)

    def close(self) -> bool:
        """Put everything on disk, and let others have the directory. The store refuses changes from here on. Answers
        whether it could be done; may be called again.
        """
        if self._watch is None:
            self._directory.close()
            return True
        self._watch.end()
        if self._finish is not None:
            self._finish.detach()
        return self._watch.safe

    def forget(self) -> None:
        """In a child of os.fork."""
        if self._finish is not None:
            self._finish.detach()
        self._watch = self._finish = None
        self.persistence.forget()


_keepers: weakref.WeakSet[Keeper] = weakref.WeakSet()


def forget_all() -> None:
    """A child has been forked: directories and logs are its parent's. The core has seen to its own part already."""
    for keeper in _keepers:
        keeper.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_all)
