"""INFO: sections of `name:value` lines under Redis's names. What has no meaning here is left out, not made up."""

from __future__ import annotations

import os
import platform
import struct
import sys
import time
from collections.abc import Callable, Iterable

from tellstone.control.context import Call, Context
from tellstone.control.encode import Reply, Verbatim, text
from tellstone.version import REDIS_VERSION, tellstone_version

Fields = dict[str, object]
DAY = 86400


def human(size: float) -> str:
    """Bytes as Redis shortens them: "1.50M"."""
    power = min((max(int(size), 1).bit_length() - 1) // 10, 5)
    return f"{size / 1024**power:.2f}{' KMGTP'[power]}" if power else f"{size:.0f}B"


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


def server(context: Context) -> Fields:
    """The process and its versions."""
    uptime = int(context.uptime)
    system = platform.uname()
    return {
        "redis_version": REDIS_VERSION,
        "tellstone_version": tellstone_version(),
        "redis_mode": "standalone",
        "os": f"{system.system} {system.release} {system.machine}",
        "arch_bits": struct.calcsize("P") * 8,
        "python_version": platform.python_version(),
        "process_id": os.getpid(),
        "run_id": context.run_id,
        "tcp_port": context.options.resp_addr.port,
        "server_time_usec": time.time_ns() // 1000,
        "uptime_in_seconds": uptime,
        "uptime_in_days": uptime // DAY,
        "executable": sys.executable,
        "config_file": "",
        "shards": context.store.shard_count,
        "io_threads": context.options.io_threads,
    }


def clients(context: Context) -> Fields:
    """Connections."""
    gauges = context.gauges()
    return {
        "connected_clients": gauges["connected"],
        "cluster_connections": 0,
        "maxclients": context.options.max_clients,
        "client_recent_max_input_buffer": gauges["longest_input"],
        "client_recent_max_output_buffer": gauges["longest_output"],
        "blocked_clients": 0,
        "tracking_clients": 0,
    }


def memory(context: Context) -> Fields:
    """Bytes: what counts towards the ceiling, and what the system has given."""
    used, resident = context.note_memory(), resident_memory()
    total, ceiling = system_memory(), context.options.max_mem_bytes
    sizes = context.store.stats()
    return {
        "used_memory": used,
        "used_memory_human": human(used),
        "used_memory_rss": resident,
        "used_memory_rss_human": human(resident),
        "used_memory_peak": context.peak_memory,
        "used_memory_peak_human": human(context.peak_memory),
        "used_memory_peak_perc": f"{used / max(context.peak_memory, 1):.2%}",
        "used_memory_dataset": sizes["live_bytes"],
        "used_memory_overhead": max(used - sizes["live_bytes"], 0),
        "total_system_memory": total,
        "total_system_memory_human": human(total),
        "maxmemory": ceiling,
        "maxmemory_human": human(ceiling),
        "maxmemory_policy": "noeviction",
        "mem_fragmentation_ratio": f"{resident / used if used else 0:.2f}",
        "mem_fragmentation_bytes": resident - used,
        "mem_clients_normal": context.gauges()["buffer_bytes"],
        "mem_allocator": "arena",
        "arena_held_bytes": sizes["held_bytes"],
        "table_bytes": sizes["table_bytes"],
        "lazyfree_pending_objects": sizes["retired"],
    }


def persistence(context: Context) -> Fields:
    """There is none yet; clients ask whether a server is loading."""
    del context
    return {
        "loading": 0,
        "async_loading": 0,
        "rdb_bgsave_in_progress": 0,
        "aof_enabled": 0,
        "aof_rewrite_in_progress": 0,
    }


def stats(context: Context) -> Fields:
    """Counters since the start, or since CONFIG RESETSTAT."""
    counters, rates, sizes = context.counters(), context.rates(), context.store.stats()
    return {
        "total_connections_received": counters["accepted"],
        "total_commands_processed": counters["commands"],
        "instantaneous_ops_per_sec": round(rates.get("commands", 0)),
        "total_net_input_bytes": counters["input_bytes"],
        "total_net_output_bytes": counters["output_bytes"],
        "instantaneous_input_kbps": f"{rates.get('input_bytes', 0) / 1024:.2f}",
        "instantaneous_output_kbps": f"{rates.get('output_bytes', 0) / 1024:.2f}",
        "rejected_connections": counters["rejected"],
        "expired_keys": sizes["expired"],
        "expired_keys_on_read": sizes["expired_lazy"],
        "evicted_keys": 0,
        "client_query_buffer_limit_disconnections": counters["closed_over_input_limit"],
        "client_output_buffer_limit_disconnections": counters["closed_over_output_limit"],
        "client_timeout_disconnections": counters["timed_out"],
        "keyspace_hits": sizes["hits"],
        "keyspace_misses": sizes["misses"],
        "total_error_replies": counters["errors"],
    }


def replication(context: Context) -> Fields:
    """Always alone; clients read the role."""
    return {
        "role": "master",
        "connected_slaves": 0,
        "master_failover_state": "no-failover",
        "master_replid": context.run_id,
        "master_repl_offset": 0,
    }


def cpu(context: Context) -> Fields:
    """Seconds of CPU time."""
    del context
    times = os.times()
    return {
        "used_cpu_sys": f"{times.system:.6f}",
        "used_cpu_user": f"{times.user:.6f}",
        "used_cpu_sys_children": f"{times.children_system:.6f}",
        "used_cpu_user_children": f"{times.children_user:.6f}",
    }


def cluster(context: Context) -> Fields:
    """There is none."""
    del context
    return {"cluster_enabled": 0}


def keyspace(context: Context) -> Fields:
    """The databases that hold keys."""
    return {
        f"db{index}": f"keys={keys},expires={expires},avg_ttl=0"
        for index, (keys, expires) in enumerate(context.store.sizes())
        if keys
    }


SECTIONS: dict[str, Callable[[Context], Fields]] = {
    "server": server,
    "clients": clients,
    "memory": memory,
    "persistence": persistence,
    "stats": stats,
    "replication": replication,
    "cpu": cpu,
    "cluster": cluster,
    "keyspace": keyspace,
}
TITLES = {"cpu": "CPU"}
EVERYTHING = ("default", "all", "everything")


def render(context: Context, names: Iterable[str]) -> str:
    """The text of some sections, in Redis's order, with an empty line between them."""
    wanted = set(names)
    return "\r\n".join(
        f"# {TITLES.get(name, name.capitalize())}\r\n"
        + "".join(f"{field}:{value}\r\n" for field, value in section(context).items())
        for name, section in SECTIONS.items()
        if name in wanted
    )


# INFO [section [section ...]]
def info(context: Context, call: Call) -> Reply:
    """The sections that are named, those that are there; all of them without a name."""
    names = {text(argument).lower() for argument in call.args[1:]}
    return Verbatim(render(context, SECTIONS if not names or names.intersection(EVERYTHING) else names))
