"""The clients' benchmark runs and says how many times as many; not whether it is enough."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from rules.cython_source import ROOT
from servers import environment

pytestmark = pytest.mark.slow


def test_it_runs() -> None:
    pytest.importorskip("redis")
    command = [sys.executable, "-m", "benchmarks.client", "--seconds", "0.05"]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^  Client +[\d,]+ requests/s +[\d.]+ times as many$", done.stdout, re.MULTILINE)) == 5
    assert len(re.findall(r"^  AsyncClient +[\d,]+ requests/s +[\d.]+ times as many$", done.stdout, re.MULTILINE)) == 1
