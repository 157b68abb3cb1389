"""BGSAVE, SAVE, LASTSAVE, BGREWRITEAOF: snapshots on demand.

A snapshot is also what makes a log shorter, so BGREWRITEAOF takes one. Nothing is forked: both kinds of SAVE work in a
thread beside those that serve, and SAVE only makes its own connection wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tellstone.control.context import Call, Context
from tellstone.control.encode import OK, Reply, Simple, text
from tellstone.errors import ResponseError

if TYPE_CHECKING:
    from tellstone.durability.persistence import Persistence


def kept(context: Context) -> Persistence:
    """What keeps the store on disk. Raises ResponseError where nothing does, or a snapshot is being written already."""
    if context.persistence is None:
        raise ResponseError(
            "ERR persistence is off: it takes a server with --enable-persistence, or an engine with a path"
        )
    if context.persistence.saving:
        raise ResponseError("ERR Background save already in progress")
    return context.persistence


# BGSAVE [SCHEDULE]
def bgsave(context: Context, call: Call) -> Reply:
    """SCHEDULE waits for an append-only file's rewriting in Redis; here nothing stands in the way."""
    if len(call.args) > 2 or (len(call.args) == 2 and text(call.args[1]).lower() != "schedule"):
        raise ResponseError("ERR syntax error")
    kept(context)
    context.save_later()
    return Simple("Background saving started")


# BGREWRITEAOF
def bgrewriteaof(context: Context, call: Call) -> Reply:
    """Shortens the log by a snapshot."""
    del call
    kept(context)
    context.save_later()
    return Simple("Background append only file rewriting started")


# SAVE
async def save(context: Context, call: Call) -> Reply:
    """Answers when the snapshot is on disk."""
    del call
    persistence = kept(context)
    try:
        done = await context.work(persistence.save)
    except OSError as error:
        raise ResponseError(f"ERR the snapshot could not be written: {error.strerror or error}") from None
    if not done:
        raise ResponseError("ERR the snapshot was cancelled")
    return OK


# LASTSAVE
def lastsave(context: Context, call: Call) -> Reply:
    """Unix seconds of the last snapshot; of the start while there is none, as in Redis."""
    del call
    return int(context.started) if context.persistence is None else context.persistence.saves.last_time
