"""Control commands: those that the command table leaves to Python.

A handler takes a Context and a Call and answers a reply as a Python value, or raises ResponseError. Most are plain
functions; those that have to wait are coroutines, and wait for nothing but their context (see control.context). A
server starts handlers on its event loop; `run` is for a program's own call and needs no loop.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, cast

from tellstone._core.session.records import Records
from tellstone.control.calls import note_call
from tellstone.control.clients import CLIENT_HANDLERS
from tellstone.control.cluster import CLUSTER_HANDLERS
from tellstone.control.commands import (
    command,
    command_count,
    command_docs,
    command_getkeys,
    command_getkeysandflags,
    command_help,
    command_info,
    command_list,
)
from tellstone.control.config import config_get, config_help, config_resetstat, config_rewrite, config_set
from tellstone.control.context import Call, Context, Embedded, LocalCall
from tellstone.control.debug import debug
from tellstone.control.encode import ErrorReply, Reply
from tellstone.control.info import info
from tellstone.control.keys import object_help, wait, waitaof
from tellstone.control.latency import (
    latency_doctor,
    latency_graph,
    latency_help,
    latency_histogram,
    latency_history,
    latency_latest,
    latency_reset,
)
from tellstone.control.lolwut import lolwut
from tellstone.control.memory import memory_doctor, memory_help, memory_malloc_stats, memory_purge, memory_stats
from tellstone.control.modules import module_help, module_list, module_refused
from tellstone.control.replication import failover, replconf, replicaof, sync
from tellstone.control.saving import bgrewriteaof, bgsave, lastsave, save
from tellstone.control.shutdown import shutdown
from tellstone.control.slowlog import slowlog_get, slowlog_help, slowlog_len, slowlog_reset
from tellstone.errors import ResponseError

if TYPE_CHECKING:
    from tellstone._core.store.keyspace import Store
    from tellstone.keeper import Keeper

Handler = Callable[[Context, Call], "Reply | Awaitable[Reply]"]

HANDLERS: dict[str, Handler] = {
    **CLUSTER_HANDLERS,
    **CLIENT_HANDLERS,
    "command": command,
    "command|count": command_count,
    "command|docs": command_docs,
    "command|getkeys": command_getkeys,
    "command|getkeysandflags": command_getkeysandflags,
    "command|help": command_help,
    "command|info": command_info,
    "command|list": command_list,
    "config|get": config_get,
    "config|help": config_help,
    "config|resetstat": config_resetstat,
    "config|rewrite": config_rewrite,
    "config|set": config_set,
    "debug": debug,
    "failover": failover,
    "info": info,
    "latency|doctor": latency_doctor,
    "latency|graph": latency_graph,
    "latency|help": latency_help,
    "latency|histogram": latency_histogram,
    "latency|history": latency_history,
    "latency|latest": latency_latest,
    "latency|reset": latency_reset,
    "lolwut": lolwut,
    "memory|doctor": memory_doctor,
    "memory|help": memory_help,
    "memory|malloc-stats": memory_malloc_stats,
    "memory|purge": memory_purge,
    "memory|stats": memory_stats,
    "module|help": module_help,
    "module|list": module_list,
    **dict.fromkeys(("module|load", "module|loadex", "module|unload"), module_refused),
    "object|help": object_help,
    "psync": sync,
    "replconf": replconf,
    **dict.fromkeys(("replicaof", "slaveof"), replicaof),
    "bgrewriteaof": bgrewriteaof,
    "bgsave": bgsave,
    "lastsave": lastsave,
    "save": save,
    "shutdown": shutdown,
    "slowlog|get": slowlog_get,
    "slowlog|help": slowlog_help,
    "slowlog|len": slowlog_len,
    "slowlog|reset": slowlog_reset,
    "sync": sync,
    "wait": wait,
    "waitaof": waitaof,
}


def embedded(store: Store, records: Records | None = None, keeper: Keeper | None = None) -> Context:
    """The context of an engine in a program, to keep as long as the engine. records: of its program's calls."""
    return Embedded(store, records, keeper)


def run(context: Context, name: str, args: tuple[bytes, ...], proto: int = 3, db: int = 0) -> Reply:
    """Answer a control command by its full name in an embedded context. Raises ResponseError."""
    call, begun = LocalCall(name, args, db=db, proto=proto), time.perf_counter()
    try:
        reply = finished(name, HANDLERS[name](context, call))
    except ResponseError as error:
        note_call(context.records, call, ErrorReply(error), time.perf_counter() - begun)
        raise
    note_call(context.records, call, reply, time.perf_counter() - begun)
    return reply


def finished(name: str, reply: Reply | Awaitable[Reply]) -> Reply:
    """A handler's reply. In an embedded context a coroutine comes to its end without waiting."""
    if not isinstance(reply, Awaitable):
        return reply
    try:
        cast("Coroutine[None, None, Reply]", reply).send(None)
    except StopIteration as end:
        return cast(Reply, end.value)
    raise RuntimeError(f"{name} waits for an event loop")
