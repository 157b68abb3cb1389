"""SHUTDOWN."""

from __future__ import annotations

from tellstone.control.context import Call, Context
from tellstone.control.encode import NOTHING, Reply, keyword
from tellstone.errors import ResponseError
from tellstone.log import fields, log


async def saved(context: Context) -> bool:
    """Write a snapshot; whether it could be."""
    if context.persistence is None:
        log.warning("SHUTDOWN SAVE refused: there is no persistence; SHUTDOWN or SHUTDOWN NOSAVE ends the server")
        return False
    try:
        return await context.work(context.persistence.save)
    except OSError as error:
        log.error("the snapshot could not be written", extra=fields(reason=error.strerror or str(error)))
        return False


# SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE] [ABORT]
async def shutdown(context: Context, call: Call) -> Reply:
    """Ends the server; the connection closes without a reply. SAVE writes a snapshot before; where it cannot, the
    server goes on unless forced. Without SAVE nothing is lost either: what is kept on disk is there already.
    """
    words = {keyword(argument) for argument in call.args[1:]}
    if words - {b"nosave", b"save", b"now", b"force", b"abort"} or {b"nosave", b"save"} <= words:
        raise ResponseError("ERR syntax error")
    if b"abort" in words:
        if len(words) > 1:
            raise ResponseError("ERR syntax error")
        raise ResponseError("ERR No shutdown in progress.")
    if b"save" in words and not await saved(context) and b"force" not in words:
        raise ResponseError("ERR Errors trying to SHUTDOWN. Check logs.")
    context.shut_down(now=b"now" in words)
    return NOTHING
