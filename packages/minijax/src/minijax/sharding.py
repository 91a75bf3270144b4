"""Shardings: meshes of devices, and how arrays are divided among them (`jax.sharding`)."""

from minijax.lax.resharding import reshard
from minijax.parallel.explicit import auto_axes, explicit_axes
from minijax.shardings.context import get_abstract_mesh, get_mesh, set_mesh, use_abstract_mesh
from minijax.shardings.manual_axis_type import ManualAxisType
from minijax.shardings.mesh import AbstractDevice, AbstractMesh, AxisType, Mesh
from minijax.shardings.no_collectives import no_collectives
from minijax.shardings.partition_spec import Infer, PartitionSpec, UnreducedKind
from minijax.shardings.sharding import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    make_single_device_sharding,
)

__all__ = [
    "AbstractDevice", "AbstractMesh", "AxisType", "Infer", "ManualAxisType", "Mesh",
    "NamedSharding", "PartitionSpec", "Sharding", "SingleDeviceSharding", "UnreducedKind",
    "auto_axes", "explicit_axes", "get_abstract_mesh", "get_mesh",
    "make_single_device_sharding", "no_collectives", "reshard", "set_mesh", "use_abstract_mesh",
]  # fmt: skip
