"""Fixtures of the tests of reactors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from net.serving import Served
from wire import Wire


@pytest.fixture
def served() -> Iterator[Served]:
    """Two reactors, and control commands that are answered with their names."""
    with Served() as served:
        yield served


@pytest.fixture
def asked() -> Iterator[Served]:
    """Two reactors, and control commands that the test answers."""
    with Served(answer=None) as served:
        yield served


@pytest.fixture
def wire(served: Served) -> Iterator[Wire]:
    """A connection to `served`."""
    with served.connect() as wire:
        yield wire
