"""What an option stands for that is left to the program."""

from __future__ import annotations

import os

THREADS_MAX = 16
SHARDS_MIN, SHARDS_MAX = 8, 1024
SHARDS_A_THREAD = 4


def usable_cpus() -> int:
    """How many CPUs this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def automatic_threads() -> int:
    """A thread for each usable CPU, within reason."""
    return min(usable_cpus(), THREADS_MAX)


def automatic_shards(threads: int) -> int:
    """Enough that threads seldom meet in one, and a power of two."""
    wanted = 1 << (SHARDS_A_THREAD * threads - 1).bit_length()
    return min(max(wanted, SHARDS_MIN), SHARDS_MAX)
