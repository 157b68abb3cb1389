"""Command lines and environments, read into options.

Precedence: flag, variable, configuration file, default. Every complaint is one line that names the flag, the variable
or the file and its entry, what was given and what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

from tellstone.config import BY_ENV, BY_FLAG, Option, Options, from_environment
from tellstone.errors import OptionError
from tellstone.units import Flag, Kind

COMMANDS = ("serve",)
OTHERS = ("bench", "check", "repair", "restore", "dump", "load")  # commands that have options of their own
ASKED = ("--help", "--version")
SHORT = {"-h": "--help"}
KINDS = {flag: option.row.kind for flag, option in BY_FLAG.items()}

T = TypeVar("T")


@dataclass
class Invocation:
    """What a command line asks for. `command` is one of COMMANDS, or what of ASKED came first."""

    command: str = "serve"
    options: Options = field(default_factory=Options)
    given: set[str] = field(default_factory=set)  # names of options that are not left to their default
    warnings: list[str] = field(default_factory=list)


def nearest(word: str, words: Sequence[str]) -> str:
    """A hint at the word that was perhaps meant, or nothing."""
    close = get_close_matches(word, words, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def value_of(kind: Kind[T], source: str, text: str) -> T:
    """The value of a flag's or variable's text."""
    try:
        return kind.parse(text)
    except ValueError:
        raise OptionError(f"{source}: {text!r} is not {kind.allowed}") from None


def take(invocation: Invocation, option: Option, source: str, text: str) -> None:
    """Set an option from a flag's or variable's text."""
    setattr(invocation.options, option.name, value_of(option.row.kind, source, text))
    invocation.given.add(option.name)


def read_environment(invocation: Invocation, environ: Mapping[str, str]) -> None:
    """Take our variables. One that starts like ours and is none may be a slip, or a later version's: a warning."""
    for name, text in from_environment(environ).items():
        take(invocation, BY_ENV[name], name, text)
    for name in sorted(environ):
        if name.startswith("TSD_") and name not in BY_ENV:
            invocation.warnings.append(f"unknown variable {name}{nearest(name, list(BY_ENV))}")


def read_file(invocation: Invocation) -> None:
    """Take what the configuration file says of options that are not given otherwise."""
    from tellstone import configfile  # a server without a file needs no YAML

    for name, value in configfile.read(invocation.options.config).items():
        if name not in invocation.given:
            setattr(invocation.options, name, value)
            invocation.given.add(name)


def flag_text(word: str, rest: Iterator[str], kinds: Mapping[str, Kind[Any]]) -> tuple[str, str]:
    """A flag and its value: the part behind "=", else the next word. Yes-or-no flags need no value."""
    flag, given, text = word.partition("=")
    kind = kinds.get(flag)
    if kind is None:
        raise OptionError(f"unknown option {flag}{nearest(flag, [*kinds, *ASKED])}")
    if not given:
        text = "true" if isinstance(kind, Flag) else next(rest, "")
        if not text or text.startswith("--"):
            raise OptionError(f"{flag} needs a value: {kind.allowed}")
    return flag, text


def parse(words: Sequence[str], environ: Mapping[str, str]) -> Invocation:
    """Read a command line (without the program's name) and an environment. Raises OptionError."""
    invocation = Invocation()
    asked = [SHORT.get(word, word) for word in words if SHORT.get(word, word) in ASKED]
    if asked:
        invocation.command = asked[0]
        return invocation
    read_environment(invocation, environ)
    rest = iter(words)
    commands: list[str] = []
    for word in rest:
        if word.startswith("-"):
            flag, text = flag_text(word, rest, KINDS)
            take(invocation, BY_FLAG[flag], flag, text)
        elif word in COMMANDS and not commands:
            commands.append(word)
        elif word in OTHERS:
            raise OptionError(f"{word} has to come first")
        elif commands:
            raise OptionError(f"unexpected argument {word!r}")
        else:
            raise OptionError(f"unknown command {word!r}{nearest(word, [*COMMANDS, *OTHERS])}")
    if invocation.options.config:
        read_file(invocation)
    return invocation
