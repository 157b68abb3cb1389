"""A store that is kept on disk: read at the start, logged while it changes, and saved from time to time.

    with Directory(path) as directory:
        persistence = Persistence(store, directory, sync="always")
        persistence.recover()       # what is on disk becomes the store's content; from here on changes are logged
        persistence.save()          # a snapshot; the log that it covers goes
        persistence.close()         # everything is on disk

Recovery, snapshots and the log are the core's (store.recovery, store.snapshot, store.wal); here is what holds them
together: names and generations of files, what becomes superfluous when, and what happens when the disk fails. When it
does, changes are refused (the core sees to that). `heal` tries, as often as it is called, to write a snapshot of
everything, which needs no log before it; when it has, the log goes on.

LOCK: `save`, `heal` and `close` exclude one another; any thread may call them.
"""

from __future__ import annotations

import errno
import logging
import threading
import time

from tellstone._core.store.durable import StoreLog
from tellstone._core.store.keyspace import Store
from tellstone._core.store.recovery import RecoveryJob
from tellstone._core.store.snapshot import SnapshotJob
from tellstone.durability.directory import Directory, sync
from tellstone.durability.saves import Saves
from tellstone.durability.snapshots import UNFINISHED, WHOLE, files_like, snapshot_name, snapshots_in
from tellstone.errors import StartError, StorageError
from tellstone.log import fields

log = logging.getLogger("tellstone")


