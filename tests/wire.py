"""A raw connection for tests: requests go out as bytes, replies come back as the very bytes the server sent.

A reply is one whole element of RESP2 or RESP3, nested ones included, and is not decoded: tests compare bytes. `tree`
takes a reply apart without losing a byte, `value` turns it into plain Python objects for tests that look inside.
"""

from __future__ import annotations

import contextlib
import io
import socket
import threading
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

Arg: TypeAlias = "bytes | str | int"
Address: TypeAlias = "tuple[str, int] | str"  # host and port, or the path of a unix socket
Tree: TypeAlias = "bytes | tuple[bytes, list[Tree]]"  # a leaf as sent, or the header of an aggregate and its elements

AGGREGATES = b"*~>%|"


class Closed(Exception):
    """The server has closed the connection; holds what it sent since the last whole reply."""


def to_bytes(arg: Arg) -> bytes:
    return arg if isinstance(arg, bytes) else str(arg).encode()


def encode(*args: Arg) -> bytes:
    """A request as an array of bulk strings."""
    parts = [b"*%d\r\n" % len(args)]
    for arg in map(to_bytes, args):
        parts += (b"$%d\r\n" % len(arg), arg, b"\r\n")
    return b"".join(parts)


class Wire:
    """One connection. Every wait is bounded by the timeout, in seconds, and ends in TimeoutError."""

    def __init__(self, address: Address, timeout: float = 30) -> None:
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(address)
        else:
            self.socket = socket.create_connection(address, timeout)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.input = io.BufferedReader(self.socket.makefile("rb", buffering=0), 1 << 16)

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self.input.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def reply(self) -> bytes:
        """The next whole reply."""
        parts: list[bytes] = []
        missing = 1
        try:
            while missing:
                line = self.input.readline()
                parts.append(line)
                if not line.endswith(b"\n"):
                    raise Closed(b"".join(parts))
                missing -= 1
                if line[0] in b"$!=" and not line.startswith(b"$-"):
                    length = int(line[1:]) + 2
                    data = self.input.read(length)
                    parts.append(data)
                    if len(data) < length:
                        raise Closed(b"".join(parts))
                elif line[0] in AGGREGATES:
                    missing += elements(line)
        except ConnectionError as e:
            raise Closed(b"".join(parts)) from e
        return b"".join(parts)

    def encode(self, *args: Arg) -> bytes:
        """A request as this connection sends it."""
        return encode(*args)

    def call(self, *args: Arg) -> bytes:
        self.send(self.encode(*args))
        return self.reply()

    def pipeline(self, requests: Iterable[Sequence[Arg]]) -> list[bytes]:
        """Send all requests at once, reading meanwhile, however much that is."""
        requests = list(requests)
        with self.sending(b"".join(self.encode(*request) for request in requests)):
            return [self.reply() for _ in requests]

    @contextlib.contextmanager
    def sending(self, data: bytes) -> Any:
        """Send from another thread while the block reads, so that neither side waits for the other."""
        thread = threading.Thread(target=self._send_quietly, args=[data])
        thread.start()
        try:
            yield
        finally:
            thread.join()

    def _send_quietly(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # the reading side sees the close
            self.socket.sendall(data)

    def finish(self) -> bytes:
        """Say that nothing more comes from here; everything the server still sends."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
        return self.rest()

    def rest(self) -> bytes:
        """Everything until the server closes. A reset counts as a close; what came before it is kept."""
        parts = []
        with contextlib.suppress(ConnectionError):
            while data := self.input.read1():
                parts.append(data)
        return b"".join(parts)


def elements(header: bytes) -> int:
    """How many elements follow the header of an aggregate; those of an attribute include the reply behind it."""
    count = max(int(header[1:]), 0)
    return 2 * count + (header[:1] == b"|") if header[:1] in b"%|" else count


def tree(raw: bytes) -> Tree:
    """A reply taken apart."""
    found, end = _tree_at(raw, 0)
    assert end == len(raw), raw
    return found


def _tree_at(raw: bytes, at: int) -> tuple[Tree, int]:
    end = raw.index(b"\r\n", at) + 2
    header = raw[at:end]
    if header[0] in b"$!=" and not header.startswith(b"$-"):
        end += int(header[1:]) + 2
        return raw[at:end], end
    if header[0] not in AGGREGATES:
        return header, end
    inside: list[Tree] = []
    for _ in range(elements(header)):
        element, end = _tree_at(raw, end)
        inside.append(element)
    return (header, inside), end


def joined(node: Tree) -> bytes:
    """The bytes that a tree was made of."""
    return node if isinstance(node, bytes) else node[0] + b"".join(map(joined, node[1]))


def in_order(raw: bytes) -> bytes:
    """The reply with the elements of every aggregate sorted: equal for replies that differ in order alone."""
    return _in_order(tree(raw))


def _in_order(node: Tree) -> bytes:
    if isinstance(node, bytes):
        return node
    header, inside = node
    inside_sorted = [_in_order(element) for element in inside]
    if header[:1] in b"%|":
        inside_sorted = [key + value for key, value in zip(inside_sorted[::2], inside_sorted[1::2], strict=True)]
    return header + b"".join(sorted(inside_sorted))


def shape(raw: bytes) -> bytes:
    """The types of a reply without its contents: equal for replies that differ in their texts and numbers alone."""
    return _shape(tree(raw))


def _shape(node: Tree) -> bytes:
    if isinstance(node, bytes):
        return node if node.startswith((b"$-1", b"*-1", b"_", b"-")) else node[:1]
    return node[0] + b"".join(map(_shape, node[1]))


def value(raw: bytes) -> Any:
    """A reply as Python objects: str, int, None, list, dict. An error raises ValueError."""
    return _value(tree(raw))


def _value(node: Tree) -> Any:
    if isinstance(node, tuple):
        header, inside = node
        if header.startswith(b"*-"):
            return None
        plain = [_value(element) for element in inside]
        return dict(zip(plain[::2], plain[1::2], strict=True)) if header[:1] == b"%" else plain
    kind, rest = node[:1], node[1:-2]
    if kind in b"$=" and not rest.startswith(b"-"):
        text = rest.partition(b"\r\n")[2].decode("latin-1")
        return text[4:] if kind == b"=" else text
    if kind in b":(":
        return int(rest)
    if kind in b"$_":
        return None
    if kind in b"-!":
        raise ValueError(rest.decode("latin-1"))
    return rest.decode("latin-1")
