"""Commands of the program itself: what Engine.execute runs, and how its words and replies look to Python."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tellstone._core.session.embedded import Caller, Parked
from tellstone._core.session.records import Records
from tellstone.results import CONVERTERS, decoded, plain

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tellstone._core.store.keyspace import Store
    from tellstone.control.context import Context
    from tellstone.keeper import Keeper

    Word = Buffer | str | float


class Commands:
    """Runs commands on a store. Each thread has a connection of its own, with a database and a name."""

    def __init__(self, store: Store, keeper: Keeper | None = None) -> None:
        self.store = store
        self.keeper = keeper
        self.records = Records(one_by_one=True)  # of all threads' calls
        self._local = threading.local()  # .caller

    def execute(self, words: tuple[Word, ...]) -> Any:
        """The result of a command, or the ResponseError that it answers."""
        if words and isinstance(words[0], str) and " " in words[0]:
            words = (*words[0].split(), *words[1:])
        try:
            caller: Caller = self._local.caller
        except AttributeError:
            caller = self._local.caller = Caller(self.store, self.records, safe=True)
        name, reply = caller.call(words)
        if name is None:
            return reply
        if isinstance(reply, Parked):
            reply = self._control(name, reply)
        if isinstance(reply, Exception):
            return reply
        return CONVERTERS.get(name, plain)(reply)

    def _control(self, name: str, call: Parked) -> Any:
        """Let Python answer a command; through bytes, so that its reply is what a client would see."""
        from tellstone.control import run
        from tellstone.control.encode import encode

        return decoded(encode(run(self._context, name, call.arguments, db=call.db), 3))

    @cached_property
    def _context(self) -> Context:
        from tellstone.control import embedded

        return embedded(self.store, self.records, self.keeper)
