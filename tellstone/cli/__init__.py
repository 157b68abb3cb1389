"""The command line. `tellstone` and `tellstone serve` are the same; the other commands have options of their own.

Exit status: 0 after a graceful stop, 1 if the server cannot start or fails, 2 if the command line or a variable cannot
be understood, 128 and the signal's number if a second signal ended it. An operator's mistake is one line on standard
error, never a traceback.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from tellstone.cli.arguments import OTHERS, Invocation, parse
from tellstone.cli.usage import usage
from tellstone.errors import OptionError, StartError
from tellstone.version import tellstone_version


def main(words: Sequence[str] | None = None) -> int:
    """Run a command line and answer the exit status."""
    words = sys.argv[1:] if words is None else words
    try:
        if words and words[0] in OTHERS:
            command = import_module(f"tellstone.cli.{words[0]}")
            return int(getattr(command, words[0])(words[1:]))
        run(parse(words, os.environ))
    except (OptionError, StartError) as error:
        print(f"tellstone: {error}", file=sys.stderr)
        return 2 if isinstance(error, OptionError) else 1
    except KeyboardInterrupt:  # before the server has taken its signals
        return 128 + signal.SIGINT
    return 0


def run(invocation: Invocation) -> None:
    """Do what a command line asks for."""
    if invocation.command == "--help":
        print(usage(), end="")
    elif invocation.command == "--version":
        print(f"tellstone {tellstone_version()}")
    else:
        from tellstone.cli.serve import serve  # the compiled modules are not needed for the others

        serve(invocation)
