"""What the write-ahead log costs: a record in its buffer, and a commit on this disk.

    python benchmarks/log_append.py [--directory DIR] [--commits N]

Appending is a PUT of a key of 16 bytes with a value of 64, checksum included, in C. A commit writes and syncs one such
record in each of so many shards; beside it stands what one sync of one file costs here, written to where it has been
written before.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tellstone._core.store.appender import Appender

KEY, VALUE = b"k" * 16, b"v" * 64


def median_us(step: Callable[[], object], count: int) -> float:
    took = []
    for _ in range(count):
        begun = time.perf_counter_ns()
        step()
        took.append(time.perf_counter_ns() - begun)
    return statistics.median(took) / 1000


def plain_sync(directory: Path, count: int) -> float:
    with open(directory / "plain", "wb+", buffering=0) as file:
        file.write(bytes(1 << 20))
        os.fsync(file.fileno())

        def step() -> None:
            os.pwrite(file.fileno(), VALUE, 0)
            os.fdatasync(file.fileno())

        return median_us(step, count)


def commits(directory: Path, shards: int, count: int) -> float:
    log = Appender(os.fsencode(directory), shards)

    def step() -> None:
        for shard in range(shards):
            log.put(shard, 0, KEY, VALUE)
        if not log.commit():
            raise SystemExit(f"a commit failed: {os.strerror(log.error)}")

    took = median_us(step, count)
    log.close()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--directory", type=Path, help="on the disk to be measured; default: where temporary files go")
    parser.add_argument("--commits", type=int, default=300)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.directory) as scratch:
        directory = Path(scratch)
        log = Appender(os.fsencode(directory))
        print(f"append            {min(log.measure(1_000_000) for _ in range(5)):8.1f} ns")
        log.close()
        print(f"one plain sync    {plain_sync(directory, args.commits):8.1f} us")
        for shards in (1, 2, 4, 8, 16):
            for path in (directory / "logs").iterdir():
                path.unlink()
            print(f"commit, {shards:2} shards {commits(directory, shards, args.commits):8.1f} us")


if __name__ == "__main__":
    main()
