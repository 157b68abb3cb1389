"""What a native connection is beside its requests: its state, what others see of it, and what Python answers for it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pytest
from frames import (
    NOT_FOUND,
    OK,
    PING,
    PONGED,
    Native,
    auth,
    command,
    delete,
    error,
    frame,
    get,
    put,
    request,
    response,
)
from net.serving import CONTROL, CONTROL_REPLY, Served, until
from net.test_monitor import monitor, shown
from net.test_pause import LONG, silent
from wire import Arg, value

from tellstone._core.command.table import rows

pytestmark = pytest.mark.core

ROWS: dict[int, str] = {row["id"]: row["full_name"] for row in rows()}
BLOCK = b"0123456789abcdef" * 2500
ON = response(b"+OK\r\n")
INVALID, EMPTY_KEY = error(b"INVALID_OPCODE"), error(b"EMPTY_KEY")
NO_MONITOR = error(b"ERR MONITOR is not available over the native protocol")
MONITOR_ARITY = error(b"ERR wrong number of arguments for 'monitor' command")
EMPTY_COMMAND = error(b"ERR empty command")

# Every kind of request with its reply, while `k` is "v".
EACH = {
    "GET": (get(b"k"), response(b"v")),
    "GET of nothing": (get(b"none"), NOT_FOUND),
    "SET": (put(b"k", b"v"), OK),
    "SET with a lifetime": (put(b"l", b"v", 100_000), OK),
    "SET of a block": (put(b"b", BLOCK), OK),
    "GET of a block": (get(b"b"), response(BLOCK)),
    "DELETE": (delete(b"b"), OK),
    "an empty key": (put(b"", b"v"), EMPTY_KEY),
    "no operation": (request(99), INVALID),
    "PING": (frame(PING, b"x"), PONGED),
    "AUTH": (auth(b"", b"pw"), frame(5, b"OK")),
    "AUTH of nobody": (auth(b"nobody", b"pw"), frame(6, b"INVALID_AUTH")),
    "a command": (command("ECHO", "x"), response(b"$1\r\nx\r\n")),
    "a wide command": (command("EXISTS", *["k"] * 600), response(b":600\r\n")),
    "an error": (command("INCR", "k"), error(b"ERR value is not an integer or out of range")),
    "no command": (command(), EMPTY_COMMAND),
    "a command of Python's": (command(*CONTROL), response(CONTROL_REPLY)),
    "MONITOR": (command("MONITOR"), NO_MONITOR),
    "MONITOR with an argument": (command("MONITOR", "x"), MONITOR_ARITY),
    "MONITOR with many": (command("monitor", *["x"] * 600), MONITOR_ARITY),
}


@pytest.fixture
def served() -> Iterator[Served]:
    with Served(native=True) as served:
        yield served


@pytest.fixture
def wire(served: Served) -> Iterator[Native]:
    with Native(served.native) as wire:
        assert wire.ask(put(b"k", b"v")) == (3, b"OK")
        yield wire


def exchanged(wire: Native, data: bytes, replies: bytes) -> None:
    """Send all at once; exactly these replies come."""
    with wire.sending(data + frame(PING, b"end")):
        assert wire.read(len(replies) + len(PONGED)) == replies + PONGED


def reply(word: str) -> bytes:
    return command("CLIENT", "REPLY", word)


def test_each_kind_of_request(wire: Native) -> None:
    exchanged(wire, b"".join(data for data, _ in EACH.values()), b"".join(answer for _, answer in EACH.values()))


def test_no_replies(wire: Native) -> None:
    """CLIENT REPLY OFF: not a byte, until ON."""
    everything = b"".join(data for data, _ in EACH.values())
    exchanged(wire, reply("OFF") + everything + put(b"done", b"x") + reply("ON") + get(b"done"), ON + response(b"x"))


@pytest.mark.parametrize(("data", "answer"), EACH.values(), ids=EACH)
def test_one_reply_is_skipped(data: bytes, answer: bytes, wire: Native) -> None:
    exchanged(wire, put(b"b", BLOCK) + reply("SKIP") + data + data, OK + answer)
    exchanged(wire, reply("SKIP") + reply("SKIP") + data + data, answer)
    exchanged(wire, reply("SKIP") + reply("ON") + data, ON + answer)
    exchanged(wire, reply("OFF") + data + reply("SKIP") + data + reply("ON") + data, ON + answer)
    exchanged(wire, reply("OFF") + data + command("RESET") + data, response(b"+RESET\r\n") + answer)


def test_quit(served: Served, wire: Native) -> None:
    wire.send(get(b"k") + command("QUIT") + put(b"k", b"after") + frame(PING))
    assert wire.rest() == response(b"v") + ON
    with Native(served.native) as quiet:
        quiet.send(reply("OFF") + command("QUIT") + frame(PING))
        assert quiet.rest() == b""
    with Native(served.native) as browser:
        browser.send(command("POST", "/") + frame(PING))
        assert browser.rest() == b""
    with served.connect() as witness:
        assert witness.call("GET", "k") == b"$1\r\nv\r\n"


def test_databases(served: Served, wire: Native) -> None:
    """SELECT holds for all requests behind it, also in the batch that it came in."""
    keys = [b"k%d" % i for i in range(30)]
    sets = b"".join(put(key, b"in 3") for key in keys)
    gets = b"".join(get(key) for key in keys)
    exchanged(
        wire,
        gets + command("SELECT", 3) + gets + sets + gets + command("SELECT", 99) + command("SELECT", 0) + gets,
        NOT_FOUND * 30 + ON + NOT_FOUND * 30 + OK * 30 + response(b"in 3") * 30
        + error(b"ERR DB index is out of range") + ON + NOT_FOUND * 30,
    )  # fmt: skip
    exchanged(wire, command("SELECT", 3) + delete(b"k0") + get(b"k1") + command("RESET") + get(b"k1") + get(b"k"),
              ON + OK + response(b"in 3") + response(b"+RESET\r\n") + NOT_FOUND + response(b"v"))  # fmt: skip


def test_it_is_always_resp3(wire: Native) -> None:
    null = command("GET", "none"), response(b"_\r\n")
    for words in (["HELLO", 2], ["HELLO", 3], ["RESET"], ["HELLO"], ["HELLO", 4], ["HELLO", 2, "AUTH", "default", "x"]):
        kind, payload = wire.ask(command(*words))
        assert (kind, payload[:1]) in [(3, b"*" if 2 in words else b"%"), (3, b"+"), (7, b"N")]
        exchanged(wire, *null)


def test_names(served: Served, wire: Native) -> None:
    requests: list[Sequence[Arg]] = [("CLIENT", "SETNAME", "me"), ("CLIENT", "SETINFO", "lib-name", "lib")]
    assert wire.pipeline(requests) == [b"+OK\r\n"] * 2
    (line,) = served.ask("list")[1]
    assert b" name=me " in line and b" lib-name=lib " in line
    assert wire.call("HELLO", 3, "SETNAME", "other").startswith(b"%7\r\n")
    assert wire.call("CLIENT", "GETNAME") == b"$5\r\nother\r\n"
    assert value(wire.call("CLIENT", "INFO")).count(" name=other ") == 1


# What others see


def test_the_line_of_a_client(served: Served, wire: Native) -> None:
    host, port = wire.socket.getsockname()
    for data, name in (
        (get(b"k"), b"get"),
        (put(b"k", b"v"), b"set"),
        (delete(b"none"), b"del"),
        (frame(PING), b"ping"),
        (auth(b"", b""), b"auth"),
        (command("CLIENT", "ID"), b"client|id"),
        (command("EXISTS", *["k"] * 600), b"exists"),
    ):
        wire.ask(data)
        (line,) = served.ask("list")[1]
        assert (
            b" addr=%s:%d " % (host.encode(), port) in line
            and b" laddr=%s:%d " % (host.encode(), served.native[1]) in line
        )
        assert b" cmd=%s " % name in line and b" flags=N " in line and b" resp=3 " in line


def test_a_monitor_sees_requests_as_the_rows_they_run(served: Served) -> None:
    with monitor(served) as watching, Native(served.native) as wire:
        data = b"".join(data for data, _ in EACH.values()) + put(b"a\0\r\n", b'"', -5) + frame(PING)
        answers = b"".join(answer for _, answer in EACH.values())
        wire.send(put(b"k", b"v") + data)
        assert wire.read(3 + 4 + len(answers)).endswith(answers)
        lines = shown(watching, 16)
        seen = [line.replace(BLOCK, b"block") for line in lines]
        assert seen == [
            *(b'"SET" "k" "v"', b'"GET" "k"', b'"GET" "none"', b'"SET" "k" "v"', b'"SET" "l" "v" "PX" "100000"'),
            *(b'"SET" "b" "block"', b'"GET" "b"', b'"DEL" "b"', b'"PING"'),
            *(b'"AUTH" "(redacted)" "(redacted)"', b'"AUTH" "(redacted)" "(redacted)"', b'"ECHO" "x"'),
            *(b'"EXISTS"' + b' "k"' * 600, b'"INCR" "k"'),
            *(rb'"SET" "a\x00\r\n" "\"" "PX" "-5"', b'"PING"'),
        ]


def test_calls_and_errors_are_counted_as_the_rows_they_run(served: Served, wire: Native) -> None:
    served.group.records.reset()
    exchanged(wire, b"".join(data for data, _ in EACH.values()), b"".join(answer for _, answer in EACH.values()))
    tally = served.group.records.tally()
    calls = {ROWS[row]: tuple(figures[i] for i in (0, 2, 3)) for row, figures in tally["rows"].items()}
    assert calls == {
        "get": (3, 0, 0),
        "set": (3, 0, 0),
        "del": (1, 0, 0),
        "ping": (2, 0, 0),
        "auth": (2, 1, 0),
        "echo": (1, 0, 0),
        "exists": (1, 0, 0),
        "incr": (1, 1, 0),
        "config|get": (1, 0, 0),
        "monitor": (0, 0, 2),
    }
    assert tally["words"] == {"EMPTY_KEY": 1, "INVALID_OPCODE": 1, "WRONGPASS": 1, "ERR": 5}


@pytest.mark.parametrize("threshold_us", [0, 1_000_000])
def test_the_slow_log_has_requests_as_the_rows_they_run(threshold_us: int, served: Served, wire: Native) -> None:
    served.group.records.configure(slow_us=threshold_us, slow_max=100, monitor_ms=0)
    exchanged(wire, b"".join(data for data, _ in EACH.values()), b"".join(answer for _, answer in EACH.values()))
    calls = [call[3] for call in reversed(served.group.records.slow_calls(-1))]
    if threshold_us:
        assert calls == []
        return
    assert calls[:2] == [[b"GET", b"k"], [b"GET", b"none"]]
    assert [b"SET", b"l", b"v", b"PX", b"100000"] in calls and [b"DEL", b"b"] in calls
    assert [b"AUTH", b"(redacted)", b"(redacted)"] in calls and [b"ECHO", b"x"] in calls
    assert [b"EXISTS", *[b"k"] * 30, b"... (570 more arguments)"] in calls
    assert calls[-1] == [b"PING"]
    assert b"pw" not in b"".join(b"".join(call) for call in calls)


# Pauses


def test_writes_wait_and_reads_go_on(served: Served, wire: Native) -> None:
    with Native(served.native) as reader:
        served.group.pause(LONG, False)
        wire.send(get(b"k") + put(b"k", b"w", 100_000) + get(b"k") + delete(b"k"))
        assert wire.frame() == (3, b"v")
        until(lambda: served.figure("held") == 1)
        assert silent(wire, 0.05)
        assert reader.ask(get(b"k")) == (3, b"v")
        assert reader.ask(put(b"", b"v")) == (7, b"EMPTY_KEY")
        assert reader.ask(request(99)) == (7, b"INVALID_OPCODE")
        served.group.unpause()
        exchanged(wire, get(b"k"), OK + response(b"w") + OK + NOT_FOUND)


@pytest.mark.parametrize("first", ["PING", "AUTH", "GET", "SET of a block", "a wide command", "a command of Python's"])
def test_everything_waits(first: str, served: Served, wire: Native) -> None:
    served.group.pause(LONG, True)
    request, answer = EACH[first]
    wire.send(request)
    until(lambda: served.figure("held") == 1)
    wire.send(b"".join(data for data, _ in EACH.values()))
    assert silent(wire, 0.01)
    served.group.unpause()
    exchanged(wire, b"", answer + b"".join(answer for _, answer in EACH.values()))


# Python's commands


@pytest.fixture
def asked() -> Iterator[Served]:
    with Served(native=True, answer=None, capacity=2) as asked:
        yield asked


def test_a_call_says_who_asks_what(asked: Served) -> None:
    with Native(asked.native) as wire:
        wire.send(
            command("SELECT", 3) + command("HELLO", 2) + command("Config", b"gEt", b"a\r\n\0\xff", b"") + get(b"k")
        )
        (call,) = asked.calls()
        assert (call.name, call.db, call.proto) == ("config|get", 3, 3)
        assert call.args == (b"Config", b"gEt", b"a\r\n\x00\xff", b"")
        assert call.laddr == b"127.0.0.1:%d" % asked.native[1]
        assert wire.reply() == b"+OK\r\n" and wire.reply().startswith(b"*14\r\n")
        assert silent(wire, 0.05)
        call.answer(b"_\r\n")
        assert wire.read(8 + len(NOT_FOUND)) == response(b"_\r\n") + NOT_FOUND


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"+OK\r\n", ON),
        (b"-ERR no\r\n", error(b"ERR no")),
        (b"-\r\n", error(b"")),
        (b"%1\r\n$1\r\na\r\n-ERR inside\r\n", response(b"%1\r\n$1\r\na\r\n-ERR inside\r\n")),
        (b"$40000\r\n" + BLOCK + b"\r\n", response(b"$40000\r\n" + BLOCK + b"\r\n")),
        (b"", b""),
    ],
    ids=["OK", "error", "empty error", "error inside", "long", "nothing"],
)
def test_answers_of_every_kind(answer: bytes, expected: bytes, asked: Served) -> None:
    with Native(asked.native) as wire:
        for _ in range(2):
            wire.send(frame(PING) + command(*CONTROL) + frame(PING))
            (call,) = asked.calls()
            call.answer(answer)
            assert wire.read(10 + len(expected)) == PONGED + expected + PONGED


def test_an_answer_that_ends_the_connection(asked: Served) -> None:
    with Native(asked.native) as wire:
        wire.send(frame(PING) + command(*CONTROL) + frame(PING))
        (call,) = asked.calls()
        call.answer(b"-ERR bye\r\n", close=True)
        assert wire.rest() == PONGED + error(b"ERR bye")


def test_when_too_many_wait(asked: Served) -> None:
    wires = [Native(asked.native) for _ in range(3)]
    for wire in wires[:2]:
        wire.send(command(*CONTROL))
    time.sleep(0.1)
    busy = error(b"BUSY too many control commands are waiting, try again later")
    exchanged(wires[2], command(*CONTROL) * 50, busy * 50)
    for call in asked.calls(2):
        call.answer(b"+OK\r\n")
    for wire in wires[:2]:
        assert wire.reply() == b"+OK\r\n"
    for wire in wires:
        wire.close()


def test_calls_in_the_middle_of_long_pipelines(served: Served, wire: Native) -> None:
    data = (put(b"k", b"v" * 3000) + get(b"k") + command(*CONTROL) + frame(PING)) * 300
    answers = (OK + response(b"v" * 3000) + response(CONTROL_REPLY) + PONGED) * 300
    with Native(served.native) as other, wire.sending(data), other.sending(data):
        assert wire.read(len(answers)) == answers
        assert other.read(len(answers)) == answers


def test_clients_are_killed(asked: Served) -> None:
    """One that waits for Python, one that is idle; the others go on."""
    wires = [Native(asked.native) for _ in range(3)]
    for wire in wires:
        assert wire.ask(frame(PING)) == (1, b"")
    wires[0].send(command(*CONTROL))
    (call,) = asked.calls()
    ids = [int(line.split()[0][3:]) for line in asked.ask("list")[1]]
    assert asked.ask("kill", ids=ids[:2])[0] == 2
    call.answer(b"+too late\r\n")
    assert wires[0].rest() == wires[1].rest() == b""
    assert wires[2].ask(frame(PING)) == (1, b"")
    for wire in wires:
        wire.close()


def test_a_stop_answers_what_has_come() -> None:
    with Served(native=True) as served:
        wire = Native(served.native)
        wire.ask(frame(PING))
        served.group.pause(LONG, True)
        wire.send(put(b"k", b"v") + get(b"k") + command(*CONTROL) + frame(PING) + get(b"k")[:7])
        until(lambda: served.figure("held") == 1)
        served.group.stop(5000)
        assert wire.rest() == OK + response(b"v") + response(CONTROL_REPLY) + PONGED
        wire.close()
        assert served.group.join(5)
