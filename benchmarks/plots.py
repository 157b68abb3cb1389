"""Pictures of results, by matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

WIDTH, HEIGHT = 3.6, 3.0  # inches, of one panel
STYLES = ("-", "--", ":", "-.")
MEASURES = {"cpu_ns": "CPU ns a request", "throughput": "requests a second"}
GROUPS_A_ROW = 2

Points = Iterable[tuple[float, float]]


class NoPlotError(RuntimeError):
    """There is no matplotlib."""


def panels(count: int, columns: int) -> tuple[Any, list[Any]]:
    """A figure, and that many panels, row by row."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise NoPlotError("no plot: matplotlib is not installed (pip install -e '.[bench]')") from None
    mpl.use("Agg")
    from matplotlib import pyplot

    rows = -(-count // columns)
    size = (WIDTH * columns, HEIGHT * rows + 0.6)
    figure, axes = pyplot.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for spare in axes.flat[count:]:
        spare.set_visible(False)
    return figure, list(axes.flat[:count])


def draw(panel: Any, points: Points, *, color: int, style: int, label: str) -> None:
    """A line through points, if there are any."""
    if ordered := sorted(points):
        panel.plot(*zip(*ordered, strict=True), STYLES[style % len(STYLES)], marker="o", color=f"C{color}", label=label)


def short(number: int) -> str:
    """1000 as 1k, 20000000 as 20M."""
    for unit, letter in ((10**6, "M"), (10**3, "k")):
        if number >= unit and number % unit == 0:
            return f"{number // unit}{letter}"
    return str(number)


def scale_x(panel: Any, name: str, values: Iterable[int]) -> None:
    """A logarithmic axis with these values on it, and no others."""
    from matplotlib.ticker import NullLocator

    ticks = sorted(set(values))
    panel.set_xscale("log")
    panel.set_xlim(ticks[0] / 1.5, ticks[-1] * 1.5)
    panel.set_xticks(ticks, [short(tick) for tick in ticks])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xlabel(name)


def finish(figure: Any, axes: Iterable[Any], path: Path) -> None:
    """One legend for all panels, and the file."""
    from matplotlib import pyplot

    lines: dict[str, Any] = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            lines.setdefault(label, handle)
        panel.grid(visible=True, which="both", alpha=0.25)
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=4, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def comparison(results: Mapping[str, Any], path: Path) -> None:
    """By the depth of the pipeline: two panels for each mode and number of connections, those of one measure to one
    scale; in them a colour for each server, and a style for each size of values.
    """
    cases = results["cases"]
    groups = sorted({(case["mode"], case["connections"]) for case in cases})
    values = sorted({case["value"] for case in cases})
    depths = [case["pipeline"] for case in cases]
    columns = len(MEASURES) * min(GROUPS_A_ROW, len(groups))
    figure, axes = panels(len(MEASURES) * len(groups), columns)
    pairs = [(group, measure) for group in groups for measure in MEASURES]
    for panel, ((mode, connections), measure) in zip(axes, pairs, strict=True):
        some = [case for case in cases if (case["mode"], case["connections"]) == (mode, connections)]
        for color, (name, server) in enumerate(results["servers"].items()):
            for style, value in enumerate(values):
                there = [case for case in some if case["value"] == value and name in case["costs"]]
                points = [(case["pipeline"], case["costs"][name][measure]) for case in there]
                label = f"{server['title']}, {value} bytes" if len(values) > 1 else server["title"]
                draw(panel, points, color=color, style=style, label=label)
        everything = [cost[measure] for case in cases for cost in case["costs"].values()]
        panel.set(title=f"{mode}, {connections} connections", yscale="log", ylabel=MEASURES[measure])
        panel.set_ylim(min(everything) / 1.5, max(everything) * 1.5)
        scale_x(panel, "pipeline", depths)
    finish(figure, axes, path)


def scaling(results: Mapping[str, Any], path: Path) -> None:
    """By the number of keys, and by that of connections: a colour for each server, a style for each mode."""
    shown = [axis for axis in ("keys", "connections") if results[axis]]
    figure, axes = panels(len(shown), len(shown))
    for panel, axis in zip(axes, shown, strict=True):
        modes = sorted({point["mode"] for point in results[axis]})
        for color, (name, server) in enumerate(results["servers"].items()):
            for style, mode in enumerate(modes):
                there = [point for point in results[axis] if point["mode"] == mode and name in point["costs"]]
                points = [(point[axis], point["costs"][name]["cpu_ns"]) for point in there]
                draw(panel, points, color=color, style=style, label=f"{server['title']}, {mode}")
        panel.set(ylim=(0, None), ylabel=MEASURES["cpu_ns"])
        scale_x(panel, axis, (point[axis] for point in results[axis]))
    finish(figure, axes, path)


def hit_ratios(results: Mapping[str, Any], path: Path) -> None:
    """A panel for each trace, in it a bar for each policy."""
    traces = results["traces"]
    figure, axes = panels(len(traces), 4)
    for panel, trace in zip(axes, traces, strict=True):
        for color, (name, found) in enumerate(trace["policies"].items()):
            panel.bar(color, found["ratio"], color=f"C{color}", label=name)
        scans = ", scans" if trace["scans"] else ""
        panel.set(title=f"Zipf {trace['skew']}{scans}, {trace['room']:.0%}", ylabel="hit ratio", xticks=[])
    finish(figure, axes, path)
