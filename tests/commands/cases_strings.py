"""String commands, as sequences that a real redis-server and ours must answer alike, byte for byte.

Each sequence starts from an empty database. Nothing in it depends on the clock: a lifetime is read with TTL (whole
seconds, rounded), a deadline with PEXPIRETIME, and a time in the past is long past.

The tables are text: the name of a case, and indented below it its requests, quoted as in a shell, with " / " between.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from itertools import product
from typing import TypeAlias

Request: TypeAlias = tuple[bytes | str, ...]
Case: TypeAlias = tuple[str, list[Request]]

MAX = "9223372036854775807"
MIN = "-9223372036854775808"
FAR = "99999999999"  # Unix time in seconds, beyond every test
BINARY = bytes(range(256))
BLOCK = b"0123456789abcdef" * 2500
BLOCK_FROM = 32000  # bytes; values from here on are counted blocks in our store

# Words and whole requests of the tables that stand for something else.
WORDS: dict[str, bytes | str] = {"MAX": MAX, "MIN": MIN, "BINARY": BINARY, "BLOCK": BLOCK, "BLOCK!": BLOCK + b"!"}
LINES: dict[str, list[Request]] = {
    "READ": [("GET", "k"), ("STRLEN", "k"), ("TTL", "k")],
    "LIST": [("RPUSH", "list", "a")],
}

READS = """
GET of nothing, text, integer
    GET k / SET k v / GET k / SET k 12 / GET k
GET names in any case
    SET k v / get k / gEt k / GET K
empty key and empty value
    SET '' '' / GET '' / STRLEN '' / EXISTS '' / APPEND '' x / GET ''
binary key and value
    SET BINARY BINARY / GET BINARY / STRLEN BINARY / GETRANGE BINARY 250 300
STRLEN
    STRLEN k / SET k hello / STRLEN k / SET k -123 / STRLEN k
MGET
    MSET a 1 b two c '' / MGET a b c / MGET a missing a / MGET missing
MGET of blocks
    SET a BLOCK / SET b x / MGET a b a missing
GETDEL
    GETDEL k / SET k v / GETDEL k / EXISTS k / SET k 7 / GETDEL k
GETDEL of a block
    SET k BLOCK / GETDEL k / GETDEL k
GETSET
    GETSET k 1 / GETSET k 2 / GET k
GETSET ends a lifetime
    SET k v EX 100 / GETSET k w / READ
GETSET of blocks
    GETSET k BLOCK / GETSET k x / GETSET k BLOCK / GETSET k BLOCK! / STRLEN k
GETEX reads
    GETEX k / SET k v EX 100 / GETEX k / TTL k
GETEX sets and ends a lifetime
    SET k v / GETEX k EX 100 / TTL k / GETEX k PERSIST / TTL k / GETEX k PERSIST / GET k
GETEX to a Unix time
    SET k v / GETEX k EXAT 99999999999 / PEXPIRETIME k / GETEX k PXAT 99999999999123 / PEXPIRETIME k
GETEX into the past deletes
    SET k v / GETEX k EXAT 1 / EXISTS k / SET k 12 / GETEX k PXAT 1 / EXISTS k / DBSIZE
GETEX of blocks
    SET k BLOCK / GETEX k EX 100 / GETEX k EX 0 / GETEX k PXAT 1 / GET k
GETEX errors before a missing key
    GETEX missing NX / GETEX missing EX / GETEX missing EX 0
"""

RANGES = """
GETRANGE order of errors
    GETRANGE missing x 1 / GETRANGE missing 1 x / GETRANGE missing x y
GETRANGE of a block
    SET k BLOCK / GETRANGE k 0 -1 / GETRANGE k 39990 50000 / GETRANGE k -5 -2 / GETRANGE k 5 4 / GETRANGE k 1 -2
"""

WRITES = """
SET replaces
    SET k v / READ / SET k w EX 100 / READ / SET k u / READ
