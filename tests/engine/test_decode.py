"""Replies as Python objects, in one piece and in any pieces."""

from __future__ import annotations

import math
from typing import Any

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st

from tellstone import OutOfMemoryError, ProtocolError, ResponseError, WrongTypeError
from tellstone._core.protocol.decode import Decoder, Push
from tellstone.control.encode import Simple, Verbatim, encode

pytestmark = pytest.mark.core


def decode(*pieces: bytes) -> list[Any]:
    decoder = Decoder()
    replies = []
    for piece in pieces:
        decoder.feed(piece)
        replies += decoder
    return replies


KINDS: list[tuple[bytes, Any]] = [
    (b"+OK\r\n", "OK"),
    (b"+\r\n", ""),
    (b"+PONG\r\n", "PONG"),
    (b":5\r\n", 5),
    (b":-9223372036854775808\r\n", -(2**63)),
    (b"$5\r\nhello\r\n", b"hello"),
    (b"$0\r\n\r\n", b""),
    (b"$4\r\n\r\n\r\n\r\n", b"\r\n\r\n"),
    (b"$-1\r\n", None),
    (b"*-1\r\n", None),
    (b"_\r\n", None),
    (b"*0\r\n", []),
    (b"*2\r\n:1\r\n$1\r\na\r\n", [1, b"a"]),
    (b"*1\r\n*1\r\n*0\r\n", [[[]]]),
    (b"~2\r\n+a\r\n+b\r\n", ["a", "b"]),
    (b"%2\r\n$1\r\na\r\n:1\r\n+b\r\n*0\r\n", {b"a": 1, "b": []}),
    (b"%0\r\n", {}),
    (b"%1\r\n*1\r\n:1\r\n:2\r\n", [([1], 2)]),
    (b"#t\r\n", True),
    (b"#f\r\n", False),
    (b",1.5\r\n", 1.5),
    (b",-inf\r\n", -math.inf),
    (b",10\r\n", 10.0),
    (b"(-1234567890123456789012\r\n", -1234567890123456789012),
    (b"=8\r\ntxt:text\r\n", b"text"),
    (b"|1\r\n+ttl\r\n:3\r\n:7\r\n", 7),
    (b"*2\r\n|1\r\n+a\r\n*1\r\n:1\r\n:2\r\n:3\r\n", [2, 3]),
    (b"|0\r\n+x\r\n", "x"),
]


@pytest.mark.parametrize(("data", "value"), KINDS, ids=lambda x: repr(x) if isinstance(x, bytes) else None)
def test_every_kind_cut_anywhere(data: bytes, value: Any) -> None:
    for pieces in ([data], [bytes([byte]) for byte in data], *([data[:n], data[n:]] for n in range(1, len(data)))):
        (got,) = decode(*pieces)
        assert got == value and type(got) is type(value)


def test_a_row_of_replies() -> None:
    everything = b"".join(data for data, _ in KINDS)
    expected = [value for _, value in KINDS]
    assert decode(everything) == expected
    for size in (1, 2, 3, 7, 64):
        assert decode(*(everything[n : n + size] for n in range(0, len(everything), size))) == expected


def test_not_a_number() -> None:
    (value,) = decode(b",nan\r\n")
    assert math.isnan(value)


def test_errors_are_values() -> None:
    for data, kind, text in [
        (b"-ERR bad\r\n", ResponseError, "ERR bad"),
        (b"-WRONGTYPE Operation\r\n", WrongTypeError, "WRONGTYPE Operation"),
        (b"-OOM command\r\n", OutOfMemoryError, "OOM command"),
        (b"!7\r\nERR a\r\n\r\n", ResponseError, "ERR a\r\n"),
        (b"-ERR '\xff'\r\n", ResponseError, "ERR '\ufffd'"),
    ]:
        (error,) = decode(data)
        assert type(error) is kind and str(error) == text
        (row,) = decode(b"*2\r\n" + data + b":1\r\n")
        assert type(row[0]) is kind and row[1] == 1


def test_pushes_are_told_from_replies() -> None:
    push, reply = decode(b">2\r\n+message\r\n$1\r\na\r\n*1\r\n:1\r\n")
    assert type(push) is Push and push == ["message", b"a"]
    assert type(reply) is list


@pytest.mark.parametrize(
    "data",
    [
        *(
            b"x\r\n",
            b"\r\n",
            b"5\r\n",
            b":x\r\n",
            b":\r\n",
            b": 1\r\n",
            b":1 \r\n",
            b"$x\r\n",
            b"$-2\r\n",
            b"$2\r\nabc\r\n",
            b"*x\r\n",
        ),
        *(
            b"*-2\r\n",
            b"%-1\r\n",
            b"~-1\r\n",
            b"_x\r\n",
            b"#x\r\n",
            b"#\r\n",
            b",x\r\n",
            b"(x\r\n",
            b"(1.5\r\n",
            b"=3\r\ntxt\r\n",
        ),
        *(
            b"=8\r\ntxtxtext\r\n",
            b"+OK\n",
            b"$9223372036854775807\r\n",
            b"*9223372036854775807\r\n",
            b"$?\r\n",
            b"*?\r\n",
        ),
        *(b"*1\r\n" * 200, b"+" + b"x" * 70_000),
    ],
)
def test_what_is_no_reply(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(data)


def test_feeding_takes_bytes_of_any_kind() -> None:
    decoder = Decoder()
    for piece in (b"$6\r", bytearray(b"\nab"), memoryview(b"cd"), b"", b"ef\r\n"):
        decoder.feed(piece)
    assert next(decoder) == b"abcdef" and next(decoder, None) is None
    with pytest.raises(TypeError):
        decoder.feed("text")  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [10_000, 3_000_000])
def test_long_bulks(size: int) -> None:
    value = b"v" * size
    data = (b"$%d\r\n%b\r\n" % (size, value)) * 3
    assert decode(*(data[n : n + 65_536] for n in range(0, len(data), 65_536))) == [value] * 3


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.binary(max_size=20)
    | st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=9).map(Simple)
    | st.text(max_size=9).map(Verbatim),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.binary(max_size=4), inner, max_size=3),
    max_leaves=20,
)


def plain(value: Any) -> Any:
    match value:
        case Simple():
            return str(value)
        case str():
            return value.encode()
        case list():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
    return value


@examples(300)
@given(st.lists(VALUES, min_size=1, max_size=4), st.lists(st.integers(1, 40), max_size=20))
def test_what_the_server_writes(values: list[Any], sizes: list[int]) -> None:
    data = b"".join(encode(value, 3) for value in values)
    pieces = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    assert repr(decode(*pieces, data)) == repr([plain(value) for value in values])


@examples(500)
@given(
    st.lists(
        st.sampled_from(
            [*(data for data, _ in KINDS), b"$", b"*", b"3", b"\r\n", b"-", b"x", b":1\r\n", b"%1\r\n", b"\xff"]
        ),
        max_size=12,
    )
)
def test_bytes_that_nobody_would_send(parts: list[bytes]) -> None:
    """Whole or in pieces, the same replies, or the same complaint."""

    def outcome(*pieces: bytes) -> tuple[list[Any], bool]:
        decoder = Decoder()
        replies = []
        try:
            for piece in pieces:
                decoder.feed(piece)
                for reply in decoder:
                    replies.append(reply)
        except ProtocolError:
            return replies, False
        return replies, True

    data = b"".join(parts)
    assert repr(outcome(data)) == repr(outcome(*(data[n : n + 1] for n in range(len(data)))))
