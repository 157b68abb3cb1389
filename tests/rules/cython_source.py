"""Just enough of Cython's syntax for the rules: code without strings and comments, logical lines, imports.

Cython ships a parser, but it answers in trees that change between releases; what the rules ask shows in logical lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tellstone"
CORE = PACKAGE / "_core"

_TOKENS = re.compile(
    r"""
    \"{3} (?:\\.|[^\\])*? \"{3} | '{3} (?:\\.|[^\\])*? '{3} | \" (?:\\.|[^"\\\n])* \" | ' (?:\\.|[^'\\\n])* ' | \#[^\n]*
    """,
    re.DOTALL | re.VERBOSE,
)


@dataclass
class Line:
    """A logical line: number of its first physical line, its indentation, its text with single spaces."""

    number: int
    indent: int
    text: str


@dataclass
class Import:
    """One module named by an import or cimport statement."""

    number: int
    module: str
    names: list[str]
    cimport: bool
    lazy: bool  # inside a function: runs when that is called


def code(source: str) -> str:
    """The source with the contents of strings and comments gone and every line still in its place."""

    def blank(match: re.Match[str]) -> str:
        token = match.group()
        return "" if token[0] == "#" else token[0] + "\n" * token.count("\n") + token[0]

    return _TOKENS.sub(blank, source)


def logical_lines(source: str) -> list[Line]:
    """Statements, each on one line however many the source gives it."""
    lines: list[Line] = []
    open_brackets = 0
    continued = False
    for number, raw in enumerate(code(source).split("\n"), 1):
        text = raw.strip()
        if open_brackets or continued:
            lines[-1].text += " " + text.rstrip("\\").strip()
        elif text:
            lines.append(Line(number, len(raw) - len(raw.lstrip()), text.rstrip("\\").strip()))
        else:
            continue
        open_brackets += sum(text.count(c) for c in "([{") - sum(text.count(c) for c in ")]}")
        continued = text.endswith("\\")
    for line in lines:
        line.text = re.sub(r"\s+", " ", line.text)
    return lines


def imports(source: str, package: str) -> list[Import]:
    """Every import of a source but those for type checkers; `package` is where relative ones start."""
    found: list[Import] = []
    functions: list[int] = []  # indentation of the functions around the line
    checking: int | None = None  # indentation of an `if TYPE_CHECKING:`
    for line in logical_lines(source):
        while functions and line.indent <= functions[-1]:
            functions.pop()
        if checking is not None and line.indent <= checking:
            checking = None
        if re.match(r"if (typing\.)?TYPE_CHECKING:", line.text):
            checking = line.indent
        if checking is None:
            found += [
                Import(line.number, module, names, cimport, bool(functions))
                for module, names, cimport in _statement(line.text, package)
            ]
        if re.match(r"(async )?def |(cdef|cpdef) [^=]*\(.*:$", line.text) and line.text.endswith(":"):
            functions.append(line.indent)
    return found


def _statement(text: str, package: str) -> list[tuple[str, list[str], bool]]:
    if match := re.match(r"from (\.*)([\w.]*) (c?import) (.*)", text):
        dots, module, word, rest = match.groups()
        if dots:
            base = package.split(".")
            base = base[: len(base) - len(dots) + 1]
            module = ".".join([*base, *([module] if module else [])])
        names = [name.split(" as ")[0].strip() for name in rest.strip("() ").split(",")]
        return [(module, [name for name in names if name], word == "cimport")]
    if match := re.match(r"(c?import) (.*)", text):
        return [(name.split(" as ")[0].strip(), [], match[1] == "cimport") for name in match[2].split(",")]
    if match := re.match(r"cdef extern from (?!\*)", text):
        return []
    return []


def module_name(path: Path) -> str:
    """The dotted name of a source below the repository's root."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def core_files(*suffixes: str) -> list[Path]:
    """The core's sources of these kinds."""
    return sorted(path for path in CORE.rglob("*") if path.suffix in suffixes)


def shown(path: Path) -> str:
    """The path as a test's identifier."""
    return path.relative_to(ROOT).as_posix()
