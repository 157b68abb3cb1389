"""What the tables of cases cannot say about a connection: replies that are left out, lines with changing numbers, and
answers of Redis 7.2 that its predecessors give otherwise.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import TypeAlias

import pytest
from servers import Server, redis_program, redis_version
from wire import Arg, encode, value

from tellstone.version import REDIS_VERSION

Exchange: TypeAlias = "tuple[Sequence[Arg], bytes]"

OK = b"+OK\r\n"
NULL = b"$-1\r\n"
SYNTAX = b"-ERR syntax error\r\n"
BAD_NAME = b"-ERR Client names cannot contain spaces, newlines or special characters.\r\n"
BAD_USER = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"
GETNAME = ("CLIENT", "GETNAME")


def setinfo(attribute: str, text: str | bytes) -> Sequence[Arg]:
    return ("CLIENT", "SETINFO", attribute, text)


def bad_info(attribute: bytes) -> bytes:
    return b"-ERR %s cannot contain spaces, newlines or special characters.\r\n" % attribute


def arity(command: bytes) -> bytes:
    return b"-ERR wrong number of arguments for '%s' command\r\n" % command


# Redis 7.2 reads all options of HELLO before it checks the user, and sets the name only after that.
SINCE_7_2: dict[str, list[Exchange]] = {
    "HELLO options before the user": [
        (("HELLO", 3, "AUTH", "nobody", "x", "SETNAME", "a b"), BAD_NAME),
        (("HELLO", 3, "AUTH", "nobody", "x", "NOSUCH"), b"-ERR Syntax error in HELLO option 'NOSUCH'\r\n"),
        (("HELLO", 3, "AUTH", "default", "x", "AUTH", "nobody", "x"), BAD_USER),
        (("HELLO", 3, "AUTH", "default"), b"-ERR Syntax error in HELLO option 'AUTH'\r\n"),
        (GETNAME, NULL),
    ],
    "HELLO changes nothing when it fails": [
        (("HELLO", 3, "SETNAME", "a", "SETNAME"), b"-ERR Syntax error in HELLO option 'SETNAME'\r\n"),
        (("HELLO", 3, "SETNAME", "a", "SETNAME", "b c"), BAD_NAME),
        (("HELLO", 3, "SETNAME", "a", "AUTH", "nobody", "x"), BAD_USER),
        (GETNAME, NULL),
    ],
    "CLIENT SETINFO": [
        (setinfo("LIB-NAME", "lib"), OK),
        (setinfo("lib-ver", "1.0"), OK),
        (setinfo("Lib-Name", ""), OK),
        (setinfo("LIB-NAME", "a b"), bad_info(b"LIB-NAME")),
        (setinfo("lib-ver", "a\n"), bad_info(b"lib-ver")),
        (setinfo("lib-VER", b"\x80"), bad_info(b"lib-VER")),
        (setinfo("nosuch", "a b"), b"-ERR Unrecognized option 'nosuch'\r\n"),
        (setinfo("two\r\nlines", "x"), b"-ERR Unrecognized option 'two  lines'\r\n"),
        (("CLIENT", "SETINFO", "lib-name"), arity(b"client|setinfo")),
        (("CLIENT", "SETINFO", "lib-name", "a", "b"), arity(b"client|setinfo")),
    ],
    "CLIENT NO-TOUCH": [
        (("CLIENT", "NO-TOUCH", "on"), OK),
        (("CLIENT", "NO-TOUCH", "Off"), OK),
        (("CLIENT", "NO-TOUCH", "x"), SYNTAX),
        (("CLIENT", "NO-TOUCH"), arity(b"client|no-touch")),
        (("CLIENT", "NO-TOUCH", "on", "on"), arity(b"client|no-touch")),
    ],
}


@pytest.mark.parametrize("name", SINCE_7_2)
def test_since_7_2(name: str, server: Server) -> None:
    with server.connect() as wire:
        for request, reply in SINCE_7_2[name]:
            assert wire.call(*request) == reply, request


@pytest.mark.parametrize("name", SINCE_7_2)
def test_redis_7_2_says_so(name: str, redis: Server) -> None:
    if redis_version(redis_program() or "") < (7, 2):
        pytest.skip("this redis-server is older")
    with redis.connect() as wire:
        for request, reply in SINCE_7_2[name]:
            assert wire.call(*request) == reply, request


# Requests of which some get no reply.
SILENCES: dict[str, list[Sequence[Arg]]] = {
    "off": [("PING",), ("CLIENT", "REPLY", "OFF"), ("PING",), ("ECHO", "x"), ("NOSUCH",)],
    "off and on": [
        ("CLIENT", "REPLY", "OFF"),
        ("PING",),
        ("CLIENT", "REPLY", "ON"),
        ("PING",),
        ("CLIENT", "REPLY", "on"),
    ],
    "off is off": [("CLIENT", "REPLY", "OFF"), ("CLIENT", "REPLY", "x"), ("CLIENT", "ID"), ("CLIENT", "REPLY", "SKIP")],
    "skip one": [("CLIENT", "REPLY", "SKIP"), ("ECHO", "no"), ("ECHO", "yes"), ("CLIENT", "REPLY", "skip"), ("PING",)],
    "skip twice": [("CLIENT", "REPLY", "SKIP"), ("CLIENT", "REPLY", "SKIP"), ("ECHO", "no"), ("ECHO", "yes")],
    "skip, then on": [("CLIENT", "REPLY", "SKIP"), ("CLIENT", "REPLY", "ON"), ("ECHO", "yes")],
    "skip, then off": [("CLIENT", "REPLY", "SKIP"), ("CLIENT", "REPLY", "OFF"), ("ECHO", "no"), ("ECHO", "no")],
    "skip while off": [*[("CLIENT", "REPLY", word) for word in ("OFF", "SKIP", "ON")], ("ECHO", "yes")],
    "skip an error": [("CLIENT", "REPLY", "SKIP"), ("NOSUCH",), ("ECHO", "yes"), ("CLIENT", "REPLY", "SKIP"), ("GET",)],
    "skip a large reply": [("SET", "k", "x" * 70000), ("CLIENT", "REPLY", "SKIP"), ("GET", "k"), ("STRLEN", "k")],
    "work goes on": [
        ("CLIENT", "REPLY", "OFF"),
        ("SET", "k", "1"),
        ("INCR", "k"),
        ("CLIENT", "REPLY", "ON"),
        ("GET", "k"),
    ],
    "reset ends it": [("CLIENT", "REPLY", "OFF"), ("PING",), ("RESET",), ("PING",)],
    "skip the reset": [("CLIENT", "REPLY", "SKIP"), ("PING",), ("RESET",), ("PING",)],
    "quit quietly": [("CLIENT", "REPLY", "OFF"), ("QUIT",), ("PING",)],
}


@pytest.mark.parametrize("name", SILENCES)
def test_replies_left_out(name: str, server: Server, redis: Server) -> None:
    data = b"".join(encode(*request) for request in SILENCES[name])
    answers = []
    for each in (server, redis):
        with each.connect() as wire:
            wire.send(data)
            answers.append(wire.finish())
    assert answers[0] == answers[1]


LINE = re.compile(
    r"id=(?P<id>\d+) addr=(?P<addr>\S+) laddr=(?P<laddr>\S+) fd=\d+ name=(?P<name>\S*) age=\d+ idle=\d+ "
    r"flags=(?P<flags>\w+) db=(?P<db>\d+) sub=0 psub=0 ssub=0 multi=-1 qbuf=\d+ qbuf-free=\d+ argv-mem=\d+ multi-mem=0 "
    r"rbs=\d+ rbp=\d+ obl=\d+ oll=\d+ omem=\d+ tot-mem=\d+ events=r cmd=(?P<cmd>\S+) user=default redir=-1 "
    r"resp=(?P<resp>[23]) lib-name=(?P<lib_name>\S*) lib-ver=(?P<lib_ver>\S*)\n"
)


def test_client_info(server: Server) -> None:
    with server.connect() as wire:
        host, port = wire.socket.getsockname()
        for request in (
            ("HELLO", 3, "SETNAME", "me"),
            ("SELECT", 3),
            setinfo("lib-name", "tool"),
            setinfo("lib-ver", "9"),
        ):
            wire.call(*request)
        wire.call("CLIENT", "NO-EVICT", "on")
        wire.call("CLIENT", "NO-TOUCH", "on")
        reply = wire.call("CLIENT", "INFO")
        assert reply.startswith(b"=")
        found = LINE.fullmatch(value(reply))
        assert found, reply
        assert found["addr"] == f"{host}:{port}" and found["laddr"] == "{}:{}".format(*server.address)
        assert found["id"] == wire.call("CLIENT", "ID")[1:-2].decode()
        told = [found[name] for name in ("name", "flags", "db", "cmd", "resp", "lib_name", "lib_ver")]
        assert told == ["me", "eT", "3", "client|info", "3", "tool", "9"]
        wire.call("RESET")
        found = LINE.fullmatch(value(wire.call("CLIENT", "INFO")))
        assert found
        told = [found[name] for name in ("name", "flags", "db", "cmd", "resp", "lib_name", "lib_ver")]
        assert told == ["", "N", "0", "client|info", "2", "tool", "9"]  # the library is still the same


def test_a_redis_line_has_the_same_fields(redis: Server) -> None:
    if redis_version(redis_program() or "") < (7, 2):
        pytest.skip("this redis-server is older")
    with redis.connect() as wire:
        assert LINE.fullmatch(value(wire.call("CLIENT", "INFO")))


@pytest.mark.parametrize("proto", [2, 3])
def test_hello(proto: int, server: Server) -> None:
    with server.connect() as wire:
        number = int(wire.call("CLIENT", "ID")[1:])
        reply = wire.call("HELLO", proto)
        start = {2: b"*14\r\n", 3: b"%7\r\n"}[proto]
        version = REDIS_VERSION.encode()
        assert reply == start + (
            b"$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$%d\r\n%s\r\n$5\r\nproto\r\n:%d\r\n$2\r\nid\r\n:%d\r\n"
            b"$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"
            % (len(version), version, proto, number)
        )


def test_time(server: Server) -> None:
    with server.connect() as wire:
        before = time.time()
        seconds, microseconds = map(int, value(wire.call("TIME")))
        assert before - 0.01 <= seconds + microseconds / 1e6 <= time.time() + 0.01
        assert 0 <= microseconds < 1_000_000
