"""Command lines and variables: what is read, what wins, and the one line that says what is wrong."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tellstone.cli.arguments import parse
from tellstone.cli.usage import usage
from tellstone.config import BY_CONFIG, BY_ENV, BY_FLAG, FACTS, OPTIONS, Options, config_value
from tellstone.errors import OptionError
from tellstone.units import Address


def complaint(words: list[str], environ: dict[str, str] | None = None) -> str:
    with pytest.raises(OptionError) as caught:
        parse(words, environ or {})
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_nothing_given_is_all_defaults() -> None:
    assert parse([], {}).options == parse(["serve"], {}).options == Options()


def test_the_defaults_that_are_promised() -> None:
    options = Options()
    assert options.resp_addr == Address("127.0.0.1", 6379)
    assert (options.max_msg_size, options.max_clients, options.evict_slots) == (16 << 20, 10_000, 256)
    assert (options.evict_interval, options.shutdown_timeout) == (timedelta(seconds=1), timedelta(seconds=10))


def test_flag_before_variable_before_default() -> None:
    environ = {"TSD_NUM_SHARDS": "64", "TSD_MAX_CLIENTS": "7", "TSD_ENABLE_RESP": "true"}
    options = parse(["--shards", "32", "--enable-resp=false"], environ).options
    assert (options.shards, options.max_clients, options.enable_resp) == (32, 7, False)
    assert options.evict_slots == Options().evict_slots


def test_the_last_of_two_flags_wins() -> None:
    assert parse(["--shards=1", "--shards=2"], {}).options.shards == 2


@pytest.mark.parametrize(
    "words", [["--resp-addr", "unix:/x", "serve"], ["serve", "--resp-addr=unix:/x"], ["--resp-addr=unix:/x"]]
)
def test_a_flag_in_either_form_and_place(words: list[str]) -> None:
    assert parse(words, {}).options.resp_addr == Address(path="/x")


def test_an_empty_variable_counts_as_not_set() -> None:
    assert parse([], {"TSD_NUM_SHARDS": ""}).options == Options()


# But for the file of options, which would have to be there.
@pytest.mark.parametrize(
    "option", [option for option in OPTIONS if option.flag not in ("", "--config")], ids=lambda option: option.name
)
def test_every_option_reads_its_own_default(option: object) -> None:
    assert option in OPTIONS
    shown = option.row.kind.show(option.default)
    assert getattr(parse([f"{option.flag}={shown}"], {}).options, option.name) == option.default
    assert getattr(parse([], {option.env: shown}).options, option.name) == option.default


@pytest.mark.parametrize(
    ("words", "environ", "text"),
    [
        (["--shards=x"], {}, "--shards: 'x' is not a whole number from 0 to 1024"),
        (["--shards", "1025"], {}, "--shards: '1025' is not a whole number from 0 to 1024"),
        ([], {"TSD_NUM_SHARDS": "many"}, "TSD_NUM_SHARDS: 'many' is not a whole number from 0 to 1024"),
        (["--max-msg-size=1GiB"], {}, "--max-msg-size: '1GiB' is not a size from 1KiB to 512MiB"),
        (["--max-mem-bytes=x"], {}, "--max-mem-bytes: 'x' is not a size such as 512MiB or 4GiB"),
        (
            ["--evict-interval=2h"],
            {},
            "--evict-interval: '2h' is not a duration up to 1h, such as 500ms, or 0",
        ),
        (["--timeout=9ms"], {}, "--timeout: '9ms' is not a duration of whole seconds, such as 1m30s, or 0"),
        (["--log-level=loud"], {}, "--log-level: 'loud' is not debug, info, warning or error"),
        (["--log-format=xml"], {}, "--log-format: 'xml' is not text or json"),
        (["--enable-resp=maybe"], {}, "--enable-resp: 'maybe' is not true or false"),
        (["--resp-addr=6379"], {}, "--resp-addr: '6379' is not host:port, [ipv6]:port, :port or unix:/path"),
        (["--shards"], {}, "--shards needs a value: a whole number from 0 to 1024"),
        (["--shards", "--enable-resp"], {}, "--shards needs a value: a whole number from 0 to 1024"),
        (["--shard=4"], {}, "unknown option --shard (did you mean --shards?)"),
        (["--frobnicate"], {}, "unknown option --frobnicate"),
        (["-x"], {}, "unknown option -x"),
        (["--client-output-buffer-limit=x"], {}, "unknown option --client-output-buffer-limit"),
        (["sevre"], {}, "unknown command 'sevre' (did you mean serve?)"),
        (["serve", "serve"], {}, "unexpected argument 'serve'"),
    ],
)
def test_one_line_for_a_mistake(words: list[str], environ: dict[str, str], text: str) -> None:
    assert complaint(words, environ).startswith(text)


def test_a_variable_of_no_option_is_a_warning() -> None:
    warnings = parse([], {"TSD_SHARDS": "4", "TSD_NUM_SHARDS": "4", "PATH": "x"}).warnings
    assert warnings == ["unknown variable TSD_SHARDS (did you mean TSD_NUM_SHARDS?)"]


@pytest.mark.parametrize(
    ("words", "command"),
    [(["--help"], "--help"), (["-h"], "--help"), (["serve", "--shards=x", "--version"], "--version")],
)
def test_help_and_version_come_before_anything_else(words: list[str], command: str) -> None:
    assert parse(words, {"TSD_NUM_SHARDS": "x"}).command == command


def test_the_help_names_every_option_and_fits_a_terminal() -> None:
    text = usage()
    for option in OPTIONS:
        assert (f"{option.flag} " in text and option.env in text) or option.row.config_only
    assert max(map(len, text.splitlines())) <= 120


def test_names_are_used_once() -> None:
    names = [name for option in OPTIONS for name in (option.dashed, *option.row.aliases)] + list(FACTS)
    assert len(names) == len(set(names))
    assert len(BY_FLAG) == len(BY_ENV) == sum(not option.row.config_only for option in OPTIONS)


def test_every_name_of_config_has_a_value() -> None:
    for entry in {**BY_CONFIG, **FACTS}.values():
        assert isinstance(config_value(entry, Options()), str)
