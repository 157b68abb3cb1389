"""Monitors: what they are shown, in which order, and that they cost nobody else anything."""

from __future__ import annotations

import re
import socket
import threading
import time
from pathlib import Path

import pytest
from net.serving import CONTROL, CONTROL_REPLY, PONG, Served, one_driver, until
from wire import Wire, encode

pytestmark = pytest.mark.core

OK = b"+OK\r\n"
LINE = re.compile(rb"\+(\d+\.\d{6}) \[(\d+) (\S+)\] (.*)\r\n", re.DOTALL)


def monitor(served: Served) -> Wire:
    wire = served.connect()
    assert wire.call("MONITOR") == OK
    return wire


def shown(wire: Wire, count: int = 1) -> list[bytes]:
    """What the next lines say was called."""
    lines = [LINE.fullmatch(wire.reply()) for _ in range(count)]
    assert all(lines)
    return [line[4] for line in lines if line]


def test_a_line(served: Served) -> None:
    with monitor(served) as watching, served.connect() as wire:
        before = time.time()
        wire.call("SELECT", 3)
        wire.call("set", "k", b'a"\\\n\r\t\a\b\0\x7f\xff z')
        first, second = LINE.fullmatch(watching.reply()), LINE.fullmatch(watching.reply())
        assert first and second
        assert before - 0.01 <= float(first[1]) <= float(second[1]) <= time.time() + 0.01
        host, port = wire.socket.getsockname()
        assert [first[2], first[3], first[4]] == [b"3", f"{host}:{port}".encode(), b'"SELECT" "3"']
        assert second[4] == rb'"set" "k" "a\"\\\n\r\t\a\b\x00\x7f\xff z"'


