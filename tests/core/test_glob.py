"""Glob patterns: against a plain recursive definition, and against patterns made to explode."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tellstone._core.command.keys import glob_match

pytestmark = pytest.mark.core

STAR = b"*"
Element = bytes


def elements(pattern: bytes) -> list[Element]:
    """A pattern cut into stars and elements that take one byte each."""
    found = []
    at = 0
    while at < len(pattern):
        end = at + 1
        if pattern[at : at + 1] == b"[":
            end = set_end(pattern, at + 1)
        elif pattern[at : at + 1] == b"\\" and at + 1 < len(pattern):
            end = at + 2
        found.append(pattern[at:end])
        at = end
    return found


def set_end(pattern: bytes, at: int) -> int:
    """Behind the bracket that closes a set, or the pattern's end: an unclosed set is closed there."""
    if pattern[at : at + 1] == b"^":
        at += 1
    while at < len(pattern) and pattern[at : at + 1] != b"]":
        if pattern[at : at + 1] == b"\\" and len(pattern) - at >= 2:
            at += 2
        elif pattern[at + 1 : at + 2] == b"-" and len(pattern) - at >= 3:
            at += 3
        else:
            at += 1
    return min(at + 1, len(pattern))


def signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def folded(byte: int, nocase: bool) -> int:
    return byte + 32 if nocase and 65 <= byte <= 90 else byte


def set_takes(body: bytes, byte: int, nocase: bool) -> bool:
    """Body: between the brackets, the caret left out."""
    found = False
    while body:
        if body[:1] == b"\\" and len(body) >= 2:
            found |= body[1] == byte
            body = body[2:]
        elif body[1:2] == b"-" and len(body) >= 3:
            low, high = sorted((signed(body[0]), signed(body[2])))
            found |= folded(low, nocase) <= folded(signed(byte), nocase) <= folded(high, nocase)
            body = body[3:]
        else:
            found |= folded(body[0], nocase) == folded(byte, nocase)
            body = body[1:]
    return found


def takes(element: Element, byte: int, nocase: bool) -> bool:
    if element[:1] == b"[":
        body = element[1:]
        inverted = body[:1] == b"^"
        body = body[inverted:]
        if closed(element):
            body = body[:-1]
        return set_takes(body, byte, nocase) != inverted
    if element == b"?":
        return True
    return folded(element[-1], nocase) == folded(byte, nocase)


def closed(element: Element) -> bool:
    """Whether a set ends with its bracket, and not with one that is escaped or the end of a range."""
    return set_end(element + b"]", 1) == len(element)


def matches(parts: list[Element], text: bytes, nocase: bool) -> bool:
    """The definition: a star takes any number of bytes, everything else exactly one."""
    if not parts:
        return not text
    if parts[0] == STAR:
        return any(matches(parts[1:], text[n:], nocase) for n in range(len(text) + 1))
    return bool(text) and takes(parts[0], text[0], nocase) and matches(parts[1:], text[1:], nocase)


def reference(pattern: bytes, text: bytes, nocase: bool) -> bool:
    """The definition, with Redis's exception: the empty text is matched by the empty pattern only."""
    if not text:
        return not pattern
    return matches(elements(pattern), text, nocase)


SPECIAL = b"*?[]^-\\"
patterns = st.lists(st.sampled_from([bytes([b]) for b in SPECIAL + b"*[aAbBz\0"]), max_size=10).map(b"".join)
texts = st.lists(st.sampled_from([bytes([b]) for b in b"aAbBz]-^\\\0"]), max_size=8).map(b"".join)
any_bytes = st.lists(st.sampled_from([bytes([b]) for b in SPECIAL + b"*[a\x7f\x80\xff"]), max_size=8).map(b"".join)


@settings(max_examples=3000, deadline=None)
@given(patterns, texts, st.booleans())
@example(b"[^", b"a", False)
@example(b"[a-]", b"a", False)
@example(b"a\\", b"a\\", False)
def test_like_the_definition(pattern: bytes, text: bytes, nocase: bool) -> None:
    assert glob_match(pattern, text, nocase) == reference(pattern, text, nocase)


@settings(max_examples=1000, deadline=None)
@given(any_bytes, any_bytes)
def test_like_the_definition_for_any_byte(pattern: bytes, text: bytes) -> None:
    assert glob_match(pattern, text) == reference(pattern, text, False)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (b"", b"", True),
        (b"", b"a", False),
        (b"*", b"", False),  # KEYS and SCAN treat the lone star as no pattern at all
        (b"**", b"", False),
        (b"*", b"anything", True),
        (b"h?llo", b"hello", True),
        (b"h?llo", b"hllo", False),
        (b"h*llo", b"hllo", True),
        (b"h*llo", b"heeeello", True),
        (b"h*llo*", b"heeeello", True),
        (b"h[ae]llo", b"hallo", True),
        (b"h[ae]llo", b"hillo", False),
        (b"h[^e]llo", b"hallo", True),
        (b"h[^e]llo", b"hello", False),
        (b"h[a-b]llo", b"hbllo", True),
        (b"h[b-a]llo", b"hallo", True),
        (b"h[a-", b"h-", True),
        (b"h[a-]llo", b"hallo", False),  # the bracket is the end of the range, so the set is not closed
        (b"h[a-]llo", b"h^", True),
        (b"h[\\]]llo", b"h]llo", True),
        (b"h[]llo", b"hello", False),  # the empty set
        (b"h[^]llo", b"hello", True),
        (b"[", b"[", False),
        (b"[^", b"x", True),
        (b"\\*", b"*", True),
        (b"\\*", b"a", False),
        (b"\\", b"\\", True),
        (b"a\\", b"a\\", True),
        (b"?", b"\0", True),
        (b"a\0b*", b"a\0bc", True),
        (b"[\x80-\xff]", b"\xc3", True),
        (b"[\x7f-\x80]", b"a", True),  # bytes are signed
    ],
)
def test_known_answers(pattern: bytes, text: bytes, expected: bool) -> None:
    assert glob_match(pattern, text) is expected
    assert reference(pattern, text, False) is expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (b"FOO", b"foo", True),
        (b"f[A-C]o", b"fbO", True),
        (b"[\\A]", b"a", False),
        (b"[\\A]", b"A", True),
        (b"[A]", b"a", True),
    ],
)
def test_without_case(pattern: bytes, text: bytes, expected: bool) -> None:
    assert glob_match(pattern, text, True) is expected


def test_no_pattern_explodes() -> None:
    """Naive backtracking takes longer than the universe has for the first, and squares for the second."""
    begun = time.monotonic()
    assert not glob_match(b"a*" * 60 + b"b", b"a" * 2000)
    assert not glob_match(b"*" * 100000 + b"b", b"a" * 100000)
    assert not glob_match(b"*a" * 30000 + b"b", b"a" * 100000)
    assert glob_match(b"*a" * 50000, b"a" * 100000)
    assert time.monotonic() - begun < 5
