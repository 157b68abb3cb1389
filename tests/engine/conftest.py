"""Engines for tests: real ones, and ones whose clock and upkeep the test drives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tellstone import Engine
from tellstone._core.store.keyspace import Store


class Clocked:
    """An engine with a clock that stands still until the test moves it, and without an upkeep thread."""

    def __init__(self, shards: int = 4, *, tick_ms: int = 1000, slots: int = 256, now: int = 1_000_000_000_000) -> None:
        self.store = Store(shards, tick_ms, slots, upkeep=False)
        self.tick_ms = tick_ms
        self.now = now
        self.store.set_clock(now)
        self.engine = Engine._over(self.store)

    def pass_ms(self, ms: int, *, upkeep: bool = False) -> None:
        self.now += ms
        self.store.set_clock(self.now)
        if upkeep:
            self.store.upkeep()

    @property
    def held(self) -> int:
        """Keys of database 0 that are in memory, expired ones too."""
        return self.store.sizes()[0][0]


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with Engine(evict_interval=0.05) as engine:
        yield engine
    forget(request)


@pytest.fixture
def clocked(request: pytest.FixtureRequest) -> Iterator[Clocked]:
    clocked = Clocked()
    with clocked.engine:
        yield clocked
    forget(request)


def forget(request: pytest.FixtureRequest) -> None:
    """Let go of the arguments of a test: of a module's last one pytest keeps them until live objects are counted."""
    request.node.funcargs.clear()
