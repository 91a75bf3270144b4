"""Build hook: the extension module `_glassjax_calls`, where there is a C compiler.

Its source is `compiled_calls.pyx`, in Cython. A wheel that has it is for one Python and platform.
Elsewhere, or if the build fails, the wheel is for all, and has in its place a Python module of that
name that says why: `failure`.

The directory `build` keeps what was built, by the source's checksum, for the next environment.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULE = "_glassjax_calls"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


class CompiledCalls(BuildHookInterface):
    @property
    def source(self) -> bytes:
        return Path(self.root, "src/glassjax/runtime/compiled_calls.pyx").read_bytes()

    @property
    def kept(self) -> Path:
        return Path(self.root, "build", f"{MODULE}-{zlib.crc32(self.source):08x}{SUFFIX}")

    def dependencies(self) -> list[str]:
        if reason_not_to_build() or self.kept.exists():
            return []
        return ["cython>=3.1", "setuptools>=77"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        failure = reason_not_to_build()
        if failure is None and not self.kept.exists():
            failure = build(self.source, self.kept)
        if failure is None:
            build_data["force_include"][str(self.kept)] = f"{MODULE}{SUFFIX}"
            build_data.update(pure_python=False, infer_tag=True)
            return
        print(f"glassjax is installed without compiled calls: {failure}", file=sys.stderr)
        self.directory_of_failure = TemporaryDirectory()
        stand_in = Path(self.directory_of_failure.name, f"{MODULE}.py")
        stand_in.write_text(f"failure = {failure!r}\n", encoding="utf-8")
        build_data["force_include"][str(stand_in)] = stand_in.name


def reason_not_to_build() -> str | None:
    if os.environ.get("GLASSJAX_COMPILED") == "0":
        return "GLASSJAX_COMPILED=0 when glassjax was installed"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "it needs the lock that free-threaded Python lacks"
    if compiler() is None:
        return "there was no C compiler when glassjax was installed"
    return None


def compiler() -> str | None:
    """The command that compiles C: that of this Python, or else of the system."""
    if os.name == "nt":
        return "cl"  # setuptools looks for it in the registry
    commands = [os.environ.get("CC") or sysconfig.get_config_var("CC"), "cc", "gcc", "clang"]
    return next((c for c in commands if c and shutil.which(shlex.split(c)[0])), None)


def build(source: bytes, built: Path) -> str | None:
    """Build the module; return why that failed, or None."""
    with TemporaryDirectory() as directory:
        module = Path(directory, f"{MODULE}.pyx")
        # The library compares this number with that of its own source.
        module.write_bytes(source + f"\nbuilt_from = {zlib.crc32(source)}\n".encode())
        env = {}
        if os.name != "nt":  # there, setuptools takes neither from the environment
            flags = sysconfig.get_config_var("CFLAGS"), os.environ.get("CFLAGS", ""), "-g0"
            env = {"CC": str(compiler()), "CFLAGS": " ".join(flags)}
        command = sys.executable, "-m", "Cython.Build.Cythonize", "--inplace", module.name
        done = subprocess.run(
            command, cwd=directory, env={**os.environ, **env}, capture_output=True, text=True
        )
        if done.returncode == 0:
            built.parent.mkdir(exist_ok=True)
            # Another build may be doing the same: a file appears there as a whole.
            mine = shutil.copy(module.with_suffix(SUFFIX), built.with_suffix(f".{os.getpid()}"))
            os.replace(mine, built)
            return None
    print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
    lines = (done.stderr or done.stdout).splitlines()
    errors = [line for line in lines if "error" in line.lower()] or lines[-1:]
    return errors[0].strip() if errors else f"exit status {done.returncode}"
