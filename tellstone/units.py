"""How option values are written, in two tongues that share one value.

`parse` and `show` are for people: flags, variables, the help and the README ("16MiB", "1m30s", "unix:/path").
`config_parse` and `config_show` are for CONFIG GET and SET and follow Redis ("16777216", "90", "yes"), error texts
included; sizes and durations may be written there as people write them, too. Each kind says what it allows in one
phrase, which every message about a bad value ends with.
"""

from __future__ import annotations

import math
import re
import string
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

T = TypeVar("T")

INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,19})", re.ASCII)
SIZE = re.compile(r"([0-9]{1,20})([a-z]*)", re.ASCII | re.IGNORECASE)
# A number with a fraction, as C reads it.
DECIMAL = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE)
HEXADECIMAL = re.compile(r"[+-]?0x(?:[\da-f]+\.?[\da-f]*|\.[\da-f]+)(?:p[+-]?\d+)?", re.ASCII | re.IGNORECASE)
DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)

LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)

# A bare k, m or g counts in thousands, as in Redis.
SIZE_UNITS = {"": 1, "b": 1}
for power, letter in enumerate("kmgt", 1):
    SIZE_UNITS |= {letter: 1000**power, f"{letter}b": 1024**power, f"{letter}ib": 1024**power}

NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
MILLISECOND = timedelta(milliseconds=1)
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
SECONDS_MAX = 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1", "t"), True),
    **dict.fromkeys(("false", "no", "off", "0", "f"), False),
}
UNIX_PATH_MAX = 103  # bytes; what every Unix allows in a socket's address


class Kind(Generic[T]):
    """A kind of value: its two ways to be read and written, and the phrase that says what is allowed."""

    metavar = ""  # what stands for a value in the help; empty if a flag needs none

    @property
    def allowed(self) -> str:
        """What is allowed, as it fits after "is not": "a whole number from 0 to 1024"."""
        raise NotImplementedError

    def parse(self, text: str) -> T:
        """The value of a flag or variable. Raises ValueError."""
        raise NotImplementedError

    def show(self, value: T) -> str:
        """The value as `parse` reads it."""
        return str(value)

    def config_parse(self, text: str, current: T) -> T:
        """The value of CONFIG SET, which may change a part of the current one. Raises ValueError with Redis's text."""
        del current
        return self.config_parse_whole(text)

    def config_parse_whole(self, text: str) -> T:
        """config_parse for a kind whose values are set as a whole."""
        raise NotImplementedError

    def config_show(self, value: T) -> str:
        """The value as CONFIG GET answers it."""
        return self.show(value)


def parse_integer(text: str) -> int:
    """A whole number of 64 bits. Raises ValueError with Redis's text."""
    if not INTEGER.fullmatch(text) or text == "-0" or not INT64_MIN <= int(text) <= INT64_MAX:
        raise ValueError("argument couldn't be parsed into an integer")
    return int(text)


def parse_double(text: str) -> float:
    """A number as C reads it, NaN excepted. Raises ValueError, also for what no double can hold."""
    if HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text)
        except OverflowError:
            raise ValueError(text) from None
    if not DECIMAL.fullmatch(text):
        raise ValueError(text)
    number = float(text)
    digits = text.lower().partition("e")[0]
    if (math.isinf(number) and "inf" not in digits) or (not number and digits.strip("+-0.")):
        raise ValueError(text)
    return number


def c_word(text: str) -> str:
    """A word as Redis compares it: up to a zero byte, letters of ASCII in lower case."""
    return text.partition("\0")[0].translate(LOWER)


def bounds(low: int, high: int) -> str:
    """Redis's words for a value outside its bounds."""
    return f"argument must be between {low} and {high} inclusive"


@dataclass(frozen=True)
class Flag(Kind[bool]):
    """Yes or no. As a flag it needs no value."""

    @property
    def allowed(self) -> str:
        """See Kind."""
        return "true or false"

    def parse(self, text: str) -> bool:
        """Go's spellings, and Redis's."""
        try:
            return BOOLEANS[text.lower()]
        except KeyError:
            raise ValueError(text) from None

    def show(self, value: bool) -> str:
        """See Kind."""
        return "true" if value else "false"

    def config_parse_whole(self, text: str) -> bool:
        """Yes or no."""
        if c_word(text) not in ("yes", "no"):
            raise ValueError("argument must be 'yes' or 'no'")
        return c_word(text) == "yes"

    def config_show(self, value: bool) -> str:
        """Yes or no."""
        return "yes" if value else "no"


