"""setup.py on a tree of two toy modules: what is compiled again, what fails, and what a stale module does."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rules.cython_source import CORE, ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("Cython") is None, reason="Cython is not installed"),
    pytest.mark.skipif(importlib.util.find_spec("setuptools") is None, reason="setuptools is not installed"),
]

STAMP = "from tellstone._core.base.stamp cimport check_layout\ncheck_layout(__name__)\n"
LOW, HIGH = "memory/low", "store/high"
SOURCES = {
    "base/pair.pxd": "cdef struct Pair:\n    int a\n    int b\n",
    "memory/low.pxd": "from tellstone._core.base.pair cimport Pair\ncdef int low_sum(Pair* pair) noexcept nogil\n",
    "memory/low.pyx": STAMP + "cdef int low_sum(Pair* pair) noexcept nogil:\n    return pair.a + pair.b\n",
    "store/high.pyx": STAMP
    + "from tellstone._core.base.pair cimport Pair\n"
    + "from tellstone._core.memory.low cimport low_sum\n"
    + "def total(int a, int b):\n    cdef Pair pair = Pair(a, b)\n    return low_sum(&pair)\n",
}
HINT = "cdef int f(int x) nogil:\n    return x\ncdef void g(int x) nogil:\n    f(x)\n"


class Tree:
    """A copy of the build with toy modules."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.core = root / "tellstone" / "_core"
        for name in ("setup.py", "pyproject.toml", "LICENSE"):
            shutil.copy(ROOT / name, root)
        (root / "README.md").write_text("toy\n")
        for name in ("__init__.py", "stamp.py", "base/__init__.py", *STAMP_FILES):
            (self.core / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CORE / name, self.core / name)
        (root / "tellstone" / "__init__.py").touch()
        for name, text in SOURCES.items():
            self.write(name, text)
            (self.core / name).parent.joinpath("__init__.py").touch()

    def write(self, name: str, text: str) -> None:
        (self.core / name).parent.mkdir(exist_ok=True)
        (self.core / name).write_text(text)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "TELLSTONE_BUILD": "", "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1", **environment}
        return subprocess.run([sys.executable, *arguments], cwd=self.root, capture_output=True, text=True, env=env)

    def build(self, *arguments: str, fails: bool = False, **environment: str) -> tuple[set[str], str]:
        """What went through Cython and the compiler, as `cython x` and `compile x`, and everything that was printed."""
        done = self.run("setup.py", "-q", *(arguments or ("build_ext", "--inplace")), **environment)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        steps = set()
        for line in done.stdout.split("\n"):
            step, _, name = line.partition(" ")
            if step in ("cython", "compile"):
                steps.add(f"{step} {name.removesuffix('.pyx').replace('/', '.').rpartition('.')[2]}")
        return steps, done.stdout + done.stderr

    def total(self, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.run("-c", "from tellstone._core.store.high import total; print(total(3, 4))", **environment)


STAMP_FILES = ("live.py", "base/stamp.pxd", "base/stamp.h", "base/debug.pxd", "base/debug.h")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    tree = Tree(tmp_path_factory.mktemp("built"))
    assert tree.build()[0] == {"cython low", "cython high", "compile low", "compile high"}
    assert tree.total().stdout == "7\n"
    return tree


@pytest.fixture
def tree(built: Tree, tmp_path: Path) -> Tree:
    """A copy of the built tree, times included."""
    shutil.copytree(built.root, tmp_path / "tree", symlinks=True)
    tree = Tree.__new__(Tree)
    tree.root = tmp_path / "tree"
    tree.core = tree.root / "tellstone" / "_core"
    return tree


def test_a_warm_build_compiles_what_changed(tree: Tree) -> None:
    assert tree.build()[0] == set()
    tree.write("store/high.pyx", SOURCES["store/high.pyx"].replace("low_sum(&pair)", "low_sum(&pair) + 1"))
    assert tree.build()[0] == {"cython high", "compile high"}
    assert tree.total().stdout == "8\n"


def test_a_changed_declaration_compiles_everything(tree: Tree) -> None:
    tree.write("memory/low.pxd", SOURCES["memory/low.pxd"] + "cdef enum:\n    LOW = 1\n")
    assert tree.build()[0] == {"cython low", "cython high", "compile low", "compile high"}
    tree.write("base/unused.h", "#define X\n")
    assert tree.build()[0] == {"compile low", "compile high"}


def test_a_stale_module_is_refused(tree: Tree) -> None:
    stale = next((tree.core / "memory").glob("low*.so"))
    kept = stale.read_bytes()
    tree.write("base/pair.pxd", SOURCES["base/pair.pxd"].replace("int a\n    int b", "int b\n    int a"))
    tree.build()
    stale.unlink()
    stale.write_bytes(kept)
    assert "ImportError: tellstone._core.store.high (layout" in tree.total().stderr


@pytest.mark.parametrize("text", [HINT, "def f():\n    return undefined_name\n"], ids=["hint", "warning"])
def test_a_word_from_cython_fails_the_build_every_time(tree: Tree, text: str) -> None:
    tree.write("store/other.pyx", STAMP + text)
    for _ in range(2):
        steps, said = tree.build(fails=True)
        assert steps == {"cython other"}
        assert "other.pyx" in said
    (tree.core / "store" / "other.pyx").unlink()
    assert tree.build()[0] == set()


def test_a_broken_module_does_not_hold_up_its_neighbours(tree: Tree) -> None:
    tree.write("memory/broken.pyx", STAMP + "cdef extern int nowhere\nx = (\n")
    tree.write("store/high.pyx", SOURCES["store/high.pyx"].replace("low_sum(&pair)", "2 * low_sum(&pair)"))
    assert tree.build(fails=True)[0] == {"cython broken", "cython high", "compile high"}
    assert tree.total().stdout == "14\n"


def test_a_removed_source_takes_its_extension_along(tree: Tree) -> None:
    (tree.core / "store" / "high.pyx").unlink()
    assert tree.build()[0] == set()
    assert list((tree.core / "store").glob("*.so")) == []


def test_a_variant_has_a_tree_of_its_own(tree: Tree) -> None:
    before = {path: path.stat().st_mtime_ns for path in tree.core.rglob("*.so")}
    assert "compile low" in tree.build("build", TELLSTONE_BUILD="debug")[0]
    assert {path: path.stat().st_mtime_ns for path in tree.core.rglob("*.so")} == before
    (tree.root / "tellstone" / "__init__.py").write_text("raise SystemExit('the wrong tree')\n")
    program = "import sys; sys.path[0] = 'build/debug/lib'\n"
    program += "from tellstone._core.store.high import total; print(total(1, 2))"
    done = tree.run("-c", program)
    assert done.stdout == "3\n", done.stderr
    assert "do not go into the source tree" in tree.build(fails=True, TELLSTONE_BUILD="debug")[1]
