"""`tellstone restore DIR --at TIME`: bring back the state that a directory of data had at a moment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tellstone.cli.tools import ASKED, data_directory, read_words, watching
from tellstone.durability.directory import Directory, reading
from tellstone.durability.moments import Moment, show_moment
from tellstone.durability.past import Watch, spans_in
from tellstone.durability.restore import restore as restore_directory
from tellstone.errors import StartError

USAGE = """\
Usage: tellstone restore DIR [--at TIME]

Brings back the newest whole state at or before a moment, from the snapshots and logs that the directory keeps; a server
keeps more of them with --snapshot-keep. Nothing is deleted: the state becomes a new snapshot, and every file that was
there before moves to DIR/replaced-TIME, of which other moments can be brought back in the same way. Without --at it
says which moments are covered, and changes nothing. No server may be using the directory meanwhile.

  --at TIME   2026-01-31T12:00:00Z, with an offset (2026-01-31T13:00:00+01:00), without one in this machine's time, or
              Unix seconds; all may have a fraction

A change counts from when it was written to the log: with --wal-sync always before it is answered, else within a tenth
of a second behind that. Keys expire at the time they were given: what is over by now does not come back.

Exit status: 0 if the directory has that state now, 1 if it cannot be brought back, 2 if the command line cannot be
understood.
"""
AT = "--at"
KINDS = {AT: Moment()}


def restore(words: Sequence[str]) -> int:
    """Run it and answer the exit status. Raises OptionError and StartError."""
    if any(word in ASKED for word in words):
        print(USAGE, end="")
        return 0
    name, options = read_words(words, "the directory", KINDS)
    path = data_directory(name)
    if AT not in options:
        with reading(path), watching("reading") as watch:
            return show(path, watch)
    with Directory(path) as directory, watching("reading") as watch:
        restored = restore_directory(directory, options[AT], watch)
    over = f", {restored.expired} keys had expired since" if restored.expired else ""
    print(f"restored {restored.keys} keys as of {show_moment(restored.changed_ms)}{over}")
    print(f"all files that were there before are in {restored.aside}")
    return 0


def show(path: Path, watch: Watch) -> int:
    """The moments that are covered, a line for each span."""
    try:
        spans = spans_in(path, watch)
    except OSError as error:
        raise StartError(f"{error.filename or path}: {error.strerror}") from None
    for span in spans:
        print(f"covered: {span}")
    if not spans:
        print("nothing is covered")
    return 0
