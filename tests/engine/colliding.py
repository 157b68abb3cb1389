"""Keys with one and the same FNV-1a hash, as many as wanted: what an attacker would send.

A step of the hash replaces the low byte of its state by any byte and multiplies. So bytes that differ by e[0], e[1],
... from a path's own low bytes end in the same state if e[0] * P**m + e[1] * P**(m-1) + ... is 0 modulo 2**64. These e
form a lattice; a reduced basis of it (Lenstra, Lenstra and Lovász, 1982) consists of small numbers, and small sums of
its vectors mostly stay within a byte.
"""

from __future__ import annotations

import random
from functools import cache

PRIME, BASIS, MASK = 0x100000001B3, 0xCBF29CE484222325, 2**64 - 1
LENGTH = 16  # bytes that vary

Vector = list[int]


def fnv1a(key: bytes) -> int:
    state = BASIS
    for byte in key:
        state = (state ^ byte) * PRIME & MASK
    return state


def dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


class Reduction:
    """A basis while it is reduced, with what is orthogonal in each vector to those before it."""

    def __init__(self, basis: list[Vector]) -> None:
        self.basis = basis
        self.rest: list[list[float]] = []
        self.shares = [[0.0] * len(basis) for _ in basis]

    def orthogonalize(self, k: int) -> None:
        rest = [float(x) for x in self.basis[k]]
        for j in range(k):
            self.shares[k][j] = dot([float(x) for x in self.basis[k]], self.rest[j]) / dot(self.rest[j], self.rest[j])
            rest = [x - self.shares[k][j] * y for x, y in zip(rest, self.rest[j], strict=True)]
        self.rest[k:] = [rest]

    def shorten(self, k: int) -> None:
        self.orthogonalize(k)
        for j in range(k - 1, -1, -1):
            times = round(self.shares[k][j])
            if times:
                self.basis[k] = [x - times * y for x, y in zip(self.basis[k], self.basis[j], strict=True)]
                self.orthogonalize(k)

    def run(self) -> list[Vector]:
        self.orthogonalize(0)
        k = 1
        while k < len(self.basis):
            self.shorten(k)
            before = dot(self.rest[k - 1], self.rest[k - 1])
            if dot(self.rest[k], self.rest[k]) >= (0.75 - self.shares[k][k - 1] ** 2) * before:
                k += 1
            else:
                self.basis[k - 1 : k + 1] = [self.basis[k], self.basis[k - 1]]
                k = max(k - 1, 1)
                self.orthogonalize(k - 1)
        return self.basis


@cache
def short_vectors() -> list[Vector]:
    """Of the lattice above; reduced one dimension after the other, which keeps the numbers small enough for floats."""
    basis = [[2**64]]
    for i in range(1, LENGTH):
        fresh = [-pow(PRIME, -i, 2**64) % 2**64, *[0] * (i - 1), 1]
        basis = Reduction([[*vector, 0] for vector in basis] + [fresh]).run()
    return [vector for vector in basis if max(map(abs, vector)) < 64]


def along(prefix: bytes, differences: Vector) -> bytes | None:
    """The key on whose path the low bytes differ so; None if one would leave the range of a byte."""
    state, key = BASIS, bytearray(prefix)
    for byte in prefix:
        state = (state ^ byte) * PRIME & MASK
    for difference in differences:
        low = state & 255
        if not 0 <= low + difference <= 255:
            return None
        key.append(low ^ low + difference)
        state = (state ^ key[-1]) * PRIME & MASK
    return bytes(key)


def colliding_keys(count: int, prefix: bytes = b"user:") -> list[bytes]:
    """Different keys with the same hash."""
    chance = random.Random(1)
    vectors = short_vectors()
    keys: set[bytes] = set()
    while len(keys) < count:
        sum_of = [0] * LENGTH
        for vector in chance.sample(vectors, chance.randint(1, 6)):
            sign = chance.choice((-1, 1))
            sum_of = [x + sign * y for x, y in zip(sum_of, vector, strict=True)]
        key = along(prefix, sum_of)
        if key is not None:
            keys.add(key)
    return sorted(keys)
