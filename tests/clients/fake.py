"""A server of the native protocol that a test plays itself, to answer as no real one would: late, wrong, not at all."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from frames import COMMAND, DELETE, GET, OK, PING, PONGED, SET, error, response


@dataclass
class Request:
    """A frame from a client."""

    kind: int
    payload: bytes

    @property
    def op(self) -> int:
        return self.payload[0]

    @property
    def key(self) -> bytes:
        (length,) = struct.unpack_from(">H", self.payload, 1)
        return self.payload[11 : 11 + length]

    @property
    def value(self) -> bytes:
        return self.payload[11 + len(self.key) :]


class Peer:
    """A client's connection, as its server sees it."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.input = sock.makefile("rb")

    def request(self) -> Request:
        """The next one. Raises EOFError when the client has gone."""
        head = self.input.read(5)
        if len(head) < 5:
            raise EOFError
        length, kind = struct.unpack(">IB", head)
        return Request(kind, self.input.read(length - 1))

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self, request: Request) -> None:
        """A GET with its key, everything else as if it had been done."""
        if request.kind == PING:
            self.send(PONGED)
        elif request.op == GET:
            self.send(response(request.key))
        elif request.op in (SET, DELETE):
            self.send(OK)
        else:
            self.send(response(b"+DONE\r\n") if request.op == COMMAND else error(b"INVALID_OPCODE"))

    def serve(self) -> None:
        """Answer until the client goes."""
        while True:
            self.answer(self.request())

    def gone(self) -> bool:
        """Wait for the client to close the connection."""
        return self.input.read() == b""


Script = Callable[[Peer], None]


class Fake:
    """Plays one script for each connection, the last one for all that come later. Ends them when it is closed."""

    def __init__(self, *scripts: Script, wrap: Callable[[socket.socket], socket.socket] | None = None) -> None:
        self.scripts = scripts
        self.wrap = wrap
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(0.01)
        self.closing = False
        self.port: int = self.listener.getsockname()[1]
        self.peers: list[Peer] = []
        self.failures: list[BaseException] = []
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def _accept(self) -> None:
        while not self.closing:
            with contextlib.suppress(TimeoutError):
                sock, _ = self.listener.accept()
                script = self.scripts[min(len(self.peers), len(self.scripts) - 1)]
                peer = Peer(self.wrap(sock) if self.wrap else sock)
                self.peers.append(peer)
                thread = threading.Thread(target=self._play, args=[script, peer])
                self.threads.append(thread)
                thread.start()

    def _play(self, script: Script, peer: Peer) -> None:
        try:
            with contextlib.suppress(EOFError, ConnectionError):
                script(peer)
        except BaseException as failure:
            self.failures.append(failure)
        finally:
            with contextlib.suppress(OSError):
                peer.socket.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Fake:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, where: TracebackType | None
    ) -> None:
        self.closing = True
        self.threads[0].join()
        self.listener.close()
        for peer in self.peers:
            with contextlib.suppress(OSError):
                peer.socket.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive()
        for peer in self.peers:
            peer.input.close()
            peer.socket.close()
        if kind is None:
            assert not self.failures, self.failures
