"""Event loops of asyncio itself, whatever faster ones there may be: their transports write in other ways."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from net import serving
from net.serving import PONG, Served, small_buffers, until
from wire import encode

from tellstone._core.net.asyncio_driver import LoopMember
from tellstone._core.net.control import ControlBridge
from tellstone._core.store.keyspace import Store
from tellstone.loops import LoopGroup

pytestmark = pytest.mark.core


class PlainLoopGroup(LoopGroup):
    """Asyncio's own loops."""

    make_loop = staticmethod(asyncio.new_event_loop)


@pytest.fixture(autouse=True, scope="module")
def driver() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(serving.GROUPS, "native", PlainLoopGroup)
        yield


def test_a_plain_loop_sends_blocks_in_their_places(served: Served) -> None:
    values = [bytes([65 + i % 26]) * (30_000 + 1000 * (i % 7)) for i in range(60)]
    with small_buffers(served.connect()) as wire:
        for i, value in enumerate(values):
            assert wire.call("SET", f"k{i}", value) == b"+OK\r\n"
        wire.send(encode("MGET", *(f"k{i}" for i in range(60))) * 3 + b"PING\r\n")
        reply = b"*60\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(value), value) for value in values)
        until(lambda: served.figure("longest_output") > 0)
        assert wire.finish() == reply * 3 + PONG


def test_a_plain_loop_stops_when_all_is_answered(served: Served) -> None:
    with served.connect() as wire:
        assert wire.call("SET", "key", "v" * 20_000) == b"+OK\r\n"
        wire.send(encode("GET", "key") * 300)
        reply = b"$20000\r\n" + b"v" * 20_000 + b"\r\n"
        assert wire.reply() == reply
        served.group.stop(10_000)
        assert wire.rest() == reply * 299
    assert served.group.join(10)


def test_a_loop_is_a_member_of_its_group() -> None:
    with pytest.raises(ValueError, match="2 is none of 2 members"):
        LoopMember(LoopGroup(Store(1), ControlBridge(), 2), 2)
