"""Commands on keys and databases, as sequences that a real redis-server and ours must answer alike, byte for byte.

Each sequence starts with all databases empty. Nothing in it depends on the clock: a lifetime is read with TTL (whole
seconds, rounded), a deadline with PEXPIRETIME, and a time in the past is long past. SCAN asks for more keys than there
are, so that one call is the whole round.
"""

from __future__ import annotations

from itertools import product
from typing import TypeAlias

Arg: TypeAlias = "bytes | str | int"
Request: TypeAlias = tuple[Arg, ...]
Case: TypeAlias = tuple[str, list[Request]]

MAX = "9223372036854775807"
MIN = "-9223372036854775808"
FAR = 99_999_999_999  # Unix time in seconds, beyond every test
FAR_MS = FAR * 1000
BINARY = bytes(range(256))
BLOCK = b"0123456789abcdef" * 2500  # 40,000 bytes: a counted block
MANY = 150  # keys of one command

# A unit's largest and smallest number that still fits, once it is milliseconds.
EDGES: list[str] = ["9223372036854775", "9223372036854776", "-9223372036854775", "-9223372036854776", MAX, MIN]
NOT_INTEGERS: list[Arg] = [
    "",
    " 1",
    "1 ",
    "+1",
    "01",
    "-0",
    "1.0",
    "1e3",
    "0x10",
    "-",
    "abc",
    b"1\x00",
    "9223372036854775808",
]

ARITY = {
    "DEL": range(1, 6),
    "UNLINK": range(1, 6),
    "EXISTS": range(1, 6),
    "TOUCH": range(1, 6),
    "TYPE": {1},
    "TTL": {1},
    "PTTL": {1},
    "EXPIRETIME": {1},
    "PEXPIRETIME": {1},
    "EXPIRE": range(2, 6),
    "PEXPIRE": range(2, 6),
    "EXPIREAT": range(2, 6),
    "PEXPIREAT": range(2, 6),
    "PERSIST": {1},
    "RENAME": {2},
    "RENAMENX": {2},
    "MOVE": {2},
    "KEYS": {1},
    "SCAN": range(1, 6),
    "RANDOMKEY": {0},
    "DBSIZE": {0},
    "FLUSHDB": range(6),
    "FLUSHALL": range(6),
    "SWAPDB": {2},
}


def _arity() -> list[Case]:
    """Every command with each number of arguments from none to five that it does not take."""
    return [
        (f"arity {name}", [(name, *("x" * n)) for n in range(6) if n not in allowed])
        for name, allowed in ARITY.items()
        if set(range(6)) - set(allowed)
    ]


def _set(*keys: Arg) -> list[Request]:
    return [("SET", key, "value") for key in keys]


def _counting() -> list[Case]:
    """DEL, UNLINK, EXISTS and TOUCH count keys; a key that is named twice may count twice."""
    cases: list[Case] = []
    odd: list[Arg] = ["", " ", "\r\n", BINARY, b"\x00", b"x" * 255, b"x" * 256, b"x" * 70000]
    many = [f"key:{i}" for i in range(MANY)]
    for name in ("DEL", "UNLINK", "EXISTS", "TOUCH"):
        again: Request = ("EXISTS", "a", "b", "c")
        cases += [
            (f"{name} a missing key", [(name, "a"), (name, "a", "b")]),
            (f"{name} one of several", [*_set("a", "b", "c"), (name, "b"), again, ("GET", "a"), ("DBSIZE",)]),
            (f"{name} several", [*_set("a", "b", "c"), (name, "a", "missing", "c"), again, ("DBSIZE",)]),
            (f"{name} the same key twice", [*_set("a", "b"), (name, "a", "a"), (name, "b", "a", "b", "b"), again]),
            (f"{name} in another database", [*_set("a"), ("SELECT", 1), (name, "a"), ("SELECT", 0), again]),
            (f"{name} with odd keys", [*_set(*odd), (name, *odd[:4], "no"), (name, *odd), (name, *odd), ("DBSIZE",)]),
            (f"{name} many keys", [*_set(*many[::2]), (name, *many), (name, *many), ("DBSIZE",), (name, *many[1::2])]),
            (f"{name} with a deadline", [("SET", "a", "1", "EX", 1000), (name, "a", "a"), ("TTL", "a"), ("GET", "a")]),
            (f"{name} a block", [("SET", "a", BLOCK), ("SET", "b", BLOCK), (name, "a"), ("STRLEN", "a"), ("GET", "b")]),
            (f"{name.lower()} in lower case", [*_set("a"), (name.lower(), "a"), (name.title(), "a")]),
        ]
    return cases


