"""OBJECT, COPY, SORT and WAIT, as sequences that a real redis-server and ours must answer alike, byte for byte.

Encodings are asked for behind every command that may change one.
"""

from __future__ import annotations

from typing import TypeAlias

Arg: TypeAlias = "bytes | str | int"
Request: TypeAlias = tuple[Arg, ...]
Case: TypeAlias = tuple[str, list[Request]]

MAX = "9223372036854775807"
FAR_MS = 99_999_999_999_000
BLOCK = b"0123456789abcdef" * 2500  # 40,000 bytes: a counted block
ENCODING: Request = ("OBJECT", "ENCODING", "k")
REFCOUNT: Request = ("OBJECT", "REFCOUNT", "k")
LFU = ("OBJECT", "FREQ", "k")
NOT_INTEGERS: list[Arg] = ["", " 1", "1 ", "+1", "01", "-0", "1.0", "x", b"1\x00", "9223372036854775808"]

ARITY = {
    ("OBJECT",): {1, 2, 3, 4, 5},
    ("OBJECT", "ENCODING"): {1},
    ("OBJECT", "FREQ"): {1},
    ("OBJECT", "HELP"): {0},
    ("OBJECT", "IDLETIME"): {1},
    ("OBJECT", "REFCOUNT"): {1},
    ("COPY",): range(2, 6),
    ("SORT",): range(1, 6),
    ("SORT_RO",): range(1, 6),
    ("WAIT",): {2},
}

# A value, and how many bytes it has where that decides.
VALUES: dict[str, Arg] = {
    "empty": "",
    "0": 0,
    "9999": 9999,
    "10000": 10000,
    "-1": -1,
    "the greatest integer": MAX,
    "the least integer": "-9223372036854775808",
    "past the greatest integer": "9223372036854775808",
    "no canonical integer": "007",
    "a float": "1.5",
    "44 bytes": "x" * 44,
    "45 bytes": "x" * 45,
    "31,999 bytes": "x" * 31999,
    "a block": BLOCK,
}

# Commands on a key that holds something, all with the encoding to look at afterwards.
CHANGES: dict[str, list[Request]] = {
    "APPEND": [("APPEND", "k", "1")],
    "APPEND nothing": [("APPEND", "k", "")],
    "SETRANGE": [("SETRANGE", "k", 0, "7")],
    "SETRANGE behind": [("SETRANGE", "k", 60, "7")],
    "SETRANGE nothing": [("SETRANGE", "k", 3, "")],
    "INCR": [("INCR", "k")],
    "INCRBYFLOAT": [("INCRBYFLOAT", "k", "0.5")],
    "GETSET": [("GETSET", "k", "12")],
    "GETEX": [("GETEX", "k", "PXAT", FAR_MS)],
    "EXPIRE": [("PEXPIREAT", "k", FAR_MS), ENCODING, ("PERSIST", "k")],
    "SET KEEPTTL": [("SET", "k", "short", "KEEPTTL")],
    "RENAME": [("RENAME", "k", "m"), ("RENAME", "m", "k")],
    "MOVE": [("MOVE", "k", 3), ENCODING, ("SELECT", 3)],
    "COPY": [("COPY", "k", "m"), ("RENAME", "m", "k")],
    "MSET": [("MSET", "k", "x" * 44, "m", "x")],
    "reads": [("GET", "k"), ("GETRANGE", "k", 0, 3), ("STRLEN", "k")],
}
# Changes in a row: what was changed once stays "raw" until it is set anew.
HISTORIES: dict[str, list[Request]] = {
    "APPEND to nothing": [("APPEND", "k", "abc"), ENCODING, ("APPEND", "k", "d")],
    "APPEND an integer to nothing": [("APPEND", "k", "12"), ENCODING, REFCOUNT, ("APPEND", "k", "3"), ("INCR", "k")],
    "SETRANGE of nothing": [("SETRANGE", "k", 0, "12"), ENCODING, ("INCR", "k")],
    "BITOP": [("SET", "a", "1"), ("BITOP", "OR", "k", "a")],
    "SETBIT": [("SET", "k", "1"), ("SETBIT", "k", 7, 1)],
    "BITFIELD": [("SET", "k", "1"), ("BITFIELD", "k", "SET", "u8", 0, 50)],
    "INCR of nothing": [("INCR", "k")],
    "INCRBYFLOAT of nothing": [("INCRBYFLOAT", "k", 3), ENCODING, ("INCR", "k")],
    "SET over a changed value": [("SETRANGE", "k", 2, "x"), ("SET", "k", "abc"), ENCODING, ("SET", "k", 5)],
    "a changed value in its place": [("SETRANGE", "k", 0, "abcd"), ("SET", "k", "abcd")],
    "changed, moved, copied": [
        *(("SETRANGE", "k", 0, "abcd"), ("PEXPIREAT", "k", FAR_MS), ENCODING, ("COPY", "k", "m")),
        *(("RENAME", "m", "k"), ENCODING, ("PERSIST", "k"), ENCODING, ("GET", "k")),
    ],
    "past the shared integers": [("SET", "k", 9999), REFCOUNT, ("INCR", "k"), REFCOUNT, ("DECR", "k"), REFCOUNT],
    "below the shared integers": [("SET", "k", -1), REFCOUNT, ("INCR", "k"), REFCOUNT, ("DECR", "k"), REFCOUNT],
}


