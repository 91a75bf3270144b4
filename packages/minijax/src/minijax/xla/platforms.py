"""Platforms: kinds of devices, one client for each, and the one that computes by default.

The default is a GPU where there is one, and else the CPU, unless `config.platforms` says otherwise.
A client is opened when its devices are first used.
"""

import ctypes
import os
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from minijax.errors.classes import PlatformError
from minijax.settings.config import Option, config
from minijax.xla.client import platform_of, xla_flags
from minijax.xla.client_options import client_options
from minijax.xla.compile_options import Options, flags_of_platform
from minijax.xla.importing import import_module
from minijax.xla.plugins import (
    CUDA,
    UnavailableError,
    client_of_plugin,
    has_nvidia_device,
    load_plugin,
    named_plugins,
    nvidia_devices,
)
from minijax_stage2.errors import shown
from minijax_stage3 import backend
from minijax_stage3.backend import Client, Device, get_backend

_CPU = "cpu"
_GPU = "gpu"  # as devices of CUDA call themselves


class _ForTheProcess(Option):
    """A setting that clients read when they are opened."""

    def _checked(self, value: Any) -> Any:
        value = super()._checked(value)
        if backend.has_client() and not self._agrees(value):
            raise RuntimeError(
                f"config: computing has begun, with {self.name}={self.value!r}; choose "
                f"{shown(value)} before the first array, or by the environment variable "
                f"MINIJAX_{self.name.upper()}"
            )
        return value

    def _agrees(self, value: Any) -> bool:
        """Return True if the clients that are open are those that the value would open."""
        return bool(value == self.value)


class _Platforms(_ForTheProcess):
    """Names of platforms, separated by commas."""

    def _checked(self, value: Any) -> Any:
        for name in _split(value) if isinstance(value, str) else ():
            known = (_CPU, CUDA, _GPU, *named_plugins())
            if name not in known:
                raise ValueError(
                    f"config: {self.name} is of {', '.join(map(repr, known))}, found "
                    f"{shown(name)}; PJRT_NAMES_AND_LIBRARY_PATHS=name:path names a plugin for "
                    "another platform"
                )
        return super()._checked(value)

    def _agrees(self, value: Any) -> bool:
        names = list(map(_expanded, _split(value)))
        return not names or names[0] == platform_of()


def _split(names: str | None) -> list[str]:
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
    """The options of a client for GPUs: XLA's variables of the environment, then our settings."""
    options = dict(import_module("jaxlib.xla_client").generate_pjrt_gpu_plugin_options())
    chosen = {name: option.value for name, option in _settings.items()}
    if chosen["python_client_mem_fraction"]:
        options["memory_fraction"] = float(chosen["python_client_mem_fraction"])
    if not chosen["python_client_preallocate"]:
        options["preallocate"] = False
    if chosen["python_client_allocator"] != "default":
        options["allocator"] = chosen["python_client_allocator"]
    if chosen["cuda_visible_devices"] != "all":
        options["visible_devices"] = _numbers(chosen["cuda_visible_devices"])
    return options


def use_gpus(numbers: Sequence[int]) -> None:
    """Let this process use only the GPUs of these numbers, unless the user's setting names some."""
    option = _settings["cuda_visible_devices"]
    if option.value == "all":
        option.update(",".join(map(str, numbers)))


def _numbers(text: str) -> list[int]:
    try:
        return [int(each) for each in _split(text)]
    except ValueError:
        raise ValueError(
            'config: cuda_visible_devices is "all", or numbers separated by commas, found '
            f"{shown(text)}"
        ) from None


# Clients by platform.
_clients: dict[str, Client] = {}
_opening = threading.RLock()


def _after_fork_in_child() -> None:
    """Drop the clients: XLA's threads stay in the parent, and waiting for them would hang."""
    is_open = backend.has_client()
    clients = [*_clients.values(), *([get_backend().client] if is_open else [])]
    for client in clients:  # never to be torn down
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))
    _clients.clear()
    backend.forget_client()
    backend.choose_client(_refuse if is_open else open_default_client)


