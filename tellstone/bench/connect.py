"""Connections to the server that is measured, logged in and known to answer."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from collections.abc import Iterator

from tellstone._core.load.replies import ReplyReader
from tellstone.bench.options import Options
from tellstone.errors import ProtocolError, StartError
from tellstone.listeners import reason

TIMEOUT = 10.0  # seconds, for each step
PING, AUTH = 0, 4  # types of native frames


@contextlib.contextmanager
def connections(options: Options) -> Iterator[list[socket.socket]]:
    """As many as the options say, non-blocking. Raises StartError, whose text is one line."""
    context = tls_context(options) if options.tls else None
    with contextlib.ExitStack() as stack:
        allow_descriptors(options.connections)
        try:
            sockets = [stack.enter_context(connected(options, context)) for _ in range(options.connections)]
            for one in sockets:
                one.sendall(greeting(options))
            for one in sockets:
                greet(one, options)
                one.setblocking(False)
        except ssl.SSLCertVerificationError as error:
            raise StartError(f"cannot connect to {options.address}: {error.verify_message}") from None
        except TimeoutError:
            raise StartError(f"{options.address} does not answer") from None
        except OSError as error:
            raise StartError(f"cannot connect to {options.address}: {reason(error)}") from None
        yield sockets


def tls_context(options: Options) -> ssl.SSLContext:
    """Whom to trust."""
    try:
        context = ssl.create_default_context(cafile=options.cacert or None)
    except OSError as error:
        raise StartError(f"--cacert: cannot read {options.cacert}: {reason(error)}") from None
    if options.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def allow_descriptors(wanted: int) -> None:
    """Raise our own limit if it is too low for so many connections, as far as it may be raised."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = wanted + 256
    if soft != resource.RLIM_INFINITY and soft < enough:
        with contextlib.suppress(ValueError, OSError):
            most = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def connected(options: Options, context: ssl.SSLContext | None) -> socket.socket:
    """A connection on which nothing has been said yet, but for TLS."""
    address = options.address
    if address.path:
        one = socket.socket(socket.AF_UNIX)
        try:
            one.settimeout(TIMEOUT)
            one.connect(address.path)
        except OSError:
            one.close()
            raise
    else:
        one = socket.create_connection((address.host or "127.0.0.1", address.port), TIMEOUT)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(one, server_hostname=address.host or "localhost") if context else one


def greeting(options: Options) -> bytes:
    """A log-in if there is one to do, and a PING."""
    native = options.protocol == "native"
    ping = native_frame(PING, b"") if native else resp_request(b"PING")
    if options.auth is None:
        return ping
    user, password = (word.encode(errors="surrogateescape") for word in options.auth)
    if native:
        return native_frame(AUTH, b"".join(struct.pack(">H", len(word)) + word for word in (user, password))) + ping
    return resp_request(b"AUTH", *([user] if user else []), password) + ping


def resp_request(*words: bytes) -> bytes:
    """A request as an array of bulks."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)


def native_frame(kind: int, payload: bytes) -> bytes:
    """A frame of the native protocol."""
    return struct.pack(">IB", len(payload) + 1, kind) + payload


def greet(one: socket.socket, options: Options) -> None:
    """Read the replies to the greeting. A user that may not say PING is logged in all the same."""
    reader = ReplyReader(options.protocol)
    wanted = 1 if options.auth is None else 2
    replies: list[tuple[str, bytes]] = []
    while len(replies) < wanted:
        data = one.recv(4096)
        if not data:
            raise StartError(f"{options.address} closes the connection{told(replies)}")
        try:
            replies += reader.feed(data)
        except ProtocolError:
            raise StartError(f"{options.address} does not speak the {options.protocol} protocol") from None
    for kind, text in replies:
        if kind == "error" and not text.startswith(b"NOPERM"):
            raise StartError(f"{options.address}: {text.decode(errors='replace')}")


def told(replies: list[tuple[str, bytes]]) -> str:
    """An error that came before the end."""
    return "".join(f": {text.decode(errors='replace')}" for kind, text in replies if kind == "error")
