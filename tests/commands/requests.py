"""Strategies for requests: the commands on strings, keys and connections, with arguments that are odd on purpose.

Most requests are well formed. Some lack an argument, have one too many or another one in place of the right one.
Deadlines are either long past or so far away that they do not fall due during a test, so that equal servers give equal
answers.
"""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import strategies as st

Args: TypeAlias = "st.SearchStrategy[list[bytes]]"

LONG = b"long" * 75
KEYS = [b"a", b"b", b"", b"\0\r\n$1", LONG]
INTEGERS = b"0 1 -1 2 10 -10".split()
INTEGERS += [b"%d" % (2**bits + d) for bits in (31, 32, 63, 64) for d in (-2, -1, 0, 1)]
INTEGERS += [b"%d" % -(2**bits + d) for bits in (31, 63) for d in (-1, 0, 1)]
ODD_INTEGERS = [b"", b" ", b" 1", b"1 ", b"1\0", b"1\n", b"1" * 21, b"1" * 400]
ODD_INTEGERS += b"007 +1 -0 - + 1_000 0x10 one".split()
FLOATS = b"0.1 -0.0 1.50 .5 5. 3.0e3 1e17 1E-3 1e400 -1e400 1e5000 1e-5000 1e-17 nan -nan inf -inf +infinity".split()
FLOATS += b"0x1p3 1e e1 1,5 1..5 9007199254740993 0.30000000000000004 123456789.123456789".split()
FLOATS += [b"1.5 ", b" 1.5", b"-" + b"9" * 30 + b".5", b"0." + b"3" * 300]
TEXTS = [b"", b"x", b"hello world", b"\0", b"\r\n", b"$-1\r\n", bytes(range(256)), b"y" * 44, b"y" * 45]
# Seconds and milliseconds from now, and Unix times in both: dead at once or far away, then those that do not fit.
FAR = [b"100", b"1000", b"5000", b"100000", b"4000000000"]
AWAY = [b"200000", b"1000000", b"5000000", b"400000000", b"9000000000000"]
PAST_OR_FAR = [b"1", b"1000", b"4102444800", b"33177117420"]
PAST_OR_AWAY = [b"1", b"1000", b"4102444800000", b"33177117420000"]
UNFIT = b"0 -1 -1000 9223372036854775807 9223372036854775808 -9223372036854775808 9223372036854775".split()
UNFIT += [b"", *b"9223372036854776 -9223372036854776 9223372036854770000 1.5 abc +100 0100".split()]
PATTERNS = [b"", *rb"* a ? [ab] [^a] [a- [b-a] \a a\ *o*n*g* long* **? [ [] [^]".split()]


def one(*choices: list[bytes]) -> Args:
    return st.sampled_from([choice for group in choices for choice in group]).map(lambda arg: [arg])


KEY = one(KEYS)
INTEGER = one(INTEGERS, INTEGERS, ODD_INTEGERS)
NUMBER = one(INTEGERS, ODD_INTEGERS, FLOATS)
SMALL = st.integers(-3, 9).map(lambda n: [b"%d" % n])
BIG = st.sampled_from([300, 32768, 70000]).map(lambda size: [b"z" * size])
VALUE = st.one_of(one(INTEGERS, TEXTS, ODD_INTEGERS, FLOATS), st.binary(max_size=30).map(lambda b: [b]), BIG)
SECONDS, MILLISECONDS = one(FAR, FAR, UNFIT), one(AWAY, AWAY, UNFIT)
UNIX_SECONDS, UNIX_MILLISECONDS = one(PAST_OR_FAR, PAST_OR_FAR, UNFIT), one(PAST_OR_AWAY, PAST_OR_AWAY, UNFIT)
DATABASE = one([b"0", b"0", b"1", b"15", b"16", b"-1", b"", b"x", b"01", b"9999999999", b"18446744073709551616"])
OFFSET = st.one_of(SMALL, one([b"100", b"300", b"1000", b"70000"], INTEGERS, ODD_INTEGERS))
GROWTH = st.one_of(SMALL, one([b"0", b"43", b"255", b"70000", b"16777215", b"16777216"], INTEGERS[6:], ODD_INTEGERS))


def word(text: bytes) -> Args:
    """A word in any spelling that Redis takes for it."""
    return st.sampled_from([text, text, text.lower(), text.title()]).map(lambda arg: [arg])


