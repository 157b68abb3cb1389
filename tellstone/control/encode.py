"""Replies as Python values, and their bytes in RESP2 and RESP3.

| value | RESP3 | RESP2 |
|---|---|---|
| bytes, str | bulk | bulk |
| Simple | simple string | simple string |
| Verbatim | verbatim string | bulk |
| ErrorReply | error | error |
| int | integer | integer |
| float | double | bulk |
| bool | boolean | integer |
| None | null | null bulk |
| list, tuple | array | array |
| set, frozenset, Group | set | array |
| dict, Pairs | map | array of keys and values |
| Raw | as it is | as it is |

Types that RESP2 lacks are written there as Redis writes them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

ENCODING = "utf-8"
ERRORS = "surrogateescape"  # names and arguments that are no text come back as the bytes they were


class Simple(str):
    """A simple string, such as OK."""

    __slots__ = ()


class ErrorReply(str):
    """An error, with its code word: "ERR syntax error"."""

    __slots__ = ()


class Verbatim(str):
    """Text that RESP3 marks as text for people (`txt`)."""

    __slots__ = ()


class Group(tuple["Reply", ...]):
    """A set whose order is kept: Redis's flags and categories."""

    __slots__ = ()


class Pairs(tuple[tuple["Reply", "Reply"], ...]):
    """A map whose keys may be anything."""

    __slots__ = ()


class Raw(bytes):
    """Bytes of the protocol itself."""

    __slots__ = ()


Reply = (
    None | bool | int | float | bytes | str | Sequence["Reply"] | AbstractSet[bytes | str | int] | Mapping[str, "Reply"]
)

OK = Simple("OK")
NOTHING = ErrorReply("")  # no reply at all: the connection closes instead


def text(argument: bytes) -> str:
    """An argument as text; bytes that are none survive the way back."""
    return argument.decode(ENCODING, ERRORS)


def word(argument: bytes) -> str:
    """An argument as Redis repeats it in an error: up to a zero byte."""
    return text(argument.partition(b"\0")[0])


def keyword(argument: bytes) -> bytes:
    """An argument as Redis compares it with the words that it knows: up to a zero byte, letters in lower case."""
    return argument.partition(b"\0")[0].lower()


def encode(value: Reply, proto: int) -> bytes:
    """The bytes of a whole reply."""
    if value is NOTHING:
        return b""
    parts: list[bytes] = []
    _append(parts, value, proto)
    return b"".join(parts)


def _append(parts: list[bytes], value: Reply, proto: int) -> None:
    if isinstance(value, str):
        parts.append(_text(value, proto))
    elif isinstance(value, Raw):
        parts.append(value)
    elif isinstance(value, bytes):
        parts.append(b"$%d\r\n%b\r\n" % (len(value), value))
    elif isinstance(value, (Mapping, Pairs)):
        parts.append(b"%%%d\r\n" % len(value) if proto >= 3 else b"*%d\r\n" % (2 * len(value)))
        for key, item in value.items() if isinstance(value, Mapping) else value:
            _append(parts, key, proto)
            _append(parts, item, proto)
    elif isinstance(value, (Sequence, AbstractSet)):
        unordered = isinstance(value, (AbstractSet, Group))
        parts.append(b"%b%d\r\n" % (b"~" if unordered and proto >= 3 else b"*", len(value)))
        for item in value:
            _append(parts, item, proto)
    else:
        parts.append(_scalar(value, proto))


def _text(value: str, proto: int) -> bytes:
    data = value.encode(ENCODING, ERRORS)
    if isinstance(value, Simple):
        return b"+%b\r\n" % _one_line(data)
    if isinstance(value, ErrorReply):
        return b"-%b\r\n" % _one_line(data.rstrip(b"\r\n"))
    if isinstance(value, Verbatim) and proto >= 3:
        return b"=%d\r\ntxt:%b\r\n" % (len(data) + 4, data)
    return b"$%d\r\n%b\r\n" % (len(data), data)


def _one_line(data: bytes) -> bytes:
    """Line ends become blanks: what a client sent must not start a reply of its own."""
    return data.replace(b"\r", b" ").replace(b"\n", b" ")


def _scalar(value: bool | int | float | None, proto: int) -> bytes:
    if value is None:
        return b"_\r\n" if proto >= 3 else b"$-1\r\n"
    if isinstance(value, bool):
        return (b"#t\r\n" if value else b"#f\r\n") if proto >= 3 else b":%d\r\n" % value
    if isinstance(value, int):
        return b":%d\r\n" % value
    text = _double(value)
    return b",%b\r\n" % text if proto >= 3 else b"$%d\r\n%b\r\n" % (len(text), text)


def _double(value: float) -> bytes:
    if math.isnan(value):
        return b"nan"
    if math.isinf(value):
        return b"inf" if value > 0 else b"-inf"
    return repr(value).removesuffix(".0").encode()
