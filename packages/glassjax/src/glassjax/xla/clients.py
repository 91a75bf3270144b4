"""Clients, platforms and plugins: finding and opening them."""

import ctypes
import importlib.util
import os
import signal
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from glassjax.errors import PlatformError
from glassjax.settings.config import Option, config
from glassjax.settings.options import flags_of_results
from glassjax_stage2.errors import shown
from glassjax_stage3 import backend
from glassjax_stage3.backend import Client, Device, get_backend, has_client

# Imports of jaxlib, safe from Ctrl-C: an exception in the middle of its first import would pass
# through C++ code and end the process.


def import_module(name: str) -> Any:
    """The module of jaxlib called `name`."""
    with interrupts_deferred():
        return backend.import_module(name)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Defer SIGINT to the end of a block.

    Only the main thread can be interrupted, and only if the signal handler is a Python function;
    otherwise this does nothing.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[Any] = []  # the frames in which the signal arrived
    signal.signal(signal.SIGINT, lambda _, frame: received.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:
            handler(signal.SIGINT, received[0])


# XLA's client: its platform, devices and registries.


def jaxlib_version() -> str:
    return str(import_module("jaxlib.version").__version__)


def module_of_clients() -> Any:
    """`jaxlib.xla_client`, for programs that ask for it."""
    return import_module("jaxlib.xla_client")


def client() -> Client:
    return get_backend().client


def platform_of(devices: Sequence[Device] = ()) -> str:
    """The platform of a program's devices, "cpu" or "cuda"; by default the default device's.

    Devices of "cuda" and "rocm" report the platform "gpu".
    """
    client = devices[0].client if devices else get_backend().client
    return str(getattr(client, "_raw_platform", client.platform))


def local_devices() -> list[Device]:
    """The devices of this process."""
    return list(get_backend().client.local_devices())


def default_device() -> Device:
    return get_backend().device


def device_class() -> type:
    """The class of all devices, available without making a client."""
    return import_module("jaxlib._jax").Device


def client_class() -> type:
    """The class of all clients, available without making one."""
    return import_module("jaxlib._jax").Client


def pytree_registry() -> Any:
    """A new registry of pytree nodes in C++, with None, tuples, lists, and dicts."""
    return pytree_registry_of("none", "tuple", "namedtuple", "list", "dict")


def pytree_registry_of(*kinds: str) -> Any:
    """A new registry of pytree nodes in C++, with these kinds."""
    make = import_module("jaxlib._jax").pytree.PyTreeRegistry
    every = ("none", "tuple", "namedtuple", "list", "dict")
    return make(**{f"enable_{kind}": kind in kinds for kind in every})


def fingerprint(devices: Sequence[Device] = ()) -> tuple[str, ...]:
    """Return jaxlib's description of itself and of devices, as far as it affects compiled programs.

    Without devices, it describes the default device.
    """
    devices = list(devices) or [get_backend().device]
    topology = get_backend().jaxlib.get_topology_for_devices(devices)
    version = str(devices[0].client.platform_version)
    return (jaxlib_version(), version, str(topology.fingerprint()))


@cache
def xla_flags() -> str:
    """Return the value of the environment variable XLA_FLAGS, which XLA reads only once."""
    return os.environ.get("XLA_FLAGS", "")


def process_index() -> int:
    """Return the index of this process among those that compute together."""
    return int(get_backend().client.process_index())


def can_read_all_arrays() -> bool:
    """Return True if this jaxlib reads arrays on GPUs, and those sharded over processes."""
    return hasattr(import_module("jaxlib._jax").ArrayImpl, "_to_np_array_did_copy")


# Arguments of jaxlib's client for the CPU, chosen before it is opened.


_options: dict[str, Any] = {"asynchronous": False}


def client_options() -> dict[str, Any]:
    """The arguments of the client."""
    return dict(_options)


def set_client_option(name: str, value: Any) -> None:
    """Choose an argument of the client, such as `asynchronous`.

    Raises:
        RuntimeError: a client with another value exists already.
    """
    if has_client() and _options.get(name) != value:
        raise RuntimeError(
            f"computing has begun, with {name}={_options.get(name)!r}; choose before the first "
            "array"
        )
    _options[name] = value


# Compile options, as jaxlib's clients take them.


Options = Mapping[str, bool | int | float | str]  # XLA flags and their values

# The flags for all programs of the default platform.
flags_of_platform: dict[str, bool | int | float | str] = {}


def options_with(options: Options) -> Any:
    """The compile options for the default device, with XLA flags."""
    backend = get_backend()
    compile_options = backend.jaxlib.CompileOptions()
    numbers = np.array([[backend.device.id]], np.int32)
    compile_options.device_assignment = backend.jaxlib.DeviceAssignment.create(numbers)
    flags = {**flags_of_platform, **flags_of_results(), **options}
    for name in ("optimization_level", "memory_fitting_level"):  # these are not flags
        if name in flags:
            setattr(compile_options.executable_build_options, name, flags.pop(name))
    compile_options.env_option_overrides = list(flags.items())
    return compile_options


def compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    options: Mapping[str, Any] | None = None,
    profile: bytes | None = None,
) -> Any:
    """jaxlib's compile options for a program on some devices, with XLA options by name.

    Raises:
        ValueError: `device_assignment` is not of shape `(num_replicas, num_partitions)`.
    """
    jaxlib = import_module("jaxlib._jax")
    made = jaxlib.CompileOptions()
    made.num_replicas, made.num_partitions = num_replicas, num_partitions
    build = made.executable_build_options
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    if profile is not None:
        build.fdo_profile = profile
    if device_assignment is not None:
        devices = np.array(device_assignment)
        if devices.ndim == 1 and num_partitions == 1:
            devices = devices[:, None]
        if devices.shape != (num_replicas, num_partitions):
            raise ValueError(
                f"get_compile_options: device_assignment has to have a row of {num_partitions} "
                f"devices for each of {num_replicas} replicas, found the shape {devices.shape}"
            )
        numbers = np.array([[getattr(x, "id", x) for x in row] for row in devices], int)
        made.device_assignment = jaxlib.DeviceAssignment.create(numbers)
    made.env_option_overrides = list((options or {}).items())
    return made


