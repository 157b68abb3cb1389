"""INFO, and what else monitoring and job queues read, parsed as they parse it.

redis_exporter reads INFO ALL by lines, CONFIG GET *, LATENCY, SLOWLOG and CLIENT LIST. A line that it cannot parse it
leaves out silently, so nothing but a test of the form tells. Job queues read a handful of fields at their start and
refuse to work, or warn, by what they find.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from servers import Server, free_port
from wire import Wire, value

# What Redis prints and we do not: nothing here measures it, or there is nothing to measure.
LEFT_OUT = {
    *("atomicvar_api", "gcc_version", "monotonic_clock"),
    *("eventloop_duration_sum", "eventloop_duration_cmd_sum", "instantaneous_eventloop_duration_usec"),
    *("total_reads_processed", "total_writes_processed", "io_threaded_reads_processed", "io_threaded_writes_processed"),
    *("reply_buffer_shrinks", "reply_buffer_expands", "expire_cycle_cpu_milliseconds", "lazyfreed_objects"),
}
# The forms of values: what a parser has to tell apart.
FORMS = (r"-?\d+", r"\d+\.\d\d", r"\d+\.\d{6}", r"\d+\.\d\d%", r"\d+B|\d+\.\d\d[KMGTP]", r"[0-9a-f]{40}", r".*")
FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")  # of what Go's strconv.ParseFloat takes
CLIENT_FIGURES = "age idle sub psub ssub qbuf qbuf-free obl oll omem tot-mem db resp"
WORDS = {"ok": 1.0, "true": 1.0, "err": 0.0, "fail": 0.0, "false": 0.0}
BY_CALL = ("cmdstat_", "errorstat_", "latency_percentiles_usec_", "db")

Sections = dict[str, dict[str, str]]


def sections(info: str) -> Sections:
    """Fields by section, as any reader finds them: lines of a name, a colon and a value under "# Title"."""
    found: Sections = {}
    fields: dict[str, str] = {}
    for line in info.split("\r\n"):
        if line.startswith("# "):
            fields = found[line[2:]] = {}
        elif line:
            name, _, text = line.partition(":")
            assert name not in fields and text == text.strip(), line
            fields[name] = text
    return found


def read_info(wire: Wire) -> Sections:
    return sections(value(wire.call("INFO", "ALL")))


def number(text: str) -> float:
    assert FLOAT.fullmatch(text), text
    return float(text)


def numbers(text: str) -> dict[str, float]:
    """a=1,b=2.5"""
    return {name: number(figure) for name, figure in (part.split("=") for part in text.split(","))}


def form(text: str) -> int:
    return next(i for i, pattern in enumerate(FORMS) if re.fullmatch(pattern, text))


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    """On a server that has had calls of many kinds."""
    with server.connect() as wire:
        requests = (
            "FLUSHALL|SET a 1|SET b 2 EX 1000|GET a|INCR|NOSUCH|DEBUG ERROR MINE|CONFIG GET save|SELECT 3|SET c x"
        )
        for request in requests.split("|"):
            wire.call(*request.split())
        yield wire


def test_fields_are_those_of_redis(wire: Wire, redis: Server) -> None:
    """Every section in the same order, every field of it, and each in the form that a parser of Redis's expects."""
    with redis.connect() as other:
        theirs, ours = read_info(other), read_info(wire)
    assert list(ours) == list(theirs)
    missing, different = set(), {}
    for title, fields in theirs.items():
        for name, text in fields.items():
            if name.startswith(BY_CALL) or name.endswith(("_human", "_id")):  # sizes differ, and so do identities
                continue
            if name not in ours[title]:
                missing.add(name)
            elif form(ours[title][name]) != form(text):
                different[name] = (ours[title][name], text)
    assert missing <= LEFT_OUT and LEFT_OUT.isdisjoint(set().union(*ours.values()))
    assert different == {}


def test_redis_exporter_reads_statistics_of_calls(wire: Wire) -> None:
    found = read_info(wire)
    for name, text in found["Commandstats"].items():
        assert re.fullmatch(r"cmdstat_[a-zA-Z0-9_|-]+", name)
        assert list(numbers(text)) == ["calls", "usec", "usec_per_call", "rejected_calls", "failed_calls"]
    assert numbers(found["Commandstats"]["cmdstat_incr"])["rejected_calls"] >= 1
    assert numbers(found["Commandstats"]["cmdstat_config|get"])["calls"] >= 1
    assert {name: list(numbers(text)) for name, text in found["Errorstats"].items()} == {
        name: ["count"] for name in found["Errorstats"]
    }
    assert {"errorstat_ERR", "errorstat_MINE"} <= set(found["Errorstats"])
    for name, text in found["Latencystats"].items():
        command = name.removeprefix("latency_percentiles_usec_")
        assert f"cmdstat_{command}" in found["Commandstats"]
        percentiles = {number(percent[1:]): figure for percent, figure in numbers(text).items()}
        assert list(percentiles) == [50, 99, 99.9] and list(percentiles.values()) == sorted(percentiles.values())


def test_redis_exporter_reads_the_keyspace(wire: Wire) -> None:
    found = {name: numbers(text) for name, text in read_info(wire)["Keyspace"].items()}
    assert list(found) == ["db0", "db3"]
    assert list(found["db0"]) == ["keys", "expires", "avg_ttl"]  # it goes by their places
    assert [found[db][name] for db in found for name in ("keys", "expires")] == [2, 1, 1, 0]


