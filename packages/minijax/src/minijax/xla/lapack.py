"""LAPACK's routines, registered with XLA when a program first calls one."""

import threading

from minijax_stage3.backend import import_module

_lock = threading.Lock()
_is_registered = False
_CALLS = ("@lapack_", "@tridiagonal_solve_")  # the routines, as the text of a program has them


def register_lapack(text: str) -> None:
    """Register LAPACK's routines with XLA if a program calls one; only the first time.

    They are scipy's, which jaxlib requires, and whose import takes longer than everything else.
    Registering twice, as JAX may, does no harm.

    Arguments:
        text: the program.
    """
    global _is_registered
    if not any(call in text for call in _CALLS):
        return
    with _lock:
        if not _is_registered:
            register = import_module("jaxlib.xla_client").register_custom_call_target
            lapack = import_module("jaxlib.lapack")
            for name, target, version in lapack.registrations()["cpu"]:
                register(name, target, platform="cpu", api_version=version)
            import_module("jaxlib.cpu._lapack").initialize()
            _is_registered = True
