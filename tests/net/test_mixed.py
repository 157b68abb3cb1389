"""Clients of both protocols on one data set, from many threads; and whoever comes after a client that was cut off."""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest
from frames import NOT_FOUND, OK, RESPONSE, Native, command, delete, get, put, request, response
from net.serving import PONG, Served, small_buffers, until
from wire import Wire, encode

pytestmark = pytest.mark.core

# Around what a value may lie in: an integer, an entry, a counted block.
SIZES = [0, 1, 5, 20, 255, 256, 4000, 16_383, 31_999, 32_000, 32_767, 32_768, 40_000, 65_535, 65_536, 300_000]


@pytest.fixture
def served() -> Iterator[Served]:
    with Served(threads=2, native=True) as served:
        yield served


def in_threads(work: list[Callable[[], None]]) -> None:
    """All at the same time; the first exception is raised here."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(work))

    def run(one: Callable[[], None]) -> None:
        try:
            start.wait()
            one()
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if errors:
        raise errors[0]


def connect(served: Served, number: int) -> Wire:
    """Every other client is a native one."""
    return Native(served.native) if number % 2 else served.connect()


def test_counters_add_up(served: Served) -> None:
    """One request at a time, and in pipelines."""
    clients, rounds = 8, 300

    def count(number: int) -> None:
        with connect(served, number) as wire:
            for n in range(rounds):
                assert wire.call("INCR", f"counter:{n % 3}").startswith(b":")
            replies = wire.pipeline([("INCRBY", "total", number + 1)] * rounds)
            numbers = [int(reply[1:]) for reply in replies]
            assert numbers == sorted(set(numbers))

    in_threads([lambda number=number: count(number) for number in range(clients)])  # type: ignore[misc]
    with Native(served.native) as wire, served.connect() as other:
        assert sum(int(wire.ask(get(b"counter:%d" % n))[1]) for n in range(3)) == clients * rounds
        total = b"%d" % (rounds * sum(range(1, clients + 1)))
        assert wire.ask(get(b"total")) == (RESPONSE, total)
        assert other.call("GET", "total") == b"$%d\r\n%s\r\n" % (len(total), total)


def valued(writer: int, count: int, size: int) -> bytes:
    """A value of which every four bytes tell who wrote it, so that halves of two are never taken for one."""
    return (struct.pack(">HH", writer, count) * (size // 4 + 1))[:size]


def is_whole(value: bytes) -> bool:
    return value == (value[:4] * (len(value) // 4 + 1))[: len(value)]


def put_by(wire: Wire, key: bytes, value: bytes, ttl: int) -> None:
    if isinstance(wire, Native):
        assert wire.ask(put(key, value, ttl)) == (RESPONSE, b"OK")
    else:
        assert wire.call("SET", key, value, *(["PX", ttl] if ttl else [])) == b"+OK\r\n"


def get_by(wire: Wire, key: bytes) -> bytes | None:
    if isinstance(wire, Native):
        kind, value = wire.ask(get(key))
        return value if kind == RESPONSE else None
    reply = wire.call("GET", key)
    return None if reply == b"$-1\r\n" else reply.partition(b"\r\n")[2][:-2]


def delete_by(wire: Wire, key: bytes) -> None:
    if isinstance(wire, Native):
        assert wire.ask(delete(key)) == (RESPONSE, b"OK")
    else:
        assert wire.call("DEL", key) in (b":0\r\n", b":1\r\n")


@pytest.mark.parametrize("size", SIZES)
def test_what_one_writes_the_other_reads(size: int, served: Served) -> None:
    binary = bytes(range(256)) * (size // 256 + 1)
    with served.connect() as one, Native(served.native) as other:
        for writer, reader in ((one, other), (other, one)):
            for value in (binary[:size], b"-%s" % (b"7" * (size - 1)), b"\r\n" * (size // 2)):
                for ttl in (0, 100_000):
                    put_by(writer, b"\r\n\0key", value, ttl)
                    assert get_by(reader, b"\r\n\0key") == get_by(writer, b"\r\n\0key") == value
                    left = int(reader.call("PTTL", b"\r\n\0key")[1:])
                    assert left == -1 if ttl == 0 else 90_000 < left <= 100_000
                delete_by(reader, b"\r\n\0key")
                assert get_by(writer, b"\r\n\0key") is None


def test_lifetimes_end_for_both(served: Served) -> None:
    with served.connect() as one, Native(served.native) as other:
        for writer, reader in ((one, other), (other, one)):
            for n, size in enumerate(SIZES):
                put_by(writer, b"%d" % n, bytes(size), 30)
            until(lambda: not any(get_by(reader, b"%d" % n) is not None for n in range(len(SIZES))))  # noqa: B023


def test_all_at_the_same_keys(served: Served) -> None:
    """Every value that is read has been written, whole; everybody's own keys are what he left them."""
    clients, rounds = 8, 250

    def hammer(number: int) -> None:
        chance = random.Random(number)
        own: dict[bytes, bytes] = {}
        with connect(served, number) as wire:
            for n in range(rounds):
                shared = b"shared:%d" % chance.randrange(6)
                mine = b"%d:%d" % (number, chance.randrange(20))
                value = valued(number, n, chance.choice(SIZES[:-1]))
                match chance.randrange(6):
                    case 0:
                        put_by(wire, shared, value, chance.choice([0, 3, 100_000]))
                    case 1:
                        delete_by(wire, shared)
                    case 2 | 3:
                        found = get_by(wire, shared)
                        assert found is None or is_whole(found)
                    case 4:
                        put_by(wire, mine, value, 0)
                        own[mine] = value
                    case _:
                        assert get_by(wire, mine) == own.get(mine)
        with connect(served, number + 1) as other:
            assert {key: get_by(other, key) for key in own} == own

    in_threads([lambda number=number: hammer(number) for number in range(clients)])  # type: ignore[misc]


