"""What Tellstone raises. Everything derives from Error, so that one `except tellstone.Error` is enough.

A leaf: the core raises from here too, so this module imports nothing.
"""

from __future__ import annotations


class Error(Exception):
    """Base of everything Tellstone raises by itself."""


class ResponseError(Error):
    """A command was refused. The text is that of the error reply, code word included: "ERR syntax error"."""

    @property
    def code(self) -> str:
        """The reply's first word: ERR, WRONGTYPE, OOM, ..."""
        return str(self).partition(" ")[0]


class WrongTypeError(ResponseError):
    """The key holds a value of another type than the operation is for."""


class OutOfMemoryError(ResponseError):
    """A write was refused because the memory ceiling is reached. Reads and deletions go on."""


class StorageError(ResponseError):
    """What keeps the data on disk cannot: a write was refused, or a snapshot could not be written.

    The text says why: the disk is full or broken, or the engine belongs to the parent process of a fork. Reads go on,
    and writing does when the disk works again. Where the text says that the change is made, reads see it, and it may or
    may not outlive the process.
    """


class AuthenticationError(ResponseError):
    """A server of the native protocol wants a user and a password, and these were not them."""


class ClosedError(Error):
    """The engine has been closed, or the client."""


class ConnectError(Error, ConnectionError):
    """No connection to the server could be had. The request has not been sent."""


class ConnectionLostError(Error, ConnectionError):
    """The connection ended before the answer came. The request may have been carried out, or not."""


class TimedOutError(Error, TimeoutError):
    """The answer did not come in time. The request may have been carried out, or will be."""


class DataError(Error, TypeError):
    """Something that does not go in: keys are bytes-like or str, values these or int or float."""


class ArgumentError(Error, ValueError):
    """An argument of the right type is out of its range, or arguments exclude each other."""


class BufferSizeError(ArgumentError):
    """A value does not fit the buffer it was to be read into. Nothing has been written there."""

    def __init__(self, needed: int, size: int) -> None:
        super().__init__(f"the value has {needed} bytes, and the buffer room for {size}")
        self.needed = needed
        self.size = size

    def __reduce__(self) -> tuple[type[BufferSizeError], tuple[int, int]]:
        """Pickle as the two numbers."""
        return BufferSizeError, (self.needed, self.size)


class ProtocolError(Error):
    """The other side sent something that is not its protocol. The connection is of no further use."""


class OptionError(Error, ValueError):
    """An option's value cannot be understood. The text is one line: the option, the value, what is allowed."""


class StartError(Error):
    """A server cannot start, or an engine not open: an address in use, a directory that another process has or that may
    not be written. The text is one line.
    """


class DamageError(StartError):
    """Stored data is not whole, or of a later version. The text is one line: file, place, what is wrong, what helps."""