def _types() -> list[Case]:
    kinds: list[Request] = [("SET", "k", "text"), ("SET", "k", "12"), ("SET", "k", BLOCK), ("SETRANGE", "k", 3, "x")]
    return [
        ("TYPE of a missing key", [("TYPE", "k"), ("TYPE", "")]),
        ("TYPE of strings in every encoding", [request for kind in kinds for request in (kind, ("TYPE", "k"))]),
        ("TYPE after DEL", [("SET", "k", "1"), ("DEL", "k"), ("TYPE", "k")]),
    ]


READ: list[Request] = [("TTL", "k"), ("PTTL", "k"), ("EXPIRETIME", "k"), ("PEXPIRETIME", "k"), ("GET", "k")]


def _lifetimes() -> list[Case]:
    return [
        ("lifetime of a missing key", READ),
        ("lifetime of a key without", [*_set("k"), *READ]),
        ("lifetime of a key with a deadline", [*_set("k"), ("EXPIREAT", "k", FAR), *READ]),
        ("lifetime of a key with seconds", [("SET", "k", "v", "EX", 1000), ("TTL", "k"), ("PTTL", "k")]),
        ("lifetime after SET", [*_set("k"), ("EXPIREAT", "k", FAR), *_set("k"), *READ]),
        ("lifetime after APPEND", [*_set("k"), ("EXPIREAT", "k", FAR), ("APPEND", "k", "x" * 300), *READ]),
        ("lifetime of the empty key", [*_set(""), ("EXPIREAT", "", FAR), ("EXPIRETIME", ""), ("GET", "")]),
        ("lifetime at the end of time", [*_set("k"), ("PEXPIREAT", "k", MAX), ("PEXPIRETIME", "k"), ("PTTL", "k")]),
        *(
            (f"EXPIRETIME rounds {rest} ms", [*_set("k"), ("PEXPIREAT", "k", FAR_MS + rest), *READ])
            for rest in (0, 1, 499, 500, 501, 999)
        ),
        ("PERSIST a missing key", [("PERSIST", "k"), ("EXISTS", "k")]),
        ("PERSIST a key without a deadline", [*_set("k"), ("PERSIST", "k"), *READ]),
        ("PERSIST", [*_set("k"), ("EXPIREAT", "k", FAR), ("PERSIST", "k"), *READ, ("PERSIST", "k")]),
        ("PERSIST a block", [("SET", "k", BLOCK), ("EXPIREAT", "k", FAR), ("PERSIST", "k"), *READ]),
        ("PERSIST a counter", [("SET", "k", 7, "EX", 1000), ("PERSIST", "k"), ("INCR", "k"), *READ]),
        ("PERSIST and expire in turn", [*_set("k"), *[("EXPIREAT", "k", FAR), ("PERSIST", "k")] * 20, *READ]),
    ]


# An early, a later and a late deadline of each command, all beyond every test.
TIMES: dict[str, list[int]] = {
    "EXPIRE": [1000, 2000, 3000],
    "PEXPIRE": [1_000_000, 2_000_000, 3_000_000],
    "EXPIREAT": [FAR, FAR + 1, FAR + 2],
    "PEXPIREAT": [FAR_MS, FAR_MS + 1, FAR_MS + 2],
}
WORDS = ["NX", "XX", "GT", "LT"]


