"""Documents that are made from tables of the program: docs/commands.md and docs/differences.md.

`python -m tellstone.docs [directory]` writes them. A test compares what is written with what would be.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from tellstone.control.commands import TOP, CommandRow, subcommands
from tellstone.control.facts import DEPRECATED
from tellstone.control.syntax import usage
from tellstone.differences import CHAPTERS, Difference

DIRECTORY = Path("docs")
GROUPS = {"bitmap": "Bits", "cluster": "Cluster", "connection": "Connection", "generic": "Keys", "server": "Server"}
GENERATED = "This file is made by `python -m tellstone.docs`; what it says stands in tables of the program.\n"
HOW_TO_READ = """\
`[x]` may be left out, `x|y` is one of the two, `...` is once more or several times. "Since" is the version of Redis
that first had a command.
"""


def command_entry(row: CommandRow) -> str:
    """A command's row of the document."""
    name = row["full_name"]
    note = f" Deprecated since {DEPRECATED[name][0]}: {DEPRECATED[name][1]}." if name in DEPRECATED else ""
    syntax = usage(name).replace("|", "\\|")
    return f"| `{syntax}` | {row['summary']}{note} | {row['complexity']} | {row['since']} |\n"


def command_rows(row: CommandRow) -> Iterator[CommandRow]:
    """A command, or the subcommands of one that has some."""
    own = [] if row["subcommands"] and row["full_name"] != "command" else [row]
    yield from [*own, *subcommands(row)]


def commands() -> str:
    """docs/commands.md."""
    parts = [f"# Commands\n\n{GENERATED}\n{HOW_TO_READ}"]
    for group, rows in groupby(sorted(TOP, key=itemgetter("group")), key=itemgetter("group")):
        table = "".join(command_entry(row) for top in sorted(rows, key=itemgetter("name")) for row in command_rows(top))
        title = GROUPS.get(group, f"{group.capitalize()}s")
        parts.append(f"\n## {title}\n\n| Command | What it does | Complexity | Since |\n|---|---|---|---|\n{table}")
    return "".join(parts)


def difference_entry(difference: Difference) -> str:
    """A difference's row of the document."""
    where = ", ".join(f"`{name}`" for name in difference.where)
    return f"| {where} | {difference.redis} | {difference.ours} | {difference.why} |\n"


def differences() -> str:
    """docs/differences.md."""
    parts = [f"# Where Tellstone differs from Redis 7.2\n\n{GENERATED}"]
    for title, table in CHAPTERS.items():
        rows = "".join(map(difference_entry, table))
        parts.append(f"\n## {title}\n\n| Where | Redis | Tellstone | Why |\n|---|---|---|---|\n{rows}")
    return "".join(parts)


DOCUMENTS = {"commands.md": commands, "differences.md": differences}


def main(directory: Path) -> None:
    """Write all documents."""
    directory.mkdir(exist_ok=True)
    for name, text in DOCUMENTS.items():
        (directory / name).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2]) if sys.argv[1:] else DIRECTORY)
