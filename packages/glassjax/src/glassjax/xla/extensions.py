"""Extensions registered with XLA: routines, partitioners, passes over modules."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NoReturn
from weakref import WeakValueDictionary

from glassjax.xla.clients import CUDA, import_module, load_plugin, platform

# Registration of foreign functions with XLA.


def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Register a foreign function, which `ffi_call` then calls by its name.

    Arguments:
        name: the name, once in a process.
        fn: a capsule with the address of the function, as `pycapsule` makes; or a dict of
            capsules, one for each stage of a call: "instantiate", "prepare", "initialize",
            "execute".
        platform: the platform that it is for, "cpu" or "CUDA".
        api_version: 1 for a handler of XLA's typed interface, which the headers in `include_dir()`
            describe; 0 for a function of the interface before it.
        kwargs: `traits`, jaxlib's flags.

    Raises:
        jaxlib's `XlaRuntimeError`: `fn` is something else, or the name is taken.
    """
    register = import_module("jaxlib.xla_client").register_custom_call_target
    register(name, fn, platform, api_version, **kwargs)


def register_ffi_type(name: str, type_registration: Any, platform: str = "cpu") -> None:
    """Register a type of the state that handlers keep from one stage of a call to the next.

    Register it before the handlers that use it, and after the platform was first used, for instance
    by `glassjax.devices()`: earlier registrations are delayed, and functions then come first.

    Arguments:
        name: the name, once in a process.
        type_registration: a dict with the capsules of its `XLA_FFI_TypeId` as "type_id", and of its
            `XLA_FFI_TypeInfo` as "type_info".
        platform: the platform that it is for.
    """
    register = import_module("jaxlib.xla_client").register_custom_type
    register(name, type_registration, platform=platform)


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """Raise an error, as in JAX: a type is registered by `register_ffi_type`.

    Arguments:
        name, obj, platform: ignored.

    Raises:
        ValueError: always.
    """
    raise ValueError(
        f"register_ffi_type_id: jaxlib registers the id of the type {name!r} only together with "
        "the type: register_ffi_type(name, {'type_id': ..., 'type_info': ...})"
    )


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Let XLA partition calls of a foreign function along leading axes.

    Arguments:
        name: the name of the function, which must treat elements along these axes independently.
    """
    import_module("jaxlib.xla_client").register_custom_call_as_batch_partitionable(name)


def pycapsule(funcptr: Any) -> Any:
    """A capsule, for `register_ffi_target`, with the address of a function.

    Arguments:
        funcptr: the function, of a library that ctypes loaded, or an address.

    >>> import ctypes
    >>> type(pycapsule(ctypes.CDLL(None).abs)).__name__
    'PyCapsule'
    """
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(("PyCapsule_New", ctypes.pythonapi))(funcptr, None, None)


def include_dir() -> str:
    """The directory of jaxlib's C++ headers, such as `xla/ffi/api/ffi.h`."""
    return os.path.join(os.path.dirname(import_module("jaxlib").__file__), "include")


# Routines of other libraries, registered with XLA when a program first calls one.
#
# On a CPU they are LAPACK's; on an NVIDIA GPU cuSOLVER's, cuSPARSE's and jaxlib's own.


_lock = threading.Lock()
_registered_routines: set[Callable[[], None]] = set()


def register_routines(text: str, platform: str) -> None:
    """Register the routines that a program calls with XLA, once.

    Registering twice, as JAX may, is harmless.

    Arguments:
        text: the program.
        platform: the platform of its devices.
    """
    for calls, register in _LIBRARIES.get(platform, {}).items():
        if any(call in text for call in calls):
            with _lock:
                if register not in _registered_routines:
                    register()
                    _registered_routines.add(register)


def _register_lapack() -> None:
    """LAPACK comes from scipy, which jaxlib requires; importing it takes longer than all else."""
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
    """Decompositions that use a GPU and the CPU, and so scipy's LAPACK."""
    import_module("jaxlib.gpu_solver").initialize_hybrid_kernels()


# By platform: a pattern for calls of a library's routines in the text of a program, and the
# function that registers them.
_LIBRARIES: dict[str, dict[tuple[str, ...], Callable[[], None]]] = {
    "cpu": {("@lapack_", "@tridiagonal_solve_"): _register_lapack},
    "cuda": {
        ("@cusolver_", "@cusparse_", "@cuhybrid_", "@cu_"): _register_cuda,
        ("@cuhybrid_",): _register_hybrid,
    },
}


