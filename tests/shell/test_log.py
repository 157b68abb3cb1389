"""Log lines: one event a line, in both forms."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from tellstone.log import configure, fields, log, set_level


@pytest.fixture(autouse=True)
def logger() -> Iterator[None]:
    handlers, level, propagate = log.handlers[:], log.level, log.propagate
    yield
    log.handlers[:], log.propagate = handlers, propagate
    log.setLevel(level)


def test_a_text_line() -> None:
    stream = io.StringIO()
    configure("info", "text", stream)
    log.info("listening", extra=fields(addr="[::1]:6379", path="/a b", quote='say "x"', n=3, none=None, line="a\nb"))
    (line,) = stream.getvalue().splitlines()
    stamp, _, rest = line.partition(" ")
    assert stamp.endswith("Z") and len(stamp) == len("2026-01-31T12:00:00.000Z")
    assert rest == (r'INFO listening addr=[::1]:6379 path="/a b" quote="say \"x\"" n=3 none=None line="a\nb"')


def test_a_json_line() -> None:
    stream = io.StringIO()
    configure("info", "json", stream)
    log.warning("slow", extra=fields(seconds=1.5, up=True))
    line = json.loads(stream.getvalue())
    assert line.pop("time").endswith("Z")
    assert line == {"level": "warning", "msg": "slow", "seconds": 1.5, "up": True}


def test_an_exception_stays_one_line_of_json() -> None:
    stream = io.StringIO()
    configure("info", "json", stream)
    try:
        raise KeyError("x")
    except KeyError:
        log.exception("failed")
    (line,) = stream.getvalue().splitlines()
    assert "KeyError" in json.loads(line)["error"]


def test_the_level_can_change() -> None:
    stream = io.StringIO()
    configure("warning", "text", stream)
    log.info("quiet")
    set_level("debug")
    log.debug("loud")
    assert "quiet" not in stream.getvalue() and "DEBUG loud" in stream.getvalue()


def test_nothing_is_written_until_it_is_configured() -> None:
    assert any(isinstance(handler, logging.NullHandler) for handler in log.handlers)
