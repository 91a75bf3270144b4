"""Shardings from user input: devices, specs of the mesh in context, prefixes of pytrees."""

from typing import Any

from minijax import xla
from minijax.shardings.mesh import mesh_in_context
from minijax.shardings.partition_spec import PartitionSpec
from minijax.shardings.sharding import NamedSharding, Sharding, SingleDeviceSharding
from minijax_stage2 import tree_leaves
from minijax_stage2.errors import TreeMismatchError
from minijax_stage2.shown import shown
from minijax_stage2.tree import broadcast_prefix


def _is_entry(x: Any) -> bool:
    return x is None or isinstance(x, Sharding | PartitionSpec)


def shardings_for(caller: str, role: str, given: Any, tree: Any) -> list[Sharding | None]:
    """A sharding, or None, for each leaf of a pytree, of which `given` is for a prefix.

    Raises:
        TypeError: something else is given than devices, shardings, specs and None.
        ValueError: `given` is not a prefix of the pytree, or a spec is given without a mesh.
    """
    try:
        entries = broadcast_prefix(given, tree, _is_entry)
    except TreeMismatchError as error:
        raise TreeMismatchError(
            f"{caller}: {role} is not a prefix of the arrays: {error}"
        ) from None
    return [as_sharding(caller, role, entry) for entry in entries]


def require_shardings(caller: str, role: str, given: Any) -> None:
    """Raise a TypeError if a leaf of `given` is not a device, a sharding, a spec or None."""
    for entry in tree_leaves(given, is_leaf=_is_entry):
        if not isinstance(entry, PartitionSpec):  # which may have to wait for its mesh
            as_sharding(caller, role, entry)


def as_sharding(caller: str, role: str, entry: Any) -> Sharding | None:
    """Convert a device, a sharding, a spec of the mesh in context, or None."""
    if entry is None or isinstance(entry, Sharding):
        return entry
    if isinstance(entry, PartitionSpec):
        mesh = mesh_in_context.get()
        if mesh is None:
            raise ValueError(
                f"{caller}: {role} is the PartitionSpec {entry}, which needs a mesh: call it in "
                "`with minijax.set_mesh(mesh):`, or give NamedSharding(mesh, spec)"
            )
        return NamedSharding(mesh, entry)
    if isinstance(entry, xla.device_class()):
        return SingleDeviceSharding(entry)
    raise TypeError(
        f"{caller}: {role} must be a device, a Sharding, a PartitionSpec or None, found "
        f"{shown(entry)} of type {type(entry).__name__}"
    )