def _arity() -> list[Case]:
    """Every command with each number of arguments from none to five that it does not take."""
    return [
        (f"arity {' '.join(words)}", [(*words, *("x" * n)) for n in range(6) if n not in allowed])
        for words, allowed in ARITY.items()
    ]


def _object() -> list[Case]:
    missing: list[Request] = [("OBJECT", word, "k") for word in ("ENCODING", "REFCOUNT", "FREQ", "IDLETIME")]
    return [
        ("OBJECT of a missing key", missing),
        ("OBJECT in lower case", [("SET", "k", "v"), ("object", "encoding", "k"), ("object", "refcount", "k")]),
        ("OBJECT HELP", [("OBJECT", "HELP"), ("object", "help")]),
        ("OBJECT unknown", [("OBJECT", "NOSUCH"), ("OBJECT", "", "k"), ("OBJECT", "x" * 200, "k", "m")]),
        ("OBJECT FREQ", [("SET", "k", "v"), LFU, ("SET", "k", 5), LFU]),
        (
            "OBJECT IDLETIME",
            [("SET", "k", "v"), ("OBJECT", "IDLETIME", "k"), ("GET", "k"), ("OBJECT", "IDLETIME", "k")],
        ),
        *((f"OBJECT of {name}", [("SET", "k", value), ENCODING, REFCOUNT]) for name, value in VALUES.items()),
        *(
            (f"OBJECT ENCODING of {name} after {change}", [("SET", "k", value), *requests, ENCODING])
            for name, value in VALUES.items()
            for change, requests in CHANGES.items()
        ),
        *((f"OBJECT ENCODING after {name}", [*requests, ENCODING]) for name, requests in HISTORIES.items()),
    ]


def _copy() -> list[Case]:
    kinds: dict[str, list[Request]] = {
        "a string": [("SET", "a", "text")],
        "an integer": [("SET", "a", 123456)],
        "a block": [("SET", "a", BLOCK)],
        "a changed string": [("SETRANGE", "a", 2, "abc")],
        "a deadline": [("SET", "a", "text", "PXAT", FAR_MS)],
        "a block with a deadline": [("SET", "a", BLOCK, "PXAT", FAR_MS)],
    }
    look: list[Request] = [
        request for key in ("a", "b") for request in (("GET", key), ("PEXPIRETIME", key), ("OBJECT", "ENCODING", key))
    ]
    apart: list[Request] = [("APPEND", "b", "!"), ("SETRANGE", "a", 1, "?"), ("GET", "a"), ("GET", "b"), ("DBSIZE",)]
    wrong: list[Request] = [
        *(("COPY", "a", "b", "DB"), ("COPY", "a", "b", "REPLACE", "DB"), ("COPY", "a", "b", "NOSUCH")),
        *(("COPY", "a", "b", "DB", text) for text in NOT_INTEGERS),
        *(("COPY", "a", "b", "DB", db) for db in (-1, 16, 2147483647, 2147483648, -2147483649, MAX)),
        *(("COPY", "a", "b", "DB", 16, "NOSUCH"), ("COPY", "a", "b", "NOSUCH", "DB", 16)),
        *(("COPY", "a", "a", "NOSUCH"), ("COPY", "a", "a", "DB", "x"), ("DBSIZE",)),
    ]
    cases: list[Case] = [
        (
            "COPY a missing key",
            [("COPY", "a", "b"), ("COPY", "a", "b", "REPLACE"), ("SET", "b", "1"), ("COPY", "a", "b")],
        ),
        ("COPY a missing key over one", [("SET", "b", "1"), ("COPY", "a", "b", "REPLACE"), ("GET", "b")]),
        ("COPY to itself", [("COPY", "a", "a"), ("SET", "a", "1"), ("COPY", "a", "a"), ("COPY", "a", "a", "REPLACE")]),
        ("COPY to itself by number", [("SET", "a", "1"), ("COPY", "a", "a", "DB", 0), ("COPY", "a", "a", "db", "0")]),
        ("COPY wrong options", [("SET", "a", "1"), *wrong]),
        ("COPY wrong options, key missing", wrong),
        ("COPY the last database counts", [("SET", "a", 1), ("COPY", "a", "b", "DB", 3, "DB", 0), ("GET", "b")]),
        (
            "COPY odd keys",
            [("SET", "", b"\x00"), ("COPY", "", "x" * 300), ("GET", "x" * 300), ("COPY", "x" * 300, "\n")],
        ),
        ("COPY in lower case", [("SET", "a", "1"), ("copy", "a", "b", "replace", "db", "0"), ("GET", "b")]),
        (
            "COPY over what expires",
            [("SET", "a", "1"), ("SET", "b", "2", "PXAT", FAR_MS), ("COPY", "a", "b", "REPLACE"), *look],
        ),
    ]
    for name, make in kinds.items():
        cases += [
            (f"COPY {name}", [*make, ("COPY", "a", "b"), *look, *apart]),
            (f"COPY {name} over one", [*make, ("SET", "b", "1"), ("COPY", "a", "b"), *look, *apart]),
            (f"COPY {name} and replace one", [*make, ("SET", "b", "1"), ("COPY", "a", "b", "REPLACE"), *look, *apart]),
            (
                f"COPY {name} and replace a block",
                [*make, ("SET", "b", BLOCK), ("COPY", "a", "b", "REPLACE"), *look, *apart],
            ),
            (f"COPY {name} twice", [*make, ("COPY", "a", "b"), ("COPY", "a", "b", "REPLACE"), ("DEL", "a"), *look]),
            (
                f"COPY {name} to another database",
                [*make, ("COPY", "a", "b", "DB", 5), *look, ("SELECT", 5), *look, ("COPY", "b", "a", "DB", 0), *look],
            ),
            (
                f"COPY {name} to its name in another database",
                [*make, ("COPY", "a", "a", "DB", 5), ("COPY", "a", "a", "DB", 5), ("SELECT", 5), *look],
            ),
        ]
    return cases


