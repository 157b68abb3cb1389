"""Control commands: calls to Python and their answers, and questions about clients."""

from __future__ import annotations

import gc
import select
import socket
import threading
import time

import pytest
from net.serving import CONTROL, CONTROL_REPLY, PONG, Served, make_group, unanswered, until
from wire import Wire, encode

from tellstone._core.net.control import ControlBridge, ControlCall
from tellstone._core.store.keyspace import Store

pytestmark = pytest.mark.core


def test_a_call_says_who_asks_what(asked: Served) -> None:
    with asked.connect() as wire:
        wire.send(encode("SELECT", 3) + encode("HELLO", 3) + encode("Config", b"gEt", b"a\r\n\x00\xff", b""))
        (call,) = asked.calls()
        assert (call.name, call.db, call.proto) == ("config|get", 3, 3)
        assert call.args == (b"Config", b"gEt", b"a\r\n\x00\xff", b"")
        assert call.client_id == int(asked.ask("list")[1][0].split()[0][3:])
        call.answer(b"_\r\n")


def test_replies_keep_their_order(asked: Served) -> None:
    with asked.connect() as wire:
        wire.send(b"PING a\r\n" + encode(*CONTROL) + b"PING b\r\n")
        assert wire.reply() == b"$1\r\na\r\n"  # leaves before the call is answered
        (call,) = asked.calls()
        wire.send(b"PING c\r\n" + encode(*CONTROL) + b"PING d\r\n")
        wire.socket.settimeout(0.1)
        with pytest.raises(TimeoutError):
            wire.socket.recv(1)
        wire.socket.settimeout(30)
        call.answer(b"+first\r\n")
        (call,) = asked.calls()
        call.answer(b"+second\r\n")
        expected = b"+first\r\n$1\r\nb\r\n$1\r\nc\r\n+second\r\n$1\r\nd\r\n"
        assert wire.input.read(len(expected)) == expected


def test_calls_in_the_middle_of_long_pipelines(served: Served) -> None:
    requests = (encode("SET", "k", "v" * 3000) + encode("GET", "k") + encode(*CONTROL) + b"PING\r\n") * 500
    replies = (b"+OK\r\n$3000\r\n" + b"v" * 3000 + b"\r\n" + CONTROL_REPLY + PONG) * 500
    wires = [served.connect() for _ in range(8)]
    with wires[0].sending(requests), wires[1].sending(requests), wires[2].sending(requests[:100_000]):
        for wire in wires[:2]:
            assert wire.input.read(len(replies)) == replies
    for wire in wires:
        wire.close()
    until(lambda: served.figure("connected") == 0)


def test_others_go_on_while_one_waits(asked: Served) -> None:
    with asked.connect() as waits, unanswered(asked, waits) as call:
        for _ in range(4):  # on both reactors
            with asked.connect() as other:
                assert other.call("PING") == PONG
        call.answer(b"+OK\r\n")
        assert waits.reply() == b"+OK\r\n"


def test_input_behind_a_call_waits_without_a_busy_loop(asked: Served) -> None:
    with asked.connect() as wire, unanswered(asked, wire) as call:
        wire.send(b"PING\r\n" * 1000)
        time.sleep(0.1)
        ticks = asked.figure("ticks")
        time.sleep(0.3)
        assert asked.figure("ticks") <= ticks + 5
        call.answer(b"+OK\r\n")
        assert wire.input.read(5 + 7000) == b"+OK\r\n" + PONG * 1000


def test_too_many_calls_are_told_busy() -> None:
    with Served(threads=1, answer=None, capacity=2) as served:
        waiting = [served.connect() for _ in range(2)]
        for wire in waiting:
            wire.send(encode(*CONTROL))
        until(lambda: served.figure("commands") == 2)
        with served.connect() as wire:
            wire.send((b"PING\r\n" + encode(*CONTROL)) * 1000)  # each is refused, none is lost, and nothing recurses
            for _ in range(1000):
                assert wire.reply() == PONG
                assert wire.reply().startswith(b"-BUSY ")
        for call in served.calls(2):
            call.answer(b"+late\r\n")
        assert [wire.reply() for wire in waiting] == [b"+late\r\n"] * 2
        for wire in waiting:
            wire.close()


