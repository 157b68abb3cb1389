"""The commands on bits and LCS, as sequences that a real redis-server and ours must answer alike, byte for byte.

Each sequence starts from an empty database. The tables are written as those of `cases_strings`; lengths cross those at
which a value changes its form: an integer, bytes in the entry, a counted block.
"""

from __future__ import annotations

from itertools import product

from commands.cases_strings import BLOCK, BLOCK_FROM, MAX, MIN, NOT_INTEGERS, Case, Request, each, requests, table

# Of the longest value that both servers allow in these tests: the first byte, and bit, beyond it.
LIMIT = 16 << 20
BEYOND = LIMIT * 8

SINGLE = """
SETBIT and GETBIT
    SETBIT k 7 1 / GETBIT k 7 / GETBIT k 6 / GETBIT k 8 / GETBIT k 100 / SETBIT k 7 0 / GET k / STRLEN k
SETBIT answers the old bit
    SETBIT k 0 1 / SETBIT k 0 1 / SETBIT k 0 0 / SETBIT k 0 0 / SETBIT k 1 0 / SETBIT k 1 1 / GET k
SETBIT of 0 makes a key
    SETBIT k 0 0 / EXISTS k / GET k / SETBIT j 100 0 / GET j / SETBIT j 200 0 / GET j
SETBIT of every bit of a byte
    SETBIT k 0 1 / GET k / SETBIT k 1 1 / GET k / SETBIT k 2 1 / GET k / SETBIT k 3 1 / GET k / SETBIT k 4 1 / GET k
    SETBIT k 5 1 / GET k / SETBIT k 6 1 / GET k / SETBIT k 7 1 / GET k / SETBIT k 8 1 / GET k
SETBIT of an integer
    SET k 12 / SETBIT k 6 1 / GET k / INCR k / SETBIT k 30 1 / GET k / INCR k / SET k 1 / SETBIT k 7 1 / INCR k
SETBIT of an integer without a change
    SET k 12345 / SETBIT k 0 0 / GET k / INCR k / GETBIT k 2 / GETBIT k 7 / GETBIT k 39 / GETBIT k 40
SETBIT keeps a lifetime
    SET k v EX 100 / SETBIT k 0 1 / READ / SETBIT k 1000 1 / READ / SETBIT k 400000 1 / STRLEN k / TTL k
SETBIT across the length of a block
    SETBIT k 255999 1 / STRLEN k / SETBIT k 256000 1 / STRLEN k / GETBIT k 255999 / GETBIT k 255998 / GETBIT k 256000
    SETBIT k 0 1 / SETBIT k 600000 1 / STRLEN k / BITCOUNT k / GETBIT k 256001 / GET k
SETBIT of a block
    SET k BLOCK / SETBIT k 0 1 / GETRANGE k 0 3 / GETBIT k 319999 / SETBIT k 319999 0 / GETRANGE k 39990 -1 / STRLEN k
SETBIT of a block that a reply holds
    SET k BLOCK / GET k / SETBIT k 0 1 / GET k / SETBIT k 400000 1 / GET k / BITFIELD k SET u8 8 255 / GET k
SETBIT order of errors
    SETBIT k x 2 / SETBIT k -1 x / SETBIT k 0 2 / SETBIT k 0 x / SETBIT k #0 1 / GETBIT k #0 / EXISTS k
bits of an empty value
    SET k '' / GETBIT k 0 / BITCOUNT k / BITCOUNT k 0 -1 / BITPOS k 0 / BITPOS k 1 / BITPOS k 0 0 / BITPOS k 0 0 -1
    BITPOS k 0 0 -1 BIT / BITFIELD k GET u8 0 / SETBIT k 3 1 / GET k
"""

