"""Client against a real server, against its death, and against servers that do not keep to the protocol."""

from __future__ import annotations

import os
import random
import signal
import socket
import ssl
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from clients.fake import Fake, Peer
from clients.traffic import Ledger, native_port
from frames import AUTH, AUTH_ERR, AUTH_OK, frame, response
from servers import Server, free_port

import tellstone
from tellstone import (
    ArgumentError,
    AuthenticationError,
    BufferSizeError,
    Client,
    ClosedError,
    ConnectError,
    ConnectionLostError,
    DataError,
    Engine,
    ProtocolError,
    ResponseError,
    TimedOutError,
)

PEM = Path(__file__).with_name("localhost.pem")
BIG = random.Random(1).randbytes(3_000_000)


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(port=native_port(server)) as made:
        made.execute("FLUSHALL")
        yield made


def connections(client: Client) -> set[str]:
    """The numbers of the connections of the native protocol that the server has."""
    return {
        line["id"] for line in client.execute("CLIENT", "LIST") if line["laddr"].endswith(f":{client.address.port}")
    }


# What it does


def test_values(client: Client) -> None:
    for value in (b"", b"x", b"\r\n", bytes(range(256)), BIG):
        assert client.set(b"k", value) is True and client.get("k") == value
    for value, stored in (
        ("ü", "ü".encode()),
        (5, b"5"),
        (-1.5, b"-1.5"),
        (bytearray(b"a"), b"a"),
        (array("B", [65]), b"A"),
    ):
        assert client.set("k", value) and client.get(memoryview(b"k")) == stored
    assert client.delete("k") is None and client.get("k") is None and client.delete("k") is None
    assert client.ping() is True


def test_times_to_live_and_conditions(client: Client) -> None:
    assert client.set("k", 1, ttl=5) and 4000 < client.execute("PTTL", "k") <= 5000
    assert client.set("k", 2, timedelta(hours=1)) and client.execute("TTL", "k") in (3599, 3600)
    assert client.set("k", 3, keep_ttl=True) and client.execute("TTL", "k") in (3599, 3600)
    assert client.set("k", 4) and client.execute("TTL", "k") == -1
    assert client.set("k", 5, nx=True) is False and client.set("n", 5, nx=True, ttl=9) is True
    assert client.set("k", 6, xx=True) is True and client.set("missing", 6, xx=True) is False
    assert client.set("short", "x", ttl=0.001)
    time.sleep(0.01)
    assert client.get("short") is None
    with pytest.raises(ResponseError, match="EMPTY_KEY"):
        client.set("", "x")


COMMANDS: list[tuple[Any, ...]] = [
    ("SET", "s", "text", "EX", 100),
    ("SET", "s", "other", "NX"),
    ("SET", "s", "other", "GET"),
    ("GET", "s"),
    ("get", b"missing"),
    ("INCR", "s"),
    ("INCRBYFLOAT", "f", 1.5),
    ("MSET", "a", 1, "b", 2),
    ("MGET", "a", "missing", "b"),
    ("EXISTS", "a", "b", "c"),
    ("EXPIRE", "a", 100),
    ("PERSIST", "a"),
    ("TYPE", "a"),
    ("SCAN", 0, "COUNT", 1000),
    ("SETBIT", "bits", 7, 1),
    ("BITFIELD", "bits", "GET", "u8", 0),
    ("COMMAND", "INFO", "get"),
    ("COMMAND GETKEYS", "GET", "x"),
    ("CONFIG GET", "maxmemory*"),
    ("CONFIG", "GET", "databases"),
    ("CLIENT", "GETNAME"),
    ("ECHO", b"\xff\r\n"),
    ("PING",),
    ("LCS", "a", "b", "IDX"),
    ("OBJECT", "ENCODING", "a"),
    ("DBSIZE",),
    ("NO", "SUCH"),
    ("GET",),
    ("EXPIRE", "a", "x"),
    ("FLUSHALL",),
]


