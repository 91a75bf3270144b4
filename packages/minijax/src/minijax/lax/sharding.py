"""Sharding: moving arrays to devices and dividing them, outside programs and inside."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from minijax import xla
from minijax.errors.argument_errors import require_fit
from minijax.errors.classes import ShardingTypeError
from minijax.primitives.axis_names import axis_of, mesh_axes_of_batch
from minijax.primitives.declare import declare
from minijax.primitives.varying import mesh_axes_of, plain_type, pvary
from minijax.runtime import hooks
from minijax.runtime.agreement import require_same_value
from minijax.runtime.array import Array, PlacedArray, array, is_readable, place, place_numbers, read
from minijax.runtime.conversion import to_array, tree_to_arrays
from minijax.runtime.default_placement import default_placement
from minijax.runtime.evaluation import evaluated_by_library, evaluators
from minijax.runtime.sharding_text import constrained, division_text
from minijax.shardings.mesh import AbstractMesh, Mesh, mesh_in_context
from minijax.shardings.partition_spec import PartitionSpec
from minijax.shardings.resharding import resharded
from minijax.shardings.sharding import NamedSharding, Sharding
from minijax.shardings.trees import chosen_sharding, shardings_for
from minijax.shardings.types import (
    ShardedArray,
    division_of,
    of_types,
    on_known_devices,
    reshard_p,
    to_auto_p,
    type_at,
    unsharded,
)
from minijax_stage1.interpreter import is_evaluating
from minijax_stage2 import (
    Primitive,
    ShapedArray,
    Tracer,
    bind1,
    tree_flatten,
    tree_flatten_with_path,
    tree_map,
    tree_unflatten,
    typeof,
)
from minijax_stage2.shaped_array import python_scalars, typeof_named
from minijax_stage2.shown import shown
from minijax_stage2.tree import keystr
from minijax_stage2.vmap import BatchDim
from minijax_stage3.executable import device_type
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type
from minijax_stage4.transpose import cotangent_casts

sharding_constraint_p = Primitive("sharding_constraint")
_NUMBERS = (*python_scalars, np.ndarray, np.generic)


def _constrained(x: Any, sharding: Sharding) -> Any:
    """`x` with a sharding constraint; with another type, if types say how arrays are divided."""
    sharding.parts(typeof(x).ndim)
    if isinstance(sharding, NamedSharding) and sharding.mesh.explicit_axes:
        return bind1(reshard_p, x, sharding=sharding)
    return bind1(sharding_constraint_p, x, sharding=sharding)


def _lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, sharding: Sharding
) -> list[Value]:
    if not isinstance(sharding, NamedSharding) or sharding.num_devices == 1:
        return [x]  # a program for one device is on it all
    division = division_text(b.module, sharding.mesh, sharding.spec, x.aval.ndim)
    return b.emit(f"sdy.sharding_constraint {x.name} {division} : {mlir_type(x.aval)}", *out_avals)


def _vmap(
    axis_size: int, values: Sequence[Any], dims: Sequence[BatchDim], *, sharding: Sharding
) -> tuple[list[Any], list[BatchDim]]:
    """The batch axis is divided as `vmap` was told, or as the partitioner likes."""
    (x,), (dim,) = values, dims
    if isinstance(sharding, NamedSharding) and dim is not None:
        entries = [*sharding.spec, *[None] * (typeof(x).ndim - 1 - len(sharding.spec))]
        entries.insert(dim, mesh_axes_of_batch() or PartitionSpec.UNCONSTRAINED)
        sharding = NamedSharding(sharding.mesh, PartitionSpec(*entries))
    return [bind1(sharding_constraint_p, x, sharding=sharding)], [dim]


declare(
    sharding_constraint_p,
    abstract_eval=lambda x, *, sharding: [x],
    lower=_lower,
    vmap=_vmap,
    jvp=[lambda t, out, x, *, sharding: bind1(sharding_constraint_p, t, sharding=sharding)],
    transpose=[lambda ct, x, *, sharding: bind1(sharding_constraint_p, ct, sharding=sharding)],
)


def _divided_as(x: Any, *, sharding: NamedSharding) -> list[ShapedArray]:
    return [type_at(unsharded(x), sharding)]


def _lower_resharded(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, sharding: NamedSharding
) -> list[Value]:
    return [x if sharding.num_devices == 1 else constrained(b, x, sharding)]


def _vmap_resharded(
    axis_size: int, values: Sequence[Any], dims: Sequence[BatchDim], *, sharding: NamedSharding
) -> tuple[list[Any], list[BatchDim]]:
    """The axis of the examples stays divided as it is."""
    (x,), (dim,) = values, dims
    if dim is not None:
        aval = typeof(x)
        entries = [*sharding.spec, *[None] * (aval.ndim - 1 - len(sharding.spec))]
        entries.insert(dim, aval.sharding.spec[dim])
        sharding = NamedSharding(sharding.mesh, PartitionSpec(*entries))
    return [bind1(reshard_p, x, sharding=sharding)], [dim]


declare(
    reshard_p,
    abstract_eval=_divided_as,
    lower=_lower_resharded,
    vmap=_vmap_resharded,
    jvp=[lambda t, out, x, *, sharding: bind1(reshard_p, t, sharding=sharding)],
    transpose=[lambda ct, x, *, sharding: ct],  # which is cast to the type of `x`
)
evaluators[reshard_p] = lambda x, *, sharding: [place(to_array(x), _on_devices(x, sharding))]


def _on_devices(x: Any, sharding: NamedSharding) -> NamedSharding:
    """A sharding on devices, if its own mesh is abstract: those of `x`, or of the mesh in context.

    Without these, they are those of the only mesh with such axes on which arrays lie.
    """
    if isinstance(sharding.mesh, Mesh):
        return sharding
    lies = getattr(x, "sharding", None)
    mesh = lies.mesh if isinstance(lies, NamedSharding) else mesh_in_context.get()
    if not isinstance(mesh, Mesh):
        mesh = getattr(on_known_devices(sharding), "mesh", None)
    if not isinstance(mesh, Mesh):
        raise ValueError(
            f"reshard: {sharding} is for a mesh without devices, and arrays lie on none, or on "
            "several, with such axes. Call it in `with minijax.set_mesh(mesh):`"
        )
    mesh = Mesh(mesh.devices, mesh.axis_names, sharding.mesh.axis_types)
    return NamedSharding(mesh, sharding.spec)


def _less_divided(x: ShapedArray, *, mesh: AbstractMesh) -> list[ShapedArray]:
    explicit = {*mesh.explicit_axes}
    division = [tuple([name for name in axes if name in explicit]) for axes in division_of(x)]
    return [ShardedArray(unsharded(x), mesh, tuple(division))]


declare(
    to_auto_p,
    abstract_eval=_less_divided,
    lower=lambda b, out_avals, x, *, mesh: [x],
    vmap=lambda size, values, dims, *, mesh: ([bind1(to_auto_p, *values, mesh=mesh)], dims),
    jvp=[lambda t, out, x, *, mesh: bind1(to_auto_p, t, mesh=mesh)],
    transpose=[lambda ct, x, *, mesh: ct],
)


def _evaluate_less_divided(x: Any, *, mesh: AbstractMesh) -> list[Any]:
    """The same array; the axes of its mesh have other types."""
    (aval,) = _less_divided(typeof(x), mesh=mesh)
    if not isinstance(x, PlacedArray) or not isinstance(x.sharding, NamedSharding):
        return [x]
    at, spec = x.sharding.mesh, x.sharding.spec
    assert isinstance(at, Mesh)  # for the array lies there
    sharding = NamedSharding(Mesh(at.devices, at.axis_names, mesh.axis_types), spec)
    where = sharding.placement(aval.ndim)
    return [type(x)(xla.with_placement(x.placed, device_type(aval), where), aval)]


evaluators[to_auto_p] = _evaluate_less_divided
of_types.update((reshard_p, to_auto_p))


def _cast_cotangent(ct: Any, aval: ShapedArray) -> Any:
    """A cotangent, divided as its primal value."""
    wanted, found = plain_type(aval), plain_type(typeof(ct))
    if division_of(wanted) == division_of(found):
        return ct
    mesh = next(x.mesh for x in (wanted, found) if isinstance(x, ShardedArray))
    return bind1(reshard_p, ct, sharding=NamedSharding(mesh, wanted.sharding.spec))


def divided_as(tangents: Any, primals: Any) -> Any:
    """Tangents, divided as the values that they belong to, if types say how these are divided."""
    leaves, treedef = tree_flatten(tangents)
    values, tree_of_values = tree_flatten(primals)
    if treedef != tree_of_values or not any(
        isinstance(getattr(x, "aval", None), ShardedArray) for x in (*leaves, *values)
    ):
        return tangents  # nothing is said; what does not fit is an error elsewhere
    pairs = zip(leaves, map(typeof, values), strict=True)
    return tree_unflatten(treedef, [_cast_cotangent(t, aval) for t, aval in pairs])


cotangent_casts[ShardedArray] = _cast_cotangent


def _decided(spec: PartitionSpec) -> PartitionSpec:
    """The spec with whole axes where nothing is said."""
    entries = [None if entry is PartitionSpec.UNCONSTRAINED else entry for entry in spec]
    while entries and entries[-1] is None:
        entries.pop()
    return PartitionSpec(*entries)


def _evaluate(x: Any, *, sharding: Sharding) -> list[Any]:
    x = to_array(x)
    if isinstance(sharding, NamedSharding) and PartitionSpec.UNCONSTRAINED in [*sharding.spec]:
        sharding = NamedSharding(sharding.mesh, _decided(sharding.spec))
    try:
        return [place(x, sharding)]
    except ValueError:  # it does not divide evenly, and in a program the compiler sees to that
        if not isinstance(sharding, NamedSharding):
            raise
        return [place(x, NamedSharding(sharding.mesh, PartitionSpec()))]


evaluators[sharding_constraint_p] = _evaluate
hooks.constraints.append(_constrained)


@evaluated_by_library
def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """`x`, a pytree of arrays, with the given shardings.

    In a program this tells the partitioner how to divide them there; outside, it moves them.

    Arguments:
        x: the arrays.
        shardings: a sharding, or a `PartitionSpec` of the mesh in context, for each array, or a
            pytree prefix of `x` of these.

    Raises:
        TypeError: `x` holds something else than arrays, or `shardings` something else.
        ValueError: a sharding is None, or does not divide its array; there is no mesh in context.

    >>> mesh = minijax.sharding.Mesh(minijax.devices()[:1], "data")
    >>> sharding = minijax.sharding.NamedSharding(mesh, minijax.P("data"))
    >>> minijax.jit(lambda x: lax.with_sharding_constraint(2 * x, sharding))(jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """
    paths, treedef = tree_flatten_with_path(x)
    found = shardings_for("with_sharding_constraint", "shardings", shardings, x)
    outs = []
    for (path, leaf), sharding in zip(paths, found, strict=True):
        name = f"with_sharding_constraint: x{keystr(path)}"
        typeof_named(name, leaf)
        if sharding is None:
            raise ValueError(
                "with_sharding_constraint: found None among the shardings, which says nothing; "
                "leave such arrays out of x"
            )
        _require_types_said(name, leaf, sharding)
        try:
            outs.append(_constrained(leaf, sharding))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return tree_to_arrays(tree_unflatten(treedef, outs))


def _require_types_said(name: str, x: Any, sharding: Sharding) -> None:
    """Raise an error if a constraint contradicts the type of `x`, which it cannot change."""
    aval = plain_type(typeof(x))
    wanted = type_at(unsharded(aval), sharding)
    if division_of(wanted) != division_of(aval):
        raise ShardingTypeError(
            f"{name} has type {aval}, and {sharding.spec} would make it {wanted}. Along axes of "  # type: ignore[attr-defined]
            "type Explicit a constraint only says again what the type says; sharding.reshard "
            "changes it"
        )


@evaluated_by_library
def reshard(xs: Any, out_shardings: Any) -> Any:
    """`xs`, a pytree of arrays, divided otherwise along the axes of type `Explicit` of a mesh.

    The type of the result says so, in a program as outside. It is linear: the cotangent is divided
    as the argument.

    Arguments:
        xs: the arrays.
        out_shardings: a `NamedSharding`, or a `PartitionSpec` of the mesh in context, for each
            array, or a pytree prefix of `xs` of these.

    Raises:
        TypeError: `xs` holds something else than arrays, or `out_shardings` something else.
        ValueError: a sharding does not divide its array, or names an axis that is not of type
            `Explicit`; there is no mesh in context.

    >>> from minijax.sharding import reshard
    >>> mesh = minijax.make_mesh((1,), ("data",))
    >>> with minijax.set_mesh(mesh):
    ...     minijax.typeof(reshard(jnp.ones((4, 2)), minijax.P("data")))
    ShapedArray(f32[4@data,2])
    """
    leaves, treedef = tree_flatten_with_path(xs)
    found = shardings_for("reshard", "out_shardings", out_shardings, xs)
    outs = [
        resharded(f"reshard: xs{keystr(path)}", to_array(leaf), sharding)
        for (path, leaf), sharding in zip(leaves, found, strict=True)
    ]
    return tree_unflatten(treedef, outs)


@evaluated_by_library
def device_put(
    x: Any,
    device: Any = None,
    *,
    src: Any = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> Any:
    """Move all numbers and arrays of a pytree to a device, or divide them among several.

    Arguments:
        x: a pytree of numbers, numpy arrays, Arrays and tracers.
        device: a device, a `Sharding`, a `PartitionSpec` of the mesh in context, or a pytree prefix
            of `x` of these; by default Arrays stay where they are, and others go to the default
            device.
        src: the current place of `x`; not needed.
        donate: whether the Arrays of `x` may be deleted, so that the results can use their memory.
        may_alias: whether a result may be the given Array. False forces copies. numpy arrays are
            always copied.

    Returns:
        The pytree with Arrays in place of numbers and arrays.

    Raises:
        TypeError: a leaf is not an array or number, or `device` is of another type.
        ValueError: `donate` and `may_alias` are both asked for; a sharding does not divide the
            array that it is for; there is no mesh in context; processes that share an array give
            different values for it.

    >>> device_put({"a": [True, None]})
    {'a': [Array(True, dtype=bool), None]}
    """
    for role, flag in (("donate", donate), ("may_alias", may_alias)):
        if flag is not None and type(flag) is not bool:
            require_fit("device_put", role, flag, bool)
    if donate and may_alias:
        raise ValueError("device_put: an array cannot be both donated and the result itself")
    if src is not None:
        shardings_for("device_put", "src", src, x)
    paths, treedef = tree_flatten_with_path(x)
    shardings = shardings_for("device_put", "device", device, x)
    put_leaves = [
        _put(keystr(path), leaf, sharding, donate, may_alias)
        for (path, leaf), sharding in zip(paths, shardings, strict=True)
    ]
    return tree_unflatten(treedef, put_leaves)


def placed(caller: str, x: Any, device: Any, out_sharding: Any = None) -> Any:
    """`x`, a pytree of arrays that a function made, where its arguments say."""
    sharding = chosen_sharding(caller, device, out_sharding)
    if sharding is not None:
        return tree_map(lambda leaf: _placed(caller, leaf, sharding), x)
    default = default_placement()
    if default is None or not default.committed or type(x) is not Array or not is_evaluating():
        return x
    return place(x, default.sharding)


def _placed(caller: str, x: Any, sharding: Sharding) -> Any:
    try:
        sharding.shard_shape(typeof(x).shape)
    except ValueError as error:
        raise ValueError(f"{caller}: {error}") from None
    return _put("", x, sharding, donate=False, may_alias=None)


def _put(
    path: str, leaf: Any, sharding: Sharding | None, donate: bool, may_alias: bool | None
) -> Any:
    if isinstance(leaf, Tracer):
        return leaf if sharding is None else _constrained(leaf, sharding)
    try:
        is_here = sharding is None or sharding.is_fully_addressable
        if is_here and isinstance(sharding, NamedSharding) and isinstance(leaf, _NUMBERS):
            return place_numbers(leaf, sharding)
        x = array(leaf)
        if sharding is not None and not is_here and is_readable(x):
            require_same_value(sharding.device_tuple, f"put x{path}", read(x))
        on_device = place(x, sharding)
    except (TypeError, OverflowError, ValueError) as error:
        raise type(error)(f"device_put: x{path}: {error}") from None
    if donate and isinstance(leaf, Array):
        if on_device is leaf:
            on_device = type(leaf)(leaf.held, leaf.aval)
        leaf.delete_because("donated to `device_put`")
    elif on_device is leaf and may_alias is False:
        on_device = leaf.copy()
    return on_device


_WAYS_TO_VARY = ("reduced", "unreduced", "varying")


@evaluated_by_library
def pcast(x: Any, axis_name: Hashable | tuple[Hashable, ...], *, to: str) -> Any:
    """`x`, a pytree of arrays, declared to vary along named axes of a mesh.

    Operands are converted by themselves, so this is seldom needed. The transpose is a sum over the
    devices. The axes of `vmap` need no such declaration: nothing is changed.

    Arguments:
        x: the arrays.
        axis_name: the name of an axis, or a tuple of names.
        to: "varying", "reduced" or "unreduced".

    Raises:
        ValueError: `to` is none of these.
        NameError: there is no axis of that name.

    >>> minijax.vmap(lambda x: lax.pcast(x, "i", to="varying"), axis_name="i")(jnp.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    if isinstance(axis_name, set | frozenset):
        raise TypeError(f"pcast: axis_name must be a name or a tuple of names, found {axis_name}")
    if names and to not in _WAYS_TO_VARY:
        ways = ", ".join(map(repr, _WAYS_TO_VARY))
        raise ValueError(f"pcast: to must be one of {ways}, found {shown(to)}")
    for name in names:
        axis_of(name)
    axes = mesh_axes_of(names)
    return tree_map(lambda leaf: pvary(leaf, axes), tree_to_arrays(x))


__all__ = ["device_put", "pcast", "with_sharding_constraint"]