COUNTS = """
BITCOUNT
    BITCOUNT k / SET k foobar / BITCOUNT k / BITCOUNT k 0 0 / BITCOUNT k 1 1 / BITCOUNT k 1 1 BYTE / BITCOUNT k 5 30 BIT
    BITCOUNT k 0 -1 bit / BITCOUNT k -2 -1 Byte / BITCOUNT k 4 2 / BITCOUNT k -1 -2 / BITCOUNT k 100 200
BITCOUNT of an integer
    SET k 12345 / BITCOUNT k / BITCOUNT k 1 2 / BITCOUNT k 3 9 BIT / INCR k / SET k MIN / BITCOUNT k
BITCOUNT of a missing key reads no arguments
    BITCOUNT k x / BITCOUNT k x y / BITCOUNT k 0 1 x / BITCOUNT k 0 1 BIT x
BITCOUNT errors
    SET k v / BITCOUNT k 0 / BITCOUNT k x / BITCOUNT k x 1 / BITCOUNT k 1 x / BITCOUNT k 0 1 x / BITCOUNT k 0 1 BIT x
    BITCOUNT k 0 1 '' / BITCOUNT k 0 1 BITS / BITCOUNT k 0 1 BYT / BITCOUNT k x x x / BITCOUNT k x x x x
    BITCOUNT k 0 BIT
BITCOUNT of an empty range before its unit
    SET k v / BITCOUNT k -1 -2 x / BITCOUNT k 2 1 x / BITCOUNT k -1 -1 x / BITCOUNT k -1 -2 BIT / BITCOUNT k -1 x x
BITCOUNT of a block
    SET k BLOCK / BITCOUNT k / BITCOUNT k 1 -2 / BITCOUNT k 3 319990 BIT / BITCOUNT k -17 -1 BIT
    BITCOUNT k 39999 50000
BITPOS
    BITPOS k 0 / BITPOS k 1 / BITPOS k 0 5 / BITPOS k 1 0 -1 / SET k foobar / BITPOS k 1 / BITPOS k 0 / BITPOS k 1 2
    BITPOS k 0 2 / BITPOS k 1 -1 / BITPOS k 0 -1 -1 / BITPOS k 1 5 5 / BITPOS k 1 6 / BITPOS k 0 6 / BITPOS k 1 4 2
BITPOS of an integer
    SET k 12345 / BITPOS k 1 / BITPOS k 0 / BITPOS k 1 1 3 / BITPOS k 0 11 20 BIT / INCR k
BITPOS behind the value
    BITFIELD k SET u32 0 4294967295 / BITPOS k 0 / BITPOS k 0 0
    BITPOS k 0 3 / BITPOS k 0 4 / BITPOS k 0 0 3 / BITPOS k 0 0 -1 / BITPOS k 0 0 100 / BITPOS k 0 0 31 BIT
    BITPOS k 0 3 30 BIT / BITPOS k 0 0 1000 BIT / BITPOS k 0 -1 / BITPOS k 1 3 / BITPOS k 1 4
BITPOS without a set bit
    SETBIT k 99 0 / BITPOS k 1 / BITPOS k 1 0 / BITPOS k 1 0 -1 / BITPOS k 1 3 77 BIT / BITPOS k 0 / BITPOS k 0 3 77 BIT
    BITPOS k 0 5 / BITPOS k 0 -1
BITPOS the range's end before its beginning
    SET k foobar / BITPOS k 1 -1 -100 / BITPOS k 1 -100 -200 / BITPOS k 0 -100 -200 BIT / BITPOS k 1 5 -6
    BITPOS k 1 5 -6 BIT
BITPOS order of errors
    BITPOS k x / BITPOS k 2 / BITPOS k -1 / BITPOS k 0 x / BITPOS k 1 x y z / BITPOS k 1 0 1 BIT x / SET k v
    BITPOS k 0 x / BITPOS k 0 x y / BITPOS k 0 0 y / BITPOS k 0 x y z / BITPOS k 0 0 y z / BITPOS k 0 0 y BIT
    BITPOS k 0 0 1 z / BITPOS k 0 0 1 '' / BITPOS k 0 0 1 BIT x / BITPOS k 2 x y z w / BITPOS k 0 BIT / BITPOS k 0 0 BIT
    BITPOS k '' / BITPOS k 01 / BITPOS k MAX
BITPOS of a block
    SETBIT k 300000 1 / BITPOS k 1 / BITPOS k 1 1 / BITPOS k 1 37500 / BITPOS k 1 37501 / BITPOS k 1 3 299999 BIT
    BITPOS k 1 3 300000 BIT / BITOP NOT k k / BITPOS k 0 / BITPOS k 1 / BITPOS k 0 0 37499 / BITPOS k 0 37501
"""

