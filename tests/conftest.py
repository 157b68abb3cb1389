"""What every test shares: the check that the build under test is the one that was asked for."""

from __future__ import annotations

import gc
import importlib.util
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest_plugins = ["disk"]

ROOT = Path(__file__).resolve().parent.parent


def package_dir() -> Path | None:
    """Where `import tellstone` would come from, without importing it."""
    spec = importlib.util.find_spec("tellstone")
    places = list(spec.submodule_search_locations or []) if spec else []
    return Path(places[0]).resolve() if places else None


def pytest_report_header() -> str:
    return f"tellstone: {package_dir() or 'not installed'}"


def pytest_configure() -> None:
    """A sanitizer run that quietly tests the release build would prove nothing."""
    kind = os.environ.get("TELLSTONE_BUILD") or "release"
    wanted = ROOT / "build" / kind / "lib" / "tellstone"
    if kind != "release" and package_dir() != wanted:
        raise pytest.UsageError(f"TELLSTONE_BUILD={kind}, but tellstone is imported from {package_dir()}, not {wanted}")


@pytest.fixture(autouse=True, scope="module")
def no_live_objects() -> Iterator[None]:
    """The debug build counts its C objects; a module of tests must leave none behind. Elsewhere all counts are zero."""
    live = pytest.importorskip("tellstone._core.live", exc_type=ImportError)
    before = live.counts()
    yield
    gc.collect()
    end = time.monotonic() + 2  # what is retired is freed by upkeep, or by a thread that is just ending
    while live.counts() != before and time.monotonic() < end:
        time.sleep(0.01)
    assert live.counts() == before, "objects of the core are left alive"
