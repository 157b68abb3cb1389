"""The configuration file: how it is read, what is said of mistakes, how it is rewritten."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from shell.started import Started

from tellstone import configfile
from tellstone.cli.arguments import parse
from tellstone.config import BY_NAME, Options
from tellstone.errors import OptionError

FILE = """\
# what we run
timeout: 30s   # seconds

max-mem-bytes: "64MiB"
enable-resp: yes
resp-addr: '[::1]:6379'
client-output-buffer-limit: normal 1mb 1mb 10
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tellstone.yaml"
    path.write_text(FILE)
    return path


def values(**changed: Any) -> dict[str, Any]:
    return vars(Options()) | changed


def test_values_are_read_as_on_a_command_line(file: Path) -> None:
    found = configfile.read(str(file))
    assert list(found) == ["timeout", "max_mem_bytes", "enable_resp", "resp_addr", "client_output_buffer_limit"]
    assert (found["max_mem_bytes"], found["enable_resp"], str(found["resp_addr"])) == (64 << 20, True, "[::1]:6379")


def test_an_empty_file_sets_nothing(file: Path) -> None:
    for text in ("", "# nothing\n", "---\n"):
        file.write_text(text)
        assert configfile.read(str(file)) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("timeout: soon", ":1: timeout: 'soon' is not a duration of whole seconds, such as 1m30s, or 0"),
        ("# none\n\ntimeout:", ":3: timeout: '' is not a duration"),
        ("\ntimeot: 1s", ":2: unknown option timeot (did you mean timeout?)"),
        ("config: x", ":1: unknown option config"),
        ("shards: [1]", ":1: shards: a list or mapping is not a whole number from 0 to 1024"),
        ("timeout: 1s\ntimeout: 2s", ":2: timeout is there twice"),
        ("[1]: 2", ":1: unknown option ?"),
        ("\n- timeout", ":2: expected lines of the form `option: value`"),
        ("timeout", ":1: expected lines of the form `option: value`"),
        ("---\ntimeout: 1s\n---\ntimeout: 1s\n", ":3: not YAML: but found another document"),
        ("timeout: '1s", ":1: not YAML: found unexpected end of stream"),
        ("timeout:\t1s", ":1: not YAML: found character '\\t' that cannot start any token"),
        ("timeout: *a", ":1: not YAML: found undefined alias 'a'"),
        ("timeout: &a 1s\ntcp-keepalive: *a", ":2: tcp-keepalive: write the value itself, an alias is not understood"),
        ("x: " + "[" * 1000, ": lists or mappings lie too deep in one another"),
        ("shards: {a: 1}", ":1: shards: a list or mapping is not a whole number from 0 to 1024"),
        ("shards: many", ":1: shards: 'many' is not a whole number from 0 to 1024"),
        ("timeout: 1s\r\nshards: 1025\r\n", ":2: shards: '1025' is not a whole number from 0 to 1024"),
        ("enable-resp: maybe", ":1: enable-resp: 'maybe' is not true or false"),
        ("max_clients: 4", ":1: unknown option max_clients (did you mean max-clients?)"),
        ("--timeout: 4s", ":1: unknown option --timeout (did you mean timeout?)"),
        ('"\\e[31m\\n": 1', r":1: unknown option '\x1b[31m\n'"),
        ("<<: {timeout: 1s}", ":1: unknown option <<"),
        ("? [timeout]\n: 1s", ":1: unknown option ?"),
        ("a: b: c", ":1: not YAML: mapping values are not allowed here"),
        ("\na: \x01", ":2: not YAML: special characters are not allowed"),
        ("client-output-buffer-limit: normal 1", ":1: client-output-buffer-limit: 'normal 1' is not <class>"),
    ],
)
def test_a_mistake_is_one_line(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    with pytest.raises(OptionError) as caught:
        configfile.read(str(file))
    assert str(caught.value).startswith(f"{file}{said}") and "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="No such file or directory"):
        configfile.read(str(tmp_path / "none"))
    (tmp_path / "latin").write_bytes(b"a: 1\n\n\xff")
    with pytest.raises(OptionError, match="latin:3: the file is not UTF-8"):
        configfile.read(str(tmp_path / "latin"))
    with pytest.raises(OptionError, match=r": Is a directory$"):
        configfile.read(str(tmp_path))
    with pytest.raises(OptionError, match=r"latin/x: Not a directory$"):
        configfile.read(str(tmp_path / "latin" / "x"))


def test_a_file_that_may_not_be_read(file: Path) -> None:
    file.chmod(0)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        with pytest.raises(OptionError, match=r": Permission denied$"):
            configfile.read(str(file))
    finally:
        if root:
            os.seteuid(0)


def test_flags_win_over_variables_and_these_over_the_file(file: Path) -> None:
    file.write_text("timeout: 1s\nmax-clients: 1\nshards: 1\n")
    words, environ = ["--timeout", "3s", "--config", str(file)], {"TSD_TIMEOUT": "2s", "TSD_MAX_CLIENTS": "2"}
    options = parse(words, environ).options
    assert (options.timeout.seconds, options.max_clients, options.shards) == (3, 2, 1)
    assert parse([], {"TSD_CONFIG": str(file)}).options.shards == 1


def test_a_rewrite_changes_what_has_changed_and_nothing_else(file: Path) -> None:
    options = values(**configfile.read(str(file)))
    assert configfile.rewritten(str(file), FILE, options) == FILE
    changed = options | {"max_mem_bytes": 100, "slowlog_max_len": 5, "timeout": BY_NAME["timeout"].default}
    assert configfile.rewritten(str(file), FILE, changed) == (
        FILE.replace("30s", "0").replace('"64MiB"', "100") + "slowlog-max-len: 5\n"
    )


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("timeout: |-\n  3s\nshards: 2\n", "timeout: 50s\nshards: 2\n"),
        ("timeout: >-\n  3s", "timeout: 50s"),
        ("timeout: &a !!str '3s' # why\n", "timeout: 50s # why\n"),
        ("timeout:\n  3s\n", "timeout:\n  50s\n"),
        ("? timeout\n: 3s\n", "? timeout\n: 50s\n"),
        ("\ufefftimeout: 3s\r\nshards: 2\r\n", "\ufefftimeout: 50s\r\nshards: 2\r\n"),
        ("{timeout: 3s, shards: 2}", "{timeout: 50s, shards: 2}"),
    ],
)
def test_a_rewrite_of_other_forms(file: Path, text: str, after: str) -> None:
    file.write_bytes(text.encode())
    options = values(**configfile.read(str(file))) | {"timeout": timedelta(seconds=50)}
    assert configfile.rewritten(str(file), text, options) == after


