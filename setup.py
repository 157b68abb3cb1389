"""The Cython build: every `.pyx` below `tellstone/_core` becomes an extension, in parallel and incrementally.

Everything that is not code generation is in pyproject.toml. Here are the compiler directives (nowhere else, never in a
source), the C flags of each kind of build, and the bookkeeping that makes a warm rebuild cheap and a stale one
impossible.

Kinds, chosen by TELLSTONE_BUILD: release (the default), debug, asan, ubsan, tsan, coverage. A kind keeps its objects in
`build/<kind>/`. Only `release` is ever copied into the source tree or a wheel; every other kind is a tree of its own,
made by `python setup.py build` and used with PYTHONPATH=build/<kind>/lib.

Two steps, each skipped for a module when nothing it depends on has changed:

1. `.pyx` to C, one Cython process per module: build/cython/lines/... The `.dep` file which Cython writes beside the C
   names all `.pxd` files that went in. Interpreters and kinds share this step. Kinds whose tools report lines of `.pyx`
   files compile this C; the others compile build/cython/plain/..., which is the same without its `#line`s.
2. C to an extension: build/<kind>/<abi>/... It depends on the C file and on a stamp of everything else that matters:
   the compiler, the flags, and the digest of all `.pxd` and `.h` files, which is also compiled into every module
   (tellstone/_core/base/stamp.pxd).
"""

import contextlib
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError, CompileError

# Every path below is relative, so that neither C files nor their `#line`s name this machine.
os.chdir(Path(__file__).resolve().parent)

CORE = Path("tellstone/_core")
BUILD = Path("build")
KINDS = ("release", "debug", "asan", "ubsan", "tsan", "coverage")
KIND = os.environ.get("TELLSTONE_BUILD") or "release"
if KIND not in KINDS:
    sys.exit(f"TELLSTONE_BUILD={KIND}: expected one of {' '.join(KINDS)}")

# Kinds whose tools report `.pyx` lines: `#line` costs nothing at run time, but hides the C from gdb and perf.
LINES = KIND in ("asan", "ubsan", "tsan", "coverage")
LINE = re.compile(rb'\n#line \d+ "[^"\n]*"\n')  # as Cython writes it: between an end of line and the next line
CYTHON_OUT = BUILD / "cython"
ABI = sysconfig.get_config_var("SOABI") or f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"

DIRECTIVES = {
    "language_level": "3",
    "boundscheck": "False",
    "wraparound": "False",
    "cdivision": "True",
    "initializedcheck": "False",
    "embedsignature": "True",
    "binding": "True",
    "freethreading_compatible": "True",
    "auto_pickle": "False",
    "autotestdict": "False",
    "profile": "False",
    "linetrace": "False",
}

