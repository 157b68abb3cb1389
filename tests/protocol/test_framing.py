"""However a stream of requests is cut into pieces, the replies are those to the whole, and those of Redis."""

from __future__ import annotations

import random

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from protocol.streams import EVERY_FORM, exchange, pieces
from servers import Server
from wire import encode

BIG = b"0123456789abcdef" * 6000  # 96,000 bytes: a counted block
BLOCK = encode("SET", "big", BIG) + encode("GET", "big") + encode("QUIT")
MOMENT = 0.0005  # for the server to read what it has been sent


@pytest.fixture(scope="module")
def answer(redis: Server) -> bytes:
    """Redis's answer to EVERY_FORM, without what tells the servers apart."""
    return without_identity(exchange(redis, [EVERY_FORM]))


def without_identity(answer: bytes) -> bytes:
    """The reply to HELLO holds the server's version and the number of the connection."""
    before, hello, rest = answer.partition(b"%7\r\n")
    assert hello
    return before + hello + rest[rest.index(b"*0\r\n") :]


def test_whole(server: Server, answer: bytes) -> None:
    assert without_identity(exchange(server, [EVERY_FORM])) == answer


def test_cut_at_every_byte(server: Server, answer: bytes) -> None:
    for cut in range(1, len(EVERY_FORM)):
        assert without_identity(exchange(server, pieces(EVERY_FORM, [cut]), MOMENT)) == answer, cut


def test_byte_by_byte(server: Server, answer: bytes) -> None:
    assert without_identity(exchange(server, pieces(EVERY_FORM, range(len(EVERY_FORM))), MOMENT / 5)) == answer


def test_random_pieces(server: Server, answer: bytes) -> None:
    @examples(150)
    @given(st.sets(st.integers(1, len(EVERY_FORM) - 1), max_size=12))
    def holds(cuts: set[int]) -> None:
        assert without_identity(exchange(server, pieces(EVERY_FORM, cuts), MOMENT / 5)) == answer

    holds()


def test_nothing_is_answered_before_its_last_byte(server: Server) -> None:
    """A command takes effect with the last byte of its request; what stands in front of it is answered at once."""
    request = encode("SET", "early", "x" * 40)
    with server.connect() as writer, server.connect() as reader:
        writer.call("DEL", "early")
        writer.send(encode("PING") + request[:-1])
        assert writer.reply() == b"+PONG\r\n"
        assert reader.call("EXISTS", "early") == b":0\r\n"
        writer.send(request[-1:])
        assert writer.reply() == b"+OK\r\n"
        assert reader.call("EXISTS", "early") == b":1\r\n"


def test_big_argument_in_random_pieces(server: Server, redis: Server) -> None:
    expected = exchange(redis, [BLOCK])
    source = random.Random(1)
    for count in (1, 2, 5, 20, 100):
        for _ in range(5):
            cuts = source.sample(range(1, len(BLOCK)), count)
            assert exchange(server, pieces(BLOCK, cuts), MOMENT / 5) == expected


def test_big_argument_cut_around_its_ends(server: Server, redis: Server) -> None:
    expected = exchange(redis, [BLOCK])
    ends = [i for i in range(1, len(BLOCK)) if BLOCK[i - 1 : i + 1] == b"\r\n"]
    for cut in sorted({end + d for end in ends for d in (-2, -1, 0, 1, 2)} & set(range(1, len(BLOCK)))):
        assert exchange(server, pieces(BLOCK, [cut]), MOMENT) == expected, cut