@dataclass(frozen=True)
class Whole(Kind[int]):
    """A whole number within bounds."""

    low: int
    high: int
    metavar = "N"

    @property
    def allowed(self) -> str:
        """See Kind."""
        return f"a whole number from {self.low} to {self.high}"

    def parse(self, text: str) -> int:
        """Digits, and nothing but digits."""
        if not INTEGER.fullmatch(text) or not self.low <= int(text) <= self.high:
            raise ValueError(text)
        return int(text)

    def config_parse_whole(self, text: str) -> int:
        """See Kind."""
        number = parse_integer(text)
        if not self.low <= number <= self.high:
            raise ValueError(bounds(self.low, self.high))
        return number


def parse_size(text: str) -> int:
    """Bytes: "0", "64kb", "16MiB". A bare k, m or g counts in thousands. Raises ValueError."""
    match = SIZE.fullmatch(text)
    if match is None or match[2].lower() not in SIZE_UNITS:
        raise ValueError(text)
    return int(match[1]) * SIZE_UNITS[match[2].lower()]


def show_size(size: int) -> str:
    """Bytes in the largest unit that divides them: "16MiB", "1000"."""
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size and size % 1024**power == 0:
            return f"{size // 1024**power}{unit}"
    return str(size)


@dataclass(frozen=True)
class Size(Kind[int]):
    """A number of bytes within bounds."""

    low: int
    high: int
    metavar = "SIZE"

    @property
    def allowed(self) -> str:
        """See Kind."""
        if self.high >= 2**60:  # a bound that nobody meets by writing a size
            return "a size such as 512MiB or 4GiB"
        return f"a size from {show_size(self.low)} to {show_size(self.high)}"

    def parse(self, text: str) -> int:
        """See parse_size."""
        size = parse_size(text)
        if not self.low <= size <= self.high:
            raise ValueError(text)
        return size

    def show(self, value: int) -> str:
        """See show_size."""
        return show_size(value)

    def config_parse_whole(self, text: str) -> int:
        """Redis's memory values, and ours."""
        try:
            size = parse_size(c_word(text))
        except ValueError:
            raise ValueError("argument must be a memory value") from None
        if not self.low <= size <= self.high:
            raise ValueError(bounds(self.low, self.high))
        return size

    def config_show(self, value: int) -> str:
        """Bytes."""
        return str(value)


def parse_duration(text: str) -> timedelta:
    """A duration as Go writes it: "500ms", "1.5h", "1h30m", or "0". Raises ValueError, also below a microsecond."""
    if text == "0":
        return timedelta(0)
    position, total = 0, 0.0
    while position < len(text):
        match = DURATION_PART.match(text, position)
        if match is None:
            raise ValueError(text)
        total += float(match[1]) * NANOSECONDS[match[2]]
        position = match.end()
    microseconds = round(min(total, 1e21) / 1000)
    if not text or microseconds == 10**18 or (total and not microseconds):
        raise ValueError(text)
    return timedelta(microseconds=microseconds)


