"""WAIT and WAITAOF without replicas and without a log: what they answer, and for how long they do not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import cast

import pytest

from tellstone._core.store.keyspace import Store
from tellstone.control import HANDLERS, embedded, run
from tellstone.control.context import ClientFilter, ClientReport, Embedded, LocalCall
from tellstone.control.encode import Reply
from tellstone.errors import ResponseError

pytestmark = pytest.mark.core

NOT_INTEGER = "ERR value is not an integer or out of range"
NOT_POSITIVE = "ERR value is out of range, must be positive"
BAD_TIMEOUT = "ERR timeout is not an integer or out of range"
MAX = str(2**63 - 1)


class Served(Embedded):
    """A context with a client that stays for some looks, and a clock that jumps."""

    def __init__(self, looks: int = 10**6) -> None:
        super().__init__(Store(1, upkeep=False))
        self.looks = looks
        self.slept = 0.0

    async def sleep(self, seconds: float) -> None:
        """Remembers how long, and waits for what a test can spare."""
        self.slept += seconds
        await asyncio.sleep(min(seconds, 0.05))

    async def clients(self, wanted: ClientFilter, *, kill: bool = False) -> ClientReport:
        """The client, until it is gone."""
        assert wanted.ids == (7,) and not kill
        self.looks -= 1
        return ClientReport(count=int(self.looks > 0))


def answer(context: Served, *words: str) -> Reply:
    call = LocalCall(words[0].lower(), tuple(word.encode() for word in words), client_id=7)

    async def wait() -> Reply:
        return await cast(Awaitable[Reply], HANDLERS[call.name](context, call))

    return asyncio.run(wait())


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("WAIT x 0", NOT_INTEGER),
        ("WAIT -0 0", NOT_INTEGER),
        ("WAIT 1 x", BAD_TIMEOUT),
        ("WAIT 0 -1", "ERR timeout is negative"),
        (f"WAIT 0 {MAX}", "ERR timeout is out of range"),
        ("WAITAOF x 0 0", NOT_INTEGER),
        ("WAITAOF 2 0 0", "ERR value is out of range, value must between 0 and 1"),
        ("WAITAOF -1 x x", "ERR value is out of range, value must between 0 and 1"),
        ("WAITAOF 0 -1 x", NOT_POSITIVE),
        ("WAITAOF 0 x 0", NOT_POSITIVE),
        ("WAITAOF 1 0 x", BAD_TIMEOUT),
        ("WAITAOF 1 0 -1", "ERR timeout is negative"),
        ("WAITAOF 1 1 0", "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."),
    ],
)
def test_refusals(words: str, text: str) -> None:
    with pytest.raises(ResponseError) as caught:
        answer(Served(), *words.split())
    assert str(caught.value) == text


@pytest.mark.parametrize("words", ["WAIT 0 0", "WAIT -5 0", f"WAIT 0 {10**12}", "WAITAOF 0 0 0"])
def test_nothing_to_wait_for(words: str) -> None:
    context = Served()
    assert answer(context, *words.split()) == ([0, 0] if "AOF" in words else 0)
    assert context.slept == 0


@pytest.mark.parametrize("words", ["WAIT 1 40", "WAITAOF 0 1 40"])
def test_the_timeout_is_waited_for(words: str) -> None:
    begun = time.monotonic()
    assert answer(Served(), *words.split()) == ([0, 0] if "AOF" in words else 0)
    assert 0.04 <= time.monotonic() - begun < 2


@pytest.mark.parametrize("words", ["WAIT 1 0", "WAIT 1 1000000000"])
def test_a_client_that_goes_ends_the_wait(words: str) -> None:
    assert answer(Served(looks=3), *words.split()) == 0


def test_a_program_is_not_kept_waiting() -> None:
    assert run(embedded(Store(1, upkeep=False)), "wait", (b"WAIT", b"1", b"0")) == 0
