"""Build hook: the extension module `_glassjax_calls`, of Cython's C.

Its source is `compiled_calls.pyx`, which stands in the library, beside the Python that it replaces;
an sdist has a copy. The directory `build` keeps what was built, by the source's checksum, for the
next environment.
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
FLAGS = "-g0", "-Werror=incompatible-pointer-types"  # an error by default since GCC 14
IN_SDIST = "compiled_calls.pyx"
IN_REPOSITORY = f"../glassjax/src/glassjax/runtime/{IN_SDIST}"


class CompiledCalls(BuildHookInterface):
    @property
    def source(self) -> bytes:
        copy = Path(self.root, IN_SDIST)
        return (copy if copy.exists() else Path(self.root, IN_REPOSITORY)).read_bytes()

    @property
    def kept(self) -> Path:
        return Path(self.root, "build", f"{MODULE}-{zlib.crc32(self.source):08x}{SUFFIX}")

    def dependencies(self) -> list[str]:
        return [] if self.kept.exists() else ["cython>=3.1", "setuptools>=77"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            sys.exit(
                "glassjax-compiled needs the global lock of the interpreter, which free-threaded "
                "Python lacks; glassjax works without it"
            )
        if not self.kept.exists():
            build(self.source, self.kept)
        build_data["force_include"][str(self.kept)] = f"{MODULE}{SUFFIX}"
        build_data.update(pure_python=False, infer_tag=True)


def compiler() -> str | None:
    """The command that compiles C: that of this Python, or else of the system."""
    commands = [os.environ.get("CC") or sysconfig.get_config_var("CC"), "cc", "gcc", "clang"]
    return next((c for c in commands if c and shutil.which(shlex.split(c)[0])), None)


def build(source: bytes, built: Path) -> None:
    env = dict(os.environ)
    if os.name != "nt":  # there, setuptools finds the compiler in the registry
        command = compiler()
        if command is None:
            sys.exit("glassjax-compiled needs a C compiler; glassjax works without it")
        flags = sysconfig.get_config_var("CFLAGS"), os.environ.get("CFLAGS", ""), *FLAGS
        env |= {"CC": command, "CFLAGS": " ".join(flags)}
    with TemporaryDirectory() as directory:
        module = Path(directory, f"{MODULE}.pyx")
        # The library compares this number with that of its own source.
        module.write_bytes(source + f"\nbuilt_from = {zlib.crc32(source)}\n".encode())
        cythonize = sys.executable, "-m", "Cython.Build.Cythonize", "--inplace", module.name
        if subprocess.run(cythonize, cwd=directory, env=env).returncode:
            sys.exit("glassjax-compiled could not be built, for the reason above")
        built.parent.mkdir(exist_ok=True)
        # Another build may be doing the same: a file appears there as a whole.
        mine = shutil.copy(module.with_suffix(SUFFIX), built.with_suffix(f".{os.getpid()}"))
        os.replace(mine, built)
