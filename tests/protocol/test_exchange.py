"""The client's side of the native protocol without a socket: requests as bytes, and answers in any pieces."""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

import frames
import pytest
from budget import examples
from frames import NOT_FOUND, OK, PONGED, error, frame, response
from hypothesis import given
from hypothesis import strategies as st

from tellstone import (
    ArgumentError,
    AuthenticationError,
    BufferSizeError,
    DataError,
    ProtocolError,
    ResponseError,
    WrongTypeError,
)
from tellstone._core.protocol.exchange import Exchange, Into
from tellstone._core.protocol.framing import Requests
from tellstone.client.conversions import PIPELINED, SINGLE

pytestmark = pytest.mark.core

MAX_REQUEST = 1 << 20
MAX_ANSWER = 1 << 22
FOREVER = float("inf")
Make = Callable[[Exchange], Any]


def exchange() -> Exchange:
    return Exchange(SINGLE, MAX_REQUEST, MAX_ANSWER)


def ask(x: Exchange, *requests: Make) -> list[Future[Any]]:
    """Make requests, and count them as sent."""
    futures = []
    for make in requests:
        make(x)
        futures.append(Future[Any]())
        x.wait(futures[-1], FOREVER)
    x.output()
    return futures


def receive(x: Exchange, data: bytes, sizes: Iterable[int] = ()) -> None:
    """Hand over received bytes, in pieces of some sizes and the rest as there is room for it."""
    view = memoryview(data)
    rest = iter(sizes)
    while view:
        room = x.room()
        size = min(len(room), len(view), next(rest, len(view)))
        room[:size] = view[:size]
        x.received(size)
        view = view[size:]


def outcome(future: Future[Any]) -> Any:
    """What a future has; an error as its type and text."""
    assert future.done()
    failure = future.exception()
    return (type(failure), str(failure)) if failure else future.result()


# Requests


@pytest.mark.parametrize(
    ("make", "sent"),
    [
        (lambda r: r.get("key"), frames.get(b"key")),
        (lambda r: r.get(bytearray(b"key")), frames.get(b"key")),
        (lambda r: r.get(""), frames.get(b"")),
        (lambda r: r.get("ü"), frames.get("ü".encode())),
        (lambda r: r.set("key", b"\0\r\n"), frames.put(b"key", b"\0\r\n")),
        (lambda r: r.set("key", ""), frames.put(b"key", b"")),
        (lambda r: r.set("key", 1.5), frames.put(b"key", b"1.5")),
        (lambda r: r.set("key", 7, ttl=2), frames.put(b"key", b"7", 2000)),
        (lambda r: r.set("key", 7, 0.0001), frames.put(b"key", b"7", 1)),
        (lambda r: r.set("key", 7, ttl=timedelta(days=1)), frames.put(b"key", b"7", 86_400_000)),
        (lambda r: r.set("key", 7, nx=True), frames.command("SET", "key", 7, "NX")),
        (lambda r: r.set("key", 7, xx=True, ttl=1), frames.command("SET", "key", 7, "XX", "PX", 1000)),
        (lambda r: r.set("key", 7, keep_ttl=True), frames.command("SET", "key", 7, "KEEPTTL")),
        (lambda r: r.delete("key"), frames.delete(b"key")),
        (lambda r: r.execute("ZADD", "key", 1.5, b"member"), frames.command("ZADD", "key", "1.5", b"member")),
        (lambda r: r.execute("CONFIG GET", "x"), frames.command("CONFIG", "GET", "x")),
        (lambda r: r.execute(b"PING"), frames.command("PING")),
        (lambda r: r.ping(), frame(frames.PING)),
        (lambda r: r.auth("", "secret"), frames.auth(b"", b"secret")),
        (lambda r: r.auth("user", "pässword"), frames.auth(b"user", "pässword".encode())),
    ],
)
def test_a_request_is_these_bytes(make: Make, sent: bytes) -> None:
    x = exchange()
    make(x)
    assert (len(x), x.unsent, x.output()) == (1, len(sent), sent)
    assert (x.unsent, x.output()) == (0, b"")