COMBINED = """
BITOP
    SET a abc / SET b AB / BITOP AND d a b / GET d / BITOP OR d a b / GET d / BITOP XOR d a b / GET d / BITOP NOT d a
    GET d / BITOP not d b / GET d / BITOP And d b a / GET d / BITOP xOr d b a a / GET d
BITOP of one source
    SET a abc / BITOP AND d a / GET d / BITOP OR d a / GET d / BITOP XOR d a / GET d
BITOP of missing keys
    SET a abc / BITOP AND d a x / GET d / BITOP OR d x a / GET d / BITOP XOR d x a y / GET d / BITOP NOT d x / EXISTS d
    BITOP AND d x y / EXISTS d / BITOP OR d x y z / EXISTS d / SET e '' / SET d v / BITOP XOR d e x / EXISTS d
BITOP deletes its target
    SET d v EX 100 / BITOP NOT d x / EXISTS d / SET d v / BITOP AND d x d / GET d / STRLEN d / SET d '' / BITOP OR d d
    EXISTS d
BITOP onto a source
    SET a abc / SET b xyz / BITOP XOR a a b / GET a / BITOP NOT a a / GET a / BITOP AND b a b / GET b / BITOP XOR a a a
    GET a
BITOP ends a lifetime
    SET d v EX 100 / SET a abc EX 100 / BITOP OR d a / READ / TTL d / TTL a / BITOP OR a a / TTL a
BITOP of integers
    SET a 12 / SET b 345 / BITOP AND d a b / GET d / BITOP OR d a b / GET d / INCR d / BITOP NOT d a / GET d
    BITOP OR d a / INCR d
BITOP errors
    SET a abc / BITOP NAND d a / BITOP '' d a / BITOP ANDX d a / BITOP AN d a / BITOP NOT d a a / BITOP NOT d a a b
    EXISTS d
    BITOP x d a a / BITOP NOT d
BITOP of blocks
    SET a BLOCK / SET b BLOCK! / BITOP XOR d a b / STRLEN d / BITCOUNT d / GETRANGE d 39990 -1 / BITOP AND d a b / GET d
    BITOP OR d a b / GET d / BITOP NOT d a / GET d / SET s short / BITOP AND d s a / GET d / BITOP OR d s a
    GETRANGE d 0 9
    BITOP NOT a a / BITOP XOR a a d / BITCOUNT a / GET a / BITOP AND a s s / GET a
BITOP of a block that a reply holds
    SET a BLOCK / GET a / BITOP NOT a a / GET a / BITOP NOT a a / GET a
"""

