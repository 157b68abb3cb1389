"""Compile loops.pyx as setup.py compiles the core: with its directives, its flags and its layout stamp.

    python -m benchmarks.micro.build

The loops call the core as the core calls itself, so they have to be an extension; but they measure the product and are
none of it, so they are no module of the package, which would carry them into every wheel. setup.py is read up to the
point where it would build; what it then knows of the core's modules holds for this one too.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_name("loops.pyx").relative_to(ROOT)
OBJECTS = "build/benchmarks"  # apart from the core's, among which setup.py keeps nothing that is not of the core


def build() -> None:
    """Compile in a process of its own, for setup.py has the working directory and standard output for itself."""
    kept = {name: value for name, value in os.environ.items() if name != "TELLSTONE_BUILD"}
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        check=False,
        cwd=ROOT,
        env=kept,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{SOURCE} does not compile:\n{done.stdout}")


def main() -> None:
    import setuptools  # type: ignore[import-untyped]

    distutils = importlib.import_module("distutils.core")  # setuptools' own, now that it has been imported
    project = distutils.run_setup("setup.py", ["build_ext", "--inplace"], stop_after="commandline")
    model = project.ext_modules[0]
    name = ".".join(SOURCE.with_suffix("").parts)
    project.ext_modules = [
        setuptools.Extension(
            name,
            [SOURCE.as_posix()],
            include_dirs=model.include_dirs,
            extra_compile_args=model.extra_compile_args,
            extra_link_args=model.extra_link_args,
        )
    ]
    command = project.get_command_obj("build_ext")
    command.ensure_finalized()
    command.build_temp = str(Path(OBJECTS, Path(command.build_temp).name))
    command.run()


if __name__ == "__main__":
    main()
