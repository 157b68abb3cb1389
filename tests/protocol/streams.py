"""Requests as a stream of bytes, delivered in pieces, and all that comes back."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import pairwise

from servers import Server
from wire import encode

# Every form a request can have, with arguments of every kind of length; ends in QUIT, so that the server closes.
EVERY_FORM = b"".join(
    [
        encode("FLUSHALL"),
        encode("SET", "key", "value"),
        encode("GET", "key"),
        *(b"*0\r\n", b"*-1\r\n", b"\r\n", b"\n", b"   \r\n"),
        b"PING\r\n",
        b"ping bare\n",
        b'SET "quoted key" "\\x00\\r\\n\\t\\"\\\\ end"\r\n',
        b"GET 'quoted key'\r\n",
        encode("GET", "quoted key"),
        encode("SET", "", ""),
        encode("MGET", "", "key", "missing", b"*1\r\n$4\r\nPING\r\n"),
        encode("APPEND", "long", "0123456789" * 12),
        encode("HELLO", 3, "SETNAME", "me").replace(b"HELLO", b"hello"),
        encode("GET", "missing"),
        encode("NOSUCH", "a", "b"),
        encode("INCR", "key"),
        encode("CLIENT", "GETNAME"),
        encode("GETRANGE", "long", -3, -1),
        b"DEL key long\r\n",
        encode("QUIT"),
    ]
)


def pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """The data cut before the given positions."""
    return [data[a:b] for a, b in pairwise([0, *sorted(cuts), len(data)]) if a < b]


def exchange(server: Server, data: Iterable[bytes], pause: float = 0, timeout: float = 10) -> bytes:
    """What the server sends, until it closes, when it is sent the pieces and then told that nothing more comes."""
    with server.connect(timeout) as wire:
        try:
            for piece in data:
                wire.send(piece)
                time.sleep(pause)
        except ConnectionError:
            pass  # closed after an error; what it said is still there
        return wire.finish()
