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
            "CONFIG SET latency-tracking",
            [
                ("GET", "k"),
                ("CONFIG", "SET", "latency-tracking", "no"),
                ("CONFIG", "RESETSTAT"),
                ("GET", "k"),
                ("CLIENT", "ID"),
                ("LATENCY", "HISTOGRAM", "get", "client"),
                ("LATENCY", "HISTOGRAM"),
                ("CONFIG", "SET", "latency-tracking", "yes"),
                ("LATENCY", "HISTOGRAM", "get"),
            ],
        ),
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


KELVIN = "\u212a".encode()  # no letter of ASCII, and "k" in lower case
ZERO = b"\x00x"


def _words() -> list[Case]:
    """Options are compared, and repeated in errors, up to a zero byte; letters of ASCII alone have two cases."""
    return [
        (
            "control words with a zero byte",
            [
                ("COMMAND", "LIST", b"filterby" + ZERO, b"PATTERN" + ZERO, "getde[l]"),
                ("COMMAND", "LIST", "FILTERBY", b"module" + ZERO, "x"),
                ("COMMAND", "LIST", "FILTERBY", "ACLCAT", b"nosuch" + ZERO),
                ("CONFIG", "SET", b"\x00", 1),
                ("CONFIG", "SET", b"slowlog" + ZERO, 1),
                ("CONFIG", "SET", "latency-tracking", b"yes" + ZERO),
                ("CONFIG", "GET", b"slowlog-max-le[n]" + ZERO),
                ("CONFIG", "GET", b"[" + ZERO),
                ("DEBUG", b"nosuch" + ZERO),
                ("DEBUG", b"OBJECT" + ZERO, "nokey"),
                ("DEBUG", b"protocol" + ZERO, b"integer" + ZERO),
                ("DEBUG", "RELOAD", "x"),
                ("FAILOVER", b"timeout" + ZERO, 1),
                ("FAILOVER", b"ABORT" + ZERO),
                ("LATENCY", "GRAPH", b"a" + ZERO),
                ("LATENCY", "HISTORY", b"nosuch" + ZERO),
                ("LOLWUT", b"version" + ZERO, "x"),
                ("MEMORY", "USAGE", "nokey", b"samples" + ZERO, "x"),
                ("REPLCONF", b"nosuch" + ZERO, 1),
                ("REPLCONF", b"capa" + ZERO, 1),
                ("REPLCONF", "\r\nno\r\nsuch\r\n", 1),
                ("REPLICAOF", b"NO" + ZERO, b"one" + ZERO),
                ("SHUTDOWN", b"abort" + ZERO),
                ("SHUTDOWN", b"nosave" + ZERO, "x"),
            ],
        ),
        (
            "words in other letters",
            [
                ("CONFIG", "GET", b"tcp-" + KELVIN + b"eepalive"),
                ("CONFIG", "SET", b"tcp-" + KELVIN + b"eepalive", 1),
                ("CONFIG", "SET", "maxmemory", b"1" + KELVIN + b"b"),
                ("CLIENT", "KILL", b"S" + KELVIN + b"IPME", "yes"),
                ("COMMAND", "INFO", b"loo" + KELVIN),
                ("COMMAND", "LIST", "FILTERBY", "ACLCAT", b"bloc" + KELVIN + b"ing"),
                ("COMMAND", "GETKEYS", b"loo" + KELVIN, 1),
                ("INFO", b"loo" + KELVIN),
                ("LATENCY", "HISTOGRAM", b"loo" + KELVIN),
            ],
        ),
        (
            "COMMAND GETKEYSANDFLAGS of subcommands",
            [
                ("COMMAND", "GETKEYSANDFLAGS", "config|get", "x", "y"),
                ("COMMAND", "GETKEYSANDFLAGS", "memory|usage", "x", "y"),
                ("COMMAND", "GETKEYSANDFLAGS", "memory", "usage", "y"),
                ("COMMAND", "GETKEYSANDFLAGS", "|", "y"),
                ("COMMAND", "GETKEYSANDFLAGS", "config|", "y"),
            ],
        ),
    ]


def _numbers() -> list[Case]:
    odd: list[Arg] = [2**63, -(2**63) - 1, 2**63 - 1, -(2**63), 10**30]
    odd += ["-0", "+1", "\u0661", "1_0", " 1", "0x10", b"1\x00"]
    floats: list[Arg] = ["", "\u0661", "5 nan", b"5\x00", *b"nan -nan inf -inf +infinity 1e400 1e-400 1e-320".split()]
    floats += b"0x1p3 0x1p2000 0x 1_0 1e +5 .5 5. . -0 -0.0 0e999 1e2 1e3".split()
    percentiles = "latency-tracking-info-percentiles"
    return [
        ("CONFIG SET numbers past the end", [("CONFIG", "SET", "timeout", number) for number in odd]),
        (
            "CONFIG SET percentiles in odd forms",
            [
                *(
                    request
                    for text in floats
                    for request in (("CONFIG", "SET", percentiles, text), ("CONFIG", "GET", percentiles))
                ),
                ("CONFIG", "SET", percentiles, "50 99 99.9"),
            ],
        ),
        ("LOLWUT numbers", [("LOLWUT", "VERSION", *args) for args in ([5, "x"], [5, 1, 1, "x"], [6, 1, "x"])]),
        ("DEBUG POPULATE too long", [("DEBUG", "POPULATE", 1, "x", "-1"), ("DEBUG", "POPULATE", 1, "x", 2**63)]),
    ]


CASES: list[Case] = [*_config(), *_debug(), *_memory(), *_words(), *_numbers()]
