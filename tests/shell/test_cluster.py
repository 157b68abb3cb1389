"""--cluster-mode emulated: one node with all slots, and clients that believe it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis as redis_py
from shell.started import Started
from wire import Wire, value

from tellstone.control.cluster import key_slot

Resp = Callable[..., Started]


@pytest.fixture
def wire(resp: Resp) -> Wire:
    return resp("--cluster-mode", "emulated").connect()


@pytest.mark.core
@pytest.mark.parametrize(
    ("key", "slot"),
    [
        ("", 0),
        ("123456789", 12739),
        ("foo", 12182),
        ("{user1000}.following", key_slot(b"user1000")),
        ("foo{}{bar}", key_slot(b"foo{}{bar}")),
        ("foo{{bar}}zap", key_slot(b"{bar")),
        ("foo{bar}{zap}", key_slot(b"bar")),
    ],
)
def test_slots_of_keys(key: str, slot: int) -> None:
    assert key_slot(key.encode()) == slot


def test_the_node_describes_itself(wire: Wire) -> None:
    host, port = wire.socket.getpeername()
    node_id = value(wire.call("CLUSTER", "MYID"))
    assert len(node_id) == 40
    assert value(wire.call("CLUSTER", "SLOTS")) == [[0, 16383, [host, port, node_id, []]]]
    line = f"{node_id} {host}:{port}@{port + 10000} myself,master - 0 0 0 connected 0-16383\n"
    assert value(wire.call("CLUSTER", "NODES")) == line
    assert value(wire.call("CLUSTER", "INFO")).startswith("cluster_state:ok\r\ncluster_slots_assigned:16384\r\n")
    assert b"redis_mode:cluster\r\n" in wire.call("INFO", "server")
    assert wire.call("CLUSTER", "LINKS") == b"*0\r\n"
    assert wire.call("CONFIG", "GET", "cluster-enabled").endswith(b"$3\r\nyes\r\n")


def test_the_keys_of_a_slot(wire: Wire) -> None:
    wire.call("MSET", "a", 1, "{a}b", 2, "c", 3)
    slot = value(wire.call("CLUSTER", "KEYSLOT", "a"))
    assert wire.call("CLUSTER", "COUNTKEYSINSLOT", slot) == b":2\r\n"
    assert value(wire.call("CLUSTER", "GETKEYSINSLOT", slot, 10)) == ["a", "{a}b"]
    assert value(wire.call("CLUSTER", "GETKEYSINSLOT", slot, 1)) == ["a"]


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ("READONLY", b"+OK"),
        ("READWRITE", b"+OK"),
        ("ASKING", b"+OK"),
        ("CLUSTER SAVECONFIG", b"+OK"),
        ("CLUSTER COUNTKEYSINSLOT x", b"-ERR value is not an integer or out of range"),
        ("CLUSTER COUNTKEYSINSLOT 16384", b"-ERR Invalid slot"),
        ("CLUSTER GETKEYSINSLOT 1 -1", b"-ERR Invalid slot or number of keys"),
        ("CLUSTER REPLICAS x", b"-ERR Unknown node x"),
        ("CLUSTER MEET 127.0.0.1 1", b"-ERR CLUSTER MEET is not supported: the cluster is one emulated node"),
        ("FAILOVER", b"-ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead."),
        ("REPLICAOF NO ONE", b"-ERR REPLICAOF not allowed in cluster mode."),
    ],
)
def test_answers_in_cluster_mode(wire: Wire, request_: str, reply: bytes) -> None:
    assert wire.call(*request_.split()) == reply + b"\r\n"


@pytest.mark.parametrize("proto", [2, 3])
def test_a_cluster_client_connects(resp: Resp, proto: int) -> None:
    with resp("--cluster-mode", "emulated").connect() as wire:
        host, port = wire.socket.getpeername()
        client = redis_py.RedisCluster(host=host, port=port, protocol=proto)
        try:
            assert client.set("a", 1) and client.get("a") == b"1"
            assert client.mset_nonatomic({"b": 2, "c": 3}) and client.mget_nonatomic("a", "b", "c") == [
                b"1",
                b"2",
                b"3",
            ]
            assert client.delete("a", "b", "nosuch") == 2
            assert client.keyslot("c") == key_slot(b"c") and client.dbsize() == 1
        finally:
            client.close()
