"""How replies become Python objects, and which commands a client has no use for: the tables of Requests.execute.

Conversions are those of Engine.execute. A client's calls share connections, so there is no place among them for what
changes a connection, or makes it say something that is not the answer to a request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tellstone.results import CONVERTERS

Convert = Callable[[Any], Any] | None
Entry = Convert | tuple[Convert] | str  # a tuple: it changes the connection; a text: why it is refused
Commands = dict[str, Entry | dict[str, Entry]]

CHANGING = ("auth", "discard", "exec", "hello", "multi", "quit", "reset", "select", "unwatch", "watch")
ON_ITS_OWN = "it changes its connection, and a client's calls share connections; a pipeline with it has one of its own"
TALKING = (
    *("subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe"),
    *("client|reply", "client|tracking", "monitor", "psync", "sync"),
)
NOT_ONE_ANSWER = "a client needs exactly one answer to each request"


def commands(*, pipelined: bool) -> Commands:
    """The table for single calls, or for pipelines."""
    entries: dict[str, Entry] = {**CONVERTERS, **dict.fromkeys(TALKING, NOT_ONE_ANSWER)}
    for name in CHANGING:
        entries[name] = (CONVERTERS.get(name),) if pipelined else ON_ITS_OWN
    containers = {name.partition("|")[0] for name in entries if "|" in name}
    table: Commands = {name: entry for name, entry in entries.items() if name.partition("|")[0] not in containers}
    for container in containers:
        table[container] = {
            name.partition("|")[2]: entry for name, entry in entries.items() if name.partition("|")[0] == container
        }
    return table


SINGLE = commands(pipelined=False)
PIPELINED = commands(pipelined=True)