# PJRT plugins: libraries for devices that jaxlib alone does not support.
#
# NVIDIA's is found where its wheels install it; others are named by the environment variable
# PJRT_NAMES_AND_LIBRARY_PATHS, as in `name:path,name:path`. The Python modules of plugins import
# jax, so they are only located here, and their libraries loaded.


CUDA = "cuda"
_CUDA_VERSIONS = ("13", "12")  # suffixes of wheels, preferred first
_PLUGIN_PATHS = "PJRT_NAMES_AND_LIBRARY_PATHS"

# Signs of a GPU of NVIDIA: on Linux, under WSL, on a Jetson.
_DEVICE_FILES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/nvhost-gpu")

# The libraries that the plugin loads by name, each after its dependencies.
_LIBRARIES = (
    "cudart", "nvrtc", "nvJitLink", "cublasLt", "cublas", "nccl", "cupti", "cusparse", "cusolver",
    "cufft", "nvshmem_host", "cudnn",
)  # fmt: skip


class UnavailableError(Exception):
    """A platform has no client.

    Attributes:
        reason: what was looked for, and what was found.
        remedy: what the user can do, as a sentence.
        is_surprising: whether the platform's devices seem to exist.
    """

    def __init__(self, reason: str, remedy: str, is_surprising: bool = False):
        super().__init__(reason)
        self.reason, self.remedy, self.is_surprising = reason, remedy, is_surprising


class Plugin(NamedTuple):
    """A PJRT plugin, loaded.

    Attributes:
        name: its name in jaxlib, different from JAX's, so that both can load it.
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
    """The libraries of platforms, from the environment variable."""
    entries = os.environ.get(_PLUGIN_PATHS, "").split(",")
    pairs = [entry.strip().partition(":")[::2] for entry in entries if entry.strip()]
    return {name.lower(): path for name, path in pairs}


def load_plugin(platform: str) -> Plugin:
    """Load the plugin of a platform, once.

    Raises:
        UnavailableError: it is missing, or does not fit jaxlib or this machine.
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
    """A client for a plugin's devices; RuntimeError if it finds none."""
    make = import_module("jaxlib.xla_client").make_c_api_client
    return make(plugin.name, dict(options), distributed_client)


