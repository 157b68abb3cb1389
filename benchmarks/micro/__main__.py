"""Run them all and print the table: python -m benchmarks.micro [--quick] [options of pytest].

    python -m benchmarks.micro -k wheel
    python -m benchmarks.micro --benchmark-json results.json

Times are CPU time of the measuring thread, so that a busy machine shows only through its caches; what waits for a disk
or another process is timed by the clock on the wall.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

QUIET = ["-q", "--no-header", "--benchmark-only", "--benchmark-quiet", "--benchmark-disable-gc"]
QUICK = ["--benchmark-max-time=0.02", "--benchmark-min-rounds=2"]


def main(words: list[str]) -> int:
    options = [QUICK if word == "--quick" else [word] for word in words]
    if any(word in ("-h", "--help") for word in words):
        print(__doc__)
        return 0
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):  # tests may run in several processes: not what measures
        os.environ.pop(name, None)
    return int(pytest.main([str(Path(__file__).parent), *QUIET, *[word for some in options for word in some]]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
