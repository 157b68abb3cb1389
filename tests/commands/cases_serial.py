"""DUMP and RESTORE, as sequences that a real redis-server and ours must answer alike, byte for byte.

Payloads are made by the tests (commands.payloads), so the servers see what no server would have written, too.
"""

from __future__ import annotations

from typing import TypeAlias

from commands.payloads import framed, integer, literal, packed

Arg: TypeAlias = "bytes | str | int"
Request: TypeAlias = tuple[Arg, ...]
Case: TypeAlias = tuple[str, list[Request]]

MAX = "9223372036854775807"
FAR_MS = 99_999_999_999_000
BLOCK = b"0123456789abcdef" * 2500  # 40,000 bytes: a counted block
NOT_INTEGERS: list[Arg] = ["", " 1", "1 ", "+1", "01", "-0", "1.0", "x", b"1\x00", "9223372036854775808"]
ABC = framed(literal(b"abc"))
LOOK: list[Request] = [("GET", "k"), ("OBJECT", "ENCODING", "k"), ("PEXPIRETIME", "k"), ("DUMP", "k")]

ARITY = {"DUMP": {1}, "RESTORE": range(3, 6)}

VALUES: dict[str, Arg] = {
    "empty": "",
    "20 bytes": "x" * 20,
    "21 bytes": "x" * 21,
    "44 bytes that do not pack": bytes(range(44)),
    "63 bytes": bytes(range(63)),
    "64 bytes": bytes(range(64)),
    "all bytes": bytes(range(256)),
    "16,383 bytes": bytes(i * i % 251 for i in range(16383)),
    "16,384 bytes": b"a" * 16384,
    "a block": BLOCK,
    "zero bytes": b"\x00" * 100,
    "no canonical integer": "007",
    "eleven digits": "99999999999",
    **{str(n): n for bits in (7, 15, 31, 63) for n in (2**bits - 1, 2**bits, -(2**bits), -(2**bits) - 1)},
}

# Bodies of payloads whose frame is right: those that are strings, and those that are not.
BODIES: dict[str, bytes] = {
    "nothing": b"",
    "an empty string": b"\x00\x00",
    "a string": literal(b"hello"),
    "a string in a longer length": b"\x00\x40\x05hello",
    "a string in 32 bits": b"\x00\x80\x00\x00\x00\x05hello",
    "a string in 64 bits": b"\x00\x81\x00\x00\x00\x00\x00\x00\x00\x05hello",
    "a string with more behind it": literal(b"hello") + b"more",
    "a string that reaches into the footer": b"\x00\x0ahello",
    "a string that reaches behind the footer": b"\x00\x20hello",
    "a string without bytes": b"\x00\x05",
    "a length without bytes": b"\x00\x80",
    "a length of two thirds": b"\x00\x40",
    "an unknown length": b"\x00\x82\x00\x00\x00\x05hello",
    "the greatest length": b"\x00\x81\xff\xff\xff\xff\xff\xff\xff\xff",
    "a huge length": b"\x00\x81\x7f\xff\xff\xff\xff\xff\xff\xff",
    "an integer as a string": literal(b"1234"),
    "no canonical integer": literal(b"01234"),
    "8 bits": integer(-128, 1),
    "16 bits": integer(-32768, 2),
    "32 bits": integer(-(2**31), 4),
    "16 bits for a small one": integer(5, 2),
    "16 bits that lack one": b"\x00\xc1",
    "an unknown encoding": b"\x00\xc4abcd",
    "the last encoding": b"\x00\xffabcd",
    "packed": packed(b"\x03abcd\xe0\x01\x03", 14),
    "packed, one byte again and again": packed(b"\x00a\xe0\xff\x00", 265),
    "packed, a block": packed(b"\x00a" + b"\xe0\xff\x00" * 200, 1 + 264 * 200),
    "packed, too long": packed(b"\x03abcd", 5),
    "packed, too short": packed(b"\x03abcd", 3),
    "packed, empty": packed(b"", 0),
    "packed, empty and not": packed(b"\x03abcd", 0),
    "packed, a run that ends early": packed(b"\x05abcd", 6),
    "packed, a reference that ends early": packed(b"\x03abcd\x20", 7),
    "packed, a long reference that ends early": packed(b"\x03abcd\xe0", 14),
    "packed, a long reference without a place": packed(b"\x03abcd\xe0\x01", 14),
    "packed, a reference before the start": packed(b"\x03abcd\x20\x04", 7),
    "packed, a reference past the end": packed(b"\x03abcd\xa0\x03", 8),
    "packed, more than there is": b"\x00\xc3\x3f\x0a\x03abcd",
    "packed, a huge size": b"\x00\xc3\x81\x7f\xff\xff\xff\xff\xff\xff\xff\x0aabcd",
    "packed, a huge length": b"\x00\xc3\x05\x81\x7f\xff\xff\xff\xff\xff\xff\xff\x03abcd",
    "packed, an encoding for a length": b"\x00\xc3\xc5\xc4\x03abcd",
    "packed, no lengths": b"\x00\xc3",
    "packed, one length": b"\x00\xc3\x05",
    "type 8": b"\x08\x00",
    "type 22": b"\x16\x00",
    "type 255": b"\xff\x00",
}

