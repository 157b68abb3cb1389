"""`tellstone repair DIR`: keep what is whole in a directory of data, and set the rest aside."""

from __future__ import annotations

from collections.abc import Sequence

from tellstone.cli.check import show
from tellstone.cli.tools import ASKED, data_directory, read_words, watching
from tellstone.durability.check import check
from tellstone.durability.directory import Directory
from tellstone.durability.repair import repair as repair_directory

USAGE = """\
Usage: tellstone repair DIR

Loads all that is whole, writes it as a new snapshot, and moves every file that was there before to DIR/damaged-TIME:
nothing is deleted. Changes of several shards of which a part is damaged are left out as a whole where that can be told.
A directory without damage is left as it is.

Exit status: 0 if the directory is whole now, 1 if it cannot be repaired, 2 if the command line cannot be understood.
"""


def repair(words: Sequence[str]) -> int:
    """Run it and answer the exit status. Raises OptionError and StartError."""
    if any(word in ASKED for word in words):
        print(USAGE, end="")
        return 0
    name, _ = read_words(words, "the directory", {})
    with Directory(data_directory(name)) as directory:
        with watching("checking") as watch:
            report = check(directory.path, watch)
        show(name, report)
        if report.whole:
            return 0
        with watching("loading") as watch:
            repaired = repair_directory(directory, report, watch)
    print(f"kept {repaired.keys} keys; all files that were there before are in {repaired.aside}")
    return 0
