"""`tellstone dump DIR`: the keys of a directory of data, as text."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tellstone._core.store.keyspace import Store
from tellstone._core.store.recovery import RecoveryJob
from tellstone.cli.tools import ASKED, Bar, data_directory, read_words, watching
from tellstone.durability.directory import reading
from tellstone.durability.entries import WRITERS, entries_of
from tellstone.units import Choice

USAGE = """\
Usage: tellstone dump DIR [--format resp|json|csv]

Writes every key with its value and its deadline to standard output, as a start from the directory would have them. No
server may be using the directory meanwhile.

  --format WORD   resp: the commands that make the keys, for `tellstone load` and `redis-cli --pipe` [the default]
                  json: an array, one object a line; what is not UTF-8 stands as {"base64": "..."}
                  csv: columns db, key, type, value, expires_at_ms; what is not UTF-8 stands as \\xff

Exit status: 0 if all was written, 1 if the directory is damaged or cannot be read, 2 if the command line cannot be
understood.
"""
FORMAT = "--format"
KINDS = {FORMAT: Choice(tuple(WRITERS))}
SHOWN_EVERY = 10_000  # keys


def dump(words: Sequence[str]) -> int:
    """Run it and answer the exit status. Raises OptionError and StartError."""
    if any(word in ASKED for word in words):
        print(USAGE, end="")
        return 0
    name, options = read_words(words, "the directory", KINDS)
    directory = data_directory(name)
    store = Store(os.cpu_count() or 1)
    with reading(directory), watching("loading") as watch:
        job = RecoveryJob(store, directory)
        watch(job)
        job.run()
    write(store, options.get(FORMAT, "resp"))
    return 0


def write(store: Store, form: str) -> None:
    """All of a store to standard output."""
    out = sys.stdout.buffer
    bar = Bar("writing")
    written = 0
    used = store.used_memory
    try:
        for number, piece in enumerate(WRITERS[form](entries_of(store))):
            out.write(piece)
            written += len(piece)
            if number % SHOWN_EVERY == 0:
                bar.show(written, max(used, written))
        out.flush()
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        bar.clear()
