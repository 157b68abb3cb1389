"""Limits of clients, time, input and output, and running out of descriptors."""

from __future__ import annotations

import os
import resource
import socket
import time

import pytest
from net.serving import PONG, Served, one_driver, small_buffers, unanswered, until
from wire import Closed, Wire, encode

pytestmark = pytest.mark.core

TOO_MANY = b"-ERR max number of clients reached\r\n"


def test_max_clients() -> None:
    with Served(max_clients=3) as served:
        wires = [served.connect() for _ in range(3)]
        assert all(wire.call("PING") == PONG for wire in wires)
        for _ in range(2):
            with served.connect() as refused:
                assert refused.rest() == TOO_MANY
        assert (served.figure("accepted"), served.figure("rejected"), served.figure("connected")) == (5, 2, 3)
        wires.pop().close()
        until(lambda: served.figure("connected") == 2)
        wires.append(served.connect())
        assert wires[-1].call("PING") == PONG
        served.group.configure(max_clients=4)
        wires.append(served.connect())
        assert wires[-1].call("PING") == PONG
        for wire in wires:
            wire.close()


def test_max_clients_counts_and_refuses_both_protocols() -> None:
    with Served(max_clients=2, native=True) as served:
        assert served.native
        with served.connect() as wire, socket.create_connection(served.native):
            until(lambda: served.figure("connected") == 2)
            with served.connect() as refused, Wire(served.native) as frame:
                assert refused.rest() == TOO_MANY
                assert frame.rest() == b"\0\0\0\x22\7ERR max number of clients reached"
            assert wire.call("PING") == PONG
            assert len(served.ask("list")[1]) == 2


def test_idle_clients_are_closed(asked: Served) -> None:
    with asked.connect() as idle, asked.connect() as busy, asked.connect() as parked, unanswered(asked, parked) as call:
        asked.group.configure(idle_timeout_s=0.3)
        begun = time.monotonic()
        while asked.figure("timed_out") == 0:
            assert busy.call("PING") == PONG
            assert time.monotonic() < begun + 10
            time.sleep(0.02)
        assert time.monotonic() > begun + 0.2
        assert idle.rest() == b""
        call.answer(b"+waited\r\n")
        assert parked.reply() == b"+waited\r\n"
        asked.group.configure(idle_timeout_s=0)
        assert asked.figure("connected") >= 1