SANITIZE = ["-O1", "-g", "-fno-omit-frame-pointer"]
POSIX_FLAGS = {
    "release": ["-O2", "-g1"],
    "debug": ["-Og", "-g3"],
    "asan": [*SANITIZE, "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "ubsan": [*SANITIZE, "-fsanitize=undefined", "-fno-sanitize-recover=all"],
    "tsan": [*SANITIZE, "-fsanitize=thread"],
    "coverage": ["-O0", "-g", "--coverage"],
}
POSIX_LINK = {
    "asan": ["-fsanitize=address,undefined"],
    "ubsan": ["-fsanitize=undefined"],
    "tsan": ["-fsanitize=thread"],
    "coverage": ["--coverage"],
}
# Warnings of our own code are wanted; the four that are off are only ever about the code that Cython wraps around it.
POSIX_WARNINGS = [
    *["-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-unused-function"],
    *["-Wno-missing-field-initializers", "-Wno-cast-function-type"],
]


def jobs():
    """How many processes a step may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def layout_digest():
    """One 64-bit number over all `.pxd` and `.h` files: every struct, inline function and signature between modules."""
    digest = hashlib.sha256()
    for path in sorted(CORE.rglob("*")):
        if path.suffix in (".pxd", ".h"):
            data = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{path.as_posix()}\0{len(data)}\0".encode())
            digest.update(data)
    return digest.hexdigest()[:16]


def c_options():
    """Compile flags and link flags of this kind of build."""
    if sys.platform == "win32":
        compile_args = ["/Od", "/Zi"] if KIND == "debug" else ["/O2"]
        return [*compile_args, "/W3", "/std:c17"], []
    compile_args = ["-fvisibility=hidden", "-fno-strict-aliasing", *POSIX_WARNINGS, *POSIX_FLAGS[KIND]]
    # x86-64-v2 is our baseline. get_platform() names what is built for, not the machine: universal2 is not x86-64.
    if sysconfig.get_platform().endswith("x86_64") and "arm64" not in os.environ.get("ARCHFLAGS", ""):
        compile_args += ["-msse4.2", "-mpopcnt"]
    compile_args += os.environ.get("TELLSTONE_CFLAGS", "").split()  # "-O0 -g0": built soon rather than fast
    return [*compile_args, "-pthread"], ["-pthread", *POSIX_LINK.get(KIND, [])]


def discover():
    """One extension per `.pyx`; the file's place is its name."""
    compile_args, link_args = c_options()
    headers = sorted(p.as_posix() for p in CORE.rglob("*") if p.suffix in (".pxd", ".h"))  # for the source distribution
    return [
        Extension(
            ".".join(pyx.with_suffix("").parts),
            [pyx.as_posix()],
            include_dirs=[".", (CORE / "base").as_posix()],
            extra_compile_args=compile_args,
            extra_link_args=link_args,
            depends=headers,
        )
        for pyx in sorted(CORE.rglob("*.pyx"))
    ]


def write_if_changed(path, text):
    """Leave the time of an unchanged file alone: times are what the steps compare."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def fresh(target, sources):
    """Whether target exists and is newer than every source; a missing source makes it stale."""
    try:
        made = target.stat().st_mtime_ns
        return all(Path(source).stat().st_mtime_ns < made for source in sources)
    except OSError:
        return False


def dep_sources(dep):
    """The files of ours that a `.dep` of Cython (make's syntax) lists, or None without one.

    Cython's own declarations come with its version, which is looked at elsewhere, and stand in an environment that pip
    may throw away after the build.
    """
    with contextlib.suppress(OSError):
        body = dep.read_text().partition(":")[2].replace("\\\n", " ")
        names = [name.replace("\\ ", " ") for name in re.split(r"(?<!\\)\s+", body) if name]
        return [name for name in names if "/Cython/Includes/" not in name.replace("\\", "/")]
    return None


def cython_module(ext):
    """Turn one `.pyx` into C. Returns the C file, and what Cython had to say if it said anything.

    The build fails on any word from Cython: errors, warnings, and the performance hints which `-Werror` leaves alone (a
    hint means that a call takes the GIL behind our back). Cython is silent about a module it likes, so nothing here
    depends on how a hint is worded; a process per module keeps the messages of parallel compilations apart. A module
    with a complaint leaves no C file, so the next build complains again.
    """
    source = ext.sources[0]
    lines, plain = (CYTHON_OUT / kind / Path(source).with_suffix(".c") for kind in ("lines", "plain"))
    target = lines if LINES else plain
    dep = lines.with_name(lines.name + ".dep")
    sources = dep_sources(dep)
    if sources and all(fresh(made, [*sources, CYTHON_OUT / "options"]) for made in (lines, plain)):
        return target, ""
    sys.stdout.write(f"cython {source}\n")
    for made in (lines, plain):
        made.parent.mkdir(parents=True, exist_ok=True)
        made.unlink(missing_ok=True)
    begun = time.time()
    command = [sys.executable, "-W", "ignore", "-m", "cython", "-3", "--depfile", "--line-directives", "-I", "."]
    command += ["--module-name", ext.name, "-o", str(lines)]
    command += [word for item in DIRECTIVES.items() for word in ("-X", "=".join(item))]
    done = subprocess.run(
        [*command, source], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    said = done.stdout.strip()
    if done.returncode or said:
        lines.unlink(missing_ok=True)
        return target, said or f"{source}: Cython ended with status {done.returncode}"
    plain.write_bytes(LINE.sub(b"", lines.read_bytes()))
    for made in (lines, plain):
        os.utime(made, (begun, begun))  # so that a source saved while Cython ran counts as newer
    return target, ""


@contextlib.contextmanager
def build_lock():
    """One build at a time in a tree; the second waits, and then finds most of its work done."""
    BUILD.mkdir(exist_ok=True)
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(BUILD / ".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class BuildExt(build_ext):
    """build_ext with both steps incremental, whatever temporary directories pip hands in."""

    def finalize_options(self):
        super().finalize_options()
        self.build_temp = str(BUILD / KIND / ABI)
        self.parallel = self.parallel or jobs()

    def run(self):
        """Make every module that can be made, then fail if one could not: it must not hold up its neighbours."""
        if self.inplace and KIND != "release":
            raise BaseError(
                f"{KIND} modules do not go into the source tree: run `python setup.py build` and use "
                f"PYTHONPATH=build/{KIND}/lib"
            )
        self.complaints = []
        with build_lock():
            self.cythonize()
            # Extensions are made and kept in our own directory, then copied to where they are wanted: a wheel, an
            # editable install or the source tree. copy_file unlinks before it writes, so a running server keeps the
            # module that it has loaded.
            wanted, self.build_lib = self.build_lib, str(Path(self.build_temp) / "lib")
            try:
                super().run()
                if not self.inplace and Path(self.build_lib).exists():
                    self.copy_tree(self.build_lib, wanted)
            finally:
                self.build_lib = wanted
            self.prune(CORE if self.inplace else Path(wanted) / CORE)
        if self.complaints:
            print(*self.complaints, sep="\n\n", file=sys.stderr, flush=True)
            raise CompileError(f"{len(self.complaints)} failed; Cython's warnings and performance hints are errors")

    def cythonize(self):
        """Step 1 for all modules."""
        from Cython import __version__ as cython_version  # only a build needs Cython: metadata commands do without

        write_if_changed(CYTHON_OUT / "options", f"Cython {cython_version}\n{DIRECTIVES}\n")
        with ThreadPoolExecutor(self.parallel) as pool:
            results = list(zip(self.extensions, pool.map(cython_module, self.extensions), strict=True))
        self.complaints += [said for _, (_, said) in results if said]
        self.extensions[:] = [ext for ext, (_, said) in results if not said]
        for ext, (target, said) in results:
            if not said:
                ext.sources = [target.as_posix()]

    def build_extensions(self):
        """Step 2 for all modules. Removes what is no module any more: the directory is copied as a whole."""
        macros = [("TELLSTONE_LAYOUT", f"0x{layout_digest()}ULL")]
        if KIND in ("debug", "asan", "ubsan", "tsan"):
            macros.append(("TELLSTONE_DEBUG", "1"))
        self.stamp = Path(self.build_temp) / "stamp"
        compiler = getattr(self.compiler, "compiler_so", self.compiler.compiler_type)
        write_if_changed(self.stamp, f"{sys.version}\n{compiler}\n{macros}\n{c_options()}\n")
        keep = {Path(self.get_ext_fullpath(ext.name)).resolve() for ext in self.extensions}
        for path in Path(self.build_lib).rglob("*"):
            if path.is_file() and path.resolve() not in keep:
                path.unlink()
        for ext in self.extensions:
            ext.define_macros = macros
            Path(self.get_ext_fullpath(ext.name)).parent.mkdir(parents=True, exist_ok=True)
        super().build_extensions()
        self.extensions[:] = [ext for ext in self.extensions if Path(self.get_ext_fullpath(ext.name)).exists()]

    def build_extension(self, ext):
        """Compile and link one module unless its extension is newer than its C file and the stamp."""
        target = Path(self.get_ext_fullpath(ext.name))
        if not self.force and fresh(target, [*ext.sources, self.stamp]):
            return
        sys.stdout.write(f"compile {ext.name}\n")
        target.unlink(missing_ok=True)
        try:
            objects = self.compiler.compile(
                ext.sources,
                output_dir=self.build_temp,
                macros=ext.define_macros,
                include_dirs=ext.include_dirs,
                extra_postargs=ext.extra_compile_args,
            )
            self.compiler.link_shared_object(
                objects,
                str(target),
                libraries=self.get_libraries(ext),
                library_dirs=ext.library_dirs,
                extra_postargs=ext.extra_link_args,
                export_symbols=self.get_export_symbols(ext),
                build_temp=self.build_temp,
                target_lang="c",
            )
        except CCompilerError:
            self.complaints.append(f"{ext.name}: the C compiler failed, see above")

    @staticmethod
    def prune(core):
        """Delete extensions whose `.pyx` is gone: Python would go on importing them."""
        for path in [*core.rglob("*.so"), *core.rglob("*.pyd")]:
            name = path.name.partition(".")[0]
            if not (CORE / path.parent.relative_to(core) / f"{name}.pyx").exists():
                path.unlink()


class Build(build):
    """build, into build/<kind>/lib for every kind but release, and without files that are gone from the sources."""

    def finalize_options(self):
        if KIND != "release" and self.build_lib is None:
            self.build_lib = str(BUILD / KIND / "lib")
        super().finalize_options()

    def run(self):
        lib = Path(self.build_lib)
        for path in lib.rglob("*"):
            if path.suffix in (".py", ".pyi", ".pxd", ".h") and not path.relative_to(lib).exists():
                path.unlink()
        super().run()


setup(ext_modules=discover(), cmdclass={"build": Build, "build_ext": BuildExt})
