"""The tables of cases, against a real redis-server: same requests, same bytes.

A case is a name and a list of requests. Each runs on a fresh connection after FLUSHALL, in RESP2 and RESP3, with the
requests sent one at a time, all at once, and byte by byte; and in frames of the native protocol, which answers as in
RESP3. The name of a case begins with "unordered" if the order within its replies is no promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from commands import (
    cases_bits,
    cases_client,
    cases_connection,
    cases_keys,
    cases_object,
    cases_serial,
    cases_server,
    cases_strings,
)
from commands.comparing import DELIVERIES, Request, Talk, differences, framed
from frames import Door, door
from servers import Server, redis_program, redis_version

# Where Redis 7.2, which we follow, and its predecessors differ.
VERSIONS: list[tuple[str, list[Request]]] = [
    ("HELLO reads its options before it checks the user", [("HELLO", 3, "AUTH", "nobody", "x", "NOSUCH")]),
    ("HELLO that fails sets no name", [("HELLO", 3, "SETNAME", "a", "NOSUCH"), ("CLIENT", "GETNAME")]),
    ("WAIT past the end of time", [("WAIT", 0, 2**63 - 1)]),
]
TABLES: dict[str, Sequence[tuple[str, Sequence[Request]]]] = {
    "strings": cases_strings.CASES,
    "bits": cases_bits.CASES,
    "keys": cases_keys.CASES,
    "connection": cases_connection.CASES,
    "client": cases_client.CASES,
    "object": cases_object.CASES,
    "serial": cases_serial.CASES,
    "server": cases_server.CASES,
    "versions": VERSIONS,
}
CASES = [pytest.param(*case, id=f"{table}: {case[0]}") for table, cases in TABLES.items() for case in cases]


@dataclass(frozen=True)
class Difference:
    """Where Redis before 7.2 answers otherwise: the index of the request in its case, and 7.2's reply (ours)."""

    reason: str
    step: int
    resp2: bytes
    resp3: bytes | None = None  # None: the same

    def expected(self, proto: int) -> bytes:
        return self.resp3 if proto == 3 and self.resp3 is not None else self.resp2


KNOWN_DIFFERENCES: dict[str, list[Difference]] = {
    "HELLO reads its options before it checks the user": [
        Difference("the user came first", 0, b"-ERR Syntax error in HELLO option 'NOSUCH'\r\n")
    ],
    "WAIT past the end of time": [Difference("nobody looked at the sum", 0, b"-ERR timeout is out of range\r\n")],
    "HELLO that fails sets no name": [Difference("the name was set when it was read", 1, b"$-1\r\n", b"_\r\n")],
}


def test_names_are_unique_and_known() -> None:
    names = [name for cases in TABLES.values() for name, _ in cases]
    assert sorted(set(names)) == sorted(names)
    assert set(KNOWN_DIFFERENCES) <= set(names)


@pytest.fixture
def native(server: Server) -> Door:
    return door(server)


@pytest.mark.parametrize("proto", [2, 3], ids=["resp2", "resp3"])
@pytest.mark.parametrize(("name", "requests"), CASES)
def test_case(name: str, requests: Sequence[Request], proto: int, server: Server, native: Door, redis: Server) -> None:
    theirs = Talk(proto).run(redis, requests)
    if redis_version(redis_program() or "") < (7, 2):
        for known in KNOWN_DIFFERENCES.get(name, []):
            assert theirs[known.step] != known.expected(proto), f"no difference: {known.reason}"
            theirs[known.step] = known.expected(proto)
    unordered = name.startswith("unordered")
    for delivery in DELIVERIES:
        ours = Talk(proto, delivery).run(server, requests)
        found = differences(requests, ours, theirs, unordered)
        assert not found, "\n".join([f"requests sent {delivery}:", *found])
    if proto == 3:
        requests = framed(requests)
        for delivery in DELIVERIES[1:]:
            ours = Talk(proto, delivery).run_in_frames(native, requests)
            found = differences(requests, ours, theirs[: len(requests)], unordered)
            assert not found, "\n".join([f"requests in frames sent {delivery}:", *found])
