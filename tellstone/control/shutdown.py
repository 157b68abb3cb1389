"""SHUTDOWN."""

from __future__ import annotations

from tellstone.control.context import Call, Context
from tellstone.control.encode import NOTHING, Reply, keyword
from tellstone.errors import ResponseError
from tellstone.log import log


# SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE] [ABORT]
def shutdown(context: Context, call: Call) -> Reply:
    """Ends the server; the connection closes without a reply. Nothing can be saved yet, so SAVE fails unless forced."""
    words = {keyword(argument) for argument in call.args[1:]}
    if words - {b"nosave", b"save", b"now", b"force", b"abort"} or {b"nosave", b"save"} <= words:
        raise ResponseError("ERR syntax error")
    if b"abort" in words:
        if len(words) > 1:
            raise ResponseError("ERR syntax error")
        raise ResponseError("ERR No shutdown in progress.")
    if b"save" in words and b"force" not in words:
        log.warning("SHUTDOWN SAVE refused: there is no persistence; SHUTDOWN or SHUTDOWN NOSAVE ends the server")
        raise ResponseError("ERR Errors trying to SHUTDOWN. Check logs.")
    context.shut_down(now=b"now" in words)
    return NOTHING
