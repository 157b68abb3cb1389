"""Listening sockets: made from an address before any thread runs, and taken away at the end.

A host name may stand for several addresses; each gets a socket, all with the same port. A unix socket that a dead
server left behind is replaced; one that answers is somebody else's, and is left alone, as is a file of another kind.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from tellstone.config import BACKLOG
from tellstone.errors import StartError
from tellstone.units import Address

# Of several addresses that a name stands for, those that this machine does not have are passed over.
NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


@dataclass
class Listener:
    """A bound socket that listens, and the address it really has."""

    socket: socket.socket
    address: Address
    inode: int = 0  # of a unix socket's file
    protocol: str = "resp"  # or native

    @property
    def is_unix(self) -> bool:
        """Whether it is a unix socket."""
        return bool(self.address.path)

    @property
    def name(self) -> str:
        """The address as CLIENT LIST shows it."""
        return f"{self.address.path}:0" if self.is_unix else str(self.address)

    @property
    def url(self) -> str:
        """The address as redis-cli's -u and client libraries take it; of the native protocol as its client does."""
        if self.protocol == "native":
            return str(self.address)
        return f"unix://{self.address.path}" if self.is_unix else f"redis://{self.address}"

    def close(self) -> None:
        """Give the socket back."""
        self.hide()
        self.socket.close()

    def hide(self) -> None:
        """Let nobody find it any more: a unix socket's file goes, if it still is ours."""
        if self.is_unix:
            with suppress(OSError):
                if os.stat(self.address.path).st_ino == self.inode:
                    os.unlink(self.address.path)


def listen(address: Address, protocol: str = "resp") -> list[Listener]:
    """Listen on an address, for "resp" or "native". Raises StartError, whose text is one line."""
    try:
        found = [listen_unix(address)] if address.path else listen_tcp(address)
    except OSError as error:
        raise StartError(f"cannot listen on {address}: {reason(error)}") from None
    return [replace(listener, protocol=protocol) for listener in found]


def reason(error: OSError) -> str:
    """The system's words for an error, small letters first."""
    if isinstance(error, socket.gaierror):
        return "no such host"
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


def listen_tcp(address: Address) -> list[Listener]:
    """A listener for each address of a host; an empty one means all interfaces."""
    flags = socket.AI_PASSIVE | socket.AI_ADDRCONFIG if not address.host else socket.AI_PASSIVE
    found = socket.getaddrinfo(address.host or None, address.port, type=socket.SOCK_STREAM, flags=flags)
    listeners: list[Listener] = []
    missing: OSError | None = None
    try:
        for family, place in dict.fromkeys((family, place) for family, _, _, _, place in found):
            try:
                listener = bind_tcp(family, (place[0], address.port, *place[2:]))
            except OSError as error:
                if error.errno not in NOT_HERE:
                    raise
                missing = error
                continue
            listeners.append(listener)
            address = replace(address, port=listener.address.port)  # port 0: the others take what the first got
    except OSError:
        close_all(listeners)
        raise
    if missing and not listeners:
        raise missing
    return listeners


def bind_tcp(family: int, place: tuple[object, ...]) -> Listener:
    """One TCP listener."""
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(place)
        made.listen(BACKLOG)
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    host, port = made.getsockname()[:2]
    return Listener(made, Address(host, port))


def listen_unix(address: Address) -> Listener:
    """One unix listener, in place of a socket that nobody listens on."""
    if sys.platform == "win32":
        raise OSError(errno.EAFNOSUPPORT, "unix sockets are not available on Windows")
    clear_stale(address.path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(address.path)
        inode = os.stat(address.path).st_ino
        made.listen(BACKLOG)
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return Listener(made, address, inode)


def clear_stale(path: str) -> None:
    """Remove a socket's file if connecting to it is refused: its server is gone."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(errno.EEXIST, "the file exists and is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except (TimeoutError, BlockingIOError):  # it is too busy to answer
            pass
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def close_all(listeners: Iterable[Listener]) -> None:
    """Close listeners."""
    for listener in listeners:
        listener.close()


def raise_file_limit(wanted: int) -> int:
    """Let the process open so many files. Answers how many it may open: less, if the system does not allow it."""
    try:
        import resource
    except ImportError:  # Windows: sockets are not files there
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    highest = wanted if hard == resource.RLIM_INFINITY else max(hard, wanted)
    for limit in ((wanted, highest), (min(wanted, hard), hard)):  # the first is for the privileged
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
            return limit[0]
    return soft
