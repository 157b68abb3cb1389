"""Random sequences of commands against a real redis-server: same requests, same bytes."""

from __future__ import annotations

import pytest
from budget import examples
from commands.comparing import Talk, differences
from commands.requests import BITS, CONNECTION, EVERYTHING, KEYSPACE, STRINGS, Args, sequences
from hypothesis import given
from hypothesis import strategies as st
from servers import Server

# Between two commands the clock moves on by a millisecond on one server and not on the other, and EXPIRE ... GT answers
# differently. A difference counts if it shows every time.
TRIES = 3

TABLES = {
    "strings": STRINGS,
    "bits": BITS | {name: STRINGS[name] for name in ("set", "get", "append", "setrange", "incr")},
    "keys": KEYSPACE | {name: STRINGS[name] for name in ("set", "mset", "get", "getex", "append", "incr")},
    "connection": CONNECTION,
    "everything": EVERYTHING,
}


@pytest.mark.parametrize("proto", [2, 3], ids=["resp2", "resp3"])
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_sequences(table: dict[str, Args], proto: int, server: Server, redis: Server) -> None:
    @examples(250)
    @given(sequences(table), st.sampled_from(["all at once", "one by one"]))
    def agree(requests: list[list[bytes]], delivery: str) -> None:
        talk = Talk(proto, delivery)
        for _ in range(TRIES):
            found = differences(requests, talk.run(server, requests), talk.run(redis, requests))
            if not found:
                return
            assert not server.died(), "\n".join(found)
        pytest.fail("\n".join(found))

    agree()
