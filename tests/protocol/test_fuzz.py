"""Bytes that nobody would send. The server answers what Redis answers, or at least lives on."""

from __future__ import annotations

from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from protocol.streams import exchange
from servers import Server
from wire import encode

FRAGMENTS = [
    *(line + b"\r\n" for line in b"*1 *2 *3 *0 *-1 $4 $3 $0 $-1".split()),
    *(*b"* $ PING GET SET k v \" ' \\ \\x4 1 -".split(), b" ", b"\r", b"\n", b"\r\n", b"9" * 20, b"a" * 70),
]
REQUESTS = [("PING",), ("SET", "k", "v"), ("GET", "k"), ("DEL", "k"), ("ECHO", "\r\n"), ("MGET", "k", "", "k")]
VALID = st.sampled_from([b"PING\r\n", *(encode(*request) for request in REQUESTS)])
MIXED = st.lists(st.one_of(st.sampled_from(FRAGMENTS), VALID), min_size=1, max_size=20).map(b"".join)
CHANGES = [b"\r", b"\n", b" ", b"\xff", *b'0 9 - $ * x "'.split()]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Valid requests with some bytes changed, lost or doubled."""
    data = bytearray(b"".join(draw(st.lists(VALID, min_size=1, max_size=8))))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        match draw(st.sampled_from(["change", "lose", "double", "cut"])):
            case "change":
                data[at : at + 1] = draw(st.sampled_from(CHANGES))
            case "lose":
                del data[at : at + draw(st.integers(1, 4))]
            case "double":
                data[at:at] = data[at : at + draw(st.integers(1, 8))]
            case "cut":
                del data[at:]
    return bytes(data)


def agree(server: Server, redis: Server, data: bytes) -> None:
    # INVARIANT: each stream starts from the same database on both servers.
    start = encode("FLUSHALL")
    ours, theirs = exchange(server, [start + data]), exchange(redis, [start + data])
    assert ours == theirs, "the server has died" if server.died() else "the answers differ"


def test_damaged_requests(server: Server, redis: Server) -> None:
    @examples(500)
    @given(damaged())
    def holds(data: bytes) -> None:
        agree(server, redis, data)

    holds()


def test_fragments(server: Server, redis: Server) -> None:
    @examples(500)
    @given(MIXED)
    def holds(data: bytes) -> None:
        agree(server, redis, data)

    holds()


def test_any_bytes(server: Server) -> None:
    """In several pieces; whatever the answer, it ends, and the server goes on."""

    @examples(300)
    @given(st.lists(st.one_of(st.binary(max_size=200), MIXED), max_size=5))
    def holds(chunks: list[bytes]) -> None:
        exchange(server, chunks)

    holds()
    assert server.answers()


def test_many_broken_connections(server: Server) -> None:
    """Clients that go away in the middle of a request, unread replies or not."""
    with server.connect() as witness:
        witness.call("SET", "k", "x" * 20000)
        for i in range(300):
            wire = server.connect()
            wire.send(encode("GET", "k") * 20 + encode("SET", "k", "y" * 1000)[: i + 5])
            wire.close()
        assert witness.call("STRLEN", "k") == b":20000\r\n"