FIELDS = """
BITFIELD
    BITFIELD k / BITFIELD k GET u8 0 / EXISTS k / BITFIELD k SET u8 0 255 GET u8 0 GET i8 0 GET u4 4 GET u16 0 / GET k
    BITFIELD k INCRBY u2 100 1 OVERFLOW SAT INCRBY u2 102 1 / BITFIELD k INCRBY u2 100 1 OVERFLOW SAT INCRBY u2 102 1
    BITFIELD k INCRBY u2 100 1 OVERFLOW SAT INCRBY u2 102 1 / BITFIELD k INCRBY u2 100 1 OVERFLOW SAT INCRBY u2 102 1
    BITFIELD k overflow fail incrby u2 102 1 get u2 102 / STRLEN k / GET k
BITFIELD of units
    BITFIELD k SET u8 #0 65 SET u8 #1 66 SET u8 #2 67 / GET k / BITFIELD k GET u16 #0 GET u16 #1 GET u3 #7 GET i5 #4
BITFIELD that fails still makes the key
    BITFIELD k OVERFLOW FAIL SET u8 0 256 / EXISTS k / GET k / BITFIELD k OVERFLOW FAIL SET u8 800 256 / STRLEN k
    BITFIELD k OVERFLOW FAIL INCRBY u8 0 256 INCRBY u8 0 -1 INCRBY u8 0 255 INCRBY u8 0 1 / GET k
BITFIELD an overflow holds on
    BITFIELD k OVERFLOW SAT SET u8 0 300 SET u8 8 300 OVERFLOW WRAP SET u8 16 300 OVERFLOW FAIL SET u8 24 300 GET u32 0
    BITFIELD k OVERFLOW SAT / BITFIELD k OVERFLOW SAT OVERFLOW FAIL / BITFIELD k SET u8 0 300 OVERFLOW FAIL / GET k
    BITFIELD k OVERFLOW SAT OVERFLOW WRAP SET u8 0 300
BITFIELD errors
    BITFIELD k GET / BITFIELD k GET u8 / BITFIELD k SET u8 0 / BITFIELD k INCRBY u8 0 / BITFIELD k OVERFLOW
    BITFIELD k OVERFLOW x / BITFIELD k OVERFLOW SATX / BITFIELD k GETX u8 0 / BITFIELD k GET u8 0 x / BITFIELD k x
    BITFIELD k SET u8 0 x / BITFIELD k INCRBY u8 0 1.5 / BITFIELD k SET x x x / BITFIELD k SET u8 x x
    BITFIELD k SET u8 0 ''
    BITFIELD k SET u8 0 1 GET / BITFIELD k SET u8 0 1 SET u8 x 1 / BITFIELD k SET u8 0 1 OVERFLOW x / EXISTS k
BITFIELD_RO
    BITFIELD_RO k / BITFIELD_RO k GET u8 0 / SET k abc / BITFIELD_RO k GET u8 0 GET u8 #1 get i64 0
    BITFIELD_RO k SET u8 0 1
    BITFIELD_RO k GET u8 0 INCRBY u8 0 1 / BITFIELD_RO k OVERFLOW SAT GET u8 0 / BITFIELD_RO k OVERFLOW SAT / GET k
    BITFIELD_RO k SET u8 0 x / BITFIELD_RO k SET u8 0 1 GET u99 0 / BITFIELD_RO k OVERFLOW x / BITFIELD_RO k x
BITFIELD of an integer
    SET k 12345 / BITFIELD k GET u8 0 GET i16 4 GET u40 0 GET u63 0 / INCR k / BITFIELD k SET u8 0 57 / GET k / INCR k
    BITFIELD k INCRBY u8 56 1 / GET k
BITFIELD keeps a lifetime
    SET k v EX 100 / BITFIELD k SET u8 80 1 / READ / BITFIELD k SET u8 400000 1 / STRLEN k / TTL k
BITFIELD of a block
    SET k BLOCK / BITFIELD k GET u63 319937 GET i64 319990 GET u8 320000 / BITFIELD k INCRBY i64 319960 -1 / STRLEN k
    GETRANGE k 39985 -1 / BITFIELD k SET u16 255993 65535 GET u64 0 / BITFIELD k SET u16 255993 65535 GET i64 255970
BITFIELD at the edges of 64 bits
    BITFIELD k SET i64 0 MAX INCRBY i64 0 1
    BITFIELD k OVERFLOW SAT SET i64 0 MAX INCRBY i64 0 1 INCRBY i64 0 MIN INCRBY i64 0 MIN
    BITFIELD k OVERFLOW FAIL SET i64 0 MIN INCRBY i64 0 -1 INCRBY i64 0 MAX INCRBY i64 0 MIN INCRBY i64 0 MIN GET i64 0
    BITFIELD k OVERFLOW SAT SET u63 0 MAX INCRBY u63 0 1 INCRBY u63 0 MIN INCRBY u63 0 MAX
    BITFIELD k INCRBY u63 0 MAX INCRBY u63 0 2
BITFIELD below the lowest number by far
    BITFIELD k OVERFLOW SAT SET i8 0 MIN / GET k / BITFIELD k OVERFLOW SAT SET i8 0 -9223372036854775681 / GET k
    BITFIELD k OVERFLOW SAT SET i8 0 -9223372036854775680 / GET k
    BITFIELD k SET i8 0 MIN GET i8 0 OVERFLOW FAIL SET i8 0 MIN
"""