BAD: list[tuple[Make, type[Exception], str]] = [
    (lambda r: r.get("k" * 65536), ArgumentError, "at most 65535 bytes, not 65536"),
    (lambda r: r.set("k", bytes(MAX_REQUEST)), ArgumentError, "max_request"),
    (lambda r: r.execute("ECHO", "x" * 65536), ArgumentError, "not 65536; set\\(\\)"),
    (lambda r: r.execute("SET", "key", "x" * 70_000), ArgumentError, "set\\(\\)"),
    (lambda r: r.execute("MGET", *(["k"] * 65535)), ArgumentError, "at most 65535 arguments"),
    (lambda r: r.execute("MGET", *(["k" * 1000] * 2000)), ArgumentError, "max_request"),
    (lambda r: r.execute(), ArgumentError, "begins with its name"),
    (lambda r: r.execute(" "), ArgumentError, "begins with its name"),
    (lambda r: r.set("k", "v", nx=True, xx=True), ArgumentError, "nx and xx"),
    (lambda r: r.set("k", "v", ttl=1, keep_ttl=True), ArgumentError, "ttl and keep_ttl"),
    (lambda r: r.set("k", "v", ttl=0), ArgumentError, "not positive"),
    (lambda r: r.set("k", "v", ttl="1"), DataError, "seconds or a timedelta"),
    (lambda r: r.set("k", None), DataError, "NoneType"),
    (lambda r: r.get(1), DataError, "int"),
    (lambda r: r.execute("SET", "k", ["v"]), DataError, "list"),
    (lambda r: r.execute(None), DataError, "NoneType"),
    (lambda r: r.get("\udc80"), ArgumentError, "surrogates"),
    (lambda r: r.execute("subscribe", "channel"), ArgumentError, "exactly one answer"),
    (lambda r: r.execute("CLIENT", "Reply", "OFF"), ArgumentError, "exactly one answer"),
    (lambda r: r.execute("Client Tracking", "on"), ArgumentError, "exactly one answer"),
    (lambda r: r.execute(b"MONITOR"), ArgumentError, "exactly one answer"),
    (lambda r: r.execute("SELECT", 1), ArgumentError, "share connections"),
    (lambda r: r.execute("MULTI"), ArgumentError, "share connections"),
]


@pytest.mark.parametrize(("make", "kind", "text"), BAD)
def test_a_request_that_cannot_be_made_leaves_nothing(make: Make, kind: type[Exception], text: str) -> None:
    x = exchange()
    x.get("before")
    with pytest.raises(kind, match=text):
        make(x)
    x.get("after")
    assert (len(x), x.output()) == (2, frames.get(b"before") + frames.get(b"after"))


def test_the_largest_requests() -> None:
    x = exchange()
    longest = MAX_REQUEST - 12 - 1
    assert len(x.set("k", bytes(longest)).output()) == MAX_REQUEST + 4  # type: ignore[attr-defined]
    with pytest.raises(ArgumentError):
        x.set("k", bytes(longest + 1))
    assert x.get("k" * 65535).output() == frames.get(b"k" * 65535)  # type: ignore[attr-defined]
    words = ["x" * 65535, *"abc"]
    assert x.execute("ECHO", *words).output() == frames.command("ECHO", *words)  # type: ignore[attr-defined]
    many = ["k"] * 65534
    assert x.execute("MGET", *many).output() == frames.command("MGET", *many)  # type: ignore[attr-defined]


KEYS = st.one_of(st.binary(max_size=300), st.text(st.characters(exclude_categories=["Cs"]), max_size=100))
VALUES = st.one_of(KEYS, st.integers(), st.floats())


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, tuple[Any, ...]]:
    kind = draw(st.sampled_from(["get", "set", "delete", "execute"]))
    if kind == "execute":
        return kind, ("ECHO", *draw(st.lists(VALUES, max_size=20)))
    return kind, (draw(KEYS), draw(VALUES)) if kind == "set" else (draw(KEYS),)


