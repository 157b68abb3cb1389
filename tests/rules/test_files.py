"""What the tracked files may and must contain."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest
from rules.cython_source import CORE, PACKAGE, ROOT, core_files, imports, module_name, shown

TOP = {
    *("pyproject.toml", "setup.py", "tellstone", "tests", "benchmarks", "cibuildwheel.toml", "Taskfile.yml"),
    *("README.md", "LICENSE", ".ci", ".gitignore", "docs", "examples"),
}
# Spelled in pieces, so that this file passes its own test.
MACHINE = re.compile(
    r"(?<![\w.}])/(?:home|Users)/\w"
    r"|(?<![\w.}])/(?:ro" + r"ot|wo" + r"rk)/\w"
    r"|(?<![\w.}])/tmp/v" + r"env\b"
    r"|[\\/]\.py" + r"env/versions/\d"
    r"|\bpy" + r"pi\.org|pythonhosted" + r"\.org|--(?:extra-)?index" + r"-url"
)


def tracked() -> list[Path]:
    """Files that git tracks or would add; without git (a source archive) there is nothing to check."""
    try:
        done = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    names = [name.decode() for name in done.stdout.split(b"\0") if name]
    return [path for name in names if (path := ROOT / name).is_file()]


def machine_faults(text: str) -> list[str]:
    return [f"line {n}: {m.group()}" for n, line in enumerate(text.split("\n"), 1) if (m := MACHINE.search(line))]


def test_no_file_names_a_machine_or_a_registry() -> None:
    faults = {}
    for path in tracked():
        data = path.read_bytes()
        if b"\0" not in data and (found := machine_faults(data.decode(errors="replace"))):
            faults[shown(path)] = found
    assert faults == {}


def test_the_top_level_is_as_agreed() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in tracked()} <= TOP


def test_a_machine_path_is_found() -> None:
    assert machine_faults("x = '/ho" + "me/someone/venv'")
    assert machine_faults("pip install --index" + "-url x")
    assert machine_faults("https://py" + "pi.org/project/x")
    assert machine_faults("see ../shared/bench, /usr/bin/env and tests/home/x") == []


def compiled_imports(source: str, package: str, compiled: set[str]) -> set[str]:
    """The compiled modules that a Python source imports, type-checking blocks included (they need stubs above all)."""
    found: set[str] = set()
    source = source.replace("if TYPE_CHECKING:", "if True:").replace("if typing.TYPE_CHECKING:", "if True:")
    for imported in imports(source, package):
        found |= {imported.module, *(f"{imported.module}.{name}" for name in imported.names)} & compiled
    return found


def test_every_compiled_module_that_python_imports_has_a_stub() -> None:
    compiled = {module_name(path): path for path in core_files(".pyx")}
    missing = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = module_name(path)
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        for module in compiled_imports(path.read_text(), package, set(compiled)):
            if not compiled[module].with_suffix(".pyi").exists():
                missing[module] = shown(path)
    assert missing == {}


def test_a_compiled_import_is_found() -> None:
    compiled = {"tellstone._core.engine", "tellstone._core.net.reactor"}
    assert compiled_imports("from tellstone._core.engine import Engine", "tellstone", compiled) == {
        "tellstone._core.engine"
    }
    assert compiled_imports("from ._core.net import reactor", "tellstone", compiled) == {"tellstone._core.net.reactor"}
    assert compiled_imports("import json", "tellstone", compiled) == set()


@pytest.mark.parametrize("path", sorted(CORE.rglob("__init__.py")), ids=shown)
def test_a_floor_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))
