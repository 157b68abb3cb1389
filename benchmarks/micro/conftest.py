"""Builds the loops, measures with pytest-benchmark, and puts nanoseconds an operation at the end of the run.

`measure` lets a loop run long enough to be timed well, `--benchmark-max-time` seconds for each figure. The rounds of
pytest-benchmark are runs of a loop; what an operation costs is in the summary, and under `extra_info` in
`--benchmark-json`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:  # at its end, so that PYTHONPATH decides which build of the package is measured
    sys.path.append(str(ROOT))

from benchmarks.micro.build import build  # noqa: E402
from benchmarks.micro.figures import Figure, report  # noqa: E402

build()

ROUND = 0.01  # seconds that a run of a loop should take
Run = Callable[[int], object]
Timer = Callable[[], float]
Measure = Callable[..., None]
FIGURES = pytest.StashKey[list[Figure]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FIGURES] = []


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if figures := config.stash[FIGURES]:
        terminalreporter.section("nanoseconds an operation")
        terminalreporter.write_line(report(figures))


def enough(run: Run, timer: Timer) -> int:
    """How many operations take about ROUND seconds."""
    count = 16
    while (took := timed(run, count, timer)) < ROUND / 8:
        count *= 4
    return max(1, round(count * ROUND / took))


def timed(run: Run, count: int, timer: Timer) -> float:
    begun = timer()
    run(count)
    return timer() - begun


@pytest.fixture
def measure(benchmark: Any, request: pytest.FixtureRequest) -> Measure:
    """Measure run(n), with the timer of the test's mark.

    n is chosen if it is not given. `prepare` comes before each run and is not timed. `original`, `limit`: see Figure.
    """
    mark = request.node.get_closest_marker("benchmark")
    timer: Timer = mark.kwargs["timer"] if mark else time.perf_counter
    seconds = float(request.config.getoption("benchmark_max_time"))
    least = int(request.config.getoption("benchmark_min_rounds"))

    def measured(
        name: str,
        run: Run,
        *,
        n: int = 0,
        prepare: Callable[[], None] | None = None,
        original: float | None = None,
        limit: float | None = None,
    ) -> None:
        count = n or enough(run, timer)
        begun = time.perf_counter()
        if prepare is not None:
            prepare()
        run(count)  # warms up, too
        rounds = max(least, int(seconds / (time.perf_counter() - begun)))
        benchmark.pedantic(run, args=(count,), setup=prepare, rounds=rounds)
        if benchmark.stats is None:  # --benchmark-disable: it has run, and nothing else was asked for
            return
        median, best = (seconds / count * 1e9 for seconds in (benchmark.stats.stats.median, benchmark.stats.stats.min))
        request.config.stash[FIGURES].append(Figure(name, median, best, original, limit))
        benchmark.extra_info.update(
            figure=name, operations=count, median_ns=median, best_ns=best, original_ns=original, limit_ns=limit
        )

    return measured