def as_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else (value if isinstance(value, str) else repr(value)).encode()


def written(kind: str, arguments: tuple[Any, ...]) -> bytes:
    """The request as the test's own encoder has it."""
    words = [as_bytes(argument) for argument in arguments]
    makers: dict[str, Callable[..., bytes]] = {
        "get": frames.get,
        "set": frames.put,
        "delete": frames.delete,
        "execute": frames.command,
    }
    return makers[kind](*words)


@examples(100)
@given(st.lists(requests(), max_size=50))
def test_any_requests_one_behind_the_other(several: list[tuple[str, tuple[Any, ...]]]) -> None:
    x = exchange()
    pipeline = Requests(PIPELINED, MAX_REQUEST)
    for kind, arguments in several:
        getattr(pipeline, kind)(*arguments)
    if several:
        x.add(pipeline, Future[Any](), FOREVER)
    assert x.output() == b"".join(written(*request) for request in several)
    assert (len(pipeline), x.owing) == (len(several), len(several))
    pipeline.clear()
    assert (len(pipeline), x.owing) == (0, len(several))


def test_commands_that_change_a_connection_are_known() -> None:
    pipeline = Requests(PIPELINED, MAX_REQUEST)
    assert not pipeline.execute("SET", "select", "multi").stateful
    for words in (("SELECT", 1), (b"select", 1), (bytearray(b"Select"), 1), ("MULTI",), ("AUTH", "x"), ("RESET",)):
        assert pipeline.execute(*words).stateful, words
        pipeline.clear()
        assert not pipeline.stateful
    with pytest.raises(ArgumentError):
        pipeline.execute("SUBSCRIBE", "x")


# Answers

TREE = b"*2\r\n$1\r\na\r\n%1\r\n:1\r\n#t\r\n"
LONG = random.Random(1).randbytes(200_000)
ANSWERS: list[tuple[Make, bytes, Any]] = [
    (lambda x: x.get("k"), response(b"value"), b"value"),
    (lambda x: x.get("k"), response(b""), b""),
    (lambda x: x.get("k"), response(b"NOT_FOUND"), b"NOT_FOUND"),
    (lambda x: x.get("k"), NOT_FOUND, None),
    (lambda x: x.get("k"), response(LONG), LONG),
    (lambda x: x.get("k"), error(b"WRONGTYPE not a string"), (WrongTypeError, "WRONGTYPE not a string")),
    (lambda x: x.get("k"), error(b"NOT_AUTHORIZED"), (ResponseError, "NOT_AUTHORIZED")),
    (lambda x: x.get("k"), frame(frames.AUTH_ERR, b"INVALID_AUTH"), (AuthenticationError, "INVALID_AUTH")),
    (lambda x: x.set("k", "v"), OK, True),
    (lambda x: x.set("k", "v"), error(b"STORAGE_FAILURE"), (ResponseError, "STORAGE_FAILURE")),
    (lambda x: x.set("k", "v"), error(b"NOT_FOUND"), (ResponseError, "NOT_FOUND")),
    (lambda x: x.set("k", "v", nx=True), response(b"+OK\r\n"), True),
    (lambda x: x.set("k", "v", nx=True), response(b"_\r\n"), False),
    (lambda x: x.delete("k"), OK, None),
    (lambda x: x.ping(), PONGED, True),
    (lambda x: x.auth("", "p"), frame(frames.AUTH_OK, b"OK"), True),
    (lambda x: x.auth("", "p"), frame(frames.AUTH_ERR, b"INVALID_AUTH"), (AuthenticationError, "INVALID_AUTH")),
    (lambda x: x.execute("x"), response(TREE), [b"a", {1: True}]),
    (lambda x: x.execute("x"), response(b"$200000\r\n" + LONG + b"\r\n"), LONG),
    (lambda x: x.execute("x"), response(b"+WORD\r\n"), b"WORD"),
    (lambda x: x.execute("x"), response(b"_\r\n"), None),
    (lambda x: x.execute("x"), error(b"ERR " + b"x" * 70_000), (ResponseError, "ERR " + "x" * 70_000)),
    (lambda x: x.execute("SET", "k", "v"), response(b"+OK\r\n"), True),
    (lambda x: x.execute("Expire", "k", 1), response(b":1\r\n"), True),
    (lambda x: x.execute("EXPIRE", "k", 1), response(b"+QUEUED\r\n"), b"QUEUED"),
    (lambda x: x.execute("CONFIG", "get", "a"), response(b"%1\r\n$1\r\na\r\n$1\r\nb\r\n"), {"a": "b"}),
    (lambda x: x.execute("CONFIG GET", "a"), response(b"%1\r\n$1\r\na\r\n$1\r\nb\r\n"), {"a": "b"}),
]


