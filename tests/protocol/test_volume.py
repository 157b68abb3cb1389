"""Much of everything: arguments, requests in a pipeline, bytes in an argument and in a reply."""

from __future__ import annotations

import pytest
from servers import PROTO_MAX_BULK, Server
from wire import encode


def bulk(data: bytes) -> bytes:
    return b"$%d\r\n%s\r\n" % (len(data), data)


@pytest.mark.slow
def test_a_million_arguments(server: Server) -> None:
    count = 500_000
    pairs = b"".join(b"$7\r\nm%06d\r\n$2\r\nvv\r\n" % i for i in range(count))
    with server.connect() as wire:
        wire.call("FLUSHALL")
        with wire.sending(b"*%d\r\n$4\r\nMSET\r\n%s" % (1 + 2 * count, pairs)):
            assert wire.reply() == b"+OK\r\n"
        assert wire.call("DBSIZE") == b":%d\r\n" % count
        found = wire.call("MGET", "m000000", f"m{count - 1:06}", f"m{count:06}")
        assert found == b"*3\r\n$2\r\nvv\r\n$2\r\nvv\r\n$-1\r\n"
        wire.call("FLUSHALL")


def test_a_pipeline_of_a_hundred_thousand(server: Server) -> None:
    count = 100_000
    with server.connect() as wire:
        wire.call("DEL", "counter")
        with wire.sending(encode("INCR", "counter") * count):
            for i in range(1, count + 1):
                assert wire.reply() == b":%d\r\n" % i


def test_a_pipeline_of_mixed_requests_keeps_its_order(server: Server) -> None:
    """Also across commands that other threads answer."""
    requests, expected = [], []
    for i in range(3000):
        requests += [("SET", f"k{i % 7}", i), ("GET", f"k{i % 7}"), ("ECHO", i)]
        expected += [b"+OK\r\n", bulk(b"%d" % i), bulk(b"%d" % i)]
        if i % 300 == 0:
            requests += [("CONFIG", "GET", "nosuch"), ("TTL", "nosuch")]
            expected += [b"*0\r\n", b":-2\r\n"]
    with server.connect() as wire:
        assert wire.pipeline(requests) == expected


@pytest.mark.parametrize("size", [0, 1, 16383, 16384, 32767, 32768, 65536, 1 << 20, PROTO_MAX_BULK - 1, PROTO_MAX_BULK])
def test_values_of_every_size(size: int, server: Server) -> None:
    data = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    with server.connect() as wire:
        with wire.sending(encode("SET", "big", data) + encode("GET", "big") + encode("STRLEN", "big")):
            assert wire.reply() == b"+OK\r\n"
            assert wire.reply() == bulk(data)
            assert wire.reply() == b":%d\r\n" % size
        assert wire.call("DEL", "big") == b":1\r\n"


def test_a_long_key(server: Server) -> None:
    key = b"k" * (1 << 20)
    with server.connect() as wire:
        assert wire.pipeline([("SET", key, "v"), ("GET", key), ("DEL", key)]) == [b"+OK\r\n", b"$1\r\nv\r\n", b":1\r\n"]


def test_replies_much_longer_than_their_requests(server: Server) -> None:
    """A quarter of a gigabyte in replies to a few kilobytes of requests, read as it comes."""
    data = b"x" * (1 << 20)
    with server.connect() as wire:
        wire.call("SET", "big", data)
        with wire.sending(encode("GET", "big") * 256):
            for _ in range(256):
                assert wire.reply() == bulk(data)
        wire.call("DEL", "big")


def test_an_unknown_command_quotes_as_much_as_redis(server: Server, redis: Server) -> None:
    words = [b"y" * 50] * 5
    for request in ([b"x" * 300], [b"no", *words], [b"no", b"z" * 200, b"a"], [b"a\r\nb", b"c\r\nd\0e", b"'"]):
        with server.connect() as ours, redis.connect() as theirs:
            assert ours.call(*request) == theirs.call(*request)
