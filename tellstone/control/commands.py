"""COMMAND, over the command table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TypedDict, cast

from tellstone._core.command.table import rows
from tellstone.control.context import Call, Context
from tellstone.control.encode import Group, Reply, Simple, keyword, text
from tellstone.control.facts import (
    DEPRECATED,
    FOR_SERVERS,
    HISTORY,
    KEY_ACCESS,
    KEY_NOTES,
    TIPS,
    UNKNOWN_KEYS,
    key_access,
    stored_key,
)
from tellstone.control.glob import matches
from tellstone.control.help import help_reply
from tellstone.control.syntax import Argument, arguments_of
from tellstone.errors import ResponseError


class CommandRow(TypedDict):
    """A row of the command table."""

    id: int
    full_name: str
    arity: int
    flags: list[str]
    first_key: int
    last_key: int
    key_step: int
    control: bool
    categories: list[str]
    group: str
    since: str
    complexity: str
    summary: str
    subcommands: list[str]


BY_NAME = {row["full_name"]: cast(CommandRow, row) for row in rows()}
TOP = [row for row in BY_NAME.values() if "|" not in row["full_name"]]

HIDDEN_FLAGS = ("may_replicate",)
# Redis's order.
CATEGORIES = (
    *("keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo"),
    *("stream", "pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting"),
)


def subcommands(row: CommandRow) -> list[CommandRow]:
    """The rows of a container's subcommands."""
    return [BY_NAME[name] for name in row["subcommands"]]


def info_of(row: CommandRow | None) -> Reply:
    """A command's ten facts, as COMMAND INFO answers them; None for an unknown one."""
    if row is None:
        return None
    return [
        row["full_name"],
        row["arity"],
        Group(Simple(flag) for flag in row["flags"] if flag not in HIDDEN_FLAGS),
        row["first_key"],
        row["last_key"],
        row["key_step"],
        Group(Simple(f"@{name}") for name in sorted(row["categories"], key=CATEGORIES.index)),
        Group(TIPS.get(row["full_name"], ())),
        Group(key_specs(row)),
        [info_of(sub) for sub in subcommands(row)] or Group(),
    ]


def simples(words: str) -> Group:
    """Words as Redis lists flags."""
    return Group(map(Simple, words.split()))


def key_specs(row: CommandRow) -> Iterator[Reply]:
    """Where a command's keys are, and what it does to them: ranges of one, and the last takes the rest."""
    first, last, name = row["first_key"], row["last_key"], row["full_name"]
    if not first:
        return
    access = KEY_ACCESS[name]
    for offset, words in enumerate(access):
        note: dict[str, Reply] = {"notes": KEY_NOTES[name]} if name in KEY_NOTES else {}
        rest = last if last < 0 else last - first - offset
        span = rest if offset == len(access) - 1 else 0
        yield {
            **note,
            "flags": simples(words),
            "begin_search": {"type": "index", "spec": {"index": first + offset}},
            "find_keys": {"type": "range", "spec": {"lastkey": span, "keystep": row["key_step"], "limit": 0}},
        }
    for why, words in UNKNOWN_KEYS.get(name, ()):
        unknown: Reply = {"type": "unknown", "spec": {}}
        yield {"notes": why, "flags": simples(words), "begin_search": unknown, "find_keys": unknown}


def argument_docs(argument: Argument) -> Reply:
    """What COMMAND DOCS answers about an argument."""
    docs: dict[str, Reply] = {"name": argument.name, "type": argument.type}
    if not argument.parts:
        docs["display_text"] = argument.shown or argument.name
    if argument.key_spec >= 0:
        docs["key_spec_index"] = argument.key_spec
    named = {"token": argument.token, "since": argument.since, "deprecated_since": argument.deprecated}
    docs |= {name: value for name, value in named.items() if value}
    if argument.flags:
        docs["flags"] = Group(map(Simple, argument.flags))
    if argument.parts:
        docs["arguments"] = [argument_docs(part) for part in argument.parts]
    return docs


def docs_of(row: CommandRow) -> Reply:
    """What COMMAND DOCS answers about a command."""
    name = row["full_name"]
    docs: dict[str, Reply] = {
        "summary": row["summary"],
        "since": row["since"],
        "group": row["group"],
        "complexity": row["complexity"],
    }
    if name in FOR_SERVERS:
        docs["doc_flags"] = simples("syscmd")
    if name in DEPRECATED:
        docs["doc_flags"] = simples("deprecated")
        docs["deprecated_since"], docs["replaced_by"] = DEPRECATED[name]
    if name in HISTORY:
        docs["history"] = Group(HISTORY[name])
    if arguments_of(name):
        docs["arguments"] = [argument_docs(argument) for argument in arguments_of(name)]
    if row["subcommands"]:
        docs["subcommands"] = {sub["full_name"]: docs_of(sub) for sub in subcommands(row)}
    return docs


