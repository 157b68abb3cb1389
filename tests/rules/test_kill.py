"""`task kill` ends the server that was left on a port, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from rules.cython_source import ROOT

TASK = shutil.which("task") or shutil.which("task", path=str(Path(sys.executable).parent))
LISTEN = """\
import socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
time.sleep(60)
"""

pytestmark = [
    pytest.mark.skipif(TASK is None, reason="go-task is not installed"),
    pytest.mark.skipif(sys.platform == "win32", reason="for Linux and macOS"),
]


class Listener:
    """A process under a name of its own that listens on a free port."""

    def __init__(self, directory: Path, name: str) -> None:
        script = directory / name
        script.write_text(LISTEN)
        self.process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.port = int(self.process.stdout.readline())
        # Reap it the moment it ends: to `kill -0` a zombie is alive.
        threading.Thread(target=self.process.wait, daemon=True).start()

    def alive(self) -> bool:
        return self.process.poll() is None


@pytest.fixture
def listeners(tmp_path: Path) -> Iterator[list[Listener]]:
    directory = tmp_path / ("long" * 40)  # `ps` cuts its lines unless told otherwise
    directory.mkdir()
    found = [Listener(directory, "tellstone-left"), Listener(directory, "tellstone-left-not")]
    yield found
    for listener in found:
        listener.process.kill()
        listener.process.wait()


def kill(path: str | None, *variables: str) -> str:
    done = subprocess.run(
        [str(TASK), "kill", *variables], cwd=ROOT, capture_output=True, text=True, check=True, env=environment(path)
    )
    return done.stdout


def environment(path: str | None) -> dict[str, str] | None:
    return None if path is None else {**os.environ, "PATH": path}


@pytest.fixture(params=["lsof", "ss", "fuser", "proc"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """A PATH on which this is the first way to ask that exists."""
    ways = ["lsof", "ss", "fuser"]
    if request.param == "proc" and not Path("/proc/net/tcp").exists():
        pytest.skip("no /proc here")
    if request.param in ways and shutil.which(request.param) is None:
        pytest.skip(f"no {request.param} here")
    tools = ["sh", "ls", "awk", "grep", "cut", "sort", "sleep", "tr"]
    if request.param in ways:
        tools += ["ps", request.param]
    directory = tmp_path / "bin"
    directory.mkdir()
    for tool in tools:
        if place := shutil.which(tool):
            (directory / tool).symlink_to(place)
    return str(directory)


def test_it_ends_only_the_named_process_on_the_named_ports(listeners: list[Listener], path: str | None) -> None:
    named, other = listeners
    said = kill(path, f"PORTS={other.port} {named.port}", "NAME=tellstone-left")
    assert named.process.wait(10) == -15
    assert other.alive()
    assert f"process {named.process.pid}" in said and f"port {named.port}" in said


def test_it_says_when_there_is_nothing(listeners: list[Listener]) -> None:
    named, other = listeners
    assert "no tellstone on ports" in kill(None, f"PORTS={named.port} {other.port}")
    assert named.alive() and other.alive()