def test_each_answer() -> None:
    for make, sent, wanted in ANSWERS:
        x = exchange()
        (future,) = ask(x, make)
        assert not x.idle
        receive(x, sent)
        assert outcome(future) == wanted, (sent[:50], wanted)
        assert x.idle


def test_cut_at_every_byte() -> None:
    for make, sent, wanted in ANSWERS:
        for cut in range(1, min(len(sent), 100)):
            x = exchange()
            (future,) = ask(x, make)
            receive(x, sent[:cut])
            assert not future.done() and not x.idle
            receive(x, sent[cut:])
            assert outcome(future) == wanted, (sent[:50], cut)


@examples(100)
@given(
    st.lists(st.sampled_from(range(len(ANSWERS))), min_size=1, max_size=30),
    st.lists(st.one_of(st.integers(1, 9), st.integers(1, 100_000)), max_size=200),
)
def test_any_answers_in_any_pieces(chosen: list[int], sizes: list[int]) -> None:
    x = exchange()
    futures = ask(x, *(ANSWERS[i][0] for i in chosen))
    receive(x, b"".join(ANSWERS[i][1] for i in chosen), sizes)
    assert [outcome(future) for future in futures] == [ANSWERS[i][2] for i in chosen]
    assert x.idle


def test_answers_to_a_pipeline() -> None:
    x = exchange()
    pipeline = Requests(PIPELINED, MAX_REQUEST).set("a", 1).get("a").execute("INCR", "a").delete("a")
    future: Future[list[Any]] = Future()
    (before,) = ask(x, lambda x: x.get("before"))
    x.add(pipeline, future, FOREVER)
    (after,) = ask(x, lambda x: x.get("after"))
    receive(x, response(b"1") + OK + response(b"1") + error(b"ERR no") + OK + NOT_FOUND)
    answers = future.result()
    assert answers[:2] == [True, b"1"] and repr(answers[2]) == "ResponseError('ERR no')" and answers[3] is None
    assert (before.result(), after.result()) == (b"1", None)


def test_a_cancelled_request_does_not_move_the_answers() -> None:
    x = exchange()
    futures = ask(x, *[lambda x: x.get("k")] * 5)
    assert futures[1].cancel() and futures[3].cancel()
    receive(x, b"".join(response(b"%d" % n) for n in range(5)))
    assert [f.result() for f in futures if not f.cancelled()] == [b"0", b"2", b"4"]


def test_an_error_of_one_leaves_the_rest() -> None:
    x = exchange()
    futures = ask(x, lambda x: x.get("a"), lambda x: x.execute("INCRBYFLOAT", "a", 1), lambda x: x.get("c"))
    receive(x, error(b"ERR a") + response(b"$1\r\nx\r\n") + response(b"c"))
    assert outcome(futures[0]) == (ResponseError, "ERR a")
    assert outcome(futures[1])[0] is ProtocolError  # no number, but all of the reply
    assert outcome(futures[2]) == b"c"


# What is no answer


