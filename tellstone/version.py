"""The version of the installed package, and of the Redis whose behaviour it follows."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

REDIS_VERSION = "7.2.0"


@cache
def tellstone_version() -> str:
    """The version of the installed distribution; 0 in a checkout that is not installed."""
    try:
        return version("tellstone")
    except PackageNotFoundError:
        return "0"
