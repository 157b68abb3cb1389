"""AsyncClient against a real server, against its death, and against servers that do not keep to the protocol."""

from __future__ import annotations

import asyncio
import random
import ssl
import threading
import time
from pathlib import Path

import pytest
from clients.fake import Fake, Peer
from clients.traffic import Ledger, loops, native_port, run
from frames import AUTH_ERR, AUTH_OK, error, frame, response
from servers import Server, free_port

import tellstone
from tellstone import (
    ArgumentError,
    AsyncClient,
    AuthenticationError,
    BufferSizeError,
    ClosedError,
    ConnectError,
    ConnectionLostError,
    DataError,
    Engine,
    ProtocolError,
    ResponseError,
    TimedOutError,
)
from tellstone.client import aio

PEM = Path(__file__).with_name("localhost.pem")
BIG = random.Random(1).randbytes(3_000_000)


async def connections(client: AsyncClient) -> list[str]:
    """The numbers of the connections of the native protocol that the server has."""
    port = f":{client.address.port}"
    return [line["id"] for line in await client.execute("CLIENT", "LIST") if line["laddr"].endswith(port)]


# What it does


@pytest.mark.parametrize("loop", loops())
def test_everything(server: Server, loop: str) -> None:
    async def work(client: AsyncClient) -> None:
        await client.execute("FLUSHALL")
        for value in (b"", b"x", bytes(range(256)), BIG):
            assert await client.set(b"k", value) is True and await client.get("k") == value
        buffer = bytearray(len(BIG))
        assert await client.get_into("k", buffer) == len(BIG) and buffer == BIG
        with pytest.raises(BufferSizeError):
            await client.get_into("k", bytearray(10))
        assert await client.get_into("missing", buffer) is None and buffer == BIG
        assert await client.delete("k") is None and await client.get("k") is None
        assert await client.set("k", 1, ttl=5, nx=True) and await client.execute("TTL", "k") in (4, 5)
        assert not await client.set("k", 1, nx=True) and await client.ping() is True
        with pytest.raises(ResponseError, match="not an integer"):
            await client.execute("INCR", "k", timeout=3), await client.set("k", "x"), await client.execute("INCR", "k")
        assert await client.execute("CONFIG GET", "databases") == {"databases": "16"}
        for call in (client.get(5), client.execute("SELECT", 1), client.execute("ECHO", bytes(70_000))):  # type: ignore[arg-type]
            with pytest.raises((ArgumentError, DataError)):
                await call
        assert len(await connections(client)) == 1

    run(work, native_port(server), loop)


def test_pipeline(server: Server) -> None:
    async def work(client: AsyncClient) -> None:
        await client.execute("FLUSHALL")
        async with client.pipeline() as pipe:
            pipe.set("a", 1).get("a").execute("INCR", "a").delete("a").get("a").ping()
        assert pipe.results == [True, b"1", 2, None, None, True]
        with pytest.raises(ResponseError):
            async with client.pipeline() as pipe:
                pipe.set("a", "text").execute("INCR", "a").get("a")
        assert pipe.results[::2] == [True, b"text"] and isinstance(pipe.results[1], ResponseError)
        async with client.pipeline(raise_on_error=False) as pipe:
            pipe.execute("INCR", "a")
        assert isinstance(pipe.results[0], ResponseError) and await pipe.run() == []
        with pytest.raises(RuntimeError):
            async with client.pipeline() as pipe:
                pipe.delete("a")
                raise RuntimeError
        assert await client.get("a") == b"text"
        async with client.pipeline() as pipe:
            pipe.execute("SELECT", 3).set("there", 1).get("there").delete("there")
        assert pipe.results == [True, True, b"1", None] and await client.get("there") is None
        assert len(await connections(client)) == 1

    run(work, native_port(server))


