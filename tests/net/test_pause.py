"""Clients that a pause holds back: nothing is lost, nothing overtakes."""

from __future__ import annotations

import socket
import time

import pytest
from net.serving import CONTROL, CONTROL_REPLY, PONG, Served, one_driver, until
from wire import Wire, encode

pytestmark = pytest.mark.core

OK = b"+OK\r\n"
LONG = 600_000


def silent(wire: Wire, seconds: float = 0.1) -> bool:
    """Whether nothing comes."""
    wire.socket.settimeout(seconds)
    try:
        return not wire.socket.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return True
    finally:
        wire.socket.settimeout(30)


def test_writes_wait_and_reads_go_on(served: Served) -> None:
    with served.connect() as reader, served.connect() as writer:
        served.group.pause(LONG, False)
        writer.send(encode("SET", "k", "v") + b"PING\r\n")
        assert reader.call("GET", "k") == b"$-1\r\n"
        assert reader.call("SET", "k").startswith(b"-ERR wrong number")
        assert reader.call("NOSUCH").startswith(b"-ERR unknown command")
        assert silent(writer)
        assert served.figure("held") == 1
        served.group.unpause()
        assert writer.reply() == OK and writer.reply() == PONG
        assert reader.call("GET", "k") == b"$1\r\nv\r\n"
        assert served.figure("held") == 0


def test_everything_waits(served: Served) -> None:
    wires = [served.connect() for _ in range(6)]
    assert [wire.call("PING") for wire in wires] == [PONG] * 6
    served.group.pause(LONG, True)
    for i, wire in enumerate(wires):
        wire.send(encode("ECHO", i) + encode(*CONTROL) + encode("ECHO", "end"))
    until(lambda: served.figure("held") == 6)
    assert all(silent(wire, 0.01) for wire in wires)
    served.group.unpause()
    for i, wire in enumerate(wires):
        assert [wire.reply() for _ in range(3)] == [b"$1\r\n%d\r\n" % i, CONTROL_REPLY, b"$3\r\nend\r\n"]
        wire.close()


def test_it_ends_by_itself(served: Served) -> None:
    with served.connect() as wire:
        begun = time.monotonic()
        served.group.pause(200, True)
        assert wire.call("PING") == PONG
        assert 0.19 < time.monotonic() - begun < 2
        begun = time.monotonic()
        assert wire.call("SET", "k", "v") == OK
        assert time.monotonic() - begun < 0.15


@one_driver
def test_a_later_pause_only_extends(served: Served) -> None:
    with served.connect() as wire:
        begun = time.monotonic()
        served.group.pause(300, False)
        served.group.pause(10, False)
        assert wire.call("SET", "k", "v") == OK
        assert time.monotonic() - begun > 0.29
        served.group.pause(0, True)  # no time: no pause
        begun = time.monotonic()
        assert wire.call("PING") == PONG
        assert time.monotonic() - begun < 0.15


@one_driver
def test_the_stronger_mode_wins(served: Served) -> None:
    with served.connect() as wire:
        begun = time.monotonic()
        served.group.pause(300, True)
        served.group.pause(400, False)
        wire.send(encode("GET", "k"))
        assert silent(wire, 0.1)
        assert wire.reply() == b"$-1\r\n"
        assert time.monotonic() - begun > 0.39


def test_a_weaker_pause_after_a_strong_one_lets_reads_go(served: Served) -> None:
    with served.connect() as reader, served.connect() as writer:
        served.group.pause(LONG, True)
        reader.send(encode("GET", "k"))
        writer.send(encode("SET", "k", "v"))
        until(lambda: served.figure("held") == 2)
        served.group.unpause()
        served.group.pause(LONG, False)
        assert reader.reply() in (b"$-1\r\n", b"$1\r\nv\r\n")  # the write may have come through in between
        served.group.unpause()
        assert writer.reply() == OK


