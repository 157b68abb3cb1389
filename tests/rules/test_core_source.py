"""The GIL, exceptions and stamps in the core's sources.

A reactor thread must never take the GIL. Cython takes it silently around a call whose declaration leaves open whether
an exception may be pending, so every declaration that another module sees says which it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rules.cython_source import core_files, logical_lines, shown

NOT_A_FUNCTION = r"(?!class |extern |struct |enum |union |packed |public |api |cppclass )"
FUNCTION = re.compile(rf"^cp?def {NOT_A_FUNCTION}([^=(]*?)(\w+) ?\((.*)\)(.*)$")
POINTER = re.compile(r"^(?:ctypedef )?([\w ]+[ *]+)\( ?\*+ ?(\w+) ?\)\s*\((.*)\)(.*)$")
PYTHON_TYPES = {"object", "type", "bytes", "bytearray", "memoryview", "str", "list", "tuple", "dict", "set"}


def python_types(texts: list[str]) -> set[str]:
    """Builtin types, and every extension type that one of the sources declares."""
    return PYTHON_TYPES | {m for text in texts for m in re.findall(r"^cdef class (\w+)", text, re.M)}


def declaration_faults(source: str, python: set[str]) -> list[str]:
    """What is wrong with the C functions and function pointers that a .pxd declares.

    An extern declaration is C and cannot raise; a function that returns a Python object says so by returning NULL.
    """
    faults = []
    extern: int | None = None
    for line in logical_lines(source):
        if extern is not None and line.indent <= extern:
            extern = None
        if line.text.startswith("cdef extern "):
            extern = line.indent
        if extern is not None:
            continue
        match = FUNCTION.match(line.text) or POINTER.match(line.text)
        if not match:
            continue
        returns, name, arguments, after = match.groups()
        returned = re.sub(r"\b(inline|cdef|const)\b", "", returns).strip() or "object"
        if returned in python:
            continue
        after = after.split("#")[0].strip(" :")
        touches_python = bool({*re.findall(r"\w+", arguments)} & (python | {"self"}))
        if not re.search(r"\bnoexcept\b|\bexcept\b", after):
            faults.append(f"line {line.number}: {name} has no exception specification")
        elif re.search(r"\bexcept ?\*", after) and "nogil" in after:
            faults.append(f"line {line.number}: {name} is nogil, and `except *` takes the GIL after every call")
        elif "noexcept" in after and "nogil" not in after and not touches_python:
            faults.append(f"line {line.number}: {name} touches no Python object and is not nogil")
    return faults


def gil_faults(source: str) -> list[str]:
    return [
        f"line {line.number}: {line.text}" for line in logical_lines(source) if re.search(r"\bwith gil\b", line.text)
    ]


def include_faults(source: str) -> list[str]:
    return [f"line {line.number}" for line in logical_lines(source) if re.match(r"include ?['\"]", line.text)]


def directive_faults(source: str) -> list[str]:
    """Directives come from setup.py only: one `# cython:` line left in a source can cost more than all else it does."""
    return [
        f"line {n}: {text}"
        for n, text in enumerate(source.split("\n"), 1)
        if re.match(r"#\s*(cython|distutils)\s*:", text)
    ]


def stamp_faults(source: str) -> list[str]:
    lines = [line.text for line in logical_lines(source) if line.indent == 0]
    wanted = ["from tellstone._core.base.stamp cimport check_layout", "check_layout(__name__)"]
    return [line for line in wanted if line not in lines]


def verdict(check: Callable[[str], list[str]], *suffixes: str) -> dict[str, list[str]]:
    return {shown(path): faults for path in core_files(*suffixes) if (faults := check(path.read_text()))}


def test_no_thread_of_ours_takes_the_gil() -> None:
    assert verdict(gil_faults, ".pyx", ".pxd") == {}


def test_nothing_is_joined_by_include() -> None:
    assert verdict(include_faults, ".pyx", ".pxd") == {}


def test_directives_come_from_setup_py() -> None:
    assert verdict(directive_faults, ".pyx", ".pxd") == {}


def test_declarations_say_how_they_fail() -> None:
    python = python_types([path.read_text() for path in core_files(".pxd", ".pyx")])
    assert verdict(lambda source: declaration_faults(source, python), ".pxd") == {}


def test_every_module_checks_its_layout() -> None:
    assert verdict(stamp_faults, ".pyx") == {}


def test_every_module_has_its_declarations() -> None:
    assert [shown(path) for path in core_files(".pyx") if not path.with_suffix(".pxd").exists()] == []


def test_every_extension_belongs_to_a_source() -> None:
    def source(path: Path) -> Path:
        return path.with_name(path.name.partition(".")[0] + ".pyx")

    assert [shown(path) for path in core_files(".so", ".pyd") if not source(path).exists()] == []


@pytest.mark.parametrize(
    ("declaration", "fault"),
    [
        ("cdef int arena_grow(Arena* arena) nogil", "no exception specification"),
        ("cdef inline void arena_free(Arena* arena):\n    pass", "no exception specification"),
        ("cdef Arena* arena_new(\n    size_t size,\n) nogil", "arena_new has no exception specification"),
        ("ctypedef int (*Handler)(Context* context) nogil", "Handler has no exception specification"),
        ("cdef struct Hook:\n    int (*call)(void* data) nogil", "call has no exception specification"),
        ("cdef class Engine:\n    cdef int check(self)", "check has no exception specification"),
        ("cdef int arena_grow(Arena* arena) except * nogil", "takes the GIL"),
        ("cdef int arena_grow(Arena* arena) noexcept", "not nogil"),
        ('cdef extern from "x.h":\n    int fine(int)\ncdef int after(int x)', "line 3: after"),
    ],
)
def test_a_bad_declaration_is_found(declaration: str, fault: str) -> None:
    assert fault in "\n".join(declaration_faults(declaration, python_types([declaration])))


@pytest.mark.parametrize(
    "declaration",
    [
        "cdef int arena_grow(Arena* arena) noexcept nogil",
        "cdef inline int arena_grow(Arena* arena) noexcept nogil:\n    return f(arena)",
        "cdef bytes arena_bytes(Arena* arena)",
        "cdef int engine_check(object name) except -1",
        "cdef class Engine:\n    cdef Keyspace keyspace\n    cdef int check(self) noexcept\n    cdef Engine copy(self)",
        'cdef extern from "x.h" nogil:\n    int fine(int)\n    void (*pointer)(int)',
        "ctypedef int (*Handler)(Context* context) noexcept nogil",
        'cdef extern from *:\n    """\n    cdef int f(int x)\n    """\n    int f(int x)',
        "cdef struct Arena:\n    size_t used  # (bytes)",
        "cdef enum:\n    FLAG = (1 << 2)",
        "cdef inline int f(int x) noexcept nogil:\n    cdef int y = g(x)\n    return y",
    ],
)
def test_a_good_declaration_passes(declaration: str) -> None:
    assert declaration_faults(declaration, python_types([declaration])) == []


def test_the_other_rules_can_fail() -> None:
    assert gil_faults("with gil:\n    pass") and gil_faults("cdef void f() noexcept with gil:\n    pass")
    assert gil_faults('"""with gil"""\n# with gil\nwith nogil:\n    pass') == []
    assert include_faults('include "x.pxi"') and include_faults("included = 1") == []
    assert directive_faults("# cython: linetrace=True") and directive_faults("# cythonize: no") == []
    assert len(stamp_faults("# check_layout(__name__)")) == 2
    both = "from tellstone._core.base.stamp cimport check_layout\n\ncheck_layout(__name__)\n"
    assert stamp_faults(both) == []