def _read(name: str) -> list[Request]:
    """What can be compared of a deadline that this command has set."""
    return [("PEXPIRETIME", "k"), ("TTL", "k")] if name.endswith("AT") else [("TTL", "k")]


def _expire() -> list[Case]:
    cases: list[Case] = []
    for name, (early, middle, late) in TIMES.items():
        read = _read(name)
        start: list[Request] = [*_set("k"), (name, "k", middle)]
        on_deadline: list[Request] = []
        for time in (early, middle, late):
            on_deadline += [(name, "k", middle), (name, "k", time), *read]
        cases += [
            (f"{name} a missing key", [(name, "k", early), ("EXISTS", "k"), (name, "k", "-1"), (name, "k", "0")]),
            (f"{name} a key without a deadline", [*_set("k"), (name, "k", early), *read, ("GET", "k")]),
            (f"{name} a key with one", [*start, *on_deadline, ("GET", "k")]),
            (f"{name} the empty key", [*_set(""), (name, "", early), ("TTL", ""), ("GET", "")]),
            (
                f"{name} a long key",
                [*_set("k" * 300), (name, "k" * 300, early), ("TTL", "k" * 300), ("GET", "k" * 300)],
            ),
            (f"{name} a block", [("SET", "k", BLOCK), (name, "k", early), *read, ("GET", "k")]),
            (f"{name} a counter", [("SET", "k", 41), (name, "k", early), ("INCR", "k"), *read]),
            (f"{name} 0", [*start, (name, "k", 0), ("EXISTS", "k"), ("DBSIZE",)]),
            (f"{name} -1", [*start, (name, "k", -1), ("EXISTS", "k"), ("DBSIZE",)]),
            (f"{name} a block in the past", [("SET", "k", BLOCK), (name, "k", -1), ("EXISTS", "k"), *_set("k"), *read]),
            (f"{name} not an integer", [*start, *[(name, "k", text) for text in NOT_INTEGERS], *read]),
            (f"{name} not an integer, key missing", [(name, "missing", text) for text in NOT_INTEGERS]),
            *(
                (f"{name} edge {text}", [*start, (name, "k", text), ("EXISTS", "k"), ("PEXPIRETIME", "missing")])
                for text in EDGES
            ),
            (f"{name} edges, key missing", [(name, "missing", text) for text in EDGES]),
            (f"{name} unknown option", [*start, *[(name, "k", late, word) for word in UNKNOWN], *read]),
            (
                f"{name} unknown option first",
                [(name, "missing", "abc", "NX", "GT", "what"), (name, "missing", "abc", "NX", "XX")],
            ),
            (
                f"{name} option behind a zero byte",
                [*start, (name, "k", late, b"XX\x00YY"), (name, "k", late, b"\x00XX"), *read],
            ),
        ]
    return cases


UNKNOWN: list[Arg] = [
    "",
    " ",
    "N",
    "NXX",
    "nx ",
    "KEEPTTL",
    "\r\n",
    "two\r\nlines\r\n",
    "\r\n\r\nfront",
    BINARY[1:],
    "x" * 500,
]


def _expire_options() -> list[Case]:
    """One, two and three options, on keys without a deadline, with an earlier, the same and a later one."""
    cases: list[Case] = []
    for name, (early, middle, late) in TIMES.items():
        read = _read(name)
        for words in [
            *product(WORDS),
            *product(WORDS, repeat=2),
            ("XX", "GT", "LT"),
            ("NX", "NX", "NX"),
            ("XX", "LT", "XX"),
        ]:
            requests: list[Request] = [(name, "k", middle, *words), *_set("k"), (name, "k", middle, *words), *read]
            # From now on, "the same deadline" is a millisecond's luck.
            for time in (early, middle, late) if name.endswith("AT") else (early, late):
                requests += [*_set("k"), (name, "k", middle), (name, "k", time, *words), *read]
            for past in (0, -1):
                requests += [*_set("k"), (name, "k", past, *words), ("EXISTS", "k")]
                requests += [*_set("k"), (name, "k", middle), (name, "k", past, *words), ("EXISTS", "k")]
            cases.append((f"{name} options {' '.join(words)}", requests))
        lower: list[Request] = [(name.lower(), "k", late, "xx"), (name.lower(), "k", 2 * late, "gt")]
        lower += [(name.lower(), "k", early, "Lt"), (name.lower(), "k", late, "nX")]
        cases.append((f"{name} options in lower case", [*_set("k"), (name, "k", middle), *lower, *read]))
        conflicts = [(name, "missing", "abc", *words) for words in (("NX", "LT"), ("GT", "LT"), ("XX",))]
        cases.append((f"{name} conflict before number", [*conflicts, (name, "missing", MAX, "NX", "GT")]))
    return cases


