"""What a get costs in this process: the engine beside a dict and what one would use instead of it.

    python benchmarks/engine_get.py [--keys N ...]

Keys and values are 16 bytes, and keys are looked up in random order. Contenders take turns, each with other keys, so
that none finds in the cache what the one before it has brought there; the median of a contender's best quarter counts,
so that what else goes on in the machine does not. Figures are nanoseconds a look-up, the loop's own time taken off,
and, in brackets, how many times that of `d[k]`.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from tellstone import Engine

Key = bytes
Run = Callable[[Sequence[Key]], object]
LOOKUPS = 2000  # of a run
SECONDS = 3.0  # for each number of keys


def nothing(keys: Sequence[Key]) -> None:
    for key in keys:
        key  # noqa: B018


def item_of(mapping: Any) -> Run:
    def run(keys: Sequence[Key]) -> None:
        for key in keys:
            mapping[key]

    return run


def get_of(mapping: Any) -> Run:
    def run(keys: Sequence[Key]) -> None:
        for key in keys:
            mapping.get(key)

    return run


def locked_get_of(mapping: Any) -> Run:
    """What is not safe to use from several threads needs a lock there."""
    lock = threading.Lock()

    def run(keys: Sequence[Key]) -> None:
        for key in keys:
            with lock:
                mapping.get(key)

    return run


def contenders(items: dict[Key, bytes]) -> dict[str, Run]:
    engine = Engine()
    engine.set_many(items.items())
    limited = Engine()
    limited.set_many(items.items(), ttl=3600)
    runs = {
        "d[k]": item_of(items),
        "d.get(k)": get_of(items),
        "dict with a lock": locked_get_of(items),
        "Engine: e[k]": item_of(engine),
        "Engine: e.get(k)": get_of(engine),
        "Engine: e.get(k), with a ttl": get_of(limited),
        "Engine: e.get_many(keys)": engine.get_many,
        "Engine: e.execute('GET', k)": lambda keys: [engine.execute("GET", key) for key in keys],
    }
    try:
        cachetools = importlib.import_module("cachetools")
    except ImportError:
        return runs
    cache = cachetools.TTLCache(len(items), 3600)
    cache.update(items)
    return runs | {"cachetools.TTLCache": get_of(cache), "cachetools.TTLCache with a lock": locked_get_of(cache)}


def measure(runs: dict[str, Run], keys: Sequence[Key]) -> dict[str, float]:
    """Nanoseconds a look-up."""
    took: dict[str, list[float]] = {name: [] for name in runs}
    starts = itertools.cycle(range(0, len(keys), LOOKUPS))
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for name, run in runs.items():
            start = next(starts)
            some = keys[start : start + LOOKUPS]
            begun = time.perf_counter_ns()
            run(some)
            took[name].append((time.perf_counter_ns() - begun) / len(some))
    return {name: sorted(times)[len(times) // 8] for name, times in took.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, nargs="+", default=[1, 100, 10_000, 100_000, 1_000_000])
    for count in parser.parse_args().keys:
        items = {b"key:%012d" % n: os.urandom(16) for n in range(count)}
        keys = list(items) * (LOOKUPS // count or 1)
        random.Random(1).shuffle(keys)
        best = measure({"": nothing, **contenders(items)}, keys)
        loop = best.pop("")
        print(f"{count} keys")
        for name, took in best.items():
            print(f"  {name:32} {took - loop:8.1f}  ({(took - loop) / (best['d[k]'] - loop):.2f})")


if __name__ == "__main__":
    main()