SET GET
    SET k 1 GET / SET k 2 GET / SET k 3 NX GET / GET k / SET j 1 XX GET / GET j / SET j 1 NX GET / GET j
SET GET of blocks
    SET k BLOCK GET / SET k BLOCK! GET NX / SET k x GET / SET k BLOCK XX GET / STRLEN k
SET KEEPTTL
    SET k v KEEPTTL / TTL k / SET k v EX 100 / SET k w KEEPTTL / READ / SET k 12 KEEPTTL / READ
    SET k BLOCK KEEPTTL / READ
SET to a Unix time
    SET k v EXAT 99999999999 / PEXPIRETIME k / SET k v PXAT 99999999999123 / PEXPIRETIME k / SET k v / PEXPIRETIME k
SET into the past
    SET k v PXAT 1 / GET k / SET k v / SET k w EXAT 1 GET / GET k / EXISTS k
SET repeats an option
    SET k v EX 10 EX 20 / TTL k / SET k v EX abc EX 20 / SET k v EX 20 EX abc / SET j v NX NX
    SET k v KEEPTTL KEEPTTL / TTL k
SET options are errors before anything else
    SET k v XX EX 0 / SET k v EX abc foo
SET near words
    SET k v N / SET k v NXX / SET k v E / SET k v EXA / SET k v EXATT / SET k v GETT / SET k v KEEPTT
    SET k v KEEPTTLS / SET k v PERSIST / SET k v PXA / SET k v ''
SET five options
    SET k v NX GET EX 100 GET / SET k w get px 100000 xx / READ
SETNX
    SETNX k v / SETNX k w / GET k
SETNX keeps a lifetime
    SET k v EX 100 / SETNX k w / READ / SETNX j BLOCK / SETNX j BLOCK / STRLEN j
SETEX and PSETEX
    SETEX k 100 v / READ / PSETEX k 60000 w / READ / PSETEX k 60000 BLOCK / READ
MSET
    MSET a 1 b 2 / MGET a b / MSET a x a y / GET a
MSET ends a lifetime
    SET k v EX 100 / MSET k w j 1 / READ
MSET an odd number
    MSET a 1 b / MSETNX a 1 b / MSET a 1 b 2 c / EXISTS a b c
MSET of blocks
    MSET a BLOCK b x c BLOCK! / STRLEN a / STRLEN c / MSET a x b BLOCK / MGET a b
MSETNX
    MSETNX a 1 b 2 / MSETNX b 3 c 4 / MGET a b c / EXISTS d / MSETNX e 1 e 2 / GET e
"""

CHANGES = """
APPEND
    APPEND k Hello / APPEND k ', world' / GET k / APPEND k '' / STRLEN k
APPEND to nothing
    APPEND k '' / EXISTS k / GET k / APPEND n 12 / INCR n / APPEND n 0 / INCR n / GET n
SETRANGE
    SETRANGE k 0 Hello / SETRANGE k 7 world / GET k / SETRANGE k 0 J / GET k / SETRANGE k 3 ---------- / GET k
SETRANGE of an empty value
    SETRANGE k 5 '' / EXISTS k / SET k abc / SETRANGE k 9 '' / GET k / SET k 12 / SETRANGE k 9 '' / INCR k
SETRANGE pads with zero bytes
    SETRANGE k 5 x / GET k / SET n 12 / SETRANGE n 4 x / GET n
SETRANGE of an integer
    SET n 12345 / SETRANGE n 1 9 / GET n / INCR n / SETRANGE n 0 x / INCR n
SETRANGE keeps a lifetime
    SET k v EX 100 / SETRANGE k 3 x / READ / SETRANGE k 40000 x / STRLEN k / TTL k
SETRANGE beyond the longest string
    SETRANGE k 536870912 x / SETRANGE k 536870911 xx / SETRANGE k MAX x / EXISTS k / SET k abc
    SETRANGE k 536870912 x / SETRANGE k MAX xyz / SETRANGE k 536870912 '' / GET k
