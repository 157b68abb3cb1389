"""`tellstone bench`: a load on a server, and what came of it on standard output."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from tellstone.bench.options import parse, usage

ASKED = ("-h", "--help")


def bench(words: Sequence[str]) -> int:
    """Run a load and answer the exit status. Raises OptionError and StartError."""
    if any(word in ASKED for word in words):
        print(usage(), end="")
        return 0
    options = parse(words)
    from tellstone.bench.run import run  # the compiled modules are not needed for the rest

    report = run(options)
    sys.stdout.write(report.json() if options.json else report.text())
    if report.interrupted:
        return 128 + signal.SIGINT
    return 0 if report.good else 1
