"""What a server has evicted does not come back when it is killed and started again."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from servers import Server, tellstone_command
from wire import Wire


def keys(wire: Wire) -> set[bytes]:
    return set(wire.call("KEYS", "*").split(b"\r\n")[2::2])


@pytest.mark.parametrize("policy", ["allkeys-s3fifo", "volatile-lru"])
def test_evicted_keys_stay_away(policy: str, tmp_path: Path) -> None:
    options = ["--enable-persistence", "--persistence-dir", str(tmp_path / "data"), "--max-mem-policy", policy]
    server = Server(tellstone_command(*options, "--shards", "4"), tmp_path).start()
    try:
        with server.connect() as wire:
            assert wire.call("CONFIG", "SET", "maxmemory", "1mb") == b"+OK\r\n"
            for n in range(2000):
                assert wire.call("SET", f"k{n}", f"{n}" * 250, "EX", 1000) == b"+OK\r\n"
            time.sleep(0.3)  # for upkeep, which may evict one more
            wire.call("DEL", sorted(keys(wire))[0])
            before = keys(wire)
            assert 400 < len(before) < 1900
        assert server.process
        server.process.kill()
        server.process.wait()
        server.start()
        with server.connect() as wire:
            assert keys(wire) == before
            for name in list(before)[:50]:
                assert wire.call("GET", name).split(b"\r\n")[1] == name[1:] * 250
    finally:
        server.stop()