# Kinds of values: the requests that make key "k" one.
KINDS: dict[str, list[Request]] = {
    "text": [("SET", "k", "some text")],
    "empty": [("SET", "k", "")],
    "integer": [("SET", "k", "-12345")],
    "block": [("SET", "k", BLOCK)],
    "long text": [("SET", "k", b"t" * 31999)],
    "text with deadline": [("SET", "k", "dying text"), ("PEXPIREAT", "k", FAR_MS)],
    "integer with deadline": [("SET", "k", MAX), ("PEXPIREAT", "k", FAR_MS + 5)],
    "block with deadline": [("SET", "k", BLOCK[::-1]), ("PEXPIREAT", "k", FAR_MS + 9)],
}
AFTER: list[Request] = [
    *[("GET", "source"), ("GET", "target"), ("PEXPIRETIME", "source"), ("PEXPIRETIME", "target"), ("DBSIZE",)],
    *[
        ("APPEND", "target", "+"),
        ("GET", "target"),
        ("PEXPIRETIME", "target"),
        ("SET", "source", "new"),
        ("GET", "target"),
    ],
    *[("DEL", "target"), ("GET", "source"), ("DBSIZE",)],
]


def _make(kind: str, key: str) -> list[Request]:
    return [(request[0], key, *request[2:]) for request in KINDS[kind]]


def _rename() -> list[Case]:
    cases: list[Case] = []
    for name in ("RENAME", "RENAMENX"):
        go: Request = (name, "source", "target")
        for source in KINDS:
            cases.append((f"{name} {source} to a new key", [*_make(source, "source"), go, *AFTER]))
            cases.append((f"{name} {source} to itself", [*_make(source, "target"), (name, "target", "target"), *AFTER]))
        for source, target in product(KINDS, repeat=2):
            made = [*_make(source, "source"), *_make(target, "target")]
            cases.append((f"{name} {source} over {target}", [*made, go, *AFTER]))
        chain = [(name, f"k{i}", f"k{i + 1}") for i in range(50)]
        long = "long" * 200
        cases += [
            (f"{name} a missing key", [go, *_set("target"), go, ("GET", "target"), (name, "missing", "missing")]),
            (f"{name} along a chain", [("SET", "k0", BLOCK), ("EXPIREAT", "k0", FAR), *chain, *_read_key("k50")]),
            (
                f"{name} in a circle",
                [*_set("a", "b"), (name, "a", "c"), (name, "b", "a"), (name, "c", "b"), ("MGET", "a", "b", "c")],
            ),
            (
                f"{name} to a long key",
                [*_set("k"), (name, "k", long), ("GET", long), (name, long, ""), ("GET", ""), ("DBSIZE",)],
            ),
            (
                f"{name} binary keys",
                [*_set(BINARY), (name, BINARY, b"\x00"), ("GET", b"\x00"), (name, b"\x00", b"\x00\x00"), ("DBSIZE",)],
            ),
            (
                f"{name} among many",
                [*_set(*_names(40)), *[(name, k, k + "'") for k in _names(40)], ("EXISTS", *_names(40)), ("DBSIZE",)],
            ),
            (f"{name} within its database", [*_set("source"), ("SELECT", 3), go, ("SELECT", 0), go, ("GET", "target")]),
        ]
    return cases


