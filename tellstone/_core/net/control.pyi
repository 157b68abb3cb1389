from typing import final

@final
class ControlCall:
    name: str
    args: tuple[bytes, ...]
    client_id: int
    db: int
    proto: int
    addr: bytes
    laddr: bytes
    client_name: bytes
    def answer(
        self, reply: bytes, *, proto: int = -1, db: int = -1, authenticated: int = -1, close: bool = False
    ) -> None: ...

@final
class Report:
    token: int
    member: int
    count: int
    lines: bytes | None

@final
class ControlBridge:
    def __new__(cls, capacity: int = 1024) -> ControlBridge: ...
    def fileno(self) -> int: ...
    def drain(self) -> list[ControlCall | Report]: ...