def test_redis_exporter_reads_figures(wire: Wire) -> None:
    """Its gauges and counters are numbers, or the words that it takes for 0 and 1."""
    found = read_info(wire)
    words = {"role", "master_failover_state", "master_replid", "master_replid2", "maxmemory_policy", "mem_allocator"}
    for title in ("Clients", "Memory", "Persistence", "Stats", "Replication", "CPU", "Cluster"):
        for name, text in found[title].items():
            if name not in words and not name.endswith(("_human", "_perc")):
                assert WORDS.get(text, FLOAT.fullmatch(text)) is not None, (name, text)
    labels = ("redis_version", "redis_build_id", "redis_mode", "os", "tcp_port", "run_id", "process_id")
    assert all(found["Server"][name] for name in labels)
    assert all(number(found["Server"][name]) >= 0 for name in ("uptime_in_seconds", "hz", "configured_hz"))


def test_redis_exporter_reads_more_than_info(wire: Wire) -> None:
    words = value(wire.call("CONFIG", "GET", "*"))
    config = dict(zip(words[::2], words[1::2], strict=True))
    assert all(FLOAT.fullmatch(config[name]) for name in ("databases", "maxclients", "maxmemory", "io-threads"))
    limits = config["client-output-buffer-limit"].split(" ")
    assert limits[::4] == ["normal", "slave", "pubsub"]
    assert all(FLOAT.fullmatch(limits[i]) for i in range(len(limits)) if i % 4)
    for line in value(wire.call("CLIENT", "LIST")).rstrip("\n").split("\n"):
        client = dict(part.split("=") for part in line.split(" "))
        assert re.match(r"id=\d+ addr=\S+", line) and client["addr"].count(":") >= 1
        assert all(re.fullmatch(r"\d+", client[name]) for name in CLIENT_FIGURES.split())
        assert {"name", "user", "flags"} <= set(client)
    words = value(wire.call("LATENCY", "HISTOGRAM"))
    for command, figures in zip(words[::2], words[1::2], strict=True):
        assert isinstance(command, str) and figures[::2] == ["calls", "histogram_usec"]
        assert all(isinstance(figure, int) for figure in (figures[1], *figures[3]))
    assert value(wire.call("LATENCY", "LATEST")) == []
    assert isinstance(value(wire.call("SLOWLOG", "LEN")), int)
    assert all(
        [isinstance(entry[0], int), isinstance(entry[2], int)] for entry in value(wire.call("SLOWLOG", "GET", 1))
    )


# What job queues and drivers look up, each in its own way.
READ_BY_OTHERS = {
    "Sidekiq": {  # what it shows, and warns of
        "redis_version": r"(?:[789]|\d\d)\.\d+\.\d+",
        "uptime_in_days": r"\d+",
        "connected_clients": r"[1-9]\d*",
        "used_memory_human": r"\d+(?:B|\.\d\d[KMGTP])",
        "used_memory_peak_human": r"\d+(?:B|\.\d\d[KMGTP])",
        "maxmemory_policy": "noeviction",
    },
    "Bull and BullMQ": {"redis_version": r"\d+\.\d+\.\d+", "maxmemory_policy": "noeviction"},
    "RQ": {"redis_version": r"\d+(?:\.\d+){2,}"},
    "lettuce": {"role": "master", "connected_clients": r"\d+", "master_repl_offset": r"\d+"},
    "ioredis": {"loading": "0", "role": "master"},
    "Spring Boot": {"redis_version": r"\d+\.\d+\.\d+"},
}


@pytest.mark.parametrize("reader", READ_BY_OTHERS)
def test_what_others_read(reader: str, wire: Wire) -> None:
    lines = value(wire.call("INFO")).split("\r\n")
    for name, pattern in READ_BY_OTHERS[reader].items():
        (line,) = [line for line in lines if line.startswith(f"{name}:")]
        assert re.fullmatch(pattern, line.partition(":")[2]), line
    assert not any("valkey" in line.lower() or "dragonfly" in line.lower() for line in lines)  # BullMQ looks for them


# The real one, where it is installed.


def metric_names(server: Server, *options: str) -> set[str]:
    """What redis_exporter makes of a server. It must not complain."""
    program = shutil.which("prometheus-redis-exporter") or shutil.which("redis_exporter")
    if program is None:
        pytest.skip("redis_exporter is not installed")
    port = free_port()
    command = [program, f"-redis.addr=redis://{server.address[0]}:{server.address[1]}", "-redis-only-metrics"]
    command += [f"-web.listen-address=127.0.0.1:{port}", "-export-client-list", "-include-system-metrics", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            text = fetch(f"http://127.0.0.1:{port}/metrics")
        finally:
            process.terminate()
            log, _ = process.communicate()
    assert "level=error" not in log and "level=warning" not in log, log
    assert "\nredis_up 1\n" in text and 'redis_exporter_last_scrape_error{err=""} 0\n' in text, text
    return set(re.findall(r"^(redis_\w+)", text, re.MULTILINE))


def fetch(url: str) -> str:
    deadline = time.monotonic() + 10
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                text: str = response.read().decode()
                return text
        except urllib.error.URLError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def test_redis_exporter(wire: Wire, server: Server, redis: Server) -> None:
    with redis.connect() as other:
        other.call("SET", "k", "v", "EX", 1000)
        other.call("NOSUCH")
    missing = {name.removeprefix("redis_") for name in metric_names(redis) - metric_names(server)}
    renamed = {"cpu_time_ms_total", "expire_cycle_cpu_time_ms_total", "total_reads_processed", "total_writes_processed"}
    assert missing <= LEFT_OUT | renamed


def test_redis_exporter_of_a_cluster(cluster: Server) -> None:
    assert {"redis_cluster_slots_ok", "redis_cluster_size"} <= metric_names(cluster, "-is-cluster")
