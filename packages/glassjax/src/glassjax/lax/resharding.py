"""Resharding of arrays whose types have shardings."""

from collections.abc import Sequence
from typing import Any

import glassjax_stage2 as stage2
from glassjax import xla
from glassjax.primitives import sparsity_rules
from glassjax.primitives.declare import declare
from glassjax.runtime.array import Array, array_at, put_to, to_array
from glassjax.runtime.evaluation import evaluated_by_library, evaluators
from glassjax.runtime.lowering import constrained
from glassjax.shardings import types as sharded
from glassjax.shardings.memories import in_space, space_of
from glassjax.shardings.mesh import AbstractMesh, Mesh, mesh_in_context
from glassjax.shardings.partition_spec import with_axis
from glassjax.shardings.reduction import reduction_in, with_reduction
from glassjax.shardings.sharding import NamedSharding, shardings_for
from glassjax_stage2 import ShapedArray, bind1, tree_flatten_with_path, typeof
from glassjax_stage2.tree import keystr
from glassjax_stage2.vmap import BatchAxis, BatchDim
from glassjax_stage3.executable import device_type
from glassjax_stage3.lowering import FunctionBuilder, Value


def _reshard_type(x: Any, *, sharding: NamedSharding) -> list[ShapedArray]:
    return [sharded.type_at(sharded.unsharded(x), sharding)]


def _reshard_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, sharding: NamedSharding
) -> list[Value]:
    if sharding.num_devices == 1:
        return [x]
    is_open = bool(sharding.mesh.auto_axes)  # the compiler may shard over auto axes, too
    return [constrained(b, x, sharding, is_open)]


def _reshard_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], *, sharding: NamedSharding
) -> tuple[list[Any], list[BatchDim]]:
    """Batching rule: the sharding of the batch axis does not change."""
    (x,), (dim,) = values, dims
    if dim is not None:
        entry = sharded.spec_of(typeof(x))[dim]
        sharding = sharding.update(spec=with_axis(sharding.spec, dim, entry))
    return [bind1(sharded.reshard_p, x, sharding=sharding)], [dim]


declare(
    sharded.reshard_p,
    abstract_eval=_reshard_type,
    lower=_reshard_lower,
    vmap=_reshard_vmap,
    sparsity=sparsity_rules.as_operands,
    jvp=[lambda t, out, x, *, sharding: bind1(sharded.reshard_p, t, sharding=sharding)],
    transpose=[lambda ct, x, *, sharding: ct],  # the caller casts it to the dual type of `x`
)
evaluators[sharded.reshard_p] = lambda x, *, sharding: [
    put_to(to_array(x), _on_devices(x, sharding))
]


def _on_devices(x: Any, sharding: NamedSharding) -> NamedSharding:
    """A sharding on devices; for an abstract mesh, on the devices of `x` or of the mesh in context.

    Without these, on the devices of the only mesh with such axes that holds arrays.
    """
    if isinstance(sharding.mesh, Mesh):
        return sharding
    lies = getattr(x, "sharding", None)
    mesh = lies.mesh if isinstance(lies, NamedSharding) else mesh_in_context.get()
    if not isinstance(mesh, Mesh):
        mesh = getattr(sharded.on_known_devices(sharding), "mesh", None)
    if not isinstance(mesh, Mesh):
        raise ValueError(
            f"reshard: {sharding} is for a mesh without devices, and not exactly one mesh with "
            "such axes holds arrays. Call it in `with glassjax.set_mesh(mesh):`"
        )
    mesh = Mesh(mesh.devices, mesh.axis_names, sharding.mesh.axis_types)
    return sharding.update(mesh=mesh)


def _to_auto_type(x: ShapedArray, *, mesh: AbstractMesh) -> list[ShapedArray]:
    explicit = {*mesh.explicit_axes}
    spec = [tuple([name for name in axes if name in explicit]) for axes in sharded.spec_of(x)]
    state = sharded.reduction_of(x).along(explicit)
    found = sharded.ShardedArray(sharded.unsharded(x), mesh, tuple(spec), state)
    return [in_space(found, space_of(x))]


def _to_auto_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, mesh: AbstractMesh
) -> list[Value]:
    """The same value; its parts are combined first, as the compiler decides about whole arrays."""
    sharding = sharded.sharding_of_type(x.aval)
    state = sharded.reduction_of(x.aval)
    complete = state.without(mesh.auto_axes)
    if complete.unreduced == state.unreduced:
        return [x]
    spec = with_reduction(sharding.spec, complete)
    return [constrained(b, x, NamedSharding(sharding.mesh, spec))]


declare(
    sharded.to_auto_p,
    abstract_eval=_to_auto_type,
    lower=_to_auto_lower,
    vmap=lambda size, values, dims, *, mesh: ([bind1(sharded.to_auto_p, *values, mesh=mesh)], dims),
    jvp=[lambda t, out, x, *, mesh: bind1(sharded.to_auto_p, t, mesh=mesh)],
    transpose=[lambda ct, x, *, mesh: ct],
)


def _to_auto_impl(x: Any, *, mesh: AbstractMesh) -> list[Any]:
    """The same array, complete; the axes of its mesh have other types."""
    (aval,) = _to_auto_type(typeof(x), mesh=mesh)
    if type(x) is not Array or not isinstance(x.sharding, NamedSharding):
        return [x]
    at, state = x.sharding.mesh, reduction_in(x.sharding.spec).along(mesh.explicit_axes)
    assert isinstance(at, Mesh)  # concrete, since it holds the array
    spec = with_reduction(x.sharding.spec, state)
    x = put_to(x, x.sharding.update(spec=spec))
    sharding = x.sharding.update(mesh=Mesh(at.devices, at.axis_names, mesh.axis_types))
    where = sharding.placement(aval.ndim)
    return [array_at(xla.with_placement(x.buffer, device_type(aval), where), aval, x.committed)]


evaluators[sharded.to_auto_p] = _to_auto_impl
sharded.typed_primitives.update((sharded.reshard_p, sharded.to_auto_p))


@evaluated_by_library
def reshard(xs: Any, out_shardings: Any) -> Any:
    """Reshard `xs`, a pytree of arrays, over mesh axes of type `Explicit`.

    The new sharding is in the type of the result, in a program and outside. The operation is
    linear: a cotangent is sharded like the argument.

    Arguments:
        xs: the arrays.
        out_shardings: a `NamedSharding`, or a `PartitionSpec` of the mesh in context, for each
            array, or a pytree prefix of `xs` of these.

    Raises:
        TypeError: a leaf of `xs` is not an array, or a leaf of `out_shardings` not a sharding or
            spec.
        ValueError: a sharding does not fit its array, or names an axis that is not of type
            `Explicit`; there is no mesh in context.

    >>> from glassjax.sharding import reshard
    >>> mesh = glassjax.make_mesh((1,), ("data",))
    >>> with glassjax.set_mesh(mesh):
    ...     glassjax.typeof(reshard(jnp.ones((4, 2)), glassjax.P("data")))
    ShapedArray(float32[4@data,2])
    """
    leaves, treedef = tree_flatten_with_path(xs)
    found = shardings_for("reshard", "out_shardings", out_shardings, xs)
    outs = [
        sharded.resharded(f"reshard: xs{keystr(path)}", to_array(leaf), sharding, "out_shardings")
        for (path, leaf), sharding in zip(leaves, found, strict=True)
    ]
    return stage2.tree_unflatten(treedef, outs)