def show_duration(duration: timedelta) -> str:
    """The shortest form that parse_duration reads back: "1m30s", "500ms", "0"."""
    microseconds = duration // timedelta(microseconds=1)
    shown = ""
    for unit in ("h", "m", "s", "ms", "us"):
        count, microseconds = divmod(microseconds, NANOSECONDS[unit] // 1000)
        if count:
            shown += f"{count}{unit}"
    return shown or "0"


@dataclass(frozen=True)
class Duration(Kind[timedelta]):
    """A length of time up to a bound: zero, or whole steps."""

    step: timedelta
    high: timedelta
    metavar = "DURATION"

    @property
    def allowed(self) -> str:
        """See Kind."""
        whole = self.step == SECOND
        limit = f" up to {show_duration(self.high)}" if self.high <= DAY else ""
        return f"a duration{' of whole seconds' * whole}{limit}, such as {'1m30s' if whole else '500ms'}, or 0"

    def parse(self, text: str) -> timedelta:
        """See parse_duration."""
        duration = parse_duration(text)
        if duration > self.high or duration % self.step:
            raise ValueError(text)
        return duration

    def show(self, value: timedelta) -> str:
        """See show_duration."""
        return show_duration(value)

    def config_parse_whole(self, text: str) -> timedelta:
        """A number is seconds."""
        try:
            duration = parse_duration(text)
        except ValueError:
            duration = timedelta(seconds=max(-1, min(parse_integer(text), SECONDS_MAX + 1)))
        if not timedelta(0) <= duration <= self.high:
            raise ValueError(bounds(0, self.high // SECOND))
        if duration % self.step:
            raise ValueError("argument couldn't be parsed into an integer")
        return duration

    def config_show(self, value: timedelta) -> str:
        """Seconds where they are whole, else as `show`."""
        return show_duration(value) if value % SECOND else str(value // SECOND)


@dataclass(frozen=True)
class Choice(Kind[str]):
    """One of some words."""

    words: tuple[str, ...]
    metavar = "WORD"

    @property
    def allowed(self) -> str:
        """See Kind."""
        return f"{', '.join(self.words[:-1])} or {self.words[-1]}"

    def parse(self, text: str) -> str:
        """Upper and lower case are the same."""
        if text.lower() not in self.words:
            raise ValueError(text)
        return text.lower()

    def config_parse_whole(self, text: str) -> str:
        """See Kind."""
        if c_word(text) not in self.words:
            raise ValueError("argument(s) must be one of the following: " + ", ".join(self.words))
        return c_word(text)


@dataclass(frozen=True)
class Path(Kind[str]):
    """A file's name; empty is none."""

    metavar = "FILE"

    @property
    def allowed(self) -> str:
        """See Kind."""
        return "the name of a file"

    def parse(self, text: str) -> str:
        """As it is."""
        if not text or "\0" in text:
            raise ValueError(text)
        return text

    def show(self, value: str) -> str:
        """See Kind."""
        return value or "none"

    def config_parse_whole(self, text: str) -> str:
        """See Kind."""
        return text

    def config_show(self, value: str) -> str:
        """Empty where there is none."""
        return value


@dataclass(frozen=True)
class Folder(Path):
    """A directory's name; empty is the platform's."""

    metavar = "DIR"

    @property
    def allowed(self) -> str:
        """See Kind."""
        return "the name of a directory"

    def parse(self, text: str) -> str:
        """As it is."""
        return super().parse(text) if text else text

    def show(self, value: str) -> str:
        """See Kind."""
        return value


def plain_number(number: float) -> str:
    """A number as Redis shows a percentile: no exponent, no zeros at its end."""
    return f"{number:f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Percentiles(Kind[tuple[float, ...]]):
    """Percentages, separated by blanks; there may be none."""

    metavar = "PERCENTILES"

    @property
    def allowed(self) -> str:
        """See Kind."""
        return "numbers from 0 to 100, separated by blanks"

    def parse(self, text: str) -> tuple[float, ...]:
        """See Kind."""
        return self.config_parse_whole(text)

    def show(self, value: tuple[float, ...]) -> str:
        """See Kind."""
        return " ".join(map(plain_number, value))

    def config_parse_whole(self, text: str) -> tuple[float, ...]:
        """See Kind."""
        try:
            numbers = tuple(map(parse_double, text.split(" "))) if text else ()
        except ValueError:
            raise ValueError("Invalid latency-tracking-info-percentiles parameters") from None
        if any(not 0 <= number <= 100 for number in numbers):
            raise ValueError("latency-tracking-info-percentiles parameters should sit between [0.0,100.0]")
        return numbers


def c_integer(text: str) -> int:
    """A whole number as strtoll reads it, up to a zero byte: blanks in front, bounds instead of an overflow, nothing is
    0. Raises ValueError where something is left.
    """
    match = re.fullmatch(r"(?:[ \t\n\v\f\r]*([+-]?[0-9]+))?", text.partition("\0")[0], re.ASCII)
    if match is None:
        raise ValueError(text)
    return max(INT64_MIN, min(INT64_MAX, int(match[1] or 0)))


def int32(number: int) -> int:
    """Its lowest 32 bits, as C makes an int of them."""
    return (number + 2**31) % 2**32 - 2**31


@dataclass(frozen=True)
class SavePoints(Kind[tuple[tuple[int, int], ...]]):
    """When to save: after so many seconds, if there were at least so many changes. There may be none."""

    metavar = "POINTS"

    @property
    def allowed(self) -> str:
        """See Kind."""
        return 'seconds and changes, repeated, such as "3600 1 300 100", or nothing'

    def parse(self, text: str) -> tuple[tuple[int, int], ...]:
        """See Kind."""
        return self.config_parse_whole(text)

    def show(self, value: tuple[tuple[int, int], ...]) -> str:
        """As CONFIG GET has it."""
        return " ".join(f"{seconds} {changes}" for seconds, changes in value)

    def config_parse_whole(self, text: str) -> tuple[tuple[int, int], ...]:
        """Numbers as C reads them, separated by single blanks: nothing is 0, and changes are of 32 bits."""
        try:
            numbers = list(map(c_integer, text.split(" "))) if text.partition("\0")[0] or " " in text else []
        except ValueError:
            numbers = [-1]
        pairs = tuple(zip(numbers[::2], numbers[1::2], strict=False))
        if len(numbers) % 2 or any(seconds < 1 or changes < 0 for seconds, changes in pairs):
            raise ValueError("Invalid save parameters")
        return tuple((seconds, int32(changes)) for seconds, changes in pairs)


@dataclass(frozen=True)
class Address:
    """Where to listen. A path means a unix socket; an empty host means every interface."""

    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """An address as in "127.0.0.1:6379", "[::1]:6379", ":6379" or "unix:/run/tellstone.sock". Raises ValueError."""
    if text.startswith("unix:"):
        path = text[len("unix:") :]
        if not path or "\0" in path or len(path.encode(errors="surrogateescape")) > UNIX_PATH_MAX:
            raise ValueError(text)
        return Address(path=path)
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%\w]+)\]|([^\s\[\]:/]*)):([0-9]{1,5})", text, re.ASCII)
    if match is None or int(match[3]) > 65535:
        raise ValueError(text)
    return Address(host=match[1] or match[2] or "", port=int(match[3]))


