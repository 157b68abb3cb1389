"""What is no request: Redis's exact words, then that connection closes, and nothing else is touched."""

from __future__ import annotations

import pytest
from protocol.streams import exchange, pieces
from servers import PROTO_MAX_BULK, Server
from wire import encode

PING = b"*1\r\n$4\r\nPING\r\n"
SENT = b"*2\r\n$3\r\nGET\r\n"
LIMIT = 64 * 1024  # of a line that has no end yet

MULTIBULK_LENGTH = b"-ERR Protocol error: invalid multibulk length\r\n"
BULK_LENGTH = b"-ERR Protocol error: invalid bulk length\r\n"
QUOTES = b"-ERR Protocol error: unbalanced quotes in request\r\n"

# The answer to each is Redis's; it stands here too, so that the table tells what Redis does.
ERRORS: dict[bytes, bytes] = {
    b"*abc\r\n": MULTIBULK_LENGTH,
    b"*\r\n": MULTIBULK_LENGTH,
    b"*1x\r\n": MULTIBULK_LENGTH,
    b"*+1\r\n": MULTIBULK_LENGTH,
    b"*-0\r\n": MULTIBULK_LENGTH,
    b"*01\r\n": MULTIBULK_LENGTH,
    b"* 1\r\n": MULTIBULK_LENGTH,
    b"*1 \r\n": MULTIBULK_LENGTH,
    b"*0x1\r\n": MULTIBULK_LENGTH,
    b"*2147483648\r\n": MULTIBULK_LENGTH,
    b"*9223372036854775807\r\n": MULTIBULK_LENGTH,
    b"*9223372036854775808\r\n": MULTIBULK_LENGTH,
    b"*18446744073709551617\r\n": MULTIBULK_LENGTH,
    b"*-9223372036854775809\r\n": MULTIBULK_LENGTH,
    b"*1\r\nx\r\n": b"-ERR Protocol error: expected '$', got 'x'\r\n",
    b"*1\r\nPING\r\n": b"-ERR Protocol error: expected '$', got 'P'\r\n",
    b"*1\r\n:4\r\n": b"-ERR Protocol error: expected '$', got ':'\r\n",
    b"*1\r\n\r\n": b"-ERR Protocol error: expected '$', got ' '\r\n",
    b"*1\r\n\xff\r\n": b"-ERR Protocol error: expected '$', got '\xff'\r\n",
    b"*1\r\n'\r\n": b"-ERR Protocol error: expected '$', got '''\r\n",
    b"*1\r\n$\r\n": BULK_LENGTH,
    b"*1\r\n$abc\r\n": BULK_LENGTH,
    b"*1\r\n$-1\r\n": BULK_LENGTH,
    b"*1\r\n$+4\r\n": BULK_LENGTH,
    b"*1\r\n$04\r\n": BULK_LENGTH,
    b"*1\r\n$4 \r\n": BULK_LENGTH,
    b"*1\r\n$%d\r\n" % (PROTO_MAX_BULK + 1): BULK_LENGTH,
    b"*1\r\n$4294967300\r\n": BULK_LENGTH,
    b"*1\r\n$9223372036854775807\r\n": BULK_LENGTH,
    b"*1\r\n$18446744073709551620\r\n": BULK_LENGTH,
    SENT + b"$x\r\n": BULK_LENGTH,
    b'"\r\n': QUOTES,
    b"'\r\n": QUOTES,
    b'PING "x\r\n': QUOTES,
    b"PING 'x\r\n": QUOTES,
    b'PING "x"y\r\n': QUOTES,
    b"PING 'x'y\r\n": QUOTES,
    b'PING x"y\r\n': QUOTES,
    b'PING "x\\"\r\n': QUOTES,
    b"a" * (LIMIT + 1): b"-ERR Protocol error: too big inline request\r\n",
    b"*" + b"1" * LIMIT: b"-ERR Protocol error: too big mbulk count string\r\n",
    b"*1\r\n$" + b"1" * LIMIT: b"-ERR Protocol error: too big bulk count string\r\n",
}
# Complete as far as they go, or odd and still right. Not closed for what they hold.
ACCEPTED: dict[bytes, bytes] = {
    b"*2147483647\r\n": b"",
    b"*1\r\n$%d\r\n" % PROTO_MAX_BULK: b"",
    b"a" * LIMIT: b"",
    b"*" + b"1" * (LIMIT - 1): b"",
    b"*1\r\n$" + b"1" * (LIMIT - 1): b"",
    b"*1\r": b"",
    b"*0\r\n*-1\r\n*-5\r\n*-9223372036854775808\r\n" + PING: b"+PONG\r\n",
    b"*1\rX$4\rXPING\r\n": b"+PONG\r\n",  # what follows a CR is taken for LF
    b"*1\r\n$4\r\nPINGxx" + PING: b"+PONG\r\n+PONG\r\n",  # as is what follows an argument
    b"*1\r\n$0\r\n\r\n": b"-ERR unknown command '', with args beginning with: \r\n",
    b"*2\r\n$0\r\n\r\n$1\r\nx\r\n": b"-ERR unknown command '', with args beginning with: 'x' \r\n",
    b"\r\n\n \n\t\r\n" + PING: b"+PONG\r\n",
}
INLINE: dict[bytes, bytes] = {
    b"PING\n": b"+PONG\r\n",
    b"ping\r\n": b"+PONG\r\n",
    b"  PING  \r\n": b"+PONG\r\n",
    b"\x0b\x0c\tPING\t\r\n": b"+PONG\r\n",
    b"ECHO x\x0b\x0c\r\n": b"$3\r\nx\x0b\x0c\r\n",
    b"PING\r\r\n": b"+PONG\r\n",
    b"ECHO \x01\xff\r\n": b"$2\r\n\x01\xff\r\n",
    b"ECHO $5\r\n": b"$2\r\n$5\r\n",
    b"ECHO ''\r\n": b"$0\r\n\r\n",
    b'ECHO ""\r\n': b"$0\r\n\r\n",
    b"ECHO a'b'\r\n": b"$2\r\nab\r\n",
    b'ECHO a"b c"\r\n': b"$4\r\nab c\r\n",
    b"ECHO 'it\\'s'\r\n": b"$4\r\nit's\r\n",
    b"ECHO 'a\\nb\\c'\r\n": b"$6\r\na\\nb\\c\r\n",
    b'ECHO "\\n\\r\\t\\b\\a\\\\\\""\r\n': b'$7\r\n\n\r\t\b\a\\"\r\n',
    b'ECHO "\\x00\\xfF\\x0d\\x0a"\r\n': b"$4\r\n\0\xff\r\n\r\n",
    b'ECHO "\\x4\\xzz\\q"\r\n': b"$6\r\nx4xzzq\r\n",
    b"'ECHO' x\r\n": b"$1\r\nx\r\n",
    b"ECHO\r\n": b"-ERR wrong number of arguments for 'echo' command\r\n",
    b"MSET " + b" ".join(b"k%d v" % i for i in range(5000)) + b"\r\n": b"+OK\r\n",
    b"SET key '" + b"x" * 60000 + b"'\r\nSTRLEN key\r\n": b"+OK\r\n:60000\r\n",
    b"nosuch 'a b'\r\n": b"-ERR unknown command 'nosuch', with args beginning with: 'a b' \r\n",
}
HTTP = [b"POST / HTTP/1.1\r\n", b"Host: 127.0.0.1\r\n", encode("post", "/"), encode("host:", "a")]


