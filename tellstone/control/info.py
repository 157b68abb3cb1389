"""INFO: sections of `name:value` lines under Redis's names. What has no meaning here is left out, not made up."""

from __future__ import annotations

import os
import platform
import select
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tellstone.config import resp_address
from tellstone.control.calls import commands_called, percentile
from tellstone.control.context import Call, Context
from tellstone.control.encode import Reply, Verbatim, text
from tellstone.control.memory import look_at_memory, ratio, system_memory
from tellstone.durability.saves import Saves
from tellstone.units import plain_number
from tellstone.version import REDIS_VERSION, tellstone_version

if TYPE_CHECKING:
    from tellstone.durability.persistence import Persistence

Fields = dict[str, object]
DAY = 86400
HZ = 10  # what Redis has by default: clients that ask want to know how old a figure may be
BUILD_ID = "0" * 16
ASKING = "info"  # the command whose present call is not counted yet


def human(size: float) -> str:
    """Bytes as Redis shortens them: "1.50M"."""
    power = min((max(int(size), 1).bit_length() - 1) // 10, 5)
    return f"{size / 1024**power:.2f}{' KMGTP'[power]}" if power else f"{size:.0f}B"


def server(context: Context) -> Fields:
    """The process and its versions."""
    uptime = int(context.uptime)
    system = platform.uname()
    return {
        "redis_version": REDIS_VERSION,
        "redis_git_sha1": "00000000",
        "redis_git_dirty": 0,
        "redis_build_id": BUILD_ID,
        "tellstone_version": tellstone_version(),
        "redis_mode": "cluster" if context.is_cluster else "standalone",
        "os": f"{system.system} {system.release} {system.machine}",
        "arch_bits": struct.calcsize("P") * 8,
        "multiplexing_api": "epoll" if hasattr(select, "epoll") else "kqueue",
        "python_version": platform.python_version(),
        "process_id": os.getpid(),
        "process_supervised": "no",
        "run_id": context.run_id,
        "tcp_port": resp_address(context.options).port,
        "server_time_usec": time.time_ns() // 1000,
        "uptime_in_seconds": uptime,
        "uptime_in_days": uptime // DAY,
        "hz": HZ,
        "configured_hz": HZ,
        "lru_clock": int(time.time()) & 0xFFFFFF,
        "executable": sys.executable,
        "config_file": os.path.abspath(context.options.config) if context.options.config else "",
        "io_threads_active": int(context.options.io_threads > 1),
        "shards": context.store.shard_count,
        "io_threads": context.options.io_threads,
        **{f"listener{i}": line for i, line in enumerate(listeners(context))},
    }


def listeners(context: Context) -> Iterable[str]:
    """What is listened on, as Redis describes it. The native protocol goes by its name, whatever its address."""
    for protocol, address in context.addresses.items():
        if address.path:
            yield f"name={'native' if protocol == 'native' else 'unix'},bind={address.path}"
        else:
            name = "native" if protocol == "native" else "tcp"
            yield f"name={name},bind={address.host or '*'},port={address.port}"


def clients(context: Context) -> Fields:
    """Connections."""
    gauges = context.gauges()
    return {
        "connected_clients": gauges["connected"],
        "cluster_connections": 0,
        "maxclients": context.options.max_clients,
        "client_recent_max_input_buffer": gauges["longest_input"],
        "client_recent_max_output_buffer": gauges["longest_output"],
        "blocked_clients": len(context.blocked) + gauges["held"],
        "tracking_clients": 0,
        "clients_in_timeout_table": sum(blocked.has_timeout for blocked in context.blocked.values()),
        "total_blocking_keys": 0,
        "total_blocking_keys_on_nokey": 0,
    }


def memory(context: Context) -> Fields:
    """Bytes: what counts towards the ceiling, and what the system has given."""
    memory = look_at_memory(context)
    total, ceiling = system_memory(), context.options.max_mem_bytes
    return {
        "used_memory": memory.used,
        "used_memory_human": human(memory.used),
        "used_memory_rss": memory.resident,
        "used_memory_rss_human": human(memory.resident),
        "used_memory_peak": memory.peak,
        "used_memory_peak_human": human(memory.peak),
        "used_memory_peak_perc": f"{ratio(memory.used, memory.peak):.2%}",
        "used_memory_overhead": memory.overhead,
        "used_memory_startup": memory.startup,
        "used_memory_dataset": memory.dataset,
        "used_memory_dataset_perc": f"{ratio(memory.dataset, memory.used):.2%}",
        "allocator_allocated": memory.dataset,
        "allocator_active": memory.held,
        "allocator_resident": memory.held,
        "total_system_memory": total,
        "total_system_memory_human": human(total),
        "used_memory_lua": 0,
        "used_memory_vm_eval": 0,
        "used_memory_lua_human": human(0),
        "used_memory_scripts_eval": 0,
        "number_of_cached_scripts": 0,
        "number_of_functions": 0,
        "number_of_libraries": 0,
        "used_memory_vm_functions": 0,
        "used_memory_vm_total": 0,
        "used_memory_vm_total_human": human(0),
        "used_memory_functions": 0,
        "used_memory_scripts": 0,
        "used_memory_scripts_human": human(0),
        "maxmemory": ceiling,
        "maxmemory_human": human(ceiling),
        "maxmemory_policy": context.options.max_mem_policy,
        "allocator_frag_ratio": f"{ratio(memory.held, memory.dataset):.2f}",
        "allocator_frag_bytes": memory.held - memory.dataset,
        "allocator_rss_ratio": f"{ratio(memory.held, memory.held):.2f}",
        "allocator_rss_bytes": 0,
        "rss_overhead_ratio": f"{ratio(memory.resident, memory.held):.2f}",
        "rss_overhead_bytes": memory.resident - memory.held,
        "mem_fragmentation_ratio": f"{ratio(memory.resident, memory.used):.2f}",
        "mem_fragmentation_bytes": memory.resident - memory.used,
        "mem_not_counted_for_evict": 0,
        "mem_replication_backlog": 0,
        "mem_total_replication_buffers": 0,
        "mem_clients_slaves": 0,
        "mem_clients_normal": memory.clients,
        "mem_cluster_links": 0,
        "mem_aof_buffer": 0,
        "mem_allocator": "arena",
        "active_defrag_running": 0,
        "lazyfree_pending_objects": memory.retired,
        "arena_held_bytes": memory.held,
        "table_bytes": memory.tables,
    }


def persistence(context: Context) -> Fields:
    """Snapshots are told as Redis tells its RDB files, the log as its append-only file; nothing forks."""
    kept = context.persistence
    saves = kept.saves if kept else Saves(last_time=int(context.started))
    running = time.monotonic() - saves.begun if saves.begun >= 0 else -1
    return {
        "loading": int(context.store.loading),
        "async_loading": 0,
        "current_cow_peak": 0,
        "current_cow_size": 0,
        "current_cow_size_age": 0,
        "current_fork_perc": "0.00",
        "current_save_keys_processed": 0,
        "current_save_keys_total": 0,
        "rdb_changes_since_last_save": kept.changes if kept else 0,
        "rdb_bgsave_in_progress": int(running >= 0),
        "rdb_last_save_time": saves.last_time,
        "rdb_last_bgsave_status": "ok" if saves.last_ok else "err",
        "rdb_last_bgsave_time_sec": int(saves.last_duration),
        "rdb_current_bgsave_time_sec": int(running),
        "rdb_saves": saves.done,
        "rdb_last_cow_size": 0,
        "rdb_last_load_keys_expired": kept.recovery.expired if kept else 0,
        "rdb_last_load_keys_loaded": kept.loaded if kept else 0,
        "aof_enabled": int(kept is not None),
        "aof_rewrite_in_progress": 0,
        "aof_rewrite_scheduled": 0,
        "aof_last_rewrite_time_sec": -1,
        "aof_current_rewrite_time_sec": -1,
        "aof_last_bgrewrite_status": "ok",
        "aof_rewrites": 0,
        "aof_rewrites_consecutive_failures": 0,
        "aof_last_write_status": "ok" if kept is None or not kept.recovered or kept.log.health == "ok" else "err",
        "aof_last_cow_size": 0,
        "module_fork_in_progress": 0,
        "module_fork_last_cow_size": 0,
        **(log_sizes(kept) if kept else {}),
        **(loading(kept) if kept and context.store.loading else {}),
    }


def log_sizes(kept: Persistence) -> Fields:
    """The newest snapshot and the log behind it are together what an append-only file is after its rewriting."""
    base = kept.saves.last_bytes
    return {
        "aof_current_size": base + (kept.log.bytes if kept.recovered else 0),
        "aof_base_size": base,
        "aof_pending_rewrite": 0,
        "aof_buffer_length": kept.log.pending if kept.recovered else 0,
        "aof_pending_bio_fsync": 0,
        "aof_delayed_fsync": 0,
    }


def loading(kept: Persistence) -> Fields:
    """How far it is. Files are read more than once, and all of that counts."""
    job = kept.recovery
    done, whole = job.bytes_done, job.bytes_all
    took = int(time.time() - kept.loading_since)
    return {
        "loading_start_time": int(kept.loading_since),
        "loading_total_bytes": whole,
        "loading_rdb_used_mem": 0,
        "loading_loaded_bytes": done,
        "loading_loaded_perc": f"{100 * done / whole if whole else 0:.2f}",
        "loading_eta_seconds": took * (whole - done) // (done + 1) if took else 1,
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
        "total_net_repl_input_bytes": 0,
        "total_net_repl_output_bytes": 0,
        "instantaneous_input_kbps": f"{rates.get('input_bytes', 0) / 1024:.2f}",
        "instantaneous_output_kbps": f"{rates.get('output_bytes', 0) / 1024:.2f}",
        "instantaneous_input_repl_kbps": "0.00",
        "instantaneous_output_repl_kbps": "0.00",
        "rejected_connections": counters["rejected"],
        "sync_full": 0,
        "sync_partial_ok": 0,
        "sync_partial_err": 0,
        "expired_keys": sizes["expired"],
        "expired_keys_on_read": sizes["expired_lazy"],
        "expired_stale_perc": "0.00",
        "expired_time_cap_reached_count": 0,
        "evicted_keys": sizes["evicted"],
        "evicted_clients": 0,
        "total_eviction_exceeded_time": 0,
        "current_eviction_exceeded_time": 0,
        "keyspace_hits": sizes["hits"],
        "keyspace_misses": sizes["misses"],
        "pubsub_channels": 0,
        "pubsub_patterns": 0,
        "pubsubshard_channels": 0,
        "latest_fork_usec": 0,
        "total_forks": 0,
        "migrate_cached_sockets": 0,
        "slave_expires_tracked_keys": 0,
        "active_defrag_hits": 0,
        "active_defrag_misses": 0,
        "active_defrag_key_hits": 0,
        "active_defrag_key_misses": 0,
        "total_active_defrag_time": 0,
        "current_active_defrag_time": 0,
        "tracking_total_keys": 0,
        "tracking_total_items": 0,
        "tracking_total_prefixes": 0,
        "eventloop_cycles": counters["ticks"],
        "instantaneous_eventloop_cycles_per_sec": round(rates.get("ticks", 0)),
        "unexpected_error_replies": 0,
        "total_error_replies": counters["errors"],
        "dump_payload_sanitizations": 0,
        "client_query_buffer_limit_disconnections": counters["closed_over_input_limit"],
        "client_output_buffer_limit_disconnections": counters["closed_over_output_limit"],
        "client_timeout_disconnections": counters["timed_out"],
        "acl_access_denied_auth": 0,
        "acl_access_denied_cmd": 0,
        "acl_access_denied_key": 0,
        "acl_access_denied_channel": 0,
    }


def replication(context: Context) -> Fields:
    """Always alone; clients read the role."""
    return {
        "role": "master",
        "connected_slaves": 0,
        "master_failover_state": "no-failover",
        "master_replid": context.run_id,
        "master_replid2": "0" * 40,
        "master_repl_offset": 0,
        "second_repl_offset": -1,
        "repl_backlog_active": 0,
        "repl_backlog_size": 1048576,
        "repl_backlog_first_byte_offset": 0,
        "repl_backlog_histlen": 0,
    }


def cpu_times() -> dict[str, tuple[float, float]]:
    """Seconds spent in the system and in programs, by whose they are. Of the main thread only it itself can ask."""
    if sys.platform == "win32":
        times = os.times()
        return {"": (times.system, times.user), "_children": (times.children_system, times.children_user)}
    import resource

    whose = {"": resource.RUSAGE_SELF, "_children": resource.RUSAGE_CHILDREN}
    if sys.platform == "linux" and threading.current_thread() is threading.main_thread():
        whose["_main_thread"] = resource.RUSAGE_THREAD
    usages = {name: resource.getrusage(who) for name, who in whose.items()}
    return {name: (usage.ru_stime, usage.ru_utime) for name, usage in usages.items()}


def cpu(context: Context) -> Fields:
    """Seconds of CPU time."""
    del context
    fields: Fields = {}
    for whose, (system, user) in cpu_times().items():
        fields |= {f"used_cpu_sys{whose}": f"{system:.6f}", f"used_cpu_user{whose}": f"{user:.6f}"}
    return fields


def modules(context: Context) -> Fields:
    """There are none."""
    del context
    return {}


def commandstats(context: Context) -> Fields:
    """Calls by command."""
    return {
        f"cmdstat_{one.name}": f"calls={one.calls},usec={int(one.microseconds)},"
        f"usec_per_call={ratio(int(one.microseconds), one.calls):.2f},"
        f"rejected_calls={one.rejected},failed_calls={one.failed}"
        for one in commands_called(context, ASKING)
    }


def errorstats(context: Context) -> Fields:
    """Error replies by their first word."""
    return {f"errorstat_{word}": f"count={count}" for word, count in sorted(context.records.tally()["words"].items())}


def latencystats(context: Context) -> Fields:
    """Percentiles of durations by command."""
    if not context.options.latency_tracking:
        return {}
    percents = context.options.latency_tracking_info_percentiles
    return {
        f"latency_percentiles_usec_{one.name}": ",".join(
            f"p{plain_number(percent)}={percentile(one.durations, percent):.3f}" for percent in percents
        )
        for one in commands_called(context, ASKING)
        if one.durations
    }


def cluster(context: Context) -> Fields:
    """Whether cluster clients are welcome."""
    return {"cluster_enabled": int(context.is_cluster)}


def keyspace(context: Context) -> Fields:
    """The databases that hold keys."""
    return {
        f"db{index}": f"keys={keys},expires={expires},avg_ttl={context.store.average_ttl(index)}"
        for index, (keys, expires) in enumerate(context.store.sizes())
        if keys
    }


# In Redis's order.
SECTIONS: dict[str, Callable[[Context], Fields]] = {
    "server": server,
    "clients": clients,
    "memory": memory,
    "persistence": persistence,
    "stats": stats,
    "replication": replication,
    "cpu": cpu,
    "modules": modules,
    "commandstats": commandstats,
    "errorstats": errorstats,
    "latencystats": latencystats,
    "cluster": cluster,
    "keyspace": keyspace,
}
TITLES = {"cpu": "CPU"}
DEFAULT = frozenset(SECTIONS) - {"commandstats", "latencystats"}
MEANINGS = {"default": DEFAULT, "all": frozenset(SECTIONS), "everything": frozenset(SECTIONS)}
ALIASES = {"module_list": "modules"}


def wanted_sections(words: Iterable[str]) -> frozenset[str]:
    """The sections that the arguments of INFO name; unknown ones are nobody's."""
    names = [word.lower() for word in words]
    if not names:
        return DEFAULT
    return frozenset().union(*(MEANINGS.get(name, frozenset({ALIASES.get(name, name)})) for name in names))


# INFO [section [section ...]]
def info(context: Context, call: Call) -> Reply:
    """The sections that are named, with an empty line between them; the default ones without a name."""
    wanted = wanted_sections(map(text, call.args[1:]))
    parts = []
    for name, section in SECTIONS.items():
        if name in wanted:
            lines = "".join(f"{field}:{value}\r\n" for field, value in section(context).items())
            parts.append(f"# {TITLES.get(name, name.capitalize())}\r\n{lines}")
    return Verbatim("\r\n".join(parts))
