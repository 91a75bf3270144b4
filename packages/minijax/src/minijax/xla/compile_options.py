"""Options of a compilation, as jaxlib's clients take them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minijax.xla.importing import import_module
from minijax_stage3.backend import get_backend

Options = Mapping[str, bool | int | float | str]  # XLA flags and their values

# The flags of all programs for the platform of the default device.
flags_of_platform: dict[str, bool | int | float | str] = {}


def options_with(options: Options) -> Any:
    """The options of a compilation for the default device, with flags of XLA."""
    backend = get_backend()
    compile_options = backend.jaxlib.CompileOptions()
    numbers = np.array([[backend.device.id]], np.int32)
    compile_options.device_assignment = backend.jaxlib.DeviceAssignment.create(numbers)
    flags = {**flags_of_platform, **options}
    for name in ("optimization_level", "memory_fitting_level"):  # which are not flags
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
    """jaxlib's options for a program on some devices, with options of XLA by name.

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


__all__ = ["Options", "compile_options"]
