"""What a server was asked to keep, what it has acknowledged, and what may therefore be found after a crash.

A unit is a few keys that change together: no change of it may be found half done. Its states follow one another, each
with two marks of a clock: when it was sent and when its reply was there. A clock is anything that only grows: seconds,
or a place in a journal. A crash at some moment may leave any state from the last acknowledged one up to the last one
sent, and nothing else: neither an older one, nor a key that had been deleted or was past its time.
"""

from __future__ import annotations

import hashlib
import random
from bisect import bisect_right
from collections.abc import Iterable, Mapping

Held = tuple[bytes, int]  # a value, and its deadline in Unix milliseconds, -1 without one
Found = Mapping[bytes, Held]
State = tuple[bytes | None, ...]  # of each key, see `short`
Change = tuple[list[bytes], "Unit", int]  # what is sent, whom it changes, and the number of the state it leads to

NEVER = -1
SOON_MS = 30  # until a key is gone that is to be gone when anybody looks
FAR = 4_000_000_000_000
SHORT = 64
INFINITE = float("inf")


def short(held: Held | None) -> bytes | None:
    """What a key holds, in so few bytes that thousands can be remembered."""
    if held is None:
        return None
    value, deadline = held
    if len(value) > SHORT:
        value = b"%s and more, %d bytes, %s" % (value[:20], len(value), hashlib.md5(value).hexdigest().encode())
    return value if deadline == NEVER else b"%s until %d" % (value, deadline)


class Unit:
    """Keys that belong together; `now` is what they hold when everything that was sent has been done."""

    def __init__(self, *keys: bytes) -> None:
        self.keys = keys
        self.now: list[Held | None] = [None] * len(keys)
        self.settle({})

    def settle(self, found: Found) -> None:
        """What is found now is what there is: nobody knows of anything before."""
        self.now = [found.get(key) for key in self.keys]
        self.states: list[State] = [self.state()]
        self.sent: list[float] = [-INFINITE]
        self.acknowledged: list[float] = [-INFINITE]

    def go_on(self, found: Found, moment: float) -> None:
        """A server that was started again has this, and has told so: whatever else was sent to the one before, this has
        followed, and counts as acknowledged.
        """
        number = self.change(*(found.get(key) for key in self.keys))
        self.sent[number] = moment
        self.sent = [min(when, moment) for when in self.sent]
        self.acknowledged = [min(when, moment) for when in self.acknowledged]

    def state(self) -> State:
        return tuple(map(short, self.now))

    def change(self, *now: Held | None) -> int:
        """It is about to be changed so. Answers the number of the new state."""
        self.now = list(now)
        self.states.append(self.state())
        self.sent.append(INFINITE)
        self.acknowledged.append(INFINITE)
        return len(self.states) - 1

    def allowed(self, safe: float, crash: float) -> list[State]:
        """States that may be found when what had been acknowledged by `safe` had to survive a crash at `crash`."""
        return self.states[bisect_right(self.acknowledged, safe) - 1 : bisect_right(self.sent, crash)]

    def check(self, found: Found, safe: float, crash: float) -> str:
        """What is wrong with what is found; "" if nothing is."""
        state, allowed = tuple(short(found.get(key)) for key in self.keys), self.allowed(safe, crash)
        if state in allowed:
            return ""
        known = [number for number, other in enumerate(self.states) if other == state]
        number = bisect_right(self.acknowledged, safe) - 1
        return (
            f"{self.keys} hold {state}, which they did as number {known} of {len(self.states)};"
            f" {number} had to survive: {allowed[:1]}, and {len(allowed) - 1} later ones might"
        )


def faults(units: Iterable[Unit], found: Found, safe: float, crash: float) -> list[str]:
    """What is wrong with what is found after a crash."""
    return [fault for unit in units if (fault := unit.check(found, safe, crash))]


# Changes ------------------------------------------------------------------------------------------------------------


