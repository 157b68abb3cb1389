"""Send the same requests to two servers and compare what comes back, byte for byte.

Where bytes cannot agree there is a rule by command: what is left of a lifetime may differ by the time the test took
(CLOSE); what tells about the process, the time or chance is compared by the types of its reply alone (SHAPE); some
replies promise no order (UNORDERED). Everything else has to be the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from frames import TEXT_MAX, Door
from servers import Server
from wire import Arg, Closed, Wire, in_order, shape, to_bytes

Request = Sequence[Arg]

CLOSED = b"(closed)"  # stands for the reply that did not come because the server closed the connection
DELIVERIES = ("one by one", "all at once", "byte by byte")
MOST_PIECES = 200  # of requests sent byte by byte; longer ones go in pieces of several bytes

# Greatest difference of two positive answers, in the unit of the answer.
CLOSE = {b"ttl": 3, b"expiretime": 3, b"pttl": 3000, b"pexpiretime": 3000, b"object idletime": 3}
SHAPE = {
    b"time",
    b"randomkey",
    b"hello",
    b"info",
    b"client id",
    b"client info",
    b"client list",
    b"command count",
    b"object help",
}
UNORDERED = {b"keys", b"scan"}
FOOTER = 12  # bytes at the end of DUMP's reply that tell of the server's version, CRLF included
KIND = {b"command", b"command list"}  # about all commands, of which Redis has more: just the kind of reply is compared
CONTAINERS = {b"client", b"command", b"config", b"object"}  # a rule for these names the subcommand too


@dataclass(frozen=True)
class Talk:
    """How requests are sent: protocol version 2 or 3, and one of DELIVERIES."""

    proto: int = 2
    delivery: str = "one by one"

    def run(self, server: Server, requests: Sequence[Request]) -> list[bytes]:
        """The replies on a fresh connection, after FLUSHALL; not for all requests if the server hung up."""
        with server.connect() as wire:
            assert wire.call("FLUSHALL") == b"+OK\r\n"
            if self.proto == 3:
                assert wire.call("HELLO", 3).startswith(b"%7\r\n")
            return self._replies(wire, requests)

    def run_in_frames(self, native: Door, requests: Sequence[Request]) -> list[bytes]:
        """The same over the native protocol, whose replies are those of RESP3."""
        with native.connect() as wire:
            assert wire.call("FLUSHALL") == b"+OK\r\n"
            return self._replies(wire, requests)

    def _replies(self, wire: Wire, requests: Sequence[Request]) -> list[bytes]:
        replies: list[bytes] = []
        requests = until_quit(requests)
        if requests and self.delivery != "one by one":
            deliver(wire, b"".join(wire.encode(*request) for request in requests), self.delivery)
        try:
            for request in requests:
                if self.delivery == "one by one":
                    wire.send(wire.encode(*request))
                replies.append(wire.reply())
        except (Closed, ConnectionError) as e:
            replies.append((e.args[0] if isinstance(e, Closed) else b"") + CLOSED)
        return replies


def deliver(wire: Wire, data: bytes, delivery: str) -> None:
    """Send the data at once, or a byte at a time."""
    size = len(data) if delivery == "all at once" else 1 + len(data) // MOST_PIECES
    with contextlib.suppress(ConnectionError):  # what the server said before it hung up is still to be read
        for i in range(0, len(data), size):
            wire.send(data[i : i + size])


def until_quit(requests: Sequence[Request]) -> Sequence[Request]:
    """Up to QUIT: what is unread when a server closes makes the system reset the connection; replies may be lost."""
    ends = [i for i, request in enumerate(requests) if command_of(request) == b"quit"]
    return requests[: ends[0] + 1] if ends else requests


def framed(requests: Sequence[Request]) -> Sequence[Request]:
    """Up to what frames do not carry, or what takes a connection of Redis back to RESP2."""
    for i, request in enumerate(requests):
        words = [to_bytes(arg) for arg in request]
        if any(len(word) > TEXT_MAX for word in words) or words[0].lower() == b"monitor":
            return requests[:i]
        if [word.lower() for word in words] == [b"reset"] or (command_of(request) == b"hello" and words[1:2] == [b"2"]):
            return requests[: i + 1]
    return requests


def command_of(request: Request) -> bytes:
    """The command's name in lower case, with its subcommand if it is a container."""
    words = [to_bytes(arg).lower() for arg in request[:2]]
    return b" ".join(words) if words[0] in CONTAINERS else words[0]


def same(request: Request, ours: bytes, theirs: bytes, unordered: bool = False) -> bool:
    """Whether two replies to a request agree, by the rule of its command."""
    if ours == theirs:
        return True
    if CLOSED in ours or CLOSED in theirs:
        return False
    command = command_of(request)
    if command in KIND or (command == b"scan" and not whole_scan(request, ours, theirs)):
        return ours[:1] == theirs[:1] != b"-"
    if command == b"dump":
        return ours[:-FOOTER] == theirs[:-FOOTER] != b""
    if command in SHAPE:
        return shape(ours) == shape(theirs)
    if command in CLOSE and ours[:1] == theirs[:1] == b":":
        a, b = int(ours[1:]), int(theirs[1:])
        return a > 0 and b > 0 and abs(a - b) <= CLOSE[command]
    return (unordered or command in UNORDERED) and in_order(ours) == in_order(theirs)


def whole_scan(request: Request, ours: bytes, theirs: bytes) -> bool:
    """Whether both servers went through all keys in one call; otherwise cursors, and what is behind them, differ."""
    return to_bytes(request[1]) == b"0" and all(reply.startswith(b"*2\r\n$1\r\n0\r\n") for reply in (ours, theirs))


def differences(
    requests: Sequence[Request], ours: Sequence[bytes], theirs: Sequence[bytes], unordered: bool = False
) -> list[str]:
    """One line for every reply that differs; empty if the servers agree."""
    found = []
    for i, request in enumerate(requests):
        a, b = (replies[i] if i < len(replies) else CLOSED for replies in (ours, theirs))
        if not same(request, a, b, unordered):
            found.append(f"{i}: {shown(request)}\n     tellstone {cut(a)!r}\n     redis     {cut(b)!r}")
    return found


def shown(request: Request) -> str:
    return " ".join(repr(cut(to_bytes(arg)))[1:] for arg in request)


def cut(data: bytes, most: int = 300) -> bytes:
    """For messages: what is too long to read, shortened."""
    return data if len(data) <= most else b"%s...(%d bytes)" % (data[:most], len(data))
