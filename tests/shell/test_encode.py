"""Reply values to bytes, against redis-py's own parser where it has the type."""

from __future__ import annotations

import pytest

from tellstone.control.encode import NOTHING, OK, ErrorReply, Group, Simple, Verbatim, encode


@pytest.mark.parametrize(
    ("value", "two", "three"),
    [
        (b"a\r\nb", b"$4\r\na\r\nb\r\n", b"$4\r\na\r\nb\r\n"),
        ("ä", b"$2\r\n\xc3\xa4\r\n", b"$2\r\n\xc3\xa4\r\n"),
        (b"\xff".decode(errors="surrogateescape"), b"$1\r\n\xff\r\n", b"$1\r\n\xff\r\n"),
        (OK, b"+OK\r\n", b"+OK\r\n"),
        (ErrorReply("ERR a\r\n+b"), b"-ERR a  +b\r\n", b"-ERR a  +b\r\n"),
        (Verbatim("x"), b"$1\r\nx\r\n", b"=5\r\ntxt:x\r\n"),
        (-3, b":-3\r\n", b":-3\r\n"),
        (True, b":1\r\n", b"#t\r\n"),
        (False, b":0\r\n", b"#f\r\n"),
        (None, b"$-1\r\n", b"_\r\n"),
        (1.5, b"$3\r\n1.5\r\n", b",1.5\r\n"),
        (3.0, b"$1\r\n3\r\n", b",3\r\n"),
        (float("-inf"), b"$4\r\n-inf\r\n", b",-inf\r\n"),
        (float("nan"), b"$3\r\nnan\r\n", b",nan\r\n"),
        ([], b"*0\r\n", b"*0\r\n"),
        ([1, [b"x", None]], b"*2\r\n:1\r\n*2\r\n$1\r\nx\r\n$-1\r\n", b"*2\r\n:1\r\n*2\r\n$1\r\nx\r\n_\r\n"),
        ({"k": 1}, b"*2\r\n$1\r\nk\r\n:1\r\n", b"%1\r\n$1\r\nk\r\n:1\r\n"),
        ({"k"}, b"*1\r\n$1\r\nk\r\n", b"~1\r\n$1\r\nk\r\n"),
        (Group((Simple("a"), Simple("b"))), b"*2\r\n+a\r\n+b\r\n", b"~2\r\n+a\r\n+b\r\n"),
        (NOTHING, b"", b""),
    ],
    ids=repr,
)
def test_a_value(value: object, two: bytes, three: bytes) -> None:
    assert encode(value, 2) == two
    assert encode(value, 3) == three
