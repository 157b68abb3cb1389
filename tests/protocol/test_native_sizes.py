"""Frames of every size around the buffers they pass through, lists of every length, and much of everything."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import pytest
from frames import (
    COMMAND,
    NOT_FOUND,
    OK,
    PING,
    PONGED,
    TEXT_MAX,
    Native,
    command,
    delete,
    error,
    frame,
    get,
    put,
    request,
    response,
    text,
)
from net.serving import Served, small_buffers, until
from protocol.streams import pieces

pytestmark = pytest.mark.core

MAX_FRAME = 1 << 20
HEAD, REQUEST_HEAD = 5, 11
SHARED_INPUT = 65536  # read at once from any connection
SHARED_HELD = 16384  # of an unfinished frame, in front of what is read next
BLOCK_FROM = 32768
AROUND = [size + d for size in (SHARED_HELD, BLOCK_FROM, SHARED_INPUT) for d in (-17, -16, -5, -4, -1, 0, 1, 4)]
BATCH_REQUESTS, BATCH_ARGUMENTS = 64, 512


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(native=True, max_frame=MAX_FRAME) as served:
        yield served


@pytest.fixture
def wire(served: Served) -> Iterator[Native]:
    with Native(served.native) as wire:
        assert wire.call("FLUSHALL") == b"+OK\r\n"
        yield wire


def sized(size: int) -> bytes:
    """A value that shows when bytes of it are missing, doubled or moved."""
    return b"".join(struct.pack(">I", at) for at in range(size // 4 + 1))[:size]


def test_values_of_every_size(wire: Native) -> None:
    for size in (0, 1, *AROUND, MAX_FRAME // 2):
        value = sized(size)
        with wire.sending(put(b"k", value) + get(b"k") + delete(b"k") + get(b"k")):
            expected = OK + response(value) + OK + NOT_FOUND
            assert wire.read(len(expected)) == expected, size


def test_frames_of_every_size(wire: Native) -> None:
    """One that ends where a buffer does, with the start of the next one behind it."""
    for size in AROUND:
        value = sized(size - HEAD - REQUEST_HEAD - 1)
        data = put(b"k", value)
        assert len(data) == size
        for rest in (b"", frame(PING)[:1], frame(PING)[:4], frame(PING) * 3 + frame(PING)[:2]):
            wire.send(data + rest)
            wire.send((frame(PING) + get(b"k"))[len(rest) % HEAD :])
            expected = OK + PONGED * (len(rest) // HEAD + 1) + response(value)
            assert wire.read(len(expected)) == expected, (size, rest)


def test_the_longest_frame_and_one_byte_more(served: Served, wire: Native) -> None:
    room = MAX_FRAME - 1
    longest = frame(PING, bytes(room))
    assert int.from_bytes(longest[:4], "big") == MAX_FRAME
    value = sized(room - REQUEST_HEAD - 1)
    text_room = room - REQUEST_HEAD - len(b"\0\x12\0\4ECHO")
    texts = [b"x" * 65000 for _ in range(16)] + [b"y" * (text_room - 16 * 65002 - 2)]
    listed = command("ECHO", *texts)
    assert len(listed) == len(longest)
    with wire.sending(longest + put(b"k", value) + get(b"k") + listed + longest + frame(PING)):
        expected = (
            PONGED + OK + response(value) + error(b"ERR wrong number of arguments for 'echo' command") + PONGED * 2
        )
        assert wire.read(len(expected)) == expected
    with wire.sending(get(b"k") + put(b"k", value + b"x") + frame(PING)):
        assert wire.rest() == response(value)
    with served.connect() as witness:
        assert witness.call("STRLEN", "k") == b":%d\r\n" % len(value)


def test_a_limit_that_changes(served: Served, wire: Native) -> None:
    try:
        served.group.configure(max_frame=1000)
        assert wire.call("PING") == b"+PONG\r\n"  # it holds from the next turn on
        assert wire.ask(frame(PING, bytes(999))) == (1, b"")
        wire.send(frame(PING) + frame(PING, bytes(1000)))
        assert wire.rest() == PONGED
    finally:
        served.group.configure(max_frame=MAX_FRAME)


def test_a_value_longer_than_values_may_be(served: Served, wire: Native) -> None:
    try:
        served.group.configure(max_request=1000)
        assert wire.call("PING") == b"+PONG\r\n"
        wire.send(put(b"k", bytes(1000)) + put(b"k", bytes(1001)) + put(b"", bytes(1001)) + get(b"k"))
        too_long = error(b"ERR string exceeds maximum allowed size (proto-max-bulk-len)")
        expected = OK + too_long + error(b"EMPTY_KEY") + response(bytes(1000))
        assert wire.read(len(expected)) == expected
    finally:
        served.group.configure(max_request=512 << 20)


@pytest.mark.parametrize("pieces_of", [1, 2, 5, 50])
def test_a_long_frame_in_random_pieces(pieces_of: int, wire: Native) -> None:
    value = sized(200_000)
    data = frame(PING) + put(b"k", value) + get(b"k") + frame(PING)
    source = random.Random(pieces_of)
    for _ in range(4):
        for piece in pieces(data, source.sample(range(1, len(data)), pieces_of)):
            wire.send(piece)
        expected = PONGED + OK + response(value) + PONGED
        assert wire.read(len(expected)) == expected


@pytest.mark.parametrize("count", [1, 2, 5, 511, 512, 513, 5000, 65535])
def test_lists_of_every_length(count: int, wire: Native) -> None:
    """Alone, and between others: what does not fit into a batch with them waits for one of its own."""
    keys = [b"k%d" % i for i in range(count - 1)]
    listed = command("DEL", *keys) if keys else command("PING")
    answer = response(b":1\r\n") if keys else response(b"+PONG\r\n")
    for around in (0, 1, BATCH_REQUESTS - 1, BATCH_REQUESTS + 1):
        with wire.sending(put(b"k0", b"v") + get(b"k0") * around + listed + get(b"k0") * around):
            assert wire.read(len(OK)) == OK
            before = response(b"v") * around
            assert wire.read(len(before)) == before
            assert wire.read(len(answer)) == answer
            after = (NOT_FOUND if keys else response(b"v")) * around
            assert wire.read(len(after)) == after


def test_lists_that_share_a_batch(wire: Native) -> None:
    source = random.Random(1)
    counts = [source.choice([1, 2, 3, 100, 254, 255, 256, 257, 509, 510, 511, 512, 513, 700]) for _ in range(300)]
    data = b"".join(command("EXISTS", *["k"] * count) for count in counts)
    expected = b"".join(response(b":%d\r\n" % count) for count in counts)
    wire.call("SET", "k", "v")
    with wire.sending(data):
        assert wire.read(len(expected)) == expected


@pytest.mark.parametrize("count", [512, 513, 1200])
def test_every_argument_of_a_long_list_counts(count: int, wire: Native) -> None:
    pairs = [(b"key %d" % i, b"value %d" % i) for i in range(count)]
    assert wire.call("MSET", *(text for pair in pairs for text in pair)) == b"+OK\r\n"
    found = wire.call("MGET", *(key for key, _ in pairs))
    assert found == b"*%d\r\n" % count + b"".join(b"$%d\r\n%s\r\n" % (len(value), value) for _, value in pairs)


@pytest.mark.parametrize("size", [*(size for size in AROUND if size < TEXT_MAX), TEXT_MAX - 1, TEXT_MAX])
def test_arguments_of_every_size(size: int, wire: Native) -> None:
    value = sized(size)
    assert wire.call("SET", value, value) == b"+OK\r\n"
    assert wire.call("GET", value) == b"$%d\r\n%s\r\n" % (size, value)
    assert wire.ask(get(value)) == (3, value)
    assert wire.call("ECHO", value) == b"$%d\r\n%s\r\n" % (size, value)


def test_a_list_without_an_end_is_found_out_late(wire: Native) -> None:
    """A list of 65535 arguments whose last one overruns by a byte."""
    listed = struct.pack(">H", 65535) + text(b"DEL") + text(b"k") * 65534
    wire.send(put(b"k", b"v"))
    with wire.sending(get(b"k") + request(COMMAND, b"", listed[:-1]) + frame(PING)):
        assert wire.rest() == OK + response(b"v")


def test_many_megabytes_before_the_first_reply_is_read(wire: Native) -> None:
    """Replies pile up at the server, in their order, until somebody reads them."""
    value = sized(100_000)
    small_buffers(wire)
    count = 120
    data = b"".join(put(b"%d" % (i % 7), value + b"%d" % i) + get(b"%d" % (i % 7)) for i in range(count))
    wire.send(data)  # all of it has gone out before anything is read
    for i in range(count):
        expected = OK + response(value + b"%d" % i)
        assert wire.read(len(expected)) == expected, i


def test_a_pipeline_of_small_requests_without_reading(wire: Native) -> None:
    count = 100_000
    small_buffers(wire)
    wire.send(command("INCR", "n") * count + frame(PING))
    for i in range(1, count + 1):
        assert wire.reply() == b":%d\r\n" % i
    assert wire.frame() == (1, b"")


def test_replies_much_longer_than_their_requests(wire: Native) -> None:
    value = sized(MAX_FRAME // 2)
    wire.send(put(b"k", value))
    assert wire.frame() == (3, b"OK")
    bulk = b"$%d\r\n%s\r\n" % (len(value), value)
    with wire.sending((get(b"k") + command("MGET", "k", "k")) * 40):
        for _ in range(40):
            assert wire.frame() == (3, value)
            assert wire.frame() == (3, b"*2\r\n" + bulk * 2)


def test_the_output_limit(served: Served, wire: Native) -> None:
    """One reply, or many, that are longer than the output may be while nobody reads: the connection ends."""
    value = sized(MAX_FRAME // 2)
    assert wire.ask(put(b"k", value)) == (3, b"OK")
    served.group.configure(output_limit=(4 << 20, 0, 0))
    try:
        for flood in (command("MGET", *["k"] * 100), get(b"k") * 200, frame(PING) * 4_000_000):
            closed = served.figure("closed_over_output_limit")
            with small_buffers(Native(served.native)) as greedy, greedy.sending(flood):
                until(lambda: served.figure("closed_over_output_limit") == closed + 1)  # noqa: B023
        assert wire.ask(frame(PING)) == (1, b"")
    finally:
        served.group.configure(output_limit=(0, 0, 0))


def test_a_reply_that_no_frame_can_hold(served: Served, wire: Native) -> None:
    """More than 4 GiB by reference to one value. A length that does not fit would make data pass for frames."""
    value = sized(MAX_FRAME - 100)
    count = (4 << 30) // len(value) + 2
    assert wire.ask(put(b"k", value)) == (3, b"OK")
    wire.send(command("MGET", *["k"] * count) + get(b"k") + frame(PING))
    assert wire.frame() == (7, b"ERR the reply is longer than a frame can be")
    assert wire.frame() == (3, value)
    assert wire.frame() == (1, b"")


def test_frames_that_nobody_finishes_cost_what_has_come(served: Served) -> None:
    wires = [Native(served.native) for _ in range(20)]
    for wire in wires:
        wire.send(struct.pack(">IB", MAX_FRAME, PING))
        wire.send(b"x" * 100)
    until(lambda: served.figure("connected") == 20)
    until(lambda: all(b" qbuf=105 " in line for line in served.ask("list")[1][-20:]))
    assert served.figure("buffer_bytes") < 20 * 20_000
    for wire in wires:
        wire.close()
    until(lambda: served.figure("buffer_bytes") == 0)
