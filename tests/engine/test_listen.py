"""The very data of an engine, for other processes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from wire import Wire

from tellstone import ClosedError, Engine, Listening, OptionError, StartError

redis_py = pytest.importorskip("redis")


@pytest.fixture
def listening(engine: Engine) -> Iterator[Listening]:
    with engine.listen("127.0.0.1:0", io_threads=1) as listening:
        yield listening


def address_of(listening: Listening) -> tuple[str, int]:
    host, _, port = listening.address.rpartition(":")
    return host, int(port)


def test_both_sides_see_the_same_keys(engine: Engine, listening: Listening) -> None:
    with redis_py.Redis(*address_of(listening)) as client:
        engine["a"] = "from here"
        client.set("b", "from there", ex=100)
        assert client.get("a") == b"from here" and engine["b"] == b"from there"
        assert 99 < (engine.ttl("b") or 0) <= 100
        assert client.incr("n") == 1 and engine.incr("n") == 2 and engine.execute("INCR", "n") == 3
        assert sorted(client.scan_iter()) == sorted(engine) == [b"a", b"b", b"n"]
        engine.flush()
        assert client.dbsize() == 0
        value = b"v" * 1_000_000
        engine["long"] = value
        assert client.get("long") == value


def test_a_unix_socket(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with engine.listen(f"unix:{path}") as listening:
        assert listening.address == f"unix:{path}"
        with Wire(str(path)) as wire:
            assert wire.call("SET", "k", "v") == b"+OK\r\n"
        assert engine["k"] == b"v"
    assert not path.exists()


def test_several_addresses(engine: Engine) -> None:
    first, second = engine.listen("127.0.0.1:0"), engine.listen("127.0.0.1:0", max_clients=10)
    with first, second, Wire(address_of(first)) as a, Wire(address_of(second)) as b:
        assert a.call("SET", "k", "v") == b"+OK\r\n"
        assert b.call("GET", "k") == b"$1\r\nv\r\n"
    engine["k"] = "still open"


def test_closing_the_engine_closes_what_listens() -> None:
    engine = Engine()
    listening = engine.listen("127.0.0.1:0")
    wire = Wire(address_of(listening))
    assert wire.call("SET", "k", "v") == b"+OK\r\n"
    engine.close()
    assert wire.socket.recv(100) == b""
    with pytest.raises(OSError):
        socket.create_connection(address_of(listening), 1)
    with pytest.raises(ClosedError):
        engine.listen("127.0.0.1:0")
    listening.close()


def test_the_native_protocol_on_request(engine: Engine) -> None:
    with engine.listen("127.0.0.1:0", protocol="native", max_clients=1) as listening:
        address = address_of(listening)
        with socket.create_connection(address), socket.create_connection(address) as wire:
            assert wire.recv(100) == b"\0\0\0\x22\7ERR max number of clients reached"
    with pytest.raises(OptionError, match="protocol"):
        engine.listen("127.0.0.1:0", protocol="http")


def test_addresses_that_cannot_be(engine: Engine, listening: Listening) -> None:
    for wrong in ("", "nowhere", "127.0.0.1:99999", "unix:", "unix:/" + "x" * 200, "127.0.0.1:-1"):
        with pytest.raises(OptionError, match="address"):
            engine.listen(wrong)
    with pytest.raises(StartError):
        engine.listen(listening.address)
    with pytest.raises(StartError):
        engine.listen("unix:/no/such/directory/s")
    engine["k"] = "still open"


def test_threads_here_and_clients_there(engine: Engine, listening: Listening) -> None:
    """One counter, counted up from both sides at once."""
    many = 2000

    def here() -> None:
        for _ in range(many):
            engine.incr("n")

    def there() -> None:
        with redis_py.Redis(*address_of(listening)) as client:
            for _ in range(many):
                client.incr("n")

    threads = [threading.Thread(target=work) for work in (here, there, here, there)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert engine["n"] == b"%d" % (4 * many)


def test_in_a_context_of_its_own(engine: Engine, listening: Listening) -> None:
    """Each thread of the program and each client have a connection of their own."""
    engine.execute("SELECT", 3)
    with redis_py.Redis(*address_of(listening)) as client:
        client.set("k", "zero")
        clients: list[dict[str, Any]] = client.client_list()
        assert len(clients) == 1 and clients[0]["db"] == "0"
    assert engine.execute("GET", "k") is None and engine["k"] == b"zero"
