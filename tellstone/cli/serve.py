"""`tellstone serve`: a server in the foreground, with signal handlers and log lines."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from tellstone.cli.arguments import Invocation
from tellstone.cli.banner import banner
from tellstone.log import configure, fields, log
from tellstone.server import Server
from tellstone.version import tellstone_version

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(invocation: Invocation) -> None:
    """Run a server until a signal or SHUTDOWN ends it. Raises StartError."""
    options = invocation.options
    configure(options.log_level, options.log_format)
    for warning in invocation.warnings:
        log.warning(warning)
    server = Server(options)
    try:
        import uvloop
    except ImportError:
        asyncio.run(main(server))
    else:
        uvloop.run(main(server))
    log.info("stopped", extra=fields(uptime=round(server.uptime, 3)))


async def main(server: Server) -> None:
    """Serve, say so, and stop on signals."""
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stop, server, number)
    server.ready.add_done_callback(lambda ready: None if ready.exception() else announce(server))
    await server.serve()


def announce(server: Server) -> None:
    """A banner for a person, log lines for anything else."""
    options = server.options
    if sys.stderr.isatty() and options.log_format == "text":
        print(banner(server), file=sys.stderr)
        return
    log.info(
        "started",
        extra=fields(
            version=tellstone_version(),
            shards=options.shards,
            io_threads=options.io_threads,
            driver=options.driver,
            pid=os.getpid(),
        ),
    )
    for listener in server.listeners:
        log.info("listening", extra=fields(protocol=listener.protocol, addr=listener.url))


def stop(server: Server, number: int) -> None:
    """A first signal asks for the end, a second one does not wait for it."""
    if server.stopping:
        log.warning("ended at once", extra=fields(signal=signal.Signals(number).name))
        sys.stderr.flush()
        server.abandon()
        os._exit(128 + number)
    log.info("stopping", extra=fields(signal=signal.Signals(number).name))
    server.stop()
