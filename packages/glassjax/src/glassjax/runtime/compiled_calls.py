"""The extension module for calls: `compiled_calls.pyx`, installed by glassjax-compiled.

It is used if it is installed and was built from the source beside this file. The environment
variable GLASSJAX_COMPILED=0 disables it.
"""

import importlib
import os
import zlib
from typing import Any

SOURCE = f"{os.path.splitext(__file__)[0]}.pyx"


def checksum() -> int:
    """The checksum of the source."""
    with open(SOURCE, "rb") as source:
        return zlib.crc32(source.read())


def find() -> tuple[Any, str]:
    """The module, or None, with a description for `print_environment_info`."""
    if os.environ.get("GLASSJAX_COMPILED") == "0":
        return None, "off, by GLASSJAX_COMPILED=0"
    try:
        found = importlib.import_module("_glassjax_calls")
    except ImportError as error:
        return None, f"not installed, pip install 'glassjax[compiled]' does so: {error}"
    if found.built_from != checksum():
        return None, f"not used: {_mismatch()}"
    return found, "used"


def _mismatch() -> str:
    from importlib.metadata import PackageNotFoundError, version

    def installed(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return "run from its sources"

    ours, theirs = installed("glassjax"), installed("glassjax-compiled")
    remedy = (
        f"pip install glassjax-compiled=={ours}"
        if ours != theirs and ours[0].isdigit()
        else "install ./packages/compiled of the same sources again"
    )
    return f"glassjax-compiled {theirs} was built for another glassjax than this, {ours}; {remedy}"


module, state = find()