def test_commands_answer_as_those_of_an_engine(client: Client) -> None:
    def answer(execute: Callable[..., Any], words: tuple[Any, ...]) -> Any:
        try:
            return execute(*words)
        except tellstone.Error as failure:
            return type(failure), str(failure)

    with Engine() as engine:
        for words in COMMANDS:
            assert answer(client.execute, words) == answer(engine.execute, words), words


def test_pipeline(client: Client) -> None:
    with client.pipeline() as pipe:
        pipe.set("a", 1).get("a").execute("INCR", "a").set("a", 5, nx=True).delete("a").get("a").ping()
        assert len(pipe) == 7
    assert pipe.results == [True, b"1", 2, False, None, None, True]
    assert pipe.run() == [] and client.pipeline().run() == []
    pipe.get("a")
    assert pipe.run() == [None]
    with pytest.raises(RuntimeError), client.pipeline() as pipe:
        pipe.set("a", 1)
        raise RuntimeError
    assert client.get("a") is None and len(pipe) == 0


def test_errors_in_a_pipeline(client: Client) -> None:
    client.set("text", "x")
    with pytest.raises(ResponseError, match="not an integer"), client.pipeline() as pipe:
        pipe.set("a", 1).execute("INCR", "text").execute("NOSUCH").get("a")
    assert [type(result) for result in pipe.results] == [bool, ResponseError, ResponseError, bytes]
    with client.pipeline(raise_on_error=False) as pipe:
        pipe.execute("INCR", "text").get("a")
    assert isinstance(pipe.results[0], ResponseError) and pipe.results[1] == b"1"
    with pytest.raises(DataError), client.pipeline() as pipe:
        pipe.set("a", 2).set("b", None)  # type: ignore[arg-type]
    assert client.get("a") == b"1"


def test_a_long_pipeline_and_a_server_that_must_be_listened_to(client: Client) -> None:
    """More requests and more answers than sockets hold, so that both sides have to go on reading."""
    client.set("k", BIG[:100_000])
    with client.pipeline() as pipe:
        for n in range(1500):
            pipe.get("k").set(f"k{n}", BIG[: n * 7])
    assert all(value == BIG[:100_000] for value in pipe.results[::2]) and all(pipe.results[1::2])
    assert client.get("k1499") == BIG[: 1499 * 7]


def test_a_pipeline_that_changes_its_connection_keeps_that_to_itself(client: Client) -> None:
    before = connections(client)
    with client.pipeline() as pipe:
        pipe.execute("SELECT", 3).set("there", 1).execute("DBSIZE").execute("CLIENT", "ID")
    assert pipe.results[:3] == [True, True, 1]
    assert client.get("there") is None and str(pipe.results[3]) in before  # nobody else was using it
    assert str(pipe.results[3]) not in connections(client)
    with Client(port=client.address.port, db=3) as other:
        assert other.get("there") == b"1" and other.delete("there") is None
    with pytest.raises(ArgumentError, match="share connections"):
        client.execute("SELECT", 3)


def test_into_a_buffer(client: Client) -> None:
    client.set("k", BIG)
    for buffer in (bytearray(len(BIG)), array("B", bytes(len(BIG) + 5)), memoryview(bytearray(len(BIG) + 2))[1:]):
        assert client.get_into("k", buffer) == len(BIG) and bytes(buffer)[: len(BIG)] == BIG
    buffer = bytearray(b"untouched")
    assert client.get_into("missing", buffer) is None
    assert len(connections(client)) == 1
    with pytest.raises(BufferSizeError) as caught:
        client.get_into("k", buffer)
    assert (caught.value.needed, caught.value.size) == (len(BIG), 9) and buffer == b"untouched"
    assert client.set("k", "short") and client.get_into("k", buffer) == 5 and buffer == b"shortched"
    buffer += b"more"  # nobody holds it
    with pytest.raises(DataError):
        client.get_into("k", b"read-only")
    with pytest.raises(ResponseError):
        client.execute("INCR", "k")
    assert len(connections(client)) == 1


