from collections.abc import Callable
from datetime import timedelta
from typing import Any

from typing_extensions import Buffer, Self, disjoint_base

_Key = Buffer | str
_Value = Buffer | str | float
_Convert = Callable[[Any], Any] | None
_Entry = _Convert | tuple[_Convert] | str

@disjoint_base
class Requests:
    def __new__(cls, commands: dict[str, _Entry | dict[str, _Entry]], max_request: int, *limits: int) -> Self: ...
    @property
    def stateful(self) -> bool: ...
    def get(self, key: _Key, /) -> Self: ...
    def set(
        self,
        key: _Key,
        value: _Value,
        /,
        ttl: float | timedelta | None = None,
        *,
        nx: bool = False,
        xx: bool = False,
        keep_ttl: bool = False,
    ) -> Self: ...
    def delete(self, key: _Key, /) -> Self: ...
    def execute(self, *words: _Value) -> Self: ...
    def ping(self) -> Self: ...
    def auth(self, user: _Key, password: _Key, /) -> Self: ...
    def clear(self) -> None: ...
    def __len__(self) -> int: ...
