"""What a person sees who starts a server in a terminal."""

from __future__ import annotations

import os

from tellstone.server import Server
from tellstone.units import show_size
from tellstone.version import tellstone_version


def urls(server: Server, protocol: str) -> str:
    """Where a protocol is served."""
    return ", ".join(listener.url for listener in server.listeners if listener.protocol == protocol)


def banner(server: Server) -> str:
    """Name, version, addresses, and what the automatic options have come to."""
    options = server.options
    memory = f"at most {show_size(options.max_mem_bytes)}" if options.max_mem_bytes else "no ceiling"
    rows = {
        "redis": urls(server, "resp") or "not served: --enable-resp does",
        "native": urls(server, "native"),
        "shards": options.shards,
        "threads": f"{options.io_threads}, {options.driver}",
        "memory": memory,
        "pid": os.getpid(),
    }
    lines = [f"  {name:<9}{value}" for name, value in rows.items()]
    return "\n".join([f"tellstone {tellstone_version()}", "", *lines, "", "Ctrl-C stops it.", ""])
