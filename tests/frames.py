"""Frames of the native protocol for tests: requests as bytes, and a raw connection that reads frames back.

`Native` is a Wire that carries commands in frames: `call` and `pipeline` send COMMAND, and a reply is given as RESP3
would have it, an ERROR frame as an error line. What a frame is, byte for byte, is for `read`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache

from servers import Server
from wire import Address, Arg, Closed, Wire, to_bytes, value

PING, PONG, REQUEST, RESPONSE, AUTH, AUTH_OK, AUTH_ERR, ERROR = range(8)
GET, SET, DELETE, COMMAND = 1, 2, 3, 32
TEXT_MAX = 65535  # bytes of an argument of COMMAND


def frame(kind: int, payload: bytes = b"") -> bytes:
    return struct.pack(">IB", len(payload) + 1, kind) + payload


def request(op: int, key: bytes = b"", value: bytes = b"", ttl: int = 0) -> bytes:
    return frame(REQUEST, struct.pack(">BHq", op, len(key), ttl) + key + value)


def get(key: bytes) -> bytes:
    return request(GET, key)


def put(key: bytes, value: bytes, ttl: int = 0) -> bytes:
    return request(SET, key, value, ttl)


def delete(key: bytes) -> bytes:
    return request(DELETE, key)


def text(data: bytes) -> bytes:
    return struct.pack(">H", len(data)) + data


def argument_list(*args: Arg) -> bytes:
    return struct.pack(">H", len(args)) + b"".join(text(to_bytes(arg)) for arg in args)


def command(*args: Arg) -> bytes:
    return request(COMMAND, b"", argument_list(*args))


def auth(user: bytes, password: bytes) -> bytes:
    return frame(AUTH, text(user) + text(password))


def response(payload: bytes) -> bytes:
    return frame(RESPONSE, payload)


def error(code: bytes) -> bytes:
    return frame(ERROR, code)


OK = response(b"OK")
PONGED = frame(PONG)
NOT_FOUND = error(b"NOT_FOUND")


class Native(Wire):
    """One connection of the native protocol."""

    def read(self, size: int) -> bytes:
        """So many bytes. Closed: there were fewer."""
        data = self.input.read(size)
        if len(data) < size:
            raise Closed(data)
        return data

    def frame(self) -> tuple[int, bytes]:
        """The type and the payload of the next frame."""
        size, kind = struct.unpack(">IB", self.read(5))
        return kind, self.read(size - 1)

    def ask(self, data: bytes) -> tuple[int, bytes]:
        self.send(data)
        return self.frame()

    def reply(self) -> bytes:
        try:
            kind, payload = self.frame()
        except ConnectionError as e:
            raise Closed(b"") from e
        assert kind in (RESPONSE, ERROR), (kind, payload)
        return b"-" + payload + b"\r\n" if kind == ERROR else payload

    def encode(self, *args: Arg) -> bytes:
        return command(*args)


@dataclass(frozen=True)
class Door:
    """Where native clients connect."""

    address: Address

    def connect(self, timeout: float = 30) -> Native:
        return Native(self.address, timeout)


def door(server: Server) -> Door:
    """The native one of a running server."""
    return beside(server.address)


@cache
def beside(address: Address) -> Door:
    with Wire(address) as wire:
        native: str = value(wire.call("CONFIG", "GET", "addr"))[1]
    host, _, port = native.rpartition(":")
    return Door((host, int(port)))