def test_a_call_is_answered_once(asked: Served) -> None:
    with asked.connect() as wire, unanswered(asked, wire) as call:
        call.answer(b"+one\r\n")
        with pytest.raises(RuntimeError, match=r"config\|get has been answered already"):
            call.answer(b"+two\r\n")
        with pytest.raises(TypeError):
            call.answer(None)  # type: ignore[arg-type]
        assert wire.reply() == b"+one\r\n"
        assert wire.call("PING") == PONG


def test_a_forgotten_call_is_answered_with_an_error(asked: Served) -> None:
    with asked.connect() as wire:
        wire.send(encode(*CONTROL) + b"PING\r\n")
        calls = asked.calls()
        calls.append(calls)  # only the garbage collector gets at it
        del calls
        gc.collect()
        assert wire.reply().startswith(b"-ERR internal error")
        assert wire.reply() == PONG


def test_answers_from_any_thread(asked: Served) -> None:
    wires = [asked.connect() for _ in range(50)]
    for i, wire in enumerate(wires):
        wire.send(encode("CONFIG", "GET", i))
    calls = asked.calls(50)

    def answer(some: list[ControlCall]) -> None:
        for call in some:
            call.answer(b"+%s\r\n" % call.args[2])

    threads = [threading.Thread(target=answer, args=[calls[i::5]]) for i in range(5)]
    for thread in threads:
        thread.start()
    for i, wire in enumerate(wires):
        assert wire.reply() == b"+%d\r\n" % i
        wire.close()
    for thread in threads:
        thread.join()


def test_an_answer_that_comes_too_late_reaches_nobody() -> None:
    with Served(threads=1, answer=None) as served:
        gone = served.connect()
        gone.send(encode(*CONTROL))
        (call,) = served.calls()
        gone.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        gone.close()
        until(lambda: served.figure("connected") == 0)
        with served.connect() as heir, unanswered(served, heir) as own:  # the same slot, waiting as well
            call.answer(b"+alien\r\n", close=True)
            own.answer(b"+own\r\n")
            assert heir.reply() == b"+own\r\n"
            assert heir.call("PING") == PONG


def test_an_answer_after_the_end() -> None:
    with Served(answer=None) as served:
        wire = served.connect()
        wire.send(encode(*CONTROL))
        (call,) = served.calls()
        served.group.kill()
        assert served.group.join(10)
        assert wire.rest() == b""
    del served
    call.answer(b"+nobody\r\n")


def test_changes_that_an_answer_brings(asked: Served) -> None:
    with asked.connect() as wire:
        wire.send(encode(*CONTROL) + encode("GET", "none") + encode("SET", "key", "in 5"))
        asked.calls()[0].answer(b"+OK\r\n", proto=3, db=5)
        assert wire.input.read(13) == b"+OK\r\n_\r\n+OK\r\n"
        assert asked.store.sizes()[5] == (1, 0)


def test_an_answer_that_closes(asked: Served) -> None:
    with asked.connect() as wire:
        wire.send(encode(*CONTROL) + b"PING\r\n")
        asked.calls()[0].answer(b"+bye\r\n", close=True)
        assert wire.rest() == b"+bye\r\n"
    with asked.connect() as wire:
        wire.send(encode(*CONTROL))
        asked.calls()[0].answer(b"", close=True)
        assert wire.rest() == b""


def test_half_closed_while_waiting(asked: Served) -> None:
    with asked.connect() as wire:
        wire.send(encode(*CONTROL) + b"PING\r\n" + encode(*CONTROL) + b"PING\r\n")
        wire.socket.shutdown(socket.SHUT_WR)
        asked.calls()[0].answer(b"+first\r\n")
        asked.calls()[0].answer(b"+second\r\n")
        assert wire.rest() == b"+first\r\n" + PONG + b"+second\r\n" + PONG


