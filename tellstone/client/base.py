"""What Client and AsyncClient share: settings, how a connection begins, and the pauses between attempts to make one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from tellstone._core.protocol.exchange import Exchange
from tellstone._core.protocol.framing import Requests
from tellstone.client.conversions import PIPELINED, SINGLE
from tellstone.errors import ArgumentError, ConnectError
from tellstone.units import Address, parse_address

if TYPE_CHECKING:
    from ssl import SSLContext

    from typing_extensions import Buffer

    Key = Buffer | str
    Value = Buffer | str | float

PORT = 9988
FIRST_PAUSE = 0.05  # seconds between the first two attempts; doubled from one to the next
LONGEST_PAUSE = 1.0

Timeout = float | None | EllipsisType  # seconds, None: as long as it takes, ...: as the client has it


class BaseClient:
    """The settings of a client.

    host: a name or an address, or "unix:/path", which has no port.
    auth: a user and a password, or the password of the default user.
    tls: True to check the server's certificate as browsers do, or an ssl.SSLContext.
    db: the database that the connections are in.
    timeout: seconds that a request may take, None for no limit. After a time-out its connection is given up.
    connect_timeout, connect_attempts: how long, and how often, a call tries to get a connection before it raises
    ConnectError. Pauses between attempts double, and are shortened at random by up to a half.
    connections: as many at most.
    max_request: bytes of one request. As the server's --max-msg-size, which closes connections that exceed it.
    max_answer: bytes of one answer. What announces more is taken for garbage.
    """

    CONNECTIONS = 1

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = PORT,
        *,
        auth: tuple[str, str] | str | None = None,
        tls: SSLContext | bool | None = None,
        db: int = 0,
        timeout: float | None = 5.0,
        connect_timeout: float = 5.0,
        connect_attempts: int = 4,
        connections: int | None = None,
        max_request: int = 16 << 20,
        max_answer: int = 512 << 20,
    ) -> None:
        self.address = address(host, port)
        self.tls = context(tls)
        if self.tls and self.address.path:
            raise ArgumentError("tls: not over a unix socket")
        self.auth = ("", auth) if isinstance(auth, str) else auth
        self.db = db
        self.timeout = positive("timeout", timeout)
        self.connect_timeout = positive("connect_timeout", connect_timeout) or 0
        self.connect_attempts = positive("connect_attempts", connect_attempts) or 1
        self.connections = positive("connections", connections) or self.CONNECTIONS
        self.max_request = max_request
        self.max_answer = max_answer
        self._begin()

    def _begin(self) -> None:
        """What a kind of client begins with."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.address)!r})"

    def new_exchange(self) -> Exchange:
        """What a new connection starts with."""
        return Exchange(SINGLE, self.max_request, self.max_answer)

    def greeting(self) -> Requests:
        """What is asked first on a connection; may be nothing."""
        requests = Requests(PIPELINED, self.max_request)
        if self.auth is not None:
            requests.auth(*self.auth)
        if self.db:
            requests.execute("SELECT", self.db)
        return requests

    def pauses(self) -> Iterator[float]:
        """Seconds to wait after each failed attempt but the last. Chance keeps clients of a restarted server apart."""
        for attempt in range(self.connect_attempts - 1):
            yield min(FIRST_PAUSE * 2**attempt, LONGEST_PAUSE) * random.uniform(0.5, 1.0)

    def is_hopeless(self, error: Exception) -> bool:
        """Whether another attempt to connect would fail in the same way: the certificate is not the right one."""
        if self.tls is None:
            return False
        from ssl import SSLCertVerificationError

        return isinstance(error, SSLCertVerificationError)

    def connect_error(self, error: Exception) -> ConnectError:
        """What is raised when attempts have come to an end."""
        return ConnectError(f"cannot connect to {self.address}: {str(error) or 'it took too long'}")


def address(host: str, port: int) -> Address:
    """Where the server is."""
    if not host.startswith("unix:"):
        if not host or not 0 < port < 65536:
            raise ArgumentError(f"{host!r}, {port!r} is not a host and its port")
        return Address(host, port)
    try:
        return parse_address(host)
    except ValueError:
        raise ArgumentError(f"{host!r} is not the path of a unix socket") from None


def context(tls: SSLContext | bool | None) -> SSLContext | None:
    """A context for what the caller wants, None for no TLS."""
    if not isinstance(tls, bool):
        return tls
    if not tls:
        return None
    from ssl import create_default_context

    return create_default_context()


def positive(name: str, number: Any) -> Any:
    """A number above zero, or None."""
    if number is not None and not number > 0:
        raise ArgumentError(f"{name}: {number!r} is not above zero")
    return number


def first_error(answers: list[Any]) -> Exception | None:
    """The first of a pipeline's answers that is an error."""
    return next((answer for answer in answers if isinstance(answer, Exception)), None)