@pytest.mark.parametrize("text", ["{timeout: 3s}\n", "---\ntimeout: 3s\n...\n"])
def test_a_rewrite_that_would_break_the_file(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(OptionError, match="this form of YAML cannot be rewritten"):
        configfile.rewrite(str(file), values(**configfile.read(str(file)), shards=3))
    assert file.read_text() == text


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "config"])
def test_every_value_comes_back(tmp_path: Path, name: str) -> None:
    path, option = tmp_path / "f", BY_NAME[name]
    path.write_text(f"{option.dashed}: {configfile.scalar(option.to_text(option.default))}\n")
    assert configfile.read(str(path)) == {name: option.default}


def test_a_rewrite_keeps_mode_link_and_file(file: Path, tmp_path: Path) -> None:
    file.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(file)
    configfile.rewrite(str(link), values(**configfile.read(str(file)), shards=3))
    assert link.is_symlink() and file.stat().st_mode & 0o777 == 0o640
    assert file.read_text() == FILE + "shards: 3\n"
    assert sorted(os.listdir(tmp_path)) == ["link", "tellstone.yaml"]
    file.write_text("nosuch: 1\n")
    with pytest.raises(OptionError):
        configfile.rewrite(str(file), values())
    assert file.read_text() == "nosuch: 1\n"


def test_a_running_server_rewrites_its_file(start: Callable[..., Started], file: Path) -> None:
    file.write_text("# ours\nresp-addr: 127.0.0.1:0 # any\nenable-resp: yes\naddr: 127.0.0.1:0\n")
    with start("--config", str(file), "--timeout", "9s").connect() as wire:
        assert wire.call("CONFIG", "GET", "timeout").endswith(b"$1\r\n9\r\n")
        assert wire.call("CONFIG", "SET", "maxmemory", "64mb", "slowlog-log-slower-than", -1) == b"+OK\r\n"
        assert wire.call("CONFIG", "REWRITE") == b"+OK\r\n"
        assert f"config_file:{file}\r\n".encode() in wire.call("INFO", "server")
        text = file.read_text()
        assert text == (
            "# ours\nresp-addr: 127.0.0.1:0 # any\nenable-resp: yes\naddr: 127.0.0.1:0\ntimeout: 9s\n"
            "max-mem-bytes: 64MiB\nslowlog-log-slower-than: -1\n"
        )
        file.write_text("nosuch: 1\n")
        assert wire.call("CONFIG", "REWRITE").startswith(b"-ERR Rewriting config file: ")
        file.unlink()
        assert wire.call("CONFIG", "REWRITE").startswith(b"-ERR Rewriting config file: ")


def test_a_mistake_ends_the_start(start: Callable[..., Started], file: Path) -> None:
    file.write_text("timeout: soon\n")
    one = start("--config", str(file))
    assert one.end() == 2
    assert one.lines == [
        f"tellstone: {file}:1: timeout: 'soon' is not a duration of whole seconds, such as 1m30s, or 0"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("timeout: 1s\n\ttimeout: 2s\n", ":2: not YAML: "),
        ("\ntimeot: 1s\n", ":2: unknown option timeot"),
        ("timeout: 1s\ntimeout: 2s\n", ":2: timeout is there twice"),
        (None, ": Is a directory"),
    ],
)
def test_every_kind_of_mistake_ends_the_start(
    start: Callable[..., Started], tmp_path: Path, text: str | None, said: str
) -> None:
    path = tmp_path if text is None else tmp_path / "f"
    if text is not None:
        path.write_text(text)
    one = start("--config", str(path), "--enable-resp")
    assert one.end() == 2
    assert len(one.lines) == 1 and one.lines[0].startswith(f"tellstone: {path}{said}")
