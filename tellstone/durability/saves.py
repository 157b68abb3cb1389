"""What has become of snapshots so far."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Saves:
    """Times are Unix seconds, durations seconds, -1 where there was none."""

    done: int = 0
    failed: int = 0
    last_time: int = field(default_factory=lambda: int(time.time()))
    last_ok: bool = True
    last_duration: float = -1
    last_bytes: int = 0  # of the newest one's file
    last_end: float = float("-inf")  # monotonic, of the last one, well or not
    begun: float = -1  # monotonic, of the one that is being written
    last_error: str = ""
