"""The configuration file: YAML, a mapping of options to their values, under the names of the flags without dashes in
front. CONFIG REWRITE writes the options of a running server back into it.

Values are read as they are written, not as YAML's types, so `yes`, `1` and `16MiB` mean here what they mean on a
command line. A rewrite touches only the values that have changed and adds what is new at the end: comments, order and
layout stay. It is written beside the file and renamed over it, so that a reader finds the old one or the new one.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches

import yaml

from tellstone.config import BY_NAME, OPTIONS, Option
from tellstone.errors import OptionError

PLAIN = re.compile(r"[A-Za-z0-9/.-][\w./:%+-]*(?<!:)", re.ASCII)  # a scalar that YAML takes without quotes
NOT_IN_FILE = {"config"}
BY_KEY = {option.dashed: option for option in OPTIONS if option.name not in NOT_IN_FILE}


@dataclass(frozen=True)
class Entry:
    """An option as the file has it: its line, from 1 on, and its value with the place of that in the text."""

    option: Option
    line: int
    node: yaml.ScalarNode

    @property
    def text(self) -> str:
        """The value."""
        return str(self.node.value)

    @property
    def begin(self) -> int:
        """Where the value begins."""
        return self.node.start_mark.index

    def replaced(self, text: str, value: str) -> str:
        """A file's text with another value. Of one that takes whole lines, the last one's end stays."""
        begin, end = self.begin, self.node.end_mark.index
        return text[:begin] + scalar(value) + "\n" * text[begin:end].endswith("\n") + text[end:]


def nearest(word: str) -> str:
    """A hint at the option that was perhaps meant, or nothing."""
    close = get_close_matches(word, BY_KEY, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def one_line(word: str) -> str:
    """A word as a message can have it."""
    return word if word.isprintable() else repr(word)


def file_text(path: str) -> str:
    """What is in the file. Raises OptionError."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise OptionError(f"{path}: {error.strerror}") from None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise OptionError(f"{path}:{line_of(data, error.start)}: the file is not UTF-8") from None


def line_of(data: bytes, position: int) -> int:
    """The line of a position in a file, from 1 on."""
    return data.count(b"\n", 0, position) + 1


def root_of(path: str, text: str) -> yaml.MappingNode | None:
    """The mapping that the file is; None for an empty file. Raises OptionError."""
    try:
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise OptionError(f"{path}{line}: not YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        place = f"{path}:{line_of(text.encode(), len(text[: error.position].encode()))}"
        raise OptionError(f"{place}: not YAML: {error.reason}") from None
    except RecursionError:
        raise OptionError(f"{path}: lists or mappings lie too deep in one another") from None
    if root is None or isinstance(root, yaml.MappingNode):
        return root
    if isinstance(root, yaml.ScalarNode) and not root.value:  # "---" and nothing behind it
        return None
    raise OptionError(f"{path}:{root.start_mark.line + 1}: expected lines of the form `option: value`")


def entries(path: str, text: str) -> dict[str, Entry]:
    """The options of a file's text, by field. Raises OptionError."""
    found: dict[str, Entry] = {}
    root = root_of(path, text)
    for key, value in root.value if root is not None else ():
        line = key.start_mark.line + 1
        place = f"{path}:{line}"
        name = one_line(key.value) if isinstance(key, yaml.ScalarNode) else "?"
        option = BY_KEY.get(name)
        if option is None:
            raise OptionError(f"{place}: unknown option {name}{nearest(name)}")
        if option.name in found:
            raise OptionError(f"{place}: {name} is there twice")
        if any(value is entry.node for entry in found.values()):
            raise OptionError(f"{place}: {name}: write the value itself, an alias is not understood")
        if not isinstance(value, yaml.ScalarNode):
            raise OptionError(f"{place}: {name}: a list or mapping is not {option.row.kind.allowed}")
        found[option.name] = Entry(option, line, value)
    return found


def read(path: str) -> dict[str, object]:
    """The options that a file sets, by field. Raises OptionError: file, line, name, value, and what is allowed."""
    return {name: value_of(path, entry) for name, entry in entries(path, file_text(path)).items()}


def value_of(path: str, entry: Entry) -> object:
    """The value that an entry means. Raises OptionError."""
    try:
        return entry.option.from_text(entry.text)
    except ValueError:
        name, allowed = entry.option.dashed, entry.option.row.kind.allowed
        raise OptionError(f"{path}:{entry.line}: {name}: {entry.text!r} is not {allowed}") from None


def scalar(text: str) -> str:
    """A value as YAML, in quotes where it needs them."""
    return text if PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def rewritten(path: str, text: str, values: Mapping[str, object]) -> str:
    """A file's text with new values. An option that the file has not is added if it has not its default. Raises
    OptionError, also for a file of a form that takes no more options.
    """
    found = entries(path, text)
    for name, entry in sorted(found.items(), key=lambda item: item[1].begin, reverse=True):
        if value_of(path, entry) != values[name]:
            text = entry.replaced(text, entry.option.to_text(values[name]))
    new = [
        f"{option.dashed}: {scalar(option.to_text(values[option.name]))}\n"
        for option in BY_KEY.values()
        if option.name not in found and values[option.name] != BY_NAME[option.name].default
    ]
    text += ("\n" if new and text and not text.endswith("\n") else "") + "".join(new)
    if not says(path, text, values):
        raise OptionError(f"{path}: this form of YAML cannot be rewritten")
    return text


def says(path: str, text: str, values: Mapping[str, object]) -> bool:
    """Whether a file's text can be read, and has these values."""
    try:
        return all(value_of(path, entry) == values[name] for name, entry in entries(path, text).items())
    except OptionError:
        return False


def rewrite(path: str, values: Mapping[str, object]) -> None:
    """Write options, by field, into a file that is there. Raises OptionError and OSError; the file is whole either
    way.
    """
    path = os.path.realpath(path)
    text = rewritten(path, file_text(path), values)
    handle, beside = tempfile.mkstemp(dir=os.path.dirname(path), prefix=f".{os.path.basename(path)}.")
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, os.stat(path).st_mode & 0o7777)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
