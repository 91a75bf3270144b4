"""The extension module for calls, built from `compiled_calls.pyx` when glassjax is installed.

It is used if it exists and was built from the source beside this file. The environment variable
GLASSJAX_COMPILED=0 disables it.
"""

import importlib
import os
import zlib
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_suffix(".pyx")


def find() -> tuple[Any, str]:
    """The module, or None, with a description for `print_environment_info`."""
    if os.environ.get("GLASSJAX_COMPILED") == "0":
        return None, "off, by GLASSJAX_COMPILED=0"
    try:
        found = importlib.import_module("_glassjax_calls")
    except ImportError as error:
        return None, f"not there: {error}"
    if failure := getattr(found, "failure", None):
        return None, f"not built: {failure}"
    if found.built_from != zlib.crc32(SOURCE.read_bytes()):
        return None, "not used: built for another version of glassjax; install glassjax again"
    return found, "used"


module, state = find()
