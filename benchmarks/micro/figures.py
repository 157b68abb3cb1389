"""What one operation costs, beside the Go original's figure for the same operation on this kind of machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

WANTED = 2.0  # times as fast as the original


@dataclass(frozen=True)
class Figure:
    """Nanoseconds of CPU, or of time where other processes work for the operation."""

    name: str
    median: float
    best: float
    original: float | None = None  # its own benchmark's nanoseconds
    limit: float | None = None  # what we allow ourselves, whatever the original takes

    @property
    def times(self) -> float | None:
        """How many times as fast as the original."""
        return self.original / self.median if self.original else None

    @property
    def falls_short(self) -> bool:
        """Slower than it is meant to be."""
        too_slow = self.times is not None and self.times < WANTED
        return too_slow or (self.limit is not None and self.median > self.limit)


def line(figure: Figure) -> str:
    """A line of the table."""
    original = f"{figure.original:10.1f}" if figure.original else " " * 10
    times = f"{figure.times:8.2f}" if figure.times else " " * 8
    remarks = f"  at most {figure.limit:g}" if figure.limit else ""
    remarks += "  falls short" if figure.falls_short else ""
    return f"{figure.name:44}{figure.median:10.1f}{figure.best:10.1f}{original}{times}{remarks}".rstrip()


def report(figures: Iterable[Figure]) -> str:
    """All figures as a table, and which fall short."""
    figures = list(figures)
    head = f"{'ns an operation':44}{'median':>10}{'best':>10}{'original':>10}{'times':>8}"
    short = [figure.name for figure in figures if figure.falls_short]
    compared = sum(figure.times is not None for figure in figures)
    end = f"{compared} figures beside the original's; "
    end += f"short of {WANTED:g} times, or of a limit: {', '.join(short)}" if short else "none falls short"
    return "\n".join([head, *map(line, figures), "", end])
