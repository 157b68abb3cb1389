"""The README says what is so."""

from __future__ import annotations

from pathlib import Path

from tellstone.config import markdown_table

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def test_its_table_of_options_is_that_of_the_program() -> None:
    assert markdown_table() in README, "write the output of `python -m tellstone.config` into README.md"


def test_it_names_the_two_commands() -> None:
    assert "pip install . && tellstone --enable-resp" in README
    assert "pip install -e '.[dev]' && pytest" in README