def _names(n: int) -> list[str]:
    return [f"name{i}" for i in range(n)]


def _read_key(key: str) -> list[Request]:
    return [("GET", key), ("PEXPIRETIME", key), ("DBSIZE",)]


def _move() -> list[Case]:
    bad: list[Arg] = [
        *NOT_INTEGERS,
        "2147483648",
        "-2147483649",
        MAX,
        MIN,
        "2147483647",
        "-2147483648",
        "16",
        "-1",
        "0",
    ]
    there: list[Request] = [
        ("SELECT", 5),
        ("GET", "k"),
        ("PEXPIRETIME", "k"),
        ("DBSIZE",),
        ("APPEND", "k", "+"),
        ("GET", "k"),
    ]
    here: list[Request] = [("SELECT", 0), ("GET", "k"), ("DBSIZE",)]
    cases: list[Case] = [
        ("MOVE to no database", [*_set("k"), *[("MOVE", "k", text) for text in bad], ("GET", "k")]),
        ("MOVE to no database, key missing", [("MOVE", "missing", text) for text in bad]),
        ("MOVE a missing key", [("MOVE", "k", 5), ("SELECT", 5), ("DBSIZE",)]),
        (
            "MOVE to where the key is",
            [*_set("k"), ("SELECT", 5), ("SET", "k", "other"), ("SELECT", 0), ("MOVE", "k", 5), *there, *here],
        ),
        (
            "MOVE there and back",
            [*_set("k"), *[("MOVE", "k", 5), ("SELECT", 5), ("MOVE", "k", 0), ("SELECT", 0)] * 5, *here],
        ),
        ("MOVE through all databases", [*_set("k"), *_tour(), *_read_key("k")]),
        (
            "MOVE many",
            [
                *_set(*_names(60)),
                *[("MOVE", k, 5) for k in _names(60)],
                ("DBSIZE",),
                ("SELECT", 5),
                ("EXISTS", *_names(60)),
            ],
        ),
    ]
    return cases + [(f"MOVE {kind}", [*KINDS[kind], ("MOVE", "k", 5), *here, *there, *here]) for kind in KINDS]


def _tour() -> list[Request]:
    return [request for db in range(1, 16) for request in (("MOVE", "k", db), ("SELECT", db))]


STARS = r"* ** ? ?? a* *a *a* *? ?* h?llo h*llo *:1 key:* *\* ***a*** a*b*c*d*e*f"
SETS = r"h[ae]llo h[^e]llo h[a-b]llo h[b-a]llo *[a-z] h[a- h[a-]llo h[ h[^ [] [^] [^]llo [*] [?] h[A-E]llo"
ESCAPES = r"\* \ a\ h\ello h[\e]llo [\]] [\ []-a] [a-\]"
PATTERNS: list[Arg] = [
    *f"{STARS} {SETS} {ESCAPES} HELLO".split(),
    *("", "*a" * 40, b"\xff*", b"[\x80-\xff]*", b"*\x00*"),
]
PLAIN_KEYS = r"a b aa hello hallo hbllo hllo heeello h-llo h^llo HELLO * ? a\ \ ] [ ^ - key:1 key:2 key:11 abcdef"
PATTERN_KEYS: list[Arg] = [
    *PLAIN_KEYS.split(),
    *("", "axbxcxdxexf", b"\x00", b"\xff\xfe", b"\xc3\xa9", "line\r\n", "a*b", "h\\ello"),
]


def _keys() -> list[Case]:
    start = _set(*PATTERN_KEYS)
    return [
        ("KEYS without keys", [("KEYS", "*"), ("KEYS", ""), ("KEYS", "a")]),
        (
            "unordered KEYS of each database",
            [*_set("a", "b"), ("SELECT", 1), *_set("c"), ("KEYS", "*"), ("SELECT", 0), ("KEYS", "*")],
        ),
        (
            "unordered KEYS without what has expired",
            [*_set("a", "b"), ("EXPIREAT", "a", 1), ("EXPIREAT", "b", FAR), ("KEYS", "*")],
        ),
        ("unordered KEYS many", [*_set(*_names(300)), ("KEYS", "*"), ("KEYS", "*7*"), ("KEYS", "name[1-3]?")]),
        *((f"unordered KEYS {pattern!r}", [*start, ("KEYS", pattern)]) for pattern in PATTERNS),
    ]


