"""Routines of other libraries, registered with XLA when a program first calls one.

On a CPU they are LAPACK's, on a GPU of NVIDIA those of cuSOLVER, cuSPARSE and of jaxlib itself.
"""

import threading
from collections.abc import Callable

from minijax.xla.importing import import_module

_lock = threading.Lock()
_registered: set[Callable[[], None]] = set()


def register_routines(text: str, platform: str) -> None:
    """Register the routines with XLA that a program calls; only the first time.

    Registering twice, as JAX may, does no harm.

    Arguments:
        text: the program.
        platform: the platform of its devices.
    """
    for calls, register in _LIBRARIES.get(platform, {}).items():
        if any(call in text for call in calls):
            with _lock:
                if register not in _registered:
                    register()
                    _registered.add(register)


def _register_lapack() -> None:
    """LAPACK's are scipy's, which jaxlib requires, and whose import takes longer than all else."""
    register = import_module("jaxlib.xla_client").register_custom_call_target
    for name, target, version in import_module("jaxlib.lapack").registrations()["cpu"]:
        register(name, target, platform="cpu", api_version=version)
    import_module("jaxlib.cpu._lapack").initialize()


def _register_cuda() -> None:
    register = import_module("jaxlib.xla_client").register_custom_call_target
    for library in ("gpu_solver", "gpu_linalg", "gpu_sparse"):
        for name, target, version in import_module(f"jaxlib.{library}").registrations()["CUDA"]:
            register(name, target, platform="CUDA", api_version=version)


def _register_hybrid() -> None:
    """Decompositions that a GPU shares with the CPU, and so with scipy's LAPACK."""
    import_module("jaxlib.gpu_solver").initialize_hybrid_kernels()


# By platform: how the text of a program calls the routines of a library, and what registers them.
_LIBRARIES: dict[str, dict[tuple[str, ...], Callable[[], None]]] = {
    "cpu": {("@lapack_", "@tridiagonal_solve_"): _register_lapack},
    "cuda": {
        ("@cusolver_", "@cusparse_", "@cuhybrid_", "@cu_"): _register_cuda,
        ("@cuhybrid_",): _register_hybrid,
    },
}
