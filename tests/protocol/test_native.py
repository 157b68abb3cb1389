"""The native protocol, byte for byte: every request and its reply, however the stream is cut, and what is no frame."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from frames import (
    AUTH,
    AUTH_ERR,
    AUTH_OK,
    COMMAND,
    DELETE,
    ERROR,
    GET,
    NOT_FOUND,
    OK,
    PING,
    PONG,
    PONGED,
    REQUEST,
    RESPONSE,
    SET,
    Native,
    argument_list,
    auth,
    command,
    delete,
    error,
    frame,
    get,
    put,
    request,
    response,
    text,
)
from net.serving import CONTROL, CONTROL_REPLY, TIMEOUT, Served
from protocol.streams import pieces
from wire import encode

pytestmark = pytest.mark.core

BINARY = bytes(range(256))
BLOCK = b"0123456789abcdef" * 2500  # 40,000 bytes: sent from where it lies
MAX_FRAME = 1 << 20
INVALID = error(b"INVALID_OPCODE")
EMPTY_KEY = error(b"EMPTY_KEY")
AUTHENTICATED = frame(AUTH_OK, b"OK")
DENIED = frame(AUTH_ERR, b"INVALID_AUTH")
BAD_TTL = error(b"ERR invalid expire time in 'set' command")
TRACKING_OFF = b"%3\r\n$5\r\nflags\r\n~1\r\n$3\r\noff\r\n$8\r\nredirect\r\n:-1\r\n$8\r\nprefixes\r\n*0\r\n"
KNOWN = {GET, SET, DELETE, COMMAND}


@dataclass(frozen=True)
class Case:
    """Requests and the replies to them, on an empty store."""

    requests: bytes
    replies: bytes


def case(*steps: tuple[bytes, bytes]) -> Case:
    return Case(b"".join(step[0] for step in steps), b"".join(step[1] for step in steps))


def kept(*values: bytes) -> Case:
    return case(*((put(b"k", value) + get(b"k"), OK + response(value)) for value in values))


CASES = {
    "PING": case((frame(PING), PONGED)),
    "PING with a payload": case((frame(PING, b"x"), PONGED), (frame(PING, BINARY * 100), PONGED)),
    "PONG is one byte": Case(b"\0\0\0\1\0", b"\0\0\0\1\1"),
    "GET, as bytes": Case(b"\0\0\0\x0d\2\1\0\1\0\0\0\0\0\0\0\0k", b"\0\0\0\x0a\7NOT_FOUND"),
    "SET, as bytes": Case(b"\0\0\0\x0e\2\2\0\1\0\0\0\0\0\0\0\0kv", b"\0\0\0\3\3OK"),
    "DELETE, as bytes": Case(b"\0\0\0\x0d\2\3\0\1\0\0\0\0\0\0\0\0k", b"\0\0\0\3\3OK"),
    "AUTH, as bytes": Case(b"\0\0\0\7\4\0\0\0\2pw", b"\0\0\0\3\5OK"),
    "INVALID_OPCODE, as bytes": Case(b"\0\0\0\x0c\2\x63\0\0\0\0\0\0\0\0\0\0", b"\0\0\0\x0f\7INVALID_OPCODE"),
    "SET and GET": kept(b"v", b"", b"w" * 100, BINARY, b"\0", b"\r\n", b"-ERR x\r\n", b"NOT_FOUND"),
    "values that are integers": kept(b"0", b"-1", b"007", b"+1", b"%d" % (2**63 - 1), b"%d" % -(2**63), b"%d" % 2**63),
    "values that are blocks": kept(BLOCK, b"-" + BLOCK, b"x", BLOCK + b"!", b""),
    "keys of any bytes": case(
        *((put(key, key) + get(key), OK + response(key)) for key in (b"\0", BINARY, b"k" * 65535, b"\r\n"))
    ),
    "GET of nothing": case((get(b"k"), NOT_FOUND), (get(b""), NOT_FOUND), (get(b"k" * 65535), NOT_FOUND)),
    "GET minds neither value nor ttl": case((put(b"k", b"v"), OK), (request(GET, b"k", b"x", 5), response(b"v"))),
    "DELETE": case((delete(b"k"), OK), (put(b"k", b"v"), OK), (delete(b"k"), OK), (get(b"k"), NOT_FOUND)),
    "DELETE of a block": case((put(b"k", BLOCK), OK), (delete(b"k"), OK), (delete(b"k"), OK), (get(b"k"), NOT_FOUND)),
    "DELETE minds neither value nor ttl": case((put(b"k", b"v"), OK), (request(DELETE, b"k", b"x", -5), OK)),
    "an empty key is not set": case(
        *((put(b"", value, ttl), EMPTY_KEY) for value in (b"", b"v", BLOCK) for ttl in (0, 1000, -1)),
        (get(b""), NOT_FOUND),
    ),
    "an empty key is read and deleted": case(
        *((command("SET", "", "v"), response(b"+OK\r\n")), (get(b""), response(b"v"))),
        *((delete(b""), OK), (get(b""), NOT_FOUND)),
    ),
    "a lifetime": case(
        *((put(b"k", b"v", 100_000), OK), (get(b"k"), response(b"v")), (command("TTL", "k"), response(b":100\r\n"))),
        *((put(b"k", b"v"), OK), (command("TTL", "k"), response(b":-1\r\n"))),
        *((put(b"k", BLOCK, 100_000), OK), (command("TTL", "k"), response(b":100\r\n")), (get(b"k"), response(BLOCK))),
    ),
    "a lifetime that cannot be": case(
        (put(b"k", b"v"), OK),
        *((put(b"k", b"w", ttl), BAD_TTL) for ttl in (-1, -(2**63), 2**63 - 1)),
        (get(b"k"), response(b"v")),
    ),
    "AUTH": case(
        *(
            (auth(user, word), AUTHENTICATED)
            for user in (b"", b"default")
            for word in (b"", b"pw", BINARY, b"x" * 65535)
        )
    ),
    "AUTH of nobody": case((auth(b"nobody", b"pw"), DENIED), (frame(PING), PONGED), (auth(b"", b""), AUTHENTICATED)),
    "AUTH of a long name": case((auth(b"x" * 65535, b"x" * 65535), DENIED)),
    "operations that are none": case(*((request(op, b"k", b"v", 7), INVALID) for op in range(256) if op not in KNOWN)),
    "operations that are none, without anything": case(*((request(op), INVALID) for op in (0, 4, 33, 255))),
    "COMMAND": case(
        (command("SET", "k", "v"), response(b"+OK\r\n")),
        (command("get", "k"), response(b"$1\r\nv\r\n")),
        (command("GeT", "none"), response(b"_\r\n")),
        (command("DEL", "k", "none"), response(b":1\r\n")),
        (command("MGET", "k", "none"), response(b"*2\r\n_\r\n_\r\n")),
        (command("INCRBYFLOAT", "n", "1.5"), response(b"$3\r\n1.5\r\n")),
        (command("CLIENT", "TRACKINGINFO"), response(TRACKING_OFF)),
    ),
    "COMMAND with errors": case(
        (command("INCR"), error(b"ERR wrong number of arguments for 'incr' command")),
        (command("SET", "k", "v"), response(b"+OK\r\n")),
        (command("INCR", "k"), error(b"ERR value is not an integer or out of range")),
        (command("NOSUCH", "a"), error(b"ERR unknown command 'NOSUCH', with args beginning with: 'a' ")),
        (command("CLIENT", "x\r\ny"), error(b"ERR unknown subcommand 'x  y'. Try CLIENT HELP.")),
        (command("", ""), error(b"ERR unknown command '', with args beginning with: '' ")),
        (command(), error(b"ERR empty command")),
        (command("AUTH", "x", "y"), error(b"WRONGPASS invalid username-password pair or user is disabled.")),
        (command("SET", "", "v", "PX", "-1"), BAD_TTL),
    ),
    "COMMAND with blocks": case(
        (command("SET", "k", BLOCK), response(b"+OK\r\n")),
        (command("GET", "k"), response(b"$40000\r\n" + BLOCK + b"\r\n")),
        (command("MGET", "k", "k"), response(b"*2\r\n" + (b"$40000\r\n" + BLOCK + b"\r\n") * 2)),
        (command("GETDEL", "k"), response(b"$40000\r\n" + BLOCK + b"\r\n")),
        (get(b"k"), NOT_FOUND),
    ),
    "COMMAND minds neither key nor ttl": case(
        (request(COMMAND, b"key", argument_list("ECHO", "x"), 9), response(b"$1\r\nx\r\n"))
    ),
    "a command of Python's": case(
        (frame(PING), PONGED), (command(*CONTROL), response(CONTROL_REPLY)), (get(b"k"), NOT_FOUND)
    ),
}
# What ends the connection without a word, by how it is wrong.
BROKEN = {
    "length 0": b"\0\0\0\0",
    "one byte over the longest": struct.pack(">IB", MAX_FRAME + 1, PING),
    "the greatest length": b"\xff\xff\xff\xff",
    "a client of Redis": encode("PING"),
    "a browser": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "an empty REQUEST": frame(REQUEST),
    "a REQUEST that ends before its key": frame(REQUEST, b"\1\0\0" + bytes(7)),
    "a key that is longer than its frame": frame(REQUEST, struct.pack(">BHq", GET, 2, 0) + b"k"),
    "a key of 65535 bytes that is not there": frame(REQUEST, struct.pack(">BHq", SET, 65535, 0) + b"k" * 100),
    "an unknown operation whose key overruns": frame(REQUEST, struct.pack(">BHq", 99, 1, 0)),
    "an empty COMMAND": request(COMMAND),
    "half a count": request(COMMAND, b"", b"\0"),
    "an argument that is not there": request(COMMAND, b"", b"\0\1"),
    "half the length of an argument": request(COMMAND, b"", b"\0\1\0"),
    "an argument that overruns": request(COMMAND, b"", b"\0\1\0\2x"),
    "an argument short of the last one": request(COMMAND, b"", argument_list("SET", "k", "after")[:-1]),
    "a byte behind the arguments": request(COMMAND, b"", argument_list("SET", "k", "after") + b"x"),
    "a byte behind no arguments": request(COMMAND, b"", b"\0\0x"),
    "65535 arguments that are not there": request(COMMAND, b"", b"\xff\xff" + b"\0\0" * 65534),
    "513 arguments and a byte": request(COMMAND, b"", argument_list("DEL", *range(512)) + b"x"),
    "an empty AUTH": frame(AUTH),
    "AUTH without a password": frame(AUTH, text(b"")),
    "AUTH whose name overruns": frame(AUTH, b"\0\2x"),
    "AUTH whose password overruns": frame(AUTH, text(b"") + b"\0\2x"),
    "AUTH with a byte behind it": frame(AUTH, text(b"") + text(b"") + b"x"),
    **{f"type {kind}, which servers send": frame(kind, b"OK") for kind in (PONG, RESPONSE, AUTH_OK, AUTH_ERR, ERROR)},
    **{f"type {kind}, which nobody sends": frame(kind) for kind in (8, 9, 127, 128, 255)},
}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(native=True, max_frame=MAX_FRAME) as served:
        yield served


@pytest.fixture
def wire(served: Served) -> Iterator[Native]:
    with Native(served.native) as wire:
        assert wire.call("FLUSHALL") == b"+OK\r\n"
        yield wire


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_answers(case: Case, wire: Native) -> None:
    wire.send(case.requests)
    assert wire.read(len(case.replies)) == case.replies
    assert wire.finish() == b""


def test_in_one_stream(wire: Native) -> None:
    """All of them, several times over, without a reply being waited for."""
    empty = command("FLUSHALL"), response(b"+OK\r\n")
    everything = case(*(step for each in CASES.values() for step in (empty, (each.requests, each.replies))))
    with wire.sending(everything.requests * 5):
        for _ in range(5):
            assert wire.read(len(everything.replies)) == everything.replies


SHORT = {name: case for name, case in CASES.items() if len(case.requests) < 600}


def arrive(served: Served, wire: Native, data: list[bytes]) -> None:
    """Send pieces, each of which is read before the next one comes."""
    arrived, deadline = served.figure("input_bytes"), time.monotonic() + TIMEOUT
    for piece in data:
        wire.send(piece)
        arrived += len(piece)
        while served.figure("input_bytes") < arrived:
            assert time.monotonic() < deadline
            time.sleep(0.00005)


def test_cut_at_every_byte(served: Served, wire: Native) -> None:
    for name, case in SHORT.items():
        for cut in range(1, len(case.requests)):
            assert wire.call("FLUSHALL") == b"+OK\r\n"
            arrive(served, wire, pieces(case.requests, [cut]))
            assert wire.read(len(case.replies)) == case.replies, (name, cut)


@pytest.mark.parametrize("case", SHORT.values(), ids=SHORT)
def test_byte_by_byte(case: Case, served: Served, wire: Native) -> None:
    arrive(served, wire, pieces(case.requests, range(len(case.requests))))
    assert wire.read(len(case.replies)) == case.replies


def test_nothing_is_answered_before_its_last_byte(served: Served, wire: Native) -> None:
    arrive(served, wire, [frame(PING) + put(b"early", b"v" * 40)[:-1]])
    assert wire.read(len(PONGED)) == PONGED
    with served.connect() as reader:
        assert reader.call("EXISTS", "early") == b":0\r\n"
        arrive(served, wire, [b"v"])
        assert wire.read(len(OK)) == OK
        assert reader.call("EXISTS", "early") == b":1\r\n"


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_what_is_no_frame_ends_the_connection(data: bytes, served: Served) -> None:
    """After the replies to what came before it. What comes behind it is not done, and nobody else is touched."""
    with served.connect() as witness, Native(served.native) as bystander, Native(served.native) as wire:
        assert witness.call("SET", "k", "before") == b"+OK\r\n"
        bystander.send(frame(PING)[:3])
        wire.send(frame(PING) + get(b"k") + command(*CONTROL) + data + put(b"k", b"after") + frame(PING))
        assert wire.rest() == PONGED + response(b"before") + response(CONTROL_REPLY)  # it closes of its own accord
        assert witness.call("GET", "k") == b"$6\r\nbefore\r\n"
        bystander.send(frame(PING)[3:])
        assert bystander.read(len(PONGED)) == PONGED


@pytest.mark.parametrize("data", [data for data in BROKEN.values() if len(data) < 100], ids=repr)
def test_what_is_no_frame_byte_by_byte(data: bytes, served: Served, wire: Native) -> None:
    """It is found out with its last byte at the latest, and with its length where that cannot be."""
    early = 4 if int.from_bytes(data[:4], "big") not in range(1, MAX_FRAME + 1) else len(data)
    arrive(served, wire, pieces(frame(PING) + data[:early], range(early + 5)))
    assert wire.rest() == PONGED


def test_the_end_in_the_middle_of_a_frame(served: Served) -> None:
    for part in range(len(put(b"k", b"v"))):
        with Native(served.native) as wire:
            wire.send(frame(PING) + put(b"k", b"v")[:part])
            assert wire.finish() == PONGED
    with served.connect() as witness:
        assert witness.call("EXISTS", "k") == b":0\r\n"
