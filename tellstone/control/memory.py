"""MEMORY, and where memory goes."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from tellstone.control.context import Call, Context
from tellstone.control.encode import OK, Reply, Verbatim
from tellstone.control.help import help_reply

LITTLE = 5 * 1024**2  # bytes of a store of which nothing can be said
NOTICED = 10 * 1024**2  # bytes of waste that are worth a word
CLIENT_SHARE = 200 * 1024  # bytes of buffers a client, on average, likewise


def resident_memory() -> int:
    """Bytes of memory that the process has; its peak where the system does not tell the present."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def system_memory() -> int:
    """Bytes of memory that the machine has, 0 if it does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


def ratio(part: float, whole: float) -> float:
    """How many times the whole goes into a part; 0 into nothing."""
    return part / whole if whole else 0.0


@dataclass(frozen=True)
class Memory:
    """Bytes of the process, by what they are for."""

    used: int  # counts towards the ceiling
    peak: int  # most of that so far
    startup: int  # that before there was any key
    resident: int  # of the process
    dataset: int  # of entries
    held: int  # of the arenas that entries are in
    tables: int
    clients: int
    retired: int  # things that wait to be freed

    @property
    def overhead(self) -> int:
        """What is used and holds no data."""
        return max(self.used - self.dataset, 0)


def look_at_memory(context: Context) -> Memory:
    """As it is now."""
    used, sizes = context.note_memory(), context.store.stats()
    return Memory(
        used=used,
        peak=context.peak_memory,
        startup=context.startup_memory,
        resident=resident_memory(),
        dataset=sizes["live_bytes"],
        held=sizes["held_bytes"],
        tables=sizes["table_bytes"],
        clients=context.gauges()["buffer_bytes"],
        retired=sizes["retired"],
    )


# MEMORY STATS
def memory_stats(context: Context, call: Call) -> Reply:
    """Where memory goes, under Redis's names."""
    del call
    memory = look_at_memory(context)
    sizes = {index: size for index, size in enumerate(context.store.sizes()) if size[0]}
    keys = sum(count for count, _ in sizes.values())
    tables = {
        f"db.{index}": {
            "overhead.hashtable.main": memory.tables * count // keys,
            "overhead.hashtable.expires": 0,
            "overhead.hashtable.slot-to-keys": 0,
        }
        for index, (count, _) in sizes.items()
    }
    net = max(memory.used - memory.startup, 0)
    return {
        "peak.allocated": memory.peak,
        "total.allocated": memory.used,
        "startup.allocated": memory.startup,
        "replication.backlog": 0,
        "clients.slaves": 0,
        "clients.normal": memory.clients,
        "cluster.links": 0,
        "aof.buffer": 0,
        "lua.caches": 0,
        "functions.caches": 0,
        **tables,
        "overhead.total": memory.overhead,
        "keys.count": keys,
        "keys.bytes-per-key": net // keys if keys else 0,
        "dataset.bytes": memory.dataset,
        "dataset.percentage": min(100 * ratio(memory.dataset, net), 100.0),
        "peak.percentage": 100 * ratio(memory.used, memory.peak),
        "allocator.allocated": memory.dataset,
        "allocator.active": memory.held,
        "allocator.resident": memory.held,
        "allocator-fragmentation.ratio": ratio(memory.held, memory.dataset),
        "allocator-fragmentation.bytes": memory.held - memory.dataset,
        "allocator-rss.ratio": ratio(memory.held, memory.held),
        "allocator-rss.bytes": 0,
        "rss-overhead.ratio": ratio(memory.resident, memory.held),
        "rss-overhead.bytes": memory.resident - memory.held,
        "fragmentation": ratio(memory.resident, memory.used),
        "fragmentation.bytes": memory.resident - memory.used,
    }


def findings(context: Context, memory: Memory) -> list[str]:
    """What is to be said of a store's memory."""
    clients = context.gauges()["connected"]
    found = []
    if memory.peak > 1.5 * memory.used:
        found.append(
            "Peak memory: more than 150 % of what is used now was used once. Pages that became free go back to the"
            " system in the background; MEMORY PURGE does it at once."
        )
    if memory.held > 1.4 * memory.dataset and memory.held - memory.dataset > NOTICED:
        found.append(
            "Fragmentation: the arenas hold more than 1.4 times what the entries take. Sparse pages are emptied in the"
            " background; this passes unless keys of changing sizes come and go all the time."
        )
    if memory.resident > 1.4 * memory.used and memory.resident - memory.used > NOTICED:
        found.append(
            "Process: it has more than 1.4 times the memory that is used for data, buffers and tables. The interpreter"
            " and its modules take about 30 MB of that."
        )
    if clients and memory.clients / clients > CLIENT_SHARE:
        found.append(
            "Client buffers: more than 200 KB a client, on average. Look at the fields qbuf and omem of CLIENT LIST for"
            " clients that do not read their replies."
        )
    return found


# MEMORY DOCTOR
def memory_doctor(context: Context, call: Call) -> Reply:
    """What could be better, in words."""
    del call
    memory = look_at_memory(context)
    if memory.used < LITTLE:
        return Verbatim("There is next to nothing in memory, so nothing can be said about it.\n")
    found = findings(context, memory)
    if not found:
        return Verbatim("No problem is to be seen in the use of memory.\n")
    return Verbatim("This was found:\n\n" + "".join(f" * {finding}\n\n" for finding in found))


# MEMORY PURGE
def memory_purge(context: Context, call: Call) -> Reply:
    """Upkeep of every shard, now."""
    del call
    context.store.upkeep()
    return OK


# MEMORY MALLOC-STATS
def memory_malloc_stats(context: Context, call: Call) -> Reply:
    """There is no general allocator to ask."""
    del context, call
    return "Stats not supported for the current allocator"


# MEMORY HELP
def memory_help(context: Context, call: Call) -> Reply:
    """What MEMORY can do."""
    del context
    return help_reply(
        call,
        {
            "DOCTOR": ["Return memory problems reports."],
            "MALLOC-STATS": ["Return internal statistics report from the memory allocator."],
            "PURGE": ["Attempt to purge dirty pages for reclamation by the allocator."],
            "STATS": ["Return information about the memory usage of the server."],
            "USAGE <key> [SAMPLES <count>]": [
                "Return memory in bytes used by <key> and its value. Nested values are",
                "sampled up to <count> times (default: 5, 0 means sample all).",
            ],
        },
    )