SUBSEQUENCES = """
LCS
    MSET a ohmytext b mynewtext / LCS a b / LCS a b LEN / LCS a b IDX / LCS a b IDX MINMATCHLEN 4 / LCS b a IDX
    LCS a b IDX WITHMATCHLEN / LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN / LCS a b idx minmatchlen 5 / LCS b a
    LCS a a IDX
LCS of missing keys
    LCS x y / LCS x y LEN / LCS x y IDX / SET a abc / LCS a x / LCS x a LEN / LCS a x IDX WITHMATCHLEN / EXISTS x y
LCS of the same key
    SET a abcabc / LCS a a / LCS a a LEN / LCS a a IDX / LCS a a IDX MINMATCHLEN 6 / LCS a a IDX MINMATCHLEN 7
LCS of integers and nothing
    MSET a 12345 b 23450 e '' n -1 / LCS a b / LCS a b IDX / LCS a n LEN / LCS a e / LCS e e IDX / INCR a
LCS options
    MSET a abcdef b acf / LCS a b MINMATCHLEN 2 / LCS a b WITHMATCHLEN / LCS a b LEN LEN / LCS a b IDX IDX
    LCS a b LEN WITHMATCHLEN
    LCS a b IDX MINMATCHLEN 2 / LCS a b IDX MINMATCHLEN 0 / LCS a b IDX MINMATCHLEN -5 / LCS a b IDX MINMATCHLEN MAX
    LCS a b IDX MINMATCHLEN MIN / LCS a b MINMATCHLEN 9 MINMATCHLEN 1 IDX
LCS errors
    MSET a abc b abd / LCS a b LEN IDX / LCS a b IDX LEN / LCS a b x / LCS a b MINMATCHLEN / LCS a b IDX MINMATCHLEN x
    LCS a b MINMATCHLEN IDX / LCS a b LEN IDX x / LCS a b '' / LCS a b LENX / LCS a b LEN IDX MINMATCHLEN 1.5
    LCS x y x
LCS of many equal bytes
    MSET a aaaaaaaaaaaabaaaaaaaaaaaa b aaabaaa c bbbb / LCS a b IDX / LCS b a IDX / LCS a c IDX
    LCS c a IDX WITHMATCHLEN
LCS needs too much memory
    SETRANGE a 3999999 x / SETRANGE b 2095151 x / LCS a b / LCS a b LEN / LCS a missing LEN / LCS a b x / SET b x
    LCS a b LEN
    SETRANGE a 4194300 x / LCS a missing / STRLEN a / LCS a b / SETRANGE a 4194303 x / LCS a missing / LCS missing a IDX
"""

# A key that holds a list: what these commands say to it, and which error comes first.
OTHER_TYPE = """
bits of another type
    LIST / GETBIT list 0 / SETBIT list 0 1 / BITCOUNT list / BITPOS list 1 / BITFIELD list / BITFIELD list GET u8 0
    BITFIELD list SET u8 0 1 / BITFIELD_RO list GET u8 0 / BITFIELD_RO list / LCS list list / TYPE list
order of errors with another type
    LIST / GETBIT list x / SETBIT list x 1 / SETBIT list 0 2 / BITCOUNT list x / BITCOUNT list 0 / BITPOS list 2
    BITPOS list 1 x
    BITPOS list 1 0 1 x / BITFIELD list GET x 0 / BITFIELD_RO list SET u8 0 1 / LCS list x foo / LCS x list LEN IDX
BITOP with another type
    LIST / SET a abc / BITOP AND d a list / BITOP AND d list a / BITOP NOT d list / BITOP AND d missing list
    BITOP NOT list missing
    LIST / BITOP NOT list a / TYPE list / EXISTS d / LIST / BITOP x d list / BITOP NOT d list list
"""

