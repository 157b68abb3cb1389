"""CLIENT about other clients, and MONITOR, as sequences that a real redis-server and ours must answer alike.

What needs a second client, shows addresses and times, or is only so since Redis 7.2, is in test_client.py.
"""

from __future__ import annotations

from typing import TypeAlias

Arg: TypeAlias = "bytes | str | int"
Request: TypeAlias = tuple[Arg, ...]
Case: TypeAlias = tuple[str, list[Request]]

NOT_INTEGERS: list[Arg] = ["", "x", "1.0", " 1", "1 ", "+1", "01", "-0", b"1\x00", 2**63, -(2**63) - 1]
NOBODY = 10**15  # no client has this number
NOWHERE = "127.0.0.1:1"
TYPES: list[Arg] = ["normal", "NORMAL", "master", "replica", "Slave", "pubsub", b"normal\x00x"]
BAD_TYPES: list[Arg] = ["", "norma", "normal ", "monitor", "a\r\nb", b"x\x00y"]
SWITCHES: list[Arg] = ["on", "ON", "off", "Off", "", "x", b"on\x00x"]

# How many arguments commands take beside their names; every other number is an error.
ARITY = {
    ("CLIENT", "CACHING"): {1},
    ("CLIENT", "GETREDIR"): {0},
    ("CLIENT", "HELP"): {0},
    ("CLIENT", "KILL"): set(range(1, 6)),
    ("CLIENT", "PAUSE"): set(range(1, 3)),
    ("CLIENT", "TRACKING"): set(range(1, 6)),
    ("CLIENT", "TRACKINGINFO"): {0},
    ("CLIENT", "UNBLOCK"): set(range(1, 3)),
    ("CLIENT", "UNPAUSE"): {0},
    ("MONITOR",): {0},
}


def _arity() -> list[Case]:
    return [
        (f"client arity {' '.join(words)}", [(*words, *("x" * n)) for n in range(6) if n not in allowed])
        for words, allowed in ARITY.items()
    ]


def _kill() -> list[Case]:
    kill = ("CLIENT", "KILL")
    return [
        (
            "CLIENT KILL an address",
            [(*kill, NOWHERE), (*kill, ""), (*kill, "x"), (*kill, "id"), (*kill, b"\x00"), ("client", "kill", NOWHERE)],
        ),
        ("CLIENT KILL ID", [(*kill, "ID", number) for number in (NOBODY, 2**63 - 1, 0, -1, *NOT_INTEGERS)]),
        ("CLIENT KILL TYPE", [(*kill, "type", name) for name in ("master", "slave", "Replica", "pubsub")]),
        ("CLIENT KILL TYPE unknown", [(*kill, "TYPE", name) for name in BAD_TYPES]),
        (
            "CLIENT KILL USER",
            [
                (*kill, "USER", name, "ID", NOBODY)
                for name in ("default", "Default", "", "nobody", b"default\x00", b"a\x00b")
            ],
        ),
        ("CLIENT KILL ADDR", [(*kill, "ADDR", NOWHERE), (*kill, "addr", ""), (*kill, "LADDR", NOWHERE)]),
        (
            "CLIENT KILL SKIPME",
            [(*kill, "SKIPME", word, "ID", NOBODY) for word in ("yes", "NO", "No", "", "maybe", b"no\x00x")],
        ),
        (
            "CLIENT KILL several filters",
            [
                (*kill, "ID", NOBODY, "ADDR", NOWHERE, "LADDR", NOWHERE, "USER", "default", "TYPE", "normal"),
                (*kill, "ID", NOBODY, "ID", NOBODY + 1),
                (*kill, "TYPE", "pubsub", "SKIPME", "no"),
                (*kill, "TYPE", "normal", "TYPE", "pubsub", "SKIPME", "no"),
                (*kill, "SKIPME", "no", "SKIPME", "yes", "ADDR", NOWHERE),
            ],
        ),
        (
            "CLIENT KILL the first error counts",
            [
                (*kill, "ID", "x", "ADDR"),
                (*kill, "ADDR", NOWHERE, "ID"),
                (*kill, "TYPE", "x", "ID", "y"),
                (*kill, "NOSUCH", "x", "ID", "y"),
                (*kill, "SKIPME", "x", "USER", "nobody"),
                (*kill, "USER", "nobody", "SKIPME", "x"),
                (*kill, "ID", 1, "MAXAGE", 10),
                (*kill, "MAXAGE", 10),
                (*kill, b"ID\x00x", "y"),
                (*kill, "a", "b", "c"),
            ],
        ),
    ]


