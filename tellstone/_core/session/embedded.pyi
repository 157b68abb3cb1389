from typing import Any, final

from typing_extensions import Buffer

from tellstone._core.session.records import Records
from tellstone._core.store.keyspace import Store
from tellstone.errors import StorageError

@final
class Parked:
    @property
    def arguments(self) -> tuple[bytes, ...]: ...
    @property
    def db(self) -> int: ...

@final
class Caller:
    def __new__(cls, store: Store, records: Records | None = None, *, safe: bool = False) -> Caller: ...
    def call(self, words: tuple[Buffer | str | float, ...], /) -> tuple[str | None, Any]: ...
    def settle(self) -> StorageError | None: ...
