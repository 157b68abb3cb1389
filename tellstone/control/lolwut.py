"""LOLWUT: a drawing of chance, and the version."""

from __future__ import annotations

import random

from tellstone.control.context import Call, Context
from tellstone.control.encode import Reply, Verbatim, keyword
from tellstone.control.keys import NOT_INTEGER, integer
from tellstone.version import REDIS_VERSION

WIDTH, HEIGHT = 40, 8
NUMBERS = {5: 3, 6: 2}  # that Redis reads behind a version that has a drawing
SIDE_MAX = 200
SHADES = " .:-=+*#"


def drawing(width: int, height: int) -> str:
    """Stones in layers: each a little wider than what lies on it."""
    lines = []
    for row in range(height):
        stone = max(1, width * (row + 1) // height - random.randrange(max(width // 8, 1)))
        shade = random.choice(SHADES[1:])
        lines.append((shade * stone).center(width).rstrip())
    return "\n".join(lines) + "\n"


# LOLWUT [VERSION version [width [height]]]
def lolwut(context: Context, call: Call) -> Reply:
    """Redis draws for versions 5 and 6, and otherwise answers its version alone, as this does."""
    del context
    words = call.args[1:]
    if len(words) >= 2 and keyword(words[0]) == b"version":
        version = integer(words[1], NOT_INTEGER)
        if version in NUMBERS:
            sides = [integer(word, NOT_INTEGER) for word in words[2 : 2 + NUMBERS[version]]]
            width, height = (min(max(side, 1), SIDE_MAX) for side in [*sides, WIDTH, HEIGHT][:2])
            return Verbatim(f"{drawing(width, height)}Redis ver. {REDIS_VERSION}\n")
    return Verbatim(f"Redis ver. {REDIS_VERSION}\n")