SORT_OPTIONS: list[Request] = [
    *(("ASC",), ("DESC",), ("ALPHA",), ("asc", "DESC", "alpha"), ("BY", "w_*"), ("BY", "nosort"), ("GET", "#")),
    *(
        ("GET", "#", "GET", "o_*->f"),
        ("LIMIT", 0, 10),
        ("LIMIT", -1, "-1"),
        ("LIMIT", MAX, MAX),
        ("limit", 0, 1, "limit", 1, 2),
    ),
    *(("NOSUCH",), ("BY",), ("GET",), ("LIMIT",), ("LIMIT", 0), ("STORE",), ("ASC", "STORE"), ("BY", "x", "GET")),
    *(("LIMIT", "x", 1), ("LIMIT", 1, "x"), ("LIMIT", 1, ""), ("LIMIT", "01", 1), ("LIMIT", 1, "9223372036854775808")),
    *(("LIMIT", "x", 1, "NOSUCH"), ("NOSUCH", "LIMIT", "x", 1), ("",), ("asc\x00x",)),
]


def _sort() -> list[Case]:
    stores: list[Request] = [
        *(
            ("STORE", "d"),
            ("store", "d"),
            ("STORE", "d", "NOSUCH"),
            ("STORE", "e", "STORE", "d"),
            ("DESC", "STORE", "d", "ALPHA"),
        ),
        *(("STORE", "k"), ("STORE", "")),
    ]
    look: list[Request] = [("EXISTS", "k", "d", "e"), ("GET", "d")]
    cases: list[Case] = []
    for name in ("SORT", "SORT_RO"):
        cases += [
            (f"{name} a missing key", [(name, "k"), *[(name, "k", *words) for words in SORT_OPTIONS]]),
            (f"{name} a string", [("SET", "k", "v"), (name, "k"), *[(name, "k", *words) for words in SORT_OPTIONS]]),
            *(
                (f"{name} {'/'.join(map(str, words))}", [("MSET", "d", 1, "e", 2), (name, "k", *words), *look])
                for words in stores
            ),
            *(
                (
                    f"{name} a string, {'/'.join(map(str, words))}",
                    [("MSET", "k", 0, "d", 1, "e", 2), (name, "k", *words), *look],
                )
                for words in stores
            ),
        ]
    return cases


def _wait() -> list[Case]:
    timeouts: list[Arg] = [*NOT_INTEGERS, "-1", "-9223372036854775808"]
    return [
        ("WAIT for nobody", [("WAIT", 0, 0), ("wait", "0", "1000000"), ("WAIT", -5, 0)]),
        ("WAIT in vain", [("WAIT", 1, 1), ("WAIT", MAX, 1), ("PING",)]),
        ("WAIT not an integer", [("WAIT", text, 1) for text in NOT_INTEGERS]),
        ("WAIT with a wrong timeout", [("WAIT", count, text) for text in timeouts for count in (0, 1, "x")]),
    ]


CASES: list[Case] = [*_arity(), *_object(), *_copy(), *_sort(), *_wait()]
