"""Documents that are made from tables, and what COMMAND DOCS says, against a real redis-server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import redis as redis_py
from servers import Server, redis_program, redis_version

from tellstone._core.command.table import rows
from tellstone.config import BY_CONFIG, FACTS, OPTIONS
from tellstone.control.syntax import ARGUMENTS, Reader, arguments_of, usage
from tellstone.differences import CHAPTERS
from tellstone.docs import DOCUMENTS

ROOT = Path(__file__).resolve().parents[2]
OURS = ("summary", "complexity")  # texts
NAMES = [row["full_name"] for row in rows()]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_that_of_its_table(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == DOCUMENTS[name](), "run `python -m tellstone.docs`"


def test_differences_speak_of_what_there_is() -> None:
    """Of commands and options that we have."""
    known = {*BY_CONFIG, *FACTS, *(option.flag for option in OPTIONS), "client-query-buffer-limit"}
    commands = {name.replace("|", " ").upper() for name in NAMES}
    for difference in (difference for table in CHAPTERS.values() for difference in table):
        for where in difference.where:
            words = where.split()
            assert where in known or words[0] in commands or " ".join(words[:2]) in commands, where


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("get", "GET key"),
        ("ping", "PING [message]"),
        ("mset", "MSET key value [key value ...]"),
        ("config|get", "CONFIG GET parameter [parameter ...]"),
        ("bitfield_ro", "BITFIELD_RO key [GET encoding offset [GET encoding offset ...]]"),
        ("sort_ro", "SORT_RO key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC|DESC] [ALPHA]"),
        ("client|reply", "CLIENT REPLY <ON|OFF|SKIP>"),
    ],
)
def test_usage(name: str, shown: str) -> None:
    assert usage(name) == shown


@pytest.mark.parametrize("line", ["a(b", "[a", "a b)", "a  b", "a(b|c", "!", ""])
def test_a_bad_line_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        Reader(line).arguments("")


def test_every_line_can_be_read() -> None:
    for name in ARGUMENTS:
        assert arguments_of(name)


def facts_of(docs: Any) -> Any:
    """What is the same in Redis's documentation and ours: of texts nothing, of history the versions."""
    if isinstance(docs, dict):
        kept = {key: facts_of(value) for key, value in docs.items() if key not in (*OURS, "subcommands")}
        return kept | {"history": sorted(item[0] for item in docs["history"])} if "history" in docs else kept
    if isinstance(docs, (set, frozenset)):
        return sorted(map(str, docs))
    return [facts_of(item) for item in docs] if isinstance(docs, list) else docs


@pytest.mark.parametrize("name", NAMES)
def test_the_documentation_of_a_command(server: Server, redis: Server, name: str) -> None:
    if redis_version(str(redis_program())) < (7, 2):
        pytest.skip("redis-server is too old")
    found = []
    for one in (redis, server):
        connection = redis_py.Connection(*one.address, protocol=3, decode_responses=True)
        connection.send_command("COMMAND", "DOCS", name)
        found.append(facts_of(connection.read_response()))
        connection.disconnect()
    assert found[1] == found[0]
