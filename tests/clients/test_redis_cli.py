"""redis-cli and redis-benchmark: the output is the same whichever server they talk to."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import Server, free_port, redis_command, redis_program
from wire import encode

pytestmark = pytest.mark.skipif(
    not (shutil.which("redis-cli") and shutil.which("redis-benchmark")), reason="redis-cli is not installed"
)

# Each line is a call of redis-cli; they run in order on one server. Output with "sorted" in front is compared by lines.
SESSION = """
FLUSHALL
PING
PING hello
SET k v
SET k v NX
--no-raw SET k2 v NX GET
GET k
--no-raw GET k
--no-raw GET missing
-3 --no-raw GET missing
SET k "\\x00binary"
--no-raw GET k
MSET a 1 b 22 c 333
--no-raw MGET a b missing c
--csv MGET a b missing
--json MGET a b missing
-3 --json MGET a b missing
-2 --no-raw MGET a missing
--quoted-input SET "\\x61\\x00" "\\"q\\""
--quoted-input --no-raw GET "\\x61\\x00"
--no-raw INCR a
--no-raw INCRBYFLOAT a 0.5
--no-raw INCR a
-e INCR a
-e NOSUCH a b
-n 5 SET elsewhere 1
-n 5 DBSIZE
-n 5 --no-raw FLUSHDB
--no-raw EXPIRE b 100
--no-raw TTL b
--no-raw TYPE b
-r 3 INCR counter
-r 2 -i 0.01 PING
--no-raw CLIENT GETNAME
--no-raw -3 CLIENT KILL
--no-raw DEL a counter
sorted --scan
sorted --scan --pattern [bc]
sorted --scan --count 1
sorted KEYS *
--no-raw COMMAND INFO nosuch
--no-raw ROLE
--no-raw CONFIG GET save
--csv COMMAND GETKEYS MSET a 1 b 2
--json COMMAND INFO get
-3 --csv CLIENT TRACKINGINFO
-3 --json CONFIG GET maxmemory
-X tag SET k tag
--no-raw GET k
-c GET k
"""
SCRIPT = rb"""
FLUSHALL
SET a 1
INCR a
GET a
GET 'unbalanced

