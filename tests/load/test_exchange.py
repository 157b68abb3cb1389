"""One connection's part in a load, without a socket: what it sends when, and what it makes of replies."""

from __future__ import annotations

import time

import pytest

from tellstone._core.load.exchange import Plan, Talk
from tellstone._core.load.outcome import Tally
from tellstone._core.load.requests import Workload

pytestmark = pytest.mark.core

KEYS = 100
SIZE = 20


def workload(read_ratio: float = 0, protocol: str = "resp") -> Workload:
    return Workload(protocol, keyspace=KEYS, value_size=SIZE, read_ratio=read_ratio)


def requests(data: bytes) -> list[bytes]:
    """The key of every request."""
    return [part[:12] for part in data.split(b"$16\r\nkey:")[1:]]


def bulk(value: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(value), value)


def values(load: Workload, data: bytes) -> bytes:
    """The replies to reads that find what they should."""
    return b"".join(bulk(load.value(int(number))) for number in requests(data))


def test_a_batch_waits_for_all_its_replies() -> None:
    tally = Tally()
    talk = Talk(Plan(workload(), connections=1, pipeline=3, requests=7), 0, tally)
    assert len(requests(talk.fill())) == 3
    assert talk.fill() == b"" and talk.waiting == 3
    assert talk.feed(b"+OK\r\n+OK\r\n+O")
    assert talk.fill() == b"" and talk.waiting == 1
    assert talk.feed(b"K\r\n")
    assert len(requests(talk.fill())) == 3
    assert talk.feed(b"+OK\r\n" * 3)
    assert len(requests(talk.fill())) == 1  # the last of seven
    assert talk.feed(b"+OK\r\n")
    assert talk.fill() == b""
    assert (tally.sent, tally.answered, tally.writes.count, tally.reads.count) == (7, 7, 7, 0)


def test_connections_share_the_requests_and_not_the_keys() -> None:
    plan = Plan(workload(), connections=3, pipeline=4, requests=10)
    talks = [Talk(plan, index, Tally()) for index in range(3)]
    batches = [requests(talk.fill()) for talk in talks]
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert batches[0] != batches[1]
    assert plan.ended


def test_in_turn_every_key_is_written_once() -> None:
    plan = Plan(workload(), connections=4, pipeline=7, in_turn=True)
    talks = [Talk(plan, index, Tally()) for index in range(4)]
    keys: list[bytes] = []
    while not plan.ended:
        for talk in talks:
            batch = requests(talk.fill())
            assert talk.feed(b"+OK\r\n" * len(batch))
            keys += batch
    assert sorted(keys) == [b"%012d" % n for n in range(KEYS)]


def test_hits_misses_and_errors() -> None:
    tally = Tally()
    talk = Talk(Plan(workload(1), connections=1, pipeline=6), 0, tally)
    talk.fill()
    assert talk.feed(b"$-1\r\n_\r\n$3\r\nabc\r\n-ERR first\r\n-ERR second\r\n$0\r\n\r\n")
    assert (tally.hits, tally.misses, tally.errors, tally.first_error) == (2, 2, 2, b"ERR first")
    assert (tally.answered, tally.reads.count, tally.wrong) == (6, 6, 0)


def test_native_hits_misses_and_errors() -> None:
    tally = Tally()
    talk = Talk(Plan(workload(1, "native"), connections=1, pipeline=3), 0, tally)
    talk.fill()
    assert talk.feed(b"\0\0\0\4\3abc\0\0\0\x0a\7NOT_FOUND\0\0\0\x0f\7NOT_AUTHORIZED")
    assert (tally.hits, tally.misses, tally.errors, tally.first_error) == (1, 1, 1, b"NOT_AUTHORIZED")


def test_a_long_error_is_kept_to_a_length() -> None:
    tally = Tally()
    talk = Talk(Plan(workload(), connections=1), 0, tally)
    talk.fill()
    assert talk.feed(b"-ERR " + b"x" * 5000 + b"\r\n")
    assert tally.first_error == (b"ERR " + b"x" * 5000)[:256]


@pytest.mark.parametrize("step", [1, 5, 1000])
def test_verify(step: int) -> None:
    load, tally = workload(1), Tally()
    talk = Talk(Plan(load, connections=1, pipeline=50, verify=True), 0, tally)
    replies = values(load, talk.fill())
    for n in range(0, len(replies), step):
        assert talk.feed(replies[n : n + step])
    assert (tally.hits, tally.wrong, tally.first_wrong) == (50, 0, None)


