"""Commands about the connection, as sequences that a real redis-server and ours must answer alike, byte for byte.

What only Redis 7.2 knows, what sends no reply, and what tells about process and time is in test_connection.py.
"""

from __future__ import annotations

from typing import TypeAlias

Arg: TypeAlias = "bytes | str | int"
Request: TypeAlias = tuple[Arg, ...]
Case: TypeAlias = tuple[str, list[Request]]

BINARY = bytes(range(256))
BLOCK = b"0123456789abcdef" * 2500  # 40,000 bytes
NOT_INTEGERS: list[Arg] = [
    "",
    " 2",
    "2 ",
    "+2",
    "02",
    "-0",
    "2.0",
    "x",
    b"2\x00",
    "9223372036854775808",
    "-9223372036854775809",
    "9" * 40,
]
BAD_NAMES: list[Arg] = [" ", "a b", "a\n", "\r\n", "\t", "\x7f", b"\x80", "é", b"\x01", " a", "a "]
GOOD_NAMES: list[Arg] = ["a", "!~", "x" * 1000, "name", "", "again", '"', "%s"]

ARITY = {
    ("PING",): {0, 1},
    ("ECHO",): {1},
    ("SELECT",): {1},
    ("RESET",): {0},
    ("ROLE",): {0},
    ("TIME",): {0},
    ("AUTH",): {1, 2, 3, 4, 5},
    ("CLIENT",): {1, 2, 3, 4, 5},
    ("CLIENT", "ID"): {0},
    ("CLIENT", "GETNAME"): {0},
    ("CLIENT", "SETNAME"): {1},
    ("CLIENT", "INFO"): {0},
    ("CLIENT", "REPLY"): {1},
    ("CLIENT", "NO-EVICT"): {1},
}


def _arity() -> list[Case]:
    """Every command with each number of arguments from none to five that it does not take."""
    return [
        (f"arity {' '.join(words)}", [(*words, *("x" * n)) for n in range(6) if n not in allowed])
        for words, allowed in ARITY.items()
    ]


def _small() -> list[Case]:
    return [
        (
            "PING",
            [("PING",), ("ping",), ("Ping", "x"), ("PING", ""), ("PING", BINARY), ("PING", BLOCK), ("PING", "a", "b")],
        ),
        ("ECHO", [("ECHO", "x"), ("echo", ""), ("ECHO", BINARY), ("ECHO", BLOCK), ("ECHO", "\r\n")]),
        ("QUIT", [("PING",), ("QUIT",)]),
        ("QUIT with arguments", [("quit", "x", "y")]),
        ("ROLE", [("ROLE",), ("role",)]),
        ("TIME", [("TIME",), ("time",)]),
        (
            "SELECT remembers",
            [
                ("SET", "k", "0"),
                ("SELECT", 15),
                ("GET", "k"),
                ("SELECT", 16),
                ("SET", "k", "15"),
                ("SELECT", 0),
                ("GET", "k"),
            ],
        ),
    ]


def _names() -> list[Case]:
    get: Request = ("CLIENT", "GETNAME")
    set_good = [request for name in GOOD_NAMES for request in (("CLIENT", "SETNAME", name), get)]
    set_bad = [request for name in BAD_NAMES for request in (("CLIENT", "SETNAME", name), get)]
    return [
        ("CLIENT GETNAME unset", [get, ("client", "getname")]),
        ("CLIENT SETNAME", [*set_good, ("client", "setname", "lower"), get]),
        ("CLIENT SETNAME refused", [*set_bad, ("CLIENT", "SETNAME", "kept"), *set_bad]),
        ("CLIENT SETNAME to nothing", [("CLIENT", "SETNAME", "a"), ("CLIENT", "SETNAME", ""), get]),
        ("CLIENT ID", [("CLIENT", "ID"), ("client", "id")]),
        (
            "CLIENT NO-EVICT",
            [("CLIENT", "NO-EVICT", word) for word in ("on", "OFF", "On", "", "yes", b"on\x00x", "o", "onn")],
        ),
        ("CLIENT REPLY", [("CLIENT", "REPLY", word) for word in ("on", "ON", "yes", "", b"on\x00ff")]),
        (
            "CLIENT unknown",
            [
                ("CLIENT", "NOSUCH"),
                ("CLIENT", ""),
                ("client", "nosuch", "a", "b"),
                ("CLIENT", b"a\x00b"),
                ("CLIENT", "x" * 200),
            ],
        ),
    ]