FRAMES: dict[str, bytes] = {
    "nothing": b"",
    "too short": ABC[:9],
    "another byte": bytes([ABC[0] ^ 1]) + ABC[1:],
    "another checksum": ABC[:-1] + bytes([ABC[-1] ^ 1]),
    "no checksum": ABC[:-8] + b"\x00" * 8,
    "a byte more": ABC + b"\x00",
    "a byte less": ABC[:-1],
    "an older version": framed(literal(b"abc"), 6),
    "version 0": framed(literal(b"abc"), 0),
    "a later version": framed(literal(b"abc"), 12),
    "a much later version": framed(literal(b"abc"), 256),
    "the footer alone": framed(b"", 0),
    "text": b"hello world, this is not a payload",
}


def _arity() -> list[Case]:
    """Every command with each number of arguments from none to five that it does not take."""
    return [
        (f"arity {name}", [(name, *("x" * n)) for n in range(6) if n not in allowed]) for name, allowed in ARITY.items()
    ]


def _dump() -> list[Case]:
    return [
        ("DUMP a missing key", [("DUMP", "k"), ("dump", "")]),
        *((f"DUMP {name}", [("SET", "k", value), ("DUMP", "k")]) for name, value in VALUES.items()),
        ("DUMP a changed value", [("SETRANGE", "k", 0, "12"), ("DUMP", "k"), ("APPEND", "k", "x" * 40), ("DUMP", "k")]),
        ("DUMP knows no deadline", [("SET", "k", "v", "PXAT", FAR_MS), ("DUMP", "k")]),
    ]


def _payloads() -> list[Case]:
    return [
        *(
            (f"RESTORE {name}", [("RESTORE", "k", 0, framed(body)), *LOOK, ("DBSIZE",)])
            for name, body in BODIES.items()
        ),
        *((f"RESTORE framed by {name}", [("RESTORE", "k", 0, frame), *LOOK]) for name, frame in FRAMES.items()),
        ("RESTORE a long literal", [("RESTORE", "k", 0, framed(literal(b"x" * 100_000))), *LOOK]),
    ]


def _keys() -> list[Case]:
    busy: list[Request] = [("SET", "k", "old")]
    order: list[Request] = [
        ("RESTORE", "k", ttl, payload, *words)
        for ttl in ("0", "-1", "x")
        for payload in (ABC, b"bad", framed(b"\x00\xc9"))
        for words in ((), ("REPLACE",), ("NOSUCH",))
    ]
    return [
        ("RESTORE over a key", [*busy, ("RESTORE", "k", 0, ABC), *LOOK, ("RESTORE", "k", 0, ABC, "REPLACE"), *LOOK]),
        ("RESTORE over a block", [("SET", "k", BLOCK), ("RESTORE", "k", 0, ABC, "REPLACE"), *LOOK]),
        ("RESTORE a block over a key", [*busy, ("RESTORE", "k", 0, framed(literal(BLOCK)), "REPLACE"), *LOOK]),
        ("RESTORE a block over a busy key", [*busy, ("RESTORE", "k", 0, framed(literal(BLOCK))), *LOOK]),
        ("RESTORE over a deadline", [("SET", "k", "v", "PXAT", FAR_MS), ("RESTORE", "k", 0, ABC, "REPLACE"), *LOOK]),
        ("RESTORE order of checks", order),
        ("RESTORE order of checks, key busy", [*busy, *order, ("GET", "k")]),
        ("RESTORE in lower case", [("restore", "k", 0, ABC), ("restore", "k", 0, ABC, "replace"), *LOOK]),
        (
            "RESTORE odd keys",
            [("RESTORE", "", 0, ABC), ("GET", ""), ("RESTORE", "x" * 300, 0, ABC), ("GET", "x" * 300)],
        ),
    ]


