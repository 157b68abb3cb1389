"""What Engine.execute answers: replies as redis-py returns them by default, for each command its own conversion.

A reply comes as protocol.decode makes it: a server's word ("OK") as str, data as bytes. Commands without a conversion
answer just that, words as bytes too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tellstone._core.protocol.decode import Decoder

Converter = Callable[[Any], Any]

# Fields of CLIENT INFO that are numbers in redis-py; CLIENT LIST leaves them as text.
CLIENT_NUMBERS = (
    *("id", "age", "idle", "db", "sub", "psub", "multi", "qbuf", "qbuf-free", "obl", "argv-mem", "oll", "omem"),
    "tot-mem",
)


def text(value: bytes | str) -> str:
    """A bulk or a word as str."""
    return value if isinstance(value, str) else value.decode(errors="surrogateescape")


def text_or_none(reply: Any) -> str | None:
    """A text that may be missing."""
    return None if reply is None else text(reply)


def text_list(reply: Any) -> list[str]:
    """Several texts."""
    return [text(value) for value in reply]


def plain(reply: Any) -> Any:
    """Words as bytes, everything else as it is."""
    return reply.encode(errors="surrogateescape") if isinstance(reply, str) else reply


def ok(reply: Any) -> Any:
    """True for OK. Data is not the word: SET with GET may answer a value that reads OK."""
    return True if reply == "OK" else plain(reply)


def ping(reply: Any) -> Any:
    """True for PONG; a message of the caller's comes back."""
    return True if reply == "PONG" else reply


def scan(reply: Any) -> tuple[int, list[bytes]]:
    """The cursor as a number, and the keys."""
    return int(reply[0]), reply[1]


def time(reply: Any) -> tuple[int, int]:
    """Seconds and microseconds."""
    return int(reply[0]), int(reply[1])


def hello(reply: Any) -> dict[bytes, Any]:
    """A map, also after HELLO 2, which answers a row of names and values."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))


def texts(reply: Any) -> dict[str, str]:
    """A map of texts."""
    return {text(name): text(value) for name, value in reply.items()}


def info_value(value: str) -> Any:
    """A number, a text, or `name=value` pairs as a dict."""
    if "=" in value:
        pairs = (item.rpartition("=") for item in value.split(",") if item)
        return {name or item: info_value(item) if name else True for name, _, item in pairs}
    if "," in value:
        return [info_value(item) for item in value.split(",") if item]
    try:
        return float(value) if "." in value else int(value)
    except ValueError:
        return value


def info(reply: Any) -> dict[str, Any]:
    """The fields of INFO, of all its sections."""
    lines = (line.partition(":") for line in text(reply).splitlines() if line and not line.startswith("#"))
    return {name: info_value(value) for name, _, value in lines}


def client_fields(line: str) -> dict[str, str]:
    """A client's line. An address may hold blanks, so a word without `=` belongs to the value before it."""
    client: dict[str, str] = {}
    name = ""
    for word in line.split(" "):
        before, found, after = word.partition("=")
        if found:
            name = before
            client[name] = after
        else:
            client[name] += f" {word}"
    return client


def client_list(reply: Any) -> list[dict[str, str]]:
    """The lines of CLIENT LIST."""
    return [client_fields(line) for line in text(reply).splitlines()]


def client_info(reply: Any) -> dict[str, Any]:
    """The line of CLIENT INFO."""
    client: dict[str, Any] = client_fields(text(reply).rstrip("\n"))
    return client | {name: int(client[name]) for name in CLIENT_NUMBERS if name in client}


def commands(reply: Any) -> dict[str, dict[str, Any]]:
    """Facts about commands by name; unknown ones are left out."""
    facts = {}
    for row in filter(None, reply):
        name = text(row[0])
        facts[name] = {
            "name": name,
            "arity": row[1],
            "flags": text_list(row[2]),
            "first_key_pos": row[3],
            "last_key_pos": row[4],
            "step_count": row[5],
            "acl_categories": text_list(row[6]),
            "tips": row[7],
            "key_specifications": row[8],
            "subcommands": row[9],
        }
    return facts


def slow_calls(reply: Any) -> list[dict[str, Any]]:
    """The calls of SLOWLOG GET."""
    names = ("id", "start_time", "duration", "command", "client_address", "client_name")
    return [dict(zip(names, call, strict=True)) | {"command": b" ".join(call[3])} for call in reply]


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(("auth", "flushall", "flushdb", "mset", "quit", "rename", "select", "set", "swapdb"), ok),
    **dict.fromkeys(("client|kill", "client|setinfo", "client|setname", "config|resetstat", "config|set"), ok),
    **dict.fromkeys(("expire", "expireat", "pexpire", "pexpireat", "persist"), bool),
    **dict.fromkeys(("move", "msetnx", "renamenx", "setnx"), bool),
    **dict.fromkeys(("psetex", "setex"), ok),
    **dict.fromkeys(("client|getname", "reset"), text_or_none),
    "client|info": client_info,
    "client|list": client_list,
    **dict.fromkeys(("command", "command|info"), commands),
    "command|getkeys": text_list,
    "config|get": texts,
    "hello": hello,
    "incrbyfloat": float,
    "info": info,
    "ping": ping,
    "scan": scan,
    "slowlog|get": slow_calls,
    "slowlog|reset": ok,
    "time": time,
}


def decoded(data: bytes) -> Any:
    """The value of one reply's bytes; None where there is no reply."""
    decoder = Decoder()
    decoder.feed(data)
    return next(decoder, None)
