r"""Keys with their values as files carry them elsewhere: RESP, JSON and CSV, written and read.

    resp    the commands that make them, as a client would send them: SELECT, SET with PXAT
    json    an array, one object a line: {"db": 0, "key": "k", "type": "string", "value": "v", "expires_at_ms": 1}
    csv     columns db, key, type, value, expires_at_ms

Keys and values are bytes. JSON has them as text where they are UTF-8, else as {"base64": "..."}. CSV has UTF-8 as it
is, and everything else, control characters and the backslash as escapes of a byte: \x00 to \xff.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from tellstone._core.store.keyspace import Store
from tellstone.commands import Commands

DATABASES = 16
SCAN_COUNT = 1000
COLUMNS = ("db", "key", "type", "value", "expires_at_ms")
ESCAPE = re.compile(r"\\x([0-9a-f]{2})")
UNPRINTED = re.compile(r"[\x00-\x1f\x7f\\]")
LINE_MOST = 2 * 512 * 1024**2  # bytes of a line of a command: no argument is longer


class FormatError(ValueError):
    """A file is not what it seemed to be. The text says where."""


@dataclass(frozen=True)
class Entry:
    """A key and what it holds."""

    db: int
    key: bytes
    type: str
    value: bytes
    expires_at_ms: int | None = None

    def command(self) -> list[bytes]:
        """What makes it, in its database."""
        words = [b"SET", self.key, self.value]
        return words if self.expires_at_ms is None else [*words, b"PXAT", b"%d" % self.expires_at_ms]


def entries_of(store: Store) -> Iterator[Entry]:
    """Everything in a store that nobody changes."""
    commands = Commands(store)
    for db, (keys, _) in enumerate(store.sizes()):
        cursor = 0
        commands.execute(("SELECT", db))
        while keys:
            cursor, batch = commands.execute(("SCAN", cursor, "COUNT", SCAN_COUNT))
            values = commands.execute(("MGET", *batch)) if batch else []
            for key, value in zip(batch, values, strict=True):
                deadline = commands.execute(("PEXPIRETIME", key))
                yield Entry(db, key, "string", value, None if deadline < 0 else deadline)
            if int(cursor) == 0:
                break


# Writing --------------------------------------------------------------------------------------------------------


def resp(words: Iterable[bytes]) -> bytes:
    """A command as clients send it."""
    parts = [b"$%d\r\n%b\r\n" % (len(word), word) for word in words]
    return b"*%d\r\n%b" % (len(parts), b"".join(parts))


def write_resp(entries: Iterable[Entry]) -> Iterator[bytes]:
    """As commands."""
    db = 0
    for entry in entries:
        if entry.db != db:
            db = entry.db
            yield resp([b"SELECT", b"%d" % db])
        yield resp(entry.command())


def json_bytes(data: bytes) -> str | dict[str, str]:
    """Bytes as JSON has them."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def write_json(entries: Iterable[Entry]) -> Iterator[bytes]:
    """As an array, a line each."""
    before = b"["
    for entry in entries:
        fields: dict[str, Any] = {"db": entry.db, "key": json_bytes(entry.key), "type": entry.type}
        fields["value"] = json_bytes(entry.value)
        if entry.expires_at_ms is not None:
            fields["expires_at_ms"] = entry.expires_at_ms
        yield before + b"\n" + json.dumps(fields, ensure_ascii=False).encode()
        before = b","
    yield b"\n]\n" if before == b"," else b"[]\n"


def escaped(data: bytes) -> str:
    """Bytes as CSV has them."""
    text = data.decode(errors="surrogateescape")
    text = UNPRINTED.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
    return re.sub("[\udc80-\udcff]", lambda match: f"\\x{ord(match[0]) - 0xDC00:02x}", text)


