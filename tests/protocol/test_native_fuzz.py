"""Frames that anybody could send, and some that nobody would, in pieces: the server answers what a plain model does."""

from __future__ import annotations

import contextlib
import random
import struct
from collections.abc import Iterator

import pytest
from budget import examples
from frames import AUTH, COMMAND, DELETE, GET, PING, PONGED, REQUEST, SET, Native, argument_list, auth, frame, request
from hypothesis import given
from hypothesis import strategies as st
from net.serving import CONTROL, Served, until
from protocol.native_model import COMMANDS, MANY, Model, Unknown
from protocol.streams import pieces

pytestmark = pytest.mark.core

MAX_FRAME = 1 << 20
KEYS = [b"a", b"b", b"c", b"", b"\0\r\n", b"k" * 300]
TTLS = [0, 0, 0, 10**10, -1, -(2**63), 2**63 - 1]
SIZES = [0, 1, 2, 20, 250, 4000, 16_384, 32_000, 32_768, 65_000]
NAMES = sorted(COMMANDS.keys() - {b"config", b"client", b"quit"})
CONTROL_WORDS = [word.encode() for word in CONTROL]
BAD_LENGTHS = [0, MAX_FRAME + 1, 2**31, 2**32 - 1]


def text(chance: random.Random) -> bytes:
    if chance.randrange(3) == 0:
        return b"%d" % chance.choice([0, 7, 2**62, 2**63])
    size = chance.choice(SIZES[:5]) if chance.randrange(8) else chance.choice(SIZES)
    return bytes([chance.randrange(256)]) * size


def command_words(chance: random.Random) -> list[bytes]:
    """Also with an argument too many, or too few; sometimes more than a batch of requests has room for."""
    name = chance.choice(NAMES)
    least, most, _ = COMMANDS[name]
    count = least
    if most == MANY and name != b"set":
        count = chance.choice([least, least + 1, least + 4] if chance.randrange(4) else [511, 512, 513, 700])
    count = max(count + chance.choice([0] * 8 + [-1, 1]), 1)
    words = [name if chance.randrange(2) else name.upper()]
    return words + [chance.choice(KEYS) if n == 0 or count > 4 else text(chance) for n in range(count - 1)]


def rare_words(chance: random.Random) -> list[bytes]:
    switch = [b"Client", b"REPLY", chance.choice([b"ON", b"ON", b"off", b"Skip", b"skip"])]
    return chance.choice([CONTROL_WORDS, CONTROL_WORDS, switch, switch, switch, [], [], [b"quit", b"x"]])


def any_frame(chance: random.Random) -> bytes:
    """A whole one that clients send."""
    key = chance.choice(KEYS)
    match chance.randrange(12):
        case 0 | 1:
            return request(SET, key, text(chance), chance.choice(TTLS))
        case 2 | 3:
            return request(GET, key)
        case 4:
            return request(DELETE, key, text(chance), chance.choice(TTLS))
        case 5:
            return frame(PING, text(chance))
        case 6:
            return auth(chance.choice([b"", b"default", b"nobody"]), text(chance))
        case 7:
            return request(chance.randrange(256 - 33) + 33, key, text(chance), chance.choice(TTLS))
        case 8:
            return request(COMMAND, b"", argument_list(*rare_words(chance)))
        case _:
            return request(COMMAND, key, argument_list(*command_words(chance)), chance.choice(TTLS))


def damaged(chance: random.Random) -> bytes:
    """A frame with something wrong with it, or not quite."""
    data = bytearray(any_frame(chance))
    head = min(len(data), 20)
    match chance.randrange(8):
        case 0:
            data[:4] = struct.pack(">I", chance.choice(BAD_LENGTHS))
        case 1:
            data[4] = chance.randrange(256)
        case 2:
            data[chance.randrange(head)] ^= 1 << chance.randrange(8)
        case 3:
            data[3] = (data[3] + chance.choice([-2, -1, 1, 2])) % 256
        case 4:
            return frame(chance.choice([REQUEST, AUTH]), data[5 : 5 + chance.randrange(40)])
        case 5:
            return request(COMMAND, b"", argument_list(*command_words(chance))[: chance.randrange(-3, 0)])
        case 6:
            return request(COMMAND, b"", argument_list(*command_words(chance)) + b"\0" * chance.randrange(1, 5))
        case _:
            return chance.randbytes(chance.randrange(1, 60))
    return bytes(data)


