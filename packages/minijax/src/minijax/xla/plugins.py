"""PJRT plugins: libraries by which XLA computes on devices that jaxlib alone does not know.

NVIDIA's is found where its wheels install it; others are named by the environment variable
PJRT_NAMES_AND_LIBRARY_PATHS, as in `name:path,name:path`. The Python modules of plugins import jax,
so they are only located here, and their libraries loaded.
"""

import ctypes
import importlib.util
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from minijax.xla.importing import import_module
from minijax_stage3.backend import Client

CUDA = "cuda"
_CUDA_VERSIONS = ("13", "12")  # as wheels are named for them, the best first
_PLUGIN_PATHS = "PJRT_NAMES_AND_LIBRARY_PATHS"

# Any of these says that there may be a GPU of NVIDIA: on Linux, under WSL, on a Jetson.
_DEVICE_FILES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/nvhost-gpu")

# What the plugin loads by name, each after those that it needs itself.
_LIBRARIES = (
    "cudart", "nvrtc", "nvJitLink", "cublasLt", "cublas", "nccl", "cupti", "cusparse", "cusolver",
    "cufft", "nvshmem_host", "cudnn",
)  # fmt: skip


class UnavailableError(Exception):
    """A platform has no client.

    Attributes:
        reason: what was looked for, and what was found.
        remedy: what the user can do, as a sentence.
        is_surprising: whether the platform's devices seem to be here.
    """

    def __init__(self, reason: str, remedy: str, is_surprising: bool = False):
        super().__init__(reason)
        self.reason, self.remedy, self.is_surprising = reason, remedy, is_surprising


class Plugin(NamedTuple):
    """A PJRT plugin, loaded.

    Attributes:
        name: the name under which jaxlib has it. It is not JAX's, so that both can load it.
        api: the functions of the plugin, a capsule.
        flags: XLA's flags for its programs.
    """

    name: str
    api: Any
    flags: Mapping[str, str] = {}


def has_nvidia_device() -> bool:
    """Return True if this machine seems to have a GPU of NVIDIA."""
    return any(map(os.path.exists, _DEVICE_FILES))


def nvidia_devices() -> str:
    """The finding about devices of NVIDIA, as the beginning of a sentence."""
    if has_nvidia_device():
        return "a GPU of NVIDIA seems to be here"
    return f"no GPU of NVIDIA is here (there is none of {', '.join(_DEVICE_FILES)})"


def named_plugins() -> dict[str, str]:
    """The library of each platform that the environment names."""
    entries = os.environ.get(_PLUGIN_PATHS, "").split(",")
    pairs = [entry.strip().partition(":")[::2] for entry in entries if entry.strip()]
    return {name.lower(): path for name, path in pairs}


def load_plugin(platform: str) -> Plugin:
    """Load the plugin of a platform, once.

    Raises:
        UnavailableError: there is none, or it does not fit jaxlib or this machine.
    """
    named = named_plugins()
    if platform in named:
        return _load_named(platform, named[platform])
    if platform == CUDA:
        return _load_cuda()
    known = ", ".join(map(repr, ["cpu", CUDA, *named]))
    raise UnavailableError(
        f"no platform of this name is known, only {known}, and {_PLUGIN_PATHS} names no plugin "
        "for it",
        f"Set {_PLUGIN_PATHS}={platform}:/path/to/plugin.so if you have one.",
    )


def client_of_plugin(
    plugin: Plugin, options: Mapping[str, Any], distributed_client: Any = None
) -> Client:
    """A client for the devices of a plugin; RuntimeError: it finds none."""
    make = import_module("jaxlib.xla_client").make_c_api_client
    return make(plugin.name, dict(options), distributed_client)


def _load_named(platform: str, path: str) -> Plugin:
    if not os.path.exists(path):
        raise UnavailableError(
            f"{_PLUGIN_PATHS} names the plugin {path!r}, which is not there",
            "Correct the path.",
        )
    return _load(platform, path)


@cache
def _load_cuda() -> Plugin:
    place = _place_of_cuda()
    if place is None:
        packages = " or ".join(f"jax-cuda{version}-pjrt" for version in _CUDA_VERSIONS)
        raise UnavailableError(
            f"{nvidia_devices()}, and the plugin, of the package {packages}, is not installed",
            "With a GPU, install the plugin by `pip install 'minijax[cuda13]'`.",
            has_nvidia_device(),
        )
    version, directory = place
    _require_version(version)
    missing = _load_libraries()
    flags = {} if (data := _toolkit()) is None else {"xla_gpu_cuda_data_dir": data}
    try:
        plugin = _load(CUDA, str(directory / "xla_cuda_plugin.so"))._replace(flags=flags)
    except UnavailableError as error:
        libraries = f"; not loaded: {', '.join(missing)}" if missing else ""
        raise UnavailableError(
            error.reason + libraries, error.remedy, has_nvidia_device()
        ) from error
    _register_calls(plugin.api, f"jax_cuda{version}_plugin")
    return plugin


