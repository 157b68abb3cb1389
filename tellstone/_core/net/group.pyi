from collections.abc import Sequence
from typing import Any, final

from typing_extensions import disjoint_base

from tellstone._core.net.control import ControlBridge
from tellstone._core.session.records import Records
from tellstone._core.store.keyspace import Store

@final
class GroupMemory:
    def __new__(cls, store: Store, bridge: ControlBridge, threads: int) -> GroupMemory: ...

@disjoint_base
class DriverGroup:
    def __new__(
        cls,
        store: Store,
        bridge: ControlBridge,
        threads: int,
        *,
        max_clients: int = 10000,
        idle_timeout_s: float = 0,
        tcp_keepalive_s: int = 300,
        output_limit: tuple[int, int, float] = (0, 0, 0),
        max_request: int = 536870912,
        max_frame: int = 16777216,
    ) -> DriverGroup: ...
    def listen(self, fd: int, is_unix: bool, laddr: str, protocol: str = "resp") -> None: ...
    def start(self) -> None: ...
    def configure(
        self,
        *,
        max_clients: int | None = None,
        idle_timeout_s: float | None = None,
        tcp_keepalive_s: int | None = None,
        output_limit: tuple[int, int, float] | None = None,
        max_request: int | None = None,
        max_frame: int | None = None,
    ) -> None: ...
    def stop(self, grace_ms: int) -> None: ...
    def kill(self) -> None: ...
    records: Records
    @property
    def threads(self) -> int: ...
    @property
    def running(self) -> bool: ...
    def stats(self) -> dict[str, Any]: ...
    def pause(self, timeout_ms: int, everything: bool) -> None: ...
    def unpause(self) -> None: ...
    def ask_clients(
        self,
        token: int,
        kind: str,
        *,
        ids: Sequence[int] = (),
        addr: bytes | None = None,
        laddr: bytes | None = None,
        user: bytes | None = None,
        type: str | None = None,  # noqa: A002
        caller: int = 0,
        skip_caller: bool = False,
    ) -> int: ...