def named(arguments: Sequence[bytes]) -> list[CommandRow | None]:
    """The rows of some names, "config|get" among them."""
    return [BY_NAME.get(text(name.lower())) for name in arguments]


# COMMAND
def command(context: Context, call: Call) -> Reply:
    """Facts about all commands."""
    del context, call
    return [info_of(row) for row in TOP]


# COMMAND COUNT
def command_count(context: Context, call: Call) -> Reply:
    """How many commands there are, subcommands not counted."""
    del context, call
    return len(TOP)


# COMMAND INFO [command-name [command-name ...]]
def command_info(context: Context, call: Call) -> Reply:
    """Facts about some commands, or about all."""
    del context
    return [info_of(row) for row in (named(call.args[2:]) or TOP)]


# COMMAND DOCS [command-name [command-name ...]]
def command_docs(context: Context, call: Call) -> Reply:
    """The documentation of some commands, or of all; unknown ones are left out."""
    del context
    return {row["full_name"]: docs_of(row) for row in (named(call.args[2:]) or TOP) if row}


# COMMAND LIST [FILTERBY MODULE module-name|ACLCAT category|PATTERN pattern]
def command_list(context: Context, call: Call) -> Reply:
    """The names of commands and subcommands."""
    del context
    options = call.args[2:]
    if not options:
        return list(BY_NAME)
    if len(options) != 3 or keyword(options[0]) != b"filterby":
        raise ResponseError("ERR syntax error")
    kind, wanted = keyword(options[1]), options[2]
    if kind == b"module":
        return []
    if kind == b"aclcat":
        return [name for name, row in BY_NAME.items() if text(keyword(wanted)) in row["categories"]]
    if kind == b"pattern":
        return [name for name in BY_NAME if matches(text(wanted), name)]
    raise ResponseError("ERR syntax error")


def row_of(request: Sequence[bytes]) -> CommandRow | None:
    """The command that a request is for; a subcommand is named by two words."""
    name = text(request[0].lower())
    row = BY_NAME.get(name) if "|" not in name else None
    if row and row["subcommands"] and len(request) > 1:
        return BY_NAME.get(f"{name}|{text(request[1].lower())}")
    return row


def keys_of(request: Sequence[bytes]) -> tuple[CommandRow, list[bytes]]:
    """The command and the keys of a request."""
    row = row_of(request)
    if row is None:
        raise ResponseError("ERR Invalid command specified")
    if not row["first_key"]:
        raise ResponseError("ERR The command has no key arguments")
    arity = row["arity"]
    if len(request) != arity if arity > 0 else len(request) < -arity:
        raise ResponseError("ERR Invalid number of arguments specified for command")
    last = row["last_key"] if row["last_key"] >= 0 else len(request) + row["last_key"]
    keys = list(request[row["first_key"] : last + 1 : row["key_step"]])
    target = stored_key(request) if row["full_name"] == "sort" else None
    return row, keys if target is None else [*keys, target]


# COMMAND GETKEYS command [arg [arg ...]]
def command_getkeys(context: Context, call: Call) -> Reply:
    """The keys of a request."""
    del context
    return keys_of(call.args[2:])[1]


# COMMAND GETKEYSANDFLAGS command [arg [arg ...]]
def command_getkeysandflags(context: Context, call: Call) -> Reply:
    """The keys of a request, and what it does to each."""
    del context
    row, keys = keys_of(call.args[2:])
    access = key_access(row["full_name"], list(call.args[2:]))
    return [[key, simples(words)] for key, words in zip_longest(keys, access, fillvalue=access[-1])]


# COMMAND HELP
def command_help(context: Context, call: Call) -> Reply:
    """What COMMAND can do."""
    del context
    absent = ["If no command names are given, documentation details for all", "commands are returned."]
    return help_reply(
        call,
        {
            "(no subcommand)": ["Return details about all Redis commands."],
            "COUNT": ["Return the total number of commands in this Redis server."],
            "LIST": ["Return a list of all commands in this Redis server."],
            "INFO [<command-name> ...]": ["Return details about multiple Redis commands.", *absent],
            "DOCS [<command-name> ...]": ["Return documentation details about multiple Redis commands.", *absent],
            "GETKEYS <full-command>": ["Return the keys from a full Redis command."],
            "GETKEYSANDFLAGS <full-command>": ["Return the keys and the access flags from a full Redis command."],
        },
    )