# Functions that partition custom calls for XLA.


TARGET = "glassjax_partitioned"  # the calls' target

Shardings = Sequence[Any]  # jaxlib's objects


class Partitioner:
    """A function that partitions a call.

    Arguments:
        partition: function from the shardings of operands and results to the text of a module, and
            the shardings of its operands and results.

    Attributes:
        key: its name in the text of a program, valid as long as the object lives.
    """

    def __init__(
        self, partition: Callable[[Shardings, Shardings], tuple[str, Shardings, Shardings]]
    ):
        self.partition = partition
        self.raised: BaseException | None = None
        self.key = str(id(self))
        _partitioners[self.key.encode()] = self


_partitioners: WeakValueDictionary[bytes, Partitioner] = WeakValueDictionary()


def _partition(
    arg_shapes: Any, arg_shardings: Any, result_shape: Any, result_sharding: Any, key: bytes
) -> tuple[bytes, Shardings, Any]:
    is_tuple = result_shape.is_tuple()
    results = result_sharding.tuple_elements() if is_tuple else [result_sharding]
    partitioner = _partitioners[key]
    try:
        text, operands, outs = partitioner.partition(arg_shardings, results)
    except BaseException as error:
        partitioner.raised = error
        raise
    whole = import_module("jaxlib.xla_client").HloSharding
    out = whole.tuple_sharding(result_shape, outs) if is_tuple else outs[0]
    return text.encode(), operands, out


def _refused_registration(*args: Any) -> NoReturn:
    raise RuntimeError("shardings are propagated by rules")


@cache
def register_partitioners(platform: str) -> None:
    """Let XLA for a platform ask `Partitioner`s about calls of `TARGET`."""
    register = import_module("jaxlib.xla_client").register_custom_call_partitioner
    given = {"c_api": load_plugin(CUDA).api} if platform == CUDA else {}
    register(
        TARGET,
        prop_user_sharding=_refused_registration,
        partition=_partition,
        infer_sharding_from_operands=_refused_registration,
        can_side_effecting_have_replicated_sharding=True,
        **given,
    )


# User functions that XLA calls while it compiles, and which may change programs.


# The unique name of each registered function, by platform, name and stage.
_registered_passes: dict[tuple[str, str, int], list[str]] = {}


def register_transformation(
    callback: Callable[[bytes], bytes | None],
    name: str,
    stage: int,
    platforms: Sequence[str] | str | None,
) -> None:
    for each in _listed(platforms):
        jaxlib, args = _jaxlib(), (name, stage, callback)
        if each == "cpu":
            jaxlib.register_xla_transform(*args)
        else:
            jaxlib.register_xla_transform_c_api(_api(each), *args)
        # Random: what the function does to a program has no name that holds in another process.
        _registered_passes.setdefault((each, name, stage), []).append(os.urandom(16).hex())


def clear_transformation(name: str, stage: int, platforms: Sequence[str] | str | None) -> bool:
    found = []
    for each in _listed(platforms):
        jaxlib = _jaxlib()
        if each == "cpu":
            found.append(jaxlib.clear_xla_transform(name, stage))
        else:
            found.append(jaxlib.clear_xla_transform_c_api(_api(each), name, stage))
        _registered_passes.pop((each, name, stage), None)
    return any(found)


def transformations() -> tuple[str, ...]:
    """Unique names of these functions, for the compile cache."""
    return tuple(number for numbers in _registered_passes.values() for number in numbers)


def _jaxlib() -> Any:
    try:
        return import_module("jaxlib._xla")
    except ModuleNotFoundError:
        raise NotImplementedError(
            "functions that change programs while XLA compiles them need jaxlib 0.11 or newer, and "
            f"this is jaxlib {import_module('jaxlib').__version__}"
        ) from None


def _listed(platforms: Sequence[str] | str | None) -> list[str]:
    default = platform()  # opens a client
    if platforms is None:
        platforms = ["cpu", default]
    names = [platforms] if isinstance(platforms, str) else platforms
    return [*dict.fromkeys("cuda" if name == "gpu" else name for name in names)]


def _api(platform: str) -> Any:
    return import_module("jaxlib._jax").get_pjrt_plugin(platform)