def test_a_pipeline_is_cut_where_it_has_to_be(served: Served) -> None:
    value = "v" * 30_000
    requests = [("SET", f"k{i}", value) if i % 2 else ("GET", f"k{i + 1}") for i in range(200)]
    with served.connect() as wire:
        served.group.pause(300, False)
        replies = wire.pipeline(requests)
        assert replies == [OK if i % 2 else b"$-1\r\n" for i in range(200)]
        assert wire.call("GET", "k199") == b"$30000\r\n" + value.encode() + b"\r\n"


def test_a_request_that_comes_in_pieces(served: Served) -> None:
    big = encode("SET", "k", "x" * 300_000)
    with served.connect() as wire:
        served.group.pause(400, False)
        for at in range(0, len(big), 50_000):
            wire.send(big[at : at + 50_000])
            time.sleep(0.01)
        wire.send(b"SET inline 1\r\n" + encode("STRLEN", "k"))
        assert [wire.reply() for _ in range(3)] == [OK, OK, b":300000\r\n"]


def test_the_order_of_clients_is_kept() -> None:
    with Served(threads=1) as served:
        wires = [served.connect() for _ in range(50)]
        assert all(wire.call("PING") == PONG for wire in wires)
        served.group.pause(LONG, False)
        for i, wire in enumerate(wires):
            wire.send(encode("APPEND", "order", f"{i:02d}"))
            until(lambda n=i + 1: served.figure("held") == n)  # type: ignore[misc]
        served.group.unpause()
        assert [wire.reply() for wire in wires] == [b":%d\r\n" % (2 * i + 2) for i in range(50)]
        for wire in wires:
            wire.close()


def test_clients_that_are_held_back_end_without_a_trace(served: Served) -> None:
    served.group.pause(LONG, True)
    wires = [served.connect() for _ in range(4)]
    for wire in wires:
        wire.send(encode("SET", "k", "v"))
    until(lambda: served.figure("held") == 4)
    _, lines = served.ask("list")
    assert all(b" flags=b " in line and b" cmd=set " in line for line in lines)
    wires[0].socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    wires[0].close()
    until(lambda: served.figure("held") == 3)
    ids = [int(line.split()[0][3:]) for line in served.ask("list")[1]]
    assert served.ask("kill", ids=ids)[0] == 3
    assert served.figure("held") == 0
    served.group.unpause()
    with served.connect() as wire:
        assert wire.call("GET", "k") == b"$-1\r\n"
    for wire in wires[1:]:
        wire.close()


def test_input_behind_it_waits_without_a_busy_loop(served: Served) -> None:
    with served.connect() as wire:
        served.group.pause(LONG, True)
        wire.send(b"PING\r\n")
        until(lambda: served.figure("held") == 1)
        wire.send(b"PING\r\n" * 1000)
        time.sleep(0.05)
        ticks = served.figure("ticks")
        time.sleep(0.5)
        assert served.figure("ticks") <= ticks + 10
        served.group.unpause()
        assert wire.input.read(7 * 1001) == PONG * 1001


def test_a_stop_answers_what_is_held_back() -> None:
    with Served() as served:
        served.group.pause(LONG, True)
        wire = served.connect()
        wire.send(encode("SET", "k", "v") + b"PING\r\n")
        until(lambda: served.figure("held") == 1)
        served.group.stop(5000)
        assert wire.rest() == OK + PONG
        assert served.group.join(5)


def test_pauses_under_load(served: Served) -> None:
    wires = [served.connect() for _ in range(8)]
    data = b"".join(encode("INCR", "n") for _ in range(3000))
    for wire in wires:
        wire.send(data)
    for i in range(20):
        served.group.pause(20, bool(i % 2))
        time.sleep(0.01)
        if i % 3 == 0:
            served.group.unpause()
    for wire in wires:
        numbers = [int(wire.reply()[1:]) for _ in range(3000)]
        assert numbers == sorted(numbers)
        wire.close()
    with served.connect() as wire:
        assert wire.call("GET", "n") == b"$5\r\n24000\r\n"
