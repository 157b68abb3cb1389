"""Control commands without a server, as an embedded engine runs them, and what holds for all of them."""

from __future__ import annotations

import time

import pytest

from tellstone._core.command.table import rows
from tellstone._core.store.keyspace import Store
from tellstone.config import BY_CONFIG, BY_NAME, DATABASES, FACTS, VALUE_MAX
from tellstone.control import HANDLERS, embedded, run
from tellstone.control.context import Context
from tellstone.control.encode import OK, ErrorReply, Reply, encode
from tellstone.control.facts import DEPRECATED, HISTORY, KEY_ACCESS, KEY_NOTES, TIPS
from tellstone.control.info import DEFAULT, SECTIONS, human
from tellstone.errors import ResponseError

pytestmark = pytest.mark.core


@pytest.fixture
def context() -> Context:
    return embedded(Store(8, upkeep=False))


def call(context: Context, *words: str) -> Reply:
    """Find the handler as the command table would, and run it."""
    args = tuple(word.encode() for word in words)
    name = words[0].lower()
    deeper = f"{name}|{words[1].lower()}" if len(words) > 1 else name
    return run(context, deeper if deeper in HANDLERS else name, args)


def refusal(context: Context, *words: str) -> str:
    with pytest.raises(ResponseError) as caught:
        call(context, *words)
    return str(caught.value)


def test_handlers_are_those_the_table_leaves_to_python() -> None:
    wanted = {
        row["full_name"]
        for row in rows()
        if row["control"] and (not row["subcommands"] or row["full_name"] == "command")
    }
    assert set(HANDLERS) == wanted


def test_config_get_answers_every_name(context: Context) -> None:
    found = call(context, "CONFIG", "GET", "*")
    assert isinstance(found, dict)
    assert set(found) == {*BY_CONFIG, *FACTS}
    assert (found["databases"], found["save"], found["maxmemory-policy"]) == ("16", "", "noeviction")


def test_config_get_keeps_a_plain_name_as_it_was_written(context: Context) -> None:
    assert call(context, "CONFIG", "GET", "MaxMemory", "nosuch") == {"MaxMemory": "0"}
    assert call(context, "CONFIG", "GET", "MAXMEMOR[XY]", "maxmemory") == {"maxmemory": "0"}


def test_config_set_reaches_the_store(context: Context) -> None:
    assert call(context, "CONFIG", "SET", "maxmemory", "100mb") == OK
    assert context.store.max_memory == 100 << 20
    assert call(context, "CONFIG", "GET", "max-mem-bytes") == {"max-mem-bytes": str(100 << 20)}


def test_config_set_is_all_or_nothing(context: Context) -> None:
    assert "foo" in refusal(context, "CONFIG", "SET", "maxmemory", "1mb", "foo", "1")
    assert "argument must be" in refusal(context, "CONFIG", "SET", "maxmemory", "1mb", "appendonly", "yes")
    assert context.store.max_memory == 0


@pytest.mark.parametrize("name", ["shards", "databases", "io-threads", "cluster-enabled", "timeout"])
def test_what_cannot_change_in_an_engine(context: Context, name: str) -> None:
    assert refusal(context, "CONFIG", "SET", name, "1").endswith("- can't set immutable config")


@pytest.mark.parametrize("name", ["appendonly", "protected-mode"])
def test_a_fact_may_be_set_to_what_it_is(context: Context, name: str) -> None:
    (value,) = call(context, "CONFIG", "GET", name).values()
    assert call(context, "CONFIG", "SET", name, value.upper()) == OK
    assert refusal(context, "CONFIG", "SET", name, "allkeys-lru").endswith(f"- argument must be '{value}'")


def test_resetstat_sets_the_stores_counters_to_zero(context: Context) -> None:
    assert call(context, "CONFIG", "RESETSTAT") == OK
    assert context.store.stats()["hits"] == 0


@pytest.mark.parametrize("name", ["", "default", "all", "everything"])
def test_info_has_all_sections_in_order(context: Context, name: str) -> None:
    text = str(call(context, "INFO", *([name] if name else [])))
    titles = [line[2:].lower() for line in text.split("\r\n") if line.startswith("#")]
    assert titles == [section for section in SECTIONS if name in ("all", "everything") or section in DEFAULT]
    assert text.endswith("# Keyspace\r\n")
    for line in text.split("\r\n"):
        assert not line or line.startswith("# ") or ":" in line


def test_info_takes_several_sections_and_ignores_unknown_ones(context: Context) -> None:
    text = str(call(context, "INFO", "CPU", "server", "nosuch"))
    assert text.startswith("# Server\r\nredis_version:7.2") and "\r\n\r\n# CPU\r\nused_cpu_sys:" in text
    assert call(context, "INFO", "nosuch") == ""


def test_sizes_for_people() -> None:
    assert list(map(human, (0, 1023, 1024, 1536, 1024**2, 3 * 1024**5))) == [
        *("0B", "1023B", "1.00K", "1.50K", "1.00M", "3.00P")
    ]


def test_command_knows_every_row(context: Context) -> None:
    names = call(context, "COMMAND", "LIST")
    assert names == [row["full_name"] for row in rows()]
    top = [name for name in names if "|" not in name]
    assert call(context, "COMMAND", "COUNT") == len(top)
    assert [facts[0] for facts in call(context, "COMMAND")] == top
    assert list(call(context, "COMMAND", "DOCS")) == top
    assert call(context, "COMMAND", "INFO") == call(context, "COMMAND")


