"""The servers, and a way to start one with options of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from servers import DEBUG, redis, server, server_survives
from shell.started import Started

__all__ = ["redis", "server", "server_survives"]


@pytest.fixture
def start() -> Iterator[Callable[..., Started]]:
    """Starts `tellstone` with the words and variables given; what still runs after the test is killed."""
    started: list[Started] = []

    def run(*words: str, env: dict[str, str] | None = None) -> Started:
        started.append(Started(*words, env=env))
        return started[-1]

    yield run
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


@pytest.fixture
def resp(start: Callable[..., Started]) -> Callable[..., Started]:
    """Starts a server on a free port."""

    def run(*words: str, env: dict[str, str] | None = None) -> Started:
        return start("--enable-resp", "--resp-addr", "127.0.0.1:0", *DEBUG, *words, env=env)

    return run


@pytest.fixture
def socket_path(tmp_path: Path) -> Path:
    """A place for a unix socket, short enough for one."""
    path = tmp_path / "s"
    return path if len(os.fsencode(path)) < 100 else Path(f"/tmp/tellstone-test-{os.getpid()}.sock")
