"""A server that is killed and started again under load: each call has its own answer or a typed error."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from budget import FACTOR
from clients.traffic import Ledger, loops, restarted, run

from tellstone import AsyncClient, Client, ConnectError, ConnectionLostError, TimedOutError

pytestmark = pytest.mark.slow


def hammer(client: Client, number: int, stop: threading.Event, failures: list[Exception]) -> int:
    """Write and read one key until told to stop; answers how often the server has been there."""
    ledger = Ledger(f"writer{number}")
    done = 0
    while not stop.is_set():
        value = ledger.next_value()
        try:
            if done % 2:
                pipe = client.pipeline().set(ledger.key, value)
                for n in range(50):
                    pipe.execute("ECHO", f"{value}:{n}")
                *echoes, read = pipe.get(ledger.key).run()[1:]
                assert echoes == [f"{value}:{n}".encode() for n in range(50)]
                assert read == value.encode()
            else:
                ledger.check(client.get(ledger.key))
                assert client.set(ledger.key, value)
            ledger.stored = ledger.tried
            done += 1
        except (ConnectionLostError, ConnectError, TimedOutError) as failure:
            failures.append(failure)
    return done


def test_killed_and_started_again(tmp_path: Path) -> None:
    """Every call has its own answer or a typed error, whenever the server dies; and when it is back, all goes on."""
    with restarted(tmp_path) as far, Client(port=far.port, connections=7) as client:
        stop = threading.Event()
        failures: list[Exception] = []
        with ThreadPoolExecutor(9) as pool:
            writers = [pool.submit(hammer, client, number, stop, failures) for number in range(8)]
            try:
                for _ in range(max(FACTOR, 1)):
                    asleep = pool.submit(client.execute, "DEBUG", "SLEEP", 10)
                    time.sleep(0.2)
                    far.kill()
                    with pytest.raises(ConnectionLostError, match="may have been carried out"):
                        asleep.result()
                    far.start()
                time.sleep(0.3)
                before = [len(failures), client.set("end", 1)]
                time.sleep(0.2)
                assert [len(failures), client.get("end") == b"1"] == before
            finally:
                stop.set()
            assert all(writer.result() > 10 for writer in writers)
        assert client.get("end") == b"1"


async def hammer_async(client: AsyncClient, number: int, stop: asyncio.Event, failures: list[Exception]) -> int:
    """Write and read one key until told to stop; answers how often the server has been there."""
    ledger = Ledger(f"writer{number}")
    done = 0
    while not stop.is_set():
        value = ledger.next_value()
        try:
            if done % 2:
                pipe = client.pipeline().set(ledger.key, value)
                for n in range(5):
                    pipe.execute("ECHO", f"{value}:{n}")
                *echoes, read = (await pipe.get(ledger.key).run())[1:]
                assert echoes == [f"{value}:{n}".encode() for n in range(5)]
                assert read == value.encode()
            else:
                ledger.check(await client.get(ledger.key))
                assert await client.set(ledger.key, value)
            ledger.stored = ledger.tried
            done += 1
        except (ConnectionLostError, ConnectError, TimedOutError) as failure:
            failures.append(failure)
    return done


def test_killed_and_started_again_under_tasks(tmp_path: Path) -> None:
    """Every call has its own answer or a typed error, whenever the server dies; and when it is back, all goes on."""

    async def work(client: AsyncClient) -> None:
        stop = asyncio.Event()
        failures: list[Exception] = []
        writers = [asyncio.create_task(hammer_async(client, number, stop, failures)) for number in range(32)]
        for _ in range(max(FACTOR, 1)):
            async with AsyncClient(port=far.port) as waiting:
                asleep = asyncio.create_task(waiting.execute("DEBUG", "SLEEP", 10))
                await asyncio.sleep(0.1)
                await asyncio.to_thread(far.kill)
                with pytest.raises(ConnectionLostError, match="may have been carried out"):
                    await asleep
            await asyncio.to_thread(far.start)
        await asyncio.sleep(0.3)
        assert await client.set("end", 1)
        before = len(failures)
        await asyncio.sleep(0.1)
        assert len(failures) == before and await client.get("end") == b"1"
        stop.set()
        assert all(done > 10 for done in await asyncio.gather(*writers))
        assert {type(failure) for failure in failures} <= {ConnectionLostError, ConnectError}

    with restarted(tmp_path) as far:
        run(work, far.port, loops()[-1])
