"""Commands of the program itself: what Engine.execute runs, and how its words and replies look to Python."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tellstone._core.session.embedded import PARKED, Caller
from tellstone.results import decoded, result

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tellstone._core.store.keyspace import Store
    from tellstone.control.context import Context

    Word = Buffer | str | float


class Commands:
    """Runs commands on a store. Each thread has a connection of its own, with a database and a name."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._local = threading.local()  # .caller

    def execute(self, words: tuple[Word, ...]) -> Any:
        """The result of a command, or the ResponseError that it answers."""
        if words and isinstance(words[0], str) and " " in words[0]:
            words = (*words[0].split(), *words[1:])
        try:
            caller: Caller = self._local.caller
        except AttributeError:
            caller = self._local.caller = Caller(self.store)
        name, reply = caller.call(words)
        if reply is PARKED:
            assert name is not None
            reply = self._control(name, tuple(map(as_bytes, words)), caller.db)
        return reply if name is None or isinstance(reply, Exception) else result(name, reply)

    def _control(self, name: str, arguments: tuple[bytes, ...], db: int) -> Any:
        """Let Python answer a command; through bytes, so that its reply is what a client would see."""
        from tellstone.control import run
        from tellstone.control.encode import encode

        return decoded(encode(run(self._context, name, arguments, db=db), 3))

    @cached_property
    def _context(self) -> Context:
        from tellstone.control import embedded

        return embedded(self.store)


def as_bytes(word: Word) -> bytes:
    """A word that the core has accepted, as it has read it."""
    if isinstance(word, (int, float)):
        word = repr(word)
    return word.encode() if isinstance(word, str) else bytes(word)