@pytest.mark.parametrize("loop", loops())
def test_many_tasks_over_one_connection(server: Server, loop: str) -> None:
    async def use(client: AsyncClient, number: int) -> None:
        ledger = Ledger(f"task{number}")
        for turn in range(10):
            value = ledger.next_value()
            if turn % 3:
                assert await client.set(ledger.key, value) and await client.get(ledger.key) == value.encode()
            else:
                pipe = client.pipeline().set(ledger.key, value).get(ledger.key)
                assert await pipe.run() == [True, value.encode()]
            assert await client.execute("ECHO", value) == value.encode()

    async def work(client: AsyncClient) -> None:
        await asyncio.gather(*(use(client, number) for number in range(200)))
        assert len(await connections(client)) == 1

    run(work, native_port(server), loop)


def test_calls_of_one_turn_go_out_in_one_write(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    flush = aio.Connection._flush

    def counted(connection: aio.Connection) -> None:
        writes.append(connection.exchange.owing)
        flush(connection)

    async def work(client: AsyncClient) -> None:
        await client.ping()
        monkeypatch.setattr(aio.Connection, "_flush", counted)
        await asyncio.gather(*(client.get(f"k{n}") for n in range(100)))
        assert writes == [100]

    run(work, native_port(server))


def test_several_connections(server: Server) -> None:
    async def work(client: AsyncClient) -> None:
        asleep = [asyncio.create_task(client.execute("DEBUG", "SLEEP", 0.3)) for _ in range(2)]
        await asyncio.sleep(0.05)
        for _ in range(20):
            await client.get("k")
        assert not any(task.done() for task in asleep)  # it went over the one that has nothing to do
        await asyncio.gather(*asleep, *(client.get("k") for _ in range(100)))
        assert len(await connections(client)) == 3

    run(work, native_port(server), connections=3)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_several_loops_one_behind_the_other(server: Server) -> None:
    """A connection ends with its loop, and the client has another one in the next."""
    client = AsyncClient(port=native_port(server))

    async def number() -> int:
        found: int = await client.execute("CLIENT", "ID")
        return found

    first, second = asyncio.run(number()), asyncio.run(number())
    assert first < second


def test_closed(server: Server) -> None:
    async def work(client: AsyncClient) -> None:
        asleep = asyncio.create_task(client.execute("DEBUG", "SLEEP", 0.1))
        await asyncio.sleep(0.02)
        await client.close()
        await client.close()
        with pytest.raises(ClosedError):
            await asleep
        for call in (client.ping(), client.pipeline().get("k").run(), client.pipeline().execute("SELECT", 1).run()):
            with pytest.raises(ClosedError):
                await call

    run(work, native_port(server))


def test_over_a_unix_socket(tmp_path: Path) -> None:
    async def work() -> None:
        async with AsyncClient(f"unix:{tmp_path}/s") as client:
            assert await client.get("k") == BIG

    with Engine() as engine, engine.listen(f"unix:{tmp_path}/s", protocol="native"):
        engine["k"] = BIG
        asyncio.run(work())


@pytest.mark.parametrize("loop", loops())
def test_tls(loop: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)

    async def work(client: AsyncClient) -> None:
        answers = await asyncio.gather(*(client.get(f"{n}" * 30) for n in range(1000)))
        assert answers == [b"%d" % n * 30 for n in range(1000)]
        assert await client.set("k", BIG) and await client.get("x" * 60_000) == b"x" * 60_000

    async def unknown(client: AsyncClient) -> None:
        with pytest.raises(ConnectError, match="certificate"):
            await client.ping()

    with Fake(Peer.serve, wrap=lambda sock: context.wrap_socket(sock, server_side=True)) as fake:
        run(work, fake.port, loop, tls=ssl.create_default_context(cafile=str(PEM)))
        assert len(fake.peers) == 1

    def refuse(peer: Peer) -> None:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            context.wrap_socket(peer.socket, server_side=True)

    with Fake(refuse) as fake:
        run(unknown, fake.port, loop, tls=True)
        assert len(fake.peers) == 1


def test_authentication() -> None:
    def guard(peer: Peer) -> None:
        right = peer.request().payload.endswith(b"right")
        peer.send(frame(AUTH_OK, b"OK") if right else frame(AUTH_ERR, b"INVALID_AUTH"))
        peer.serve()

    async def right(client: AsyncClient) -> None:
        assert await client.get("k") == b"k"

    async def wrong(client: AsyncClient) -> None:
        failures = await asyncio.gather(*(client.get("k") for _ in range(3)), return_exceptions=True)
        assert all(isinstance(failure, AuthenticationError) for failure in failures), failures

    with Fake(guard) as fake:
        run(right, fake.port, auth=("me", "right"))
        run(wrong, fake.port, auth="wrong")


# Cancellation


@pytest.mark.parametrize("loop", loops())
def test_cancelled_at_any_point(server: Server, loop: str) -> None:
    """Nobody gets the answer of a task that has been cancelled, and nothing is late or lost because of it."""
    chance = random.Random(2)

    async def use(client: AsyncClient, number: int) -> str:
        buffer = bytearray(100)
        for turn in range(20):
            word = f"{number}:{turn}"
            kind = chance.randrange(4)
            if kind == 0:
                assert await client.execute("ECHO", word) == word.encode()
            elif kind == 1:
                assert await client.pipeline().execute("ECHO", word).ping().run() == [word.encode(), True]
            elif kind == 2:
                assert await client.set(word, word * 5)
                assert await client.get_into(word, buffer) == len(word) * 5
                assert buffer[: len(word) * 5] == (word * 5).encode()
            else:
                await asyncio.sleep(0)
        return "done"

    async def work(client: AsyncClient) -> None:
        tasks = [asyncio.create_task(use(client, number)) for number in range(100)]
        victims = chance.sample(tasks, 60)
        while victims:
            for _ in range(chance.randrange(3)):
                await asyncio.sleep(0)
            victims.pop().cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert {str(end) if isinstance(end, str) else type(end).__name__ for end in ends} == {"done", "CancelledError"}
        assert len(await connections(client)) == 1

    for _ in range(3):
        run(work, native_port(server), loop)


@pytest.mark.parametrize("loop", loops())
def test_a_call_that_begins_as_the_connection_opens(server: Server, loop: str) -> None:
    """In every turn of the loop another call begins, so one does between the end of the opening and its callbacks."""

    async def work(client: AsyncClient) -> None:
        calls: list[asyncio.Task[object]] = []
        while not (calls and calls[0].done()):
            calls.append(asyncio.create_task(client.execute("PING")))
            await asyncio.sleep(0)
        assert set(await asyncio.gather(*calls)) == {True}
        assert len(await connections(client)) == 1

    ended = threading.Event()

    def session() -> None:
        run(work, native_port(server), loop)
        ended.set()

    threading.Thread(target=session, daemon=True).start()  # a loop that spins cannot be cancelled from within
    assert ended.wait(30)


def test_a_cancelled_buffer_is_left_alone() -> None:
    go_on = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(response(BIG)[:500_000])
        go_on.wait(10)
        peer.send(response(BIG)[500_000:])
        peer.serve()

    async def work(client: AsyncClient) -> None:
        buffer = bytearray(len(BIG))
        task = asyncio.create_task(client.get_into("k", buffer))
        await asyncio.sleep(0.1)
        assert any(buffer)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        after = asyncio.create_task(client.get("after"))
        buffer[:] = bytes(len(BIG))
        buffer.append(0)
        go_on.set()
        assert await after == b"after" and not any(buffer)

    with Fake(script) as fake:
        run(work, fake.port)
        assert len(fake.peers) == 1


def test_a_connection_is_made_though_who_wanted_it_is_gone() -> None:
    async def work(client: AsyncClient) -> None:
        first = asyncio.create_task(client.get("first"))
        second = asyncio.create_task(client.get("second"))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == b"second"

    with Fake(Peer.serve) as fake:
        run(work, fake.port)
        assert len(fake.peers) == 1


# Failures


def test_nobody_listens() -> None:
    async def work(client: AsyncClient) -> None:
        begun = time.monotonic()
        failures = await asyncio.gather(*(client.get("k") for _ in range(10)), return_exceptions=True)
        assert all(isinstance(failure, ConnectError) for failure in failures) and len(set(map(id, failures))) == 10
        assert 0.07 < time.monotonic() - begun < 2  # two pauses that all of them share

    run(work, free_port(), connect_attempts=3)


def test_a_server_that_comes_late() -> None:
    async def work(client: AsyncClient) -> None:
        assert await client.set("k", "v")

    port = free_port()
    with Engine() as engine:
        timer = threading.Timer(0.2, lambda: engine.listen(f"127.0.0.1:{port}", protocol="native"))
        timer.start()
        run(work, port, connect_attempts=20)
        timer.join()
        assert engine["k"] == b"v"


def test_a_server_that_turns_us_away_says_why() -> None:
    async def work(client: AsyncClient) -> None:
        async with AsyncClient(port=client.address.port, connect_attempts=2) as other:
            await client.ping()
            with pytest.raises((ConnectError, ConnectionLostError, ResponseError), match=r"max number of clients|lost"):
                await other.ping()

    with Engine() as engine, engine.listen("127.0.0.1:0", protocol="native", max_clients=1) as listening:
        run(work, int(listening.address.rpartition(":")[2]))


def test_a_server_that_hangs_up_at_once() -> None:
    async def work(client: AsyncClient) -> None:
        with pytest.raises((ConnectError, ConnectionLostError, ResponseError)):
            await client.get("k")

    with Fake(lambda peer: peer.send(error(b"ERR not today"))) as fake:
        run(work, fake.port, connect_attempts=3)
        assert len(fake.peers) <= 3


@pytest.mark.parametrize("loop", loops())
def test_exactly_what_was_under_way_fails(loop: str) -> None:
    hang_up = threading.Event()

    def script(peer: Peer) -> None:
        for _ in range(4):
            peer.answer(peer.request())
        hang_up.wait(10)

    async def work(client: AsyncClient) -> None:
        tasks = [asyncio.create_task(client.get(f"{n}")) for n in range(10)]
        assert await asyncio.gather(*tasks[:4]) == [b"0", b"1", b"2", b"3"]
        hang_up.set()
        failures = await asyncio.gather(*tasks[4:], return_exceptions=True)
        assert all(type(failure) is ConnectionLostError for failure in failures), failures
        assert await client.get("next") == b"next"

    with Fake(script, Peer.serve) as fake:
        run(work, fake.port, loop)
        assert len(fake.peers) == 2


def test_what_has_not_been_sent_is_sent_again() -> None:
    """The server reads nothing, so that some of the requests are still with us when it hangs up."""
    hang_up = threading.Event()
    value = bytes(100_000)

    async def work(client: AsyncClient) -> None:
        tasks = [asyncio.create_task(client.set(f"{n}", value)) for n in range(200)]
        await asyncio.sleep(0.2)
        hang_up.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        kinds = [type(end) for end in ends]
        lost = kinds.count(ConnectionLostError)
        assert 0 < lost < 200 and kinds == [ConnectionLostError] * lost + [bool] * (200 - lost)

    with Fake(lambda peer: bool(hang_up.wait(10)), Peer.serve) as fake:
        run(work, fake.port)
        assert len(fake.peers) == 2


def test_requests_wait_when_the_server_does_not_read() -> None:
    read = threading.Event()
    value = bytes(50_000)

    def script(peer: Peer) -> None:
        read.wait(10)
        peer.serve()

    async def work(client: AsyncClient) -> None:
        tasks = [asyncio.create_task(client.set(f"{n}", value)) for n in range(500)]
        await asyncio.sleep(0.1)
        (connection,) = client._open
        assert connection.full and connection.exchange.unsent < aio.UNSENT_MAX + len(value) + 1000
        assert connection.exchange.owing < 300
        for task in tasks[100:450:3]:  # some wait for room, some for an answer
            task.cancel()
        read.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        kept = [end for n, end in enumerate(ends) if n not in range(100, 450, 3)]
        assert kept == [True] * len(kept) and not connection._line

    with Fake(script) as fake:
        run(work, fake.port)


def test_many_more_requests_than_may_be_under_way(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio, "OWING_MAX", 10)

    async def work(client: AsyncClient) -> None:
        async def use(number: int) -> None:
            for turn in range(5):
                word = f"{number}:{turn}"
                assert await client.execute("ECHO", word) == word.encode()
                assert client._open[0].exchange.owing <= 10

        await asyncio.gather(*(use(number) for number in range(100)))

    run(work, native_port(server))


def test_a_time_out_ends_the_connection() -> None:
    """The answer that comes late is nobody's; who was behind it has lost the connection."""

    def script(peer: Peer) -> None:
        requests = [peer.request(), peer.request()]
        time.sleep(0.25)
        for request in requests:
            peer.answer(request)

    async def work(client: AsyncClient) -> None:
        begun = time.monotonic()
        first = asyncio.create_task(client.get("first"))
        patient = asyncio.create_task(client.execute("PATIENT", timeout=None))
        with pytest.raises(TimedOutError):
            await first
        assert 0.09 < time.monotonic() - begun < 0.24
        with pytest.raises(ConnectionLostError, match="in time"):
            await patient
        assert await client.get("second") == b"second"
        await asyncio.sleep(0.25)
        assert await client.get("third") == b"third"

    with Fake(script, Peer.serve) as fake:
        run(work, fake.port, timeout=0.1)
        assert len(fake.peers) == 2


def test_a_time_out_of_one_call(server: Server) -> None:
    async def work(client: AsyncClient) -> None:
        assert await client.execute("DEBUG", "SLEEP", 0.15, timeout=5)
        begun = time.monotonic()
        with pytest.raises(TimedOutError):
            await client.execute("DEBUG", "SLEEP", 0.3)
        assert time.monotonic() - begun < 0.2
        assert await client.pipeline().execute("DEBUG", "SLEEP", 0.15).get("k").run(timeout=None) == [b"OK", None]
        with pytest.raises(TimedOutError):
            await client.execute("DEBUG", "SLEEP", 0.1, timeout=0.02)
        assert await client.ping()

    run(work, native_port(server), timeout=0.1)


def test_a_greeting_that_is_not_answered() -> None:
    async def work(client: AsyncClient) -> None:
        begun = time.monotonic()
        with pytest.raises(ConnectError, match="too long"):
            await client.get("k")
        assert 0.1 < time.monotonic() - begun < 1

    with Fake(Peer.gone) as fake:
        run(work, fake.port, auth="x", connect_timeout=0.15)


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", ProtocolError),
        (b"\0\0\0\0", ProtocolError),
        (b"\x7f\xff\xff\xff\3", ProtocolError),
        (frame(9, b"x"), ProtocolError),
        (response(b"0") + frame(AUTH_OK, b"OK"), ProtocolError),
        (response(b"0") + response(b"1") + response(b"2") + response(b"3"), ProtocolError),
        (response(b"0") + response(b"x" * 1000)[:300], ConnectionLostError),
        (response(b"0") + response(BIG)[:300_000], ConnectionLostError),
        (b"", ConnectionLostError),
    ],
)
@pytest.mark.parametrize("loop", loops())
def test_garbage_and_halves(sent: bytes, kind: type[Exception], loop: str) -> None:
    def script(peer: Peer) -> None:
        for _ in range(3):
            peer.request()
        peer.send(sent)

    async def work(client: AsyncClient) -> None:
        ends = await asyncio.gather(*(client.get("k") for n in range(3)), return_exceptions=True)
        right = [end for end in ends if isinstance(end, bytes)]
        assert right == [b"0", b"1", b"2"][: len(right)]
        assert all(type(end) is kind for end in ends[len(right) :]), ends
        if len(right) == 3:  # and one too many
            await asyncio.sleep(0.02)
        assert await client.get("next") == b"next"

    with Fake(script, Peer.serve) as fake:
        run(work, fake.port, loop)
        assert len(fake.peers) == 2


def test_names() -> None:
    assert tellstone.AsyncClient is AsyncClient and repr(AsyncClient()) == "AsyncClient('127.0.0.1:9988')"
