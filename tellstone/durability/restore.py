"""Bring back the state that a directory had at a moment.

The newest base before the moment (durability.past) and its log up to then are loaded and put in the place of what is
there, which moves to replaced-TIME (durability.aside). Where that base or its log is damaged before the moment, an
older one with a longer log serves as well.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tellstone._core.store.keyspace import Store
from tellstone._core.store.recovery import RecoveryJob
from tellstone.durability.aside import replace_by
from tellstone.durability.directory import Directory
from tellstone.durability.moments import show_moment
from tellstone.durability.past import Base, Watch, bases_in, span_of, spans_in
from tellstone.errors import DamageError, StartError


@dataclass(frozen=True)
class Restored:
    """What a restore has done."""

    keys: int
    expired: int  # keys that were there at the moment, and whose time has passed since
    changed_ms: int  # when the last change of the state was written, or the snapshot that it begins with
    aside: Path  # where the files are that were there before


def restore(directory: Directory, at_ms: int, watch: Watch | None = None) -> Restored:
    """Do it. Raises StartError where the moment is not covered, and nothing has changed then."""
    try:
        loaded = load_moment(directory.path, at_ms, watch)
        if loaded is None:
            raise StartError(refusal(directory.path, at_ms, watch))
    except OSError as error:
        raise StartError(f"{error.filename or directory.path}: {error.strerror}") from None
    store, job, base = loaded
    keys, aside = replace_by(directory, store, "replaced")
    return Restored(keys, job.expired, max(job.time_ms, base.from_ms), aside)


def load_moment(path: Path, at_ms: int, watch: Watch | None) -> tuple[Store, RecoveryJob, Base] | None:
    """The state at a moment, and what it was made of; None: the moment is not covered. Raises OSError, StartError."""
    bases = bases_in(path)
    before = [base for base in bases if base.from_ms <= at_ms]
    if not before or at_ms > now_ms():
        return None
    following = next((base for base in bases[bases.index(before[-1]) + 1 :]), None)
    # An older base of the same generation has the same log, and more of it.
    for base in reversed([base for base in before if base.generation == before[-1].generation]):
        with suppress(DamageError):
            if at_ms in span_of(path, base, following, watch):
                return (*load(path, base, at_ms, watch), base)
    return None


def load(path: Path, base: Base, at_ms: int, watch: Watch | None) -> tuple[Store, RecoveryJob]:
    """Base and log into a store of its own. Raises StartError."""
    store = Store(base.shards)
    job = RecoveryJob(store, path, base=(base.generation, base.number), until_ms=at_ms)
    if watch is not None:
        watch(job)
    job.run()
    return store, job


def refusal(path: Path, at_ms: int, watch: Watch | None) -> str:
    """Why a moment cannot be brought back, and which can."""
    why = "is in the future" if at_ms > now_ms() else "is not covered"
    spans = "; ".join(map(str, spans_in(path, watch)))
    return f"{show_moment(at_ms)} {why}: {path} has {spans or 'nothing'}"


def now_ms() -> int:
    """Unix milliseconds."""
    return time.time_ns() // 1_000_000
