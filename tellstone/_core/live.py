"""Counts of live C objects, kept by the debug build alone: the array that all modules add to (base/debug.h)."""

import ctypes

KINDS = ("keyspace", "partition", "block", "session", "parked")

_counts = (ctypes.c_uint64 * len(KINDS))()


def address() -> int:
    """Where the counts stand, for the modules."""
    return ctypes.addressof(_counts)


def counts() -> dict[str, int]:
    """How many objects of each kind are alive; all zero in other builds."""
    return dict(zip(KINDS, _counts, strict=True))
