"""Ruff, strict mypy and stubtest have nothing to say."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from rules.cython_source import PACKAGE, ROOT, module_name

pytestmark = pytest.mark.lint

ALLOWED = Path(__file__).with_name("stubtest.allow")  # what Cython adds to every module


def run(tool: str, *arguments: str) -> None:
    """Run a tool of this environment over the checkout; its output is the message if it fails."""
    if importlib.util.find_spec(tool.partition(".")[0]) is None:
        pytest.skip(f"{tool} is not installed")
    done = subprocess.run([sys.executable, "-m", tool, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_rules() -> None:
    run("ruff", "check", "--quiet", ".")


def test_ruff_format() -> None:
    run("ruff", "format", "--check", "--quiet", ".")


def test_mypy() -> None:
    run("mypy")


def test_stubs_agree_with_the_modules() -> None:
    stubs = sorted(PACKAGE.rglob("*.pyi"))
    if not stubs:
        pytest.skip("no stubs yet")
    run("mypy.stubtest", "--allowlist", str(ALLOWED), *map(module_name, stubs))


@pytest.mark.parametrize(
    ("tool", "arguments", "source"),
    [
        ("ruff", ["check", "--quiet"], "import os\n"),
        ("ruff", ["format", "--check", "--quiet"], "x=1\n"),
        ("mypy", [], "def f(x):\n    return x\n"),
    ],
    ids=["rules", "format", "mypy"],
)
def test_the_tools_can_fail(tool: str, arguments: list[str], source: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text(source)
    config = str(ROOT / "pyproject.toml")
    flag = [f"--config={config}"] if tool == "ruff" else [f"--config-file={config}"]
    with pytest.raises(AssertionError):
        run(tool, *arguments, *flag, str(file))
