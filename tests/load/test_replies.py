"""Replies told apart: every sort of RESP2, RESP3 and the native protocol, cut anywhere."""

from __future__ import annotations

import itertools
import struct

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st

from tellstone import ProtocolError
from tellstone._core.load.replies import ReplyReader

pytestmark = pytest.mark.core

Replies = list[tuple[str, bytes]]


def read(protocol: str, *pieces: bytes) -> Replies:
    reader = ReplyReader(protocol)
    return [reply for piece in pieces for reply in reader.feed(piece)]


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[n : n + size] for n in range(0, len(data), size)]


def byte_by_byte(protocol: str, data: bytes) -> tuple[Replies, bool]:
    """The replies, up to the end or to a byte that is refused, and whether there was one."""
    reader, found = ReplyReader(protocol), []
    try:
        for piece in cut(data, 1):
            found += reader.feed(piece)
    except ProtocolError:
        return found, True
    return found, False


def shortened(replies: Replies) -> Replies:
    """Of a long line that came in pieces only the beginning is kept."""
    return [(sort, text[:200] if sort in ("error", "other") else text) for sort, text in replies]


LONG = b"x" * 1000
RESP: list[tuple[bytes, Replies]] = [
    (b"+OK\r\n", [("other", b"OK")]),
    (b"+\r\n", [("other", b"")]),
    (b"-ERR no\r\n", [("error", b"ERR no")]),
    (b"-" + LONG + b"\r\n", [("error", LONG)]),
    (b":5\r\n", [("other", b"5")]),
    (b":-9223372036854775808\r\n", [("other", b"-9223372036854775808")]),
    (b"$5\r\nhello\r\n", [("value", b"hello")]),
    (b"$0\r\n\r\n", [("value", b"")]),
    (b"$4\r\n\r\n\r\n\r\n", [("value", b"\r\n\r\n")]),
    (b"$1000\r\n" + LONG + b"\r\n", [("value", LONG)]),
    (b"$-1\r\n", [("null", b"")]),
    (b"*-1\r\n", [("null", b"")]),
    (b"_\r\n", [("null", b"")]),
    (b"*0\r\n", [("other", b"")]),
    (b"*2\r\n:1\r\n$1\r\na\r\n", [("other", b"")]),
    (b"*2\r\n-ERR inside\r\n$-1\r\n", [("other", b"")]),
    (b"*1\r\n*2\r\n*0\r\n*1\r\n*0\r\n", [("other", b"")]),
    (b"~2\r\n+a\r\n+b\r\n", [("other", b"")]),
    (b"%2\r\n$1\r\na\r\n:1\r\n+b\r\n*1\r\n_\r\n", [("other", b"")]),
    (b"%0\r\n", [("other", b"")]),
    (b"#t\r\n", [("other", b"t")]),
    (b",1.5\r\n", [("other", b"1.5")]),
    (b"(-1234567890123456789012\r\n", [("other", b"-1234567890123456789012")]),
    (b"=8\r\ntxt:text\r\n", [("value", b"txt:text")]),
    (b"!7\r\nERR b\r\n\r\n", [("error", b"ERR b\r\n")]),
    (b"|1\r\n+ttl\r\n:3\r\n:7\r\n", [("other", b"7")]),
    (b"|1\r\n+a\r\n*2\r\n$1\r\nb\r\n|1\r\n:1\r\n:2\r\n:3\r\n$1\r\nv\r\n", [("value", b"v")]),
    (b"*2\r\n|1\r\n+a\r\n*1\r\n:1\r\n:2\r\n:3\r\n", [("other", b"")]),
    (b"|0\r\n+x\r\n", [("other", b"x")]),
    (b">2\r\n$7\r\nmessage\r\n%1\r\n:1\r\n:2\r\n+mine\r\n", [("other", b"mine")]),
    (b">0\r\n$1\r\nv\r\n", [("value", b"v")]),
]


def native(kind: int, payload: bytes = b"") -> bytes:
    return struct.pack(">IB", len(payload) + 1, kind) + payload