SETRANGE across the length of a block
    SETRANGE k 31999 x / SETRANGE k 32000 yz / GET k / SETRANGE k 0 abc / SETRANGE k 70000 ! / GET k
"""

NUMBERS = """
INCR and DECR
    INCR k / INCR k / DECR k / GET k / DECR j / GET j / INCRBY k 100 / DECRBY k -7 / DECRBY k 7 / GET k
INCR at the ends
    SET k MAX / INCR k / GET k / DECR k / INCRBY k 1 / INCRBY k 1 / SET k MIN / DECR k / INCR k / DECRBY k 2
    INCRBY k MIN / INCRBY k MAX / GET k
INCRBY of the extremes
    INCRBY k MIN / INCRBY k -1 / SET k 0 / INCRBY k MAX / INCRBY k MAX / DECRBY k MAX / DECRBY k MAX / DECRBY k MIN
    GET k
INCR keeps a lifetime
    SET k 126 EX 100 / INCR k / INCR k / INCRBY k 1000000 / READ / INCRBYFLOAT k 0.5 / READ
INCR of text that became an integer
    SET k 1 / APPEND k 2 / INCR k / INCRBYFLOAT j 3 / INCR j / GET j
INCRBYFLOAT
    INCRBYFLOAT k 10.50 / INCRBYFLOAT k 0.1 / INCRBYFLOAT k -5 / GET k / SET k 5.0e3 / INCRBYFLOAT k 2.0e2 / GET k
INCRBYFLOAT from integers
    SET k 3 / INCRBYFLOAT k 0 / INCRBYFLOAT k 1.5 / SET k MAX / INCRBYFLOAT k 1 / SET k MIN / INCRBYFLOAT k -1
    STRLEN k
INCRBYFLOAT rounds
    SET k 3 / INCRBYFLOAT k 1.1 / INCRBYFLOAT k 0.000000000000000001 / INCRBYFLOAT k 1e-17 / INCRBYFLOAT k -1e-18
    INCRBYFLOAT k 0.3 / INCRBYFLOAT k 1e17 / INCRBYFLOAT k -1e17 / INCRBYFLOAT k 123456789.987654321
    INCRBYFLOAT k .5 / INCRBYFLOAT k 5. / INCRBYFLOAT k 1e0
INCRBYFLOAT to nothing and below
    SET k 1.5 / INCRBYFLOAT k -1.5 / INCRBYFLOAT k -0.5 / INCRBYFLOAT k 0.5 / INCRBYFLOAT z 0
INCRBYFLOAT hexadecimal
    INCRBYFLOAT k 0x10 / INCRBYFLOAT k 0x1.8p1 / INCRBYFLOAT k -0X1P-3
INCRBYFLOAT huge
    INCRBYFLOAT k 1e4000 / INCRBYFLOAT k 1e4000 / STRLEN k / INCRBYFLOAT k 1e4932 / INCRBYFLOAT k 1e4932 / STRLEN k
    INCRBYFLOAT k -1e4932 / STRLEN k
INCRBYFLOAT infinities
    SET k 1 / INCRBYFLOAT k inf / INCRBYFLOAT k -inf / INCRBYFLOAT k +inf / INCRBYFLOAT k Infinity
    INCRBYFLOAT k INF / INCRBYFLOAT k infinit / SET k inf / INCRBYFLOAT k 1 / INCRBYFLOAT k -inf
"""

# A key that holds a list: what every string command says to it, and which error comes first.
OTHER_TYPE = """
reads of another type
    LIST / GET list / STRLEN list / GETRANGE list 0 1 / SUBSTR list 0 1 / GETDEL list / GETEX list / TYPE list
GETRANGE of another type
    LIST / GETRANGE list a 0 / GETRANGE list 0 a / GETRANGE list 0 -1
MGET of another type
    LIST / SET a 1 / MGET a list a / MGET list
GETSET of another type
    LIST / GETSET list x / TYPE list
GETEX of another type
    LIST / GETEX list EX 1 / GETEX list EX abc / GETEX list PXAT 0 / GETEX list NX / GETEX list EX / TYPE list
