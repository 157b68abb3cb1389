"""Send what a file has to a running server, many commands at a time."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import BinaryIO

from tellstone.durability.entries import resp
from tellstone.errors import StartError
from tellstone.units import Address

BATCH_COMMANDS = 1000
BATCH_BYTES = 1024**2
ERRORS_KEPT = 10
PATIENCE = 60.0  # seconds without an answer


@dataclass
class Loaded:
    """What has come of it."""

    commands: int = 0
    expired: int = 0  # whose time had passed: not sent
    refused: int = 0
    errors: list[str] = field(default_factory=list)  # the first of them


def connect(address: Address) -> socket.socket:
    """A connection to a server. Raises StartError."""
    try:
        if address.path:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(PATIENCE)
            connection.connect(address.path)
            return connection
        return socket.create_connection((address.host or "localhost", address.port), PATIENCE)
    except OSError as error:
        raise StartError(f"{address}: {error.strerror or error}") from None


def is_over(command: list[bytes]) -> bool:
    """A SET whose deadline has passed, which a server would take as a DEL."""
    return len(command) == 5 and command[3] == b"PXAT" and int(command[4]) <= time.time() * 1000


def send(commands: Iterable[list[bytes]], address: Address, seen: Callable[[Loaded], None]) -> Loaded:
    """Send them all and count what was refused; `seen` is called after each batch. Raises StartError, FormatError."""
    loaded = Loaded()
    batch = bytearray()
    waiting = 0
    try:
        with contextlib.closing(connect(address)) as connection, connection.makefile("rb") as replies:
            for command in commands:
                if is_over(command):
                    loaded.expired += 1
                    continue
                batch += resp(command)
                waiting += 1
                if waiting == BATCH_COMMANDS or len(batch) >= BATCH_BYTES:
                    exchange(connection, replies, bytes(batch), waiting, loaded)
                    batch.clear()
                    waiting = 0
                    seen(loaded)
            exchange(connection, replies, bytes(batch), waiting, loaded)
            seen(loaded)
    except OSError as error:
        raise StartError(f"{address}: {error.strerror or error}") from None
    return loaded


def exchange(connection: socket.socket, replies: BinaryIO, batch: bytes, count: int, loaded: Loaded) -> None:
    """A batch of commands and their replies."""
    connection.sendall(batch)
    for _ in range(count):
        error = read_reply(replies)
        loaded.commands += 1
        if error is not None:
            loaded.refused += 1
            if len(loaded.errors) < ERRORS_KEPT:
                loaded.errors.append(error)


def read_reply(replies: BinaryIO) -> str | None:
    """One reply in RESP2; its text if it is an error."""
    line = replies.readline()
    if not line.endswith(b"\r\n"):
        raise ConnectionError("the server has closed the connection")
    kind, rest = line[:1], line[1:-2]
    if kind == b"-":
        return rest.decode(errors="replace")
    if kind == b"$" and int(rest) >= 0:
        replies.read(int(rest) + 2)
    elif kind == b"*":
        for _ in range(int(rest)):
            read_reply(replies)
    return None
