"""Changing what the type of an array says about its division."""

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from minijax.shardings.mesh import AbstractMesh, AxisType
from minijax.shardings.no_collectives import require_in_place, require_kept
from minijax.shardings.partition_spec import PartitionSpec
from minijax.shardings.sharding import NamedSharding
from minijax.shardings.trees import explicit_sharding
from minijax.shardings.types import (
    ShardedArray,
    division_of,
    reshard_p,
    sharded_type,
    sharding_of_type,
    to_auto_p,
    type_at,
    unsharded,
)
from minijax_stage2 import (
    ShapedArray,
    bind1,
    float0,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
    typeof,
)
from minijax_stage2.shaped_array import typeof_named
from minijax_stage2.source import name_of

Function = TypeVar("Function", bound=Callable[..., Any])


def resharded(name: str, x: Any, sharding: Any, role: str = "out_sharding") -> Any:
    """`x`, of that name in errors, divided as a sharding says along axes of type `Explicit`.

    Errors call the sharding by the name of the argument that gave it, `role`.
    """
    typeof_named(name, x)
    sharding = explicit_sharding(name, sharding, role)
    if sharding is None:
        raise ValueError(f"{name}: {role} must be given, found None")
    try:
        sharding.shard_shape(typeof(x).shape)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    after = division_of(type_at(unsharded(typeof(x)), sharding))
    require_in_place(name, division_of(typeof(x)), after)
    return bind1(reshard_p, x, sharding=sharding)


def leave_to_compiler(x: Any, mesh: AbstractMesh | None = None) -> Any:
    """`x` with a type that does not say how it is divided along axes of type `Auto` of `mesh`.

    Without a mesh, it says nothing at all.
    """
    aval = getattr(x, "aval", None)
    if not isinstance(aval, ShardedArray):
        return x
    mesh = mesh or aval.mesh.update_axis_types(dict.fromkeys(aval.mesh.axis_names, AxisType.Auto))
    if mesh == aval.mesh:
        return x
    return bind1(to_auto_p, x, mesh=mesh)


def divided_like(x: Any, aval: ShapedArray) -> Any:
    """`x`, of the shape of a type, divided as that says."""
    said = sharded_type(aval)
    return x if said is None else bind1(reshard_p, x, sharding=sharding_of_type(said))


def cast_cotangent(ct: Any, aval: ShapedArray) -> Any:
    """A cotangent, or a tangent, divided as values of a type are."""
    division, found = division_of(aval), typeof(ct)
    if division == division_of(found) or found.dtype == float0:
        return ct
    said = sharded_type(aval) or sharded_type(found)
    assert said is not None  # or neither would say anything
    spec = PartitionSpec(*division)
    return bind1(reshard_p, ct, sharding=NamedSharding(said.mesh, spec))


def divided_as(tangents: Any, primals: Any) -> Any:
    """Tangents, divided as the values that they belong to, if types say how these are divided."""
    leaves, treedef = tree_flatten(tangents)
    values, tree_of_values = tree_flatten(primals)
    if treedef != tree_of_values or not any(
        isinstance(getattr(x, "aval", None), ShardedArray) for x in (*leaves, *values)
    ):
        return tangents  # nothing is said; what does not fit is an error elsewhere
    pairs = zip(leaves, map(typeof, values), strict=True)
    return tree_unflatten(treedef, [cast_cotangent(t, aval) for t, aval in pairs])


def dividing(function: Function) -> Function:
    """Decorator: the results of a function of arrays are divided as its `out_sharding` says.

    If that is given, the types of the arguments need not agree, and do not say how the result is
    divided: the compiler brings together what has to be.
    """

    caller = name_of(function)
    parameters = inspect.signature(function).parameters
    position = sys.maxsize  # where it may be given without its name
    if "out_sharding" in parameters:
        parameter = parameters["out_sharding"]
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            position = [*parameters].index("out_sharding")

    @functools.wraps(function)
    def divided(*args: Any, out_sharding: Any = None, **kwargs: Any) -> Any:
        if len(args) > position:
            out_sharding = args[position]
            args = (*args[:position], None, *args[position + 1 :])
        sharding = explicit_sharding(caller, out_sharding)
        if sharding is None:
            return function(*args, **kwargs)
        said = [sharded_type(x.aval) for x in tree_leaves((args, kwargs)) if hasattr(x, "aval")]
        args, kwargs = tree_map(leave_to_compiler, (args, kwargs))
        outs = tree_map(lambda x: resharded(caller, x, sharding), function(*args, **kwargs))
        before = [aval.division for aval in said if aval is not None]
        require_kept(caller, before, [division_of(typeof(x)) for x in tree_leaves(outs)])
        return outs

    return divided  # type: ignore[return-value]
