"""Arrays moved and resharded, within programs and outside."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.errors import ShardingTypeError
from glassjax.primitives import axes as mesh_axes
from glassjax.primitives import sparsity_rules
from glassjax.primitives.declare import declare
from glassjax.primitives.sharding_rules import as_operands
from glassjax.runtime import array
from glassjax.runtime.evaluation import evaluated_by_library, evaluators
from glassjax.runtime.lowering import constrained
from glassjax.shardings import types as sharded
from glassjax.shardings.partition_spec import PartitionSpec, with_axis
from glassjax.shardings.sharding import NamedSharding, Sharding, shardings_for
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import python_scalars, typeof_named
from glassjax_stage2.tree import keystr
from glassjax_stage2.vmap import BatchAxis, BatchDim
from glassjax_stage3.lowering import FunctionBuilder, Value

sharding_constraint_p = Primitive("sharding_constraint")
_NUMBERS = (*python_scalars, np.ndarray, np.generic)


def constrain(x: Any, sharding: Sharding) -> Any:
    """Constrain the sharding of `x`; on a mesh with explicit axes, change its type."""
    sharding.parts(typeof(x).ndim)
    if isinstance(sharding, NamedSharding) and sharding.mesh.explicit_axes:
        return bind1(sharded.reshard_p, x, sharding=sharding)
    return bind1(sharding_constraint_p, x, sharding=sharding)


def _sharding_constraint_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, sharding: Sharding
) -> list[Value]:
    if not isinstance(sharding, NamedSharding) or sharding.num_devices == 1:
        return [x]  # nothing to constrain in a program for one device
    return [constrained(b, x, sharding)]


def _sharding_constraint_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], *, sharding: Sharding
) -> tuple[list[Any], list[BatchDim]]:
    """Shard the batch axis by `spmd_axis_name` of `vmap`; else the partitioner chooses."""
    (x,), (dim,) = values, dims
    if isinstance(sharding, NamedSharding) and dim is not None:
        entry = mesh_axes.axis_data(axis).spmd_name or PartitionSpec.UNCONSTRAINED
        sharding = sharding.update(spec=with_axis(sharding.spec, dim, entry))
    return [bind1(sharding_constraint_p, x, sharding=sharding)], [dim]


declare(
    sharding_constraint_p,
    abstract_eval=lambda x, *, sharding: [x],
    lower=_sharding_constraint_lower,
    vmap=_sharding_constraint_vmap,
    sharding=as_operands,
    sparsity=sparsity_rules.as_operands,
    jvp=[lambda t, out, x, *, sharding: bind1(sharding_constraint_p, t, sharding=sharding)],
    transpose=[lambda ct, x, *, sharding: bind1(sharding_constraint_p, ct, sharding=sharding)],
)


def _decided(spec: PartitionSpec) -> PartitionSpec:
    """The spec with unconstrained axes unsharded."""
    entries = [None if entry is PartitionSpec.UNCONSTRAINED else entry for entry in spec]
    while entries and entries[-1] is None:
        entries.pop()
    return PartitionSpec(*entries)


def constrained_now(x: Any, sharding: Sharding) -> Any:
    """An array with a given sharding."""
    sharding = _with_devices(x, sharding)
    if isinstance(sharding, NamedSharding) and PartitionSpec.UNCONSTRAINED in [*sharding.spec]:
        sharding = sharding.update(spec=_decided(sharding.spec))
    try:
        placed = array.put_to(x, sharding)
        return array.in_own_memory(x) if placed is x else placed
    except ValueError:  # uneven shards, which the compiler can make within a program
        if not isinstance(sharding, NamedSharding):
            raise
        return array.put_to(x, sharding.everywhere())


def _with_devices(x: Any, sharding: Sharding) -> Sharding:
    """A sharding on the devices of `x`, or of the mesh in context, if its own mesh has none."""
    lies = getattr(x, "sharding", None)
    if not isinstance(sharding, NamedSharding) or not isinstance(lies, NamedSharding):
        return sharded.on_known_devices(sharding)
    if lies.mesh.abstract_mesh != sharding.mesh:
        return sharded.on_known_devices(sharding)
    return sharding.update(mesh=lies.mesh)


evaluators[sharding_constraint_p] = lambda x, *, sharding: [
    constrained_now(array.to_array(x), sharding)
]


@evaluated_by_library
def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """`x`, a pytree of arrays, with the given shardings.

    In a program this constrains the partitioner; outside, it reshards them at once.

    Arguments:
        x: the arrays.
        shardings: a sharding, or a `PartitionSpec` of the mesh in context, for each array, or a
            pytree prefix of `x` of these.

    Raises:
        TypeError: a leaf of `x` is not an array, or a leaf of `shardings` not a sharding or spec.
        ValueError: a sharding is None, or does not fit its array; there is no mesh in context.

    >>> mesh = glassjax.sharding.Mesh(glassjax.devices()[:1], "data")
    >>> sharding = glassjax.sharding.NamedSharding(mesh, glassjax.P("data"))
    >>> glassjax.jit(lambda x: lax.with_sharding_constraint(2 * x, sharding))(jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """
    paths, treedef = stage2.tree_flatten_with_path(x)
    found = shardings_for("with_sharding_constraint", "shardings", shardings, x)
    outs = []
    for (path, leaf), sharding in zip(paths, found, strict=True):
        name = f"with_sharding_constraint: x{keystr(path)}"
        typeof_named(name, leaf)
        if sharding is None:
            raise ValueError(
                "with_sharding_constraint: found None among the shardings, which is not a "
                "constraint; leave such arrays out of x"
            )
        require_not_manual(name, sharding)
        _require_typed_sharding(name, leaf, sharding)
        try:
            outs.append(constrain(leaf, sharding))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return array.tree_to_arrays(stage2.tree_unflatten(treedef, outs))


def require_not_manual(name: str, sharding: Sharding) -> None:
    """Raise an error if a constraint names an axis along which the program sees one device."""
    names = sharding.spec.names() if isinstance(sharding, NamedSharding) else ()
    manual = {
        axis.name for axis in mesh_axes.mesh_axes_of([each for axes in names for each in axes])
    }
    if manual:
        raise ValueError(
            f"{name}: {sharding.spec} names {', '.join(map(repr, manual))}, manual axes of a "  # type: ignore[attr-defined]
            "shard_map, where each device has its own shard. Leave these axes out"
        )


def _require_typed_sharding(name: str, x: Any, sharding: Sharding) -> None:
    """Raise an error if a constraint contradicts the type of `x`, which it cannot change."""
    aval = mesh_axes.plain_type(typeof(x))
    wanted = sharded.type_at(sharded.unsharded(aval), sharding)
    if sharded.spec_of(wanted) != sharded.spec_of(aval):
        raise ShardingTypeError(
            f"{name} has type {aval}, and {sharding.spec} would make it {wanted}. Along axes of "  # type: ignore[attr-defined]
            "type Explicit a constraint can only repeat the sharding in the type; sharding.reshard "
            "changes it"
        )


_WAYS_TO_VARY = ("reduced", "unreduced", "varying")


@evaluated_by_library
def pcast(x: Any, axis_name: Hashable | tuple[Hashable, ...], *, to: str) -> Any:
    """`x`, a pytree of arrays, with a type that relates its values along axes of a mesh otherwise.

    What each device holds does not change. A value that is the same on all devices can be cast to
    "varying", which operands are by themselves where it is needed, so that its cotangent is summed;
    or to "reduced", so that the cotangent is left unreduced. A "varying" value can be cast to
    "unreduced": the value is the sum of the parts that devices hold. A "reduced" one can be cast to
    "varying". The axes of `vmap` need no such declaration: nothing is changed.

    Arguments:
        x: the arrays.
        axis_name: the name of an axis, or a tuple of names.
        to: "varying", "reduced" or "unreduced".

    Raises:
        ValueError: `to` is none of these, or leading there takes communication.
        NameError: there is no axis of that name.

    >>> glassjax.vmap(lambda x: lax.pcast(x, "i", to="varying"), axis_name="i")(jnp.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    if isinstance(axis_name, set | frozenset):
        raise TypeError(f"pcast: axis_name must be a name or a tuple of names, found {axis_name}")
    if names and to not in _WAYS_TO_VARY:
        ways = ", ".join(map(repr, _WAYS_TO_VARY))
        raise ValueError(f"pcast: to must be one of {ways}, found {shown(to)}")
    for name in names:
        mesh_axes.axis_of(name)
    axes = mesh_axes.mesh_axes_of(names)
    return stage2.tree_map(lambda leaf: mesh_axes.cast(leaf, axes, to), array.tree_to_arrays(x))
