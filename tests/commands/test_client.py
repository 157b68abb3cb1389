"""CLIENT and MONITOR with several clients, against a real redis-server where it is one that we follow."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence

import pytest
from servers import Server, redis_program, redis_version
from wire import Arg, Wire, encode, value

OK = b"+OK\r\n"
KEYS_REFUSED = b"-ERR Replica can't interact with the keyspace\r\n"
STAMP = re.compile(rb"^\+\d+\.\d{6} \[(\d+) [\d.]+:\d+\]", re.MULTILINE)


@pytest.fixture(params=["server", "redis"])
def either(request: pytest.FixtureRequest) -> Server:
    """Ours, and a real one, to show that the tests say the truth."""
    if request.param == "redis" and redis_version(redis_program() or "0.0.0") < (7, 2):
        pytest.skip("this redis-server is older than 7.2, or not there")
    found: Server = request.getfixturevalue(request.param)
    return found


def number(wire: Wire) -> int:
    return int(wire.call("CLIENT", "ID")[1:])


def fields(wire: Wire, client: int) -> dict[str, str]:
    """What CLIENT LIST tells of a client; nothing if there is none."""
    line = value(wire.call("CLIENT", "LIST", "ID", client))
    return dict(field.split("=", 1) for field in line.split())


def comes_true(wire: Wire, client: int, name: str, wanted: str) -> None:
    deadline = time.monotonic() + 10
    while fields(wire, client)[name] != wanted:
        assert time.monotonic() < deadline, fields(wire, client)
        time.sleep(0.005)


@pytest.mark.parametrize("proto", [2, 3])
def test_since_7_2(proto: int, server: Server, redis: Server) -> None:
    if redis_version(redis_program() or "") < (7, 2):
        pytest.skip("this redis-server is older")
    with server.connect() as ours, redis.connect() as theirs:
        for wire in (ours, theirs):
            wire.call("HELLO", proto)
        for request in (("CLIENT", "HELP"), ("client", "help"), ("CLIENT", "PAUSE", 2**63 - 1)):
            assert ours.call(*request) == theirs.call(*request)


def test_kill_by_every_filter(either: Server) -> None:
    with either.connect() as wire:
        for words in ("ID", "ADDR", "LADDR", "USER", "TYPE", "old"):
            victim = either.connect()
            host, port = victim.socket.getsockname()
            there = "{}:{}".format(*either.address)
            only: tuple[Arg, ...] = ("ID", number(victim))
            filters: Sequence[Arg] = {
                "ID": only,
                "ADDR": ("ADDR", f"{host}:{port}"),
                "LADDR": ("LADDR", there, *only),
                "USER": ("USER", "default", *only),
                "TYPE": ("TYPE", "normal", *only),
                "old": (f"{host}:{port}",),
            }[words]
            assert wire.call("CLIENT", "KILL", *filters) == (OK if words == "old" else b":1\r\n")
            assert victim.rest() == b""
            victim.close()


def test_kill_oneself(either: Server) -> None:
    with either.connect() as wire:
        me = number(wire)
        assert wire.call("CLIENT", "KILL", "ID", me) == b":0\r\n"
        wire.send(encode("CLIENT", "KILL", "ID", me, "SKIPME", "no") + encode("PING"))
        assert wire.rest() == b":1\r\n"
    with either.connect() as wire:
        host, port = wire.socket.getsockname()
        wire.send(encode("CLIENT", "KILL", f"{host}:{port}") + encode("PING"))
        assert wire.rest() == OK


def test_lines_of_clients(either: Server) -> None:
    with either.connect() as wire, either.connect() as other:
        one, two = number(wire), number(other)
        lines = value(wire.call("CLIENT", "LIST", "ID", two, one, 10**15, two)).splitlines()
        assert [int(line.split()[0][3:]) for line in lines] == [two, one, two]
        told = fields(wire, one)
        assert [told[name] for name in ("cmd", "flags", "events")] == ["client|list", "N", "r"]
        assert int(told["argv-mem"]) == len(f"CLIENTLISTID{one}")
        assert int(told["qbuf"]) == len(encode("CLIENT", "LIST", "ID", one))
        mine = value(wire.call("CLIENT", "INFO"))
        assert f" qbuf={len(encode('CLIENT', 'INFO'))} " in (mine if isinstance(mine, str) else mine.decode())
        other.call("CLIENT", "NO-EVICT", "on")
        other.call("CLIENT", "NO-TOUCH", "on")
        told = fields(wire, two)
        assert [told[name] for name in ("flags", "multi", "redir", "sub", "cmd")] == [
            "eT",
            "-1",
            "-1",
            "0",
            "client|no-touch",
        ]
        assert int(told["tot-mem"]) > 0 and told["omem"] == told["oll"] == told["multi-mem"] == "0"


def test_unblock(either: Server) -> None:
    with either.connect() as wire, either.connect() as waits:
        client = number(waits)
        for words, reply in [
            ((), b":0\r\n"),
            (("TIMEOUT",), b":0\r\n"),
            (("error",), b"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"),
        ]:
            assert wire.call("CLIENT", "UNBLOCK", client, *words) == b":0\r\n"
            waits.send(encode("WAIT", 1, 0) + encode("PING"))
            comes_true(wire, client, "flags", "b")
            assert b"blocked_clients:1\r\n" in wire.call("INFO", "clients")
            deadline = time.monotonic() + 10
            while wire.call("CLIENT", "UNBLOCK", client, *words) != b":1\r\n":
                assert time.monotonic() < deadline
            assert waits.reply() == reply
            assert waits.reply() == b"+PONG\r\n"
            assert b"blocked_clients:0\r\n" in wire.call("INFO", "clients")


@pytest.mark.parametrize(("timeout", "count"), [(0, 0), (60_000, 1)])
def test_who_waits_for_a_time_is_counted(timeout: int, count: int, either: Server) -> None:
    with either.connect() as wire, either.connect() as waits:
        client = number(waits)
        waits.send(encode("WAIT", 1, timeout))
        comes_true(wire, client, "flags", "b")
        assert b"clients_in_timeout_table:%d\r\n" % count in wire.call("INFO", "clients")
        assert wire.call("CLIENT", "UNBLOCK", client) == b":1\r\n"
        assert waits.reply() == b":0\r\n"


def test_pause_holds_others_back(either: Server) -> None:
    with either.connect() as wire, either.connect() as other:
        wire.call("DEL", "k")
        client = number(other)
        assert wire.call("CLIENT", "PAUSE", 60_000, "WRITE") == OK
        other.send(encode("SET", "k", "v") + encode("GET", "k"))
        comes_true(wire, client, "flags", "b")
        assert wire.call("GET", "k") == b"$-1\r\n"
        assert b"blocked_clients:1\r\n" in wire.call("INFO", "clients")
        assert wire.call("CLIENT", "UNBLOCK", 10**15) == b":0\r\n"
        assert wire.call("CLIENT", "UNPAUSE") == OK
        assert other.reply() == OK and other.reply() == b"$1\r\nv\r\n"


def test_pause_all_holds_back_unpause(either: Server) -> None:
    with either.connect() as wire, either.connect() as other:
        begun = time.monotonic()
        assert wire.call("CLIENT", "PAUSE", 200) == OK
        assert other.call("CLIENT", "UNPAUSE") == OK
        assert time.monotonic() - begun >= 0.19


WATCHED: list[Sequence[Arg]] = [
    ("PING",),
    ("select", 9),
    ("SET", "k", b'bin"ary\\\r\n\t\a\b\0\x1b\x7f\xff'),
    ("GET", "k"),
    ("GET",),
    ("NOSUCH", "x"),
    ("INCR", "k"),
    ("SET", "n", 100, "EX", 10),
    ("ECHO", ""),
    ("AUTH", "secret"),
    ("auth", "default", "secret"),
    ("HELLO", 3, "AUTH", "default", "secret", "SETNAME", "me"),
    ("HELLO", 2, "SETNAME", "you", "auth", "default", "secret"),
    ("HELLO",),
    ("CLIENT", "ID"),
    ("CLIENT", "NO-EVICT", "on"),
    ("CLIENT", "NO-TOUCH", "on"),
    ("CLIENT", "LIST"),
    ("CONFIG", "GET", "maxmemory"),
    ("SLOWLOG", "LEN"),
    ("INFO", "server"),
    ("COMMAND", "COUNT"),
    ("OBJECT", "ENCODING", "k"),
    ("OBJECT", "HELP"),
    ("MEMORY", "USAGE", "k"),
    ("DBSIZE",),
    ("TIME",),
    ("ROLE",),
    ("WAIT", 0, 0),
    ("MONITOR", "x"),
    ("FLUSHDB",),
    ("RESET",),
    ("CLIENT", "REPLY", "SKIP"),
    ("PING", "unheard"),
    ("QUIT",),
]


def watch(server: Server, at_once: bool, proto: int = 2) -> list[bytes]:
    """The lines of WATCHED, without times and addresses."""
    with server.connect() as monitor, server.connect() as wire:
        if proto == 3:
            monitor.call("HELLO", 3)
        assert monitor.call("MONITOR") == OK
        if at_once:
            wire.send(b"".join(encode(*request) for request in WATCHED))
        for request in [] if at_once else WATCHED:
            wire.send(encode(*request))
            if request[-1] not in ("SKIP", "unheard"):
                wire.reply()
        wire.rest()
        lines: list[bytes] = []
        while not lines or not lines[-1].endswith(b'"QUIT"\r\n'):
            lines.append(STAMP.sub(rb"+[\1]", monitor.reply()))
        return lines


@pytest.mark.parametrize("proto", [2, 3])
@pytest.mark.parametrize("at_once", [False, True], ids=["one by one", "all at once"])
def test_monitor_shows_what_redis_shows(at_once: bool, proto: int, server: Server, redis: Server) -> None:
    if redis_version(redis_program() or "") < (7, 2):
        pytest.skip("this redis-server is older")
    ours, theirs = watch(server, at_once, proto), watch(redis, at_once, proto)
    assert ours == theirs


def test_a_monitor_watches_itself(either: Server) -> None:
    with either.connect() as monitor:
        assert monitor.call("HELLO", 3).startswith(b"%7")
        requests = [
            ("MONITOR",),
            ("PING",),
            ("GET", "k"),
            ("MONITOR",),
            ("CLIENT", "ID"),
            ("RESET",),
            ("GET", "missing"),
        ]
        monitor.send(b"".join(encode(*request) for request in requests))
        expected = [
            OK,
            b"+PONG\r\n",
            b'+[0] "PING"\r\n',
            KEYS_REFUSED,
            b":",
            b'+[0] "CLIENT" "ID"\r\n',
            b"+RESET\r\n",
            b"$-1\r\n",
        ]
        replies = [STAMP.sub(rb"+[\1]", monitor.reply()) for _ in expected]
        assert [reply[:1] if reply[:1] == b":" else reply for reply in replies] == expected


def test_monitor_flag_and_type(either: Server) -> None:
    with either.connect() as wire, either.connect() as monitor:
        client = number(monitor)
        assert monitor.call("MONITOR") == OK
        assert fields(wire, client)["flags"] == "O"
        assert f"id={client} " in value(wire.call("CLIENT", "LIST", "TYPE", "normal"))
        assert f"id={client} " not in value(wire.call("CLIENT", "LIST", "TYPE", "replica"))
        assert wire.call("CLIENT", "KILL", "ID", client) == b":1\r\n"
        assert monitor.rest().count(b"+") <= 3


def test_pauses_and_monitors_in_a_busy_server(server: Server) -> None:
    """Many clients count up a key of their own while everything is paused, watched and unwatched: no count is lost."""
    with server.connect() as wire:
        wire.call("FLUSHALL")

    def work(name: str) -> None:
        with server.connect() as own:
            for n in range(1, 1501):
                assert own.call("INCR", name) == b":%d\r\n" % n

    workers = [threading.Thread(target=work, args=[f"n{i}"]) for i in range(6)]
    for worker in workers:
        worker.start()
    with server.connect() as wire:
        while any(worker.is_alive() for worker in workers):
            with server.connect() as monitor:
                assert monitor.call("MONITOR") == OK
                assert wire.call("CLIENT", "PAUSE", 30, "WRITE") == OK
                time.sleep(0.01)
                assert wire.call("CLIENT", "UNPAUSE") == OK
                wire.call("PING")  # the others may have ended
                monitor.reply()
        for worker in workers:
            worker.join()
        assert [wire.call("GET", f"n{i}") for i in range(6)] == [b"$4\r\n1500\r\n"] * 6