def test_command_info_has_ten_facts(context: Context) -> None:
    get, unknown, sub = call(context, "COMMAND", "INFO", "GET", "nosuch", "config|get")
    assert get[:6] == ["get", 2, ("readonly", "fast"), 1, 1, 1]
    assert get[6] == ("@read", "@string", "@fast")
    assert (get[7], get[9]) == ((), ())
    assert get[8][0]["begin_search"] == {"type": "index", "spec": {"index": 1}}
    assert unknown is None
    assert sub[0] == "config|get"


def test_command_docs_nests_subcommands(context: Context) -> None:
    docs = call(context, "COMMAND", "DOCS", "config", "nosuch")
    assert list(docs) == ["config"]
    assert docs["config"]["subcommands"]["config|get"]["since"] == "2.0.0"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["FILTERBY", "PATTERN", "*get*x"], ["getex"]),
        (["filterby", "aclcat", "STRING"], ["append"]),
        (["FILTERBY", "ACLCAT", "nosuch"], []),
        (["FILTERBY", "MODULE", "nosuch"], []),
    ],
)
def test_command_list_filters(context: Context, words: list[str], names: list[str]) -> None:
    assert call(context, "COMMAND", "LIST", *words)[:1] == names[:1]


@pytest.mark.parametrize(
    ("request_", "keys"),
    [
        (["get", "a"], [b"a"]),
        (["MSET", "a", "1", "b", "2"], [b"a", b"b"]),
        (["del", "a", "b", "c"], [b"a", b"b", b"c"]),
        (["rename", "a", "b"], [b"a", b"b"]),
        (["set", "a", "1", "EX", "1"], [b"a"]),
    ],
)
def test_getkeys(context: Context, request_: list[str], keys: list[bytes]) -> None:
    assert call(context, "COMMAND", "GETKEYS", *request_) == keys
    assert [pair[0] for pair in call(context, "COMMAND", "GETKEYSANDFLAGS", *request_)] == keys


def test_an_engine_has_no_clients(context: Context) -> None:
    assert call(context, "CLIENT", "LIST") == ""
    assert call(context, "CLIENT", "KILL", "ID", "1") == 0
    assert refusal(context, "CLIENT", "KILL", "127.0.0.1:1") == "ERR No such client"


def test_debug_sleep_needs_no_event_loop(context: Context) -> None:
    begun = time.perf_counter()
    assert call(context, "DEBUG", "SLEEP", "0.05") == OK
    assert time.perf_counter() - begun >= 0.05


@pytest.mark.parametrize("seconds", ["x", "-1", "", "nan", "0", " 0.0"])
def test_debug_sleep_reads_as_c_does(context: Context, seconds: str) -> None:
    assert call(context, "DEBUG", "SLEEP", seconds) == OK


def test_debug_switches_active_expiry(context: Context) -> None:
    assert call(context, "DEBUG", "SET-ACTIVE-EXPIRE", "0") == OK
    assert not context.store.active_expiry
    assert call(context, "DEBUG", "set-active-expire", "1") == OK
    assert context.store.active_expiry


def test_shutdown_cannot_end_an_embedded_engine(context: Context) -> None:
    assert "embedded" in refusal(context, "SHUTDOWN")


HELPFUL = ("CLIENT", "COMMAND", "CONFIG", "DEBUG", "LATENCY", "MEMORY", "MODULE", "OBJECT", "SLOWLOG")


@pytest.mark.parametrize("words", [(name, "HELP") for name in HELPFUL])
def test_help_ends_with_itself(context: Context, words: tuple[str, ...]) -> None:
    lines = call(context, *words)
    assert lines[0] == f"{words[0]} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    assert lines[-2:] == ["HELP", "    Print this help."]


# What handlers that are called without their gates need not to fail over a missing argument.
ARGUMENTS = {
    **dict.fromkeys(("command|getkeys", "command|getkeysandflags"), ("get", "k")),
    **dict.fromkeys(("latency|graph", "latency|history"), ("command",)),
    **dict.fromkeys(("replicaof", "slaveof"), ("no", "one")),
    **dict.fromkeys(("client|pause", "client|unblock"), ("1",)),
    **dict.fromkeys(("client|caching", "client|tracking"), ("off",)),
    "client|kill": ["ID", "1"],
    "config|get": ["*"],
    "config|set": ["maxmemory", "0"],
    "debug": ["help"],
    "psync": ["?", "-1"],
    "wait": ["0", "0"],
    "waitaof": ["0", "0", "0"],
}


@pytest.mark.parametrize("name", sorted(HANDLERS))
@pytest.mark.parametrize("proto", [2, 3])
def test_every_reply_can_be_encoded(context: Context, name: str, proto: int) -> None:
    args = [*name.split("|"), *ARGUMENTS.get(name, [])]
    try:
        reply = call(context, *args)
    except ResponseError as error:
        reply = ErrorReply(error)
    assert encode(reply, proto)


def test_the_options_know_the_stores_limits() -> None:
    store = Store(1)
    assert (len(store.sizes()), store.max_value) == (DATABASES, VALUE_MAX)
    for name, argument in (("shards", "shards"), ("evict_slots", "evict_slots")):
        kind = BY_NAME[name].row.kind
        for value in (max(kind.low, 1), kind.high):
            Store(**{"shards": 1, argument: value}, upkeep=False)
        with pytest.raises(ValueError):
            Store(**{"shards": 1, argument: kind.high + 1}, upkeep=False)


def test_every_command_with_keys_says_what_it_does_to_them() -> None:
    assert set(KEY_ACCESS) == {row["full_name"] for row in rows() if row["first_key"]}
    names = {row["full_name"] for row in rows()}
    assert {*TIPS, *KEY_NOTES, *DEPRECATED} <= names
    assert {name for name in HISTORY if not name.startswith("client|")} <= names