def _load_named(platform: str, path: str) -> Plugin:
    if not os.path.exists(path):
        raise UnavailableError(
            f"{_PLUGIN_PATHS} names the plugin {path!r}, which does not exist",
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
            "With a GPU, install the plugin by `pip install 'glassjax[cuda13]'`.",
            has_nvidia_device(),
        )
    version, directory = place
    _require_version(version)
    missing = _load_libraries()
    flags = {} if (data := _toolkit()) is None else {"xla_gpu_cuda_data_dir": data}
    try:
        plugin = _load(CUDA, os.path.join(directory, "xla_cuda_plugin.so"))._replace(flags=flags)
    except UnavailableError as error:
        libraries = f"; not loaded: {', '.join(missing)}" if missing else ""
        raise UnavailableError(
            error.reason + libraries, error.remedy, has_nvidia_device()
        ) from error
    _register_calls(plugin.api, f"jax_cuda{version}_plugin")
    return plugin


def _place_of_cuda() -> tuple[str, str] | None:
    """The version of CUDA and the directory of the plugin, without importing its module."""
    for version in _CUDA_VERSIONS:
        with suppress(ModuleNotFoundError):
            spec = importlib.util.find_spec(f"jax_plugins.xla_cuda{version}")
            if spec is not None and spec.origin is not None:
                return version, os.path.dirname(spec.origin)
    return None


def _require_version(version: str) -> None:
    """Raise UnavailableError unless the plugin's kernels have jaxlib's version."""
    ours = str(import_module("jaxlib.version").__version__)
    package = f"jax-cuda{version}-plugin"
    if not can_read_all_arrays():
        raise UnavailableError(
            f"jaxlib {ours} is too old to read arrays of a GPU",
            "Install jaxlib 0.11.2 or newer, on Python 3.12 or newer.",
            has_nvidia_device(),
        )
    remedy = f"Install jaxlib's version, by `pip install '{package}[with-cuda]=={ours}'`."
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


def _nvidia_directories() -> Iterator[str]:
    """The directories of NVIDIA's wheels."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield from sorted(entry.path for entry in os.scandir(root) if entry.is_dir())


def _load_libraries() -> list[str]:
    """Load NVIDIA's libraries from their wheels, so that the plugin finds them by name.

    Returns:
        The installed libraries that cannot be loaded, with the reasons.
    """
    from glob import glob  # late: importing it takes milliseconds

    directories = [os.path.join(directory, "lib") for directory in _nvidia_directories()]
    failures = []
    for name in _LIBRARIES:
        for directory in directories:
            for file in sorted(glob(f"lib{name}.so.*", root_dir=directory)):
                try:
                    ctypes.CDLL(os.path.join(directory, file))
                except OSError as error:
                    failures.append(f"{file} ({error})")
    return failures


def _toolkit() -> str | None:
    """The directory of NVIDIA's assembler and device functions, for XLA.

    It is CUDA_ROOT of the environment, or the directory of NVIDIA's wheels; None: XLA searches.
    """
    if root := os.environ.get("CUDA_ROOT"):
        return root
    for directory in _nvidia_directories():
        if os.path.isdir(os.path.join(directory, "nvvm", "libdevice")):
            return directory
    return None


def _load(platform: str, path: str) -> Plugin:
    xla_client = import_module("jaxlib.xla_client")
    name = f"glassjax_{platform}"
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
    """Register the plugin's handlers for custom calls and for Python callbacks with XLA.

    Registrations for "CUDA" reach the plugin through these handlers; JAX registers the same ones.
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


# Platforms: kinds of devices, one client for each, and the one that computes by default.
#
# The default is a GPU if there is one, else the CPU, unless `config.platforms` chooses. A client is
# opened when its devices are first used.


_CPU = "cpu"
_GPU = "gpu"  # the platform that CUDA devices report


class _ForTheProcess(Option):
    """A setting that clients read when they are opened."""

    def _checked(self, value: Any) -> Any:
        value = super()._checked(value)
        if backend.has_client() and not self._agrees(value):
            raise RuntimeError(
                f"config: computing has begun, with {self.name}={self.value!r}; choose "
                f"{shown(value)} before the first array, or by the environment variable "
                f"GLASSJAX_{self.name.upper()}"
            )
        return value

    def _agrees(self, value: Any) -> bool:
        """Return True if the value would open the same clients as are open."""
        return bool(value == self.value)


class _Platforms(_ForTheProcess):
    """Names of platforms, separated by commas."""

    def _checked(self, value: Any) -> Any:
        for name in _split_names(value) if isinstance(value, str) else ():
            known = (_CPU, CUDA, _GPU, *named_plugins())
            if name not in known:
                raise ValueError(
                    f"config: {self.name} is of {', '.join(map(repr, known))}, found "
                    f"{shown(name)}; PJRT_NAMES_AND_LIBRARY_PATHS=name:path names a plugin for "
                    "another platform"
                )
        return super()._checked(value)

    def _agrees(self, value: Any) -> bool:
        names = list(map(_expanded, _split_names(value)))
        return not names or names[0] == platform_of()


