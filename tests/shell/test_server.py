"""A server in a thread of its own, around a store that belongs to somebody else."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from wire import Closed, Wire, value

import tellstone.server
from tellstone._core.store.keyspace import Store
from tellstone.automatic import automatic_shards
from tellstone.config import FACTS, Options, config_value
from tellstone.errors import StartError
from tellstone.server import Server
from tellstone.units import Address

ANY_PORT = Address("127.0.0.1", 0)


def options(**values: object) -> Options:
    always = {"enable_resp": True, "resp_addr": ANY_PORT, "addr": ANY_PORT, "io_threads": 2}
    always["enable_debug_command"] = "yes"
    return Options(**{**always, **values})


@pytest.fixture
def store() -> Store:
    return Store(8)


@pytest.fixture
def running(store: Store) -> Iterator[Server]:
    server = Server(options(), store=store)
    server.start_thread()
    yield server
    server.close()


def connect(server: Server) -> Wire:
    address = server.options.resp_addr
    return Wire(address.path or (address.host, address.port))


def test_it_serves_the_store_it_was_given(running: Server, store: Store) -> None:
    with connect(running) as wire:
        wire.call("SET", "k", "v")
    assert store.sizes()[0] == (1, 0)
    assert running.options.shards == 8


def test_the_port_it_got_is_the_port_it_tells(running: Server) -> None:
    port = running.options.resp_addr.port
    with connect(running) as wire:
        assert value(wire.call("CONFIG", "GET", "port")) == ["port", str(port)]
        assert f"tcp_port:{port}\r\n" in value(wire.call("INFO", "server"))


def test_both_protocols_are_served_and_told(running: Server) -> None:
    native = running.options.addr
    assert native.port != running.options.resp_addr.port
    with connect(running) as wire:
        info = value(wire.call("INFO", "server"))
        assert f"listener0:name=tcp,bind=127.0.0.1,port={running.options.resp_addr.port}\r\n" in info
        assert f"listener1:name=native,bind=127.0.0.1,port={native.port}\r\n" in info
        socket.create_connection((native.host, native.port)).close()


def test_the_native_protocol_alone(store: Store) -> None:
    server = Server(options(enable_resp=False), store=store)
    server.start_thread()
    try:
        assert [listener.protocol for listener in server.listeners] == ["native"]
        assert config_value(FACTS["port"], server.options) == "0"
        socket.create_connection((server.options.addr.host, server.options.addr.port)).close()
    finally:
        server.close()


def test_close_ends_connections_and_can_be_repeated(running: Server) -> None:
    with connect(running) as wire:
        wire.call("PING")
        running.close()
        assert wire.rest() == b""
    running.close()


def test_an_address_in_use_is_raised_where_it_was_started(running: Server) -> None:
    with pytest.raises(StartError, match="address already in use"):
        Server(options(resp_addr=running.options.resp_addr)).start_thread()


def test_a_stop_before_the_start(store: Store) -> None:
    server = Server(options(), store=store)
    server.stop()
    server.start_thread()
    server.close()


def test_many_servers_one_after_another(store: Store) -> None:
    begun = threading.active_count()
    for _ in range(20):
        server = Server(options(), store=store)
        server.start_thread()
        with connect(server) as wire:
            wire.call("INCR", "n")
        server.close()
    assert threading.active_count() == begun
    server = Server(options(), store=store)
    server.start_thread()
    with connect(server) as wire:
        assert wire.call("GET", "n") == b"$2\r\n20\r\n"
    server.close()


def test_it_runs_on_a_loop_of_the_caller(store: Store) -> None:
    async def main() -> bytes:
        server = Server(options(), store=store)
        serving = asyncio.ensure_future(server.serve())
        await asyncio.wrap_future(server.ready)
        reply = await asyncio.to_thread(ping, server)
        server.stop()
        await serving
        return reply

    def ping(server: Server) -> bytes:
        with connect(server) as wire:
            return wire.call("PING")

    assert asyncio.run(main()) == b"+PONG\r\n"


def test_a_handler_that_fails_is_answered_and_logged(
    running: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(tellstone.server.HANDLERS, "info", broken)
    with connect(running) as wire, caplog.at_level("ERROR", "tellstone"):
        assert wire.call("INFO") == b"-ERR internal error, see the log\r\n"
        assert wire.call("PING") == b"+PONG\r\n"
    assert "ZeroDivisionError" in caplog.text


def test_a_sleeper_holds_up_nobody_else(running: Server) -> None:
    with connect(running) as sleeper, connect(running) as wire:
        sleeper.send(b"DEBUG SLEEP 0.5\r\n")
        assert wire.call("PING") == b"+PONG\r\n"
        assert value(wire.call("INFO", "clients")).count("connected_clients:2") == 1
        assert sleeper.reply() == b"+OK\r\n"


def test_settings_reach_the_reactors(running: Server) -> None:
    with connect(running) as wire:
        assert wire.call("CONFIG", "SET", "maxclients", "1", "timeout", "3600") == b"+OK\r\n"
        with connect(running) as second, pytest.raises(Closed):
            assert second.reply() == b"-ERR max number of clients reached\r\n"
            second.call("PING")
        assert wire.call("CONFIG", "SET", "maxclients", "100", "proto-max-bulk-len", "2kb") == b"+OK\r\n"
        with connect(running) as second:
            second.send(b"*2\r\n$4\r\nECHO\r\n$4096\r\n")
            assert second.rest() == b"-ERR Protocol error: invalid bulk length\r\n"
        assert running.store.max_value == 2048
    assert running.options.timeout == timedelta(hours=1)


def test_more_clients_than_files_are_refused_while_it_runs(running: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tellstone.server, "raise_file_limit", lambda wanted: min(wanted, 1040))
    with connect(running) as wire:
        reply = wire.call("CONFIG", "SET", "maxclients", "2000", "timeout", "7")
        assert reply.startswith(b"-ERR CONFIG SET failed (possibly related to argument 'maxclients') - The operating")
        assert reply.endswith(b"clients, try with 1000\r\n")
        assert value(wire.call("CONFIG", "GET", "maxclients", "timeout")) == ["maxclients", "10000", "timeout", "0"]


def test_few_files_mean_few_clients(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tellstone.server, "raise_file_limit", lambda wanted: 50)
    server = Server(options(max_clients=100), store=store)
    with caplog.at_level("WARNING", "tellstone"):
        server.start_thread()
    assert server.options.max_clients == 10
    assert "fewer clients than asked for" in caplog.text
    server.close()


def test_no_files_at_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tellstone.server, "raise_file_limit", lambda wanted: 32)
    with pytest.raises(StartError, match="raise it"):
        Server(options(), store=store).start_thread()


def test_rates_and_counters(running: Server) -> None:
    with connect(running) as wire:
        wire.pipeline([("GET", "k")] * 1000)
        assert running.counters()["commands"] >= 1000
        assert wire.call("CONFIG", "RESETSTAT") == b"+OK\r\n"
        text = value(wire.call("INFO", "stats"))
        assert "keyspace_misses:0\r\n" in text
        assert running.counters()["commands"] < 10


@pytest.mark.parametrize(("threads", "shards"), [(1, 8), (2, 8), (3, 16), (4, 16), (8, 32), (100, 512), (999, 1024)])
def test_automatic_shards(threads: int, shards: int) -> None:
    assert automatic_shards(threads) == shards
