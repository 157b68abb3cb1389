"""Sizes, durations, addresses and the rest, as people and as Redis write them."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellstone.config import OUTPUT_LIMITS
from tellstone.units import (
    MILLISECOND,
    SECOND,
    Address,
    Choice,
    Duration,
    Endpoint,
    Flag,
    Kind,
    OutputBuffers,
    OutputLimit,
    Size,
    Whole,
    parse_address,
    parse_double,
    parse_duration,
    parse_size,
    show_duration,
    show_size,
)

KINDS: list[Kind] = [
    Flag(),
    Whole(-5, 2**63),
    Size(0, 2**63),
    Duration(MILLISECOND, timedelta(days=99)),
    Duration(SECOND, timedelta(days=99999)),
    Choice(("one", "other")),
    Endpoint(),
]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("0", 0), ("1", 1), ("1b", 1), ("1k", 1000), ("1kb", 1024), ("1KiB", 1024), ("2M", 2_000_000)),
        *(("2mb", 2 << 20), ("16MiB", 16 << 20), ("1g", 10**9), ("1GB", 1 << 30), ("4gib", 4 << 30), ("1TiB", 1 << 40)),
    ],
)
def test_a_size(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "+1", "1 MiB", "1.5MiB", "MiB", "1e3", "0x10", "١", "1PiB", "9" * 30, "1\u212ab"]
)
def test_no_size(text: str) -> None:
    with pytest.raises(ValueError):
        parse_size(text)


@given(st.integers(0, 2**64))
def test_a_size_survives_being_shown(size: int) -> None:
    assert parse_size(show_size(size)) == size


@given(st.integers(1, 2**20), st.sampled_from([("k", 1000), ("KiB", 1024), ("mb", 2**20), ("GiB", 2**30)]))
def test_a_unit_multiplies(count: int, unit: tuple[str, int]) -> None:
    assert parse_size(f"{count}{unit[0]}") == count * unit[1]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("0", 0), ("0s", 0), ("500ms", 0.5), ("1s", 1), ("1.5s", 1.5), (".5s", 0.5), ("5m", 300), ("1h30m", 5400)),
        *(("1h1m1s1ms", 3661.001), ("250us", 0.00025), ("250µs", 0.00025), ("1500000ns", 0.0015), ("1.s", 1)),
    ],
)
def test_a_duration(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "5", "s", "-1s", "1 s", "1d", "1ns", "1s x", "1S", "1e3s", "1s1", "0.0.1s", "9" * 400 + "h", "١s"]
)
def test_no_duration(text: str) -> None:
    with pytest.raises(ValueError):
        parse_duration(text)


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=9999)))
def test_a_duration_survives_being_shown(duration: timedelta) -> None:
    assert parse_duration(show_duration(duration)) == duration


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:6379", Address("127.0.0.1", 6379)),
        ("localhost:0", Address("localhost", 0)),
        (":9100", Address("", 9100)),
        ("[::1]:6379", Address("::1", 6379)),
        ("[fe80::1%eth0]:1", Address("fe80::1%eth0", 1)),
        ("unix:/run/x y.sock", Address(path="/run/x y.sock")),
        ("unix:relative", Address(path="relative")),
    ],
)
def test_an_address(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    ["", "6379", "host", "host:", "host:x", "host:65536", "::1:80", "[::1]", "a b:1", "unix:", f"unix:/{'x' * 103}"],
)
def test_no_address(text: str) -> None:
    with pytest.raises(ValueError):
        parse_address(text)


@pytest.mark.parametrize("text", ["true", "TRUE", "1", "yes", "on", "t"])
def test_yes(text: str) -> None:
    assert Flag().parse(text) is True


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(max_size=12))
def test_anything_is_a_value_or_a_value_error(kind: Kind, text: str) -> None:
    for read in (kind.parse, kind.config_parse_whole):
        try:
            value = read(text)
        except ValueError:
            continue
        assert kind.parse(kind.show(value)) == value
        assert kind.config_parse_whole(kind.config_show(value)) == value


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        (Flag(), "true", "argument must be 'yes' or 'no'"),
        (Whole(1, 9), "x", "argument couldn't be parsed into an integer"),
        (Whole(1, 9), "+1", "argument couldn't be parsed into an integer"),
        (Whole(1, 9), "10", "argument must be between 1 and 9 inclusive"),
        (Size(1, 9), "x", "argument must be a memory value"),
        (Size(1, 9), "-1", "argument must be a memory value"),
        (Size(1, 9), "1kb", "argument must be between 1 and 9 inclusive"),
        (Duration(SECOND, 9 * SECOND), "x", "argument couldn't be parsed into an integer"),
        (Duration(SECOND, 9 * SECOND), "500ms", "argument couldn't be parsed into an integer"),
        (Duration(SECOND, 9 * SECOND), "-1", "argument must be between 0 and 9 inclusive"),
        (Duration(SECOND, 9 * SECOND), str(2**63 - 1), "argument must be between 0 and 9 inclusive"),
        (Duration(SECOND, 9 * SECOND), str(-(2**63)), "argument must be between 0 and 9 inclusive"),
        (Duration(SECOND, 9 * SECOND), str(2**63), "argument couldn't be parsed into an integer"),
        (Choice(("a", "b")), "c", "argument(s) must be one of the following: a, b"),
    ],
)
def test_what_config_set_refuses_and_why(kind: Kind, text: str, why: str) -> None:
    with pytest.raises(ValueError) as caught:
        kind.config_parse_whole(text)
    assert str(caught.value) == why


def test_config_takes_durations_in_seconds_and_as_people_write_them() -> None:
    kind = Duration(MILLISECOND, timedelta(hours=1))
    assert kind.config_parse_whole("90") == kind.config_parse_whole("1m30s") == timedelta(seconds=90)
    assert (kind.config_show(timedelta(seconds=90)), kind.config_show(timedelta(milliseconds=1500))) == (
        "90",
        "1s500ms",
    )


def test_an_output_limit_leaves_the_other_classes() -> None:
    kind = OutputBuffers()
    changed = kind.config_parse("replica 1mb 0 0", OUTPUT_LIMITS)
    assert changed == (OUTPUT_LIMITS[0], OutputLimit(1 << 20), OUTPUT_LIMITS[2])
    assert kind.show(changed) == "normal 1073741824 268435456 60 slave 1048576 0 0 pubsub 33554432 8388608 60"
    assert kind.config_parse(kind.show(changed), OUTPUT_LIMITS) == changed


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("normal 0 0", "Wrong number of arguments in buffer limit configuration."),
        ("master 0 0 0", "Invalid client class specified in buffer limit configuration."),
        ("normal x 0 0", "Error in hard, soft or soft_seconds setting in buffer limit configuration."),
        ("normal 0 0 -1", "Error in hard, soft or soft_seconds setting in buffer limit configuration."),
    ],
)
def test_an_output_limit_that_makes_no_sense(text: str, why: str) -> None:
    with pytest.raises(ValueError) as caught:
        OutputBuffers().config_parse(text, OUTPUT_LIMITS)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("0", 0.0), ("-0.0", 0.0), ("0e999", 0.0), ("5.", 5.0), (".5", 0.5), ("+1e2", 100.0), ("1E-320", 1e-320)),
        *(("0x1p3", 8.0), ("-0X.8", -0.5), ("inf", math.inf), ("-Infinity", -math.inf)),
    ],
)
def test_a_double(text: str, number: float) -> None:
    assert parse_double(text) == number


@pytest.mark.parametrize(
    "text", ["", ".", "e1", "1e", "nan", "1e400", "-1e400", "1e-400", "0x", "0x1p2000", "1_0", " 1", "\u0661"]
)
def test_no_double(text: str) -> None:
    with pytest.raises(ValueError):
        parse_double(text)


@given(st.floats(allow_nan=False))
def test_every_double_comes_back(number: float) -> None:
    assert parse_double(repr(number)) == number
