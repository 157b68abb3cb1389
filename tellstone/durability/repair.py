"""Keep what is whole in a directory, and set everything else aside (durability.aside), in damaged-TIME."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tellstone._core.store.keyspace import Store
from tellstone._core.store.recovery import RecoveryJob
from tellstone.durability.aside import replace_by
from tellstone.durability.check import Report
from tellstone.durability.directory import Directory
from tellstone.durability.past import Watch


@dataclass(frozen=True)
class Repaired:
    """What a repair has done."""

    keys: int  # that were kept
    aside: Path  # where the files are that were there before


def repair(directory: Directory, report: Report, watch: Watch | None = None) -> Repaired:
    """Do it, when a check has found damage. Raises StartError."""
    store = Store(max(report.shards, 1))
    job = RecoveryJob(store, directory.path, mode="salvage")
    if watch is not None:
        watch(job)
    job.run()
    return Repaired(*replace_by(directory, store, "damaged"))
