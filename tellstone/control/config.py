"""CONFIG, over the option table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tellstone.config import BY_CONFIG, FACTS, Fact, Option, config_value
from tellstone.control.commands import BY_NAME
from tellstone.control.context import Call, Context
from tellstone.control.encode import OK, Reply, text, word
from tellstone.control.glob import is_pattern, matches
from tellstone.control.help import help_reply
from tellstone.errors import OptionError, ResponseError
from tellstone.log import fields, log

NAMES: dict[str, Option | Fact] = {**FACTS, **BY_CONFIG}


# CONFIG GET <pattern> [<pattern> ...]
def config_get(context: Context, call: Call) -> Reply:
    """The options that the patterns name, as a map. A plain name comes back as it was written."""
    found: dict[str, str] = {}
    for argument in call.args[2:]:
        if is_pattern(pattern := word(argument)):
            names = {name: name for name in sorted(NAMES) if matches(pattern, name)}
        else:
            names = {name: pattern for name in [text(argument.lower())] if name in NAMES}
        for key, name in names.items():
            found.setdefault(key, name)
    return {name: config_value(NAMES[key], context.options) for key, name in found.items()}


def refused(name: str, why: str) -> ResponseError:
    """Redis's error of a CONFIG SET that changes nothing."""
    return ResponseError(f"ERR CONFIG SET failed (possibly related to argument '{name}') - {why}")


@dataclass(frozen=True)
class Change:
    """A name and a value of CONFIG SET, not understood yet."""

    name: str
    entry: Option | Fact
    value: str

    def refuse(self, why: str) -> ResponseError:
        """The error for what is wrong with the name."""
        return refused(self.name, why)

    def refuse_value(self, why: str) -> ResponseError:
        """The error for what is wrong with the value: Redis has found the option by then, and writes its name."""
        return refused(self.name.lower(), why)

    @property
    def fixed(self) -> bool:
        """Whether Redis has it immutable too."""
        return isinstance(self.entry, Fact) and not self.entry.lenient


# CONFIG SET <name> <value> [<name> <value> ...]
def config_set(context: Context, call: Call) -> Reply:
    """Change options: all of them or none."""
    changes = read_changes(context, call.args[2:])
    values: dict[str, Any] = {}
    for change in changes:
        values |= new_value(context, change)
    try:
        context.configure(values)
    except ValueError as error:
        raise changes[0].refuse_value(str(error)) from None
    return OK


def read_changes(context: Context, arguments: Sequence[bytes]) -> list[Change]:
    """The pairs of CONFIG SET. ORDER: what is wrong with a name comes before any value is looked at, as in Redis."""
    if len(arguments) % 2:
        raise ResponseError("ERR syntax error")
    changes: list[Change] = []
    for name, value in zip(arguments[::2], arguments[1::2], strict=True):
        entry = NAMES.get(text(name.lower()))
        if entry is None:
            raise ResponseError(f"ERR Unknown option or number of arguments for CONFIG SET - '{word(name)}'")
        change = Change(text(name), entry, text(value))
        if change.fixed or (isinstance(change.entry, Option) and change.entry.row.part not in context.parts):
            raise change.refuse("can't set immutable config")
        if any(change.entry is earlier.entry for earlier in changes):
            raise change.refuse("duplicate parameter")
        changes.append(change)
    return changes


def new_value(context: Context, change: Change) -> dict[str, Any]:
    """What a change sets, by option; nothing for a fact that is set to what it is."""
    entry = change.entry
    if isinstance(entry, Fact):
        current = config_value(entry, context.options)
        if change.value.lower() != current.lower():
            raise change.refuse_value(f"argument must be '{current}'")
        return {}
    try:
        return {entry.name: entry.row.kind.config_parse(change.value, getattr(context.options, entry.name))}
    except ValueError as error:
        raise change.refuse_value(str(error)) from None


# CONFIG RESETSTAT
def config_resetstat(context: Context, call: Call) -> Reply:
    """Set the counters of INFO to zero."""
    context.reset_counters(BY_NAME[call.name]["id"])
    return OK


# CONFIG REWRITE
def config_rewrite(context: Context, call: Call) -> Reply:
    """Write the options as they are into the configuration file."""
    del call
    path = context.options.config
    if not path:
        raise ResponseError("ERR The server is running without a config file")
    from tellstone import configfile

    try:
        configfile.rewrite(path, context.lasting_options())
    except (OSError, OptionError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        log.warning("the configuration file cannot be written", extra=fields(path=path, error=why))
        raise ResponseError(f"ERR Rewriting config file: {why}") from None
    log.info("the configuration file has been written", extra=fields(path=path))
    return OK


# CONFIG HELP
def config_help(context: Context, call: Call) -> Reply:
    """What CONFIG can do."""
    del context
    return help_reply(
        call,
        {
            "GET <pattern>": ["Return parameters matching the glob-like <pattern> and their values."],
            "SET <directive> <value>": ["Set the configuration <directive> to <value>."],
            "RESETSTAT": ["Reset statistics reported by the INFO command."],
            "REWRITE": ["Rewrite the configuration file."],
        },
    )