NATIVE: list[tuple[bytes, Replies]] = [
    (native(1), [("other", b"")]),
    (native(3, b"OK"), [("value", b"OK")]),
    (native(3), [("value", b"")]),
    (native(3, LONG), [("value", LONG)]),
    (native(3, b"NOT_FOUND"), [("value", b"NOT_FOUND")]),
    (native(5, b"OK"), [("other", b"OK")]),
    (native(6, b"INVALID_AUTH"), [("error", b"INVALID_AUTH")]),
    (native(7, b"NOT_FOUND"), [("null", b"")]),
    (native(7, b"EMPTY_KEY"), [("error", b"EMPTY_KEY")]),
    (native(7), [("error", b"")]),
]
ALL = [("resp", *pair) for pair in RESP] + [("native", *pair) for pair in NATIVE]


@pytest.mark.parametrize(("protocol", "data", "replies"), ALL, ids=lambda x: repr(x)[:40])
def test_every_sort_cut_anywhere(protocol: str, data: bytes, replies: Replies) -> None:
    assert read(protocol, data) == replies
    for pieces in (cut(data, 1), *([data[:n], data[n:]] for n in range(1, len(data)))):
        assert shortened(read(protocol, *pieces)) == shortened(replies)


@pytest.mark.parametrize(("protocol", "sorts"), [("resp", RESP), ("native", NATIVE)])
def test_a_row_of_replies(protocol: str, sorts: list[tuple[bytes, Replies]]) -> None:
    everything = b"".join(data for data, _ in sorts) * 3
    expected = [reply for _, replies in sorts for reply in replies] * 3
    for size in (1, 2, 3, 7, 64, 4096, len(everything)):
        assert shortened(read(protocol, *cut(everything, size))) == shortened(expected)


@pytest.mark.parametrize(
    "data",
    [
        *(b"\r\n", b"x\r\n", b"GET / HTTP/1.1\r\n", b"+OK\n", b"$x\r\n", b"$-2\r\n", b"$ 1\r\n", b"$01\r\na\r\n"),
        *(b"$1\r\nab\r\n", b"$1\r\na\rx", b"*-2\r\n", b"*x\r\n", b"=-1\r\n", b":\r\n", b":1.5\r\n", b"_x\r\n"),
        *(
            b"$99999999999999999999\r\n",
            b"*99999999999\r\n",
            b"*2\r\n:1\r\nx\r\n",
            b"$?\r\n",
            b"$" + b"1" * 300 + b"\r\n",
        ),
    ],
)
def test_what_is_not_resp(data: bytes) -> None:
    for pieces in ([data], cut(data, 1)):
        with pytest.raises(ProtocolError):
            read("resp", *pieces)


@pytest.mark.parametrize("data", [b"\0\0\0\0", b"\0\0\0\1\2", b"\0\0\0\1\x08", b"\0\0\0\1\0", b"\xff\xff\xff\xff\3"])
def test_what_is_no_reply_natively(data: bytes) -> None:
    for pieces in ([data + b"\0"], cut(data + b"\0", 1)):
        with pytest.raises(ProtocolError):
            read("native", *pieces)


PIECES = st.sampled_from(
    [data for data, _ in RESP] + [b"$", b"*", b"\r\n", b"1", b"-", b"$3\r\n", b"*2\r\n", b"|1\r\n"]
)
soup = st.lists(PIECES | st.binary(max_size=5), max_size=12).map(b"".join)


@examples(400)
@given(st.sampled_from(["resp", "native"]), soup, st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_cuts_change_nothing(protocol: str, data: bytes, sizes: list[int]) -> None:
    """Whatever comes, replies and refusals are the same in pieces of any size and byte by byte."""
    expected, refused = byte_by_byte(protocol, data)
    reader, found, at = ReplyReader(protocol), [], 0
    try:
        for size in itertools.cycle(sizes):
            if at >= len(data):
                break
            found += reader.feed(data[at : at + size])
            at += size
    except ProtocolError:
        assert refused
        assert shortened(found) == shortened(expected)[: len(found)]  # the replies of the last piece go with it
    else:
        assert not refused
        assert shortened(found) == shortened(expected)