def _lifetimes() -> list[Case]:
    past: list[Request] = [("RESTORE", "k", 1, ABC, "ABSTTL"), ("EXISTS", "k")]
    cases: list[Case] = [
        ("RESTORE with a TTL", [("RESTORE", "k", 1_000_000, ABC), ("TTL", "k"), ("GET", "k")]),
        ("RESTORE with a Unix time", [("RESTORE", "k", FAR_MS, ABC, "ABSTTL"), *LOOK]),
        ("RESTORE with a Unix time of 0", [("RESTORE", "k", 0, ABC, "ABSTTL"), *LOOK]),
        ("RESTORE into the past", past),
        (
            "RESTORE into the past over a key",
            [("SET", "k", "v"), *past, ("RESTORE", "k", 1, ABC, "ABSTTL", "REPLACE"), *LOOK],
        ),
        ("RESTORE a block into the past", [("RESTORE", "k", 1, framed(literal(BLOCK)), "ABSTTL"), ("EXISTS", "k")]),
        ("RESTORE to the end of time", [("RESTORE", "k", MAX, ABC, "ABSTTL"), ("PEXPIRETIME", "k")]),
        ("RESTORE past the end of time", [("RESTORE", "k", MAX, ABC), ("EXISTS", "k"), ("SET", "k", 1)]),
        ("RESTORE past the end of time over a key", [("SET", "k", 1), ("RESTORE", "k", MAX, ABC, "REPLACE"), *LOOK]),
        ("RESTORE not an integer", [("RESTORE", "k", text, ABC) for text in NOT_INTEGERS]),
        (
            "RESTORE negative",
            [("RESTORE", "k", text, ABC, *more) for text in ("-1", "-" + MAX) for more in ((), ("ABSTTL",))],
        ),
    ]
    return cases


def _options() -> list[Case]:
    idle: Request = ("OBJECT", "IDLETIME", "k")
    numbers: list[Arg] = [*NOT_INTEGERS, "-1", "-" + MAX]
    wrong: list[Request] = [
        *(("NOSUCH",), ("IDLETIME",), ("FREQ",), ("REPLACE", "IDLETIME"), ("ABSTTL", "FREQ"), ("",), ("replace\x00x",)),
        *(
            ("IDLETIME", 1, "FREQ", 1),
            ("FREQ", 1, "IDLETIME", 1),
            ("IDLETIME", -1, "NOSUCH"),
            ("NOSUCH", "IDLETIME", -1),
        ),
        *(("IDLETIME", text) for text in numbers),
        *(("FREQ", text) for text in [*numbers, 256, MAX]),
    ]
    return [
        ("RESTORE IDLETIME", [("RESTORE", "k", 0, ABC, "IDLETIME", 1000), idle, ("GET", "k"), idle]),
        ("RESTORE IDLETIME 0", [("RESTORE", "k", 0, ABC, "idletime", 0), idle]),
        *(
            (f"RESTORE IDLETIME {seconds}", [("RESTORE", "k", 0, ABC, "IDLETIME", seconds), idle])
            for seconds in (1, 10**6, 2**24 - 10, 2**24 + 1000, 3 * 2**24 + 1000)
        ),
        ("RESTORE IDLETIME twice", [("RESTORE", "k", 0, ABC, "IDLETIME", 5, "IDLETIME", 2000), idle]),
        (
            "RESTORE FREQ",
            [("RESTORE", "k", 0, ABC, "FREQ", 255), ("RESTORE", "k", 0, ABC, "REPLACE", "freq", 0), *LOOK],
        ),
        ("RESTORE FREQ twice", [("RESTORE", "k", 0, ABC, "FREQ", 5, "FREQ", 6), *LOOK]),
        ("RESTORE wrong options", [*[("RESTORE", "k", 0, ABC, *words) for words in wrong], ("EXISTS", "k")]),
        ("RESTORE wrong options, key busy", [("SET", "k", 1), *[("RESTORE", "k", 0, ABC, *words) for words in wrong]]),
        (
            "RESTORE all options",
            [("RESTORE", "k", FAR_MS, ABC, "ABSTTL", "IDLETIME", 100, "REPLACE", "REPLACE", "ABSTTL"), ("TTL", "k")],
        ),
    ]


CASES: list[Case] = [*_arity(), *_dump(), *_payloads(), *_keys(), *_lifetimes(), *_options()]