def _refuse() -> Client:
    raise RuntimeError(
        "XLA was in use when this process was forked, and does not work in the child: start "
        "processes by `spawn` or `forkserver`, or fork before the first use"
    )


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def open_client(platform: str, options: Mapping[str, Any]) -> tuple[Client, Options]:
    """Open the client of a platform.

    Arguments:
        platform: "cpu", "cuda", or the name of a plugin.
        options: those of the CPU's client; those of distributed programs are for all clients.

    Returns:
        The client, and XLA's flags for its programs.

    Raises:
        UnavailableError: there are no such devices.
    """
    if platform == _CPU:
        return import_module("jaxlib.xla_client").make_cpu_client(**options), {}
    if platform == CUDA and not has_nvidia_device() and CUDA not in _asked_for():
        raise UnavailableError(
            nvidia_devices(), "MINIJAX_PLATFORMS=cuda looks for one in spite of that."
        )
    plugin = load_plugin(platform)
    given = _gpu_options() if platform == CUDA else {}
    given |= {name: options[name] for name in ("node_id", "num_nodes") if name in options}
    try:
        client = client_of_plugin(plugin, given, options.get("distributed_client"))
    except RuntimeError as error:
        what = f"{nvidia_devices()}, and " if platform == CUDA else ""
        raise UnavailableError(
            f"{what}the plugin is installed, but finds no device that it can use: "
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
    preferred = list(map(_expanded, _split(_settings["platform_name"].value)))
    return list(dict.fromkeys([*preferred, *chosen]))


def _asked_for() -> list[str]:
    """The platforms that the user allows; none: all of them."""
    return list(map(_expanded, _split(_settings["platforms"].value)))


def open_default_client() -> Client:
    """Open the client of the default platform.

    Raises:
        PlatformError: none of the platforms that `config.platforms` names has devices.
    """
    failures = {}
    xla_flags()  # which are read now
    for platform in _wanted():
        try:
            client, flags = open_client(platform, client_options())
        except UnavailableError as error:
            failures[platform] = error
        else:
            for name, failure in failures.items():
                if failure.is_surprising:
                    warnings.warn(
                        f"{failure.reason}. minijax computes on {platform!r}. {failure.remedy} Set "
                        f"MINIJAX_PLATFORMS={platform} to compute there without {name!r} and this "
                        "warning.",
                        stacklevel=2,
                    )
            _clients[platform] = client
            flags_of_platform.update(flags)
            return client
    reasons = "".join(f"\n  {name}: {each.reason}" for name, each in failures.items())
    remedies = " ".join(dict.fromkeys(each.remedy for each in failures.values()))
    raise PlatformError(
        f"config.platforms={_settings['platforms'].value!r} (MINIJAX_PLATFORMS) allows no platform "
        f"that has devices here:{reasons}\n{remedies} Without MINIJAX_PLATFORMS, or with "
        "MINIJAX_PLATFORMS=cpu, the CPU computes."
    )


if not backend.has_client():  # else a stage has opened one, for the CPU
    backend.choose_client(open_default_client)


def platform() -> str:
    """The platform of the default device, as devices call it: "cpu", "gpu"."""
    return str(get_backend().client.platform)


def client_of(name: Any = None) -> Client:
    """The client of a platform, "cpu", "gpu" or "cuda"; by default that of the default device.

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
            f"config.platforms={_settings['platforms'].value!r} (MINIJAX_PLATFORMS) leaves it out",
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
    """The devices of a platform in all processes; by default those of the default platform.

    Raises:
        PlatformError: there are none of this kind.
    """
    return list(client_of(platform).devices())


def is_the_only(devices: tuple[Device, ...]) -> bool:
    """Return True if these are one device, beside which there is none, of whatever platform.

    Where a GPU computes there is the CPU, too.
    """
    if len(devices) > 1 or len(_clients) > 1 or platform_of() != _CPU:
        return False
    return bool(list(devices) == client_of().devices())


__all__ = ["client_of", "devices", "is_the_only", "platform", "use_gpus"]