@pytest.mark.parametrize(
    ("make", "received", "text"),
    [
        (lambda x: x.get("k"), b"\0\0\0\0\3", "empty or longer"),
        (lambda x: x.get("k"), b"\0\0\0\0", "empty or longer"),
        (lambda x: x.get("k"), b"\0\x40\0\1", "longer than 4194304 bytes: 00400001"),
        (lambda x: x.get("k"), b"HTTP/1.1 400 Bad Request\r\n\r\n", "48545450"),
        (lambda x: x.get("k"), b"-ERR unknown command\r\n", "empty or longer"),
        (lambda x: x.get("k"), frame(8), "type 8 where one of type 3"),
        (lambda x: x.get("k"), frame(255), "type 255"),
        (lambda x: x.get("k"), frame(frames.REQUEST, b"x" * 100)[:5], "type 2"),
        (lambda x: x.get("k"), PONGED, "type 1 where one of type 3"),
        (lambda x: x.ping(), OK, "type 3 where one of type 1"),
        (lambda x: x.get("k"), frame(frames.AUTH_OK, b"OK"), "type 5"),
        (lambda x: x.set("k", "v"), response(b"ok"), "where OK was to come"),
        (lambda x: x.delete("k"), response(b"value"), "where OK was to come"),
        (lambda x: x.execute("x"), response(b""), "not exactly one reply"),
        (lambda x: x.execute("x"), response(b":1\r\n:2\r\n"), "not exactly one reply"),
        (lambda x: x.execute("x"), response(b"$5\r\nab\r\n"), "not exactly one reply"),
        (lambda x: x.execute("x"), response(b"?\r\n"), "not a reply of RESP"),
        (lambda x: x.get("k"), OK + OK, "nobody has asked for"),
        (lambda x: x.get("k"), OK + error(b"ERR goodbye"), "the server says, unasked: ERR goodbye"),
    ],
)
def test_garbage(make: Make, received: bytes, text: str) -> None:
    x = exchange()
    ask(x, make)
    with pytest.raises(ProtocolError, match=text):
        receive(x, received)


def test_an_answer_before_the_request_is_sent() -> None:
    x = exchange()
    x.get("k")
    with pytest.raises(ProtocolError, match="nobody has asked for"):
        receive(x, OK)


@examples(300)
@given(
    st.lists(st.sampled_from(range(len(ANSWERS))), max_size=10),
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.sampled_from(range(len(ANSWERS))).map(lambda i: ANSWERS[i][1][:1000]),
            st.builds(frame, st.integers(0, 9), st.binary(max_size=30)),
        ),
        max_size=10,
    ),
    st.lists(st.integers(1, 50), max_size=50),
)
def test_noise_is_answers_or_an_error(chosen: list[int], noise: list[bytes], sizes: list[int]) -> None:
    """Whatever comes, no request gets two answers, and none that has come before an answer to an earlier one."""
    x = exchange()
    futures = ask(x, *(ANSWERS[i][0] for i in chosen))
    try:
        receive(x, b"".join(noise), sizes)
    except ProtocolError:
        pass
    done = [future.done() for future in futures]
    assert done == sorted(done, reverse=True)
    in_flight, unsent = x.abandon()
    assert len(in_flight) + sum(done) == len(futures) and not unsent


# Into buffers


def test_a_value_into_a_buffer() -> None:
    for size in (0, 1, 5, 1000, 65_531, 65_536, 200_000):
        value = LONG[:size]
        for buffer in (bytearray(size), bytearray(size + 7), memoryview(bytearray(size + 3)), array("B", bytes(size))):
            x = exchange()
            (future,) = ask(x, lambda x, buffer=buffer: x.get_into("k", Into(buffer)))  # type: ignore[misc]
            receive(x, response(value), [3])
            assert future.result() == size and bytes(buffer)[:size] == value and not any(bytes(buffer)[size:])
            assert x.idle


def test_it_is_received_where_it_stays() -> None:
    x = exchange()
    buffer = bytearray(len(LONG))
    (future,) = ask(x, lambda x: x.get_into("k", Into(buffer)))
    assert len(x.room()) == 5  # the head, and nothing that would have to be copied
    receive(x, response(LONG)[:5])
    room = x.room()
    assert len(room) == len(LONG)
    room[:3] = b"abc"
    assert buffer[:3] == b"abc"
    del room
    receive(x, response(LONG)[5:])
    assert future.result() == len(LONG) and buffer == LONG


