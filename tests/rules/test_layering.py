"""Floors: a module imports only from floors below its own and from its own folder, and there are no cycles."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.cython_source import PACKAGE, imports, module_name

# What a floor may import from. A module's floor is its folder below tellstone/_core; `engine` is one by itself, and
# everything outside _core is the shell, which may import anything.
BELOW: dict[str, set[str]] = {
    "base": set(),
    "memory": {"base"},
    "store": {"base", "memory"},
    "types": {"base", "memory", "store"},
    "engine": {"base", "memory", "store", "types"},
    "protocol": {"base"},
    # Handlers work on a keyspace, never on an Engine: durability hangs on the shard's change hook.
    "command": {"base", "memory", "store", "types", "protocol"},
    "session": {"base", "memory", "store", "types", "protocol", "command"},
    # Drivers own sockets, threads and time; they hand a keyspace to sessions and know no command.
    "net": {"base", "memory", "store", "protocol", "session"},
    # A program's connections to a server somewhere else.
    "client": {"base", "protocol"},
    # The load is on the other side of the wire: it shares the words of the protocols with a server, and nothing else.
    "load": {"base", "protocol"},
}
# `execute` and `listen` of the embedded engine reach up when they are called, never when the engine is imported.
LAZY: dict[str, set[str]] = {"engine": {"protocol", "command", "session", "net"}}
# The stamp and the debug build's counts are below everything; errors is the one leaf of the shell that the core may
# raise from.
LEAVES = {"tellstone._core.stamp", "tellstone._core.live", "tellstone.errors"}


def floor_of(module: str) -> str | None:
    """The floor's name, or None for the shell."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["tellstone", "_core"] and len(parts) > 2 else None


def named_modules(source: str, name: str, known: set[str], *, package: bool) -> list[tuple[int, str, bool]]:
    """Line, module and laziness of our imports. `from a import b` names a.b if that is a module, and a if not."""
    home = name if package else name.rpartition(".")[0]
    found = []
    for imported in imports(source, home):
        if imported.module.split(".")[0] != "tellstone":
            continue
        members = [f"{imported.module}.{n}" for n in imported.names]
        modules = [m for m in members if m in known]
        if len(modules) < len(members) or not members:
            modules.append(imported.module)
        found += [(imported.number, module, imported.lazy and not imported.cimport) for module in modules]
    return found


def layer_faults(source: str, name: str, known: set[str], *, package: bool = False) -> list[str]:
    floor = floor_of(name)
    faults = []
    for number, module, lazy in named_modules(source, name, known, package=package):
        if floor is None or module in LEAVES:
            continue
        other = floor_of(module)
        allowed = {floor} | BELOW.get(floor, set()) | (LAZY.get(floor, set()) if lazy else set())
        if other not in allowed:
            faults.append(f"line {number}: {floor} may not import {module}")
    return faults


def find_cycle(edges: dict[str, set[str]]) -> list[str]:
    """Some cycle of the graph, or an empty list."""
    done: set[str] = set()

    def walk(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        for following in sorted(edges.get(node, ())):
            if cycle := walk(following, [*path, node]):
                return cycle
        done.add(node)
        return []

    return next((cycle for node in sorted(edges) if (cycle := walk(node, []))), [])


def sources() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".pyx", ".pxd"))


KNOWN = {module_name(path) for path in sources()}


@pytest.mark.parametrize("path", sources(), ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_imports_stay_on_or_below_their_floor(path: Path) -> None:
    assert layer_faults(path.read_text(), module_name(path), KNOWN, package=path.stem == "__init__") == []


def test_every_floor_is_known() -> None:
    floors = {floor for name in KNOWN if (floor := floor_of(name))}
    assert floors <= {*BELOW, "stamp", "live"}


def test_no_cycles() -> None:
    edges: dict[str, set[str]] = {}
    for path in sources():
        name = module_name(path)
        named = named_modules(path.read_text(), name, KNOWN, package=path.stem == "__init__")
        edges.setdefault(name, set()).update(module for _, module, lazy in named if not lazy and module != name)
    assert find_cycle(edges) == []


def test_errors_is_a_leaf() -> None:
    path = PACKAGE / "errors.py"
    if path.exists():
        assert named_modules(path.read_text(), "tellstone.errors", KNOWN, package=False) == []


@pytest.mark.parametrize(
    ("name", "source", "fault"),
    [
        ("tellstone._core.base.ring", "from tellstone._core.store.shard cimport Shard", "line 1: base may not import"),
        ("tellstone._core.store.shard", "x = 1\ncimport tellstone._core.types.string", "line 2: store may not import"),
        ("tellstone._core.store.shard", "from ..types cimport (\n  string,\n)", "tellstone._core.types"),
        ("tellstone._core.engine", "from tellstone._core.command import table", "engine may not import"),
        (
            "tellstone._core.engine",
            "cdef int f() except -1:\n  from tellstone._core.net cimport reactor",
            "engine may not",
        ),
        ("tellstone._core.session.session", "from tellstone._core.engine import Engine", "session may not import"),
        ("tellstone._core.net.reactor", "from tellstone._core.command.table cimport lookup", "net may not import"),
        ("tellstone._core.types.string", "from tellstone import config", "types may not import"),
    ],
)
def test_a_bad_import_is_found(name: str, source: str, fault: str) -> None:
    assert fault in "\n".join(layer_faults(source, name, KNOWN))


@pytest.mark.parametrize(
    ("name", "source"),
    [
        (
            "tellstone._core.store.shard",
            "from tellstone._core.memory.arena cimport Arena\nfrom libc.string cimport memcpy",
        ),
        ("tellstone._core.store.shard", '"""from tellstone._core.net import reactor"""\n# import tellstone._core.net'),
        ("tellstone._core.engine", "def execute(self):\n  from tellstone._core.command import table"),
        ("tellstone._core.engine", "if TYPE_CHECKING:\n  from tellstone.server import Server"),
        ("tellstone._core.types.string", "from tellstone.errors import Error"),
        ("tellstone.server", "from tellstone._core.net import reactor"),
    ],
)
def test_a_good_import_passes(name: str, source: str) -> None:
    assert layer_faults(source, name, KNOWN) == []


def test_a_cycle_is_found() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}}) == []
