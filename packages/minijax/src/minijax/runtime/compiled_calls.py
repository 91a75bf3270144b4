"""The extension module that makes calls, built from `compiled_calls.pyx` as minijax is installed.

It is used where it is there, and was built from the source that lies beside this file. The
environment variable MINIJAX_COMPILED=0 leaves it aside.
"""

import importlib
import os
import zlib
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_suffix(".pyx")


def find() -> tuple[Any, str]:
    """The module, or None, and a few words about it."""
    if os.environ.get("MINIJAX_COMPILED") == "0":
        return None, "off, by MINIJAX_COMPILED=0"
    try:
        found = importlib.import_module("_minijax_calls")
    except ImportError as error:
        return None, f"not there: {error}"
    if failure := getattr(found, "failure", None):
        return None, f"not built: {failure}"
    if found.built_from != zlib.crc32(SOURCE.read_bytes()):
        return None, "not used: built for another version of minijax; install minijax again"
    return found, "used"


module, state = find()