def words(text: bytes) -> Args:
    return st.one_of([word(each) for each in text.split()])


def joined(*parts: Args) -> Args:
    return st.tuples(*parts).map(lambda found: [arg for part in found for arg in part])


def repeated(part: Args, least: int = 1, most: int = 4) -> Args:
    return st.lists(part, min_size=least, max_size=most).map(lambda found: [arg for each in found for arg in each])


def options(*choices: Args) -> Args:
    """Options in any order, also none, several that exclude each other, the same twice."""
    return st.one_of(st.just([]), st.one_of(*choices), repeated(st.one_of(*choices, one([b"", b"EXX", b"10"])), 1, 4))


def rows(names: str, *parts: Args) -> dict[str, Args]:
    return {name: joined(*parts) for name in names.split()}


DEADLINE = [
    *(joined(word(b"EX"), SECONDS), joined(word(b"PX"), MILLISECONDS)),
    *(joined(word(b"EXAT"), UNIX_SECONDS), joined(word(b"PXAT"), UNIX_MILLISECONDS)),
]
WHEN = options(words(b"NX XX GT LT"))
WHOLE_SCAN = joined(word(b"COUNT"), one([b"1000", b"100000"]))
SCAN_OPTIONS = [
    joined(word(b"MATCH"), one(PATTERNS)),
    *(joined(word(b"TYPE"), one([b"string", b"STRING", b"list", b"zset"])), WHOLE_SCAN),
    *(joined(word(b"COUNT"), one([b"0", b"-1", b"x", b""])), words(b"MATCH COUNT TYPE")),
]

