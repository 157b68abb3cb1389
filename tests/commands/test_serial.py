"""Values that go from one server to the other by DUMP and RESTORE, and payloads that nobody has written."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from commands.payloads import crc64, framed, length, packed
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from servers import Server, redis_program, redis_version
from wire import Wire

WORDS = [b"the", b"quick", b"brown", b"fox", b"jumps", b"over", b" ", b"\r\n", b"\x00", b"12345"]


def texts() -> dict[str, bytes]:
    """A value for everything that the format tells apart."""
    chance = random.Random(20)
    found = {str(n): b"%d" % n for bits in (0, 7, 8, 15, 16, 31, 32, 63) for n in (2**bits - 1, 2**bits, -(2**bits))}
    for size in (0, 1, 20, 21, 44, 63, 64, 300, 16383, 16384, 31999, 32000, 100_000):
        found[f"{size} equal bytes"] = b"a" * size
        found[f"{size} zero bytes"] = b"\x00" * size
        found[f"{size} random bytes"] = chance.randbytes(size)
        found[f"{size} bytes of words"] = b"".join(chance.choices(WORDS, k=size))[:size]
        found[f"{size} bytes of few"] = bytes(chance.choices(b"abcd", k=size))
    return found


TEXTS = texts()


@pytest.fixture
def wires(server: Server, redis: Server) -> Iterator[tuple[Wire, Wire]]:
    """Connections to ours and to Redis, both empty."""
    with server.connect() as ours, redis.connect() as theirs:
        for wire in (ours, theirs):
            assert wire.call("FLUSHALL") == b"+OK\r\n"
        yield ours, theirs


def bulk(reply: bytes) -> bytes:
    assert reply.startswith(b"$"), reply
    return reply.partition(b"\r\n")[2][:-2]


def test_the_checksum_is_redis_own() -> None:
    assert crc64(b"123456789") == 0xE9C6D914C4B8D9CA


@pytest.mark.parametrize("name", TEXTS)
def test_a_value_goes_both_ways(name: str, wires: tuple[Wire, Wire]) -> None:
    value = TEXTS[name]
    dumps = []
    for source, target in (wires, wires[::-1]):
        assert source.call("SET", "there", value) == b"+OK\r\n"
        dumps.append(bulk(source.call("DUMP", "there")))
        if source is wires[0] and redis_version(redis_program() or "") < (7, 2):
            continue  # refuses a later version's payload
        assert target.call("RESTORE", "here", 0, dumps[-1]) == b"+OK\r\n"
        assert bulk(target.call("GET", "here")) == value
        assert target.call("OBJECT", "ENCODING", "here") == source.call("OBJECT", "ENCODING", "there")
    assert dumps[0][:-10] == dumps[1][:-10]
    if redis_version(redis_program() or "") >= (7, 2):
        assert dumps[0] == dumps[1]


@pytest.mark.parametrize("name", TEXTS)
def test_a_value_comes_back(name: str, server: Server) -> None:
    with server.connect() as wire:
        wire.call("SET", "k", TEXTS[name])
        payload = bulk(wire.call("DUMP", "k"))
        assert wire.call("RESTORE", "k", 0, payload, "REPLACE") == b"+OK\r\n"
        assert bulk(wire.call("GET", "k")) == TEXTS[name]
        assert bulk(wire.call("DUMP", "k")) == payload


def refusal(reply: bytes) -> bytes:
    """An error, or the plain fact that there is none."""
    return reply if reply.startswith(b"-") else b""


# A length so near 2^64 that no header can be added to it ends redis-server by an assertion: only we get it.
LENGTH_MAX = 2**64 - 64
LENGTHS = st.one_of(st.integers(0, 70), st.integers(0, LENGTH_MAX), st.sampled_from([2**31, 2**32 - 1, 2**63]))
ANY_LENGTHS = st.one_of(LENGTHS, st.integers(LENGTH_MAX, 2**64 - 1))
PACKED = st.lists(
    st.one_of(
        st.binary(min_size=1, max_size=32).map(lambda run: bytes([len(run) - 1]) + run),
        st.tuples(st.integers(1, 6), st.integers(0, 9)).map(lambda at: bytes([at[0] << 5, at[1]])),
        st.tuples(st.integers(0, 255), st.integers(0, 9)).map(lambda at: bytes([0xE0, at[0], at[1]])),
        st.binary(max_size=3),
    ),
    max_size=8,
).map(b"".join)


def bodies(lengths: st.SearchStrategy[int]) -> st.SearchStrategy[bytes]:
    """Nearly strings: any bytes behind the type, lengths of every form, packed bytes with references."""
    return st.one_of(
        st.binary(max_size=40).map(lambda rest: b"\x00" + rest),
        st.tuples(lengths, st.binary(max_size=70)).map(lambda it: b"\x00" + length(it[0]) + it[1]),
        st.tuples(st.integers(0xC0, 0xFF), st.binary(max_size=8)).map(lambda it: bytes([0, it[0]]) + it[1]),
        st.tuples(PACKED, st.integers(0, 700)).map(lambda it: packed(*it)),
        st.tuples(lengths, lengths, PACKED).map(lambda it: b"\x00\xc3" + length(it[0]) + length(it[1]) + it[2]),
    )


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=bodies(LENGTHS))
@example(body=packed(b"\x00a" + b"\xe0\xff\x00" * 200, 1 + 264 * 200))
def test_any_payload_is_answered_as_redis_does(body: bytes, wires: tuple[Wire, Wire]) -> None:
    payload = framed(body, 9)
    replies = [wire.call("RESTORE", "k", 0, payload, "REPLACE") for wire in wires]
    assert replies[0] == replies[1]
    assert wires[0].call("GET", "k") == wires[1].call("GET", "k")


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.one_of(st.binary(max_size=60), bodies(ANY_LENGTHS)), right=st.booleans(), version=st.integers(0, 15))
@example(body=b"\x00\xc3" + length(0) + length(2**64 - 2), right=True, version=9)
@example(body=b"\x00" + length(2**64 - 1), right=True, version=9)
def test_no_payload_hurts(body: bytes, right: bool, version: int, wires: tuple[Wire, Wire]) -> None:
    reply = wires[0].call("RESTORE", "k", 0, framed(body, version) if right else body, "REPLACE")
    assert reply == b"+OK\r\n" or refusal(reply).startswith(b"-ERR ")
    if version > 11 or not right:
        assert reply == b"-ERR DUMP payload version or checksum are wrong\r\n"


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), name=st.sampled_from([name for name, text in TEXTS.items() if len(text) <= 300]))
def test_a_damaged_payload_is_refused(data: st.DataObject, name: str, wires: tuple[Wire, Wire]) -> None:
    wires[0].call("SET", "k", TEXTS[name])
    payload = bytearray(bulk(wires[0].call("DUMP", "k")))
    at = data.draw(st.integers(0, len(payload) - 1))
    payload[at] ^= data.draw(st.integers(1, 255))
    reply = wires[0].call("RESTORE", "k", 0, bytes(payload), "REPLACE")
    assert reply == b"-ERR DUMP payload version or checksum are wrong\r\n"
    assert bulk(wires[0].call("GET", "k")) == TEXTS[name]
