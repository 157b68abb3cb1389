"""Log lines, in one of two forms, over the standard library's logging.

    log.info("listening", extra=fields(addr="127.0.0.1:6379"))

    2026-01-31T12:00:00.000Z INFO listening addr=127.0.0.1:6379
    {"time": "2026-01-31T12:00:00.000Z", "level": "info", "msg": "listening", "addr": "127.0.0.1:6379"}

Applications that embed the engine get the logger `tellstone` without a handler, as libraries should; only the command
line calls `configure`.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from typing import Any, TextIO

log = logging.getLogger("tellstone")
log.addHandler(logging.NullHandler())

PLAIN = re.compile(r"[\w@%+,./:;<>()\[\]~*-]+")


def fields(**values: object) -> dict[str, Any]:
    """What a line carries beside its message, for a logging call's `extra`."""
    return {"fields": values}


def _fields_of(record: logging.LogRecord) -> dict[str, object]:
    return getattr(record, "fields", {})


def _time_of(record: logging.LogRecord) -> str:
    """UTC with milliseconds, whatever the machine's zone."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"


class TextFormatter(logging.Formatter):
    """Time, level, message and key=value; a value with blanks or quotes is written as in JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        parts = [_time_of(record), record.levelname, record.getMessage()]
        for name, value in _fields_of(record).items():
            text = str(value)
            parts.append(f"{name}={text if PLAIN.fullmatch(text) else json.dumps(text)}")
        line = " ".join(parts)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One object a line. Numbers, booleans and null stay what they are; anything else is text."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        line: dict[str, object] = {"time": _time_of(record), "level": record.levelname.lower()}
        line |= {"msg": record.getMessage(), **_fields_of(record)}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure(level: str, form: str, stream: TextIO | None = None) -> None:
    """Write our lines to a stream (standard error, unless told), and only there."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    log.handlers[:] = [handler]
    log.propagate = False
    set_level(level)


def set_level(level: str) -> None:
    """Take one of --log-level's words."""
    log.setLevel(level.upper())
