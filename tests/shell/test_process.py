"""The server as a process: how it starts, what it says, how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from servers import environment
from shell.started import Started
from wire import Closed, encode

Start = Callable[..., Started]


def test_version(start: Start) -> None:
    one = start("--version")
    assert one.end() == 0
    assert one.process.stdout
    assert one.process.stdout.read().startswith("tellstone ")


def test_help_is_no_error(start: Start) -> None:
    one = start("serve", "--help")
    assert one.end() == 0 and one.lines == []


@pytest.mark.parametrize(
    ("words", "env", "line"),
    [
        (["--shards=x"], {}, "tellstone: --shards: 'x' is not a whole number from 0 to 1024"),
        ([], {"TSD_TIMEOUT": "soon"}, "tellstone: TSD_TIMEOUT: 'soon' is not a duration of whole seconds"),
        (["--shard"], {}, "tellstone: unknown option --shard (did you mean --shards?)"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(start: Start, words: list[str], env: dict[str, str], line: str) -> None:
    one = start(*words, env=env)
    assert one.end() == 2
    assert len(one.lines) == 1 and one.lines[0].startswith(line)


@pytest.mark.parametrize("command", [[], ["serve"]])
def test_it_serves_with_and_without_its_name(start: Start, command: list[str]) -> None:
    one = start(*command, "--enable-resp", "--resp-addr=127.0.0.1:0", "--shards=16")
    with one.connect() as wire:
        assert wire.call("SET", "k", "v") == b"+OK\r\n"
        assert wire.call("GET", "k") == b"$1\r\nv\r\n"
    assert "shards=16" in one.line("started")
    assert re.search(r"addr=127\.0\.0\.1:[1-9]\d+$", one.line("protocol=native"))
    one.signal(signal.SIGTERM)
    assert one.end() == 0


def test_variables_are_options(start: Start) -> None:
    env = {"TSD_ENABLE_RESP": "1", "TSD_RESP_ADDR": "127.0.0.1:0", "TSD_NUM_SHARDS": "32", "TSD_SHARDS": "5"}
    one = start(env=env)
    assert "shards=32" in one.line("started")
    assert "unknown variable TSD_SHARDS (did you mean TSD_NUM_SHARDS?)" in one.line("WARNING")


def test_log_lines_as_json(resp: Start) -> None:
    one = resp("--log-format=json")
    line = json.loads(one.line("listening"))
    assert (line["level"], line["msg"], line["protocol"]) == ("info", "listening", "resp")
    one.signal(signal.SIGTERM)
    assert one.end() == 0
    assert [json.loads(text)["msg"] for text in one.lines[-2:]] == ["stopping", "stopped"]


def test_a_quiet_log(start: Start, socket_path: Path) -> None:
    one = start("--enable-resp", f"--resp-addr=unix:{socket_path}", "--log-level=error")
    until(socket_path.exists)
    one.signal(signal.SIGTERM)
    assert one.end() == 0 and one.lines == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of Unix")
def test_a_banner_for_a_person() -> None:
    import pty

    terminal, far = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tellstone", "--enable-resp", "--resp-addr=127.0.0.1:0"],
        env=environment(),
        stdin=far,
        stdout=far,
        stderr=far,
    )
    os.close(far)
    seen = b""
    try:
        while b"Ctrl-C" not in seen:
            seen += os.read(terminal, 4096)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
        os.close(terminal)
    assert process.returncode == 0
    assert (
        b"redis    redis://127.0.0.1:" in seen
        and b"native   127.0.0.1:" in seen
        and f"pid      {process.pid}".encode() in seen
    )


def test_a_port_in_use_is_one_line_and_status_1(resp: Start, start: Start) -> None:
    one = resp()
    address = one.line("protocol=resp").partition("redis://")[2]
    native = one.line("protocol=native").partition("addr=")[2]
    for taken, words in ((address, ("--enable-resp", "--resp-addr", address)), (native, ("--addr", native))):
        other = start(*words)
        assert other.end() == 1
        assert other.lines == [f"tellstone: cannot listen on {taken}: address already in use"]


def test_a_unix_socket(start: Start, socket_path: Path) -> None:
    words = ("--enable-resp", f"--resp-addr=unix:{socket_path}")
    one = start(*words)
    with one.connect() as wire:
        assert wire.call("PING") == b"+PONG\r\n"
    other = start(*words)
    assert other.end() == 1 and len(other.lines) == 1
    with one.connect() as wire:
        assert wire.call("PING") == b"+PONG\r\n"
    one.signal(signal.SIGTERM)
    assert one.end() == 0
    assert not socket_path.exists()


def test_a_unix_socket_left_by_a_dead_server_is_taken_over(start: Start, socket_path: Path) -> None:
    words = ("--enable-resp", f"--resp-addr=unix:{socket_path}")
    one = start(*words)
    one.line("listening")
    one.signal(signal.SIGKILL)
    one.end()
    assert socket_path.is_socket()
    with start(*words).connect() as wire:
        assert wire.call("PING") == b"+PONG\r\n"


@pytest.mark.parametrize(
    ("number", "driver"), [(signal.SIGINT, "native"), (signal.SIGTERM, "native"), (signal.SIGTERM, "asyncio")]
)
def test_a_signal_lets_what_was_sent_be_answered(resp: Start, number: signal.Signals, driver: str) -> None:
    one = resp("--driver", driver)
    with one.connect() as wire:
        wire.call("PING")
        wire.send(encode("DEBUG", "SLEEP", "0.5") + encode("ECHO", "behind"))
        time.sleep(0.2)
        one.signal(number)
        assert wire.reply() == b"+OK\r\n"
        assert wire.reply() == b"$6\r\nbehind\r\n"
        assert wire.rest() == b""
    assert one.end() == 0
    assert f"signal={number.name}" in one.line("stopping")
    one.line("stopped")


@pytest.mark.parametrize("driver", ["native", "asyncio"])
def test_a_connection_that_does_not_finish_is_cut(resp: Start, driver: str) -> None:
    one = resp("--shutdown-timeout=500ms", "--driver", driver)
    with one.connect() as wire:
        wire.send(encode("DEBUG", "SLEEP", "100"))
        time.sleep(0.2)
        begun = time.monotonic()
        one.signal(signal.SIGTERM)
        assert wire.rest() == b""
        assert one.end() == 0
        assert 0.4 < time.monotonic() - begun < 5
    assert one.line("connections were cut").endswith("waited=500ms")


def test_an_idle_connection_does_not_hold_it_up(resp: Start) -> None:
    one = resp()
    with one.connect() as wire:
        wire.call("PING")
        begun = time.monotonic()
        one.signal(signal.SIGTERM)
        assert one.end() == 0
        assert time.monotonic() - begun < 5


@pytest.mark.parametrize("driver", ["native", "asyncio"])
def test_a_second_signal_ends_it_at_once(start: Start, socket_path: Path, driver: str) -> None:
    words = ("--enable-resp", f"--resp-addr=unix:{socket_path}", "--shutdown-timeout=1m")
    one = start(*words, "--driver", driver)
    with one.connect() as wire:
        wire.send(encode("DEBUG", "SLEEP", "100"))
        time.sleep(0.2)
        one.signal(signal.SIGTERM)
        one.line("stopping")
        begun = time.monotonic()
        one.signal(signal.SIGINT)
        assert one.end() == 128 + signal.SIGINT
        assert time.monotonic() - begun < 2
    assert not socket_path.exists()


@pytest.mark.parametrize("words", [[], ["NOSAVE"], ["NOW"], ["save", "force"]])
def test_shutdown_closes_without_a_reply(resp: Start, words: list[str]) -> None:
    one = resp()
    with one.connect() as wire, pytest.raises(Closed) as caught:
        wire.call("SHUTDOWN", *words)
    assert caught.value.args == (b"",)
    assert one.end() == 0
    assert "reason=SHUTDOWN" in one.line("stopping")


def test_shutdown_now_cuts_connections(resp: Start) -> None:
    one = resp("--shutdown-timeout=1m")
    with one.connect() as sleeper, one.connect() as wire:
        sleeper.send(encode("DEBUG", "SLEEP", "100"))
        time.sleep(0.2)
        wire.send(encode("SHUTDOWN", "NOW"))
        assert one.end(5) == 0


def test_shutdown_save_has_nowhere_to_save(resp: Start) -> None:
    one = resp()
    with one.connect() as wire:
        assert wire.call("SHUTDOWN", "SAVE") == b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n"
        assert "no persistence" in one.line("SHUTDOWN SAVE refused")
        assert wire.call("PING") == b"+PONG\r\n"


def until(condition: Callable[[], bool], timeout: float = 20) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