SET 'with space' "x\ty"
GET "with space"
NOSUCH
MGET a b
"""


def tool(name: str, server: Server, *arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    host, port = server.address
    command = [name, "-h", host, "-p", str(port), *arguments]
    return subprocess.run(command, input=data, capture_output=True, timeout=60, check=False)


def cli(server: Server, *arguments: str, data: bytes = b"") -> tuple[int, bytes, bytes]:
    done = tool("redis-cli", server, *arguments, data=data)
    return done.returncode, done.stdout, done.stderr


def test_one_command_at_a_time(server: Server, redis: Server) -> None:
    for line in SESSION.strip().splitlines():
        in_order, words = line.startswith("sorted "), line.removeprefix("sorted ").split(" ")
        (status, ours, fault), theirs = cli(server, *words), cli(redis, *words)
        if in_order:
            assert sorted(ours.split(b"\n")) == sorted(theirs[1].split(b"\n")), line
        else:
            assert (status, ours, fault) == theirs, line


def test_commands_from_standard_input(server: Server, redis: Server) -> None:
    assert cli(server, data=SCRIPT) == cli(redis, data=SCRIPT)
    assert cli(server, "-x", "SET", "input", data=b"a\0b\n") == (0, b"OK\n", b"")
    with server.connect() as wire:
        assert wire.call("GET", "input") == b"$4\r\na\0b\n\r\n"


def test_pipe(server: Server) -> None:
    count = 20_000
    with server.connect() as wire:
        wire.call("FLUSHALL")
        data = b"".join(encode("SET", f"k{i}", i) for i in range(count)) + encode("INCR", "k0", "too many")
        status, out, _ = cli(server, "--pipe", data=data)
        assert b"errors: 1, replies: %d" % (count + 1) in out and status == 1
        assert wire.call("DBSIZE") == b":%d\r\n" % count
        wire.call("FLUSHALL")


@pytest.fixture
def sizes(server: Server, redis: Server) -> None:
    """Keys of many sizes on both."""
    for one in (server, redis):
        with one.connect() as wire:
            wire.call("FLUSHALL")
            wire.pipeline([("SET", f"key:{i}", "x" * i) for i in range(500)])
            wire.call("SET", "with a space", "x" * 900)


def summary(out: bytes) -> bytes:
    """What comes after the progress, which follows the order of the keys."""
    assert out.startswith(b"\n# Scanning the entire keyspace to find biggest keys"), out
    return out[out.index(b"-------- summary -------") :]


@pytest.mark.usefixtures("sizes")
def test_biggest_keys(server: Server, redis: Server) -> None:
    (status, ours, fault), theirs = cli(server, "--bigkeys"), cli(redis, "--bigkeys")
    assert (status, summary(ours), fault) == (0, summary(theirs[1]), b"")
    assert b"""Biggest string found '"with a space"' has 900 bytes""" in ours


@pytest.mark.usefixtures("sizes")
def test_biggest_keys_by_memory(server: Server, redis: Server) -> None:
    (status, ours, fault), theirs = cli(server, "--memkeys"), cli(redis, "--memkeys")
    own = re.compile(rb"\d{3,}(?= bytes)|(?<=avg size )\d{3}\.\d\d")
    assert (status, own.sub(b"", summary(ours)), fault) == (0, own.sub(b"", summary(theirs[1])), b"")
    (total,) = re.findall(rb"501 strings with (\d+) bytes", ours)
    assert 125_650 < int(total) < 250_000


@pytest.mark.usefixtures("sizes")
def test_hottest_keys(server: Server, redis: Server) -> None:
    """Under a policy that counts no accesses there is an error to be told, and that is the end."""
    (status, ours, fault), theirs = cli(server, "--hotkeys"), cli(redis, "--hotkeys")
    assert (status, ours, fault) == theirs and status == 1
    assert fault.startswith(b"Error: ERR An LFU maxmemory policy is not selected")


def test_latency(server: Server) -> None:
    status, out, _ = cli(server, "--latency", "-i", "0.2")
    assert status == 0 and re.fullmatch(rb"\d+ \d+ \d+\.\d+ \d+\n", out), out
    for option, shown in (
        ("--latency-history", rb"min: \d+, max: \d+, avg: \d+\.\d\d \(\d+ samples\) -- 0\.\d\d seconds range"),
        ("--latency-dist", rb"(?s)From 0 to 100%.*(\x1b\[[0-9;]+m[.*#-])+"),
    ):
        with on_terminal(server, option, "-i", "0.2") as (hand, _):
            read_until(hand, shown)


@pytest.mark.parametrize("option", ["--rdb", "--functions-rdb", "--replica"])
def test_a_copy_of_the_data_is_refused(option: str, server: Server, tmp_path: Path) -> None:
    file = tmp_path / "dump.rdb"
    status, _, fault = cli(server, option, *([str(file)] if option != "--replica" else []))
    assert status == 1
    assert fault.rstrip().endswith(b"\nSYNC with master failed: -ERR replication is not supported by this server")
    assert not file.exists() or file.stat().st_size == 0


@contextlib.contextmanager
def on_terminal(server: Server, *arguments: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """redis-cli on a terminal: the end that a person would hold, and the process."""
    host, port = server.address
    hand, other = pty.openpty()
    fcntl.ioctl(hand, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = ["redis-cli", "-h", host, "-p", str(port), *arguments]
    environment = {**os.environ, "TERM": "xterm", "REDISCLI_HISTFILE": "/dev/null"}
    process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=environment)
    os.close(other)
    try:
        yield hand, process
    finally:
        process.kill()
        process.wait()
        os.close(hand)


def test_statistics(server: Server) -> None:
    """INFO holds what --stat shows."""
    with on_terminal(server, "--stat", "-i", "0.05") as (hand, _):
        seen = read_until(hand, rb"(\d+\s+\d+(\.\d+)?[BKMG]\s+\d+\s+\d+\s+\d+ \(\+\d+\)\s+\d+\s+){2}")
    assert b"keys" in seen


def test_a_prompt(server: Server) -> None:
    """On a terminal redis-cli asks for the documentation of commands, for its hints.

    It throws away what is typed before it has prompted.
    """
    with on_terminal(server) as (hand, process):
        for typed, shown in (
            (b"", rb"> "),
            (b"echo typed\r", rb'"typed"\r?\n.*> '),
            (b"select 3\r", rb"OK\r?\n.*\[3\]> "),
            (b"set prompt 1\r", rb"OK\r?\n.*> "),
        ):
            os.write(hand, typed)
            read_until(hand, shown)
        os.write(hand, b"exit\r")
        assert process.wait(10) == 0
    with server.connect() as wire:
        wire.call("SELECT", 3)
        assert wire.call("GETDEL", "prompt") == b"$1\r\n1\r\n"


def read_until(fd: int, wanted: bytes) -> bytes:
    seen = b""
    deadline = time.monotonic() + 10
    while not re.search(wanted, seen):
        ready, _, _ = select.select([fd], [], [], max(deadline - time.monotonic(), 0))
        assert ready, seen
        seen += os.read(fd, 4096)
    return seen


@pytest.mark.parametrize("options", ["-P 16", "-P 1 -c 1", "-P 16 --threads 2", "-P 16 -3", "-d 40000 -r 10", "-k 0"])
def test_benchmark(options: str, server: Server) -> None:
    requests = 2000 if options != "-P 16" else 20_000
    done = tool("redis-benchmark", server, "-q", "-n", str(requests), "-t", "ping,set,get,incr,mset", *options.split())
    text = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == 0, text
    # Carriage returns separate what a terminal would overwrite.
    results = re.findall(r"(?:^|[\r\n])([A-Z_ ]+(?: \(10 keys\))?): (\d+\.\d+) requests per second", text)
    assert [name for name, _ in results] == ["PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "MSET (10 keys)"], text
    assert "WARNING: Could not fetch" not in text and "rror" not in text, text


def test_benchmark_of_a_command(server: Server) -> None:
    with server.connect() as wire:
        wire.call("FLUSHALL")
        request = ["SET", "key:__rand_int__", "value", "EX", "1000"]
        done = tool("redis-benchmark", server, "-q", "-n", "5000", "-P", "8", "-r", "100", *request)
        assert done.returncode == 0 and b"requests per second" in done.stdout, done.stdout + done.stderr
        assert 50 < int(wire.call("DBSIZE")[1:]) <= 100
        wire.call("FLUSHALL")


@pytest.fixture(scope="module")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A redis-server that owns all slots."""
    if redis_program() is None:
        pytest.skip("redis-server is not installed")
    words = ["--cluster-enabled", "yes", "--cluster-port", str(free_port())]
    running = Server(redis_command(*words), tmp_path_factory.mktemp("redis")).start()
    with running.connect() as wire:
        assert wire.call("CLUSTER", "ADDSLOTSRANGE", 0, 16383) == b"+OK\r\n"
    yield running
    running.stop()


