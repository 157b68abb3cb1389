"""The life of a group: starting, graceful stop, kill."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from net.serving import CONTROL, PONG, Served, make_group, small_buffers, until
from wire import Closed, Wire, encode

from tellstone._core.net.control import ControlBridge
from tellstone._core.store.keyspace import Store

pytestmark = pytest.mark.core


def test_stop_answers_what_has_come_in(served: Served) -> None:
    wires = [served.connect() for _ in range(20)]
    assert wires[0].call("SET", "key", "v" * 100_000) == b"+OK\r\n"
    for wire in wires:
        wire.send(encode("GET", "key") * 20 + b"*1\r\n$4\r\nPI")
    served.group.stop(10_000)
    replies = (b"$100000\r\n" + b"v" * 100_000 + b"\r\n") * 20
    for wire in wires:
        got = wire.rest()
        assert got in (replies, b"")  # b"": the stop was there before the requests were
        wire.close()
    assert served.group.join(10)


def test_stop_leaves_nothing_unanswered_that_was_there_before(served: Served) -> None:
    with served.connect() as wire, served.connect() as idle:
        assert wire.call("SET", "key", "v" * 100_000) == b"+OK\r\n"
        before = served.figure("commands")
        wire.send(encode("GET", "key") * 300)
        until(lambda: served.figure("commands") > before)
        served.group.stop(10_000)
        assert idle.rest() == b""
        assert wire.rest() == (b"$100000\r\n" + b"v" * 100_000 + b"\r\n") * 300
        assert served.group.join(10)


def test_stop_waits_for_control_calls(asked: Served) -> None:
    with asked.connect() as wire:
        wire.send(encode(*CONTROL) + b"PING\r\n")
        (call,) = asked.calls()
        asked.group.stop(10_000)
        assert not asked.group.join(0.2)
        call.answer(b"+at last\r\n")
        assert wire.rest() == b"+at last\r\n" + PONG
    assert asked.group.join(10)


def test_stop_ends_after_the_grace(asked: Served) -> None:
    with asked.connect() as parked, small_buffers(asked.connect()) as deaf:
        assert deaf.call("SET", "key", "v" * 1_000_000) == b"+OK\r\n"
        deaf.send(encode("GET", "key") * 20)
        parked.send(encode(*CONTROL))
        calls = asked.calls()
        begun = time.monotonic()
        asked.group.stop(500)
        assert asked.group.join(10)
        assert 0.4 < time.monotonic() - begun < 3
        assert parked.rest() == b""
        del calls


def test_nobody_gets_in_after_a_stop(asked: Served) -> None:
    with asked.connect() as wire:
        wire.send(encode(*CONTROL))
        (call,) = asked.calls()
        asked.group.stop(10_000)
        until(lambda: refused(asked))
        call.answer(b"+OK\r\n")
        assert wire.rest() == b"+OK\r\n"
    assert asked.group.join(10)
    assert not asked.group.running


def refused(served: Served) -> bool:
    try:
        served.connect(1).close()
    except OSError:
        return True
    return False


def test_kill_is_at_once(asked: Served) -> None:
    with asked.connect() as wire:
        wire.send(encode(*CONTROL))
        calls = asked.calls()
        asked.group.stop(60_000)
        assert not asked.group.join(0.1)
        asked.group.kill()
        begun = time.monotonic()
        assert asked.group.join(10)
        assert time.monotonic() - begun < 1
        assert wire.rest() == b""
        del calls


def test_stop_under_load() -> None:
    """Whoever is cut off is cut off between two replies."""
    with Served() as served:
        faults: list[object] = []

        def client() -> None:
            try:
                with served.connect() as wire:
                    while True:
                        assert wire.call("SET", "key", "v" * 1000) == b"+OK\r\n"
                        assert wire.call("GET", "key") == b"$1000\r\n" + b"v" * 1000 + b"\r\n"
            except Closed as e:
                if e.args[0]:
                    faults.append(e)
            except OSError:
                pass
            except AssertionError as e:
                faults.append(e)

        threads = [threading.Thread(target=client) for _ in range(8)]
        for thread in threads:
            thread.start()
        until(lambda: served.figure("commands") > 1000)
        begun = time.monotonic()
        served.group.stop(10_000)
        assert served.group.join(10)
        assert time.monotonic() - begun < 5
        for thread in threads:
            thread.join()
        assert faults == []


def listening() -> socket.socket:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    return listener


def test_a_group_starts_once_and_is_told_of_its_listeners_before() -> None:
    with Served() as served, listening() as listener:
        with pytest.raises(RuntimeError):
            served.group.start()
        with pytest.raises(RuntimeError):
            served.group.listen(listener.fileno(), False, "")
        assert served.group.running


def test_a_group_that_never_starts_closes_its_listeners() -> None:
    listener = listening()
    address = listener.getsockname()
    group = make_group(Store(1), ControlBridge(), 1)
    group.listen(listener.detach(), False, "")
    assert group.join(1)
    assert group.stats()["connected"] == 0
    del group
    with pytest.raises(OSError):
        socket.create_connection(address, 1)


def test_a_group_that_is_dropped_ends_its_threads() -> None:
    listener = listening()
    address = listener.getsockname()
    group = make_group(Store(1), ControlBridge(), 2)
    group.listen(listener.detach(), False, "")
    group.start()
    with Wire(address) as wire:
        assert wire.call("PING") == PONG
        del group
        assert wire.rest() == b""


def test_a_listener_that_is_none() -> None:
    group = make_group(Store(1), ControlBridge(), 1)
    group.listen(1_000_000, False, "")
    with pytest.raises(OSError):
        group.start()


@pytest.mark.parametrize("threads", [0, 129])
def test_bad_numbers_of_threads(threads: int) -> None:
    with pytest.raises(ValueError):
        make_group(Store(1), ControlBridge(), threads)


def test_starting_and_stopping_over_and_over() -> None:
    for _ in range(30):
        with Served(threads=3) as served, served.connect() as wire:
            assert wire.call("PING") == PONG
