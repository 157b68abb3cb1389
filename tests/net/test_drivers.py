"""What the two drivers do by different means: input that nobody wants yet, peers that vanish meanwhile."""

from __future__ import annotations

import socket
import struct
import time

import pytest
from net.serving import CONTROL_REPLY, PONG, Served, unanswered, until
from wire import Wire

pytestmark = pytest.mark.core


def reset(wire: Wire) -> None:
    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()


def qbuf(served: Served) -> int:
    """The input that the one client's connection holds."""
    _, (line,) = served.ask("list")
    return int(line.partition(b" qbuf=")[2].split()[0])


@pytest.mark.parametrize("pieces", [1, 3])
def test_input_behind_a_call_is_answered_though_its_sender_is_done(asked: Served, pieces: int) -> None:
    with asked.connect() as wire, unanswered(asked, wire) as call:
        for _ in range(pieces):
            wire.send(b"PING\r\n" * 100)
            time.sleep(0.02)
        wire.socket.shutdown(socket.SHUT_WR)
        time.sleep(0.02)
        assert qbuf(asked) <= 1000 * pieces
        call.answer(CONTROL_REPLY)
        assert wire.rest() == CONTROL_REPLY + PONG * 100 * pieces
    until(lambda: asked.figure("connected") == 0)


def test_a_sender_that_is_done_while_its_call_waits(asked: Served) -> None:
    with asked.connect() as wire, unanswered(asked, wire) as call:
        wire.socket.shutdown(socket.SHUT_WR)
        time.sleep(0.02)
        call.answer(CONTROL_REPLY)
        assert wire.rest() == CONTROL_REPLY
    until(lambda: asked.figure("connected") == 0)


@pytest.mark.parametrize("behind", [b"", b"PING\r\n" * 100])
def test_a_reset_is_noticed_while_a_call_waits(asked: Served, behind: bytes) -> None:
    with asked.connect() as wire:
        wire.send(b"CONFIG GET x\r\n")
        calls = asked.calls()
        wire.send(behind)
        time.sleep(0.02)
        reset(wire)
        until(lambda: asked.figure("connected") == 0)
        calls.clear()


def test_an_end_in_the_middle_of_a_rush() -> None:
    """Connections that are being made, or have just been, are closed like all others."""
    for _ in range(5):
        with Served(threads=3) as served:
            sockets = [socket.socket() for _ in range(100)]
            for s in sockets:
                s.setblocking(False)
                s.connect_ex(served.address)
            served.group.kill()
            assert served.group.join(10)
            assert not served.group.running
            for s in sockets:
                s.close()
