"""The asyncio driver's threads: each runs an event loop, uvloop's where there is one, as a member of a group.

What a loop does for its connections is in tellstone._core.net.asyncio_driver; here a loop is made, run and closed. The
threads know their members and not the group, so a group that is dropped ends them.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from tellstone._core.net.asyncio_driver import LoopMember
from tellstone._core.net.group import DriverGroup


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A loop of the fastest kind there is."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def run(member: LoopMember, make: Callable[[], asyncio.AbstractEventLoop], ready: Future[None]) -> None:
    """A thread: from the making of a loop to its closing. `ready` tells that it serves, or why it cannot."""
    if hasattr(signal, "pthread_sigmask"):  # signals are the main thread's
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    loop = make()
    asyncio.set_event_loop(loop)
    try:
        try:
            member.attach(loop)
        except OSError as error:
            ready.set_exception(error)
        else:
            ready.set_result(None)
            loop.run_forever()
    finally:
        member.detach()
        asyncio.set_event_loop(None)
        loop.close()


class LoopGroup(DriverGroup):
    """Event loops in threads of their own that serve a store to sockets, see DriverGroup.

    make_loop: makes each of the loops.
    """

    make_loop: Callable[[], asyncio.AbstractEventLoop] = staticmethod(new_event_loop)
    _threads: tuple[threading.Thread, ...] = ()

    def start(self) -> None:
        """Start the threads. Raises OSError when one of them cannot serve; then those before it are ended again."""
        super().start()
        for number in range(self.threads):
            ready: Future[None] = Future()
            arguments = (LoopMember(self, number), self.make_loop, ready)
            thread = threading.Thread(target=run, args=arguments, name=f"tellstone-loop-{number}", daemon=True)
            thread.start()
            self._threads += (thread,)
            try:
                ready.result()
            except OSError:
                self.kill()
                self.join()
                raise

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait until all threads have ended. False: they have not, after timeout_s seconds (None: wait without end)."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(None if deadline is None else max(deadline - time.monotonic(), 0))
        return not any(thread.is_alive() for thread in self._threads)

    def __del__(self) -> None:
        self.kill()
