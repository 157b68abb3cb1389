from typing import final

@final
class Workload:
    def __new__(
        cls,
        protocol: str,
        *,
        keyspace: int,
        value_size: int,
        read_ratio: float = 0,
        skew: float = 0,
    ) -> Workload: ...
    protocol: str
    @property
    def keyspace(self) -> int: ...
    @property
    def longest(self) -> int: ...
    def key(self, number: int) -> bytes: ...
    def value(self, number: int) -> bytes: ...
    def numbers(self, count: int, seed: int) -> list[int]: ...
