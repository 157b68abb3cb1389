"""The text of `tellstone --help`, made from the option table."""

from __future__ import annotations

from itertools import groupby

from tellstone.config import OPTIONS, Option

HEAD = """\
Tellstone, an in-memory key/value store for Redis clients and Python programs.

Usage: tellstone [serve] [options]
       tellstone bench [options]        put a load on a server
       tellstone check DIR              verify a directory of data
       tellstone repair DIR             keep what is whole in it, set the rest aside
       tellstone restore DIR [options]  bring back the state that it had at a moment
       tellstone dump DIR [options]     its keys as text
       tellstone load FILE [options]    such text into a running server

`tellstone COMMAND --help` tells more of a command; the options here are those of the server.
"""
FOOT = """\
  --version                   Print the version and exit
  -h, --help                  Print this text and exit

In brackets: the default, and the environment variable that can be set instead. A flag wins over its variable.
Sizes are written as 64KiB, 16MiB or 1GiB, durations as 500ms, 10s or 1h30m.
"""


def option_line(option: Option) -> str:
    """The flag, what it means, its default and its variable."""
    flag = f"{option.flag} {option.row.kind.metavar}"
    meaning = option.row.help.replace("`", "")
    return f"  {flag:<27} {meaning} [{option.shown_default}, {option.env}]\n"


def usage() -> str:
    """The whole text."""
    text = HEAD
    for group, options in groupby((option for option in OPTIONS if option.flag), key=lambda option: option.row.group):
        text += f"\n{group}\n" + "".join(map(option_line, options))
    return f"{text}{FOOT}"
