"""A server's store on disk: loaded at the start, looked after while it runs, closed at the end.

The work is that of durability.persistence, in threads; here is when it is done. A snapshot is taken when the log has
grown by
--snapshot-bytes or the last one is --snapshot-interval old. While the disk fails, going on is tried every second.
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


class Keeper:
    """See the module. Takes the directory at once, and raises StartError if it cannot be had."""

    def __init__(self, store: Store, options: Options) -> None:
        self._store = store
        self._options = options
        self._directory = Directory(options.persistence_dir or default_directory())
        options.persistence_dir = str(self._directory.path)
        self.persistence = Persistence(store, self._directory, sync=options.wal_sync)
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

    def set_sync(self) -> None:
        """Take the policy that the options have now."""
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
        limit, interval = self._options.snapshot_bytes, self._options.snapshot_interval
        grown = self.persistence.log.bytes
        if limit and grown >= limit:
            return True
        return bool(interval and grown and time.time() - self.persistence.saves.last_time >= interval / SECOND)

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
