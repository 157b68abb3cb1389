"""Tellstone: an in-memory key/value store, as a server for Redis clients and inside of your own process.

    from tellstone import Engine

    engine = Engine()
    engine.set("greeting", "hello", ttl=60)
    engine["greeting"]  # b"hello"

`Client` and `AsyncClient` are for a server somewhere else (tellstone.client). Everything that Tellstone raises by
itself derives from `tellstone.Error`.
"""

from typing import TYPE_CHECKING, Any

from tellstone.engine import Engine, Listening
from tellstone.errors import (
    ArgumentError,
    AuthenticationError,
    BufferSizeError,
    ClosedError,
    ConnectError,
    ConnectionLostError,
    DamageError,
    DataError,
    Error,
    OptionError,
    OutOfMemoryError,
    ProtocolError,
    ResponseError,
    StartError,
    StorageError,
    TimedOutError,
    WrongTypeError,
)

if TYPE_CHECKING:
    from tellstone.client.aio import AsyncClient, AsyncPipeline
    from tellstone.client.sync import Client, Pipeline

__all__ = [
    "ArgumentError",
    "AsyncClient",
    "AsyncPipeline",
    "AuthenticationError",
    "BufferSizeError",
    "Client",
    "ClosedError",
    "ConnectError",
    "ConnectionLostError",
    "DamageError",
    "DataError",
    "Engine",
    "Error",
    "Listening",
    "OptionError",
    "OutOfMemoryError",
    "Pipeline",
    "ProtocolError",
    "ResponseError",
    "StartError",
    "StorageError",
    "TimedOutError",
    "WrongTypeError",
    "__version__",
]


# Loaded when they are asked for: an embedded engine has no use for them.
_CLIENTS = {
    "AsyncClient": "tellstone.client.aio",
    "AsyncPipeline": "tellstone.client.aio",
    "Client": "tellstone.client.sync",
    "Pipeline": "tellstone.client.sync",
}


def __getattr__(name: str) -> Any:
    if name in _CLIENTS:
        from importlib import import_module

        found = globals()[name] = getattr(import_module(_CLIENTS[name]), name)
        return found
    if name == "__version__":
        from tellstone.version import tellstone_version

        return tellstone_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