CURSORS: list[Arg] = [
    *("", " 0", "0 ", "\t0", "\n0", b"0\x00x", b"\x00", b"+\x00", "9" * 40, "0" * 40),
    *("-", "+", "-0", "+0", "00", "0x0", "1.0", "x", "0x", "--1", "+-1", "-1", "+1"),
    *(str(sign * n) for n in (2**64 - 1, 2**64) for sign in (1, -1)),
]


def _scan() -> list[Case]:
    start = _set(*PATTERN_KEYS)
    every: Request = ("SCAN", "0", "COUNT", 1000)
    wrong: list[Request] = [
        *[("SCAN", "0", word) for word in ("MATCH", "COUNT", "TYPE", "NOVALUES", "", "10")],
        *[("SCAN", "0", "COUNT", text) for text in [*NOT_INTEGERS, "0", "-1", MIN]],
        *[("SCAN", "0", "MATCH", "a", word) for word in ("COUNT", "TYPE", "nonsense")],
        *[
            ("SCAN", "0", "nonsense", "x"),
            ("SCAN", "0", "COUNT", 10, "nonsense", "x"),
            ("SCAN", "0", "COUNT", "x", "nonsense"),
        ],
        *[
            ("SCAN", "0", "nonsense", "COUNT", "x"),
            ("SCAN", "x", "nonsense"),
            ("SCAN", "x", "COUNT", 0),
            ("SCAN", "0", "COUNT", 0, "x"),
        ],
    ]
    types: list[Arg] = [
        "string",
        "STRING",
        "String",
        "list",
        "set",
        "zset",
        "hash",
        "stream",
        "none",
        "",
        "nonsense",
        b"string\x00x",
        "strin",
        "strings",
    ]
    return [
        ("SCAN without keys", [("SCAN", "0"), every, ("SCAN", "0", "MATCH", "*"), ("SCAN", "0", "TYPE", "string")]),
        ("SCAN cursors", [("SCAN", cursor) for cursor in CURSORS]),
        ("SCAN wrong options", [*_set("a"), *wrong]),
        ("unordered SCAN everything", [*start, every, ("scan", "0", "count", 1000), ("SCAN", "0", "COUNT", MAX)]),
        ("unordered SCAN types", [*start, *[(*every, "TYPE", name) for name in types]]),
        (
            "unordered SCAN options repeated",
            [
                *start,
                (*every, "MATCH", "a*", "MATCH", "h*"),
                ("SCAN", "0", "COUNT", 1, "COUNT", 1000),
                (*every, "TYPE", "list", "TYPE", "string"),
                (*every, "TYPE", "string", "MATCH", "nothing", "TYPE", "list", "MATCH", "*"),
                (*every, "MATCH", "h*", "MATCH", "*"),
            ],
        ),
        ("unordered SCAN of each database", [*_set("a"), ("SELECT", 1), *_set("b", "c"), every, ("SELECT", 2), every]),
        (
            "unordered SCAN without what has expired",
            [*_set("a", "b"), ("EXPIREAT", "a", 1), ("EXPIREAT", "b", FAR), every],
        ),
        (
            "unordered SCAN long keys and blocks",
            [("SET", "x" * 70000, BLOCK), ("SET", "y", BLOCK), every, ("SCAN", "0", "MATCH", "y", "COUNT", 1000)],
        ),
        *((f"unordered SCAN MATCH {pattern!r}", [*start, (*every, "MATCH", pattern)]) for pattern in PATTERNS),
    ]