class Some:
    """Units of one writer, and changes of them at random."""

    def __init__(self, name: str, seed: int, *, units: int = 30, sizes: tuple[int, ...] = (0, 10, 300)) -> None:
        self.random = random.Random(seed)
        self.sizes = sizes
        self.serial = 0
        names = [b"%s:%d" % (name.encode(), number) for number in range(units)]
        self.singles = [Unit(b"single:" + name) for name in names]
        self.counters = [Unit(b"counter:" + name) for name in names[:3]]
        self.pairs = [Unit(b"left:" + name, b"right:" + name) for name in names]
        self.wide = [Unit(*(b"wide:%s:%d" % (name, i) for i in range(6))) for name in names[:3]]
        self.gone: set[Unit] = set()  # whose keys are soon past their time: nobody knows when they are gone

    @property
    def units(self) -> list[Unit]:
        return [*self.singles, *self.counters, *self.pairs, *self.wide]

    def settle(self, found: Found) -> None:
        """After a crash, and when what was soon to be gone is."""
        self.gone.clear()
        for unit in self.units:
            unit.settle(found)

    def go_on(self, found: Found, moment: float) -> None:
        """The same when there may yet be crashes before that moment to look at."""
        self.gone.clear()
        for unit in self.units:
            unit.go_on(found, moment)

    def value(self) -> bytes:
        self.serial += 1
        return b"%d:%s" % (self.serial, b"x" * self.random.choice(self.sizes))

    def change(self) -> Change:
        draw = self.random.random()
        if draw < 0.5:
            return self.change_one(self.random.choice(self.singles))
        if draw < 0.6:
            unit = self.random.choice(self.counters)
            number = int(unit.now[0][0]) + 1 if unit.now[0] else 1
            return [b"INCR", *unit.keys], unit, unit.change((b"%d" % number, NEVER))
        if draw < 0.9:
            return self.change_two(self.random.choice(self.pairs))
        unit = self.random.choice(self.wide)
        if self.random.random() < 0.2:
            return [b"DEL", *unit.keys], unit, unit.change(*[None] * len(unit.keys))
        value = self.value()
        words = [word for key in unit.keys for word in (key, value)]
        return [b"MSET", *words], unit, unit.change(*[(value, NEVER)] * len(unit.keys))

    def change_one(self, unit: Unit) -> Change:
        (key,), (held,), value = unit.keys, unit.now, self.value()
        draw = self.random.random()
        if unit in self.gone or draw < 0.35:
            self.gone.discard(unit)
            return [b"SET", key, value], unit, unit.change((value, NEVER))
        if draw < 0.5:
            self.gone.add(unit)
            return [b"SET", key, value, b"PX", b"%d" % SOON_MS], unit, unit.change(None)
        far = FAR + self.serial
        if draw < 0.6:
            return [b"SET", key, value, b"PXAT", b"%d" % far], unit, unit.change((value, far))
        if held is None or draw < 0.7:
            return [b"DEL", key], unit, unit.change(None)
        old, deadline = held
        if draw < 0.8:
            return [b"PEXPIREAT", key, b"%d" % far], unit, unit.change((old, far))
        if draw < 0.85:
            return [b"PERSIST", key], unit, unit.change((old, NEVER))
        if draw < 0.95:
            return [b"APPEND", key, value], unit, unit.change((old + value, deadline))
        new = old[:3].ljust(3, b"\0") + value + old[3 + len(value) :]
        return [b"SETRANGE", key, b"3", value], unit, unit.change((new, deadline))

    def change_two(self, unit: Unit) -> Change:
        (left, right), (a, b) = unit.keys, unit.now
        draw = self.random.random()
        if draw < 0.4 and a:
            return [b"RENAME", left, right], unit, unit.change(None, a)
        if draw < 0.4 and b:
            return [b"RENAME", right, left], unit, unit.change(b, None)
        if draw < 0.5 and a:
            return [b"COPY", left, right, b"REPLACE"], unit, unit.change(a, a)
        if draw < 0.6:
            return [b"DEL", left, right], unit, unit.change(None, None)
        value = self.value()
        return [b"MSET", left, value, right, value], unit, unit.change((value, NEVER), (value, NEVER))