def test_unix_sockets(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with Served(unix=path) as served, monitor(served) as watching, Wire(str(path)) as wire:
        wire.call("PING")
        line = LINE.fullmatch(watching.reply())
        assert line and line[3] == f"unix:{path}".encode()


def test_what_is_not_shown(served: Served) -> None:
    with monitor(served) as watching, served.connect() as wire:
        for request in [("NOSUCH",), ("GET",), CONTROL, ("MONITOR", "x"), ("CLIENT", "NO-EVICT", "on")]:
            wire.call(*request)
        wire.call("AUTH", "default", "secret")
        wire.call("auth", "secret")
        wire.call("HELLO", 3, "AUTH", "default", "secret", "SETNAME", "me")
        wire.call("HELLO", 4, "AUTH", "default", "secret")
        wire.call("ECHO", "AUTH")
        assert shown(watching, 5) == [
            b'"AUTH" "(redacted)" "(redacted)"',
            b'"auth" "(redacted)"',
            b'"HELLO" "3" "AUTH" "(redacted)" "(redacted)" "SETNAME" "me"',
            b'"HELLO" "4" "AUTH" "(redacted)" "(redacted)"',
            b'"ECHO" "AUTH"',
        ]


def test_all_clients_of_all_reactors_in_their_order(served: Served) -> None:
    wires = [served.connect() for _ in range(8)]
    watching = [monitor(served) for _ in range(4)]
    for round_ in range(50):  # one after the other, each acting on the reply of the one before
        for i, wire in enumerate(wires):
            wire.call("ECHO", f"{round_}:{i}")
    expected = [b'"ECHO" "%d:%d"' % (round_, i) for round_ in range(50) for i in range(8)]
    for each in watching:
        assert shown(each, 400) == expected
        each.close()
    for wire in wires:
        wire.close()


def test_pipelines(served: Served) -> None:
    requests = [("SET", f"key:{i}", "x" * (i % 700)) for i in range(2000)] + [("GET", f"key:{i}") for i in range(2000)]
    with monitor(served) as watching, served.connect() as wire:
        replies = wire.pipeline(requests)
        assert len(replies) == 4000 and replies[3000] == b"$%d\r\n%s\r\n" % (300, b"x" * 300)
        lines = shown(watching, 4000)
        assert lines == [b" ".join(b'"%s"' % arg.encode() for arg in request) for request in requests]


def test_its_own_commands(served: Served) -> None:
    """Behind their replies; and keys are none of its business, as Redis has it."""
    with monitor(served) as watching, served.connect() as wire:
        wire.call("ECHO", "before")
        watching.send(
            encode("PING") + encode("GET", "k") + encode("SET", "k", "v") + encode("MONITOR") + encode("PING", "x")
        )
        assert shown(watching) == [b'"ECHO" "before"']
        assert watching.reply() == PONG
        assert shown(watching) == [b'"PING"']
        assert [watching.reply() for _ in range(2)] == [b"-ERR Replica can't interact with the keyspace\r\n"] * 2
        assert watching.reply() == b"$1\r\nx\r\n"
        assert shown(watching) == [b'"PING" "x"']
        assert watching.call(*CONTROL) == CONTROL_REPLY


def test_replies_off(served: Served) -> None:
    with monitor(served) as watching, served.connect() as wire:
        watching.send(encode("CLIENT", "REPLY", "OFF"))
        until(lambda: b"client|reply" in b"".join(served.ask("list")[1]))
        wire.call("ECHO", "unseen")
        watching.send(encode("CLIENT", "REPLY", "ON"))
        assert watching.reply() == OK
        assert shown(watching) == [b'"CLIENT" "REPLY" "ON"']
        wire.call("ECHO", "seen")
        assert shown(watching) == [b'"ECHO" "seen"']


@pytest.mark.parametrize("end", ["RESET", "QUIT", "close", "reset by peer", "kill"])
def test_the_end(end: str, served: Served) -> None:
    watching = monitor(served)
    with served.connect() as wire:
        wire.call("ECHO", "last")
        assert shown(watching) == [b'"ECHO" "last"']
        if end == "RESET":
            assert watching.call("RESET") == b"+RESET\r\n"
            assert b" flags=O " not in b"".join(served.ask("list")[1])
        elif end == "QUIT":
            assert watching.call("QUIT") == OK
            assert shown(watching) == [b'"QUIT"'] and watching.rest() == b""
        elif end == "kill":
            (line,) = [line for line in served.ask("list")[1] if b" flags=O " in line]
            assert served.ask("kill", ids=(int(line.split()[0][3:]),))[0] == 1
        else:
            if end == "reset by peer":
                watching.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            watching.close()
            until(lambda: served.figure("connected") == 1)
        for i in range(100):
            assert wire.call("SET", i, "v") == OK
        if end == "RESET":
            assert watching.call("GET", 99) == b"$1\r\nv\r\n"
        with monitor(served) as another:
            wire.call("PING")
            assert shown(another) == [b'"PING"']
    watching.close()


def test_monitors_are_never_paused(served: Served) -> None:
    with monitor(served) as watching, served.connect() as wire:
        served.group.pause(600_000, True)
        wire.send(encode("ECHO", "later"))
        until(lambda: served.figure("held") == 1)
        assert watching.call("PING") == PONG
        assert shown(watching) == [b'"PING"']
        served.group.unpause()
        assert wire.reply() == b"$5\r\nlater\r\n"
        assert shown(watching) == [b'"ECHO" "later"']  # once


@one_driver
def test_a_monitor_is_never_idle(served: Served) -> None:
    served.group.configure(idle_timeout_s=0.1)
    with monitor(served) as watching:
        time.sleep(0.7)
        assert watching.call("PING") == PONG


@pytest.mark.parametrize("proto", [2, 3])
def test_protocols(proto: int, served: Served) -> None:
    with served.connect() as watching, served.connect() as wire:
        watching.call("HELLO", proto)
        assert watching.call("MONITOR") == OK
        wire.call("PING")
        assert shown(watching) == [b'"PING"']


def test_one_that_does_not_read_is_cut(served: Served) -> None:
    served.group.configure(output_limit=(4 << 20, 0, 0))
    with monitor(served) as slow, served.connect() as wire:
        request = encode("ECHO", "x" * 10_000) * 100
        for _ in range(40):
            with wire.sending(request):
                assert len(wire.input.read(1_001_000)) == 1_001_000
        until(lambda: served.figure("closed_over_output_limit") == 1)
        assert wire.call("PING") == PONG
        assert b" flags=O " not in b"".join(served.ask("list")[1])
        slow.socket.settimeout(5)
    until(lambda: served.figure("buffer_bytes") == 0)


def test_monitors_come_and_go_under_load(served: Served) -> None:
    ended = threading.Event()

    def work() -> None:
        with served.connect() as wire:
            while not ended.is_set():
                assert wire.pipeline([("SET", "k", "v"), ("GET", "k")] * 20) == [OK, b"$1\r\nv\r\n"] * 20

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    try:
        for i in range(60):
            with monitor(served) as watching:
                lines = shown(watching, 5)
                assert set(lines) <= {b'"SET" "k" "v"', b'"GET" "k"', b'"RESET"'}
                if i % 3 == 0:
                    watching.send(encode("RESET"))
                elif i % 3 == 1:
                    watching.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    finally:
        ended.set()
        for worker in workers:
            worker.join()
    until(lambda: served.figure("connected") == 0)
    until(lambda: served.figure("buffer_bytes") == 0)