STRINGS: dict[str, Args] = {
    "set": joined(KEY, VALUE, options(*DEADLINE, words(b"NX XX GET KEEPTTL PERSIST"))),
    "getex": joined(KEY, options(*DEADLINE, words(b"PERSIST KEEPTTL NX"))),
    "mget": repeated(KEY),
    "setex": joined(KEY, SECONDS, VALUE),
    "psetex": joined(KEY, MILLISECONDS, VALUE),
    "setrange": joined(KEY, GROWTH, VALUE),
    "incrbyfloat": joined(KEY, NUMBER),
    **rows("get getdel strlen incr decr", KEY),
    **rows("setnx getset append", KEY, VALUE),
    **rows("mset msetnx", repeated(joined(KEY, VALUE))),
    **rows("getrange substr", KEY, OFFSET, OFFSET),
    **rows("incrby decrby", KEY, INTEGER),
}
BIT = one([b"0", b"1", b"0", b"1", b"0", b"1", b"2", b"-1", b"", b"x"])
BIT_OFFSET = st.one_of(SMALL, st.integers(0, 300).map(lambda n: [b"%d" % n]), GROWTH)
FIELD_OFFSET = st.one_of(BIT_OFFSET, st.integers(0, 40).map(lambda n: [b"#%d" % n]), one([b"#", b"#-1", b"##1", b"#x"]))
FIELD_TYPE = st.one_of(
    st.builds(lambda sign, width: [sign + b"%d" % width], st.sampled_from([b"u", b"i"]), st.integers(1, 64)),
    one([b"u8", b"i8", b"u64", b"i65", b"u0", b"", b"u", b"x8", b"U8", b"u08"]),
)
FIELD_GET = joined(word(b"GET"), FIELD_TYPE, FIELD_OFFSET)
FIELD_CHANGE = joined(words(b"SET INCRBY SET INCRBY"), FIELD_TYPE, FIELD_OFFSET, st.one_of(SMALL, INTEGER))
FIELD_OVERFLOW = joined(word(b"OVERFLOW"), words(b"WRAP SAT FAIL SAT FAIL NONE"))
BIT_RANGE: Args = st.one_of(
    st.just([]), joined(OFFSET, OFFSET), joined(OFFSET, OFFSET, words(b"BIT BYTE BIT BYTE BITS"))
)
BITS: dict[str, Args] = {
    "setbit": joined(KEY, BIT_OFFSET, BIT),
    "getbit": joined(KEY, BIT_OFFSET),
    "bitcount": joined(KEY, BIT_RANGE),
    "bitpos": joined(KEY, BIT, st.one_of(BIT_RANGE, OFFSET)),
    "bitop": st.one_of(
        joined(words(b"AND OR XOR"), KEY, repeated(KEY)),
        joined(words(b"NOT NOT NAND"), KEY, repeated(KEY, 1, 2)),
    ),
    "bitfield": joined(KEY, repeated(st.one_of(FIELD_GET, FIELD_CHANGE, FIELD_CHANGE, FIELD_OVERFLOW), 0, 6)),
    "bitfield_ro": joined(KEY, repeated(st.one_of(FIELD_GET, FIELD_GET, FIELD_GET, FIELD_OVERFLOW), 0, 3)),
    "lcs": joined(
        KEY,
        KEY,
        options(
            joined(word(b"MINMATCHLEN"), NUMBER),
            joined(word(b"MINMATCHLEN"), SMALL),
            words(b"LEN IDX IDX WITHMATCHLEN"),
        ),
    ),
}
KEYSPACE: dict[str, Args] = {
    "expire": joined(KEY, SECONDS, WHEN),
    "pexpire": joined(KEY, MILLISECONDS, WHEN),
    "expireat": joined(KEY, UNIX_SECONDS, WHEN),
    "pexpireat": joined(KEY, UNIX_MILLISECONDS, WHEN),
    "keys": one(PATTERNS),
    "scan": st.one_of(
        joined(one([b"0"]), options(*SCAN_OPTIONS), WHOLE_SCAN),
        joined(one([b"x", b"", b"-1", b"1.5", b"18446744073709551616", b"1" * 30]), options(*SCAN_OPTIONS)),
    ),
    "move": joined(KEY, DATABASE),
    "swapdb": joined(DATABASE, DATABASE),
    "select": DATABASE,
    **rows("del unlink exists touch", repeated(KEY)),
    **rows("type ttl pttl expiretime pexpiretime persist", KEY),
    **rows("rename renamenx", KEY, KEY),
    **rows("randomkey dbsize", st.just([])),
    **rows("flushdb flushall", options(words(b"ASYNC SYNC"))),
}
NAMES = one([b"me", b"", b"with space", b"line\n", b"\x7f", b"~!", b"\xff", LONG])
SETNAME = joined(word(b"SETNAME"), NAMES)
VERSIONS = one([b"2", b"3", b"2", b"3", b"1", b"4", b"", b"x", b"03", b"9223372036854775808"])
CONNECTION: dict[str, Args] = {
    "ping": options(VALUE),
    "echo": VALUE,
    "reset": st.just([]),
    "quit": options(VALUE),
    "hello": st.one_of(st.just([]), joined(VERSIONS, options(SETNAME, words(b"SETNAME AUTHX")))),
    "client": st.one_of(
        words(b"ID GETNAME INFO LIST"),
        SETNAME,
        joined(words(b"SETNAME GETNAME ID NOSUCH"), repeated(VALUE, 0, 2)),
    ),
    "select": DATABASE,
    "command": joined(words(b"COUNT NOSUCH"), repeated(VALUE, 0, 1)),
    "nosuch\r\ncommand": repeated(VALUE, 0, 6),
    "": repeated(VALUE, 0, 2),
}
EVERYTHING = STRINGS | BITS | KEYSPACE | CONNECTION


@st.composite
def request_of(draw: st.DrawFn, table: dict[str, Args]) -> list[bytes]:
    """A request for a command of the table, now and then a damaged one."""
    name = draw(st.sampled_from(sorted(table)))
    request = draw(word(name.upper().encode())) + draw(table[name])
    match draw(st.sampled_from(["as is"] * 17 + ["short", "long", "changed"])):
        case "short" if len(request) > 1:
            request.pop()
        case "long":
            request += draw(st.one_of(VALUE, KEY))
        case "changed" if len(request) > 1:
            request[draw(st.integers(1, len(request) - 1))] = draw(st.one_of(VALUE, KEY, NUMBER))[0]
    if name in ("client", "hello"):  # Redis 7.2 checks a name up to a NUL byte; 7.0, and we, refuse the NUL
        request = [arg.replace(b"\0", b"") for arg in request]
    return request


def sequences(table: dict[str, Args], most: int = 12) -> st.SearchStrategy[list[list[bytes]]]:
    return st.lists(request_of(table), min_size=1, max_size=most)
