"""ioredis and node-redis in both protocols: whole sessions, a restart of the server, and a cluster of one node.

What they have to see is in node/*.mjs. The packages are those of node/package-lock.json; they are installed once, into
pytest's cache.
"""

from __future__ import annotations

import hashlib
import re
import select
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from servers import Server
from shell.started import LISTENING, Started

SOURCES = Path(__file__).parent / "node"
OLDEST = 20  # what the packages ask for
UNREACHABLE = re.compile(r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH)\b")
SECONDS = 60

# Script, package and protocol. ioredis 5 speaks RESP2 alone, and is what most programs still have.
FLAVOURS = [
    *(("ioredis", "ioredis", 2), ("ioredis", "ioredis", 3), ("ioredis", "ioredis5", 2)),
    *(("node_redis", "redis", 2), ("node_redis", "redis", 3)),
]
Flavour = tuple[str, str, int]
each_flavour = pytest.mark.parametrize("flavour", FLAVOURS, ids=lambda flavour: "{1} resp{2}".format(*flavour))

pytestmark = pytest.mark.slow


def node_version() -> int:
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not installed")
    text = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    return int(text.removeprefix("v").split(".")[0])


def install(place: Path) -> None:
    """Install the packages in a directory of their own, which appears when it is complete."""
    with tempfile.TemporaryDirectory(dir=place.parent) as name:
        building = Path(name) / "packages"
        building.mkdir()
        for file in ("package.json", "package-lock.json"):
            shutil.copy(SOURCES / file, building)
        command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"]
        done = subprocess.run(command, cwd=building, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode and UNREACHABLE.search(done.stderr):
            pytest.skip("the npm registry cannot be reached")
        assert done.returncode == 0, done.stderr
        if not place.exists():  # else another run was faster
            building.rename(place)


@pytest.fixture(scope="module")
def scripts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts beside the packages that they import."""
    if (version := node_version()) < OLDEST:
        pytest.skip(f"node {version} is older than {OLDEST}")
    digest = hashlib.sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()
    packages = request.config.cache.mkdir("node") / digest[:16]
    if not packages.exists():
        install(packages)
    directory = tmp_path_factory.mktemp("node")
    (directory / "node_modules").symlink_to(packages / "node_modules")
    for file in (SOURCES / "package.json", *SOURCES.glob("*.mjs")):
        shutil.copy(file, directory)
    return directory


def node(scripts: Path, flavour: Flavour, scenario: str, address: tuple[str, int]) -> subprocess.Popen[str]:
    script, package, proto = flavour
    words = ["node", f"{script}.mjs", package, scenario, address[0], str(address[1]), str(proto)]
    return subprocess.Popen(
        words, cwd=scripts, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finish(process: subprocess.Popen[str], said: str = "") -> None:
    """Say something, and wait for a good end."""
    try:
        output, _ = process.communicate(said, SECONDS)
    finally:
        process.kill()
    assert process.returncode == 0, output


@each_flavour
def test_a_session(scripts: Path, flavour: Flavour, server: Server) -> None:
    finish(node(scripts, flavour, "session", server.address))


@each_flavour
def test_a_cluster(scripts: Path, flavour: Flavour, cluster: Server) -> None:
    finish(node(scripts, flavour, "cluster", cluster.address))


def served(address: str) -> tuple[Started, tuple[str, int]]:
    running = Started("--enable-resp", "--resp-addr", address)
    found = LISTENING.search(running.line("listening"))
    assert found
    return running, (found[1], int(found[2]))


def test_a_restart(scripts: Path) -> None:
    """Clients wait for a server that is away, and are again what they were: protocol, database, requests that wait."""
    first, address = served("127.0.0.1:0")
    clients = [node(scripts, flavour, "restart", address) for flavour in FLAVOURS]
    second = None
    try:
        for client in clients:
            assert client.stdout is not None
            assert select.select([client.stdout], [], [], SECONDS)[0]
            assert client.stdout.readline() == "ready\n", client.stdout.read()
        first.signal(signal.SIGTERM)
        assert first.end() == 0
        second, again = served("{}:{}".format(*address))
        assert again == address
        for client in clients:
            finish(client, "there is a server\n")
        second.signal(signal.SIGTERM)
        assert second.end() == 0
    finally:
        for process in (*clients, first.process, *([second.process] if second else [])):
            process.kill()
            process.wait()
