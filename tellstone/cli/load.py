"""`tellstone load FILE`: what `tellstone dump` has written, into a running server."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import BufferedReader
from typing import Any, BinaryIO

from tellstone.cli.tools import ASKED, Bar, read_words
from tellstone.config import RESP_ADDRESS
from tellstone.durability.entries import FormatError, commands_in, form_of
from tellstone.durability.load import Loaded, send
from tellstone.errors import OptionError, StartError
from tellstone.units import Address, Choice, Endpoint, Kind

USAGE = f"""\
Usage: tellstone load FILE [--addr ADDRESS] [--format resp|json|csv]

Sends the file's keys to a running server. Keys of the same names are replaced, keys whose time has passed are left out.
FILE is - for standard input.

  --addr ADDRESS  where the server serves Redis clients: host:port or unix:/path [{RESP_ADDRESS}]
  --format WORD   what `tellstone dump` was told [by the file's first byte]

Exit status: 0 if all was loaded, 1 if something was refused or the server cannot be reached, 2 if the command line
cannot be understood.
"""
ADDRESS, FORMAT = "--addr", "--format"
KINDS: dict[str, Kind[Any]] = {ADDRESS: Endpoint(), FORMAT: Choice(("resp", "json", "csv"))}


def load(words: Sequence[str]) -> int:
    """Run it and answer the exit status. Raises OptionError and StartError."""
    if any(word in ASKED for word in words):
        print(USAGE, end="")
        return 0
    name, options = read_words(words, "the file", KINDS)
    try:
        with sys.stdin.buffer if name == "-" else open(name, "rb") as file:
            loaded = send_file(file, options.get(ADDRESS, RESP_ADDRESS), options.get(FORMAT, ""))
    except OSError as error:
        raise OptionError(f"{name}: {error.strerror}") from None
    except FormatError as error:
        raise StartError(f"{name}: {error}") from None
    return show(loaded)


def send_file(file: BinaryIO, address: Address, form: str) -> Loaded:
    """All of a file, with a bar where its size is known."""
    bar = Bar("loading")
    size = os.fstat(file.fileno()).st_size
    beginning = file.peek(64) if isinstance(file, BufferedReader) else b""

    def seen(loaded: Loaded) -> None:
        bar.show(file.tell() if size else 0, size, f"{loaded.commands:,} commands")

    try:
        return send(commands_in(file, form or form_of(beginning)), address, seen)
    finally:
        bar.clear()


def show(loaded: Loaded) -> int:
    """What has come of it, and the exit status."""
    for error in loaded.errors:
        print(f"refused: {error}", file=sys.stderr)
    over = f", {loaded.expired} keys had expired" if loaded.expired else ""
    print(f"{loaded.commands - loaded.refused} commands done, {loaded.refused} refused{over}")
    return 1 if loaded.refused else 0