def _databases() -> list[Case]:
    bad: list[Arg] = [*NOT_INTEGERS, "2147483648", "-2147483649", MAX, "2147483647", "16", "-1"]
    fill = [*_set("zero"), ("SELECT", 1), *_set("one", "uno"), ("SELECT", 2), ("SET", "two", BLOCK), ("SELECT", 0)]
    sizes = [
        request for db in range(4) for request in (("SELECT", db), ("DBSIZE",), ("EXISTS", "zero", "one", "uno", "two"))
    ]
    cases: list[Case] = [
        ("DBSIZE", [("DBSIZE",), *_set("a", "b", "a"), ("DBSIZE",), ("DEL", "a"), ("DBSIZE",), *fill, *sizes]),
        ("RANDOMKEY without keys", [("RANDOMKEY",), ("SELECT", 9), ("RANDOMKEY",)]),
        ("RANDOMKEY of one", [*_set("a"), ("RANDOMKEY",), ("DEL", "a"), ("RANDOMKEY",)]),
        ("RANDOMKEY of what has expired", [*_set("a"), ("EXPIREAT", "a", 1), ("RANDOMKEY",)]),
        (
            "SELECT",
            [
                *[("SELECT", text) for text in [*bad, MIN, "-2147483648"]],
                *_set("a"),
                ("SELECT", 15),
                ("GET", "a"),
                ("SELECT", "0"),
                ("GET", "a"),
            ],
        ),
        ("SWAPDB first wrong", [("SWAPDB", text, 1) for text in bad]),
        ("SWAPDB second wrong", [("SWAPDB", 1, text) for text in bad]),
        (
            "SWAPDB both wrong",
            [*[("SWAPDB", text, text) for text in bad], ("SWAPDB", 16, "x"), ("SWAPDB", "x", 16), ("SWAPDB", 16, 1)],
        ),
        ("SWAPDB", [*fill, ("SWAPDB", 0, 1), *sizes, ("SELECT", 0), ("SWAPDB", 1, 2), *sizes]),
        ("SWAPDB with itself", [*fill, ("SWAPDB", 0, 0), ("SWAPDB", 2, 2), *sizes]),
        ("SWAPDB with an empty one", [*fill, ("SWAPDB", 3, 1), *sizes, ("SELECT", 3), ("GET", "one")]),
        ("SWAPDB back and forth", [*fill, *[("SWAPDB", 0, 2)] * 3, *sizes, ("SELECT", 0), ("GET", "two")]),
        (
            "SWAPDB keeps deadlines",
            [
                ("SET", "a", 1),
                ("EXPIREAT", "a", FAR),
                ("SWAPDB", 0, 7),
                ("SELECT", 7),
                ("EXPIRETIME", "a"),
                ("PERSIST", "a"),
            ],
        ),
    ]
    for name in ("FLUSHDB", "FLUSHALL"):
        cases += [
            (f"{name} nothing", [(name,), ("DBSIZE",)]),
            (f"{name} and go on", [*fill, (name,), *sizes, *fill, *sizes]),
            (f"{name} another database", [*fill, ("SELECT", 2), (name,), *sizes]),
            (f"{name} SYNC", [*fill, (name, "SYNC"), *sizes, *fill, (name, "sync"), *sizes]),
            (f"{name} ASYNC", [*fill, (name, "ASYNC"), *sizes, *fill, (name, "Async"), *sizes]),
            (
                f"{name} wrong options",
                [
                    *_set("a"),
                    *[(name, *words) for words in (("x",), ("",), ("SYNC", "ASYNC"), ("SYNC", "SYNC"))],
                    ("DBSIZE",),
                ],
            ),
            (f"{name} with deadlines", [("SET", "a", 1, "EX", 1000), (name,), *_set("a"), ("TTL", "a"), ("DBSIZE",)]),
        ]
    return cases


CASES: list[Case] = [
    *_arity(),
    *_counting(),
    *_types(),
    *_lifetimes(),
    *_expire(),
    *_expire_options(),
    *_rename(),
    *_move(),
    *_keys(),
    *_scan(),
    *_databases(),
]
