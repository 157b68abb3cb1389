"""`import tellstone` for an embedded engine stays light: nothing of protocol, command, session or net is loaded."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from rules.cython_source import PACKAGE

HEAVY = tuple(f"tellstone._core.{floor}" for floor in ("protocol", "command", "session", "net", "client"))
SHELL = ("tellstone.server", "tellstone.cli", "tellstone.client", "asyncio", "uvloop")


def heavy(modules: list[str]) -> list[str]:
    """Those of the loaded modules that an embedded engine has no use for."""
    return [m for m in modules if any(m == h or m.startswith(h + ".") for h in HEAVY + SHELL)]


@pytest.mark.skipif(not (PACKAGE / "__init__.py").exists(), reason="the package has no __init__ yet")
def test_importing_the_package_loads_no_server() -> None:
    program = "import json, sys, tellstone; tellstone.Engine; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert heavy(json.loads(done.stdout)) == []


def test_a_loaded_server_would_be_seen() -> None:
    assert heavy(["tellstone", "tellstone._core.net.reactor", "tellstone.server"]) == [
        "tellstone._core.net.reactor",
        "tellstone.server",
    ]
    assert heavy(["tellstone", "tellstone._core.engine", "tellstone.errors"]) == []
