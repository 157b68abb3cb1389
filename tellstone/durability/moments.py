"""Moments as an operator writes and reads them: RFC 3339 or Unix seconds; in between they are Unix milliseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from tellstone.units import Kind

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MILLISECOND = timedelta(milliseconds=1)
UNIX = re.compile(r"([0-9]{1,11})(?:\.([0-9]+))?", re.ASCII)
RFC_3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?([Zz]|[+-][0-9]{2}:[0-9]{2})?",
    re.ASCII,
)


def parse_moment(text: str) -> int:
    """Unix milliseconds; smaller parts are cut off. Without an offset it is this machine's time. Raises ValueError."""
    if unix := UNIX.fullmatch(text):
        return int(unix[1]) * 1000 + milliseconds(unix[2])
    written = RFC_3339.fullmatch(text)
    if written is None:
        raise ValueError(text)
    date, clock, fraction, offset = written.groups()
    zone = "" if offset is None else "+00:00" if offset in "Zz" else offset
    try:
        moment = datetime.fromisoformat(f"{date}T{clock}{zone}").astimezone(timezone.utc)
    except OverflowError:
        raise ValueError(text) from None
    return (moment - EPOCH) // MILLISECOND + milliseconds(fraction)


def milliseconds(fraction: str | None) -> int:
    """Of digits behind a decimal point."""
    return int((fraction or "").ljust(3, "0")[:3])


def show_moment(unix_ms: int) -> str:
    """RFC 3339, in UTC."""
    return (EPOCH + unix_ms * MILLISECOND).strftime("%Y-%m-%dT%H:%M:%S.") + f"{unix_ms % 1000:03}Z"


@dataclass(frozen=True)
class Moment(Kind[int]):
    """A moment, as Unix milliseconds."""

    metavar = "TIME"

    @property
    def allowed(self) -> str:
        """See Kind."""
        return "a time such as 2026-01-31T12:00:00Z, 2026-01-31T13:00:00+01:00, or Unix seconds"

    def parse(self, text: str) -> int:
        """See parse_moment."""
        return parse_moment(text)

    def show(self, value: int) -> str:
        """See show_moment."""
        return show_moment(value)
