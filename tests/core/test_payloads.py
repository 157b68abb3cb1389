"""RESTORE and DUMP without a server, for sanitizers: no payload does harm, and every value comes back."""

from __future__ import annotations

import pytest
from budget import examples
from commands.payloads import crc64, framed, length, packed
from hypothesis import given
from hypothesis import strategies as st

from tellstone import Engine, ResponseError

pytestmark = pytest.mark.core

REFUSALS = ("ERR DUMP payload version or checksum are wrong", "ERR Bad data format")
PARTS = st.one_of(
    st.binary(min_size=1, max_size=32).map(lambda run: bytes([len(run) - 1]) + run),
    st.tuples(st.integers(32, 255), st.integers(0, 255), st.integers(0, 255)).map(bytes),
    st.binary(max_size=3),
)
PACKED = st.lists(PARTS, max_size=12).map(b"".join)
BODIES = st.one_of(
    st.binary(max_size=60),
    st.binary(max_size=60).map(lambda rest: b"\0" + rest),
    st.tuples(PACKED, st.integers(0, 3000)).map(lambda it: packed(*it)),
    st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), PACKED).map(
        lambda it: b"\0\xc3" + length(it[0]) + length(it[1]) + it[2]
    ),
)
VALUES = st.one_of(
    st.binary(max_size=300),
    st.integers(-(2**63), 2**63 - 1).map(lambda n: b"%d" % n),
    st.lists(st.sampled_from([b"a", b"abc", b"\0" * 40, b"12345678", bytes(range(64))]), max_size=300).map(b"".join),
    st.integers(31_990, 33_000).map(lambda n: b"x" * n),
)


def refusal(engine: Engine, payload: bytes) -> str | None:
    """The error of a RESTORE; None when there is a value that can be read."""
    try:
        engine.execute("RESTORE", "k", 0, payload)
    except ResponseError as error:
        return str(error)
    return None if engine["k"] is not None else "no value"


@examples(600)
@given(body=BODIES, version=st.integers(0, 12))
def test_no_payload_does_harm(body: bytes, version: int) -> None:
    payload = framed(body, version)
    with Engine(shards=1) as engine:
        assert refusal(engine, payload) in (None, *REFUSALS)


@examples(300)
@given(value=VALUES)
def test_a_value_comes_back(value: bytes) -> None:
    with Engine(shards=1) as engine:
        engine["k"] = value
        payload = engine.execute("DUMP", "k")
        assert int.from_bytes(payload[-8:], "little") == crc64(payload[:-8])
        engine.execute("RESTORE", "m", 0, payload)
        assert engine["m"] == value