def stream(chance: random.Random, frames: int, damage: float) -> bytes:
    data = b"".join(damaged(chance) if chance.random() < damage else any_frame(chance) for _ in range(frames))
    return data[: chance.randrange(len(data) + 1)] if chance.randrange(4) == 0 else data


def cut(chance: random.Random, data: bytes) -> list[bytes]:
    """In a few pieces at any place, or in many small ones at the front."""
    if chance.randrange(6) == 0:
        return pieces(data, range(1, min(len(data), 100)))
    return pieces(data, {chance.randrange(len(data) + 1) for _ in range(chance.randrange(6))})


def expected(model: Model, data: bytes) -> bool:
    """Let the model answer; whether it knows all of it."""
    try:
        model.feed(data)
    except Unknown:
        return False
    return True


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(native=True, max_frame=MAX_FRAME) as served:
        yield served


@pytest.fixture
def bystander(served: Served) -> Iterator[Native]:
    """A connection with half a frame on its way, and data of its own, all the time."""
    with Native(served.native) as wire:
        assert wire.pipeline([("SELECT", 15), ("SET", "mine", "kept")]) == [b"+OK\r\n"] * 2
        wire.send(request(GET, b"mine")[:9])
        yield wire
        wire.send(request(GET, b"mine")[9:])
        assert wire.frame() == (3, b"kept")


def test_streams(served: Served, bystander: Native) -> None:
    @examples(250)
    @given(st.randoms(use_true_random=False), st.sampled_from([0.0, 0.05, 0.3]), st.integers(1, 12))
    def holds(chance: random.Random, damage: float, frames: int) -> None:
        data, model = stream(chance, frames, damage), Model(most=MAX_FRAME)
        complete = expected(model, data)
        with Native(served.native) as wire:
            assert wire.pipeline([("SELECT", 1), ("FLUSHDB",)]) == [b"+OK\r\n"] * 2
            answer = answers(served, wire, cut(chance, data), one_by_one=chance.randrange(3) == 0)
        assert answer == model.sent if complete else answer.startswith(model.sent)

    holds()


def answers(served: Served, wire: Native, parts: list[bytes], one_by_one: bool) -> bytes:
    """All that comes back for the parts, each of which may be read before the next one is sent."""
    arrived, connected = served.figure("input_bytes"), served.figure("connected")
    with contextlib.suppress(ConnectionError):  # it has hung up; what it said before is there
        for part in parts:
            wire.send(part)
            arrived += len(part)
            if one_by_one:
                until(lambda: served.figure("input_bytes") >= arrived or served.figure("connected") < connected)  # noqa: B023
    return wire.finish()


def test_any_bytes(served: Served, bystander: Native) -> None:
    """Whatever the answer, it ends, and the server goes on."""

    @examples(200)
    @given(st.lists(st.binary(max_size=100), max_size=5))
    def holds(parts: list[bytes]) -> None:
        with Native(served.native) as wire:
            answers(served, wire, parts, one_by_one=False)

    holds()
    with Native(served.native) as wire:
        wire.send(frame(PING))
        assert wire.finish() == PONGED


LANES = 8
ROUNDS = 40


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_long_streams_side_by_side(seed: int, served: Served, bystander: Native) -> None:
    """Eight clients at a time, each on its own database, which they find again on their next connection."""
    chance = random.Random(seed)
    models = [emptied(served, lane) for lane in range(LANES)]
    for _ in range(ROUNDS):
        wires = [Native(served.native) for _ in range(LANES)]
        waiting: list[list[bytes]] = []
        known = []
        for lane, wire in enumerate(wires):
            assert wire.call("SELECT", 1 + lane) == b"+OK\r\n"
            models[lane] = models[lane].connection()
            data = stream(chance, chance.choice([5, 50, 300]), 0.01)
            known.append(expected(models[lane], data))
            waiting.append(cut(chance, data))
        while any(waiting):
            lane = chance.choice([n for n, parts in enumerate(waiting) if parts])
            with contextlib.suppress(ConnectionError):  # it has hung up
                wires[lane].send(waiting[lane].pop(0))
        for lane, wire in enumerate(wires):
            answer = wire.finish()
            assert answer == models[lane].sent if known[lane] else answer.startswith(models[lane].sent), lane
            if not known[lane]:
                models[lane] = emptied(served, lane)
            wire.close()


def emptied(served: Served, lane: int) -> Model:
    with Native(served.native) as wire:
        assert wire.pipeline([("SELECT", 1 + lane), ("FLUSHDB",)]) == [b"+OK\r\n"] * 2
    return Model(most=MAX_FRAME)
