"""Native clients of a whole server: its own commands through COMMAND, its lists of clients, its ceiling, its end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from frames import (
    AUTH_OK,
    ERROR,
    NOT_FOUND,
    OK,
    PING,
    PONGED,
    RESPONSE,
    TEXT_MAX,
    Door,
    auth,
    command,
    delete,
    door,
    error,
    frame,
    get,
    put,
    request,
    response,
)
from net.serving import until
from servers import Server, tellstone_command
from wire import Wire, encode, value


@pytest.fixture
def native(server: Server) -> Door:
    return door(server)


@pytest.fixture
def resp3(server: Server) -> Wire:
    wire = server.connect()
    assert wire.call("HELLO", 3).startswith(b"%7\r\n")
    return wire


def number(wire: Wire) -> int:
    return int(wire.call("CLIENT", "ID")[1:])


def test_the_servers_own_commands_answer_as_in_resp3(native: Door, resp3: Wire) -> None:
    requests = [
        ("CONFIG", "GET", "max*"),
        ("CONFIG", "GET"),
        ("CONFIG", "SET", "nosuch", 1),
        ("CONFIG", "SET", "maxmemory", 0),
        ("COMMAND", "COUNT"),
        ("COMMAND", "INFO", "get", "nosuch"),
        ("COMMAND", "DOCS", "set"),
        ("COMMAND", "GETKEYS", "MSET", "a", 1, "b", 2),
        ("CLIENT", "LIST", "ID", 10**15),
        ("CLIENT", "KILL", "ID", 10**15),
        ("CLIENT", "NOSUCH"),
        ("LATENCY", "LATEST"),
        ("MEMORY", "USAGE", "nosuch"),
        ("DEBUG", "ERROR", "MINE x"),
        ("WAIT", 0, 0),
    ]
    with native.connect() as wire, resp3:
        expected = resp3.pipeline(requests)
        assert wire.pipeline(requests) == expected
        assert [wire.call(*words) for words in requests] == expected
        wire.send(frame(PING) + b"".join(command(*words) for words in requests) + put(b"last", b"v") + get(b"last"))
        assert wire.frame() == (1, b"")
        assert [wire.reply() for _ in requests] == expected
        assert wire.read(len(OK + response(b"v"))) == OK + response(b"v")


def test_a_command_of_pythons_byte_by_byte(native: Door) -> None:
    data = command("CONFIG", "GET", "databases") + frame(PING)
    with native.connect() as wire:
        for at in range(len(data)):
            wire.send(data[at : at + 1])
        expected = response(b"%1\r\n$9\r\ndatabases\r\n$2\r\n16\r\n") + PONGED
        assert wire.read(len(expected)) == expected


def test_info(native: Door) -> None:
    with native.connect() as wire:
        assert wire.call("INFO", "server").startswith(b"=")
        text = value(wire.call("INFO", "everything"))
        assert "# Commandstats" in text and "cmdstat_info:" in text
        assert re.search(rf"listener\d:name=native,bind=127\.0\.0\.1,port={native.address[1]}", text)


def test_clients_of_both_protocols_see_and_end_each_other(server: Server, native: Door) -> None:
    with server.connect() as redis_client, native.connect() as wire, native.connect() as other:
        ids = [number(each) for each in (redis_client, wire, other)]
        assert len(set(ids)) == 3
        for each in (redis_client, wire):
            lines = value(each.call("CLIENT", "LIST", "ID", *ids)).splitlines()
            assert [int(line.split()[0][3:]) for line in lines] == ids
            assert [f"laddr={host}:{port}" for host, port in (server.address, native.address, native.address)] == [
                line.split()[2] for line in lines
            ]
        assert wire.call("CLIENT", "KILL", "ID", ids[0]) == b":1\r\n"
        assert redis_client.rest() == b""
        with server.connect() as another:
            assert another.call("CLIENT", "KILL", "ID", ids[2]) == b":1\r\n"
        assert other.rest() == b""
        assert wire.call("CLIENT", "KILL", "ID", ids[1]) == b":0\r\n"  # itself: not unless it says so
        wire.send(get(b"none") + command("CLIENT", "KILL", "ID", ids[1], "SKIPME", "no") + frame(PING))
        assert wire.rest() == NOT_FOUND + response(b":1\r\n")


def test_a_pause_by_a_native_client(server: Server, native: Door) -> None:
    with native.connect() as wire, native.connect() as other, server.connect() as redis_client:
        assert wire.call("CLIENT", "PAUSE", 60_000, "WRITE") == b"+OK\r\n"
        other.send(put(b"k", b"v"))
        redis_client.send(encode("SET", "k", "v"))
        until(lambda: value(wire.call("CLIENT", "LIST")).count(" flags=b ") == 2)
        assert wire.ask(get(b"none")) == (7, b"NOT_FOUND")
        assert wire.call("CLIENT", "UNPAUSE") == b"+OK\r\n"
        assert other.frame() == (3, b"OK") and redis_client.reply() == b"+OK\r\n"


def test_a_monitor_sees_native_calls(server: Server, native: Door) -> None:
    with server.connect() as watching, native.connect() as wire:
        assert watching.call("MONITOR") == b"+OK\r\n"
        wire.send(
            put(b"k", b"v", 5000) + get(b"k") + delete(b"k") + auth(b"", b"pw") + command("echo", "x") + request(9)
        )
        assert [wire.frame()[0] for _ in range(6)] == [RESPONSE, RESPONSE, RESPONSE, AUTH_OK, RESPONSE, ERROR]
        calls = [watching.reply() for _ in range(5)]
        sender = "[0 {}:{}]".format(*wire.socket.getsockname()).encode()
        assert all(sender in call for call in calls)
        assert [call.split(b"] ", 1)[1] for call in calls] == [
            b'"SET" "k" "v" "PX" "5000"\r\n',
            b'"GET" "k"\r\n',
            b'"DEL" "k"\r\n',
            b'"AUTH" "(redacted)" "(redacted)"\r\n',
            b'"echo" "x"\r\n',
        ]
        assert wire.call("MONITOR") == b"-ERR MONITOR is not available over the native protocol\r\n"
        assert wire.ask(get(b"k")) == (7, b"NOT_FOUND")


def test_statistics(server: Server, native: Door) -> None:
    with native.connect() as wire, server.connect() as other:
        assert other.call("CONFIG", "SET", "slowlog-log-slower-than", 0) == b"+OK\r\n"
        assert other.call("CONFIG", "RESETSTAT") == b"+OK\r\n"
        wire.send(put(b"k", b"v") + get(b"k") * 3 + get(b"none") + request(77) + put(b"", b"") + command("incr", "k"))
        expected = OK + response(b"v") * 3 + NOT_FOUND + error(b"INVALID_OPCODE") + error(b"EMPTY_KEY")
        assert wire.read(len(expected)) == expected
        assert wire.frame() == (7, b"ERR value is not an integer or out of range")
        stats = value(other.call("INFO", "commandstats", "errorstats", "stats"))
        assert re.search(r"cmdstat_set:calls=1,.*rejected_calls=0,failed_calls=0", stats)
        assert re.search(r"cmdstat_get:calls=4,", stats)
        assert re.search(r"cmdstat_incr:calls=1,.*failed_calls=1", stats)
        for word in ("INVALID_OPCODE", "EMPTY_KEY", "ERR"):
            assert f"errorstat_{word}:count=1\r\n" in stats
        assert "keyspace_hits:3\r\nkeyspace_misses:1\r\n" in stats
        slow = [call[3] for call in value(other.call("SLOWLOG", "GET", -1))]
        assert slow.count(["GET", "k"]) == 3 and ["SET", "k", "v"] in slow and ["incr", "k"] in slow
        assert other.call("CONFIG", "SET", "slowlog-log-slower-than", 10000) == b"+OK\r\n"


def test_the_memory_ceiling_and_the_end(tmp_path: Path) -> None:
    running = Server(tellstone_command("--max-mem-bytes", "20mb"), tmp_path).start()
    try:
        with door(running).connect() as wire:
            value = bytes(TEXT_MAX)
            stored = 0
            while (answer := wire.ask(put(b"%d" % stored, value))) == (3, b"OK"):
                stored += 1
                assert stored < 400
            assert answer == (7, b"STORAGE_FAILURE") and stored > 200
            full = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"
            assert wire.call("SET", "k", value) == wire.call("APPEND", "0", "x") == full
            wire.send(put(b"k", b"v", 1000) + put(b"", b"v") + get(b"0") + delete(b"0") + get(b"0"))
            expected = error(b"STORAGE_FAILURE") + error(b"EMPTY_KEY") + response(value) + OK + NOT_FOUND
            assert wire.read(len(expected)) == expected
            while wire.ask(put(b"0", b"small")) != (3, b"OK"):  # memory comes back a little later
                pass
            wire.send(get(b"0") + command("SHUTDOWN", "NOSAVE") + frame(PING))
            assert wire.rest() == response(b"small")
        assert running.process is not None and running.process.wait(10) == 0
    finally:
        running.stop()
