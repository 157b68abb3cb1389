"""The replies of HELP subcommands, in Redis's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tellstone.control.context import Call
from tellstone.control.encode import Reply, Simple, text, word
from tellstone.errors import ResponseError


def help_reply(call: Call, lines: Mapping[str, Sequence[str]]) -> Reply:
    """A line for each subcommand, its explanation indented below."""
    name = text(call.args[0]).upper()
    reply = [f"{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"]
    for syntax, explanation in {**lines, "HELP": ["Print this help."]}.items():
        reply.append(syntax)
        reply += [f"    {line}" for line in explanation]
    return [Simple(line) for line in reply]


def unknown_subcommand(call: Call) -> ResponseError:
    """The error for what a command without rows for its subcommands does not know."""
    name, subcommand = text(call.args[0]).upper(), word(call.args[1][:128])
    return ResponseError(f"ERR unknown subcommand or wrong number of arguments for '{subcommand}'. Try {name} HELP.")
