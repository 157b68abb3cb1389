"""The library that is preloaded to see what a server does to its disk, and to make that fail."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SHIM = Path(__file__).with_name("journal_shim.c")


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        pytest.skip("no C compiler")
    if os.environ.get("TELLSTONE_BUILD", "release") in ("asan", "tsan", "ubsan"):
        pytest.skip("a sanitizer is preloaded already")
    library = tmp_path_factory.mktemp("shim") / "journal_shim.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, SHIM, "-ldl"], check=True)
    return str(library)
