"""Fixtures of the tests of drivers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from net import serving
from net.serving import Served
from wire import Wire


@pytest.fixture(autouse=True, scope="module", params=["native", "asyncio"])
def driver(request: pytest.FixtureRequest) -> Iterator[str]:
    """What serves connections: every test runs on both drivers, which differ in nothing that a client can see."""
    serving.driver = request.param
    yield request.param
    serving.driver = "native"


@pytest.fixture
def served() -> Iterator[Served]:
    """Two threads, and control commands that are answered with their names."""
    with Served() as served:
        yield served


@pytest.fixture
def asked() -> Iterator[Served]:
    """Two threads, and control commands that the test answers."""
    with Served(answer=None) as served:
        yield served


@pytest.fixture
def wire(served: Served) -> Iterator[Wire]:
    """A connection to `served`."""
    with served.connect() as wire:
        yield wire
