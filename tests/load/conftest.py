"""The servers that loads are put on, and the command that does it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import pytest
from servers import Server, environment, redis, server, server_survives

from tellstone.cli import main

__all__ = ["redis", "server", "server_survives"]


@dataclass
class Done:
    """A `tellstone bench` that has ended."""

    status: int
    output: str
    errors: str

    @property
    def report(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.output)
        return parsed


def at(one: Server) -> tuple[str, str]:
    return ("--addr", "{}:{}".format(*one.address))


@pytest.fixture
def bench() -> Callable[..., Done]:
    """Runs `tellstone bench` with the words given, in this process."""

    def run(*words: object) -> Done:
        output, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(output), redirect_stderr(errors):
            status = main(["bench", *map(str, words)])
        return Done(status, output.getvalue(), errors.getvalue())

    return run


@pytest.fixture
def start_bench() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `tellstone bench` as a process; what still runs after the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def run(*words: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tellstone", "bench", *map(str, words)]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, env=environment(), stdout=pipe, stderr=pipe, text=True))
        return started[-1]

    yield run
    for one in started:
        if one.poll() is None:
            one.kill()
        one.communicate()


@pytest.fixture(params=["redis", "server"])
def either(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A redis-server, and the server under test, empty."""
    one: Server = request.getfixturevalue(request.param)
    with one.connect() as wire:
        assert wire.call("FLUSHALL") == b"+OK\r\n"
    yield one
    with one.connect() as wire:
        wire.call("FLUSHALL")