@dataclass(frozen=True)
class Endpoint(Kind[Address]):
    """An address to listen on."""

    metavar = "ADDRESS"

    @property
    def allowed(self) -> str:
        """See Kind."""
        return f"host:port, [ipv6]:port, :port or unix:/path (at most {UNIX_PATH_MAX} bytes)"

    def parse(self, text: str) -> Address:
        """See parse_address."""
        return parse_address(text)

    def config_parse_whole(self, text: str) -> Address:
        """See Kind."""
        try:
            return parse_address(text)
        except ValueError:
            raise ValueError(f"argument must be {self.allowed}") from None


# Redis's classes of clients, in the order of CONFIG GET client-output-buffer-limit, with its second names.
CLIENT_CLASSES = ("normal", "slave", "pubsub")
CLASS_ALIASES = {"replica": "slave"}


@dataclass(frozen=True)
class OutputLimit:
    """How much may wait for a client to read it: at once, and for so long. 0 is no limit."""

    hard: int = 0
    soft: int = 0
    soft_seconds: int = 0


OutputLimits = tuple[OutputLimit, OutputLimit, OutputLimit]


@dataclass(frozen=True)
class OutputBuffers(Kind[OutputLimits]):
    """Output limits of the classes of clients. What is set for one class leaves the others."""

    @property
    def allowed(self) -> str:
        """See Kind."""
        return "<class> <hard limit> <soft limit> <soft seconds>, repeated"

    def config_parse(self, text: str, current: OutputLimits) -> OutputLimits:
        """See Kind."""
        words = text.split(" ")
        if len(words) % 4:
            raise ValueError("Wrong number of arguments in buffer limit configuration.")
        changed = list(current)
        for word, hard, soft, seconds in zip(*[iter(words)] * 4, strict=True):
            name = CLASS_ALIASES.get(word.lower(), word.lower())
            if name not in CLIENT_CLASSES:
                raise ValueError("Invalid client class specified in buffer limit configuration.")
            try:
                limit = OutputLimit(parse_size(hard), parse_size(soft), Whole(0, SECONDS_MAX).parse(seconds))
            except ValueError:
                raise ValueError("Error in hard, soft or soft_seconds setting in buffer limit configuration.") from None
            changed[CLIENT_CLASSES.index(name)] = limit
        return changed[0], changed[1], changed[2]

    def show(self, value: OutputLimits) -> str:
        """All classes, as CONFIG GET answers them."""
        return " ".join(
            f"{name} {limit.hard} {limit.soft} {limit.soft_seconds}"
            for name, limit in zip(CLIENT_CLASSES, value, strict=True)
        )
