"""LAPACK's routines, made known to XLA when a program first calls one."""

import importlib
import threading
from typing import Any

_lock = threading.Lock()
_is_registered = False


def register_lapack() -> None:
    """Makes LAPACK's routines known to XLA, for programs that call them; at the first time only.

    They are scipy's, which jaxlib requires, and whose import takes longer than all the rest.
    Registering twice, as JAX may, does no harm.
    """
    global _is_registered
    with _lock:
        if not _is_registered:
            register = importlib.import_module("jaxlib.xla_client").register_custom_call_target
            lapack: Any = importlib.import_module("jaxlib.lapack")
            for name, target, version in lapack.registrations()["cpu"]:
                register(name, target, platform="cpu", api_version=version)
            importlib.import_module("jaxlib.cpu._lapack").initialize()
            _is_registered = True
