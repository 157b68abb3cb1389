"""Redis's glob patterns, for names of options and commands: letters without case.

Translated piece by piece, not into one regular expression: a client chooses the pattern, and backtracking over several
stars could keep the interpreter busy for hours. Here only the last star is ever tried again.
"""

from __future__ import annotations

import re
from functools import lru_cache

STAR = None
Piece = re.Pattern[str] | None  # matches one character; STAR matches any number


def is_pattern(text: str) -> bool:
    """Whether a name is a pattern at all."""
    return any(character in text for character in "[*?")


@lru_cache(maxsize=128)
def pieces(pattern: str) -> tuple[Piece, ...]:
    """The pieces of a pattern. An unclosed "[" reaches to the end; a backslash takes the next character as it is."""
    found: list[Piece] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        position += 1
        if character == "*":
            found.append(STAR)
            continue
        if character == "?":
            expression = "."
        elif character == "[":
            expression, position = character_class(pattern, position)
        elif character == "\\" and position < len(pattern):
            expression = re.escape(pattern[position])
            position += 1
        else:
            expression = re.escape(character)
        found.append(re.compile(expression, re.IGNORECASE | re.DOTALL))
    return tuple(found)


def character_class(pattern: str, position: int) -> tuple[str, int]:
    """What stands in brackets, from behind the opening one on: the expression, and the position behind the class."""
    negated = pattern.startswith("^", position)
    position += negated
    members: list[str] = []
    while position < len(pattern) and pattern[position] != "]":
        if pattern[position] == "\\" and position + 1 < len(pattern):
            members.append(re.escape(pattern[position + 1]))
            position += 2
        elif pattern[position + 1 : position + 2] == "-" and position + 2 < len(pattern):
            low, high = sorted((pattern[position], pattern[position + 2]))
            members.append(f"{re.escape(low)}-{re.escape(high)}")
            position += 3
        else:
            members.append(re.escape(pattern[position]))
            position += 1
    inner = "".join(members)
    expression = f"[{'^' * negated}{inner}]" if inner else "." if negated else "(?!)"
    return expression, position + 1


def matches(pattern: str, name: str) -> bool:
    """Whether a whole name is what a pattern means."""
    wanted = pieces(pattern)
    at = position = 0
    star, resume = -1, 0
    while position < len(name):
        piece = wanted[at] if at < len(wanted) else STAR
        if at < len(wanted) and piece is STAR:
            star, resume = at, position
            at += 1
        elif piece is not STAR and piece.fullmatch(name[position]):
            at += 1
            position += 1
        elif star >= 0:
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return all(piece is STAR for piece in wanted[at:])