def test_what_does_not_fit_says_what_to_do(client: Client) -> None:
    with pytest.raises(ArgumentError, match=r"set\(\) takes longer values"):
        client.execute("SET", "k", bytes(70_000))
    with pytest.raises(ArgumentError, match="at most 65535 arguments"):
        client.execute("MGET", *["k"] * 70_000)
    with pytest.raises(ArgumentError, match="max_request"):
        client.set("k", bytes(17 << 20))
    assert client.set("k", bytes(70_000)) and len(connections(client)) == 1


def test_options_are_checked() -> None:
    for options in (
        {"host": ""},
        {"port": 0},
        {"host": "unix:"},
        {"host": "unix:/tmp/x", "tls": True},
        {"timeout": 0},
        {"connect_timeout": -1},
        {"connections": 0},
    ):
        with pytest.raises(ArgumentError):
            Client(**options)  # type: ignore[arg-type]
    assert repr(Client("unix:/tmp/x")) == "Client('unix:/tmp/x')" and repr(Client()) == "Client('127.0.0.1:9988')"


# Connections


def test_threads_share_a_client(server: Server) -> None:
    with Client(port=native_port(server), connections=4) as client:

        def work(number: int) -> int:
            ledger = Ledger(f"thread{number}")
            for turn in range(150):
                value = ledger.next_value()
                if turn % 3:
                    client.set(ledger.key, value)
                    ledger.stored = ledger.tried
                    assert client.get(ledger.key) == value.encode()
                else:
                    with client.pipeline() as pipe:
                        pipe.set(ledger.key, value).get(ledger.key).execute("ECHO", value)
                    assert pipe.results == [True, value.encode(), value.encode()]
            return len(connections(client))

        with ThreadPoolExecutor(16) as pool:
            assert max(pool.map(work, range(16))) <= 4


def test_a_connection_that_the_server_has_closed_is_not_used(client: Client) -> None:
    for _ in range(3):
        number = client.execute("CLIENT", "ID")
        with Client(port=client.address.port) as other:
            assert other.execute("CLIENT", "KILL", "ID", number) == 1
        time.sleep(0.01)
        assert client.execute("CLIENT", "ID") > number


def test_all_connections_in_use(server: Server) -> None:
    with Client(port=native_port(server), connections=1, timeout=0.2) as client:
        asleep = threading.Thread(target=lambda: client.execute("DEBUG", "SLEEP", 0.5, timeout=5))
        asleep.start()
        time.sleep(0.05)
        begun = time.monotonic()
        with pytest.raises(ConnectError, match="all 1 connections have been in use"):
            client.get("k")
        assert 0.1 < time.monotonic() - begun < 0.4
        asleep.join()
        assert client.ping()


def test_closed(client: Client) -> None:
    client.close()
    client.close()
    for call in (client.ping, lambda: client.get("k"), lambda: client.pipeline().get("k").run()):
        with pytest.raises(ClosedError):
            call()


def test_over_a_unix_socket(tmp_path: Path) -> None:
    with Engine() as engine, engine.listen(f"unix:{tmp_path}/s", protocol="native"):
        engine["k"] = BIG
        with Client(f"unix:{tmp_path}/s") as client:
            assert client.get("k") == BIG and client.set("j", 1) and engine["j"] == b"1"
    with Client(f"unix:{tmp_path}/s", connect_attempts=1) as client, pytest.raises(ConnectError, match="unix:"):
        client.ping()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_has_connections_of_its_own(client: Client) -> None:
    number = client.execute("CLIENT", "ID")
    child = os.fork()
    if child == 0:
        other = client.execute("CLIENT", "ID")
        os._exit(0 if other != number and client.set("child", other) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert client.execute("CLIENT", "ID") == number and client.get("child") is not None


# Security


def test_tls() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    trusting = ssl.create_default_context(cafile=str(PEM))
    fake = Fake(Peer.serve, wrap=lambda sock: context.wrap_socket(sock, server_side=True))
    with fake, Client("localhost", fake.port, tls=trusting) as client:
        assert client.get("k") == b"k" and client.set("k", BIG) and client.get("x" * 60_000) == b"x" * 60_000
        buffer = bytearray(60_000)
        assert client.get_into("y" * 60_000, buffer) == 60_000 and buffer == b"y" * 60_000
        with client.pipeline() as pipe:
            for n in range(1000):
                pipe.get(f"{n}" * 30)
        assert pipe.results == [b"%d" % n * 30 for n in range(1000)]
        assert len(fake.peers) == 1
        fake.peers[0].socket.shutdown(socket.SHUT_RDWR)
        time.sleep(0.05)
        assert client.get("k") == b"k" and len(fake.peers) == 2


def test_an_unknown_certificate_is_refused_at_once() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)

    def refuse(peer: Peer) -> None:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            context.wrap_socket(peer.socket, server_side=True)

    with Fake(refuse) as fake, Client("localhost", fake.port, tls=True) as client:
        with pytest.raises(ConnectError, match="certificate"):
            client.ping()
        assert len(fake.peers) == 1


