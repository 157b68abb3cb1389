"""Bytes in, bytes out: requests cut anywhere, pipelines, big values, half-closed and broken connections."""

from __future__ import annotations

import os
import socket
import struct
import time
from pathlib import Path

import pytest
from net.serving import CONTROL, CONTROL_REPLY, PONG, Served, small_buffers, until
from wire import Wire, encode

pytestmark = pytest.mark.core

REQUESTS = (
    encode("SET", "key", "v\r\n1") + b"PING\r\n" + encode("GET", "key") + encode(*CONTROL) + encode("GET", "none")
)
REPLIES = b"+OK\r\n" + PONG + b"$4\r\nv\r\n1\r\n" + CONTROL_REPLY + b"$-1\r\n"


def exactly(wire: Wire, length: int) -> bytes:
    data = wire.input.read(length)
    assert len(data) == length
    return data


def send_and_wait(served: Served, wire: Wire, data: bytes) -> None:
    """Send bytes and wait until a reactor has read them, so that what follows comes in a read of its own."""
    before = served.figure("input_bytes")
    wire.send(data)
    until(lambda: served.figure("input_bytes") >= before + len(data))


def reset(wire: Wire) -> None:
    """Close with a reset instead of a goodbye."""
    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()


@pytest.mark.parametrize("cut", range(1, len(REQUESTS)))
def test_requests_cut_in_two(cut: int, cut_server: Served) -> None:
    with cut_server.connect() as wire:
        send_and_wait(cut_server, wire, REQUESTS[:cut])
        wire.send(REQUESTS[cut:])
        assert exactly(wire, len(REPLIES)) == REPLIES


@pytest.fixture(scope="module")
def cut_server(driver: str):
    with Served() as served:
        yield served


def test_requests_byte_by_byte(served: Served, wire: Wire) -> None:
    for byte in REQUESTS:
        send_and_wait(served, wire, bytes([byte]))
    assert exactly(wire, len(REPLIES)) == REPLIES
    until(lambda: served.figure("buffer_bytes") == 0)


def test_a_pipeline_that_is_not_read_until_it_is_sent(served: Served, wire: Wire) -> None:
    assert wire.call("SET", "key", "v" * 100) == b"+OK\r\n"
    count = 100_000
    wire.send(encode("GET", "key") * count)
    reply = b"$100\r\n" + b"v" * 100 + b"\r\n"
    assert exactly(wire, count * len(reply)) == reply * count
    assert wire.call("PING") == PONG


def test_a_long_pipeline_holds_nobody_up(served: Served, wire: Wire) -> None:
    with Served(threads=1) as served, served.connect() as flood, served.connect() as other:
        assert flood.call("SET", "key", "v" * 1000) == b"+OK\r\n"
        request = encode("GET", "key") * 100_000
        with flood.sending(request):
            slowest = 0.0
            for _ in range(20):
                begun = time.monotonic()
                assert other.call("PING") == PONG
                slowest = max(slowest, time.monotonic() - begun)
            exactly(flood, 100_000 * 1009)
        assert slowest < 1


@pytest.mark.parametrize("size", [32_767, 32_768, 1 << 20, 64 << 20])
def test_big_values(size: int) -> None:
    value = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    with Served(max_request=64 << 20) as served, served.connect() as wire:
        assert wire.call("SET", "key", value) == b"+OK\r\n"
        assert wire.call("GET", "key") == b"$%d\r\n%s\r\n" % (size, value)
        assert wire.call("PING") == PONG
        until(lambda: served.figure("buffer_bytes") == 0)


def test_big_and_small_requests_in_one_pipeline(wire: Wire) -> None:
    requests = []
    replies = []
    for i in range(40):
        value = bytes([65 + i % 26]) * (i * 9973)
        requests += [encode("SET", f"k{i}", value), encode("GET", f"k{i}"), encode("PING")]
        replies += [b"+OK\r\n", b"$%d\r\n%s\r\n" % (len(value), value), PONG]
    with wire.sending(b"".join(requests)):
        assert exactly(wire, len(b"".join(replies))) == b"".join(replies)


def test_a_big_value_in_small_pieces(served: Served, wire: Wire) -> None:
    request = encode("SET", "key", b"x" * 300_000)
    for at in range(0, len(request), 10_007):
        send_and_wait(served, wire, request[at : at + 10_007])
    assert wire.reply() == b"+OK\r\n"
    assert wire.call("STRLEN", "key") == b":300000\r\n"


