"""Servers to measure: where each comes from, how it is started on the cores set aside for servers, and what it costs.

All run as they would for a cache on this machine: on loopback, without persistence, on as many threads as their name
says and one otherwise. Costs are read from /proc, so measuring needs Linux. Programs that are not installed are left
out.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOOR_SOURCE = Path(__file__).with_name("floor.c")
FLOOR_PROGRAM = ROOT / "build" / "benchmarks" / "floor"
START_SECONDS = 30.0
STOP_SECONDS = 15.0
CLIENTS = 20_000
HOST = "127.0.0.1"
NS = 10**9


@dataclass(frozen=True)
class Start:
    """What a server is started with."""

    program: str
    port: int  # where the load comes
    other: int  # for a server that listens at two
    value: int  # bytes of the values that are read


@dataclass(frozen=True)
class Kind:
    """A server. `command` is the command line that starts it."""

    name: str
    title: str
    command: Callable[[Start], list[str]]
    programs: tuple[str, ...] = ()  # names to look for; none: it comes with this checkout
    protocol: str = "resp"
    environment: Mapping[str, str] = field(default_factory=dict)


def tellstone_command(start: Start, threads: int = 1, *, native: bool = False) -> list[str]:
    resp, own = (start.other, start.port) if native else (start.port, start.other)
    where = ["--addr", f"{HOST}:{own}", "--enable-resp", "--resp-addr", f"{HOST}:{resp}"]
    limits = ["--io-threads", str(threads), "--max-clients", str(CLIENTS), "--log-level", "error"]
    return [start.program, "-m", "tellstone", *where, *limits]


def redis_command(start: Start) -> list[str]:
    limits = ["--save", "", "--appendonly", "no", "--maxclients", str(CLIENTS)]
    return [start.program, "--bind", HOST, "--port", str(start.port), *limits]


def dragonfly_command(start: Start) -> list[str]:
    limits = ["--proactor_threads=1", "--dbfilename=", f"--maxclients={CLIENTS}"]
    return [start.program, f"--bind={HOST}", f"--port={start.port}", *limits]


def memcached_command(start: Start) -> list[str]:
    limits = ["-U", "0", "-t", "1", "-c", str(CLIENTS), "-m", "65536"]
    user = ["-u", "root"] if os.geteuid() == 0 else []
    return [start.program, "-l", HOST, "-p", str(start.port), *limits, *user]


def original_command(start: Start) -> list[str]:
    return [start.program, "--addr", f"{HOST}:{start.other}", "--enable-resp", "--resp-addr", f"{HOST}:{start.port}"]


def floor_command(start: Start) -> list[str]:
    return [start.program, str(start.port), str(start.value)]


KINDS = {
    kind.name: kind
    for kind in (
        Kind("floor", "floor", floor_command),
        Kind("tellstone", "Tellstone", tellstone_command),
        Kind("tellstone-2", "Tellstone, 2 threads", partial(tellstone_command, threads=2)),
        Kind("native", "Tellstone, native protocol", partial(tellstone_command, native=True), protocol="native"),
        Kind("redis", "Redis", redis_command, ("redis-server",)),
        Kind("valkey", "Valkey", redis_command, ("valkey-server",)),
        Kind("dragonfly", "Dragonfly", dragonfly_command, ("dragonfly",)),
        Kind("memcached", "memcached", memcached_command, ("memcached",), protocol="memcache"),
        # Its program has the name of ours, so it is never looked for.
        Kind("original", "Tellstone in Go", original_command, ("",), environment={"GOMAXPROCS": "1"}),
    )
}


# Programs


def program_of(kind: Kind, given: Mapping[str, str]) -> str | None:
    """The program of a server, None where there is none. `given`: paths by name, before all others."""
    if kind.name in given:
        return shutil.which(given[kind.name])
    if kind.name == "floor":
        return compiled_floor()
    if not kind.programs:
        return sys.executable
    return next(filter(None, map(shutil.which, filter(None, kind.programs))), None)


def compiled_floor() -> str | None:
    """Compile floor.c if that has not been done since it changed; None without a compiler, or Linux."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if sys.platform != "linux" or compiler is None:
        return None
    if not FLOOR_PROGRAM.exists() or FLOOR_PROGRAM.stat().st_mtime < FLOOR_SOURCE.stat().st_mtime:
        FLOOR_PROGRAM.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([compiler, "-O2", "-o", str(FLOOR_PROGRAM), str(FLOOR_SOURCE)], check=True)
    return str(FLOOR_PROGRAM)


