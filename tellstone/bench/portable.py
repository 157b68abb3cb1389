"""The load's driver in Python: for TLS, whose sockets have no descriptor that the core could use, and for systems on
which the core has no poller. It does what tellstone._core.load.generator does, at some microseconds a request more.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import threading
from collections.abc import Sequence

from tellstone._core.load.exchange import Plan, Talk
from tellstone._core.load.outcome import Tally

INPUT = 65536
PATIENCE = 0.1  # seconds between two looks at the clock


class Link:
    """A connection: its part in the load, and what could not be sent yet."""

    def __init__(self, connection: socket.socket, talk: Talk) -> None:
        self.socket = connection
        self.talk = talk
        self.rest = b""
        self.lost = False


class PortableGenerator:
    """A thread that carries out a plan over connections; the same face as the core's Generator."""

    def __init__(self, plan: Plan, sockets: Sequence[socket.socket], grace_s: float) -> None:
        self.plan = plan
        self.grace_s = grace_s
        self._tally = Tally()
        self.links = [Link(one, Talk(plan, index, self._tally)) for index, one in enumerate(sockets)]
        self.selector = selectors.DefaultSelector()
        self.live = len(self.links)
        self.turn = 0  # with a rate: the next request of the load
        self.killed = False
        self.heard = 0.0  # when the last reply came, in seconds since the start
        self.active = 0.0  # when there was last something to send
        self.thread = threading.Thread(target=self.run, daemon=True)

    @property
    def seconds(self) -> float:
        """From the start to the last reply; while the thread runs, until now."""
        return self.plan.elapsed_s if self.thread.is_alive() else self.heard

    def start(self) -> None:
        """Start the thread; once."""
        self.plan.start()
        self.thread.start()

    def join(self, timeout_s: float) -> bool:
        """Whether the thread has ended; waits for that."""
        self.thread.join(timeout_s)
        return not self.thread.is_alive()

    def halt(self) -> None:
        """Send nothing more; the thread ends when the replies have come. Does not wait."""
        self.plan.halt()

    def kill(self) -> None:
        """End at once, without the replies. Does not wait."""
        self.killed = True

    def tally(self) -> Tally:
        """What has been met with so far; goes on counting."""
        return self._tally

    def run(self) -> None:
        """The thread."""
        for link in self.links:
            self.selector.register(link.socket, selectors.EVENT_READ, link)
            if not self.plan.rate:
                self.fill(link)
        while self.goes_on():
            for key, events in self.selector.select(self.patience()):
                self.ready(key.data, events)
            if self.plan.rate:
                self.fill_due()
        for link in self.links:
            if not link.lost:
                self.lose(link)
        self.selector.close()

    def goes_on(self) -> bool:
        """Whether there is more to send or to hear."""
        if self.killed or not self.live:
            return False
        if not self.plan.ended:
            self.active = self.plan.elapsed_s
            return True
        waiting = self._tally.sent - self._tally.answered - self._tally.unanswered
        return waiting > 0 and self.plan.elapsed_s - max(self.active, self.heard) < self.grace_s

    def patience(self) -> float:
        """How long to wait for events."""
        due = self.plan.due_in_s(self.turn) if self.plan.rate and not self.plan.ended else PATIENCE
        return max(0.0, min(due, PATIENCE))

    def fill_due(self) -> None:
        """Look at every connection that has had a request due since the last time, at each once."""
        for _ in self.links:
            if self.plan.due_in_s(self.turn) > 0:
                break
            self.fill(self.links[self.turn % len(self.links)])
            self.turn += 1

    def ready(self, link: Link, events: int) -> None:
        """Send the rest, take replies, and send what is due in their place."""
        if link.rest:
            self.send(link)
        if not link.lost and events & selectors.EVENT_READ and self.read(link):
            self.fill(link)

    def fill(self, link: Link) -> None:
        """Send what is due."""
        if not link.lost and not link.rest:
            link.rest = link.talk.fill()
            if link.rest:
                self.send(link)

    def send(self, link: Link) -> None:
        """Send what is there, and be told when the rest can be sent."""
        try:
            while link.rest:
                link.rest = link.rest[link.socket.send(link.rest) :]
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError, BlockingIOError):
            pass
        except OSError:
            self.lose(link, closed=True)
            return
        wanted = selectors.EVENT_READ | selectors.EVENT_WRITE * bool(link.rest)
        if self.selector.get_key(link.socket).events != wanted:
            self.selector.modify(link.socket, wanted, link)

    def read(self, link: Link) -> bool:
        """Take all replies that have come; what TLS has unpacked is not reported again. False: none, or lost."""
        some = False
        try:
            while data := link.socket.recv(INPUT):
                some = True
                self.heard = self.plan.elapsed_s
                if not link.talk.feed(data):
                    self.lose(link, garbled=True)
                    return False
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            return some
        except OSError:
            pass
        self.lose(link, closed=True)
        return False

    def lose(self, link: Link, *, closed: bool = False, garbled: bool = False) -> None:
        """The connection is of no further use."""
        link.lost = True
        link.talk.lose(closed=closed, garbled=garbled)
        self.live -= 1
        self.selector.unregister(link.socket)