@pytest.mark.parametrize(("auth", "sent"), [("secret", b"\0\0\0\6secret"), (("me", "secret"), b"\0\2me\0\6secret")])
def test_authentication(auth: Any, sent: bytes) -> None:
    def guard(peer: Peer) -> None:
        request = peer.request()
        assert (request.kind, request.payload) == (AUTH, sent)
        peer.send(frame(AUTH_OK, b"OK"))
        peer.serve()

    with Fake(guard) as fake, Client(port=fake.port, auth=auth) as client:
        assert client.get("k") == b"k"


def test_authentication_that_fails() -> None:
    def refuse(peer: Peer) -> None:
        peer.request()
        peer.send(frame(AUTH_ERR, b"INVALID_AUTH"))

    with Fake(refuse) as fake:
        with Client(port=fake.port, auth="wrong") as client, pytest.raises(AuthenticationError, match="INVALID_AUTH"):
            client.get("k")
        with Client(port=fake.port) as client, pytest.raises(AuthenticationError):
            client.get("k")
        assert len(fake.peers) == 2


# Failures


def test_nobody_listens() -> None:
    with Client(port=free_port(), connect_attempts=3) as client:
        begun = time.monotonic()
        with pytest.raises(ConnectError, match="cannot connect to 127"):
            client.get("k")
        assert 0.07 < time.monotonic() - begun < 2  # two pauses: 25 to 50 ms, 50 to 100 ms
    with Client(port=free_port(), connect_attempts=1000, connect_timeout=0.2) as client:
        begun = time.monotonic()
        with pytest.raises(ConnectError):
            client.get("k")
        assert time.monotonic() - begun < 1


def test_a_server_that_comes_late() -> None:
    port = free_port()
    with Engine() as engine, Client(port=port, connect_attempts=20) as client:
        timer = threading.Timer(0.2, lambda: engine.listen(f"127.0.0.1:{port}", protocol="native"))
        timer.start()
        assert client.set("k", "v") and engine["k"] == b"v"
        timer.join()


def test_a_time_out_ends_the_connection() -> None:
    """The answer that comes late is nobody's."""
    late = threading.Event()

    def answer_late(peer: Peer) -> None:
        request = peer.request()
        late.wait(10)
        peer.answer(request)
        assert peer.gone()

    with Fake(answer_late, Peer.serve) as fake, Client(port=fake.port, timeout=0.1) as client:
        begun = time.monotonic()
        with pytest.raises(TimedOutError, match=r"in 0\.1 s"):
            client.get("first")
        assert 0.09 < time.monotonic() - begun < 1
        late.set()
        assert client.get("second") == b"second"
        assert len(fake.peers) == 2


