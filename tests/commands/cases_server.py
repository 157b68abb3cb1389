"""Commands about the server, as sequences that a real redis-server and ours must answer alike, byte for byte.

Single replies are in tests/shell/test_replies.py; here is what one request changes for the next.
"""

from __future__ import annotations

from typing import TypeAlias

Arg: TypeAlias = "bytes | str | int"
Request: TypeAlias = tuple[Arg, ...]
Case: TypeAlias = tuple[str, list[Request]]

SAMPLES = ("string", "integer", "double", "bignum", "null", "array", "set", "map", "true", "false", "verbatim")
ODD: list[Arg] = ["", " ", "x", "-1", "0", "+1", "1.5", b"\0", b"1\0", "9223372036854775807", "9223372036854775808"]
NUMBERS = ("slowlog-log-slower-than", "slowlog-max-len", "latency-monitor-threshold")


def _config() -> list[Case]:
    get: list[Request] = [("CONFIG", "GET", name) for name in NUMBERS]
    back: list[Request] = [("CONFIG", "SET", NUMBERS[0], 10000, NUMBERS[1], 128, NUMBERS[2], 0)]
    percentiles = "latency-tracking-info-percentiles"
    shown: Request = ("CONFIG", "GET", percentiles)
    return [
        ("CONFIG SET of several", [("CONFIG", "SET", NUMBERS[0], 5, NUMBERS[1], 6, NUMBERS[2], 7), *get, *back, *get]),
        ("CONFIG SET none of several", [("CONFIG", "SET", NUMBERS[0], 5, NUMBERS[1], "x", NUMBERS[2], 7), *get]),
        *((f"CONFIG SET {name}", [*(("CONFIG", "SET", name, odd) for odd in ODD), *get, *back]) for name in NUMBERS),
        (
            "CONFIG SET percentiles",
            [
                request
                for text in ("", "0", "100", "50 99.5", "1e1", "0.1", "99.999999", "50 x", "101", "-1", "50 99 99.9")
                for request in (("CONFIG", "SET", percentiles, text), shown)
            ],
        ),
    ]


def _debug() -> list[Case]:
    digest: Request = ("DEBUG", "DIGEST")
    return [
        *((f"DEBUG PROTOCOL {name}", [("DEBUG", "PROTOCOL", name), ("PING",)]) for name in SAMPLES),
        (
            "DEBUG DIGEST",
            [
                digest,
                ("SET", "a", "1"),
                digest,
                ("SET", "a", "1", "PXAT", 4102444800000),
                digest,
                ("DEBUG", "DIGEST-VALUE", "a", "b", "a"),
                ("MOVE", "a", 7),
                digest,
                ("SET", b"\xff\0", b"x" * 50000),
                ("SET", "", ""),
                digest,
                ("DEBUG", "DIGEST-VALUE", "", b"\xff\0"),
            ],
        ),
        (
            "DEBUG POPULATE",
            [
                ("SET", "key:0", "mine"),
                ("DEBUG", "POPULATE", 3),
                ("MGET", "key:0", "key:1", "key:2", "key:3"),
                ("DEBUG", "POPULATE", 2, "p"),
                ("DEBUG", "POPULATE", 1, "long", 20),
                ("DEBUG", "POPULATE", 1, "short", 3),
                ("MGET", "p:1", "long:0", "short:0"),
                ("DEBUG", "POPULATE", 2, "a", 1, 1),
                ("DBSIZE",),
                digest,
            ],
        ),
        (
            "DEBUG POPULATE refused",
            [("DEBUG", "POPULATE", odd) for odd in ODD if odd not in ("0", "9223372036854775807")] + [("DBSIZE",)],
        ),
    ]


def _memory() -> list[Case]:
    return [
        (
            "MEMORY USAGE refused",
            [
                ("SET", "k", "v"),
                *(("MEMORY", "USAGE", "k", "SAMPLES", odd) for odd in ODD if odd not in ("0", "9223372036854775807")),
                ("MEMORY", "USAGE", "nokey", "SAMPLES", 0),
                ("MEMORY", "USAGE", "k", "SAMPLES"),
                ("MEMORY", "USAGE", "k", "x", 1),
            ],
        ),
    ]


CASES: list[Case] = [*_config(), *_debug(), *_memory()]