def test_a_cluster(cluster: Server, redis_cluster: Server) -> None:
    """Its commands for clusters take one emulated node for a cluster of one node."""
    for words in (
        *("info ADDRESS", "check ADDRESS", "check ADDRESS --cluster-search-multiple-owners", "fix ADDRESS"),
        *("rebalance ADDRESS", "call ADDRESS PING", f"del-node ADDRESS {'0' * 40}", "create ADDRESS"),
    ):
        (status, ours, fault), theirs = about_cluster(cluster, words), about_cluster(redis_cluster, words)
        assert (status, ours, fault) == theirs, words


def about_cluster(server: Server, words: str) -> tuple[int, bytes, bytes]:
    """What redis-cli says, without what identifies a server."""
    host, port = server.address
    status, out, fault = cli(server, "--cluster", *words.replace("ADDRESS", f"{host}:{port}").split())
    own = re.compile(rb"\b%d\b|\b[0-9a-f]{40}\b|\b[0-9a-f]{8}(?=\.\.\.)" % port)
    return status, own.sub(b"*", out), own.sub(b"*", fault)


def test_an_import_into_a_cluster(cluster: Server, redis: Server) -> None:
    """A real redis-server hands its keys over, in its own serialization and with their times to live."""
    with redis.connect() as wire, cluster.connect() as other:
        wire.call("FLUSHALL")
        other.call("FLUSHALL")
        wire.pipeline([("SET", f"key:{i}", i, "EX", 1000) for i in range(20)])
        addresses = ["{}:{}".format(*one.address) for one in (cluster, redis)]
        status, out, fault = cli(cluster, "--cluster", "import", addresses[0], "--cluster-from", addresses[1])
        assert status == 0 and out.count(b": \x1b[32;1mOK\n") == 20, out + fault
        assert wire.call("DBSIZE") == b":0\r\n" and other.call("DBSIZE") == b":20\r\n"
        assert other.call("GET", "key:7") == b"$1\r\n7\r\n" and 990 < int(other.call("TTL", "key:7")[1:]) <= 1000
        other.call("FLUSHALL")
