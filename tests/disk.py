"""Disks that fail: a library that is preloaded, and cases that run in a process of their own with it."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

TESTS = Path(__file__).resolve().parent
SHIM = TESTS / "store" / "disk_shim.c"


def environment(**more: str) -> dict[str, str]:
    """For a process that finds the tests and the package under test."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path]), **more}


def call_of(case: FunctionType) -> str:
    """A program that calls a function of a test's module with its arguments."""
    module = ".".join(Path(case.__code__.co_filename).relative_to(TESTS).with_suffix("").parts)
    return f"import sys; from {module} import {case.__name__}; {case.__name__}(*sys.argv[1:])"


def run(case: FunctionType, directory: Path, **more: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", call_of(case), str(directory)],
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The library to preload (disk_shim.c)."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        pytest.skip("no C compiler")
    if os.environ.get("TELLSTONE_BUILD", "release") in ("asan", "tsan", "ubsan"):
        pytest.skip("a sanitizer is preloaded already")
    library = tmp_path_factory.mktemp("shim") / "disk_shim.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, SHIM, "-ldl"], check=True)
    return str(library)


def told(**values: int) -> None:
    """Set the preloaded library's variables."""
    for name, value in values.items():
        ctypes.c_int.in_dll(ctypes.CDLL(None), f"shim_{name}").value = value


def asked(name: str) -> int:
    return ctypes.c_int.in_dll(ctypes.CDLL(None), f"shim_{name}").value
