"""The benchmarks run, and what they leave is whole: not how fast anything is."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rules.cython_source import ROOT
from servers import environment, redis_program

from benchmarks.servers import compiled_floor


def package_dir() -> Path | None:
    """Where the package that is tested lies."""
    spec = importlib.util.find_spec("tellstone")
    return Path(spec.origin).parent if spec and spec.origin else None


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="costs are read from /proc"),
    pytest.mark.skipif(package_dir() != ROOT / "tellstone", reason="they measure the build in the checkout"),
]


def run(module: str, *words: str) -> str:
    """Run a program of the benchmarks; what it prints."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *words]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def outputs(directory: Path) -> list[str]:
    return ["--json", str(directory / "results.json"), "--plot", str(directory / "plot.png")]


def left_in(directory: Path) -> dict[str, Any]:
    """The results; the picture is one, where there is what draws it."""
    if importlib.util.find_spec("matplotlib"):
        assert (directory / "plot.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    results: dict[str, Any] = json.loads((directory / "results.json").read_text())
    return results


def check(point: dict[str, Any], servers: set[str]) -> None:
    assert point["failed"] == {}
    assert set(point["costs"]) == servers
    for cost in point["costs"].values():
        assert 0 < cost["cpu_ns"] < 10**9
        assert cost["throughput"] > 0
        assert 0 < cost["p50_us"] <= cost["p99_us"]


def test_compare(tmp_path: Path) -> None:
    servers = {"native"} | ({"floor"} if compiled_floor() else set()) | ({"redis"} if redis_program() else set())
    chosen = ["--servers", ",".join(sorted(servers)), "--only", "mix-c16-p10-v256", "--keys", "500"]
    printed = run("compare", "--quick", "--seconds", "0.1", *chosen, *outputs(tmp_path))
    results = left_in(tmp_path)
    assert set(results["servers"]) == servers
    [case] = results["cases"]
    assert (case["name"], case["keys"]) == ("mix-c16-p10-v256", 500)
    check(case, servers)
    assert "mix-c16-p10-v256" in printed


def test_scaling(tmp_path: Path) -> None:
    sizes = ["--keys", "500", "--connections", "2"]
    run("scaling", "--quick", "--seconds", "0.1", *sizes, *outputs(tmp_path))
    results = left_in(tmp_path)
    assert [(point["mode"], point["keys"]) for point in results["keys"]] == [("get", 500), ("set", 500)]
    assert [(point["mode"], point["connections"]) for point in results["connections"]] == [("get", 2), ("set", 2)]
    for point in [*results["keys"], *results["connections"]]:
        check(point, {"tellstone"})


@pytest.mark.skipif(not redis_program(), reason="redis-server is not installed")
def test_durable(tmp_path: Path) -> None:
    printed = run("durable", "--quick", "--keys", "500", "--seconds", "0.2", "--json", str(tmp_path / "results.json"))
    lines = json.loads((tmp_path / "results.json").read_text())["lines"]
    assert [line["name"].partition(":")[0].strip() for line in lines] == [
        *("always", "everysec", "the same of Redis", "recovery"),
        *("snapshot", "the same of Redis and its child", "snapshot", "the same of Redis"),
    ]
    for line in lines:
        assert line["name"] in printed
        assert len(line["figures"]) == 2 and min(line["figures"].values()) > 0 and line["ratio"] > 0


def test_a_load_with_every_value_compared() -> None:
    printed = run("load", "--duration", "100ms", "--load", "--verify", "--keyspace", "500", "--ratio", "1:10")
    assert " 0 wrong" in printed
    assert "the server on core" in printed


def test_hit_ratio(tmp_path: Path) -> None:
    policies = ["tellstone:allkeys-s3fifo", "tellstone:allkeys-lru"] + (
        ["redis:allkeys-lfu"] if redis_program() else []
    )
    printed = run("hit_ratio", "--quick", "--policies", ",".join(policies), *outputs(tmp_path))
    results = left_in(tmp_path)
    assert [(trace["skew"], trace["scans"], trace["room"]) for trace in results["traces"]] == [
        (skew, scans, room) for skew in (0.9, 1.1) for scans in (False, True) for room in (0.01, 0.1)
    ]
    for trace in results["traces"]:
        assert list(trace["policies"]) == policies
        for name, found in trace["policies"].items():
            assert name in printed
            assert 0 < found["ratio"] < 1
            assert 0 < found["held"] < results["keys"] / 2


def test_micro(tmp_path: Path) -> None:
    pytest.importorskip("Cython")
    pytest.importorskip("pytest_benchmark")
    printed = run("micro", "--quick", "-k", "decode or dispatch", f"--benchmark-json={tmp_path / 'micro.json'}")
    found = {
        item["extra_info"]["figure"]: item["extra_info"]
        for item in json.loads((tmp_path / "micro.json").read_text())["benchmarks"]
    }
    assert set(found) == {
        "native decode of a frame",
        "native decode in a row of 64",
        "dispatch of a GET",
        "dispatch of a SET",
    }
    for name, figure in found.items():
        assert 0 < figure["best_ns"] <= figure["median_ns"]
        assert name in printed
