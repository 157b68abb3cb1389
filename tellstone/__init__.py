"""Tellstone: an in-memory key/value store, as a server for Redis clients and inside of your own process.

    from tellstone import Engine

    engine = Engine()
    engine.set("greeting", "hello", ttl=60)
    engine["greeting"]  # b"hello"

Everything that Tellstone raises by itself derives from `tellstone.Error`.
"""

from tellstone.engine import Engine, Listening
from tellstone.errors import (
    ArgumentError,
    ClosedError,
    DataError,
    Error,
    OptionError,
    OutOfMemoryError,
    ProtocolError,
    ResponseError,
    StartError,
    WrongTypeError,
)

__all__ = [
    "ArgumentError",
    "ClosedError",
    "DataError",
    "Engine",
    "Error",
    "Listening",
    "OptionError",
    "OutOfMemoryError",
    "ProtocolError",
    "ResponseError",
    "StartError",
    "WrongTypeError",
    "__version__",
]


def __getattr__(name: str) -> str:
    """`__version__`, looked up when it is asked for."""
    if name == "__version__":
        from tellstone.version import tellstone_version

        return tellstone_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
