"""The default placement of programs: on the default device, or on the mesh in context."""

from functools import lru_cache
from typing import Any, NamedTuple

from minijax import xla
from minijax.settings.config import Option, Switch, config
from minijax.shardings.mesh import Device, Mesh, mesh_of_programs
from minijax.shardings.partition_spec import PartitionSpec
from minijax.shardings.sharding import NamedSharding, Sharding, SingleDeviceSharding
from minijax_stage2.errors import shown


class _DefaultDevice(Option):
    """The setting that names a device or a platform.

    As with a switch, calls need not ask as long as nobody has chosen a device.
    """

    def __init__(self) -> None:
        super().__init__(
            "default_device",
            ("cpu", "gpu", "cuda"),
            None,
            "The device of arrays that nobody puts elsewhere, or its kind; None: the first.",
        )

    def _checked(self, value: Any) -> Any:
        if isinstance(value, str):
            xla.devices(value)
        elif value is not None and not isinstance(value, xla.device_class()):
            raise ValueError(
                "config: default_device is one of minijax.devices(), a kind of devices such as "
                f"'cpu', or None; found {shown(value)} of type {type(value).__name__}"
            )
        Switch.used |= value is not None
        return value


config.options["default_device"] = default_device_option = _DefaultDevice()


class DefaultPlacement(NamedTuple):
    """The devices of a program whose arguments do not say where it runs.

    Attributes:
        sharding: its devices; results lie on them, divided as XLA chooses.
        committed: whether results are committed to them. If so, arguments may not be elsewhere.
        divides: whether the sharding is also that of the results.
    """

    sharding: Sharding
    committed: bool
    divides: bool = False


def default_placement() -> DefaultPlacement | None:
    """The devices of programs whose arguments do not say where they run; None: the first device."""
    if not Switch.used:
        return None
    mesh = mesh_of_programs.get()
    if mesh is not None:
        return _on_mesh(mesh)
    device = default_device_option.value
    if isinstance(device, str):
        device = xla.devices(device)[0]
    return None if device is None else _on_device(device)


@lru_cache(maxsize=64)
def _on_mesh(mesh: Mesh) -> DefaultPlacement | None:
    if mesh.device_tuple == (xla.default_device(),) and not mesh.explicit_axes:
        return None
    return DefaultPlacement(NamedSharding(mesh, PartitionSpec()), committed=True)


@lru_cache(maxsize=64)
def _on_device(device: Device) -> DefaultPlacement | None:
    if device == xla.default_device():
        return None
    return DefaultPlacement(SingleDeviceSharding(device), committed=False)