SET of another type
    LIST / SET list v NX / TYPE list / SET list v XX / GET list
SET GET of another type
    LIST / SET list v GET / SET list v XX GET / SET list v NX GET / SET list v GET EX 0 / SET list v GET NX XX
    TYPE list
SETNX of another type
    LIST / SETNX list v / MSETNX a 1 list 2 / EXISTS a / TYPE list
SETEX of another type
    LIST / SETEX list 0 v / TYPE list / SETEX list 100 v / GET list
MSET of another type
    LIST / MSET list v a 1 / MGET list a
APPEND to another type
    LIST / APPEND list x / APPEND list ''
SETRANGE of another type
    LIST / SETRANGE list 0 x / SETRANGE list 0 '' / SETRANGE list -1 x / SETRANGE list abc x
    SETRANGE list 536870912 x
INCR of another type
    LIST / INCR list / DECR list / INCRBY list 1 / DECRBY list 1 / INCRBY list abc / DECRBY list abc
    DECRBY list MIN / INCRBYFLOAT list 1 / INCRBYFLOAT list abc
"""

NOT_INTEGERS: list[bytes | str] = [
    *("", " 1", "1 ", "+1", "01", "00", "-0", "1.0", "1e3", "0x10", "-", "--1", "abc", b"1\0", b"\0001", b"1\n"),
    *("9223372036854775808", "-9223372036854775809", "18446744073709551617", "1" * 20, "1" * 21, "1" * 400),
]
INTEGERS = [
    *("0", "1", "-1", "9", "10", "126", "127", "128", "255", "256", "-128", "-129", "32766", "32767", "32768", "65535"),
    *("-32768", "-32769", "2147483646", "2147483647", "2147483648", "4294967295", "-2147483648", "-2147483649"),
    *(MAX, MIN, "9223372036854775806", "-9223372036854775807"),
]
NOT_FLOATS: list[bytes | str] = [
    *("", " 1", "1 ", "\t1", b"1\0", b"\0001", "abc", "1.5x", "nan", "NaN", "-nan", "nan(1)", "1e", "--1", "1,5", "0x"),
    *("1e5000", "-1e5000", "1e-5000", "1" * 5120, "0" * 5200),
]
TIMES = [
    *("0", "-1", MIN, MAX, "9223372036854775", "9223372036854776", "9223372036854774807", "", "abc", "1.5", " 10"),
    *("10 ", "+10", "010", "99999999999999999999"),
]
UNITS = ("EX", "PX", "EXAT", "PXAT")
LIFETIMES = ["EX 50", "PX 60000", f"EXAT {FAR}", f"PXAT {FAR}000"]
SET_OPTIONS = ["NX", "XX", "GET", "KEEPTTL", *LIFETIMES]
GETEX_OPTIONS = ["PERSIST", *LIFETIMES, "NX", "XX", "GET", "KEEPTTL"]
INDEXES = ("0", "1", "3", "5", "-1", "-4", "-100", "11", "12", "100", MAX, MIN)
LONG_KEYS = ("k" * 255, "k" * 256, "k" * 70000)

# Which numbers of arguments, of none to five, a command takes.
ARGUMENTS = {
    "GET GETDEL STRLEN INCR DECR": {1},
    "GETSET SETNX APPEND INCRBY DECRBY INCRBYFLOAT": {2},
    "SETEX PSETEX GETRANGE SUBSTR SETRANGE": {3},
    "MSET MSETNX": {2, 4},
    "MGET GETEX": {1, 2, 3, 4, 5},
    "SET": {2, 3, 4, 5},
}


def requests(text: str) -> list[Request]:
    """The requests of one line of a table."""
    found: list[Request] = []
    for each in text.split(" / "):
        found += LINES.get(each) or [tuple(WORDS.get(word, word) for word in shlex.split(each))]
    return found


def table(text: str) -> list[Case]:
    """The cases of a table."""
    cases: list[Case] = []
    for line in text.strip().splitlines():
        if line.startswith(" "):
            cases[-1][1].extend(requests(line.strip()))
        else:
            cases.append((line, []))
    return cases


def each(values: Iterable[bytes | str], text: str) -> list[Request]:
    """The requests of a line once for every value, which takes the place of the word VALUE."""
    line = requests(text)
    return [tuple(value if word == "VALUE" else word for word in request) for value in values for request in line]


def options(command: str, words: list[str]) -> list[Case]:
    """Every pair of options in both orders; each one in small and capital letters, and with a wrong word."""
    start = "SET k old EX 1000"
    missing = command.replace(" k", " missing")
    cases = [
        (
            f"{command} {first} and {second}",
            requests(f"{start} / {command} {first} {second} / READ / {missing} {first} {second} / GET missing"),
        )
        for first, second in product(words, repeat=2)
    ]
    for option in words:
        word, _, time = option.partition(" ")
        spelt = [option, option.lower(), option.title()]
        wrong = [word, f"{option} nonsense", f"nonsense {option}", f"{option} ''", f"{option} 5"]
        wrong += [f"{word}X {time}", f"{word[:-1]} {time}", f"{word}' ' {time}"]
        cases += [
            (
                f"{command} {option} in {name}",
                requests(" / ".join([start, *(f"{command} {text} / READ" for text in texts)])),
            )
            for name, texts in (("any letters", spelt), ("wrong words", wrong))
        ]
    return cases


def times() -> list[Case]:
    """Times of expiry at and beyond every edge."""
    cases: list[Case] = []
    for unit in UNITS:
        cases += [
            (f"SET {unit} times", each(TIMES, f"SET k v {unit} VALUE / EXISTS k / DEL k")),
            (f"GETEX {unit} times", each(TIMES, f"SET k v / GETEX k {unit} VALUE / EXISTS k")),
            (f"GETEX {unit} times of a missing key", each(TIMES, f"GETEX missing {unit} VALUE / EXISTS missing")),
        ]
    for name in ("SETEX", "PSETEX"):
        cases.append((f"{name} times", each(TIMES, f"{name} k VALUE v / EXISTS k / DEL k")))
    return cases


def ranges() -> list[Case]:
    """Every pair of indexes on a text, an integer, an empty value and a missing key."""
    values = requests("SET k 'Hello, world' / SET n -12345 / SET e ''")
    return [
        (f"{name} from {start}", values + [r for key in "knem" for r in each(INDEXES, f"{name} {key} {start} VALUE")])
        for name in ("GETRANGE", "SUBSTR")
        for start in INDEXES
    ]


def arity() -> list[Case]:
    """Every command with every wrong number of arguments."""
    return [
        (f"arguments of {name}", [(name, *("x" * n)) for n in range(6) if n not in counts])
        for names, counts in ARGUMENTS.items()
        for name in names.split()
    ]


BUILT: list[Case] = [
    ("values with line ends", each(["\r\n", "$1\r\n", "-ERR\r\n"], "SET VALUE VALUE / GET VALUE / GETSET VALUE VALUE")),
    (
        "long keys",
        each(LONG_KEYS, "SET VALUE v EX 100 / GET VALUE / TTL VALUE / APPEND VALUE w / TTL VALUE / SET VALUE 1"),
    ),
    ("MGET of long keys", [("MSET", LONG_KEYS[0], "a", LONG_KEYS[1], "b", LONG_KEYS[2], "c"), ("MGET", *LONG_KEYS)]),
    ("MGET of many", [("MSET", *(f"key:{i // 2}" for i in range(600))), ("MGET", *(f"key:{i}" for i in range(310)))]),
    ("GETRANGE start", each([*NOT_INTEGERS, "0"], "SET k v / GETRANGE k VALUE 1 / SUBSTR k VALUE x")),
    ("GETRANGE end", each([*NOT_INTEGERS, "0"], "SET k v / GETRANGE k 0 VALUE / SUBSTR k x VALUE")),
    ("SET of every integer", each(INTEGERS, "SET k VALUE / READ / GETRANGE k 1 -1 / APPEND k '' / GET k / INCR k")),
    ("SET of what is no integer", each(NOT_INTEGERS, "SET k VALUE / READ / INCR k / GET k")),
    (
        "SET options hold a zero byte",
        each([b"NX\0foo", b"KEEPTTL\0", b"\0NX", b"N\0X", b"XX\0"], "SET k v VALUE / READ"),
    ),
    ("GETEX options hold a zero byte", each([b"PERSIST\0x", b"PERS\0"], "SET k v EX 100 / GETEX k VALUE / TTL k")),
    ("APPEND to every integer", each(INTEGERS, "SET k VALUE EX 100 / APPEND k 0 / READ / INCR k")),
    (
        "APPEND to an integer grows it to text",
        [("SET", "k", MIN), ("APPEND", "k", "0" * 300), ("GET", "k"), ("INCR", "k")],
    ),
    (
        "APPEND keeps a lifetime",
        [("SET", "k", "v", "EX", "100"), *each(["x" * 90, BLOCK, "y"], "APPEND k VALUE / READ")],
    ),
    ("APPEND in steps", [*each((f"{i}," * 9 for i in range(120)), "APPEND k VALUE"), ("GET", "k")]),
    (
        "APPEND across the length of a block",
        [("SET", "k", "x" * (BLOCK_FROM - 2)), *each("abcd", "APPEND k VALUE / GETRANGE k 31990 -1 / STRLEN k")],
    ),
    ("APPEND to a block", [("SET", "k", BLOCK), *each([*["z" * 9999] * 8, BLOCK * 3], "APPEND k VALUE"), ("GET", "k")]),
    (
        "APPEND to a block that a reply holds",
        [("SET", "k", BLOCK), *each("abc", "GET k / APPEND k VALUE / SETRANGE k 9 VALUE")],
    ),
    ("SETRANGE offsets", each([*NOT_INTEGERS, *INTEGERS], "SETRANGE k VALUE ''")),
    ("SETRANGE negative offsets", each(["-1", "-100", MIN], "SETRANGE k VALUE x / SETRANGE k VALUE '' / EXISTS k")),
    ("INCR of every integer", each(INTEGERS, "SET k VALUE / INCR k / INCR k / READ / DECRBY k 3 / READ")),
    ("INCRBY arguments", each([*NOT_INTEGERS, *INTEGERS], "INCRBY k VALUE / DECR k")),
    ("DECRBY arguments", each([*NOT_INTEGERS, *INTEGERS], "DECRBY k VALUE / INCR k")),
    (
        "INCR of what is no integer",
        each([*NOT_INTEGERS, BINARY, BLOCK], "SET k VALUE / INCR k / DECR k / INCRBY k 2 / DECRBY k 2"),
    ),
    ("INCRBYFLOAT arguments", each([*NOT_FLOATS, "1" * 5119, *INTEGERS], "INCRBYFLOAT k VALUE / GET k")),
    (
        "INCRBYFLOAT of every integer",
        each(INTEGERS, "SET k VALUE / INCRBYFLOAT k 0 / INCRBYFLOAT k -0.25 / INCRBYFLOAT k 1e3"),
    ),
    (
        "INCRBYFLOAT of what is no float",
        each([*NOT_FLOATS, BINARY, BLOCK], "SET k VALUE / INCRBYFLOAT k 1 / INCRBYFLOAT k x"),
    ),
]

CASES: list[Case] = [
    *(case for text in (READS, RANGES, WRITES, CHANGES, NUMBERS) for case in table(text)),
    *BUILT,
    *ranges(),
    *options("SET k new", SET_OPTIONS),
    *options("GETEX k", GETEX_OPTIONS),
    *times(),
    *arity(),
]

# These wait for a command of ours that makes a list.
CASES_OF_ANOTHER_TYPE: list[Case] = table(OTHER_TYPE)
