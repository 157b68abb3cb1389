from typing import final

from tellstone._core.net.group import DriverGroup

@final
class ReactorGroup(DriverGroup):
    def start(self) -> None: ...
    def join(self, timeout_s: float | None = None) -> bool: ...
