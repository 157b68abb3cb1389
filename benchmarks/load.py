"""One load on a server of this checkout: the server on one half of the cores, `tellstone bench` on the other.

    python -m benchmarks.load --protocol native --duration 10 --pipeline 16
    python -m benchmarks.load --load --read-ratio 1 --verify

Options that are not named below are those of `tellstone bench`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.generators import TellstoneBench
from benchmarks.servers import KINDS, NS, ROOT, environment, pinned, started, tellstone_command
from benchmarks.setting import cores_of

KIND = {"resp": "tellstone", "native": "native"}


def arguments(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.load",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # what begins like one of these may be an option of `tellstone bench`
    )
    parser.add_argument("--protocol", choices=KIND, default="resp", help="[resp]")
    parser.add_argument("--ratio", default="", metavar="WRITES:READS", help="instead of --read-ratio")
    parser.add_argument("--duration", default="10", metavar="SECONDS", help="or a duration as 500ms [10]")
    parser.add_argument("--value-size", default="256", metavar="BYTES", help="[256]")
    parser.add_argument(
        "--io-threads", type=int, default=0, metavar="N", help="of the server [one for each of its cores]"
    )
    parser.add_argument("--server-cores", default="", metavar="N,...", help="[the first half]")
    parser.add_argument("--load-cores", default="", metavar="N,...", help="[the other half]")
    return parser.parse_known_args(words)


def read_share(ratio: str) -> float:
    """The share of reads in WRITES:READS. Raises ValueError."""
    writes, reads = map(float, ratio.split(":"))
    return reads / (writes + reads)


def main(words: Sequence[str]) -> int:
    """The exit status is that of `tellstone bench`: 1 if an answer was an error, wrong or missing."""
    options, rest = arguments(words)
    cores = cores_of(options.server_cores, options.load_cores)
    native = options.protocol == "native"
    command = partial(tellstone_command, threads=options.io_threads or len(cores.servers), native=native)
    kind = replace(KINDS[KIND[options.protocol]], command=command)
    duration = f"{options.duration}s" if options.duration.isdigit() else options.duration
    if options.ratio:
        rest += ["--read-ratio", f"{read_share(options.ratio):.6f}"]
    with tempfile.TemporaryDirectory() as directory:
        server = started(kind, sys.executable, cores.servers, Path(directory))
        try:
            where = ["--addr", server.address, "--protocol", options.protocol, "--threads", str(len(cores.load))]
            bench = [*TellstoneBench.program, *where, "--duration", duration, "--value-size", options.value_size, *rest]
            before = server.cpu()
            status = subprocess.run(pinned(bench, cores.load), cwd=ROOT, env=environment(kind), check=False).returncode
            used = f"{(server.cpu() - before).total_ns / NS:.2f} s of CPU, {server.memory_bytes() / 2**20:,.0f} MiB"
            print(f"the server on core {','.join(map(str, cores.servers))}: {used}")
        finally:
            server.stop()
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