OFFSETS: list[bytes | str] = [
    *NOT_INTEGERS,
    *("0", "1", "7", "8", "63", "64", "65", "-1", MAX, MIN, "4294967296", "4294967295"),
    *(str(BEYOND - 1), str(BEYOND), str(BEYOND + 1)),
]
UNITS: list[bytes | str] = [
    *("#0", "#1", "#7", "#", "##1", "#-1", "#x", "# 1", "#01", "#+1", b"#1\0", f"#{MAX}", f"#{MIN}", "-#1", "1#"),
    *(f"#{BEYOND // 8 - 1}", f"#{BEYOND // 8}", f"#{BEYOND // 8 + 1}", "#2305843009213693951", "#2305843009213693952"),
    *("#2305843009213693953", "#1152921504606846976"),
]
TYPES: list[bytes | str] = [
    *(
        "u1",
        "u2",
        "u7",
        "u8",
        "u31",
        "u32",
        "u33",
        "u62",
        "u63",
        "u64",
        "u65",
        "i1",
        "i2",
        "i8",
        "i33",
        "i63",
        "i64",
        "i65",
    ),
    *(
        "",
        "u",
        "i",
        "8",
        "U8",
        "I8",
        "s8",
        "u0",
        "i0",
        "u-1",
        "u08",
        "u 8",
        "u8 ",
        "u8x",
        "i+8",
        "uu8",
        "u99999999999999999999",
    ),
    *(b"u8\0", b"u8\0x", b"u\0008", b"i\0", b"\0u8"),
]
WIDTHS = ("u1", "u2", "u8", "u13", "u31", "u32", "u33", "u63", "i1", "i2", "i8", "i13", "i32", "i33", "i63", "i64")
STARTS = ("0", "1", "7", "9", "62", "63")
BITS = ("0", "1", "x", "2", "-1", "", "00", "01", "+1", " 1", b"1\0", MAX, MIN)
INDEXES = ("0", "1", "2", "8", "63", "64", "-1", "-2", "-9", "-100", "9", "100", MAX, MIN)


