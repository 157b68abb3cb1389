"""The library that is preloaded to see what a server does to its disk, and to make that fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from disk import preloadable

SHIM = Path(__file__).with_name("journal_shim.c")


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> str:
    return preloadable(SHIM, tmp_path_factory.mktemp("shim"))