class Persistence:
    """See the module. sync: "always", "everysec" or "no". keep: so many snapshots stay, with the logs behind the oldest
    of them; it may be changed at any time, and counts when the next snapshot has been written.
    """

    def __init__(self, store: Store, directory: Directory, *, sync: str = "always", keep: int = 1) -> None:
        self.saves = Saves()
        self.recovery = RecoveryJob(store, directory.path)
        self.recovered = False
        self.loading_since = time.time()
        self.loaded = 0  # keys that were there at the start
        self.keep = keep
        self._store = store
        self._directory = directory
        self._sync = sync
        self._log: StoreLog | None = None
        self._number = 0  # of the newest snapshot
        self._changes_saved = 0
        self._saving = threading.Lock()
        self._stopped = False  # no more snapshots are written
        self._job: SnapshotJob | None = None

    # Life

    def recover(self, threads: int = 0) -> None:
        """Read what is on disk into the store, which is empty, and log its changes from here on.

        threads: that read side by side, 0 for one a CPU. Raises StartError, whose text is one line, for damaged files,
        for those of a later version, and for what cannot be read or written.
        """
        job = self.recovery
        begun = time.monotonic()
        self.loading_since = time.time()
        try:
            job.run(threads)
            self._number = job.number
            job.cut()
            self._remove_unfinished()
            sync(self._directory.snapshots)  # whoever wrote the one that was read may have died before he did that
            self._open(job)
            self.saves.last_bytes = self._newest_bytes()
        except OSError as error:
            raise StartError(f"{self._directory.path}: {(error.strerror or str(error)).lower()}") from None
        except RuntimeError as error:
            raise StartError(str(error)) from None
        self.recovered = True
        self.loaded = sum(keys for keys, _ in self._store.sizes())
        self._report(job, time.monotonic() - begun)

    def _open(self, job: RecoveryJob) -> None:
        """Begin to append. Logs of another number of shards are replaced: by a snapshot, and logs of a new
        generation.
        """
        count = self._store.shard_count
        if job.generation and job.shards == count:
            self._append(job.generation, job.seqs)
            return
        generation = job.generation + 1
        if job.generation:
            self._write(generation)
        self._append(generation, [0] * count)
        self._drop_surplus()

    def _newest_bytes(self) -> int:
        """The size of the newest snapshot, 0 where there is none."""
        newest = files_like(self._directory.path, WHOLE)[-1:]
        return newest[0].stat().st_size if newest else 0

    def _append(self, generation: int, seqs: list[int]) -> None:
        self._log = StoreLog(self._store, self._directory.path, generation, self._sync)
        self._log.open(seqs)

    def _remove_unfinished(self) -> None:
        """A snapshot that a process was killed over is of no use to anybody."""
        for path in files_like(self._directory.path, UNFINISHED):
            size = path.stat().st_size
            path.unlink()
            log.warning("an unfinished snapshot has been removed", extra=fields(file=path.name, bytes=size))

    def _report(self, job: RecoveryJob, seconds: float) -> None:
        for shard, name, offset, torn, dropped in job.ends:
            log.warning(
                "the end of a log was not whole, and has been cut",
                extra=fields(shard=shard, file=name, offset=offset, bytes=torn, dropped=dropped),
            )
        if job.generation:
            log.info(
                "loaded",
                extra=fields(keys=self.loaded, records=job.records, seconds=round(seconds, 3)),
            )

    def close(self) -> bool:
        """Put everything on disk; the store refuses changes from here on. Answers whether it could be done."""
        self.stop()
        with self._saving:
            return self._log is None or self._log.close()

    def forget(self) -> None:
        """In a child of os.fork: files and locks are the parent's, of whose threads some may have been at work."""
        self._saving = threading.Lock()
        self._job = None
        self._directory.forget()

    def require_ours(self) -> None:
        """Raise StorageError in a child of os.fork."""
        if self.log.health == "foreign":
            raise StorageError(f"MISCONF no snapshot: {self.log.error}")

    # Snapshots

    @property
    def log(self) -> StoreLog:
        """The log; there is one once `recover` has returned."""
        assert self._log is not None
        return self._log

    @property
    def changes(self) -> int:
        """Since the last snapshot, or the start."""
        return self.log.changes - self._changes_saved if self.recovered else 0

    @property
    def saving(self) -> bool:
        """Whether a snapshot is being written."""
        return self._saving.locked()

    def stop(self) -> None:
        """End the snapshot that is being written, if one is, and begin no other; the old one stays."""
        self._stopped = True
        job = self._job
        if job is not None:
            job.cancel()

    def save(self, *, gentle: bool = False) -> bool:
        """Write a snapshot, and let the log go that it covers. gentle: leave most of a core to others. False: the end
        came before.

        Raises OSError; the old snapshot and the whole log are still there then. Raises StorageError in a child of fork.
        """
        self.require_ours()
        with self._saving:
            self.saves.begun = time.monotonic()
            try:
                job = self._write(self.log.generation, gentle=gentle)
            except OSError as error:
                self._note(error.strerror or str(error))
                raise
            finally:
                duration, self.saves.begun = time.monotonic() - self.saves.begun, -1
            if job is None:
                self._note("stopped")
                return False
            self._take(job, duration)
            return True

    def save_gently(self) -> None:
        """A snapshot beside other work, whose failure is logged: for those who do not wait for it."""
        try:
            if self.save(gentle=True):
                log.info("snapshot written", extra=fields(seconds=round(self.saves.last_duration, 3)))
        except OSError as error:
            log.error("the snapshot could not be written", extra=fields(reason=error.strerror or str(error)))

    def _take(self, job: SnapshotJob, duration: float) -> None:
        """A snapshot is on the disk, and the log goes on behind it."""
        self._note("", duration)
        self._changes_saved = job.changes
        self.saves.last_bytes = job.bytes
        self._drop_surplus()

    def _note(self, error: str, duration: float = -1) -> None:
        saves = self.saves
        saves.last_ok, saves.last_error = not error, error
        saves.last_end = time.monotonic()
        if error:
            saves.failed += 1
        else:
            saves.done += 1
            saves.last_time = int(time.time())
            saves.last_duration = duration

    def _write(self, generation: int, *, gentle: bool = False) -> SnapshotJob | None:
        """A snapshot in the next file; None: the end has come."""
        number = self._number + 1
        self._job = job = SnapshotJob(self._store, generation)  # ORDER: `stop` finds it, or is seen here
        try:
            if self._stopped or not job.write(
                self._directory.snapshots / snapshot_name(generation, number), gentle=gentle
            ):
                return None
        finally:
            self._job = None
        self._number = number
        return job

    def _drop_surplus(self) -> None:
        """Let older snapshots go than those that are kept, and the logs that only they need. One that cannot be read
        does not count as kept, and stays until an older one would.
        """
        try:
            kept = snapshots_in(self._directory.path)[-self.keep :]
            for path in files_like(self._directory.path, WHOLE) if kept else []:
                if path.name < kept[0].name:
                    path.unlink(missing_ok=True)
        except OSError as error:  # there is only more on the disk than there need be
            log.warning("older snapshots cannot be dropped", extra=fields(reason=error.strerror or str(error)))
            return
        if kept:
            self.log.drop(kept[0].generation, kept[0].seqs)

    # When the disk fails

    def heal(self) -> bool:
        """While the log is hurt: try to go on, with a snapshot of everything and a new log. Answers whether all is
        well.
        """
        if self.log.health == "ok":
            return True
        with self._saving:
            try:
                job = self._write(self.log.generation)
            except OSError as error:
                log.debug(
                    "the disk still fails", extra=fields(reason=errno.errorcode.get(error.errno or 0, str(error)))
                )
                return False
            if job is None or not self.log.resume(job.seqs):
                return False
            self._take(job, (job.ended_ms - job.begun_ms) / 1000)
        log.info("the log is written again")
        return True
