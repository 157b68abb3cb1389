"""What docs/client.md and examples/client.py show works, and the table of options is that of the clients."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from clients.traffic import native_port
from servers import Server, environment

from tellstone import AsyncClient, Client

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "client.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def empty(server: Server) -> int:
    """The port of a server without data."""
    with Client(port=native_port(server)) as client:
        client.execute("FLUSHALL")
    return native_port(server)


@pytest.mark.parametrize("code", BLOCKS, ids=[str(n) for n in range(len(BLOCKS))])
def test_a_block_runs(empty: int, code: str) -> None:
    exec(compile(code.replace("9988", str(empty)), "docs/client.md", "exec"), {"__name__": "docs"})


def test_there_are_blocks() -> None:
    assert len(BLOCKS) == 4


def test_the_options_are_those_of_the_clients() -> None:
    names = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`\w+`(?:, `\w+`)?) \|", TEXT, re.MULTILINE)))
    options = names[: names.index("max_answer") + 1]
    assert options == [*inspect.signature(Client).parameters]
    defaults = {name: parameter.default for name, parameter in inspect.signature(Client).parameters.items()}
    assert (defaults["timeout"], defaults["connect_timeout"], defaults["connect_attempts"]) == (5.0, 5.0, 4)
    assert (Client.CONNECTIONS, AsyncClient.CONNECTIONS) == (16, 1)


def test_the_example_runs(empty: int) -> None:
    command = [sys.executable, str(ROOT / "examples" / "client.py"), "--port", str(empty)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "30 reports, 3 of them made\nvisits: [1, 1, 2]\nthe last visit to the shop was number 1000\n"
    assert done.stderr == ""