def write_csv(entries: Iterable[Entry]) -> Iterator[bytes]:
    """As rows, with a first one that names the columns."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for entry in entries:
        deadline = "" if entry.expires_at_ms is None else entry.expires_at_ms
        writer.writerow([entry.db, escaped(entry.key), entry.type, escaped(entry.value), deadline])
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()


WRITERS: dict[str, Callable[[Iterable[Entry]], Iterator[bytes]]] = {
    "resp": write_resp,
    "json": write_json,
    "csv": write_csv,
}


# Reading: commands to send, in order ----------------------------------------------------------------------------


def read_line(file: BinaryIO, mark: bytes) -> int | None:
    """The number behind a mark, or None at the end of the file."""
    line = file.readline(32)
    if not line:
        return None
    if not re.fullmatch(rb"[*$][0-9]{1,10}\r\n", line) or line[:1] != mark:
        raise FormatError(f"no command in RESP before byte {file.tell()}")
    return int(line[1:])


def read_resp(file: BinaryIO) -> Iterator[list[bytes]]:
    """Commands as they stand."""
    while (count := read_line(file, b"*")) is not None:
        words = []
        for _ in range(count):
            size = read_line(file, b"$")
            if size is None or size > LINE_MOST:
                raise FormatError(f"the command that ends at byte {file.tell()} is not whole")
            word = file.read(size + 2)
            if len(word) != size + 2 or word[-2:] != b"\r\n":
                raise FormatError(f"the command that ends at byte {file.tell()} is not whole")
            words.append(word[:-2])
        yield words


def unescaped(text: str) -> bytes:
    """Bytes from what CSV has."""

    def character(match: re.Match[str]) -> str:
        byte = int(match[1], 16)
        return chr(byte if byte < 0x80 else 0xDC00 + byte)

    return ESCAPE.sub(character, text).encode(errors="surrogateescape")


def read_csv(file: BinaryIO) -> Iterator[Entry]:
    """Rows, their columns in any order."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(text)
    try:
        if not {"key", "value"} <= set(reader.fieldnames or ()):
            raise FormatError("the first line does not name the columns key and value")
        for row in reader:
            deadline = row.get("expires_at_ms")
            yield Entry(
                int(row.get("db") or 0),
                unescaped(row["key"]),
                row.get("type") or "string",
                unescaped(row["value"] or ""),
                int(deadline) if deadline else None,
            )
    except (csv.Error, ValueError, TypeError) as error:
        raise error if isinstance(error, FormatError) else FormatError(f"line {reader.line_num}: {error}") from None
    finally:
        text.detach()


def from_json(value: Any) -> bytes:
    """Bytes from what JSON has."""
    if isinstance(value, dict):
        return base64.b64decode(value["base64"], validate=True)
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is neither text nor base64")
    return value.encode()


def read_json(file: BinaryIO) -> Iterator[Entry]:
    """One object a line, with or without the array around them."""
    for number, line in enumerate(file, 1):
        text = line.strip().removesuffix(b",")
        if text in (b"", b"[", b"]", b"[]"):
            continue
        try:
            fields = json.loads(text)
            yield Entry(
                int(fields.get("db", 0)),
                from_json(fields["key"]),
                fields.get("type", "string"),
                from_json(fields["value"]),
                fields.get("expires_at_ms"),
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise FormatError(f"line {number} is not an object on a line of its own: {error}") from None


def as_commands(entries: Iterable[Entry]) -> Iterator[list[bytes]]:
    """The commands that make them."""
    db = 0
    for entry in entries:
        if entry.type != "string":
            raise FormatError(f"{entry.key!r} is of the type {entry.type}, which cannot be loaded")
        if entry.db != db:
            db = entry.db
            yield [b"SELECT", b"%d" % db]
        yield entry.command()


def commands_in(file: BinaryIO, form: str) -> Iterator[list[bytes]]:
    """What a file says is to be sent. Raises FormatError."""
    if form == "resp":
        return read_resp(file)
    return as_commands(read_json(file) if form == "json" else read_csv(file))


def form_of(beginning: bytes) -> str:
    """Which format a file has, from its first bytes."""
    first = beginning.lstrip()[:1]
    return "resp" if first == b"*" else "json" if first in (b"[", b"{") else "csv"