def _hello() -> list[Case]:
    get: Request = ("CLIENT", "GETNAME")
    proto: list[Request] = [("GET", "missing"), get]  # null shows the protocol
    back: list[Request] = [("HELLO", 3, "NOSUCH"), *proto]
    return [
        ("HELLO alone", [("HELLO",), *proto]),
        ("HELLO 2 and 3", [("HELLO", 3), *proto, ("HELLO", 2), *proto, ("HELLO", "3"), ("HELLO",), *proto]),
        ("HELLO not an integer", [("HELLO", text) for text in NOT_INTEGERS] + proto),
        ("HELLO unsupported", [("HELLO", text) for text in ("0", "1", "4", "-1", "-3", "9223372036854775807")] + proto),
        (
            "HELLO number before options",
            [("HELLO", "x", "NOSUCH"), ("HELLO", 4, "NOSUCH"), ("HELLO", "SETNAME", "a"), *proto],
        ),
        (
            "HELLO unknown option",
            [("HELLO", 3, word) for word in ("", "x", "AUTH", "SETNAME", "auths", "a\r\nb\r\n", BINARY[1:])] + proto,
        ),
        (
            "HELLO SETNAME",
            [("HELLO", 3, "SETNAME", "me"), get, ("HELLO", 2, "setname", "you"), get, ("HELLO", 3, "SETNAME", ""), get],
        ),
        (
            "HELLO SETNAME refused",
            [request for name in BAD_NAMES for request in (("HELLO", 3, "SETNAME", name), *proto)],
        ),
        ("HELLO SETNAME twice", [("HELLO", 3, "SETNAME", "a", "SETNAME", "b"), get, *back]),
        ("HELLO AUTH", [("HELLO", 3, "AUTH", "default", "any"), *proto, ("HELLO", 2, "auth", "default", ""), *proto]),
        (
            "HELLO AUTH refused",
            [("HELLO", 3, "AUTH", user, "x") for user in ("nobody", "", "DEFAULT", "default ", b"default\x00")] + proto,
        ),
        (
            "HELLO AUTH and SETNAME",
            [
                ("HELLO", 3, "AUTH", "default", "x", "SETNAME", "me"),
                get,
                ("HELLO", 2, "SETNAME", "it", "AUTH", "default", ""),
                get,
            ],
        ),
    ]


def _auth() -> list[Case]:
    return [
        ("AUTH a password", [("AUTH", "x"), ("auth", ""), ("AUTH", BINARY)]),
        ("AUTH default", [("AUTH", "default", "x"), ("auth", "default", ""), ("AUTH", "default", BINARY), ("PING",)]),
        (
            "AUTH unknown user",
            [("AUTH", user, "x") for user in ("nobody", "", "Default", "defaul", "default\r\n", b"default\x00")]
            + [("PING",)],
        ),
        ("AUTH too many", [("AUTH", "a", "b", "c"), ("AUTH", "default", "b", "c", "d")]),
    ]


def _reset() -> list[Case]:
    get: Request = ("CLIENT", "GETNAME")
    return [
        ("RESET", [("RESET",), ("reset",), ("PING",)]),
        ("RESET the name", [("CLIENT", "SETNAME", "a"), ("RESET",), get]),
        ("RESET the database", [("SET", "k", "v"), ("SELECT", 4), ("GET", "k"), ("RESET",), ("GET", "k")]),
        ("RESET the protocol", [("HELLO", 3), ("GET", "missing"), ("RESET",), ("GET", "missing"), get]),
        (
            "RESET and go on",
            [("HELLO", 3, "SETNAME", "a"), ("RESET",), ("HELLO", 3), get, ("SET", "k", "v"), ("GET", "k")],
        ),
    ]


CASES: list[Case] = [*_arity(), *_small(), *_names(), *_hello(), *_auth(), *_reset()]
