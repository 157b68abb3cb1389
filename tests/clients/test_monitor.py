"""MONITOR as real clients read it: redis-py in both protocols, and redis-cli."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest
from servers import Server

redis_py = pytest.importorskip("redis")


@pytest.mark.parametrize("proto", [2, 3])
def test_redis_py(proto: int, server: Server) -> None:
    host, port = server.address
    with redis_py.Redis(host=host, port=port, protocol=proto) as client:
        client.ping()
        with client.monitor() as monitor:
            client.set("key", b'a "quoted" \x00 value')
            seen: dict[str, Any] = monitor.next_command()
            while not seen["command"].startswith("SET"):
                seen = monitor.next_command()
        assert seen["command"] == r"SET key a \"quoted\" \x00 value" or "quoted" in seen["command"]
        assert seen["client_address"] == host and seen["client_type"] == "tcp" and seen["db"] == 0
        assert client.get("key") == b'a "quoted" \x00 value'


def test_redis_cli(server: Server) -> None:
    program = shutil.which("redis-cli")
    if program is None:
        pytest.skip("redis-cli is not installed")
    host, port = server.address
    with (
        subprocess.Popen([program, "-h", host, "-p", str(port), "MONITOR"], stdout=subprocess.PIPE) as cli,
        server.connect() as wire,
    ):
        assert cli.stdout is not None
        assert cli.stdout.readline() == b"OK\n"
        wire.call("SET", "key", "two words")
        line = cli.stdout.readline()
        sender = "{}:{}".format(*wire.socket.getsockname())
        assert line.endswith(f' [0 {sender}] "SET" "key" "two words"\n'.encode())
        cli.terminate()
