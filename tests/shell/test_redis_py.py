"""Administration with redis-py, in both protocols."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from servers import Server

redis_py = pytest.importorskip("redis")


@pytest.fixture(params=[2, 3])
def client(request: pytest.FixtureRequest, server: Server) -> Iterator[object]:
    host, port = server.address
    made = redis_py.Redis(host, port, protocol=request.param, decode_responses=True)
    yield made
    made.close()


def test_config(client: object) -> None:
    assert client.config_get("maxmemory") == {"maxmemory": "0"}
    assert client.config_get("maxmemory", "time*") == {"maxmemory": "0", "timeout": "0"}
    assert client.config_set("maxmemory", "64mb")
    assert client.config_get("maxmemory")["maxmemory"] == str(64 << 20)
    assert client.config_set("maxmemory", 0)
    assert client.config_resetstat()
    with pytest.raises(redis_py.ResponseError, match="Unknown option"):
        client.config_set("nosuch", 1)


def test_info(client: object) -> None:
    client.set("some", "key")
    everything = client.info()
    assert everything["redis_version"].startswith("7.2.")
    hello = client.execute_command("HELLO")
    hello = hello if isinstance(hello, dict) else dict(zip(hello[::2], hello[1::2], strict=True))
    assert everything["redis_version"] == hello["version"]
    assert everything["role"] == hello["role"] == "master"
    assert everything["connected_clients"] >= 1
    assert everything["db0"]["keys"] >= 1
    assert set(client.info("cpu")) >= {
        *("used_cpu_sys", "used_cpu_user", "used_cpu_sys_children", "used_cpu_user_children")
    }
    before = client.info("stats")["total_commands_processed"]
    client.ping()
    assert client.info("stats")["total_commands_processed"] >= before + 2
    assert client.info("memory", "keyspace")["maxmemory"] == 0


def test_clients(client: object) -> None:
    client.client_setname("somebody")
    mine = client.client_id()
    (line,) = client.client_list(client_id=[mine])
    assert (line["name"], line["cmd"], line["id"]) == ("somebody", "client|list", str(mine))
    assert [one["id"] for one in client.client_list()] == sorted((one["id"] for one in client.client_list()), key=int)


def test_killing_another(client: object, server: Server) -> None:
    host, port = server.address
    victim = redis_py.Redis(host, port, retry=None, single_connection_client=True)
    number = victim.client_id()
    assert client.client_kill_filter(_id=number) == 1
    with pytest.raises(redis_py.ConnectionError):
        victim.execute_command("PING")
    assert client.client_kill_filter(_id=number) == 0


def test_killing_itself(server: Server) -> None:
    for arguments, reply in (
        (lambda addr: ["KILL", addr], b"+OK\r\n"),
        (lambda addr: ["KILL", "ADDR", addr, "SKIPME", "no"], b":1\r\n"),
    ):
        with server.connect() as wire:
            host, port = wire.socket.getsockname()
            assert wire.call("CLIENT", "KILL", "ADDR", f"{host}:{port}") == b":0\r\n"
            assert wire.call("CLIENT", *arguments(f"{host}:{port}")) == reply
            assert wire.rest() == b""


def test_commands(client: object) -> None:
    assert client.command_count() == len(client.command())
    assert client.command()["get"]["arity"] == 2
    assert client.command_getkeys("MSET", "a", 1, "b", 2) == ["a", "b"]
    assert "config|get" in client.command_list()
