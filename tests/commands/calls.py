"""Calls of every command of the table, with arguments drawn at random from a seed.

Half of the calls follow the documented arguments of their command, with odd values in them, and are damaged now and
then; the other half is just words: options of the command, keys, numbers, texts. Deadlines are long past or far away,
as in commands.requests, whose odd values are used here.

What would end, block or turn the connection that makes the calls is left out: see LEFT_OUT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from commands.payloads import framed, literal
from commands.requests import (
    AWAY,
    FAR,
    FLOATS,
    INTEGERS,
    LONG,
    ODD_INTEGERS,
    PAST_OR_AWAY,
    PAST_OR_FAR,
    PATTERNS,
    TEXTS,
    UNFIT,
)

from tellstone._core.command.table import rows
from tellstone.control.debug import SUBCOMMANDS as DEBUG_SUBCOMMANDS
from tellstone.control.encode import keyword
from tellstone.control.info import SECTIONS
from tellstone.control.syntax import Argument, arguments_of

ARGUMENTS_MAX = 8


def arguments_allowed(name: str, arity: int) -> tuple[int, int]:
    """How many arguments a command takes behind its name, at least and at most."""
    least = abs(arity) - 1 - name.count("|")
    return least, least if arity > 0 else ARGUMENTS_MAX


NAMES = [row["full_name"] for row in rows()]
ARITIES = {row["full_name"]: arguments_allowed(row["full_name"], row["arity"]) for row in rows()}
CONTAINERS = {name.partition("|")[0] for name in NAMES if "|" in name} | {"debug"}

# The keys of a run, and what they hold. RENEWED calls later they are set again: FLUSHALL is one of the commands.
VALUES = {
    b"int": b"10",
    b"min": b"-9223372036854775808",
    b"max": b"9223372036854775807",
    b"float": b"3.0e3",
    b"text": b"hello world",
    b"embstr": b"y" * 44,
    b"raw": b"y" * 45,
    b"binary": bytes(range(256)),
    b"long": LONG * 20,
    b"empty": b"",
    b"": b"10.5",
    b"\0\r\n$1": b"0",
    LONG: b"a",
    b"{t}a": b"1",
    b"mortal": b"1",
}
RENEWED = 60
SETUP: list[Sequence[bytes]] = [
    (b"MSET", *(word for pair in VALUES.items() for word in pair)),
    (b"PEXPIREAT", b"mortal", b"33177117420000"),
]

KEYS = [*VALUES, b"none", b"other", b"int\0"]
NUMBERS = [*INTEGERS, *INTEGERS, *ODD_INTEGERS, b"3", b"5", b"8", b"15", b"16", b"300", b"70000"]
DATABASES = b"0 0 1 15 16 -1 01 x 9999999999 18446744073709551616".split()
PAYLOADS = [framed(literal(b"hello")), framed(literal(b"x"), 99), framed(b"\x00\xc1\x10\x27"), b"x" * 12, b""]
ENCODINGS = [*b"u8 i8 u1 i64 u63 u64 i65 u0 u U8 u08 x8 i5".split(), b""]
OFFSETS = [*b"#0 #1 #7 # #-1 ##1 #x 0 1 7 100".split(), *INTEGERS]
OPTIONS = [b"slowlog-log-slower-than", b"slowlog-max-len", b"latency-monitor-threshold", b"timeout"]
OPTIONS += [b"latency-tracking", b"latency-tracking-info-percentiles", b"SLOWLOG-MAX-LEN", b"nosuch", b"databases"]
COMMANDS = [name.encode() for name in NAMES if "|" not in name]
COMMANDS += [b"config|get", b"client|list", b"nosuch", b"GET", b""]
VALUED = {  # by the name of an argument
    **dict.fromkeys(("destination-db", "db", "index", "index1", "index2"), DATABASES),
    **dict.fromkeys(("command", "command-name"), COMMANDS),
    "seconds": FAR + UNFIT,
    "milliseconds": AWAY + UNFIT,
    "ttl": AWAY + UNFIT,
    "timeout": UNFIT,
    "unix-time-seconds": PAST_OR_FAR + UNFIT,
    "unix-time-milliseconds": PAST_OR_AWAY + UNFIT,
    "serialized-value": PAYLOADS,
    "encoding": ENCODINGS,
    "offset": OFFSETS,
    "bit": b"0 1 0 1 2 -1 x".split(),
    "parameter": OPTIONS,
    "cursor": b"0 0 0 1 x -1 18446744073709551615 18446744073709551616".split(),
    "protover": b"2 3 2 3 1 4 x 03 9223372036854775808".split(),
    "section": [name.encode() for name in SECTIONS] + [b"all", b"DEFAULT", b"everything", b"nosuch"],
    "username": [b"default", b"nobody", b""],
    "clientname": [b"me", b"with space", b"", b"\xff"],
    "connection-name": [b"me", b"with space", b"", b"\xff"],
    "libname": [b"me", b"with space", b"", b"\xff"],
    "libver": [b"1.0", b"with space", b"", b"\xff"],
    "event": [b"command", b"fast-command", b"nosuch"],
    "category": [b"string", b"read", b"fast", b"nosuch", b""],
    "min-match-len": [b"0", b"2", b"-1", b"x", *INTEGERS],
    "client-id": [b"1000000000000000", *INTEGERS],
    "ip:port": [b"127.0.0.1:1", b"x", b""],
}
BY_TYPE = {
    "integer": NUMBERS,
    "double": FLOATS + NUMBERS,
    "key": KEYS,
    "pattern": PATTERNS,
    "unix-time": PAST_OR_FAR + UNFIT,
}
KELVIN = "\u212a".encode()  # is "k" in lower case
WORDS: list[bytes] = [*TEXTS, LONG, *KEYS, *NUMBERS, *FLOATS, b"w" * 20000, b"-", b"*", b"?x\r\ny"]
WORDS += [KELVIN, "\uff11\u0662".encode(), "\u00b2".encode(), "\u017f".encode()]  # letters and digits in Python's eyes
# Commands that take a time from now: no small number is drawn for them, it would fall due between two replies.
TIMED = {"expire", "getex", "pexpire", "psetex", "restore", "set", "setex"}
SOON = 100_000
SUBCOMMANDS = {"debug": [*DEBUG_SUBCOMMANDS, b"jmap"]}


def number(word: bytes) -> int | None:
    return int(word) if word.removeprefix(b"-").isdigit() and len(word) < 30 else None


def at_least(low: int, word: bytes) -> bool:
    return (value := number(word)) is not None and value >= low


@dataclass(frozen=True)
class Omission:
    """Calls of a command that are not made; `covers` gets the keywords behind the command's name."""

    why: str
    covers: Callable[[list[bytes]], bool]


