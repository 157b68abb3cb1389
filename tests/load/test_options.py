"""The command line of `tellstone bench`: what is read, and the one line that says what is wrong."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tellstone.bench.options import OPTIONS, Options, given, parse, usage
from tellstone.cli import main
from tellstone.errors import OptionError
from tellstone.units import Address


def test_nothing_given_is_all_defaults() -> None:
    options = parse([])
    assert options == Options()
    assert (options.address, options.limit, options.loads) == (Address("127.0.0.1", 6379), 100_000, True)


def test_every_option() -> None:
    words = "--addr=unix:/s --protocol native -c 8 -n 10 -P 4 -d 1KiB --read-ratio .25 --keyspace 7 --skew 0.99"
    words += " --duration 1m30s --threads 2 --rate 1000.5 --auth me:a:b --json --verify --no-load"
    assert parse(words.split()) == Options(
        addr=Address(path="/s"),
        protocol="native",
        auth=("me", "a:b"),
        connections=8,
        requests=10,
        pipeline=4,
        value_size=1024,
        read_ratio=0.25,
        keyspace=7,
        skew=0.99,
        duration=timedelta(seconds=90),
        threads=2,
        rate=1000.5,
        json=True,
        verify=True,
        load=False,
    )


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_flag_reads_what_it_shows(option: object) -> None:
    assert option in OPTIONS
    if option.default in (None, "", ("", "")):
        return
    for flag in option.flags:
        assert getattr(parse([f"{flag}={option.row.kind.show(option.default)}"]), option.name) == option.default


@pytest.mark.parametrize(
    ("words", "value"),
    [([], True), (["--read-ratio=0"], False), (["--load", "--read-ratio=0"], True), (["--no-load"], False)],
)
def test_keys_are_written_first_where_there_are_reads(words: list[str], value: bool) -> None:
    assert parse(words).loads is value


def test_the_native_protocol_has_its_own_address() -> None:
    assert parse(["--protocol=native"]).address == Address("127.0.0.1", 9988)


def test_time_is_enough_of_an_end() -> None:
    assert parse(["--duration=1s"]).limit is None
    assert parse(["--duration=1s", "-n=5"]).limit == 5


def test_a_password_alone() -> None:
    assert parse(["--auth", "secret"]).auth == ("", "secret")


def test_no_password_in_a_report() -> None:
    assert "secret" not in str(given(parse(["--auth", "me:secret"])))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("-c 0", "-c: '0' is not a whole number from 1 to 65536"),
        ("--connections x", "--connections: 'x' is not a whole number from 1 to 65536"),
        ("-P -1", "-P: '-1' is not a whole number from 1 to 1000000"),
        ("-n", "-n needs a value: a whole number from 1 to 9223372036854775807"),
        ("-d 1x", "-d: '1x' is not a size from 1 to 512MiB"),
        ("--duration 10", "--duration: '10' is not a duration up to 24h, such as 500ms, or 0"),
        ("--duration 0", "--duration: '0' is not a time to measure in"),
        ("--read-ratio 1.5", "--read-ratio: '1.5' is not a number from 0 to 1"),
        ("--skew nan", "--skew: 'nan' is not a number from 0 to 10"),
        ("--rate 1e3", "--rate: '1e3' is not a number from 0 to 1000000000"),
        ("--keyspace 5000000000", "--keyspace: '5000000000' is not a whole number from 1 to 4294967295"),
        ("--protocol http", "--protocol: 'http' is not resp or native"),
        ("--addr 6379", "--addr: '6379' is not host:port, [ipv6]:port, :port or unix:/path"),
        ("--threads 3 -c 2", "--threads: 3 is more than there are connections, 2"),
        ("-P 1000000 -d 1MiB", "--pipeline: 1000000 requests of this --value-size are more than 1GiB"),
        ("--insecure", "--insecure needs --tls"),
        ("--tls --threads 2", "--threads: the load of --tls has one thread"),
        ("--raet 5", "unknown option --raet (did you mean --rate?)"),
        ("serve", "unexpected argument 'serve'"),
    ],
)
def test_one_line_for_a_mistake(words: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OptionError) as caught:
        parse(words.split())
    assert str(caught.value).startswith(text) and "\n" not in str(caught.value)
    assert main(["bench", *words.split()]) == 2
    assert capsys.readouterr().err.startswith(f"tellstone: {text}")


def test_bench_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--shards=1", "bench"]) == 2
    assert capsys.readouterr().err == "tellstone: bench has to come first\n"


def test_the_help_names_every_flag_and_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "-c", "0", "--help"]) == 0
    text = capsys.readouterr().out
    assert text == usage()
    assert all(f"{flag} " in text or f"{flag}," in text for option in OPTIONS for flag in option.flags)
    assert max(map(len, text.splitlines())) <= 120
