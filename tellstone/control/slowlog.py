"""SLOWLOG, over the records of calls."""

from __future__ import annotations

from tellstone.control.context import Call, Context
from tellstone.control.encode import OK, Reply
from tellstone.control.help import help_reply, unknown_subcommand
from tellstone.control.keys import INT64_MAX, integer

COUNT = 10  # without an argument


# SLOWLOG GET [count]
def slowlog_get(context: Context, call: Call) -> Reply:
    """The newest calls: id, Unix time, microseconds, arguments, client address, client name."""
    count = COUNT
    if len(call.args) > 3:
        raise unknown_subcommand(call)
    if len(call.args) == 3:
        count = integer(call.args[2], "count should be greater than or equal to -1", -1, INT64_MAX)
    return context.records.slow_calls(count)


# SLOWLOG LEN
def slowlog_len(context: Context, call: Call) -> Reply:
    """How many calls it holds."""
    del call
    return context.records.slow_count


# SLOWLOG RESET
def slowlog_reset(context: Context, call: Call) -> Reply:
    """Empty it."""
    del call
    context.records.clear_slow()
    return OK


# SLOWLOG HELP
def slowlog_help(context: Context, call: Call) -> Reply:
    """What SLOWLOG can do."""
    del context
    return help_reply(
        call,
        {
            "GET [<count>]": [
                "Return top <count> entries from the slowlog (default: 10, -1 mean all).",
                "Entries are made of:",
                "id, timestamp, time in microseconds, arguments array, client IP and port,",
                "client name",
            ],
            "LEN": ["Return the length of the slowlog."],
            "RESET": ["Reset the slowlog."],
        },
    )
