"""When an engine with a path waits for its disk, and what it does on one that fails.

Each case runs in a process of its own, with a library preloaded that holds syncs back, counts them, and makes disk
calls fail.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import pytest
from disk import asked, run, told
from store.histories import content
from wire import Closed, Wire

from tellstone import Engine, StartError, StorageError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="preloading as Linux has it")


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def refused(write: Callable[[], object], *words: str) -> None:
    with pytest.raises(StorageError, match=r"^MISCONF ") as caught:
        write()
    assert all(word in str(caught.value) for word in words), caught.value


def writes_of(engine: Engine) -> list[Callable[[], object]]:
    """Every way to write, each of which changes something whenever it is called."""
    fresh = iter(range(1_000_000))
    return [
        lambda: engine.set("k", next(fresh)),
        lambda: engine.set("k", next(fresh), ttl=100),
        lambda: engine.persist("k"),
        lambda: engine.expire("k", 100 + next(fresh)),
        lambda: engine.__setitem__("k", next(fresh)),
        lambda: engine.incr("n"),
        lambda: engine.incr("f", 0.5),
        lambda: engine.set_many({"a": next(fresh), "b": next(fresh)}),
        lambda: engine.execute("SET", "x", next(fresh)),
        lambda: engine.execute("MSET", "a", next(fresh), "b", next(fresh)),
        lambda: engine.execute("DEBUG", "POPULATE", 1, f"p{next(fresh)}"),
        lambda: engine.__delitem__("k"),
        lambda: engine.delete("n", "none", "f"),
        lambda: engine.flush(),
    ]


def every_write_waits_for_the_disk(directory: str) -> None:
    with Engine(path=directory, shards=2) as engine:
        engine.execute("CONFIG", "SET", "snapshot-bytes", "0")
        time.sleep(1.2)  # the marks that follow the opening
        for write in writes_of(engine):
            before = asked("syncs")
            write()
            assert asked("syncs") > before, write
    with Engine(path=f"{directory}/lazy", sync="no", shards=2) as engine:
        before = asked("syncs")
        for write in writes_of(engine):
            write()
        assert asked("syncs") == before


def a_wait_is_shared_and_stops_nobody(directory: str) -> None:
    with Engine(path=directory, shards=1) as engine:
        engine["first"] = "x"
        told(hold_sync=1)
        before = asked("syncs")
        returned: list[int] = []

        def write(number: int) -> None:
            engine[f"k{number}"] = number
            returned.append(number)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        wait_for(lambda: all(engine.get(f"k{number}") for number in range(16)))
        assert returned == [] and engine["first"] == b"x"
        told(hold_sync=0)
        for thread in threads:
            thread.join()
        # One that was held, one for all the others, and what the log does by itself.
        assert asked("syncs") - before <= 4


def a_full_disk_refuses_writes_until_it_is_not(directory: str) -> None:
    with Engine(path=f"{directory}/data", shards=2) as engine, engine.listen(f"unix:{directory}/s", io_threads=1):
        engine["k"] = "before"
        told(fail_write=errno.ENOSPC)
        refused(lambda: engine.set("k", "made"), "No space left on device", "the change is made")
        for write in writes_of(engine):
            refused(write, "No space left on device")
        with contextlib.suppress(Closed), Wire(f"{directory}/s") as wire:
            wire.call("GET", "k")  # who waits for an answer when the failure is seen does not get one
        with Wire(f"{directory}/s") as wire:
            assert wire.call("SET", "k", "x").startswith(b"-MISCONF ")
            assert wire.call("GET", "k") == b"$4\r\nmade\r\n"
        assert engine["k"] == b"made" == engine.execute("GET", "k")
        told(fail_write=0)
        wait_for(lambda: written(engine))
        before = content(engine._store)
    with Engine(path=f"{directory}/data") as engine:
        assert content(engine._store) == before and engine["k"] == b"made"


def written(engine: Engine) -> bool:
    try:
        engine["again"] = "x"
    except StorageError:
        return False
    return True


def a_broken_disk_refuses_writes_until_it_is_well(directory: str) -> None:
    with Engine(path=f"{directory}/data", shards=2) as engine, engine.listen(f"unix:{directory}/s"):
        engine["k"] = "before"
        told(fail_sync=errno.EIO)
        with Wire(f"{directory}/s") as wire:
            try:
                raise AssertionError(wire.call("SET", "k", "made"))
            except Closed:  # nobody is told that it is stored
                pass
        for write in writes_of(engine):
            refused(write, "Input/output error")
        refused(engine.snapshot, "no snapshot", "Input/output error")
        assert engine["k"] == b"made"
        told(fail_sync=0)
        wait_for(lambda: written(engine))
        engine.execute("APPEND", "k", " good")
        before = content(engine._store)
        (snapshot,) = os.listdir(f"{directory}/data/snapshots")
    with Engine(path=f"{directory}/data", shards=2) as engine:
        assert content(engine._store) == before and engine["k"] == b"made good"
    assert os.listdir(f"{directory}/data/snapshots") == [snapshot]


def a_lazy_log_tells_later(directory: str) -> None:
    with Engine(path=directory, sync="everysec") as engine:
        told(fail_write=errno.EIO)
        engine["k"] = "not yet seen to fail"
        wait_for(lambda: not written(engine))
        told(fail_write=0)
        wait_for(lambda: written(engine))
    with Engine(path=directory) as engine:
        assert engine["k"] == b"not yet seen to fail"


def closing_tells_what_is_not_on_the_disk(directory: str) -> None:
    engine = Engine(path=directory, sync="no")
    engine.set_many({f"k{n}": n for n in range(10)})
    told(fail_sync=errno.EIO)
    refused(engine.close, "Input/output error")
    assert engine.closed
    engine.close()
    told(fail_sync=0)
    Engine(path=directory).close()


def it_does_not_open_where_nothing_can_be_written(directory: str) -> None:
    told(fail_allocate=errno.ENOSPC)
    with pytest.raises(StartError, match=f"^{directory}: no space left on device$"):
        Engine(path=directory)
    told(fail_allocate=0)
    Engine(path=directory).close()


@pytest.mark.parametrize(
    "case",
    [
        every_write_waits_for_the_disk,
        a_wait_is_shared_and_stops_nobody,
        a_full_disk_refuses_writes_until_it_is_not,
        a_broken_disk_refuses_writes_until_it_is_well,
        a_lazy_log_tells_later,
        closing_tells_what_is_not_on_the_disk,
        it_does_not_open_where_nothing_can_be_written,
    ],
    ids=lambda case: case.__name__,
)
def test_preloaded(case: FunctionType, tmp_path: Path, shim: str) -> None:
    run(case, tmp_path, LD_PRELOAD=shim)
