"""The README's table of costs: where it stands, and what it is made of."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.cases import TABLE, chosen
from benchmarks.setting import command_line
from benchmarks.table import BEGIN, END, README, markdown, put


def results(**costs: float) -> dict[str, Any]:
    """Of one load of the table, by servers' names."""
    case = next(iter(TABLE.values()))
    return {
        "command": "python -m benchmarks.compare --only table",
        "machine": {"processor": "Abacus", "system": "Linux 6.1", "server_cores": 1},
        "servers": {name: {"title": name.capitalize(), "version": "7.0" if name == "redis" else ""} for name in costs},
        "cases": [case.as_dict() | {"keys": 1000, "costs": {name: {"cpu_ns": ns} for name, ns in costs.items()}}],
    }


def test_the_readme_has_one_place_for_it() -> None:
    document = README.read_text()
    assert document.count(BEGIN) == document.count(END) == 1
    assert document.index(BEGIN) < document.index(END)


def test_the_readme_tells_every_load_and_the_command() -> None:
    table = README.read_text().partition(BEGIN)[2].partition(END)[0]
    assert [label for label in TABLE if f"| {label} |" not in table] == []
    assert "Measured by `python -m benchmarks.compare" in table


def test_costs_are_multiples_of_the_floor() -> None:
    text = markdown(results(floor=500.0, tellstone=525.0, redis=1250.0)).replace("\n", " ")
    assert "| load | Floor | Tellstone | Redis 7.0 |" in text
    assert f"| {next(iter(TABLE))} | 500 ns | 1.05 | 2.50 |" in text
    assert "1,000 keys" in text and "one core of an Abacus" in text


def test_costs_are_nanoseconds_without_a_floor() -> None:
    text = markdown(results(tellstone=525.0, redis=1250.0))
    assert f"| {next(iter(TABLE))} | 525 | 1,250 |" in text
    assert "floor" not in text


def test_a_table_needs_one_of_its_loads() -> None:
    with pytest.raises(ValueError, match="--only table"):
        markdown(results(tellstone=525.0) | {"cases": []})


def test_only_what_is_between_the_marks_changes() -> None:
    before = f"# Title\n{BEGIN}\nold\n{END}\nrest\n"
    after = put("new", before)
    assert after == f"# Title\n{BEGIN}\n\nnew\n\n{END}\nrest\n"
    assert put("new", after) == after
    for broken in ("", BEGIN, f"{END}\n{BEGIN}"):
        with pytest.raises(ValueError, match="benchmarks"):
            put("new", broken)


def test_cases_are_chosen_by_name() -> None:
    assert [case.name for case in chosen(["mix-c50-p10-v16"])] == ["mix-c50-p10-v16"]
    assert set(chosen(["table"])) == set(TABLE.values())
    assert set(chosen(["get-*", "table"])) < set(chosen([]))
    with pytest.raises(ValueError, match="nothing-like-it"):
        chosen(["nothing-like-it"])


def test_a_command_line_names_no_place() -> None:
    words = ["--only", "get *", "--json", "/a/b.json", "--program", "redis=/c/redis-server", "--plot=/d.png", "--quick"]
    wanted = "python -m benchmarks.compare --only 'get *' --program redis=redis-server --quick"
    assert command_line("compare", words) == wanted