def _split_names(names: str | None) -> list[str]:
    return [name.strip().lower() for name in (names or "").split(",") if name.strip()]


_settings: dict[str, Option] = {
    option.name: option
    for option in (
        _Platforms(
            "platforms",
            str,
            None,
            "The platforms that may compute, the default first: cpu, cuda; None: all there are.",
        ),
        _Platforms("platform_name", str, "", "The platform that computes by default."),
        _ForTheProcess(
            "cuda_visible_devices",
            str,
            "all",
            'The GPUs that this process uses: "all", or numbers separated by commas.',
        ),
        _ForTheProcess(
            "python_client_mem_fraction",
            float,
            0.0,
            "The part of a GPU's memory to allocate at once; 0.0: XLA's choice, three quarters.",
        ),
        _ForTheProcess(
            "python_client_preallocate",
            bool,
            True,
            "Whether to allocate that memory when the first array is made.",
        ),
        _ForTheProcess(
            "python_client_allocator",
            (
                "default",
                "platform",
                "bfc",
                "cuda_async",
                "vmm",
            ),
            "default",
            "What allocates a GPU's memory; platform: each array alone, slowly.",
        ),
    )
}
config.options.update(_settings)


def _gpu_options() -> dict[str, Any]:
    """The options of a client for GPUs: XLA's environment variables, then our settings."""
    options = dict(import_module("jaxlib.xla_client").generate_pjrt_gpu_plugin_options())
    chosen = {name: option.value for name, option in _settings.items()}
    if chosen["python_client_mem_fraction"]:
        options["memory_fraction"] = float(chosen["python_client_mem_fraction"])
    if not chosen["python_client_preallocate"]:
        options["preallocate"] = False
    if chosen["python_client_allocator"] != "default":
        options["allocator"] = chosen["python_client_allocator"]
    if chosen["cuda_visible_devices"] != "all":
        options["visible_devices"] = _parse_numbers(chosen["cuda_visible_devices"])
    return options


def use_gpus(numbers: Sequence[int]) -> None:
    """Let this process use only these GPUs, by number, unless the user's setting names some."""
    option = _settings["cuda_visible_devices"]
    if option.value == "all":
        option.update(",".join(map(str, numbers)))


def _parse_numbers(text: str) -> list[int]:
    try:
        return [int(each) for each in _split_names(text)]
    except ValueError:
        raise ValueError(
            'config: cuda_visible_devices is "all", or numbers separated by commas, found '
            f"{shown(text)}"
        ) from None


# Clients by platform.
_clients: dict[str, Client] = {}
_opening = threading.RLock()


def _drop_clients_in_child() -> None:
    """Drop the clients: the child lacks XLA's threads, and waiting for them would hang."""
    is_open = backend.has_client()
    clients = [*_clients.values(), *([get_backend().client] if is_open else [])]
    for client in clients:  # keep them alive: destroying them would hang
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))
    _clients.clear()
    backend.forget_client()
    backend.choose_client(_unsupported if is_open else open_default_client)


def _unsupported() -> Client:
    raise RuntimeError(
        "XLA was in use when this process was forked, and does not work in the child: start "
        "processes by `spawn` or `forkserver`, or fork before the first use"
    )


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_clients_in_child)


def open_client(platform: str, options: Mapping[str, Any]) -> tuple[Client, Options]:
    """Open the client of a platform.

    Arguments:
        platform: "cpu", "cuda", or the name of a plugin.
        options: the CPU client's options; options of distributed programs apply to all clients.

    Returns:
        The client, and XLA's flags for its programs.

    Raises:
        UnavailableError: there are no such devices.
    """
    if platform == _CPU:
        return import_module("jaxlib.xla_client").make_cpu_client(**options), {}
    if platform == CUDA and not has_nvidia_device() and CUDA not in _asked_for():
        raise UnavailableError(
            nvidia_devices(), "GLASSJAX_PLATFORMS=cuda looks for one in spite of that."
        )
    plugin = load_plugin(platform)
    given = _gpu_options() if platform == CUDA else {}
    given |= {name: options[name] for name in ("node_id", "num_nodes") if name in options}
    try:
        client = client_of_plugin(plugin, given, options.get("distributed_client"))
    except RuntimeError as error:
        found = f"{nvidia_devices()}, and " if platform == CUDA else ""
        raise UnavailableError(
            f"{found}the plugin is installed, but finds no device that it can use: "
            f"{str(error).rstrip('.')}",
            "Does `nvidia-smi` list the GPU? If not, its driver is missing or older than the "
            "plugin, or the container has no access to it."
            if platform == CUDA
            else "Does its driver run?",
            is_surprising=platform != CUDA or has_nvidia_device(),
        ) from error
    return client, plugin.flags