def _place_of_cuda() -> tuple[str, Path] | None:
    """The version of CUDA and the directory of the plugin, whose module is not imported."""
    for version in _CUDA_VERSIONS:
        with suppress(ModuleNotFoundError):
            spec = importlib.util.find_spec(f"jax_plugins.xla_cuda{version}")
            if spec is not None and spec.origin is not None:
                return version, Path(spec.origin).parent
    return None


def _can_read_gpus() -> bool:
    return hasattr(import_module("jaxlib._jax").ArrayImpl, "_to_np_array_did_copy")


def _require_version(version: str) -> None:
    """Raise UnavailableError unless the kernels of the plugin are of the version of jaxlib."""
    ours = str(import_module("jaxlib.version").__version__)
    package = f"jax-cuda{version}-plugin"
    if not _can_read_gpus():
        raise UnavailableError(
            f"jaxlib {ours} is too old to read arrays of a GPU",
            "Install jaxlib 0.11.2 or newer, on Python 3.12 or newer.",
            has_nvidia_device(),
        )
    remedy = f"Install that of jaxlib, by `pip install '{package}[with-cuda]=={ours}'`."
    try:
        theirs = str(import_module(f"jax_cuda{version}_plugin.version").__version__)
    except ModuleNotFoundError:
        raise UnavailableError(
            f"jax-cuda{version}-pjrt is installed, but not {package}, which has its kernels",
            remedy,
            has_nvidia_device(),
        ) from None
    if theirs != ours:
        raise UnavailableError(
            f"{package} is of version {theirs}, jaxlib of {ours}; they must be of the same",
            remedy,
            has_nvidia_device(),
        )


def _nvidia_directories() -> Iterator[Path]:
    """The directories of NVIDIA's wheels."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield from sorted(path for path in Path(root).iterdir() if path.is_dir())


def _load_libraries() -> list[str]:
    """Load NVIDIA's libraries from their wheels, so that the plugin finds them by their names.

    Returns:
        Those that are there and cannot be loaded, with the reasons.
    """
    directories = [directory / "lib" for directory in _nvidia_directories()]
    failures = []
    for name in _LIBRARIES:
        for directory in directories:
            for path in sorted(directory.glob(f"lib{name}.so.*")):
                try:
                    ctypes.CDLL(str(path))
                except OSError as error:
                    failures.append(f"{path.name} ({error})")
    return failures


def _toolkit() -> str | None:
    """The directory in which XLA finds NVIDIA's assembler and its library of functions.

    It is CUDA_ROOT of the environment, or that of NVIDIA's wheels; None: XLA looks for it.
    """
    if root := os.environ.get("CUDA_ROOT"):
        return root
    for directory in _nvidia_directories():
        if (directory / "nvvm" / "libdevice").is_dir():
            return str(directory)
    return None


def _load(platform: str, path: str) -> Plugin:
    xla_client = import_module("jaxlib.xla_client")
    name = f"minijax_{platform}"
    try:
        api = xla_client.load_pjrt_plugin_dynamically(name, path)
        xla_client.initialize_pjrt_plugin(name)
    except RuntimeError as error:
        raise UnavailableError(
            f"the plugin {path} cannot be loaded: {error}",
            "Install one of the version of jaxlib.",
        ) from error
    return Plugin(name, api)


def _register_calls(api: Any, package: str) -> None:
    """Register with XLA what registers custom calls of the plugin, and its Python callbacks.

    Whatever is registered for "CUDA" reaches the plugin through the handlers; JAX's are the same.
    """
    xla_client = import_module("jaxlib.xla_client")
    extension = import_module(f"{package}.cuda_plugin_extension")
    register_type = extension.register_custom_type
    register_target = extension.register_custom_call_target
    xla_client.register_custom_type_handler("CUDA", partial(register_type, api))
    xla_client.register_custom_call_handler("CUDA", partial(register_target, api))
    for name, value in extension.ffi_types().items():
        xla_client.register_custom_type(name, value, platform="CUDA")
    for name, value in extension.ffi_handlers().items():
        xla_client.register_custom_call_target(name, value, platform="CUDA", api_version=1)
