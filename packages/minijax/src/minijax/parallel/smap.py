"""`smap`: `shard_map` along one axis of the mesh in context, which arrays name by a number."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from minijax.parallel.shard_map import shard_map
from minijax.shardings.partition_spec import Infer, PartitionSpec
from minijax_stage2 import tree_map
from minijax_stage2.errors import shown

Function = Callable[..., Any]


def smap(
    f: Function | None = None, /, *, in_axes: Any = Infer, out_axes: Any, axis_name: Hashable
) -> Function:
    """Map a function over the devices along one axis of the mesh in context.

    Arguments:
        f: function of arrays and pytrees of arrays. Without it, the result is a decorator.
        in_axes: the axis of the arguments that is divided: an int or None (all devices get the
            whole) for all, or a tuple with an int, None or a pytree prefix for each. By default
            types say it, where the axis of the mesh is `Explicit`.
        out_axes: the axis of the results along which their parts are put together: an int, None
            (the same on all devices) or a pytree prefix of the result.
        axis_name: the axis of the mesh.

    Returns:
        A function of whole arrays that returns whole arrays.

    Raises:
        TypeError: `in_axes`, `out_axes` or `axis_name` is something else.
        ValueError: there is no mesh in context, or it has no such axis; an axis does not divide.

    >>> with minijax.set_mesh(minijax.make_mesh((1,), ("data",))):
    ...     total = minijax.smap(lambda x: lax.psum(x.sum(), "data"), in_axes=0, out_axes=None,
    ...                          axis_name="data")
    ...     minijax.jit(total)(jnp.arange(4.0)).item()
    6.0
    """
    if isinstance(axis_name, list | tuple):
        raise TypeError(f"smap: axis_name must be the name of one axis, found {shown(axis_name)}")
    if in_axes is not Infer and in_axes is not None and not isinstance(in_axes, int | tuple):
        raise TypeError(
            "smap: in_axes must be an int, None, or a tuple with an entry for each argument, found "
            f"{shown(in_axes)}"
        )

    def specs_of(role: str, axes: Any) -> Any:
        def spec_of(axis: Any) -> PartitionSpec:
            if axis is None:
                return PartitionSpec()
            if type(axis) is not int or axis < 0:
                raise TypeError(
                    f"smap: {role} must hold ints of 0 or more, and None, found {shown(axis)}"
                )
            return PartitionSpec(*[None] * axis, axis_name)

        return tree_map(spec_of, axes, is_leaf=lambda axis: axis is None)

    in_specs = Infer if in_axes is Infer else specs_of("in_axes", in_axes)
    decorate = shard_map(
        in_specs=in_specs, out_specs=specs_of("out_axes", out_axes), axis_names={axis_name}
    )
    return decorate if f is None else decorate(f)
