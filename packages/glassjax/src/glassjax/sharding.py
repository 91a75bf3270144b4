"""Meshes of devices, and shardings of arrays over them (`jax.sharding`)."""

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.resharding import reshard
from glassjax.settings.config import set_in_context
from glassjax.settings.names import list_public_names, not_given
from glassjax.shardings.mesh import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    Mesh,
    get_abstract_mesh,
    get_mesh,
    mesh_in_context,
    mesh_of_programs,
    no_collectives,
    set_mesh,
    use_abstract_mesh,
)
from glassjax.shardings.partition_spec import Infer, PartitionSpec, UnreducedKind
from glassjax.shardings.sharding import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    make_single_device_sharding,
)
from glassjax.shardings.types import ManualAxisType, leave_to_compiler
from glassjax_stage2 import tree_map
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import shown

# Functions inside which mesh axes change their type, `Auto` or `Explicit`.


AxisNames = Hashable | Iterable[Hashable] | None


def auto_axes(
    f: Any = not_given, /, *, axes: AxisNames = None, out_sharding: Any = not_given
) -> Any:
    """A function inside which the compiler chooses shardings, as for axes of type `Auto`.

    Arguments:
        f: the function. Without it, `auto_axes` returns a decorator.
        axes: the name of an axis of the mesh in context, or several; by default all of type
            `Explicit`.
        out_sharding: the shardings of the results: a `NamedSharding`, or a `PartitionSpec` of the
            mesh in context, or a pytree prefix of the result. The returned function also takes it,
            by this name.

    Returns:
        A function of the same arguments.

    Raises:
        TypeError: `out_sharding` is given neither here nor in the call.
        ValueError: there is no mesh in context, or it has no such axes.

    >>> from glassjax.sharding import auto_axes
    >>> mesh = glassjax.make_mesh((1,), ("data",))
    >>> with glassjax.set_mesh(mesh):
    ...     x = glassjax.device_put(jnp.ones((2, 2)), glassjax.P(None, "data"))
    ...     glassjax.typeof(auto_axes(lambda x: x @ x.T, out_sharding=glassjax.P("data"))(x))
    ShapedArray(float32[2@data,2])
    """
    if f is not_given:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)
    require_function("auto_axes", f)

    def with_result_sharding(out_sharding: Any) -> Callable[..., Any]:
        def auto_program(args: Any, kwargs: Any) -> Any:
            mesh = _with_type("auto_axes", axes, AxisType.Auto)
            args, kwargs = tree_map(lambda x: leave_to_compiler(x, mesh), (args, kwargs))
            with _entered(mesh):
                out = f(*args, **kwargs)
            return reshard(out, out_sharding)

        return auto_program

    return _with_sharding_in_call(
        "auto_axes", f, "out_sharding", out_sharding, with_result_sharding
    )


def explicit_axes(
    f: Any = not_given, /, *, axes: AxisNames = None, in_sharding: Any = not_given
) -> Any:
    """A function inside which types have shardings, over axes that are `Auto` outside.

    Arguments:
        f: the function. Without it, `explicit_axes` returns a decorator.
        axes: the name of an axis of the mesh in context, or several; by default all.
        in_sharding: the shardings of the arguments: a `NamedSharding`, or a `PartitionSpec` of the
            mesh, or a pytree prefix of the tuple of arguments. The returned function also takes it,
            by this name.

    Returns:
        A function of the same arguments.

    Raises:
        TypeError: `in_sharding` is given neither here nor in the call.
        ValueError: there is no mesh in context, or it has no such axes.

    >>> from glassjax.sharding import AxisType, explicit_axes
    >>> @explicit_axes(in_sharding=glassjax.P("data"))
    ... def double(x):
    ...     print(glassjax.typeof(x))
    ...     return 2 * x
    >>> with glassjax.set_mesh(glassjax.make_mesh((1,), ("data",), axis_types=(AxisType.Auto,))):
    ...     double(jnp.ones(2))
    float32[2@data]
    Array([2., 2.], dtype=float32)
    """
    if f is not_given:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    require_function("explicit_axes", f)

    def with_argument_sharding(in_sharding: Any) -> Callable[..., Any]:
        def explicit_program(args: Any, kwargs: Any) -> Any:
            outside = get_abstract_mesh()
            mesh = _with_type("explicit_axes", axes, AxisType.Explicit)
            with _entered(mesh):
                out = f(*reshard(args, in_sharding), **kwargs)
            return tree_map(lambda x: leave_to_compiler(x, outside), out)

        return explicit_program

    return _with_sharding_in_call(
        "explicit_axes", f, "in_sharding", in_sharding, with_argument_sharding
    )


def _with_sharding_in_call(
    caller: str, f: Any, role: str, given: Any, program_for: Callable[[Any], Callable[..., Any]]
) -> Callable[..., Any]:
    """The function that runs the program for a sharding, given in advance or in the call."""
    program = None if given is not_given else program_for(given)

    @hiding_frames
    @functools.wraps(f)
    def run(*args: Any, **kwargs: Any) -> Any:
        if role in kwargs:
            return program_for(kwargs.pop(role))(args, kwargs)
        if program is None:
            raise TypeError(
                f"{caller}: {role} must be given, here or in the call, for the types of these "
                "arrays"
            )
        return program(args, kwargs)

    return run


def _with_type(caller: str, names: Any, axis_type: AxisType) -> AbstractMesh:
    """The mesh in context, with axes of another type; by default all that are not `Manual`."""
    mesh = get_abstract_mesh()
    if mesh.empty:
        raise ValueError(
            f"{caller}: there is no mesh in context; call it in `with glassjax.set_mesh(mesh):`"
        )
    if names is None:
        names = [name for name in mesh.axis_names if name not in mesh.manual_axes]
    elif isinstance(names, str) or not isinstance(names, Iterable):
        names = [names]
    for name in (names := [*names]):
        if name not in mesh.axis_names:
            raise ValueError(
                f"{caller}: axes names {shown(name)}, and the mesh in context has the axes "
                f"{mesh.axis_names}"
            )
        if name in mesh.manual_axes:
            raise ValueError(f"{caller}: the axis {name!r} is of type Manual in a shard_map")
    return mesh.update_axis_types(dict.fromkeys(names, axis_type))


@contextmanager
def _entered(mesh: AbstractMesh) -> Iterator[None]:
    """A context with other types of axes, also for programs on the devices of the mesh around."""
    around = mesh_of_programs.get()
    if around is not None and around.shape_tuple == mesh.shape_tuple:
        around = Mesh(around.devices, around.axis_names, mesh.axis_types)
    with set_in_context(mesh_in_context, mesh), set_in_context(mesh_of_programs, around):
        yield


__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "Infer",
    "ManualAxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "UnreducedKind",
    "auto_axes",
    "explicit_axes",
    "get_abstract_mesh",
    "get_mesh",
    "make_single_device_sharding",
    "no_collectives",
    "reshard",
    "set_mesh",
    "use_abstract_mesh",
]
list_public_names(globals())