def test_an_announced_value_costs_nothing_until_it_comes(served: Served, wire: Wire) -> None:
    send_and_wait(served, wire, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$500000000\r\n" + b"x" * 200_000)
    assert served.figure("buffer_bytes") < 1 << 20
    assert served.figure("longest_input") >= 200_000


def test_buffers_count_as_memory_while_they_are_held(served: Served, wire: Wire) -> None:
    before = served.store.used_memory
    send_and_wait(served, wire, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4000000\r\n" + b"x" * 2_000_000)
    until(lambda: served.store.used_memory > before + 1_500_000)
    wire.close()
    until(lambda: served.store.used_memory == before and served.figure("buffer_bytes") == 0)


def test_a_slow_reader_gets_everything(served: Served) -> None:
    value = b"x" * 100_000
    with served.connect() as quick:
        assert quick.call("SET", "key", value) == b"+OK\r\n"
        with small_buffers(served.connect()) as slow:
            slow.send((encode("GET", "key") + b"PING\r\n") * 60)
            until(lambda: served.figure("longest_output") > 0)
            assert quick.call("SET", "key", "other") == b"+OK\r\n"  # the replies hold the old value
            for _ in range(60):
                assert exactly(slow, 10) == b"$100000\r\n" + b"x"
                time.sleep(0.002)
                assert exactly(slow, 100_001 + 7) == value[1:] + b"\r\n" + PONG
            assert slow.call("GET", "key") == b"$5\r\nother\r\n"
    until(lambda: served.figure("buffer_bytes") == 0)


def test_many_blocks_in_one_reply(served: Served, wire: Wire) -> None:
    values = [bytes([65 + i % 26]) * 40_000 for i in range(200)]
    for i, value in enumerate(values):
        wire.send(encode("SET", f"k{i}", value))
    assert exactly(wire, 5 * len(values)) == b"+OK\r\n" * len(values)
    wire.send(encode("MGET", *(f"k{i}" for i in range(len(values)))))
    assert wire.reply() == b"*200\r\n" + b"".join(b"$40000\r\n%s\r\n" % value for value in values)


def test_half_closed(wire: Wire) -> None:
    wire.send(REQUESTS * 100 + b"*1\r\n$4\r\nPI")
    assert wire.finish() == REPLIES * 100


def test_half_closed_with_replies_that_do_not_fit(served: Served) -> None:
    with small_buffers(served.connect()) as wire:
        assert wire.call("SET", "key", "v" * 10_000) == b"+OK\r\n"
        wire.send(encode("GET", "key") * 1000)
        wire.socket.shutdown(socket.SHUT_WR)
        time.sleep(0.1)
        assert wire.rest() == (b"$10000\r\n" + b"v" * 10_000 + b"\r\n") * 1000
    until(lambda: served.figure("connected") == 0)


def test_quit_ends_the_pipeline(wire: Wire) -> None:
    wire.send(b"PING\r\nQUIT\r\nPING\r\n" + b"PING\r\n" * 100_000)
    assert wire.rest() == PONG + b"+OK\r\n"


ERRORS = {
    b"*1\r\nx\r\n": b"-ERR Protocol error: expected '$', got 'x'\r\n",
    b"*a\r\n": b"-ERR Protocol error: invalid multibulk length\r\n",
    b'"unbalanced\r\n': b"-ERR Protocol error: unbalanced quotes in request\r\n",
}


@pytest.mark.parametrize("garbage", ERRORS)
def test_a_protocol_error_is_told_and_ends_that_connection_only(served: Served, wire: Wire, garbage: bytes) -> None:
    for behind in (b"", b"x" * 5_000_000):  # input that nobody reads any more must not reset the error away
        with served.connect() as bad, bad.sending(b"PING\r\n" + garbage + behind):
            assert bad.rest() == PONG + ERRORS[garbage]
        assert wire.call("PING") == PONG


def test_resets(served: Served, wire: Wire) -> None:
    for i in range(50):
        other = served.connect()
        other.send([b"", b"*2\r\n$3\r\nGE", encode("GET", "none") * 1000, encode(*CONTROL)][i % 4])
        reset(other)
    until(lambda: served.figure("connected") == 1)
    assert wire.call("PING") == PONG


def test_a_reset_while_output_waits(served: Served, wire: Wire) -> None:
    assert wire.call("SET", "key", "v" * 1_000_000) == b"+OK\r\n"
    other = small_buffers(served.connect())
    other.send(encode("GET", "key") * 50)
    until(lambda: served.figure("longest_output") > 10_000_000)
    reset(other)
    until(lambda: served.figure("connected") == 1)
    assert wire.call("PING") == PONG


@pytest.mark.parametrize("length", [30, 78, 100])
def test_unix_sockets(length: int) -> None:
    path = Path(f"/tmp/tellstone-test-{os.getpid()}".ljust(length, "x"))
    path.unlink(missing_ok=True)
    with Served(unix=path) as served, Wire(str(path)) as wire:
        assert wire.call("PING") == PONG
        _, (line,) = served.ask("list")
        shown = f"{path}:0"[:77]  # as long as Redis shows it
        assert f" addr={shown} laddr={shown} ".encode() in line
        assert b" flags=U " in line
        wire.send(encode("GET", "none") * 10_000)
        assert wire.finish() == b"$-1\r\n" * 10_000


def test_ipv6() -> None:
    try:
        served = Served(ipv6=True)
    except OSError:
        pytest.skip("no IPv6 here")
    with served, Wire(served.address6[:2]) as wire:
        assert wire.call("PING") == PONG
        host, port = wire.socket.getsockname()[:2]
        _, (line,) = served.ask("list")
        assert f" addr=[{host}]:{port} laddr=[::1]:{served.address6[1]} ".encode() in line


def test_new_connections_go_where_the_fewest_are() -> None:
    with Served(threads=4) as served:
        wires = [served.connect() for _ in range(40)]
        until(lambda: served.figure("connected") == 40)
        assert [r["clients"] for r in served.group.stats()["threads"]] == [10] * 4
        assert all(wire.call("PING") == PONG for wire in wires)
        for wire in wires[:30]:
            wire.close()
        until(lambda: served.figure("connected") == 10)
        wires += [served.connect() for _ in range(10)]
        until(lambda: served.figure("connected") == 20)
        assert [r["clients"] for r in served.group.stats()["threads"]] == [5] * 4
        for wire in wires[30:]:
            wire.close()


def test_an_idle_reactor_sleeps(served: Served, wire: Wire) -> None:
    assert wire.call("PING") == PONG
    time.sleep(0.2)
    before = served.figure("ticks")
    time.sleep(0.5)
    assert served.figure("ticks") <= before + 1


def test_one_read_and_one_write_a_request(served: Served, wire: Wire) -> None:
    """In the steady state a request is one tick: nothing is polled or armed in between."""
    assert wire.call("PING") == PONG
    before = served.figure("ticks")
    for _ in range(500):
        assert wire.call("PING") == PONG
    assert served.figure("ticks") <= before + 505
