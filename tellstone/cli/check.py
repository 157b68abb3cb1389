"""`tellstone check DIR`: verify a directory of data, and name what is damaged."""

from __future__ import annotations

from collections.abc import Sequence

from tellstone.cli.tools import ASKED, data_directory, read_words, watching
from tellstone.durability.check import Report
from tellstone.durability.check import check as check_directory
from tellstone.durability.directory import reading

USAGE = """\
Usage: tellstone check DIR

Reads every snapshot and log of the directory, and names damaged places with their shards and keys. Nothing is changed.
What a crash has cut off at the end of a log before it was safe is reported, and is no damage. No server may be using
the directory meanwhile.

Exit status: 0 if everything is whole, 1 if something is damaged or cannot be read, 2 if the command line cannot be
understood.
"""


def check(words: Sequence[str]) -> int:
    """Run it and answer the exit status. Raises OptionError and StartError."""
    if any(word in ASKED for word in words):
        print(USAGE, end="")
        return 0
    name, _ = read_words(words, "the directory", {})
    directory = data_directory(name)
    with reading(directory), watching("checking") as watch:
        report = check_directory(directory, watch)
    show(name, report)
    return 0 if report.whole else 1


def show(name: str, report: Report) -> None:
    """What was found, a line each, and the verdict."""
    print(f"{name}: {report.snapshots} snapshots, {report.segments} log segments of {report.shards} shards")
    if report.unfinished:
        print(f"unfinished: {report.unfinished} snapshots; a server removes them when it starts")
    for end in report.ends:
        print(f"torn: {end}")
    for fault in report.faults:
        print(f"damaged: {fault}")
    if report.more_faults:
        print(f"damaged: {report.more_faults} more places")
    count = len(report.faults) + report.more_faults
    print("everything is whole" if report.whole else f"{count} damaged; `tellstone repair {name}` keeps what is whole")
