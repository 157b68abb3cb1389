"""The README's table: made of a comparison's results, and put between two marks."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.cases import TABLE
from benchmarks.servers import ROOT

README = ROOT / "README.md"
BEGIN = "<!-- benchmarks.compare: begin -->"
END = "<!-- benchmarks.compare: end -->"
WIDTH = 120


def cell(costs: dict[str, Any], name: str, *, to_floor: bool) -> str:
    """What a request costs one server, in multiples of the floor or in nanoseconds."""
    if name not in costs:
        return ""
    if name == "floor":
        return f"{costs[name]['cpu_ns']:,.0f} ns"
    if not to_floor:
        return f"{costs[name]['cpu_ns']:,.0f}"
    return f"{costs[name]['cpu_ns'] / costs['floor']['cpu_ns']:.2f}" if "floor" in costs else ""


def row(words: Sequence[str]) -> str:
    return f"| {' | '.join(words)} |"


def markdown(results: dict[str, Any]) -> str:
    """What stands between the marks. Raises ValueError if none of the table's loads was measured."""
    measured = {case["name"]: case for case in results["cases"]}
    rows = {label: measured[case.name] for label, case in TABLE.items() if case.name in measured}
    if not rows:
        raise ValueError("none of the table's loads was measured: --only table")
    servers = results["servers"]
    to_floor = "floor" in servers
    keys = min(case["keys"] for case in rows.values())
    machine = results["machine"]
    cores = "one core" if machine["server_cores"] == 1 else f"{machine['server_cores']} cores"
    unit = "in multiples of the floor" if to_floor else "in nanoseconds"
    text = (
        f"CPU time of a request, the system's part included, {unit}. Values have 256 bytes, there are {keys:,} keys, "
        f"and servers have {cores} of an {machine['processor']} ({machine['system']}). Less is better."
    )
    lines = [
        *textwrap.wrap(text, WIDTH),
        "",
        row(["load", *(titled(server) for server in servers.values())]),
        row(["---", *["---:"] * len(servers)]),
    ]
    for label, case in rows.items():
        lines.append(row([label, *(cell(case["costs"], name, to_floor=to_floor) for name in servers)]))
    if to_floor:
        lines += ["", "The floor is an epoll loop that walks the requests and writes fixed replies, without a store."]
    return "\n".join([*lines, "", f"Measured by `{results['command']}`."])


def titled(server: dict[str, str]) -> str:
    """A server's name with the version of somebody else's."""
    return f"{server['title']} {server['version']}".strip()


def put(text: str, document: str) -> str:
    """The document with this text between its marks. Raises ValueError without marks."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"there is no {BEGIN} with {END} behind it")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def write(results: dict[str, Any], readme: Path = README) -> None:
    """Renew the table in the README."""
    readme.write_text(put(markdown(results), readme.read_text()))