def named(table: dict[bytes, bytes]) -> list[object]:
    return [pytest.param(*item, id=repr(item[0][:24])[2:-1] + f" ({len(item[0])})") for item in table.items()]


@pytest.mark.parametrize(("data", "answer"), named(ERRORS))
def test_error(data: bytes, answer: bytes, server: Server, redis: Server) -> None:
    for each in (redis, server):
        with each.connect(10) as bystander, each.connect(10) as wire:
            assert bystander.call("SET", "k", "before") == b"+OK\r\n"
            wire.send(PING + data)
            assert wire.rest() == b"+PONG\r\n" + answer  # the server closes of its own accord
            assert bystander.call("GET", "k") == b"$6\r\nbefore\r\n"


@pytest.mark.parametrize("data", [data for data in ERRORS if len(data) < 100], ids=repr)
def test_error_byte_by_byte(data: bytes, server: Server) -> None:
    assert exchange(server, pieces(data, range(len(data))), 0.0002) == ERRORS[data]


@pytest.mark.parametrize("data", [data for data in ERRORS if len(data) < 100], ids=repr)
def test_nothing_behind_an_error_is_done(data: bytes, server: Server) -> None:
    with server.connect() as witness:
        witness.call("SET", "k", "before")
        assert exchange(server, [data + encode("SET", "k", "after")]) == ERRORS[data]
        assert witness.call("GET", "k") == b"$6\r\nbefore\r\n"


@pytest.mark.parametrize(("data", "answer"), named(ACCEPTED))
def test_accepted(data: bytes, answer: bytes, server: Server, redis: Server) -> None:
    assert exchange(redis, [data]) == answer
    assert exchange(server, [data]) == answer


@pytest.mark.parametrize(("data", "answer"), named(INLINE))
def test_inline(data: bytes, answer: bytes, server: Server, redis: Server) -> None:
    assert exchange(redis, [data]) == answer
    assert exchange(server, [data]) == answer
    if len(data) < 100:
        assert exchange(server, pieces(data, range(len(data))), 0.0002) == answer


@pytest.mark.parametrize("data", HTTP, ids=repr)
def test_a_browser_gets_no_answer(data: bytes, server: Server, redis: Server) -> None:
    """A page can make a browser send requests to its own machine: the first line that looks like HTTP ends that."""
    for each in (redis, server):
        with each.connect(10) as wire:
            wire.send(data + PING)
            assert wire.rest() == b""


def test_an_unfinished_request_waits(server: Server) -> None:
    with server.connect(0.3) as wire:
        wire.send(b"*1\r\n$%d\r\n" % PROTO_MAX_BULK)
        with pytest.raises(TimeoutError):
            wire.reply()


def test_an_error_in_a_pipeline_comes_after_all_replies_before_it(server: Server) -> None:
    count = 20_000
    with server.connect() as wire, wire.sending(PING * count + b"*1\r\n$x\r\n"):
        assert wire.rest() == b"+PONG\r\n" * count + BULK_LENGTH