def test_the_bridge_is_readable_only_while_something_waits(asked: Served) -> None:
    def readable() -> bool:
        return bool(select.select([asked.bridge.fileno()], [], [], 0)[0])

    assert not readable()
    with asked.connect() as one, asked.connect() as two:
        one.send(encode(*CONTROL))
        two.send(encode(*CONTROL))
        until(readable)
        calls = asked.calls(2)
        until(lambda: not asked.bridge.drain() and not readable())
        for call in calls:
            call.answer(b"+OK\r\n")
        assert one.reply() == two.reply() == b"+OK\r\n"


def test_calls_nobody_drained_end_with_the_bridge() -> None:
    bridge = ControlBridge()
    group = make_group(Store(1), bridge, 1)
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    listener.setblocking(False)
    group.listen(listener.detach(), False, "")
    group.start()
    with Wire(address) as wire:
        wire.send(encode(*CONTROL))
        assert select.select([bridge.fileno()], [], [], 30)[0]
        del bridge, group
        assert wire.rest() == b""


# Questions about clients


def test_list(served: Served) -> None:
    wires = [served.connect() for _ in range(10)]
    for wire in wires:
        assert wire.call("PING") == PONG
    count, lines = served.ask("list")
    assert count == len(lines) == 10
    ids = [int(line.split()[0][3:]) for line in lines]
    assert ids == sorted(set(ids))
    ports = {wire.socket.getsockname()[1] for wire in wires}
    assert {int(line.split()[1].rpartition(b":")[2]) for line in lines} == ports
    assert all(f"laddr=127.0.0.1:{served.address[1]} ".encode() in line for line in lines)
    assert served.ask("list", ids=(ids[3], ids[7], 10**15)) == (2, [lines[3], lines[7]])
    assert served.ask("list", type="pubsub") == (0, [])
    assert served.ask("list", type="normal", user=b"default")[0] == 10
    assert served.ask("list", user=b"defaul")[0] == 0
    wires[0].send(b"*2\r\n$3\r\nGET\r\n$100\r\nxxx")
    until(lambda: b" qbuf=22 " in served.ask("list")[1][0])
    for wire in wires:
        wire.close()
    until(lambda: served.ask("list") == (0, []))


def test_kill(served: Served) -> None:
    wires = [served.connect() for _ in range(6)]
    for wire in wires:
        assert wire.call("PING") == PONG
    ids = [int(line.split()[0][3:]) for line in served.ask("list")[1]]
    host, port = wires[1].socket.getsockname()
    assert served.ask("kill", addr=f"{host}:{port}".encode()) == (1, [])
    assert wires[1].rest() == b""
    assert served.ask("kill", ids=(ids[2],), addr=b"127.0.0.1:1")[0] == 0
    assert served.ask("kill", ids=(ids[2],))[0] == 1
    assert wires[2].rest() == b""
    laddr = f"127.0.0.1:{served.address[1]}".encode()
    assert served.ask("kill", laddr=laddr, caller=ids[0], skip_caller=True)[0] == 3
    assert [wire.rest() for wire in wires[3:]] == [b""] * 3
    assert wires[0].call("PING") == PONG
    for wire in wires:
        wire.close()


def test_a_client_that_kills_itself_gets_its_reply_first(asked: Served) -> None:
    with asked.connect() as wire:
        wire.send(encode("CLIENT", "KILL", "SKIPME", "no") + b"PING\r\n")
        (call,) = asked.calls()
        assert asked.ask("kill", caller=call.client_id)[0] == 1
        call.answer(b":1\r\n")
        assert wire.rest() == b":1\r\n"


def test_kill_a_client_that_waits(asked: Served) -> None:
    with asked.connect() as wire, unanswered(asked, wire) as call:
        assert asked.ask("kill", ids=(call.client_id,))[0] == 1
        assert wire.rest() == b""
        call.answer(b"+nobody\r\n")


def test_unknown_questions(served: Served) -> None:
    with pytest.raises(KeyError):
        served.group.ask_clients(1, "count")
    with pytest.raises(OverflowError):
        served.group.ask_clients(1, "list", ids=(-1,))


def test_questions_to_a_group_that_has_ended() -> None:
    with Served() as served:
        served.group.kill()
        served.group.join()
        assert served.group.ask_clients(1, "list") == 0