def _expanded(name: str) -> str:
    return CUDA if name == _GPU else name


def _wanted() -> list[str]:
    """The platforms to try, in order."""
    chosen = _asked_for()
    if not chosen:
        gpu = [CUDA] if has_nvidia_device() else []
        chosen = [*named_plugins(), *gpu, _CPU]
    preferred = list(map(_expanded, _split_names(_settings["platform_name"].value)))
    return list(dict.fromkeys([*preferred, *chosen]))


def _asked_for() -> list[str]:
    """The platforms that the user allows; none: all of them."""
    return list(map(_expanded, _split_names(_settings["platforms"].value)))


def open_default_client() -> Client:
    """Open the client of the default platform.

    Raises:
        PlatformError: none of the platforms that `config.platforms` names has devices.
    """
    failures = {}
    xla_flags()  # XLA reads them now
    for platform in _wanted():
        try:
            client, flags = open_client(platform, client_options())
        except UnavailableError as error:
            failures[platform] = error
        else:
            for name, failure in failures.items():
                if failure.is_surprising:
                    warnings.warn(
                        f"{failure.reason}. glassjax computes on {platform!r}. "
                        f"{failure.remedy} Set GLASSJAX_PLATFORMS={platform} to compute there "
                        f"without {name!r} and this warning.",
                        stacklevel=2,
                    )
            _clients[platform] = client
            flags_of_platform.update(flags)
            return client
    reasons = "".join(f"\n  {name}: {each.reason}" for name, each in failures.items())
    remedies = " ".join(dict.fromkeys(each.remedy for each in failures.values()))
    raise PlatformError(
        f"config.platforms={_settings['platforms'].value!r} (GLASSJAX_PLATFORMS) allows no "
        f"platform that has devices here:{reasons}\n{remedies} Without GLASSJAX_PLATFORMS, or with "
        "GLASSJAX_PLATFORMS=cpu, the CPU computes."
    )


if not backend.has_client():  # otherwise a stage has opened one, for the CPU
    backend.choose_client(open_default_client)


def platform() -> str:
    """The platform that the default device reports: "cpu", "gpu"."""
    return str(get_backend().client.platform)


def client_of(name: Any = None) -> Client:
    """The client of a platform, "cpu", "gpu" or "cuda"; None: the default device's.

    Raises:
        PlatformError: there are no devices of this kind.
    """
    default = get_backend().client
    if name is None or (isinstance(name, str) and name == default.platform):
        return default
    if not isinstance(name, str):
        raise _no_devices(name, "a platform is a string", "")
    if name in _clients:
        return _clients[name]
    platform = _expanded(name.lower())
    if (allowed := _asked_for()) and platform not in allowed:
        raise _no_devices(
            name,
            f"config.platforms={_settings['platforms'].value!r} (GLASSJAX_PLATFORMS) leaves it out",
            "Add it there.",
        )
    with _opening:
        if platform not in _clients:
            try:
                _clients[platform], _ = open_client(platform, client_options())
            except UnavailableError as error:
                raise _no_devices(name, error.reason, error.remedy) from error
        return _clients[platform]


def _no_devices(name: Any, reason: str, remedy: str) -> PlatformError:
    there = ", ".join(map(repr, _clients))
    return PlatformError(
        f"Unknown backend {shown(name)}, there are no devices of this kind: {reason}. "
        f"There are {there} devices. "
        f"{remedy}".rstrip()
    )


def devices(platform: Any = None) -> list[Device]:
    """The devices of a platform in all processes; by default the default platform's.

    Raises:
        PlatformError: the platform has no devices.
    """
    return list(client_of(platform).devices())


def is_the_only(devices: tuple[Device, ...]) -> bool:
    """Return True if these are one device, and there is no other device of any platform.

    With a GPU, there is always the CPU, too.
    """
    if len(devices) > 1 or len(_clients) > 1 or platform_of() != _CPU:
        return False
    return bool(list(devices) == client_of().devices())