def test_pipelines_of_both(served: Served) -> None:
    """Each client's replies are those to its own requests, in their order, while all write into the same shards."""
    rounds = 400

    def native(number: int) -> None:
        data, expected = [], []
        for n in range(rounds):
            key, value = b"%d:%d" % (number, n % 50), valued(number, n, SIZES[n % 9])
            data += [put(key, value), get(key), delete(key), get(key), command("INCR", "n"), request(77)]
            expected += [OK, response(value), OK, NOT_FOUND]
        with Native(served.native) as wire, wire.sending(b"".join(data)):
            for n in range(rounds):
                want = b"".join(expected[4 * n : 4 * n + 4])
                assert wire.read(len(want)) == want
                assert wire.reply()[:1] == b":"
                assert wire.reply() == b"-INVALID_OPCODE\r\n"

    def resp(number: int) -> None:
        with served.connect() as wire:
            for n in range(4):
                values = [valued(number, i, SIZES[(i + n) % 9]) for i in range(100)]
                keys = [b"%d:%d" % (number, i) for i in range(100)]
                wire.pipeline([("SET", *pair) for pair in zip(keys, values, strict=True)])
                replies = wire.pipeline([request for key in keys for request in (("GET", key), ("INCR", "n"))])
                assert replies[::2] == [b"$%d\r\n%s\r\n" % (len(value), value) for value in values]

    in_threads([lambda n=n: (native if n % 2 else resp)(n) for n in range(6)])  # type: ignore[misc]
    with Native(served.native) as wire:
        assert wire.ask(get(b"n")) == (RESPONSE, b"%d" % (3 * rounds + 3 * 400))


@pytest.mark.parametrize("end", ["close", "reset", "limit"])
def test_who_comes_after_one_that_was_cut_off(end: str) -> None:
    """A connection that ends in the middle of its output leaves none of it to the next one in its place."""
    with Served(threads=1, native=True) as served:
        with served.connect() as wire:
            wire.call("SET", "small", "s" * 10_000)
            wire.call("SET", "block", "b" * 100_000)
        floods = [encode("GET", "small") * 2000, encode("GET", "block") * 200]
        floods += [get(b"small") * 2000, get(b"block") * 200]
        for n, flood in enumerate(floods):
            until(lambda: served.figure("connected") == 0)
            if end == "limit":
                served.group.configure(output_limit=(4 << 20, 0, 0))
            with small_buffers(connect(served, n // 2)) as greedy:
                greedy.send(flood)
                until(lambda: served.figure("longest_output") > 0 or served.figure("connected") == 0)
                if end == "reset":
                    greedy.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if end == "limit":
                    until(lambda: served.figure("connected") == 0)
            served.group.configure(output_limit=(0, 0, 0))
            until(lambda: served.figure("connected") == 0)
            with served.connect() as wire:
                assert wire.call("PING") == PONG
                assert wire.call("STRLEN", "block") == b":100000\r\n"
            until(lambda: served.figure("connected") == 0)
            with Native(served.native) as native:
                assert native.ask(get(b"small")) == (RESPONSE, b"s" * 10_000)
                assert native.ask(get(b"block")) == (RESPONSE, b"b" * 100_000)
