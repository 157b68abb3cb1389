"""What an engine's own commands leave behind: INFO, SLOWLOG and LATENCY tell of Engine.execute as a server's do of its
clients.
"""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

from tellstone import Engine, ResponseError
from tellstone._core.session.embedded import Caller
from tellstone._core.session.records import Records
from tellstone._core.store.keyspace import Store
from tellstone.config import Options


def refuse(engine: Engine, *words: Any) -> None:
    with pytest.raises(ResponseError):
        engine.execute(*words)


def stats(engine: Engine, section: str) -> dict[str, Any]:
    found: dict[str, Any] = engine.execute("INFO", section)
    return found


def test_commands_are_counted(engine: Engine) -> None:
    engine.execute("SET", "k", "v")
    for _ in range(3):
        engine.execute("GET", "k")
    refuse(engine, "INCR", "k")
    refuse(engine, "GET")
    refuse(engine, "CONFIG GET")
    refuse(engine, "CONFIG SET", "nosuch", 1)
    refuse(engine, "NOSUCH")
    refuse(engine, "DEBUG", "ERROR", "MINE it is")
    found = {
        name.removeprefix("cmdstat_"): (one["calls"], one["failed_calls"], one["rejected_calls"])
        for name, one in stats(engine, "commandstats").items()
    }
    assert found == {
        "set": (1, 0, 0),
        "get": (3, 0, 1),
        "incr": (1, 1, 0),
        "config|get": (0, 0, 1),
        "config|set": (1, 1, 0),
        "debug": (1, 1, 0),
    }
    assert stats(engine, "errorstats") == {"errorstat_ERR": {"count": 5}, "errorstat_MINE": {"count": 1}}
    assert stats(engine, "stats")["total_error_replies"] == 6
    assert stats(engine, "stats")["total_commands_processed"] == 11  # four times INFO, the present one included
    assert engine.execute("CONFIG RESETSTAT") is True
    assert list(stats(engine, "commandstats")) == ["cmdstat_config|resetstat"]
    assert stats(engine, "errorstats") == {}


def test_durations_are_recorded(engine: Engine) -> None:
    for _ in range(100):
        engine.execute("SET", "k", "v")
    engine.execute("CONFIG GET", "timeout")
    found = stats(engine, "latencystats")
    assert 0 < found["latency_percentiles_usec_set"]["p50"] <= found["latency_percentiles_usec_set"]["p99.9"]
    assert found["latency_percentiles_usec_config|get"]["p50"] > 0
    found = engine.execute("LATENCY HISTOGRAM", "set")
    assert found[b"set"][b"calls"] == 100 and max(found[b"set"][b"histogram_usec"].values()) == 100
    assert stats(engine, "commandstats")["cmdstat_set"]["usec"] > 0


def test_slow_calls_are_logged(engine: Engine) -> None:
    assert engine.execute("SLOWLOG LEN") == 0
    engine.execute("CONFIG SET", "slowlog-log-slower-than", 0)
    engine.execute("CLIENT SETNAME", "me")
    engine.execute("SET", "k", "x" * 200)
    refuse(engine, "CONFIG SET", "requirepass", "secret")
    newest, before = engine.execute("SLOWLOG GET", 2)
    assert newest["command"] == b"CONFIG SET requirepass (redacted)"
    assert before["command"] == b"SET k " + b"x" * 128 + b"... (72 more bytes)"
    assert before["client_name"] == b"me" and before["client_address"] == b"" and before["duration"] >= 0
    assert newest["id"] == before["id"] + 1
    engine.execute("CONFIG SET", "slowlog-log-slower-than", -1)
    assert engine.execute("SLOWLOG RESET") is True
    assert engine.execute("SLOWLOG GET") == []


def test_latency_events_are_noted(engine: Engine) -> None:
    engine.execute("CONFIG SET", "latency-monitor-threshold", 20)
    engine.execute("DEBUG", "SLEEP", 0.03)
    ((name, _, latest, worst),) = engine.execute("LATENCY LATEST")
    assert name == b"command" and latest == worst >= 20


def test_threads_are_counted_together_and_after_their_end(engine: Engine) -> None:
    def work() -> None:
        for _ in range(50):
            engine.execute("STRLEN", "k")
        refuse(engine, "STRLEN")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del threads
    gc.collect()
    found = stats(engine, "commandstats")["cmdstat_strlen"]
    assert (found["calls"], found["rejected_calls"]) == (400, 8)
    assert engine.execute("LATENCY HISTOGRAM", "strlen")[b"strlen"][b"calls"] == 400


def test_counts_are_added_up_while_threads_come_and_go(engine: Engine) -> None:
    """No count is lost or seen twice."""
    rounds, seen = 20, []
    engine.execute("ECHO", "x")

    def look() -> None:
        while len(seen) < 2 or seen[-1] < 1 + rounds * 5:
            seen.append(stats(engine, "commandstats")["cmdstat_echo"]["calls"])

    looking = threading.Thread(target=look)
    looking.start()
    for _ in range(rounds):
        thread = threading.Thread(target=lambda: [engine.execute("ECHO", "x") for _ in range(5)])
        thread.start()
        thread.join()
    looking.join(60)
    assert seen == sorted(seen) and seen[-1] == 1 + rounds * 5


def test_what_a_command_looks_up_for_itself_is_nobodys_call(engine: Engine) -> None:
    engine.execute("SET", "k", "v")
    engine.execute("DEBUG", "DIGEST")
    assert set(stats(engine, "commandstats")) == {"cmdstat_set", "cmdstat_debug"}


@pytest.mark.core
def test_a_caller_leaves_its_counts() -> None:
    store, records = Store(1, upkeep=False), Records()
    callers = [Caller(store, records) for _ in range(300)]
    for caller in callers:
        caller.call(("PING",))
    before = records.tally()
    del callers[::2]
    del caller
    gc.collect()
    assert records.tally()["rows"] == before["rows"]
    nobody = Caller(store)
    nobody.call(("PING",))
    del callers, nobody
    (calls, *_) = records.tally()["rows"].popitem()[1]
    assert calls == 300


@pytest.mark.core
def test_records_begin_with_the_defaults_of_the_options() -> None:
    records, options = Records(one_by_one=True), Options()
    edge = float(options.slowlog_log_slower_than)
    for microseconds in (edge * 0.9, edge * 1.1):
        records.add_call(1, microseconds, (b"X",))
    assert records.slow_count == 1
    for _ in range(options.slowlog_max_len + 1):
        records.add_call(1, 2 * edge, (b"X",))
    assert records.slow_count == options.slowlog_max_len


@pytest.mark.core
@pytest.mark.parametrize("one_by_one", [False, True])
def test_durations_that_are_not_to_be_recorded(one_by_one: bool) -> None:
    store, records = Store(1, upkeep=False), Records(one_by_one=one_by_one)
    caller = Caller(store, records)

    def recorded() -> tuple[int, int]:
        caller.call(("KEYS", "*"))  # is timed by itself in either case
        ((calls, _, _, _, durations),) = records.tally()["rows"].values()
        return calls, sum(count for _, count in durations)

    assert recorded() == (1, 1)
    records.configure(slow_us=-1, slow_max=1, monitor_ms=0, tracking=False)
    assert recorded() == (2, 1)
    records.configure(slow_us=-1, slow_max=1, monitor_ms=0)
    assert recorded() == (3, 2)
