"""The clients of XLA, under the names of `jax.extend.backend`."""

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from glassjax.checks import clear_caches as clear_in_memory_compilation_cache
from glassjax.runtime.devices import devices
from glassjax.xla.clients import client, client_class, compile_options, default_device
from glassjax.xla.extensions import clear_transformation, register_transformation


def get_backend(platform: str | None = None) -> Any:
    """jaxlib's client of a platform.

    Arguments:
        platform: its name, "cpu" or "gpu"; None: the platform of the default device.

    Raises:
        RuntimeError: there is no such platform here.
    """
    return client() if platform is None else devices(platform)[0].client


def backends() -> dict[str, Any]:
    """The clients that are open, by platform."""
    return {device.client.platform: device.client for device in devices()}


def backend_xla_version(platform: str | None = None) -> int | None:
    """XLA's version as a number, if the platform reports it."""
    version = getattr(get_backend(platform), "xla_version", None)
    return None if version is None else int(version)


def get_default_device() -> Any:
    """The device that holds new arrays."""
    return default_device()


def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    env_options_overrides: Mapping[str, Any] | None = None,
    fdo_profile: bytes | None = None,
    detailed_logging: bool = True,
    backend: Any = None,
) -> Any:
    """jaxlib's options of a compilation, for its clients.

    Arguments:
        num_replicas: the number of copies of the program that run.
        num_partitions: the number of devices that each is sharded over.
        device_assignment: devices, or their numbers, of shape `(num_replicas, num_partitions)`, or
            `(num_replicas,)` if programs are not sharded.
        env_options_overrides: options of XLA by name.
        fdo_profile: a profile that guides optimization.
        detailed_logging, backend: ignored.

    Raises:
        ValueError: `device_assignment` has another shape.

    >>> from glassjax.extend.backend import get_compile_options
    >>> get_compile_options(1, 2, [glassjax.devices()[:1] * 2]).num_partitions
    2
    """
    return compile_options(
        num_replicas, num_partitions, device_assignment, env_options_overrides, fdo_profile
    )


def create_compile_options(
    computation: Any,
    tuple_args: bool,
    allow_prop_to_inputs: Sequence[bool],
    allow_prop_to_outputs: Sequence[bool],
    backend: Any,
    np_dev: Any,
    compiler_options: Mapping[str, Any],
) -> Any:
    """jaxlib's options for a program that is sharded over devices.

    Arguments:
        computation, backend: ignored.
        tuple_args: whether the program takes its arguments as one tuple.
        allow_prop_to_inputs: whether XLA may choose the sharding, for each argument.
        allow_prop_to_outputs: the same for each result.
        np_dev: the devices, in a numpy array.
        compiler_options: options of XLA by name.

    >>> from glassjax.interpreters import pxla
    >>> devices = np.array(glassjax.devices()[:1])
    >>> pxla.create_compile_options(None, False, [False], [True], None, devices, {}).num_replicas
    1
    """
    options = dict(compiler_options)
    profile = options.pop("fdo_profile", None)
    made = compile_options(1, np_dev.size, np_dev.reshape(1, -1), options, profile)
    made.parameter_is_tupled_arguments = tuple_args
    build = made.executable_build_options
    build.allow_spmd_sharding_propagation_to_parameters = list(allow_prop_to_inputs)
    build.allow_spmd_sharding_propagation_to_output = list(allow_prop_to_outputs)
    return made


# Functions that change programs while XLA compiles them, as `jax.extend.xla` has them.


class PipelineStage(enum.Enum):
    """The stage at which XLA calls a function: before or after it schedules operations."""

    PRE_SCHEDULER = 0
    POST_SCHEDULER = 1


def register_hlo_module_transformation(
    callback: Callable[[bytes], bytes | None],
    *,
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> None:
    """Let XLA call a function on each program that it compiles from now on.

    Functions of one stage are called in the order in which they were registered. Programs that are
    already compiled do not change; the compile cache distinguishes the others.

    Arguments:
        callback: a function from the bytes of an `HloModuleProto` to the bytes of another, or to
            None for no change.
        name: a name, by which to remove it.
        stage: when it is called.
        platforms: the platforms of the programs; None: the CPU and the platform of the default
            device.

    Raises:
        NotImplementedError: jaxlib is older than 0.11.

    >>> from glassjax.extend import xla
    >>> seen = []
    >>> xla.register_hlo_module_transformation(seen.append, name="look")
    >>> glassjax.jit(lambda x: 3 * x + 5)(1.0), len(seen) > 0
    (Array(8., dtype=float32, weak_type=True), True)
    >>> xla.clear_hlo_module_transformation("look")
    True
    """
    register_transformation(callback, name, stage.value, platforms)


def clear_hlo_module_transformation(
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> bool:
    """Remove a function that `register_hlo_module_transformation` has registered.

    Arguments:
        name, stage, platforms: as in `register_hlo_module_transformation`.

    Returns:
        Whether there was such a function.

    >>> from glassjax.extend import xla
    >>> xla.clear_hlo_module_transformation("nobody")
    False
    """
    return clear_transformation(name, stage.value, platforms)


__all__ = [
    "backend_xla_version", "backends", "clear_in_memory_compilation_cache", "get_backend",
    "get_compile_options", "get_default_device",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "Backend":  # a class of jaxlib, imported when it is needed
        return client_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