def is_debug_left_out(words: list[bytes]) -> bool:
    match words:
        case [b"sleep", _]:
            return True
        case [b"populate", count, *rest]:
            return len(rest) < 3 and (at_least(300, count) or any(at_least(100_000, size) for size in rest[1:]))
        case [b"reload", *options]:
            return {*options} <= {b"merge", b"noflush", b"nosave"}
        case [b"protocol", b"push" | b"attrib"] | [b"stringmatch-len", _, _]:
            return True
    return False


def waits(replicas: bytes, timeout: bytes) -> bool:
    return at_least(1, replicas) and at_least(0, timeout)


ENDINGS = {b"nosave", b"save", b"now", b"force", b"abort"}
LOST = "Redis 7.2 forgets to refuse a user while other replies are on their way"
LEFT_OUT = {
    "auth": Omission(LOST, lambda words: len(words) == 2),
    "client|kill": Omission("SKIPME NO closes the connection", lambda words: b"no" in words),
    "client|pause": Omission(
        "holds back all calls behind it", lambda words: 0 < len(words) < 3 and at_least(0, words[0])
    ),
    "client|reply": Omission("takes replies away", lambda words: words in ([b"off"], [b"skip"])),
    "client|tracking": Omission("ON is not there yet", lambda words: words[:1] == [b"on"]),
    "debug": Omission("sleeps, fills memory, drops the data, answers twice, or is ours alone", is_debug_left_out),
    "hello": Omission(LOST, lambda words: b"auth" in words[1:-2]),
    "monitor": Omission("puts the connection in a mode", lambda words: not words),
    "psync": Omission("makes the connection a replica", lambda words: len(words) > 1),
    "quit": Omission("closes the connection", lambda words: True),
    "replconf": Omission("has no reply", lambda words: bool({b"ack", b"getack"} & {*words})),
    **dict.fromkeys(
        ("replicaof", "slaveof"),
        Omission("makes the server a replica", lambda words: len(words) == 2 and at_least(0, words[1])),
    ),
    **dict.fromkeys(
        ("bgrewriteaof", "bgsave", "save"),
        Omission("writes files in Redis, and is refused here without persistence", lambda words: len(words) < 2),
    ),
    "shutdown": Omission("ends the server", lambda words: {*words} <= ENDINGS and words != [b"abort"]),
    "sync": Omission("makes the connection a replica", lambda words: not words),
    "wait": Omission("waits", lambda words: len(words) == 2 and waits(*words)),
    "waitaof": Omission("waits", lambda words: len(words) == 3 and waits(*words[1:])),
}
NAMING = {"client|setname", "client|setinfo", "hello"}  # where a zero byte is refused, and not in Redis: documented