def fill_output(served: Served, wire: Wire, size: int) -> None:
    """Ask for about so many bytes and read none of them."""
    wire.send(encode("GET", "key") * (size // 10_000))


@pytest.fixture
def value_server():
    with Served() as served, served.connect() as wire:
        assert wire.call("SET", "key", "v" * 10_000) == b"+OK\r\n"
        yield served


def test_the_hard_output_limit(value_server: Served) -> None:
    value_server.group.configure(output_limit=(4 << 20, 0, 0))
    with small_buffers(value_server.connect()) as greedy, value_server.connect() as other:
        with greedy.sending(encode("GET", "key") * 100_000):
            until(lambda: value_server.figure("closed_over_output_limit") == 1)
            assert len(greedy.rest()) < 100 << 20
        assert value_server.figure("longest_output") < 16 << 20
        assert other.call("PING") == PONG
        until(lambda: value_server.figure("buffer_bytes") == 0)


def test_the_soft_output_limit(value_server: Served) -> None:
    value_server.group.configure(output_limit=(0, 1 << 20, 0.5))
    with small_buffers(value_server.connect()) as slow, value_server.connect() as other:
        begun = time.monotonic()
        fill_output(value_server, slow, 20 << 20)
        until(lambda: value_server.figure("closed_over_output_limit") == 1)
        assert 0.4 < time.monotonic() - begun < 5
        assert other.call("PING") == PONG


@one_driver
def test_a_short_visit_above_the_soft_limit_is_no_offence(value_server: Served) -> None:
    value_server.group.configure(output_limit=(0, 1 << 20, 1))
    with small_buffers(value_server.connect()) as wire:
        for _ in range(3):
            fill_output(value_server, wire, 10 << 20)
            until(lambda: value_server.figure("longest_output") > 1 << 20)
            time.sleep(0.4)
            assert len(wire.input.read(1048 * 10_010)) == 1048 * 10_010
        assert wire.call("PING") == PONG
    assert value_server.figure("closed_over_output_limit") == 0


def test_an_argument_that_is_too_long() -> None:
    with Served(max_request=1000) as served, served.connect() as wire:
        assert wire.call("SET", "key", "x" * 1000) == b"+OK\r\n"
        served.group.configure(max_request=2000)
        assert wire.call("SET", "key", "x" * 2000) == b"+OK\r\n"
        wire.send(encode("SET", "key", "x" * 2001))
        assert wire.rest() == b"-ERR Protocol error: invalid bulk length\r\n"


@pytest.mark.slow
@one_driver
def test_a_request_of_endless_arguments() -> None:
    """Each argument is short enough, all of them together are not."""
    with Served(max_request=1000) as served, served.connect() as other:
        wire = served.connect()
        with wire, wire.sending(b"*1000000\r\n" + encode("x" * 1000)[4:] * 80_000):
            assert wire.rest() == b""
        assert served.figure("closed_over_input_limit") == 1
        assert other.call("PING") == PONG
        until(lambda: served.figure("buffer_bytes") == 0)


def test_no_descriptors_left(served: Served) -> None:
    """Accepting pauses instead of spinning, and goes on when there are descriptors again."""
    with served.connect() as before:
        assert before.call("PING") == PONG
        waiting = [socket.socket() for _ in range(5)]
        free = os.dup(0)
        os.close(free)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
        try:
            for s in waiting:
                s.connect(served.address)
            time.sleep(0.2)
            ticks = served.figure("ticks")
            time.sleep(0.5)
            assert served.figure("ticks") < ticks + 50
            assert before.call("PING") == PONG
            assert served.figure("accepted") == 1
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for s in waiting:
            s.settimeout(10)
            s.sendall(b"PING\r\n")
            assert s.recv(100) == PONG
            s.close()


@pytest.mark.parametrize(
    "settings",
    [
        {"max_clients": -1},
        {"idle_timeout_s": -1},
        {"idle_timeout_s": float("nan")},
        {"tcp_keepalive_s": -1},
        {"output_limit": (0, -1, 0)},
        {"max_request": -1},
    ],
)
def test_bad_settings(served: Served, settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        served.group.configure(**settings)


def test_keepalive() -> None:
    with Served(tcp_keepalive_s=30) as served, served.connect() as wire:
        assert wire.call("PING") == PONG
        ours = wire.socket.getsockname()
        for fd in os.listdir("/proc/self/fd"):  # the server's end of the connection
            try:
                s = socket.socket(fileno=os.dup(int(fd)))
            except OSError:
                continue
            with s:
                if s.family == socket.AF_INET and s.getsockname() == served.address and peer(s) == ours:
                    assert s.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                    assert s.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
                    assert s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                    return
        raise AssertionError("the server's end was not found")


def peer(s: socket.socket) -> object:
    try:
        return s.getpeername()
    except OSError:
        return None


def test_a_reply_too_big_for_the_hard_limit_still_arrives_if_it_is_read(value_server: Served) -> None:
    """What the kernel has taken does not count."""
    value_server.group.configure(output_limit=(64 << 20, 0, 0))
    with value_server.connect() as wire:
        for _ in range(100):
            fill_output(value_server, wire, 1 << 20)
            assert len(wire.input.read(104 * 10_010)) == 104 * 10_010


def test_one_reply_over_the_limit_closes(value_server: Served) -> None:
    value_server.group.configure(output_limit=(100_000, 0, 0))
    with small_buffers(value_server.connect()) as wire:
        wire.send(encode("MGET", *["key"] * 2000))
        until(lambda: value_server.figure("closed_over_output_limit") == 1)
        with pytest.raises(Closed):
            wire.reply()
