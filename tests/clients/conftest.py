"""The servers, for every test of this directory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from servers import Server, redis, server, server_survives, tellstone_command

__all__ = ["redis", "server", "server_survives"]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that answers as a cluster of one node."""
    running = Server(tellstone_command("--cluster-mode", "emulated"), tmp_path_factory.mktemp("cluster")).start()
    yield running
    assert running.stop() == 0, running.tail()
