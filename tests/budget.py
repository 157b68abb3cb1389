"""How long the property tests run: the same examples each time, unless asked for more.

TELLSTONE_TEST_EXAMPLES=20 asks for twenty times as many, and other ones in every run.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

FACTOR = int(os.environ.get("TELLSTONE_TEST_EXAMPLES") or 0)


def examples(number: int) -> settings:
    """For a property that talks to servers: no deadline, and slow generation is no fault."""
    return settings(
        max_examples=number * max(FACTOR, 1),
        derandomize=not FACTOR,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )
