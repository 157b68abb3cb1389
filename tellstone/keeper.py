"""A server's store on disk: loaded at the start, looked after while it runs, closed at the end.

The work is that of durability.persistence, in threads; here is when it is done. A snapshot is taken when the log has
grown by --snapshot-bytes, when the last one is --snapshot-interval old, or when one of the points of --save is reached.
One that has failed is tried again a few seconds later. While the disk fails, going on is tried every second.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from tellstone._core.store.keyspace import Store
from tellstone.config import Options
from tellstone.durability.directory import Directory, default_directory
from tellstone.durability.persistence import Persistence
from tellstone.log import fields, log
from tellstone.units import SECOND

LOOK_SECONDS = 1.0
RETRY_SECONDS = 5.0


class Keeper:
    """See the module. Takes the directory at once, and raises StartError if it cannot be had."""

    def __init__(self, store: Store, options: Options) -> None:
        self._store = store
        self._options = options
        self._directory = Directory(options.persistence_dir or default_directory())
        options.persistence_dir = str(self._directory.path)
        self.persistence = Persistence(store, self._directory, sync=options.wal_sync, keep=options.snapshot_keep)
        self._task: asyncio.Task[None] | None = None
        self._save: asyncio.Future[None] | None = None
        self._hurt = ""  # what has been logged of a failing disk

    async def load(self) -> None:
        """Read what is on disk. Clients are told LOADING meanwhile. Raises StartError."""
        self._store.loading = True
        reading = asyncio.get_running_loop().run_in_executor(None, self.persistence.recover, self._options.io_threads)
        while not (await asyncio.wait((reading,), timeout=LOOK_SECONDS))[0]:
            job = self.persistence.recovery
            log.info(
                "loading", extra=fields(bytes=job.bytes_done, of=job.bytes_all, keys=job.keys, records=job.records)
            )
        await reading
        self._store.loading = False
        self._task = asyncio.ensure_future(self._look_after())

    def save_later(self) -> None:
        """Begin to write a snapshot beside everything else."""
        self._save = asyncio.get_running_loop().run_in_executor(None, self.persistence.save_gently)

    def configure(self) -> None:
        """Take the options as they are now."""
        self.persistence.keep = self._options.snapshot_keep
        if self.persistence.recovered:
            self.persistence.log.set_sync(self._options.wal_sync)

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self.persistence.log.health != "ok":
                await self._heal()
            elif self._is_due() and not self.persistence.saving:
                self.save_later()

    def _is_due(self) -> bool:
        saves, changes = self.persistence.saves, self.persistence.changes
        limit, interval, points = self._options.snapshot_bytes, self._options.snapshot_interval, self._options.save
        if not saves.last_ok:
            return bool(limit or interval or points) and time.monotonic() - saves.last_end >= RETRY_SECONDS
        age, grown = time.time() - saves.last_time, self.persistence.log.bytes
        return (
            bool(limit and grown >= limit)
            or bool(interval and grown and age >= interval / SECOND)
            or any(age >= seconds and changes >= least for seconds, least in points)
        )

    async def _heal(self) -> None:
        reason = self.persistence.log.error
        if reason != self._hurt:
            log.error("the log cannot be written: changes are refused", extra=fields(reason=reason))
            self._hurt = reason
        if await asyncio.get_running_loop().run_in_executor(None, self.persistence.heal):
            self._hurt = ""

    async def close(self) -> None:
        """Put everything on disk. Changes have ended."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if not await asyncio.get_running_loop().run_in_executor(None, self.persistence.close):
            log.error("the end of the log could not be written", extra=fields(reason=self.persistence.log.error))
        self._directory.close()