@pytest.mark.parametrize("late", ["reading", "writing", "a part", "the greeting"])
def test_silence(late: str) -> None:
    """Whatever the server stops at, the call ends in time."""

    def script(peer: Peer) -> None:
        if late == "writing":
            time.sleep(0.3)
            return
        peer.request()
        if late == "a part":
            for _ in range(10):  # each of them in time, and the answer not
                peer.send(b"\0" if _ else b"\0\0\1\0\3")
                time.sleep(0.06)
        assert peer.gone()

    auth = "x" if late == "the greeting" else None
    with Fake(script) as fake, Client(port=fake.port, timeout=0.2, connect_timeout=0.3, auth=auth) as client:
        begun = time.monotonic()
        with pytest.raises(ConnectError if auth else TimedOutError):
            if late == "writing":
                client.set("k", bytes(12 << 20))
            else:
                client.get("k")
        assert 0.1 < time.monotonic() - begun < 0.58  # the parts last longer


def test_a_time_out_of_one_call(server: Server) -> None:
    with Client(port=native_port(server), timeout=0.1) as client:
        assert client.execute("DEBUG", "SLEEP", 0.2, timeout=5)
        with pytest.raises(TimedOutError):
            client.execute("DEBUG", "SLEEP", 0.3)
        pipe = client.pipeline().execute("DEBUG", "SLEEP", 0.2).get("k")
        assert pipe.run(timeout=None) == [b"OK", None]
        assert client.ping()


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", ProtocolError),
        (b"-ERR unknown command\r\n", ProtocolError),
        (b"\0\0\0\0", ProtocolError),
        (b"\x7f\xff\xff\xff\3", ProtocolError),
        (frame(9, b"x"), ProtocolError),
        (frame(AUTH_OK, b"OK"), ProtocolError),
        (response(b"x")[:3], ConnectionLostError),
        (response(b"x" * 1000)[:300], ConnectionLostError),
        (response(BIG)[:300_000], ConnectionLostError),
        (b"", ConnectionLostError),
    ],
)
def test_garbage_and_halves(sent: bytes, kind: type[Exception]) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.send(sent)

    def get_into(client: Client) -> object:
        return client.get_into("k", bytearray(len(BIG)))

    for call in (lambda client: client.get("k"), lambda client: client.execute("X"), get_into):
        with Fake(script, Peer.serve) as fake, Client(port=fake.port) as client:
            with pytest.raises(kind):
                call(client)
            assert client.get("next") == b"next" and len(fake.peers) == 2


def test_more_answers_than_requests() -> None:
    """What comes too much is never the answer to the next request. Together with an answer it spoils that, too."""

    def at_once(peer: Peer) -> None:
        peer.request()
        peer.send(response(b"right") + response(b"wrong"))
        assert peer.gone()

    def later(peer: Peer) -> None:
        peer.request()
        peer.send(response(b"right"))
        time.sleep(0.03)
        peer.send(response(b"wrong"))
        assert peer.gone()

    with Fake(at_once, later, Peer.serve) as fake, Client(port=fake.port) as client:
        with pytest.raises(ProtocolError, match="nobody has asked for"):
            client.get("k")
        assert client.get("k") == b"right"
        time.sleep(0.1)
        assert client.get("k") == b"k" and len(fake.peers) == 3


def test_a_pipeline_that_is_cut_off() -> None:
    def script(peer: Peer) -> None:
        for _ in range(5):
            peer.answer(peer.request())

    with Fake(script, Peer.serve) as fake, Client(port=fake.port) as client:
        pipe = client.pipeline()
        for n in range(10):
            pipe.get(f"{n}")
        with pytest.raises(ConnectionLostError, match="may have been carried out"):
            pipe.run()
        assert pipe.results == [] and len(pipe) == 0
        assert client.get("next") == b"next"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_an_interrupted_call() -> None:
    """A signal's exception comes out at once, and the connection, which still owes an answer, is not used again."""

    class Interrupt(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise Interrupt

    def script(peer: Peer) -> None:
        peer.request()
        assert peer.gone()

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with Fake(script, Peer.serve) as fake, Client(port=fake.port, timeout=None) as client:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(Interrupt):
                client.get("first")
            assert client.get("second") == b"second" and len(fake.peers) == 2
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_signal_that_raises_nothing_changes_nothing(server: Server) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: heard.append(number))
    try:
        with Client(port=native_port(server)) as client:
            signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
            assert client.execute("DEBUG", "SLEEP", 0.3)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert heard
