"""Shardings from user input: devices, specs of the mesh in context, prefixes of pytrees."""

from typing import Any

from minijax import xla
from minijax.shardings.layout import Format
from minijax.shardings.mesh import AxisType, mesh_in_context
from minijax.shardings.partition_spec import PartitionSpec
from minijax.shardings.sharding import NamedSharding, Sharding, SingleDeviceSharding
from minijax_stage2 import tree_leaves
from minijax_stage2.errors import TreeMismatchError, shown
from minijax_stage2.tree import broadcast_prefix


def _is_entry(x: Any) -> bool:
    return x is None or isinstance(x, Sharding | PartitionSpec | Format)


def shardings_for(caller: str, role: str, given: Any, tree: Any) -> list[Sharding | None]:
    """A sharding, or None, for each leaf of a pytree, of which `given` is for a prefix.

    Raises:
        TypeError: something else is given than devices, shardings, specs and None.
        ValueError: `given` is not a prefix of the pytree, or a spec is given without a mesh.
    """
    return [as_sharding(caller, role, entry) for entry in entries_for(caller, role, given, tree)]


def entries_for(caller: str, role: str, given: Any, tree: Any) -> list[Any]:
    """The entry of `given`, for a prefix of a pytree, that each leaf has.

    Raises:
        ValueError: `given` is not a prefix of the pytree.
    """
    try:
        return broadcast_prefix(given, tree, _is_entry)
    except TreeMismatchError as error:
        raise TreeMismatchError(
            f"{caller}: {role} is not a prefix of the arrays: {error}"
        ) from None


def require_shardings(caller: str, role: str, given: Any) -> None:
    """Raise a TypeError if a leaf of `given` is not a device, a sharding, a spec or None."""
    for entry in tree_leaves(given, is_leaf=_is_entry):
        if not isinstance(entry, PartitionSpec):  # which may have to wait for its mesh
            as_sharding(caller, role, entry)


def as_sharding(caller: str, role: str, entry: Any) -> Sharding | None:
    """Convert a device, a sharding, a spec of the mesh in context, or None."""
    if isinstance(entry, Format):
        entry = entry.sharding_by(caller, role)
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


def chosen_sharding(caller: str, device: Any, out_sharding: Any) -> Sharding | None:
    """The sharding that `device` or `out_sharding` says, or None.

    Raises:
        TypeError: one is of another type.
        ValueError: both are given; or `out_sharding` divides an array by axes of a mesh that are
            not of type `Explicit`.
    """
    if out_sharding is None:
        return None if device is None else as_sharding(caller, "device", device)
    if device is not None:
        raise ValueError(
            f"{caller}: device and out_sharding are both given; one of them says where the result "
            "lies"
        )
    return explicit_sharding(caller, out_sharding)


def explicit_sharding(
    caller: str, out_sharding: Any, role: str = "out_sharding"
) -> NamedSharding | None:
    """The sharding that is given as `out_sharding`, or as the argument `role`.

    That of a type without divisions, whose mesh has no axes, says no more than None.

    Raises:
        TypeError: it is not a `NamedSharding` or a `PartitionSpec`.
        ValueError: it divides an array by axes of a mesh that are not of type `Explicit`.
    """
    if out_sharding is None or (
        isinstance(out_sharding, NamedSharding) and out_sharding.mesh.empty
    ):
        return None
    if not isinstance(out_sharding, NamedSharding | PartitionSpec):
        raise TypeError(
            f"{caller}: {role} must be a NamedSharding or a PartitionSpec, found "
            f"{shown(out_sharding)} of type {type(out_sharding).__name__}"
        )
    sharding = as_sharding(caller, role, out_sharding)
    assert isinstance(sharding, NamedSharding)
    types = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types, strict=True))
    for name in [name for names in sharding.spec.names() for name in names]:
        if types[name] is not AxisType.Explicit:
            raise ValueError(
                f"{caller}: {role} divides the result by the mesh axis {name!r}, which is of "
                f"type {types[name]}: the compiler decides about such axes. Use "
                "lax.with_sharding_constraint, or a mesh with axes of type Explicit."
            )
    return sharding