def _list() -> list[Case]:
    listing = ("CLIENT", "LIST")
    return [
        (
            "CLIENT LIST nobody",
            [
                (*listing, "ID", NOBODY),
                (*listing, "id", NOBODY, NOBODY + 1, -1, 0),
                (*listing, "TYPE", "master"),
                (*listing, "type", "replica"),
                (*listing, "TYPE", "slave"),
                (*listing, "TYPE", "PubSub"),
                (*listing, "TYPE", b"pubsub\x00x"),
            ],
        ),
        ("CLIENT LIST bad ids", [(*listing, "ID", NOBODY, number) for number in NOT_INTEGERS]),
        ("CLIENT LIST bad types", [(*listing, "TYPE", name) for name in BAD_TYPES]),
        (
            "CLIENT LIST bad words",
            [
                (*listing, "TYPE"),
                (*listing, "ID"),
                (*listing, "x"),
                (*listing, "TYPE", "pubsub", "TYPE", "pubsub"),
                (*listing, "USER", "default"),
                (*listing, ""),
            ],
        ),
    ]


def _pause() -> list[Case]:
    pause = ("CLIENT", "PAUSE")
    return [
        ("CLIENT PAUSE times", [(*pause, time) for time in (-1, *NOT_INTEGERS)]),
        ("CLIENT PAUSE modes", [(*pause, 0, mode) for mode in ("all", "WRITE", "Write", "", "read", b"all\x00x")]),
        ("CLIENT PAUSE mode before time", [(*pause, "x", "y"), (*pause, -1, "read"), (*pause, "x", "all")]),
        (
            "CLIENT PAUSE",
            [
                (*pause, 0),
                ("SET", "k", "v"),
                (*pause, 20),
                ("GET", "k"),
                (*pause, 20, "WRITE"),
                ("GET", "k"),
                ("SET", "k", "w"),
                ("GET", "k"),
                (*pause, 30, "ALL"),
                ("CLIENT", "UNPAUSE"),  # is held back as everything else
                ("client", "unpause"),
            ],
        ),
        (
            "CLIENT PAUSE lets errors through",
            [
                (*pause, 10000, "WRITE"),
                ("NOSUCH",),
                ("SET", "k"),
                ("GET", "k"),
                ("PING",),
                ("CLIENT", "UNPAUSE"),
                ("SET", "k", "v"),
            ],
        ),
    ]


def _unblock() -> list[Case]:
    unblock = ("CLIENT", "UNBLOCK")
    return [
        ("CLIENT UNBLOCK nobody", [(*unblock, NOBODY), (*unblock, 0), (*unblock, -1), (*unblock, NOBODY, "timeout")]),
        ("CLIENT UNBLOCK ids", [(*unblock, number) for number in NOT_INTEGERS]),
        (
            "CLIENT UNBLOCK reasons",
            [(*unblock, NOBODY, word) for word in ("TIMEOUT", "error", "", "x", b"error\x00x")]
            + [(*unblock, "x", "y")],
        ),
    ]


def _tracking() -> list[Case]:
    tracking = ("CLIENT", "TRACKING")
    return [
        ("CLIENT without tracking", [("CLIENT", "GETREDIR"), ("CLIENT", "TRACKINGINFO"), ("client", "getredir")]),
        ("CLIENT CACHING", [("CLIENT", "CACHING", word) for word in ("yes", "NO", "", "x")]),
        (
            "CLIENT TRACKING OFF",
            [
                (*tracking, "off"),
                (*tracking, "OFF", "BCAST", "NOLOOP"),
                (*tracking, b"off\x00x"),
                ("CLIENT", "TRACKINGINFO"),
            ],
        ),
        (
            "CLIENT TRACKING refused",
            [
                (*tracking, "x"),
                (*tracking, ""),
                (*tracking, "on", "x"),
                (*tracking, "off", "REDIRECT"),
                (*tracking, "on", "PREFIX"),
                (*tracking, "on", "REDIRECT", "x"),
                (*tracking, "on", "REDIRECT", NOBODY),
                (*tracking, "off", "REDIRECT", 0),
                (*tracking, "x", "REDIRECT", -1),
                (*tracking, "x", "BCAST", "y"),
            ],
        ),
    ]


def _monitor() -> list[Case]:
    """A monitor's own lines hold its address; those of commands that are not shown do not."""
    return [
        (
            "MONITOR",
            [
                ("MONITOR",),
                ("GET", "k"),
                ("SET", "k", "v"),
                ("DEL", "k"),
                ("NOSUCH",),
                ("GET",),
                ("MONITOR", "x"),
                ("CLIENT", "NO-EVICT", "on"),
                ("RESET",),
                ("GET", "k"),
                ("MONITOR",),
                ("RESET",),
            ],
        )
    ]


CASES: list[Case] = [
    *_arity(),
    *_kill(),
    *_list(),
    *_pause(),
    *_unblock(),
    *_tracking(),
    *_monitor(),
]
