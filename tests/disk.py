"""Disks that fail: a library that is preloaded, and cases that run in a process of their own with it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
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


def preloadable(source: Path, directory: Path) -> str:
    """A C source as a library to preload, made in that directory. Skips the test where there can be none."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        pytest.skip("no C compiler")
    if os.environ.get("TELLSTONE_BUILD", "release") in ("asan", "tsan", "ubsan"):
        pytest.skip("a sanitizer is preloaded already")
    library = directory / source.with_suffix(".so").name
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return str(library)


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The library to preload (disk_shim.c)."""
    return preloadable(SHIM, tmp_path_factory.mktemp("shim"))


@contextlib.contextmanager
def mounted(path: Path, size: str) -> Iterator[Path]:
    """A file system in memory of that size ("9m") at a new directory. Skips the test where none may be mounted."""
    path.mkdir()
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    if not mount or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no file system may be mounted")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def told(**values: int) -> None:
    """Set the preloaded library's variables."""
    for name, value in values.items():
        ctypes.c_int.in_dll(ctypes.CDLL(None), f"shim_{name}").value = value


def asked(name: str) -> int:
    return ctypes.c_int.in_dll(ctypes.CDLL(None), f"shim_{name}").value
