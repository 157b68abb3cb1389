"""Engines and os.fork: a child may read, and what is on the disk stays its parent's.

Each case is a process of its own: it forks, and its child says on standard output what it has found. A child that says
nothing, or hangs, fails the test.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import pytest
from disk import call_of, environment

from tellstone import Engine, StorageError

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="forks as Linux has them")


def outcome(case: FunctionType, directory: Path, *words: str) -> list[str]:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", call_of(case), str(directory), *words]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def say(line: object) -> None:
    os.write(1, f"{line}\n".encode())


def wait(child: int) -> None:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def result_of(call: Callable[[], object]) -> str:
    try:
        return repr(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def files(directory: str) -> dict[str, str]:
    """All that is there, and a digest of what it holds."""
    found = sorted(path for path in Path(directory).rglob("*") if path.is_file())
    return {str(path): f"{path.stat().st_mtime_ns} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in found}


def state_of(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


# Its parent's files ---------------------------------------------------------------------------------------------------


def fork_and_try_everything(directory: str) -> None:
    """While the child is at it, its parent stands still: what changes in the directory is the child's doing."""
    engine = Engine(path=directory)
    engine.set_many({f"k{n}": n for n in range(1000)})
    engine.execute("SET", "timed", "x", "PX", 50)
    time.sleep(0.1)
    parent = os.getpid()
    child = os.fork()
    if child:
        wait(child)
        engine["after"] = "the child"
        engine.snapshot()
        engine["last"] = "x"
        engine.close()
        return
    os.kill(parent, signal.SIGSTOP)
    while state_of(parent) != "T":
        time.sleep(0.001)
    before = files(directory)
    say(len(before) > 8)
    calls: list[Callable[[], object]] = [
        lambda: (engine["k7"], engine.execute("GET", "k8"), engine.get("timed"), len(engine), sum(1 for _ in engine)),
        lambda: engine.set("k", "v"),
        lambda: engine.set_many({"k": "v"}),
        lambda: engine.__setitem__("k", "v"),
        lambda: engine.delete("k1"),
        lambda: engine.incr("n"),
        lambda: engine.expire("k1", 5),
        engine.flush,
        engine.snapshot,
        lambda: engine.snapshot(wait=False),
        lambda: engine.execute("SET", "k", "v"),
        lambda: engine.execute("FLUSHALL"),
        lambda: engine.execute("SAVE"),
        lambda: engine.execute("BGSAVE"),
        lambda: engine.execute("CONFIG", "SET", "wal-sync", "no"),
        lambda: Engine(path=directory),
        lambda: (engine["k7"], len(engine)),
    ]
    for call in calls:
        say(result_of(call))
    time.sleep(0.3)  # threads of the log's would have done something by now
    grandchild = os.fork()
    if grandchild == 0:
        say(result_of(lambda: engine.set("k", "v")))
        sys.exit(0)  # with all that an interpreter does at its end
    wait(grandchild)
    say(result_of(engine.close))
    say(files(directory) == before)
    os.kill(parent, signal.SIGCONT)


def test_a_child_reads_and_touches_nothing(tmp_path: Path) -> None:
    lines = outcome(fork_and_try_everything, tmp_path)
    belongs = "the engine belongs to the parent process, of which this one is a fork"
    assert lines[0] == "True"
    assert lines[1] == "(b'7', b'8', None, 1000, 1000)"
    for line in [*lines[2:15], lines[18]]:
        assert line.startswith("StorageError: MISCONF ") and line.endswith(belongs), line
    assert lines[15] == "True"
    assert lines[16].startswith(f"StartError: path {tmp_path} is in use by process ")
    assert lines[17:] == ["(b'7', 1000)", lines[18], "None", "True"]
    with Engine(path=tmp_path) as engine:
        assert len(engine) == 1002 and engine["after"] == b"the child" and engine["last"] == b"x"


def fork_and_close_before_the_child(directory: str) -> None:
    engine = Engine(path=directory)
    engine["k"] = "v"
    child_reads, parent_writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(parent_writes)
        os.read(child_reads, 1)
        say(result_of(lambda: engine["k"]))
        os._exit(0)
    engine["k"] = "parent's"
    engine.close()
    with Engine(path=directory) as again:
        again["k"] = "opened again"
        os.write(parent_writes, b"x")
        wait(child)
    say("done")


def test_a_child_does_not_keep_the_directory(tmp_path: Path) -> None:
    assert outcome(fork_and_close_before_the_child, tmp_path) == ["b'v'", "done"]
    with Engine(path=tmp_path) as engine:
        assert engine["k"] == b"opened again"


# At any moment --------------------------------------------------------------------------------------------------------


def fork_in_the_thick_of_it(directory: str, kept: str) -> None:
    """Forks while other threads hold every lock there is, now and then."""
    engine = Engine(path=directory, shards=2) if kept else Engine(shards=2)
    done = threading.Event()

    def write(which: int) -> None:
        number = 0
        while not done.is_set():
            number += 1
            if which == 0:
                engine.set(f"k{number % 1000}", "v" * (number % 3000), ttl=0.01 if number % 3 else None)
            elif which == 1:
                engine.execute("MSET", "a", number, "b", number)
            elif number % 10 == 0:
                engine.flush()
            else:
                engine.execute("SLOWLOG", "GET")

    engine.execute("CONFIG", "SET", "slowlog-log-slower-than", 0)
    threads = [threading.Thread(target=write, args=(which,), daemon=True) for which in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(40):
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            in_the_child(engine, kept)
            os._exit(0)
        wait(child)
    done.set()
    for thread in threads:
        thread.join()
    engine.flush()
    engine["last"] = "x"
    engine.close()


def in_the_child(engine: Engine, kept: str) -> None:
    assert engine.execute("GET", "a") == engine.execute("GET", "b") == engine.get("a")  # a change of two keys is whole
    assert sum(1 for _ in engine) <= 1003
    engine.execute("SLOWLOG", "GET")
    if kept:
        try:
            engine["k"] = "v"
            raise AssertionError("written")
        except StorageError:
            return
    engine.flush()
    engine.set_many({f"child:{n}": "v" * 100 for n in range(2000)})
    assert len(engine) == 2000 and engine.execute("INCR", "n") == 1
    engine.close()


@pytest.mark.parametrize("kept", ["", "kept"])
def test_a_child_finds_no_lock_that_nobody_holds(tmp_path: Path, kept: str) -> None:
    assert outcome(fork_in_the_thick_of_it, tmp_path, kept) == []
    if kept:
        with Engine(path=tmp_path) as engine:
            assert list(engine) == [b"last"]


def fork_and_live_on(directory: str) -> None:
    engine = Engine(evict_interval=0.02)
    engine.set("k", "v", ttl=0.05)
    child = os.fork()
    if child == 0:
        end = time.monotonic() + 20
        while engine._store.sizes()[0][0] and time.monotonic() < end:  # not a read, which would not count it either
            time.sleep(0.01)
        say(engine._store.sizes()[0][0])
        engine["k"] = "child's"
        with engine.listen(f"unix:{directory}/s"):
            say(result_of(lambda: engine["k"]))
        sys.exit(0)
    wait(child)
    say(result_of(lambda: engine.get("k")))


def test_an_engine_in_memory_lives_on_in_a_child(tmp_path: Path) -> None:
    assert outcome(fork_and_live_on, tmp_path) == ["0", 'b"child\'s"', "None"]
