"""SHUTDOWN."""

from __future__ import annotations

from tellstone.control.context import Call, Context
from tellstone.control.encode import NOTHING, Reply, text
from tellstone.errors import ResponseError
from tellstone.log import log


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