def is_left_out(name: str, request: Sequence[bytes]) -> bool:
    words = request[1 + name.count("|") :]
    if name in NAMING and any(b"\0" in word for word in words):
        return True
    return name in LEFT_OUT and LEFT_OUT[name].covers([keyword(word) for word in words])


@cache
def tokens(name: str) -> list[bytes]:
    """The words that a command knows."""

    def within(parts: Sequence[Argument]) -> Iterator[bytes]:
        for part in parts:
            if part.token:
                yield part.token.encode()
            yield from within(part.parts)

    return [*within(arguments_of(name))]


class Calls:
    """Draws requests; the same ones for the same seed."""

    def __init__(self, seed: str, names: Sequence[str] = NAMES) -> None:
        self.random = Random(seed)
        self.names = names

    def batch(self, size: int, setup: Sequence[Sequence[bytes]] = SETUP) -> list[Sequence[bytes]]:
        """So many calls, and what sets the keys up for them."""
        found: list[Sequence[bytes]] = []
        for i in range(size):
            if i % RENEWED == 0:
                found += setup
            found.append(self.request())
        return found

    def request(self) -> Sequence[bytes]:
        while True:
            name = self.random.choice(self.names)
            words = [self.random.choice((str.lower, str.upper, str.title))(part) for part in name.split("|")]
            request = [word.encode() for word in words] + self.arguments(name)
            if not is_left_out(name, request):
                return request

    def arguments(self, name: str) -> list[bytes]:
        if name in SUBCOMMANDS:
            return [self.spelled(self.random.choice(SUBCOMMANDS[name])), *self.words(name)][:ARGUMENTS_MAX]
        if self.random.random() < 0.5:
            return self.words(name)
        found = [word for argument in arguments_of(name) for word in self.argument(name, argument)]
        if self.random.random() < 0.2:
            self.damage(name, found)
        return found[:ARGUMENTS_MAX]

    def damage(self, name: str, arguments: list[bytes]) -> None:
        """One argument too many, or too few, or another one."""
        at = self.random.randint(0, len(arguments))
        arguments[at : at + self.random.randint(0, 1)] = self.words(name)[: self.random.randint(0, 1)]

    def words(self, name: str) -> list[bytes]:
        """So many words, most often as many as the command may have."""
        least, most = ARITIES.get(name, (0, ARGUMENTS_MAX))
        if self.random.random() < 0.3:
            least, most = 0, ARGUMENTS_MAX
        return [self.word(name) for _ in range(self.random.randint(least, most))]

    def word(self, name: str) -> bytes:
        known = tokens(name)
        while True:
            if known and self.random.random() < 0.4:
                return self.spelled(self.random.choice(known))
            found = self.random.choice(WORDS)
            if name not in TIMED or not 0 < (number(found) or 0) < SOON:
                return found

    def spelled(self, word: bytes) -> bytes:
        """In one of the ways that Redis takes for a word; now and then in another one, which it may take or not."""
        if self.random.random() < 0.05:
            return self.random.choice((word + b"\0x", word.replace(b"k", KELVIN), word + b" ", word[:-1]))
        return self.random.choice((word, word.upper(), word.lower(), word.title()))

    def argument(self, name: str, argument: Argument) -> list[bytes]:
        """What an argument of the documentation stands for: nothing, a word, or several."""
        if argument.optional and self.random.random() < 0.5:
            return []
        times = self.random.randint(1, 3) if argument.multiple else 1
        found: list[bytes] = []
        for i in range(times):
            if argument.token and (i == 0 or argument.multiple_token):
                found.append(self.spelled(argument.token.encode()))
            found += self.value(name, argument)
        return found

    def value(self, name: str, argument: Argument) -> list[bytes]:
        if argument.type == "pure-token":
            return []
        if argument.type == "oneof":
            return self.argument(name, self.random.choice(argument.parts))
        if argument.parts:
            return [word for part in argument.parts for word in self.argument(name, part)]
        known = VALUED.get(argument.shown) or VALUED.get(argument.name) or BY_TYPE.get(argument.type)
        return [self.random.choice(known) if known else self.word(name)]
