"""SHUTDOWN and DEBUG: commands about the process itself."""

from __future__ import annotations

import re

from tellstone.control.context import Call, Context
from tellstone.control.encode import NOTHING, OK, Reply, text
from tellstone.control.help import help_reply, unknown_subcommand
from tellstone.errors import ResponseError
from tellstone.log import log

SLEEP_MAX = 10**6  # seconds
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)


# SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE] [ABORT]
def shutdown(context: Context, call: Call) -> Reply:
    """Ends the server; the connection closes without a reply. Nothing can be saved yet, so SAVE fails unless forced."""
    words = {text(argument).lower() for argument in call.args[1:]}
    if words - {"nosave", "save", "now", "force", "abort"} or {"nosave", "save"} <= words:
        raise ResponseError("ERR syntax error")
    if "abort" in words:
        if len(words) > 1:
            raise ResponseError("ERR syntax error")
        raise ResponseError("ERR No shutdown in progress.")
    if "save" in words and "force" not in words:
        log.warning("SHUTDOWN SAVE refused: there is no persistence; SHUTDOWN or SHUTDOWN NOSAVE ends the server")
        raise ResponseError("ERR Errors trying to SHUTDOWN. Check logs.")
    context.shut_down(now="now" in words)
    return NOTHING


# DEBUG SLEEP seconds
# DEBUG SET-ACTIVE-EXPIRE 0|1
# DEBUG HELP
async def debug(context: Context, call: Call) -> Reply:
    """Tools for tests. Unlike Redis's, SLEEP stops only the client that asks for it."""
    subcommand = call.args[1].lower()
    if subcommand == b"help" and len(call.args) == 2:
        return debug_help(call)
    if subcommand == b"sleep" and len(call.args) == 3:
        await context.sleep(min(number_before(text(call.args[2])), SLEEP_MAX))
    elif subcommand == b"set-active-expire" and len(call.args) == 3:
        context.store.active_expiry = bool(number_before(text(call.args[2])))
    else:
        raise unknown_subcommand(call)
    return OK


def number_before(word: str) -> float:
    """The number that a text begins with, 0 without one, as C's strtod; negative ones become 0."""
    match = NUMBER.match(word)
    return max(float(match.group()), 0.0) if match else 0.0


def debug_help(call: Call) -> Reply:
    """What DEBUG can do."""
    return help_reply(
        call,
        {
            "SET-ACTIVE-EXPIRE <0|1>": [
                "Setting it to 0 disables expiring keys in background when they are not",
                "accessed (otherwise the Redis behavior). Setting it to 1 reenables back the",
                "default.",
            ],
            "SLEEP <seconds>": ["Stop this client for <seconds>. Decimals allowed."],
        },
    )
