"""`tellstone bench` on real servers: every request arrives, every reply is counted, every fault is told."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from load.conftest import Done, at
from servers import Server, environment, free_port, redis_command, redis_program, tellstone_command
from wire import Wire, value

Bench = Callable[..., Done]


def calls(wire: Wire, command: str) -> int:
    """How often a command has been called since CONFIG RESETSTAT."""
    match = re.search(rf"cmdstat_{command}:calls=(\d+)", value(wire.call("INFO", "commandstats")))
    return int(match[1]) if match else 0


@pytest.mark.parametrize(
    "words",
    [
        "-c 7 -P 1 -n 5000 --read-ratio 0.5 --keyspace 300",
        "-c 3 -P 17 -n 9999 --read-ratio 0.9 --keyspace 1000 --skew 1.1 -d 300 --verify",
        "-c 4 -P 10 -n 4000 --read-ratio 1 --keyspace 100 --threads 3 --verify",
        "-c 2 -P 3 -n 1000 --read-ratio 0 -d 5000",
        "-c 9 -P 4 -n 3 --keyspace 10 --threads 2",
        "-c 5 -P 2 -n 2000 --rate 20000 --threads 2 --keyspace 100 -d 1",
        "-c 2 -P 40 -n 400 -d 100000 --keyspace 20 --verify",
    ],
)
def test_the_server_has_seen_what_is_reported(either: Server, bench: Bench, words: str) -> None:
    with either.connect() as wire:
        wire.call("CONFIG", "RESETSTAT")
        done = bench(*at(either), *words.split(), "--json")
        report = done.report
        options = report["options"]
        written = options["keyspace"] if options["load"] else 0
        latency = report["latency_ms"]
        assert done.status == 0, done.errors
        assert report["requests"] == report["sent"] == latency["all"]["count"] == options["requests"]
        assert calls(wire, "get") == latency.get("reads", {"count": 0})["count"] == report["hits"] + report["misses"]
        assert calls(wire, "set") == latency.get("writes", {"count": 0})["count"] + written
        if options["load"]:
            assert value(wire.call("DBSIZE")) == written
            assert report["misses"] == 0
        assert report["errors"] == report["wrong"] == report["unanswered"] == report["closed"] == 0
        share = report["hits"] / report["requests"]
        assert abs(share - options["read_ratio"]) < 2 / report["requests"] ** 0.5


def test_keys_and_values(either: Server, bench: Bench) -> None:
    assert bench(*at(either), "-n", 1, "--keyspace", 12, "-d", 20).status == 0
    with either.connect() as wire:
        keys = sorted(value(wire.call("KEYS", "*")))
        assert keys == [f"key:{n:012d}" for n in range(12)]
        assert value(wire.call("GET", keys[11])) == "key:000000000011qrst"


def test_no_load_writes_nothing(either: Server, bench: Bench) -> None:
    report = bench(*at(either), "--no-load", "--read-ratio=1", "-n=100", "--keyspace=5", "--verify", "--json").report
    assert (report["hits"], report["misses"], report["load_seconds"]) == (0, 100, None)
    with either.connect() as wire:
        assert value(wire.call("DBSIZE")) == 0


def test_the_shape_of_the_report(either: Server, bench: Bench) -> None:
    report = bench(*at(either), "-n", 500, "--keyspace", 50, "--json").report
    latency = report.pop("latency_ms")
    assert list(latency) == ["reads", "writes", "all"]
    for one in latency.values():
        assert list(one) == ["count", "mean", "p50", "p90", "p99", "p99.9", "max"]
        assert 0 < one["p50"] <= one["p90"] <= one["p99"] <= one["p99.9"] <= one["max"] < 60_000
        assert 0 < one["mean"] <= one["max"]
    assert report["throughput"] == pytest.approx(report["requests"] / report["seconds"])
    assert report["bytes_received"] > 0 and report["bytes_sent"] > report["bytes_received"]
    assert 0 < report["cpu_seconds"] < 60
    assert report["options"]["addr"] == at(either)[1]
    assert set(report) == {
        *("version", "options", "load_seconds", "seconds", "interrupted", "sent", "requests", "throughput"),
        *("hits", "misses", "errors", "first_error", "wrong", "first_wrong", "closed", "garbled", "unanswered"),
        *("bytes_sent", "bytes_received", "cpu_seconds"),
    }


def test_the_report_for_people(either: Server, bench: Bench) -> None:
    done = bench(*at(either), "-n", 1000, "--keyspace", 50, "--read-ratio", 1, "--verify")
    assert done.status == 0 and done.errors == ""
    for text in ("50 connections, 1 thread, pipeline 1", "1,000 in ", "1,000 values are right, 0 wrong", "p99.9"):
        assert text in done.output
    assert re.search(r"^  reads( +\d+\.\d{3}){5}$", done.output, re.MULTILINE)


def test_a_rate_is_kept(either: Server, bench: Bench) -> None:
    """Never exceeded, and reached unless the machine is busy with something else each time."""
    words = "--rate 4000 --duration 500ms -c 8 --threads 2 --keyspace 100 --json"
    counts: list[int] = []
    while len(counts) < 5 and not any(count >= 1900 for count in counts):
        report = bench(*at(either), *words.split()).report
        counts.append(report["requests"])
        assert report["seconds"] >= (report["requests"] - 1) / 4000
    assert 1900 <= max(counts) <= 2000


def test_requests_of_a_rate_take_their_time(either: Server, bench: Bench) -> None:
    words = "--rate 4000 -n 1000 -c 3 --keyspace 10 --json"
    report = bench(*at(either), *words.split()).report
    assert report["requests"] == 1000
    assert report["seconds"] >= 999 / 4000


def test_a_pause_of_the_server_is_charged_to_all_requests_that_it_held(redis: Server, bench: Bench) -> None:
    """Half a second of standstill in one and a half: with a rate, a third of all requests have waited for that."""
    with redis.connect() as wire:
        timer = threading.Timer(0.7, lambda: wire.call("DEBUG", "SLEEP", "0.5"))
        timer.start()
        words = "--rate 2000 --duration 1500ms -c 4 --keyspace 10 --no-load --json"
        latency = bench(*at(redis), *words.split()).report["latency_ms"]["all"]
        timer.join()
    assert 1000 < latency["count"] <= 3000
    assert latency["p90"] > 200 and latency["max"] > 450


def test_time_ends_it(either: Server, bench: Bench) -> None:
    report = bench(*at(either), "--duration=300ms", "--keyspace=100", "--json").report
    assert 0.25 < report["seconds"] < 2
    assert report["requests"] == report["sent"] > 100


def test_errors_are_told(either: Server, bench: Bench) -> None:
    with either.connect() as wire:
        wire.call("SET", "large", "x" * 1_000_000)
        wire.call("CONFIG", "SET", "maxmemory", "1")
        try:
            done = bench(*at(either), "--read-ratio=0", "-n=50", "--json")
            text = bench(*at(either), "--read-ratio=0", "-n=50")
            loading = bench(*at(either), "-n=50")
        finally:
            wire.call("CONFIG", "SET", "maxmemory", "0")
    assert done.status == text.status == loading.status == 1
    assert (done.report["errors"], done.report["requests"]) == (50, 50)
    assert done.report["first_error"].startswith("OOM command not allowed")
    assert "50 replies were errors, the first one: OOM command not allowed" in text.output
    assert loading.errors.startswith("tellstone: cannot write the keys: OOM command not allowed")
    assert loading.errors.count("\n") == 1 and loading.output == ""


def test_verify_finds_what_another_client_changes(either: Server, start_bench: Callable[..., Any]) -> None:
    words = "--read-ratio 1 --keyspace 10 -c 4 -d 30 --duration 1s --verify --json"
    running = start_bench(*at(either), *words.split())
    with either.connect() as wire:
        deadline = time.monotonic() + 20
        while value(wire.call("DBSIZE")) < 10 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)
        wire.call("SET", "key:000000000007", "key:000000000003 is another key")
        wire.call("DEL", "key:000000000005")
    output, _ = running.communicate(timeout=30)
    report = json.loads(output)
    assert running.returncode == 1
    assert 0 < report["wrong"] < report["hits"]
    assert 0 < report["misses"] < report["hits"]
    assert report["first_wrong"] == {"key": "key:000000000007", "value": "key:000000000003 is another key"}


def test_interrupted_it_prints_what_there_is(either: Server, start_bench: Callable[..., Any]) -> None:
    running = start_bench(*at(either), "--duration", "60s", "--keyspace", 100)
    with either.connect() as wire:
        wire.call("CONFIG", "RESETSTAT")
        deadline = time.monotonic() + 20
        while calls(wire, "get") < 100 and time.monotonic() < deadline:
            time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=20)
    assert running.returncode == 130 and errors == ""
    assert "(interrupted)" in output and "p99.9" in output and "not answered" not in output


def test_progress_is_shown_to_a_terminal_alone(redis: Server) -> None:
    terminal, side = pty.openpty()
    words = ["bench", *at(redis), "--duration", "700ms", "--keyspace", "10", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "tellstone", *words], env=environment(), stdout=subprocess.PIPE, stderr=side
    ) as running:
        output, _ = running.communicate(timeout=30)
    os.close(side)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal, on Linux
        while data := os.read(terminal, 4096):
            shown += data
    os.close(terminal)
    assert running.returncode == 0 and json.loads(output)["requests"] > 0
    assert re.search(rb"\r +0\.\d s  [\d,]+ requests  [\d,]+/s  p50 \d+\.\d{3} ms  p99 \d+\.\d{3} ms", shown)
    assert shown.endswith(b"\r\x1b[K\r")


def test_connections_that_are_closed_are_told(either: Server, start_bench: Callable[..., Any]) -> None:
    running = start_bench(*at(either), "-c=6", "--duration=800ms", "--read-ratio=0", "--json")
    with either.connect() as wire:
        deadline = time.monotonic() + 20
        lines: list[str] = []
        while len(lines) < 4 and time.monotonic() < deadline:
            clients = value(wire.call("CLIENT", "LIST")).splitlines()
            lines = [line for line in clients if "cmd=set" in line]
        for line in lines[:2]:
            wire.call("CLIENT", "KILL", "ID", re.search(r"\bid=(\d+)", line)[1])  # type: ignore[index]
    output, _ = running.communicate(timeout=30)
    report = json.loads(output)
    assert running.returncode == 1 and len(lines) >= 4
    assert report["closed"] == 2 and 0 <= report["unanswered"] <= 2
    assert report["sent"] == report["requests"] + report["unanswered"]
    assert report["seconds"] > 0.7  # the others went on


@pytest.mark.parametrize("protocol", ["resp", "native"])
def test_nobody_there(bench: Bench, protocol: str) -> None:
    done = bench("--addr", f"127.0.0.1:{free_port()}", "--protocol", protocol)
    assert done.status == 1 and done.output == ""
    assert re.fullmatch(r"tellstone: cannot connect to 127.0.0.1:\d+: connection refused\n", done.errors)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "does not speak the resp protocol"),
        (b"", "closes the connection"),
        (b"-ERR max number of clients reached\r\n", ": ERR max number of clients reached"),
    ],
)
def test_not_a_server_for_it(bench: Bench, said: bytes, line: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            one, _ = listener.accept()
            with one:
                one.recv(1000)
                one.sendall(said)

        thread = threading.Thread(target=serve)
        thread.start()
        done = bench("--addr", f"127.0.0.1:{listener.getsockname()[1]}", "-c", 1)
        thread.join()
    assert done.status == 1
    assert re.fullmatch(rf"tellstone: 127.0.0.1:\d+ ?{re.escape(line)}\n", done.errors)


@pytest.fixture(scope="module")
def reachable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A redis-server with TLS on a port beside its own, and a unix socket; its directory has the certificate."""
    directory = tmp_path_factory.mktemp("tls")
    if redis_program() is None:
        pytest.skip("redis-server is not installed")
    key = ["-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem"]
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    try:
        subprocess.run(
            ["openssl", "req", "-x509", *key, *name, "-out", "cert.pem"], cwd=directory, check=True, capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    options = ["--tls-port", str(free_port()), "--tls-cert-file", "cert.pem", "--tls-key-file", "key.pem"]
    options += ["--tls-ca-cert-file", "cert.pem", "--tls-auth-clients", "no", "--unixsocket", "s"]
    one = Server(redis_command(*options), directory).start()
    yield one, directory
    one.stop()


def tls_at(one: Server) -> tuple[str, str]:
    with one.connect() as wire:
        return "--addr", f"127.0.0.1:{value(wire.call('CONFIG', 'GET', 'tls-port'))[1]}"


@pytest.mark.parametrize("words", ["-P 5 -n 2000", "-P 1 --rate 3000 -n 1000", "-P 8 -n 80 -d 100000"])
def test_over_tls(reachable: tuple[Server, Path], bench: Bench, words: str) -> None:
    one, directory = reachable
    trust = ("--tls", "--cacert", directory / "cert.pem")
    done = bench(*tls_at(one), *trust, *words.split(), "-c=5", "--keyspace=100", "--verify", "--json")
    assert done.status == 0, done.errors
    report = done.report
    assert report["requests"] == report["sent"] == report["options"]["requests"]
    assert report["misses"] == report["wrong"] == 0


def test_whom_to_trust(reachable: tuple[Server, Path], bench: Bench) -> None:
    one, directory = reachable
    assert bench(*tls_at(one), "--tls", "-n", 5).errors.endswith(": self-signed certificate\n")
    assert bench(*tls_at(one), "--tls", "--insecure", "-n", 5).status == 0
    done = bench(*tls_at(one), "--tls", "--cacert", directory / "none.pem")
    assert done.status == 1 and "none.pem: no such file" in done.errors


def test_over_a_unix_socket(reachable: tuple[Server, Path], bench: Bench) -> None:
    _, directory = reachable
    done = bench("--addr", f"unix:{directory / 's'}", "-n", 100, "--keyspace", 10, "--json")
    assert done.status == 0 and done.report["hits"] > 0


def test_logging_in(redis: Server, bench: Bench) -> None:
    with redis.connect() as wire:
        wire.call("ACL", "SETUSER", "loader", "on", ">pass:word", "~*", "+get", "+set")
        try:
            done = bench(*at(redis), "--auth", "loader:pass:word", "-n", 100, "--keyspace", 10, "--json")
            refused = bench(*at(redis), "--auth", "loader:word", "-n", 100)
        finally:
            wire.call("ACL", "DELUSER", "loader")
    assert done.status == 0 and done.report["requests"] == 100
    assert refused.status == 1 and "WRONGPASS" in refused.errors and refused.errors.count("\n") == 1


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    """A server that speaks both protocols, and its address for the native one."""
    address = f"127.0.0.1:{free_port()}"
    one = Server(tellstone_command("--addr", address), tmp_path_factory.mktemp("native")).start()
    yield one, address
    one.stop()


@pytest.mark.parametrize(
    "words",
    [
        "-c 7 -P 1 -n 5000 --keyspace 300 --verify",
        "-c 3 -P 17 -n 9999 --read-ratio 0.9 --keyspace 1000 --skew 1.1 -d 300 --verify --threads 2",
        "-c 2 -P 40 -n 400 -d 100000 --keyspace 20 --verify",
    ],
)
def test_natively(native: tuple[Server, str], bench: Bench, words: str) -> None:
    one, address = native
    with one.connect() as wire:
        wire.call("FLUSHALL")
        wire.call("CONFIG", "RESETSTAT")
        done = bench("--addr", address, "--protocol", "native", *words.split(), "--json")
        report = done.report
        assert done.status == 0, done.errors
        assert report["requests"] == report["sent"] == report["options"]["requests"]
        assert calls(wire, "get") == report["hits"] == report["latency_ms"]["reads"]["count"]
        assert calls(wire, "set") == report["latency_ms"]["writes"]["count"] + report["options"]["keyspace"]
        assert report["misses"] == report["wrong"] == report["errors"] == 0


def test_both_protocols_find_each_others_values(native: tuple[Server, str], bench: Bench) -> None:
    one, address = native
    written = bench(*at(one), "--read-ratio=0", "--load", "-n=1", "--keyspace=50", "-d=40")
    words = ("--no-load", "--read-ratio=1", "-n=500", "--keyspace=50", "-d=40", "--verify", "--json")
    read = bench("--addr", address, "--protocol=native", *words)
    assert written.status == read.status == 0
    assert read.report["hits"] == 500


def test_missing_natively(native: tuple[Server, str], bench: Bench) -> None:
    one, address = native
    with one.connect() as wire:
        wire.call("FLUSHALL")
    done = bench("--addr", address, "--protocol=native", "--no-load", "--read-ratio=1", "-n=100", "--json")
    assert (done.status, done.report["misses"], done.report["errors"]) == (0, 100, 0)