def test_between_other_answers() -> None:
    for size in (4, 100, 200_000):
        for limit in (0, 4, 100, 200_000):
            x = exchange()
            buffer = bytearray(limit)
            first, into, last = ask(
                x, lambda x: x.get("a"), lambda x, b=buffer: x.get_into("k", Into(b)), lambda x: x.get("c")
            )
            receive(x, response(b"first") + response(LONG[:size]) + response(b"last"), [1, 2, 3, 5, 8, 13, 1000] * 3)
            assert (first.result(), last.result()) == (b"first", b"last")
            if size <= limit:
                assert into.result() == size and buffer[:size] == LONG[:size]
            else:
                failure = into.exception()
                assert isinstance(failure, BufferSizeError) and (failure.needed, failure.size) == (size, limit)
                assert not any(buffer)
            assert x.idle


def test_into_nothing() -> None:
    for received, wanted in (
        (NOT_FOUND, None),
        (error(b"WRONGTYPE x"), (WrongTypeError, "WRONGTYPE x")),
        (error(b"x" * 99_999), (ResponseError, "x" * 99_999)),
    ):
        x = exchange()
        buffer = bytearray(10)
        (future,) = ask(x, lambda x, b=buffer: x.get_into("k", Into(b)))  # type: ignore[misc]
        receive(x, received)
        assert outcome(future) == wanted and not any(buffer)


@pytest.mark.parametrize("before", [0, 3, 5, 6, 1000, 200_004])
def test_a_buffer_that_is_given_up_is_left_alone(before: int) -> None:
    """The rest of the value is thrown away, and the next answer is where it should be."""
    x = exchange()
    buffer = bytearray(len(LONG))
    into = Into(buffer)
    future, after = ask(x, lambda x: x.get_into("k", into), lambda x: x.get("k"))
    receive(x, response(LONG)[:before])
    future.cancel()
    into.release()
    buffer.clear()  # it is not held any more
    buffer += bytes(len(LONG))
    receive(x, response(LONG)[before:] + response(b"after"))
    assert after.result() == b"after" and not any(buffer) and x.idle


def test_a_buffer_that_is_being_received_into_is_held() -> None:
    x = exchange()
    buffer = bytearray(len(LONG))
    into = Into(buffer)
    ask(x, lambda x: x.get_into("k", into))
    receive(x, response(LONG)[:50])
    room = x.room()
    into.release()
    with pytest.raises(BufferError):
        buffer.clear()
    del room
    assert len(x.room()) == 65536


def test_what_is_no_buffer() -> None:
    for thing in (b"bytes", "text", 5, memoryview(bytearray(10))[::2]):
        with pytest.raises(DataError):
            Into(thing)  # type: ignore[arg-type]


# The end of a connection


def test_abandoned_requests_are_told_apart() -> None:
    x = exchange()
    answered, first = ask(x, lambda x: x.get("a"), lambda x: x.get("b"))
    pipelined: Future[Any] = Future()
    x.add(Requests(PIPELINED, MAX_REQUEST).get("c").get("d"), pipelined, 3.0)
    x.output()
    x.get("e")
    unsent: Future[Any] = Future()
    x.wait(unsent, 2.0)
    receive(x, response(b"a") + response(b"bbbb")[:7])
    assert x.next_deadline() == 2.0
    assert x.abandon() == ([(first, FOREVER), (pipelined, 3.0)], [(unsent, 2.0)])
    assert (answered.result(), x.owing, x.unsent, x.idle, x.next_deadline()) == (b"a", 0, 0, True, FOREVER)


def test_nothing_is_kept_alive() -> None:
    """Not what is owed, nor a value that has come in part."""
    import gc
    import weakref

    x = exchange()
    futures = ask(x, *[lambda x: x.get("k")] * 100)
    receive(x, response(LONG)[:100_000])
    watched = [weakref.ref(future) for future in futures]
    del x, futures
    gc.collect()
    assert not any(ref() for ref in watched)
