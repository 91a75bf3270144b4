"""`shard_map`: a function of the parts of arrays that one device has, run on every device."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence, Set
from typing import Any, ParamSpec, TypeVar, overload

from minijax.errors.argument_errors import require_flags
from minijax.parallel.manual import Manual, names_in
from minijax.parallel.shard_map_primitive import WHOLE, apply
from minijax.primitives.axis_names import axes_of_examples
from minijax.primitives.loops import cut, stage_body
from minijax.primitives.varying import vma_of
from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.refs import Ref, values_of, write_all
from minijax.runtime.wrapping import wraps
from minijax.shardings.mesh import AbstractMesh, Mesh, mesh_in_context
from minijax.shardings.partition_spec import Infer, PartitionSpec
from minijax.shardings.types import division_of
from minijax_stage2 import ShapedArray, typeof
from minijax_stage2.arguments import FlatFunction, argument_names, require_function
from minijax_stage2.errors import TreeMismatchError, shown
from minijax_stage2.source import name_of
from minijax_stage2.tree import (
    broadcast_prefix,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_unflatten,
)
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage3.staging import abstractify
from minijax_stage4.partial_eval import merge, partition

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


@overload
def shard_map(
    f: Callable[P, R],
    /,
    *,
    out_specs: Any,
    in_specs: Any = ...,
    mesh: Mesh | AbstractMesh | None = ...,
    axis_names: Set[Hashable] = ...,
    check_vma: bool = ...,
) -> Callable[P, R]: ...
@overload
def shard_map(
    f: None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = ...,
    mesh: Mesh | AbstractMesh | None = ...,
    axis_names: Set[Hashable] = ...,
    check_vma: bool = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def shard_map(
    f: Function | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = Infer,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: Set[Hashable] = frozenset(),
    check_vma: bool = True,
) -> Function:
    """Map a function over the devices of a mesh: each calls it with its parts of the arguments.

    In the function, collectives such as `lax.psum` combine values of different devices, by the
    names of the axes of the mesh. Types say along which axes a value varies, that is, may differ
    between devices: `typeof(x)` shows `f32[2]{V:data}`.

    Arguments:
        f: function of arrays and pytrees of arrays. Without it, the result is a decorator.
        out_specs: a `PartitionSpec` for each result, or a pytree prefix of it: how the parts that
            the devices return make an array. Along axes of the mesh that it does not name the
            results are the same.
        in_specs: a `PartitionSpec` for each argument, or a pytree prefix of the tuple of arguments:
            how they are divided. Along axes of the mesh that it does not name, all devices get the
            same part. With None in its place, an argument is passed on to `f` as it is, as if
            closed over, and may be anything.
        mesh: the mesh; the one in context if not given.
        axis_names: the axes of the mesh along which the function sees one device; the partitioner
            divides its arrays along the others. All axes if not given.
        check_vma: whether types say what varies. Without, a result that should be the same on all
            devices is not checked to be.

    Returns:
        A function of whole arrays that returns whole arrays. It can be differentiated, mapped, and
        called from jitted functions and other `shard_map`s.

    Raises:
        TypeError: a spec or the mesh is something else.
        ValueError: there is no mesh, a spec names no axis of it, or has more entries than the array
            has axes; an axis does not divide evenly; a result varies along an axis that its spec
            does not name.
        TreeMismatchError: the specs are not a prefix of the arguments or results.

    >>> mesh = minijax.make_mesh((1,), ("data",))
    >>> @minijax.shard_map(mesh=mesh, in_specs=minijax.P("data"), out_specs=minijax.P())
    ... def total(x):
    ...     return lax.psum(x.sum(), "data")
    >>> total(jnp.arange(4.0))
    Array(6., dtype=float32)
    """
    options = {"mesh": mesh, "axis_names": axis_names, "check_vma": check_vma}
    if f is None:

        def decorate(function: Function) -> Function:
            require_function("shard_map", function)
            return shard_map(function, out_specs=out_specs, in_specs=in_specs, **options)  # type: ignore[arg-type]

        return decorate
    require_function("shard_map", f)
    require_flags("shard_map", check_vma=check_vma)
    name = name_of(f)
    for role, specs in (("in_specs", in_specs), ("out_specs", out_specs)):
        if specs is not Infer:
            _require_specs(f"shard_map of `{name}`", role, specs)
    function = f

    @evaluated_by_library
    @wraps(f)
    def mapped(*args: Any) -> Any:
        caller = f"shard_map of `{name}`"
        manual = _manual(caller, mesh, axis_names, check_vma)
        given, in_tree = tree_flatten(args)
        said = None if in_specs is Infer else _broadcast(caller, "in_specs", in_specs, args)
        is_array = [said is None or spec is not None for spec in said or given]
        others, leaves = partition(is_array, given)

        def names() -> list[str]:
            return partition(is_array, argument_names(function, args, {}))[1]

        are_refs = [isinstance(x, Ref) for x in leaves]
        refs = partition(are_refs, leaves)[1]
        leaves = merge(are_refs, partition(are_refs, leaves)[0], values_of(refs))
        avals = abstractify(f"shard_map of `{name_of(function)}`", names, leaves)
        if said is None:
            specs = [_spec_said(caller, manual, aval) for aval in avals]
        else:
            specs = [spec for spec in said if spec is not None]
        for number, (aval, spec) in enumerate(zip(avals, specs, strict=True)):
            problem = _misfit(manual, aval, spec, divides=True) or _other_division(
                manual, aval, spec
            )
            if problem:
                raise ValueError(f"{caller}: argument {names()[number]} of type {aval}: {problem}")
        flat = FlatFunction(function, in_tree)

        of_refs = partition(are_refs, specs)[1]

        def specs_of(out_avals: Sequence[ShapedArray]) -> list[PartitionSpec]:
            held, out_avals = cut(out_avals, len(refs))
            for aval, spec in zip(held, of_refs, strict=True):
                if problem := _unexpected_variation(manual, aval, spec):
                    raise ValueError(f"{caller}: what a reference of type {aval} holds: {problem}")
            results = tree_unflatten(flat.out_tree, out_avals)
            found = _broadcast(caller, "out_specs", out_specs, results)
            paths = [path for path, _ in tree_flatten_with_path(results)[0]]
            for path, aval, spec in zip(paths, out_avals, found, strict=True):
                problem = _misfit(manual, aval, spec) or _unexpected_variation(manual, aval, spec)
                if problem:
                    what = f"the result{keystr(path)} of type {aval}"
                    raise ValueError(f"{caller}: {what}: {problem}")
            return [*of_refs, *found]

        def of_arrays(*leaves: Any) -> Sequence[Any]:
            here = [Ref(x) if is_ref else x for x, is_ref in zip(leaves, are_refs, strict=True)]
            outs = flat(*merge(is_array, others, here))
            return [*values_of(partition(are_refs, here)[1]), *outs]

        outs = map_parts("shard_map", f, of_arrays, leaves, manual, specs, specs_of, names)
        held, outs = cut(outs, len(refs))
        write_all(refs, held)
        return tree_unflatten(flat.out_tree, outs)

    return mapped


def map_parts(
    caller: str,
    fun: Any,
    flat: Callable[..., Sequence[Any]],
    leaves: Sequence[Any],
    manual: Manual,
    in_specs: Sequence[PartitionSpec],
    out_specs_of: Callable[[Sequence[ShapedArray]], Sequence[PartitionSpec]],
    names: Callable[[], Sequence[str]],
) -> list[Any]:
    """Apply a function of parts of arrays that returns a list.

    Arguments:
        caller: the name of the transformation, for messages.
        fun: the function of the user, for messages.
        flat: function of a device's parts of the arrays.
        leaves: the arrays.
        manual: the mesh.
        in_specs: how the arrays are divided.
        out_specs_of: function from the types of the parts returned to how they make arrays.
        names: the names of the arrays, for messages.
    """
    leaves = list(map(manual.as_inside, leaves))
    pairs = zip(leaves, in_specs, strict=True)
    parts = [manual.part(typeof(x), spec) for x, spec in pairs]
    with manual.running():
        closed = stage_body(lambda *x: tree_to_arrays(flat(*x)), parts, caller, fun, names)
    out_specs = out_specs_of(closed.out_avals)
    specs = [*[WHOLE] * len(closed.consts), *in_specs]
    jaxpr = consts_as_invars(closed.jaxpr)
    outs = apply([*closed.consts, *leaves], jaxpr, manual, specs, out_specs)
    return list(map(manual.as_outside, outs, out_specs))


def _is_spec(x: Any) -> bool:
    return isinstance(x, PartitionSpec)


def _require_specs(caller: str, role: str, specs: Any) -> None:
    for entry in [None] if specs is None and role == "in_specs" else tree_leaves(specs, _is_spec):
        if not isinstance(entry, PartitionSpec):
            raise TypeError(
                f"{caller}: {role} must hold a PartitionSpec for each array, found {shown(entry)} "
                f"of type {type(entry).__name__}. P() is for what all devices have alike."
            )


def _broadcast(caller: str, role: str, specs: Any, tree: Any) -> list[Any]:
    """The spec of each leaf; None for what is passed on to the function as it is."""
    is_of_arguments = role == "in_specs"
    what = "the arguments" if is_of_arguments else "the result"
    try:
        return broadcast_prefix(
            specs, tree, lambda x: _is_spec(x) or (is_of_arguments and x is None)
        )
    except TreeMismatchError as error:
        raise TreeMismatchError(f"{caller}: {role} is not a prefix of {what}: {error}") from None


def _manual(
    caller: str, mesh: Mesh | AbstractMesh | None, axis_names: Set[Hashable], checked: bool
) -> Manual:
    """The mesh of a call, with the axes that become manual."""
    around = mesh_in_context.get()
    if mesh is not None and not isinstance(mesh, Mesh | AbstractMesh):
        raise TypeError(
            f"{caller}: mesh must be a Mesh, found {shown(mesh)} of type {type(mesh).__name__}"
        )
    if around is not None and around.manual_axes:  # inside another one
        if mesh is not None and mesh.shape_tuple != around.shape_tuple:
            raise ValueError(
                f"{caller}: the mesh {mesh} is not that of the shard_map around it, {around}"
            )
        mesh = around
    elif mesh is None:
        mesh = around
    elif isinstance(mesh, AbstractMesh) and around is not None:
        if around.shape_tuple != mesh.shape_tuple:
            raise ValueError(
                f"{caller}: {mesh} is not the mesh in context, {around}. Leave out mesh, or give a "
                "Mesh"
            )
        mesh = around
    if mesh is None:
        raise ValueError(
            f"{caller}: there is no mesh. Give mesh, or call it in `with minijax.set_mesh(mesh):`"
        )
    wrong = [name for name in axis_names if name not in mesh.axis_names]
    if wrong:
        raise ValueError(
            f"{caller}: axis_names has {wrong[0]!r}, and the axes of the mesh are {mesh.axis_names}"
        )
    again = [name for name in axis_names if name in mesh.manual_axes]
    if again:
        raise ValueError(
            f"{caller}: axis_names has {again[0]!r}, along which a shard_map around it maps already"
        )
    chosen = axis_names or {*mesh.axis_names} - {*mesh.manual_axes}
    names = tuple([name for name in mesh.axis_names if name in chosen])
    return Manual(mesh, names, checked, axes_of_examples.value & {*names})


def _misfit(manual: Manual, aval: ShapedArray, spec: PartitionSpec, divides: bool = False) -> str:
    """Say why a spec does not fit an array of a type; the empty string if it fits."""
    names = [name for axes in spec.names() for name in axes]
    for name in names:
        if name not in manual.names:
            return f"{spec} names {name!r}, and the axes mapped over are {manual.names}"
        if names.count(name) > 1:
            return f"{spec} names {name!r} twice"
    if len(spec) > aval.ndim:
        return f"{spec} has entries for {len(spec)} axes, and it has {aval.ndim}"
    for axis, axes in enumerate(spec.names()):
        size = manual.size(axes)
        if divides and aval.shape[axis] % size:
            return (
                f"{spec} divides axis {axis} among {size} devices, and its size {aval.shape[axis]} "
                f"is not a multiple of {size}. Pad it, or divide another axis."
            )
    return ""


def _spec_said(caller: str, manual: Manual, aval: ShapedArray) -> PartitionSpec:
    """The division of an argument along the axes mapped over, as its type says it."""
    if not {*manual.names} <= {*manual.outside.explicit_axes}:
        raise ValueError(
            f"{caller}: in_specs is not given, and types say how arguments are divided along axes "
            "of type Explicit only. Give a PartitionSpec for each."
        )
    return PartitionSpec(*_axes_said(manual, aval))


def _axes_said(manual: Manual, aval: ShapedArray) -> list[tuple[Hashable, ...]]:
    """The axes mapped over that divide each axis of arrays of a type, as it says."""
    return [tuple([name for name in axes if name in manual.names]) for axes in division_of(aval)]


def _other_division(manual: Manual, aval: ShapedArray, spec: PartitionSpec) -> str:
    """Say how the type of an argument contradicts its spec; the empty string if it does not."""
    said = _axes_said(manual, aval)
    if not any(said) or PartitionSpec(*said) == PartitionSpec(
        *spec, *[None] * (aval.ndim - len(spec))
    ):
        return ""
    return (
        f"its type says that it is divided otherwise than {spec}. Leave out in_specs, or bring it "
        "into that division by sharding.reshard"
    )


def _unexpected_variation(manual: Manual, aval: ShapedArray, spec: PartitionSpec) -> str:
    """Say why a result may not vary as it does; the empty string if it may."""
    more = sorted(map(str, (vma_of(aval) & {*manual.names}) - names_in(spec)))
    if not more:
        return ""
    return (
        f"it varies along {', '.join(more)}, which out_specs does not name: {spec}. Name the axis "
        "there to join the parts along it; or make the result the same on all devices, by psum, "
        "pmax or the like; or, if it is the same, say check_vma=False."
    )