def numbers(width: str) -> list[bytes | str]:
    """At and beyond the ends of a type's range."""
    bits = int(width[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if width[0] == "i" else (0, (1 << bits) - 1)
    found = {0, 1, -1, low - 1, low, low + 1, high - 1, high, high + 1, 2 * high + 1, 2 * high + 2, 2**63 - 1, -(2**63)}
    return [str(n) for n in sorted(found) if -(2**63) <= n < 2**63]


def fields() -> list[Case]:
    """Every width at several offsets, set to and moved by numbers at the ends of its range, in every mode."""
    cases: list[Case] = []
    for width, how in product(WIDTHS, ("WRAP", "SAT", "FAIL")):
        talk: list[Request] = []
        for start in STARTS:
            get, change = f"GET {width} {start}", f"OVERFLOW {how}"
            talk += each(numbers(width), f"BITFIELD k {change} SET {width} {start} VALUE {get}")
            talk += each(
                numbers(width), f"BITFIELD k {change} INCRBY {width} {start} VALUE {get} INCRBY {width} {start} VALUE"
            )
        cases.append((f"BITFIELD {width} with {how}", [*talk, ("GET", "k")]))
    return cases


def spans() -> list[Case]:
    """Every pair of indexes, in bytes and bits, on values with and without set bits."""
    values = [
        ("SET", "t", b"\0\0\x12\xff\0foobar"),
        ("SET", "z", b"\0" * 9),
        ("SET", "f", b"\xff" * 17),
        ("SET", "n", "-12"),
    ]
    return [
        (
            f"{command} from {start} in {unit or 'bytes'}",
            [
                *values,
                *(r for key in "tzfnm" for r in each(INDEXES, f"{command.replace('k', key)} {start} VALUE {unit}")),
            ],
        )
        for command in ("BITCOUNT k", "BITPOS k 0", "BITPOS k 1")
        for start in INDEXES
        for unit in ("", "BYTE", "BIT")
    ]


def lengths() -> list[Case]:
    """Counting, searching and combining at lengths around a word's."""
    sizes = [*range(18), 31, 32, 33, 63, 64, 65, BLOCK_FROM - 1, BLOCK_FROM, BLOCK_FROM + 1]
    cases: list[Case] = []
    for size in sizes:
        full, mixed = b"\xff" * size, bytes(i * 37 & 255 for i in range(size))
        cases.append(
            (
                f"bits of {size} bytes",
                [
                    *(
                        ("SET", "f", full),
                        ("SET", "m", mixed),
                        ("SET", "z", bytes(size)),
                        ("SET", "s", b"\xa5" * (size // 2)),
                    ),
                    *requests(
                        "BITCOUNT f / BITCOUNT m / BITCOUNT z / BITPOS f 0 / BITPOS z 1 / BITPOS m 1 / BITPOS f 0 1"
                    ),
                    *each(
                        ("AND", "OR", "XOR"),
                        "BITOP VALUE d m s f / GET d / BITOP VALUE d s m / GET d / BITOP VALUE d z m s",
                    ),
                    *requests("BITOP NOT d m / GET d / BITOP NOT d d / GET d"),
                    ("BITCOUNT", "f", "3", str(size * 8 - 5), "BIT"),
                    *(
                        ("SETBIT", "z", str(size * 8 + 3), "1"),
                        ("BITPOS", "z", "1"),
                        ("STRLEN", "z"),
                        ("GETBIT", "z", "0"),
                    ),
                ],
            )
        )
    return cases


def subsequences() -> list[Case]:
    """LCS of texts around the lengths of a word, with few and many different bytes."""
    cases: list[Case] = []
    for size, letters in product((1, 2, 63, 64, 65, 127, 128, 129, 300), (1, 2, 4, 256)):
        a = bytes((i * i * 7 + i // 3) % letters for i in range(size))
        b = bytes((i * i * 5 + i // 2) % letters for i in range(size + 17))
        cases.append(
            (
                f"LCS of {size} bytes, {letters} different",
                [
                    *(("SET", "a", a), ("SET", "b", b)),
                    *requests("LCS a b / LCS b a / LCS a b LEN / LCS a b IDX / LCS b a IDX WITHMATCHLEN MINMATCHLEN 2"),
                ],
            )
        )
    return cases


# Which numbers of arguments, of none to seven, a command takes.
ARGUMENTS = {
    "GETBIT": {2},
    "SETBIT": {3},
    "BITCOUNT BITFIELD BITFIELD_RO": {1, 2, 3, 4, 5, 6, 7},
    "BITPOS LCS": {2, 3, 4, 5, 6, 7},
    "BITOP": {3, 4, 5, 6, 7},
}


def arity() -> list[Case]:
    """Every command with every wrong number of arguments, and with right ones that mean nothing."""
    return [
        (f"arguments of {name}", [(name, *("x" * n)) for n in range(8)])
        for names in ARGUMENTS
        for name in names.split()
    ]


BUILT: list[Case] = [
    ("GETBIT offsets", each(OFFSETS, "GETBIT k VALUE / GETBIT missing VALUE")),
    ("SETBIT offsets", each(OFFSETS, "SETBIT k VALUE 1 / STRLEN k / DEL k")),
    ("SETBIT bits", each(BITS, "SETBIT k 9 VALUE / GET k / SETBIT k x VALUE")),
    ("BITPOS bits", each(BITS, "SET k v / BITPOS k VALUE / BITPOS missing VALUE / BITPOS k VALUE x")),
    ("BITFIELD types", each(TYPES, "BITFIELD k GET VALUE 0 / BITFIELD k SET VALUE 3 1 GET VALUE #1 / DEL k")),
    (
        "BITFIELD offsets",
        each([*OFFSETS, *UNITS], "BITFIELD k SET u8 VALUE 255 / STRLEN k / BITFIELD_RO k GET i5 VALUE / DEL k"),
    ),
    ("BITFIELD offsets of 64 bits", each([*OFFSETS, *UNITS], "BITFIELD k SET i64 VALUE 255 / STRLEN k / DEL k")),
    ("BITFIELD numbers", each(NOT_INTEGERS, "BITFIELD k SET u8 0 VALUE / BITFIELD k INCRBY i8 0 VALUE / EXISTS k")),
    (
        "BITCOUNT indexes",
        each(NOT_INTEGERS, "SET k v / BITCOUNT k VALUE 1 / BITCOUNT k 0 VALUE / BITCOUNT missing VALUE 0"),
    ),
    ("BITPOS indexes", each(NOT_INTEGERS, "SET k v / BITPOS k 0 VALUE / BITPOS k 0 0 VALUE / BITPOS missing 0 VALUE")),
    ("LCS lengths", each(NOT_INTEGERS, "MSET a abc b abd / LCS a b IDX MINMATCHLEN VALUE / LCS a b MINMATCHLEN VALUE")),
    (
        "words with a zero byte",
        [
            *requests("SET k foobar / SET j fab"),
            *each([b"BIT\0x", b"BYTE\0", b"\0BIT", b"BI\0T"], "BITCOUNT k 0 5 VALUE / BITPOS k 1 0 5 VALUE"),
            *each([b"AND\0x", b"or\0", b"\0xor", b"NOT\0NOT"], "BITOP VALUE d k / GET d / DEL d"),
            *each([b"GET\0x", b"SET\0", b"INCRBY\0\0", b"G\0ET"], "BITFIELD k VALUE u8 0 / BITFIELD k VALUE u8 0 1"),
            *each(
                [b"SAT\0x", b"FAIL\0", b"WRA\0P"], "BITFIELD k OVERFLOW VALUE SET u8 0 300 / BITFIELD k OVERFLOW\0x SAT"
            ),
            *each([b"LEN\0x", b"IDX\0", b"WITHMATCHLEN\0", b"I\0DX"], "LCS k j VALUE / LCS k j IDX VALUE"),
        ],
    ),
    (
        "BITFIELD of many operations",
        [
            ("BITFIELD", "k", *(word for i in range(300) for word in ("INCRBY", "u7", f"#{i % 50}", str(i)))),
            ("BITFIELD_RO", "k", *(word for i in range(300) for word in ("GET", "i9", str(i)))),
            ("GET", "k"),
        ],
    ),
    (
        "BITOP of many keys",
        [
            ("MSET", *(word for i in range(300) for word in (f"key:{i}", f"value {i * i}"))),
            *(
                r
                for op in ("AND", "OR", "XOR")
                for r in [("BITOP", op, "d", *(f"key:{i}" for i in range(310))), ("GET", "d")]
            ),
            ("BITOP", "AND", "key:7", *(f"key:{i}" for i in range(300))),
            ("GET", "key:7"),
        ],
    ),
    (
        "LCS of blocks",
        [("SET", "a", BLOCK), ("SET", "b", "a5c"), *requests("LCS a b / LCS b a IDX / LCS a a LEN / LCS a a")],
    ),
]

CASES: list[Case] = [
    *(case for text in (SINGLE, COUNTS, COMBINED, FIELDS, SUBSEQUENCES) for case in table(text)),
    *BUILT,
    *fields(),
    *spans(),
    *lengths(),
    *subsequences(),
    *arity(),
]

# These wait for a command of ours that makes a list.
CASES_OF_ANOTHER_TYPE: list[Case] = table(OTHER_TYPE)
