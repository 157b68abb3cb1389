"""The native protocol once more, in plain Python over dicts: what a server sends for the bytes of one connection.

It knows the commands that the fuzzer sends. For others, and for lifetimes that may end while a test runs, it raises
Unknown: what it has said up to there still holds.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from frames import AUTH, AUTH_ERR, AUTH_OK, COMMAND, DELETE, GET, PING, PONG, REQUEST, SET, error, frame, response
from net.serving import CONTROL_REPLY

SOON = 10_000_000  # ms; a lifetime below may end during a test
NULL = b"_\r\n"


class Unknown(Exception):
    """The model has no answer to this."""


class Broken(Exception):
    """This is no frame."""


def bulk(data: bytes | None) -> bytes:
    return NULL if data is None else b"$%d\r\n%s\r\n" % (len(data), data)


def taken(data: bytes, count: int) -> tuple[list[bytes], bytes]:
    """So many texts off the front of the data, and what is behind them."""
    found = []
    for _ in range(count):
        end = 2 + int.from_bytes(data[:2], "big")
        if len(data) < 2 or len(data) < end:
            raise Broken
        found.append(data[2:end])
        data = data[end:]
    return found, data


def arguments(data: bytes, count: int) -> list[bytes]:
    found, rest = taken(data, count)
    if rest:
        raise Broken
    return found


@dataclass
class Model:
    """One connection on a database of its own."""

    values: dict[bytes, bytes] = field(default_factory=dict)
    most: int = 1 << 20  # --max-msg-size
    sent: bytes = b""  # so far
    closed: bool = False
    silent: str = ""  # of CLIENT REPLY: "off", "skip" before and "skipping" during the command that says nothing

    def connection(self) -> Model:
        """Another one, on the same data."""
        return Model(self.values, self.most)

    def feed(self, data: bytes) -> None:
        """Everything that a client sends before it ends; what is no whole frame at the end does nothing."""
        while not self.closed and len(data) >= 4:
            size = int.from_bytes(data[:4], "big")
            if not 1 <= size <= self.most:
                self.closed = True
            elif len(data) < 4 + size:
                return
            else:
                self.take(data[4], data[5 : 4 + size])
            data = data[4 + size :]

    def take(self, kind: int, payload: bytes) -> None:
        try:
            if kind == PING:
                self.say(frame(PONG))
            elif kind == AUTH:
                user, _ = arguments(payload, 2)
                granted = user in (b"", b"default")
                self.say(frame(AUTH_OK, b"OK") if granted else frame(AUTH_ERR, b"INVALID_AUTH"))
            elif kind == REQUEST:
                self.request(payload)
            else:
                raise Broken
        except Broken:
            self.closed = True

    def say(self, reply: bytes) -> None:
        """A frame, or nothing; nobody hears it while replies are off."""
        if self.silent not in ("off", "skipping"):
            self.sent += reply
        self.silent = {"skip": "skipping", "skipping": ""}.get(self.silent, self.silent)

    def request(self, payload: bytes) -> None:
        if len(payload) < 11:
            raise Broken
        op, length, ttl = struct.unpack(">BHq", payload[:11])
        if len(payload) < 11 + length:
            raise Broken
        key, value = payload[11 : 11 + length], payload[11 + length :]
        if op == GET:
            found = self.values.get(key)
            self.say(error(b"NOT_FOUND") if found is None else response(found))
        elif op == SET:
            self.say(self.put(key, value, ttl))
        elif op == DELETE:
            self.values.pop(key, None)
            self.say(response(b"OK"))
        elif op == COMMAND:
            self.command(value)
        else:
            self.say(error(b"INVALID_OPCODE"))

    def put(self, key: bytes, value: bytes, ttl: int) -> bytes:
        if not key:
            return error(b"EMPTY_KEY")
        if ttl < 0 or ttl > 2**63 - 1 - int(time.time() * 1000):
            return error(b"ERR invalid expire time in 'set' command")
        if 0 < ttl < SOON:
            raise Unknown
        self.values[key] = value
        return response(b"OK")

    def command(self, value: bytes) -> None:
        if len(value) < 2:
            raise Broken
        words = arguments(value[2:], int.from_bytes(value[:2], "big"))
        if not words:
            self.say(error(b"ERR empty command"))
            return
        name = words[0].lower()
        if name not in COMMANDS:
            raise Unknown
        least, most, run = COMMANDS[name]
        if not least <= len(words) <= most:
            self.say(error(b"ERR wrong number of arguments for '%s' command" % name))
            return
        reply = run(self, words)
        self.say(error(reply[1:-2]) if reply[:1] == b"-" else response(reply) if reply else b"")

    # Commands: the reply in RESP3, from the words of the request

    def set(self, words: list[bytes]) -> bytes:
        if len(words) > 3:
            return b"-ERR syntax error\r\n"  # no option that there is
        self.values[words[1]] = words[2]
        return b"+OK\r\n"

    def get(self, words: list[bytes]) -> bytes:
        return bulk(self.values.get(words[1]))

    def mget(self, words: list[bytes]) -> bytes:
        return b"*%d\r\n" % (len(words) - 1) + b"".join(bulk(self.values.get(key)) for key in words[1:])

    def delete(self, words: list[bytes]) -> bytes:
        return b":%d\r\n" % sum(self.values.pop(key, None) is not None for key in words[1:])

    def exists(self, words: list[bytes]) -> bytes:
        return b":%d\r\n" % sum(key in self.values for key in words[1:])

    def append(self, words: list[bytes]) -> bytes:
        self.values[words[1]] = self.values.get(words[1], b"") + words[2]
        return b":%d\r\n" % len(self.values[words[1]])

    def incr(self, words: list[bytes]) -> bytes:
        old = self.values.get(words[1], b"0")
        if not old.isdigit() or str(int(old)).encode() != old or int(old) >= 2**63:
            return b"-ERR value is not an integer or out of range\r\n"
        self.values[words[1]] = b"%d" % (int(old) + 1)
        return b":%d\r\n" % (int(old) + 1)

    def quit(self, words: list[bytes]) -> bytes:
        self.closed = True
        return b"+OK\r\n"

    def client(self, words: list[bytes]) -> bytes:
        """CLIENT REPLY. SKIP takes effect behind itself, see `say`; nothing ends OFF but ON."""
        match [word.lower() for word in words[1:]]:
            case [b"reply", b"on"]:
                self.silent = ""
                return b"+OK\r\n"
            case [b"reply", b"off"]:
                self.silent = "off"
            case [b"reply", b"skip"]:
                self.silent = self.silent if self.silent == "off" else "skip"
            case _:
                raise Unknown
        return b""

    def config(self, words: list[bytes]) -> bytes:
        if len(words) < 3 or words[1].lower() != b"get":
            raise Unknown
        return CONTROL_REPLY


Handler = Callable[[Model, "list[bytes]"], bytes]
MANY = 1 << 16
COMMANDS: dict[bytes, tuple[int, int, Handler]] = {
    b"ping": (1, 2, lambda model, words: bulk(words[1]) if len(words) == 2 else b"+PONG\r\n"),
    b"echo": (2, 2, lambda model, words: bulk(words[1])),
    b"config": (1, MANY, Model.config),
    b"set": (3, MANY, Model.set),
    b"get": (2, 2, Model.get),
    b"mget": (2, MANY, Model.mget),
    b"del": (2, MANY, Model.delete),
    b"exists": (2, MANY, Model.exists),
    b"append": (3, 3, Model.append),
    b"incr": (2, 2, Model.incr),
    b"strlen": (2, 2, lambda model, words: b":%d\r\n" % len(model.values.get(words[1], b""))),
    b"client": (1, MANY, Model.client),
    b"monitor": (1, 1, lambda model, words: b"-ERR MONITOR is not available over the native protocol\r\n"),
    b"quit": (1, MANY, Model.quit),
}
