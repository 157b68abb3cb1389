"""What is asked: how requests are written, and how often each key comes."""

from __future__ import annotations

import itertools
import re
import struct
from collections import Counter

import pytest
from wire import encode

from tellstone._core.load.exchange import Plan, Talk
from tellstone._core.load.outcome import Tally
from tellstone._core.load.requests import Workload

pytestmark = pytest.mark.core


def sent(workload: Workload, count: int, *, in_turn: bool = False) -> bytes:
    return Talk(Plan(workload, connections=1, pipeline=count, in_turn=in_turn), 0, Tally()).fill()


@pytest.mark.parametrize("size", [1, 3, 15, 16, 17, 100, 5000])
def test_resp_requests(size: int) -> None:
    workload = Workload("resp", keyspace=12, value_size=size)
    requests = [encode("SET", f"key:{n:012d}", workload.value(n)) for n in range(12)]
    assert sent(workload, 12, in_turn=True) == b"".join(requests)
    reads = Workload("resp", keyspace=1, value_size=size, read_ratio=1)
    assert sent(reads, 2) == encode("GET", "key:000000000000") * 2


@pytest.mark.parametrize("size", [1, 16, 300])
def test_native_requests(size: int) -> None:
    def frame(op: int, number: int, value: bytes) -> bytes:
        payload = struct.pack(">BHq", op, 16, 0) + b"key:%012d" % number + value
        return struct.pack(">IB", len(payload) + 1, 2) + payload

    workload = Workload("native", keyspace=3, value_size=size)
    assert sent(workload, 3, in_turn=True) == b"".join(frame(2, n, workload.value(n)) for n in range(3))
    reads = Workload("native", keyspace=1, value_size=size, read_ratio=1)
    assert sent(reads, 1) == frame(1, 0, b"")


def test_the_largest_number() -> None:
    workload = Workload("resp", keyspace=2**32 - 1, value_size=20)
    assert workload.key(2**32 - 2) == b"key:004294967294"
    assert workload.value(2**32 - 2).startswith(b"key:004294967294")


@pytest.mark.parametrize("size", [1, 4, 16, 30])
def test_a_value_tells_its_key(size: int) -> None:
    workload = Workload("resp", keyspace=1000, value_size=size)
    values = [workload.value(n) for n in range(1000)]
    assert all(len(value) == size for value in values)
    assert len(set(values)) == min(1000, 10**size)


def test_a_short_value_is_no_integer() -> None:
    assert Workload("resp", keyspace=1000, value_size=3).value(207) == b"cah"
    assert Workload("resp", keyspace=1000, value_size=13).value(207) == b":000000000207"


@pytest.mark.parametrize("ratio", [0, 0.1, 0.5, 10 / 11, 1])
def test_the_share_of_reads(ratio: float) -> None:
    workload = Workload("resp", keyspace=100, value_size=3, read_ratio=ratio)
    reads = sent(workload, 20_000).count(b"GET") / 20_000
    assert reads == ratio if ratio in (0, 1) else abs(reads - ratio) < 0.02


def test_all_keys_alike() -> None:
    counts = Counter(Workload("resp", keyspace=50, value_size=3).numbers(100_000, 1))
    assert set(counts) == set(range(50))
    assert all(abs(count - 2000) < 300 for count in counts.values())


@pytest.mark.parametrize("skew", [0.5, 0.99, 1, 1.5])
@pytest.mark.parametrize("keyspace", [1, 10, 1024, 1025, 100_000])
def test_zipf(keyspace: int, skew: float) -> None:
    """Single keys at the front and ranges of keys further on come as often as the law says."""
    draws = 100_000
    numbers = Workload("resp", keyspace=keyspace, value_size=3, skew=skew).numbers(draws, 7)
    assert max(numbers) < keyspace
    weights = [(n + 1) ** -skew for n in range(keyspace)]
    edges = [n for n in (0, 1, 2, 3, 5, 10, 100, 1000, 1030, 1500, 5000, 20_000, 60_000) if n < keyspace] + [keyspace]
    for begin, end in itertools.pairwise(edges):
        expected = draws * sum(weights[begin:end]) / sum(weights)
        found = sum(begin <= n < end for n in numbers)
        assert abs(found - expected) <= 5 * expected**0.5 + 0.003 * expected + 1, (begin, end)


def test_within_a_range_all_keys_come() -> None:
    numbers = Workload("resp", keyspace=2000, value_size=3, skew=0.2).numbers(200_000, 3)
    assert set(numbers) == set(range(2000))


def test_mixed_requests_are_whole() -> None:
    workload = Workload("resp", keyspace=1000, value_size=40, read_ratio=0.5, skew=1)
    requests = re.split(rb"(?=\*\d\r\n)", sent(workload, 500))[1:]
    assert len(requests) == 500
    for request in requests:
        number = int(request[request.index(b"key:") + 4 :][:12])
        key, value = workload.key(number), workload.value(number)
        assert request in (encode("GET", key), encode("SET", key, value))


@pytest.mark.parametrize("bad", [{"keyspace": 0}, {"read_ratio": 1.1}, {"read_ratio": -0.1}, {"skew": -1}])
def test_no_such_workload(bad: dict[str, float]) -> None:
    good = {"keyspace": 1, "value_size": 1}
    with pytest.raises(ValueError, match="no workload"):
        Workload("resp", **{**good, **bad})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no workload"):
        Workload("http", keyspace=1, value_size=1)
