"""What a server tells of its calls: INFO's statistics, SLOWLOG, LATENCY, MEMORY."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from shell.started import Started
from wire import Wire, value

from tellstone._core.session.records import Records
from tellstone.control.calls import distribution, percentile

Resp = Callable[..., Started]


@pytest.fixture
def wire(resp: Resp) -> Iterator[Wire]:
    with resp("--slowlog-log-slower-than", "0", "--io-threads", "2").connect() as wire:
        yield wire


def info(wire: Wire, section: str) -> dict[str, str]:
    text = value(wire.call("INFO", section))
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


def stats(wire: Wire, command: str) -> dict[str, float]:
    fields = info(wire, "commandstats")[f"cmdstat_{command}"]
    return {name: float(number) for name, number in (field.split("=") for field in fields.split(","))}


def test_calls_failures_and_refusals_are_counted(wire: Wire) -> None:
    for request in (("SET", "k", "v"), ("SET", "k"), ("GET", "k"), ("INCR", "k"), ("CONFIG", "SET", "nosuch", 1)):
        wire.call(*request)
    assert re.fullmatch(
        r"calls=1,usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=1,failed_calls=0",
        info(wire, "commandstats")["cmdstat_set"],
    )
    assert (stats(wire, "incr")["calls"], stats(wire, "incr")["failed_calls"]) == (1, 1)
    assert (stats(wire, "config|set")["calls"], stats(wire, "config|set")["failed_calls"]) == (1, 1)
    assert stats(wire, "config|set")["usec"] > 0


def test_the_call_that_asks_is_not_counted_yet(wire: Wire) -> None:
    assert "cmdstat_info" not in info(wire, "commandstats")
    assert stats(wire, "info")["calls"] == 1


def test_errors_are_counted_by_their_first_word(wire: Wire) -> None:
    for request in (("NOSUCH",), ("GET",), ("INCR",), ("CONFIG", "SET", "nosuch", 1), ("DEBUG", "ERROR", "MINE x")):
        assert wire.call(*request).startswith(b"-")
    assert info(wire, "errorstats") == {"errorstat_ERR": "count=4", "errorstat_MINE": "count=1"}
    assert info(wire, "stats")["total_error_replies"] == "5"


def test_resetstat_resets_all_of_it(wire: Wire) -> None:
    for request in (("SET", "k", "v"), ("NOSUCH",), ("GET", "k"), ("CONFIG", "RESETSTAT")):
        wire.call(*request)
    assert list(info(wire, "commandstats")) == ["cmdstat_config|resetstat"]
    assert info(wire, "errorstats") == {}
    found = info(wire, "stats")
    assert (found["total_error_replies"], found["keyspace_hits"]) == ("0", "0")
    assert "latency_percentiles_usec_set" not in info(wire, "latencystats")


def test_percentiles(wire: Wire) -> None:
    wire.call("SET", "k", "v")
    assert re.fullmatch(
        r"p50=\d+\.\d{3},p99=\d+\.\d{3},p99\.9=\d+\.\d{3}", info(wire, "latencystats")["latency_percentiles_usec_set"]
    )
    wire.call("CONFIG", "SET", "latency-tracking-info-percentiles", "0 12.5")
    assert re.fullmatch(r"p0=\d+\.\d{3},p12\.5=\d+\.\d{3}", info(wire, "latencystats")["latency_percentiles_usec_set"])
    assert wire.call("CONFIG", "GET", "latency-tracking-info-percentiles").endswith(b"$6\r\n0 12.5\r\n")
    wire.call("CONFIG", "SET", "latency-tracking", "no")
    assert info(wire, "latencystats") == {}


def test_the_slow_log_has_all_calls(wire: Wire) -> None:
    wire.call("CLIENT", "SETNAME", "me")
    wire.call("SET", "k", "x" * 200)
    wire.call("MGET", *range(50))
    wire.call("CONFIG", "GET", "timeout")
    wire.call("DEBUG", "SLEEP", "0.02")
    calls = value(wire.call("SLOWLOG", "GET", -1))
    assert [call[0] for call in calls] == sorted((call[0] for call in calls), reverse=True)
    sleep, config, mget, set_ = calls[:4]
    assert sleep[3] == ["DEBUG", "SLEEP", "0.02"] and sleep[2] >= 20_000
    assert config[3] == ["CONFIG", "GET", "timeout"]
    assert len(mget[3]) == 32 and mget[3][-1] == "... (20 more arguments)"
    assert set_[3] == ["SET", "k", "x" * 128 + "... (72 more bytes)"]
    assert all(call[4].startswith("127.0.0.1:") and call[5] == "me" for call in calls[:4])
    assert len(value(wire.call("SLOWLOG", "GET"))) <= 10
    assert len(value(wire.call("SLOWLOG", "GET", 2))) == 2
    assert wire.call("SLOWLOG", "RESET") == b"+OK\r\n"
    assert wire.call("SLOWLOG", "LEN") == b":1\r\n"  # the reset itself, as in Redis


def test_secrets_stay_out_of_the_slow_log(wire: Wire) -> None:
    wire.call("AUTH", "secret")
    wire.call("auth", "default", "secret")
    wire.call("HELLO", 2, "AUTH", "default", "secret", "SETNAME", "me")
    wire.call("CONFIG", "SET", "requirepass", "secret")
    assert b"secret" not in wire.call("SLOWLOG", "GET", -1)


def test_the_slow_log_can_be_bounded_and_turned_off(wire: Wire) -> None:
    wire.call("CONFIG", "SET", "slowlog-max-len", 3)
    for _ in range(5):
        wire.call("PING")
    assert wire.call("SLOWLOG", "LEN") == b":3\r\n"
    wire.call("CONFIG", "SET", "slowlog-max-len", 0)
    wire.call("PING")
    assert wire.call("SLOWLOG", "LEN") == b":0\r\n"
    wire.call("CONFIG", "SET", "slowlog-max-len", 2**62, "slowlog-log-slower-than", -1)
    wire.call("SLOWLOG", "RESET")
    wire.call("PING")
    assert wire.call("SLOWLOG", "GET") == b"*0\r\n"


def test_latency_events(wire: Wire) -> None:
    assert wire.call("LATENCY", "LATEST") == b"*0\r\n"
    wire.call("CONFIG", "SET", "latency-monitor-threshold", 10)
    wire.call("DEBUG", "SLEEP", "0.03")
    ((name, unix, last, worst),) = value(wire.call("LATENCY", "LATEST"))
    assert name == "command" and 30 <= last == worst < 5000
    assert value(wire.call("LATENCY", "HISTORY", "command")) == [[unix, last]]
    graph = value(wire.call("LATENCY", "GRAPH", "command"))
    assert graph.startswith(f"command - high {last} ms, low {last} ms (all time high {last} ms)\n{'-' * 80}\n")
    assert b"1. command: 1 latency spikes" in wire.call("LATENCY", "DOCTOR")
    assert wire.call("LATENCY", "RESET", "nosuch", "COMMAND") == b":1\r\n"
    assert wire.call("LATENCY", "LATEST") == b"*0\r\n"


def test_latency_histogram(wire: Wire) -> None:
    for _ in range(3):
        wire.call("SET", "k", "v")
    wire.call("CONFIG", "GET", "timeout")
    wire.call("HELLO", 3)
    found = value(wire.call("LATENCY", "HISTOGRAM", "set", "nosuch", "CONFIG"))
    assert list(found) == ["set", "config|get"]
    assert found["set"]["calls"] == 3 == list(found["set"]["histogram_usec"].values())[-1]
    assert "set" in value(wire.call("LATENCY", "HISTOGRAM"))


def test_memory(wire: Wire) -> None:
    wire.call("SET", "k", "v")
    wire.call("SET", "big", "v" * 100_000)
    small, big = (value(wire.call("MEMORY", "USAGE", key, "SAMPLES", 0)) for key in ("k", "big"))
    assert 8 < small < 2000 and 100_000 < big < 110_000
    found = value(wire.call("MEMORY", "STATS"))
    names = found[::2] if isinstance(found, list) else list(found)
    assert {"peak.allocated", "keys.count", "dataset.percentage", "db.0"} <= set(names)
    assert len(names) == 28
    assert value(wire.call("MEMORY", "DOCTOR")).startswith("There is next to nothing in memory")
    wire.call("DEBUG", "POPULATE", 50_000, "key", 200)
    assert value(wire.call("MEMORY", "DOCTOR"))


# The parts


@pytest.mark.core
def test_percentiles_of_durations() -> None:
    durations = [(1.0, 98), (10.0, 1), (100.0, 1)]
    assert [percentile(durations, percent) for percent in (0, 50, 98, 99, 99.9, 100)] == [1, 1, 1, 10, 100, 100]
    assert percentile([], 50) == 0


@pytest.mark.core
def test_distributions_are_cumulative_and_in_redis_buckets() -> None:
    assert distribution([(0.5, 1), (1.5, 2), (30.0, 3), (40.0, 4)]) == {1: 1, 2: 3, 33: 6, 66: 10}
    assert distribution([]) == {}


@pytest.mark.core
def test_records_of_calls_that_python_has_answered() -> None:
    records = Records()
    records.configure(slow_us=100, slow_max=2, monitor_ms=1)
    for microseconds in (50, 1500, 2500, 3500):
        records.add_call(3, microseconds, (b"PING", b"x"), addr=b"a:1", name=b"n", fast=True)
    records.add_call(3, 1, (b"PING",), error=b"WRONG word")
    (calls, microseconds, failed, rejected, durations) = records.tally()["rows"][3]
    assert (calls, failed, rejected) == (0, 1, 0) and 7000 < microseconds < 8500  # calls are counted where they came in
    assert sum(count for _, count in durations) == 5
    assert records.tally()["words"] == {"WRONG": 1}
    assert [call[2] // 1000 for call in records.slow_calls(-1)] == [3, 2] and records.slow_count == 2
    assert records.events()["fast-command"][1] in (3, 4)
    assert records.clear_event("fast-command") and not records.clear_event("nosuch")
    records.reset(3)
    assert records.tally()["rows"][3][:1] == (1,)
    with pytest.raises(ValueError):
        records.add_call(100_000, 1, ())