@pytest.mark.parametrize(
    "other",
    [
        lambda value: value[:-1],
        lambda value: value + b"x",
        lambda value: b"",
        lambda value: b"X" + value[1:],
        lambda value: value[:-1] + b"X",
        lambda value: value[:15] + bytes([value[15] ^ 1]) + value[16:],
    ],
)
def test_verify_finds_a_wrong_value(other: object) -> None:
    load, tally = workload(1), Tally()
    talk = Talk(Plan(load, connections=1, pipeline=2, verify=True), 0, tally)
    first, second = map(int, requests(talk.fill()))
    wrong = other(load.value(second))  # type: ignore[operator]
    assert talk.feed(bulk(load.value(first)) + bulk(wrong))
    assert (tally.hits, tally.wrong, tally.first_wrong) == (2, 1, (second, wrong))


def test_a_number_is_no_value() -> None:
    tally = Tally()
    talk = Talk(Plan(workload(1), connections=1, verify=True), 0, tally)
    talk.fill()
    assert talk.feed(b":1\r\n")
    assert tally.wrong == 1


@pytest.mark.parametrize("reply", [b"+OK\r\n+OK\r\n", b"HTTP/1.1 200 OK\r\n"])
def test_what_was_not_asked_for_ends_it(reply: bytes) -> None:
    talk = Talk(Plan(workload(), connections=1), 0, Tally())
    talk.fill()
    assert not talk.feed(reply)


def test_what_is_lost_is_unanswered() -> None:
    tally = Tally()
    talk = Talk(Plan(workload(), connections=1, pipeline=5), 0, tally)
    talk.fill()
    talk.feed(b"+OK\r\n")
    talk.lose(closed=True)
    assert (tally.sent, tally.answered, tally.unanswered, tally.closed, tally.garbled) == (5, 1, 4, 1, 0)


def test_halted_sends_nothing_more() -> None:
    plan = Plan(workload(), connections=1)
    plan.halt()
    assert plan.ended and Talk(plan, 0, Tally()).fill() == b""


def test_time_ends_it() -> None:
    plan = Plan(workload(), connections=1, duration_s=0.01)
    assert not plan.ended
    time.sleep(0.02)
    assert plan.ended and Talk(plan, 0, Tally()).fill() == b""


def test_a_rate_spreads_requests_over_connections_and_time() -> None:
    """One a second on two connections: the first one's are due at 0, 2, 4, ..., the other's at 1, 3, 5, ..."""
    plan = Plan(workload(), connections=2, pipeline=100, rate=1)
    talks = [Talk(plan, index, Tally()) for index in range(2)]
    plan.start(-3.5)
    assert [len(requests(talk.fill())) for talk in talks] == [2, 2]
    assert [talk.fill() for talk in talks] == [b"", b""]
    assert 0 < plan.due_in_s(4) <= 0.5 < plan.due_in_s(5) <= 1.5


def test_what_could_not_be_sent_in_time_is_charged() -> None:
    """A server that holds the only place in the pipeline for a second: the request behind it was due all the while."""
    tally = Tally()
    plan = Plan(workload(), connections=1, pipeline=1, rate=2)
    talk = Talk(plan, 0, tally)
    plan.start(-1.0)
    assert len(requests(talk.fill())) == 1
    assert talk.feed(b"+OK\r\n")  # due a second ago
    assert len(requests(talk.fill())) == 1
    assert talk.feed(b"+OK\r\n")  # due half a second ago, sent just now
    assert 0.5e9 <= tally.writes.percentile(1) * 1.004 < 1e9 <= tally.writes.longest


def test_without_a_rate_a_latency_begins_with_its_batch() -> None:
    tally = Tally()
    talk = Talk(Plan(workload(), connections=1, pipeline=2), 0, tally)
    talk.fill()
    talk.feed(b"+OK\r\n")
    time.sleep(0.05)
    talk.feed(b"+OK\r\n")
    assert tally.writes.percentile(50) < tally.writes.longest >= 0.05e9


@pytest.mark.parametrize("bad", [{"connections": 0}, {"pipeline": 0}, {"rate": -1}])
def test_no_such_plan(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="no plan"):
        Plan(workload(), **{"connections": 1, **bad})
