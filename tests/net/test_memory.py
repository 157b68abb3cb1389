"""What idle connections cost, against a redis-server."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import pytest
from servers import Server, redis_command, redis_program, tellstone_command
from wire import Wire

CONNECTIONS = 10_000

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc"),
]


@pytest.fixture(autouse=True, scope="module")
def driver() -> str:
    """A transport costs what it costs."""
    return "native"


def resident(server: Server) -> int:
    """The bytes of memory that a server holds."""
    assert server.process is not None
    match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{server.process.pid}/status").read_text())
    assert match
    return int(match[1]) * 1024


def idle_cost(server: Server) -> float:
    """Bytes a connection that has said something once and is silent since."""
    before = resident(server)
    wires: list[Wire] = []
    try:
        for _ in range(CONNECTIONS):
            wires.append(Wire(server.address))
            wires[-1].send(b"*2\r\n$3\r\nGET\r\n$4\r\nnone\r\n")
        for wire in wires:
            assert wire.socket.recv(100) == b"$-1\r\n"
        return (resident(server) - before) / CONNECTIONS
    finally:
        for wire in wires:
            wire.close()


def test_idle_connections_cost_less_than_redis_servers(tmp_path: Path) -> None:
    if redis_program() is None:
        pytest.skip("redis-server is not installed")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < CONNECTIONS + 1000:
        pytest.skip("too few descriptors allowed")
    clients = str(CONNECTIONS + 100)
    ours = Server(tellstone_command("--max-clients", clients), tmp_path)
    theirs = Server(redis_command("--maxclients", clients), tmp_path)
    resource.setrlimit(resource.RLIMIT_NOFILE, (CONNECTIONS + 1000, hard))
    try:
        costs = {}
        for server in (ours, theirs):
            server.start()
            try:
                costs[server] = idle_cost(server)
            finally:
                server.stop()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert costs[ours] < 1024 < costs[theirs], costs.values()