def version_of(program: str) -> str:
    """What the program says of itself, "" where it says nothing."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            [program, "--version"], check=False, capture_output=True, text=True, timeout=START_SECONDS
        )
        if match := re.search(r"\d+\.\d+[\w.]*", done.stdout):
            return match.group()
    return ""


def environment(kind: Kind) -> dict[str, str]:
    """Ours, with this checkout's package, and without a user's options for servers."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TSD_")}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return kept | {"PYTHONPATH": os.pathsep.join(paths), "TSD_LOG_LEVEL": "error"} | dict(kind.environment)


# Cores


@dataclass(frozen=True)
class Cores:
    """Which cores serve, and which make the load."""

    servers: tuple[int, ...]
    load: tuple[int, ...]

    @classmethod
    def halves(cls) -> Cores:
        """Half of what there is for each; a single core is shared."""
        usable = sorted(os.sched_getaffinity(0))
        half = max(1, len(usable) // 2)
        return cls(tuple(usable[:half]), tuple(usable[half:] or usable))


def pinned(command: Sequence[str], cores: Sequence[int]) -> list[str]:
    """The command on these cores, where there is a taskset."""
    taskset = shutil.which("taskset")
    return [taskset, "-c", ",".join(map(str, cores)), *command] if taskset else list(command)


# Processes


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@dataclass(frozen=True)
class Cpu:
    """Time on a processor, and the system's coarse count of how much was in the program's own code and how much in the
    system's for it.
    """

    total_ns: int
    user_ticks: int
    system_ticks: int

    def __sub__(self, other: Cpu) -> Cpu:
        return Cpu(
            self.total_ns - other.total_ns, self.user_ticks - other.user_ticks, self.system_ticks - other.system_ticks
        )

    @property
    def own_ns(self) -> float:
        """In the program's own code."""
        return self.total_ns * self.user_ticks / max(1, self.user_ticks + self.system_ticks)


@dataclass
class Server:
    """A running server."""

    kind: Kind
    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def cpu(self) -> Cpu:
        """Of the process with all its threads so far."""
        place = Path(f"/proc/{self.process.pid}")
        user, system = map(int, (place / "stat").read_text().rsplit(")", 1)[1].split()[11:13])
        total = sum(int(task.read_text().split()[0]) for task in place.glob("task/*/schedstat"))
        return Cpu(total or (user + system) * NS // os.sysconf("SC_CLK_TCK"), user, system)

    def memory_bytes(self) -> int:
        """What of its memory is in use."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def open_files(self) -> int:
        """Connections, and some more."""
        place = f"/proc/{self.process.pid}/fd"
        return os.stat(place).st_size or len(os.listdir(place))  # newer systems say the number as a size

    def answers(self) -> bool:
        try:
            socket.create_connection((HOST, self.port), 0.5).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def started(kind: Kind, program: str, cores: Sequence[int], directory: Path, *, value: int = 256) -> Server:
    """Start a server; it accepts connections when this returns."""
    given = Start(program, free_port(), free_port(), value)
    log = directory / f"{kind.name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            pinned(kind.command(given), cores),
            cwd=directory,
            env=environment(kind),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    server = Server(kind, process, given.port, log)
    end = time.monotonic() + START_SECONDS
    while not server.answers():
        if process.poll() is not None or time.monotonic() > end:
            server.stop()
            raise RuntimeError(f"{kind.name} does not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.02)
    return server


def descriptors() -> int:
    """How many files a process may have open: as many as this one may allow itself, which those it starts inherit."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = 1 << 20 if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


@contextlib.contextmanager
def running(programs: Mapping[str, str], cores: Sequence[int], *, value: int = 256) -> Iterator[list[Server]]:
    """Servers by their kinds' names and programs; all are stopped at the end."""
    descriptors()
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        servers = []
        for name, program in programs.items():
            server = started(KINDS[name], program, cores, Path(directory), value=value)
            stack.callback(server.stop)
            servers.append(server)
        yield servers
