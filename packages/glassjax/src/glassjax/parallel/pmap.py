"""`pmap`: `shard_map` of a function of one example, one example on each device."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, ParamSpec, TypeVar

import numpy as np

from glassjax import xla
from glassjax.errors.arguments import require_hashable
from glassjax.lax.shapes import expand_dims, squeeze
from glassjax.parallel.shard_map import Manual, map_parts
from glassjax.runtime.array import Array, is_evaluating, put_array
from glassjax.runtime.jit import jit
from glassjax.runtime.make_array import join_local, local_part
from glassjax.runtime.signature import StaticArguments
from glassjax.runtime.stages import JitWrapped
from glassjax.settings.names import counted, wraps
from glassjax.shardings.mesh import Device, Mesh, mesh_in_context
from glassjax.shardings.partition_spec import PartitionSpec
from glassjax.shardings.sharding import NamedSharding, SingleDeviceSharding
from glassjax_stage2 import tree_map
from glassjax_stage2.arguments import argument_names, require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import ints, one_int
from glassjax_stage2.source import name_of
from glassjax_stage2.tree import tree_flatten, tree_leaves, tree_unflatten
from glassjax_stage2.vmap import axes_of_leaves, axis_of_result, mapped_axes

P = ParamSpec("P")
R = TypeVar("R")
_NO_NAME = "pmap_axis"


def pmap(
    fun: Callable[P, R],
    axis_name: Hashable | None = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
) -> JitWrapped[P, R]:
    """Map `fun` over an axis of its arguments: each example is computed on a device of its own.

    It is `vmap` whose examples run in parallel, and are compiled. New programs are easier to write
    with `shard_map`, or with `jit` of arrays that are sharded over devices.

    Each of several processes passes the examples for its own devices, equally many, and gets their
    results; collectives combine the examples of all processes. Within another transformation, and
    for `lower`, the arguments hold the examples of all processes.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        axis_name: the name of the mapped axis, for collectives.
        in_axes: the axis to map for each positional argument, as in `vmap`.
        out_axes: the position of the mapped axis in each result, as in `vmap`. With None, the
            result of the first device.
        static_broadcasted_argnums: positions of arguments that are hashable Python values.
        devices: the devices; by default the first ones of each process, as many as there are
            examples.
        backend: None or "cpu".
        axis_size: the number of examples in all processes; required if no argument is mapped.
        donate_argnums: positions of arguments whose memory the results may take over.

    Returns:
        A function of the same arguments with an additional axis, which lies on the devices in the
        results, too. It has a method `lower`, and can be differentiated, mapped and jitted.

    Raises:
        MappedAxisError: the sizes of the mapped axes differ, or nothing is mapped.
        TypeError: an option is of the wrong type, or `axis_name` is several names.
        ValueError: there are more examples than devices, or not as many as in `devices`, or none.

    >>> glassjax.pmap(lambda x: x / lax.psum(x, "i"), "i")(jnp.array([4.0]))
    Array([1.], dtype=float32)
    """
    require_function("pmap", fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    require_hashable("pmap", axis_name=axis_name)
    if isinstance(axis_name, tuple):
        raise TypeError(f"pmap: axis_name must be one name, found {shown(axis_name)}")
    name: Hashable = _NO_NAME if axis_name is None else axis_name
    if axis_size is not None:
        axis_size = one_int("pmap: axis_size", axis_size)
    static = ints("pmap: static_broadcasted_argnums", static_broadcasted_argnums)
    donated = ints("pmap: donate_argnums", donate_argnums)
    if devices is not None:
        devices = _as_devices(devices)

    role = f"pmap of `{name_of(fun)}`"

    static_arguments = StaticArguments(fun, static)

    @wraps(fun)
    def mapped_over_devices(*args: Any, **kwargs: Any) -> Any:
        static, args, kwargs = static_arguments.split(args, kwargs)
        function = static_arguments.fill(static)
        dims, size = mapped_axes("pmap", fun, in_axes, axis_size, args, kwargs)
        leaves, in_tree = tree_flatten((args, kwargs))
        mesh = _mesh(role, name, size, devices)
        out_tree: Any = None
        out_dims: list[int | None] = []

        def parts_fun(*parts: Any) -> list[Any]:
            """The results of one device, with an axis of size 1 where they are mapped."""
            nonlocal out_tree
            pairs = zip(parts, dims, strict=True)
            # A device has one example: its part has size 1 along the mapped axis.
            examples = [x if dim is None else squeeze(x, (dim,)) for x, dim in pairs]
            args, kwargs = tree_unflatten(in_tree, examples)
            result = function(*args, **kwargs)
            outs, out_tree = tree_flatten(result)
            axes = axes_of_leaves(f"{role}: out_axes", out_axes, result, "result")
            out_dims[:] = [
                axis_of_result(role, x, None, axis) for x, axis in zip(outs, axes, strict=True)
            ]
            pairs = zip(outs, out_dims, strict=True)
            return [x if dim is None else expand_dims(x, (dim,)) for x, dim in pairs]

        outs = map_parts(
            "pmap",
            fun,
            parts_fun,
            leaves,
            Manual(mesh, (name,), False),
            [_spec(name, dim) for dim in dims],
            lambda out_avals: [_spec(name, dim) for dim in out_dims],
            lambda: argument_names(fun, args, kwargs),
        )
        return tree_unflatten(out_tree, outs)

    jitted = jit(
        mapped_over_devices, static_argnums=static, donate_argnums=donated, backend=backend
    )

    def joined(args: Any, kwargs: Any) -> tuple[tuple[Any, ...], Any]:
        """The arguments of all processes, given the examples of this one."""
        static, args, kwargs = static_arguments.split(*tree_map(_part_here, (args, kwargs)))
        counts = Counter([x.process_index for x in devices or xla.devices()])
        size = None if axis_size is None else axis_size // len(counts)
        dims, size = mapped_axes("pmap", fun, in_axes, size, args, kwargs)
        is_all = size == counts[xla.process_index()]
        mesh = _mesh(role, name, counts.total() if is_all else size * len(counts), devices)
        leaves, in_tree = tree_flatten((args, kwargs))
        pairs = zip(leaves, dims, strict=True)
        leaves = [join_local(x, NamedSharding(mesh, _spec(name, dim))) for x, dim in pairs]
        args, kwargs = tree_unflatten(in_tree, leaves)
        filled = list(args)
        for position, _, value in static:
            filled[position] = value
        return tuple(filled), kwargs

    @wraps(fun)
    def call_devices(*args: Any, **kwargs: Any) -> Any:
        if not is_evaluating():
            return jitted(*args, **kwargs)
        if xla.coordination() is None:
            try:
                return jitted(*args, **kwargs)
            except ValueError:  # arrays may lie on other devices, or on these in another order
                moved = tree_map(partial(_movable, devices), (args, kwargs))
                if not any(map(operator.is_not, *map(tree_leaves, (moved, (args, kwargs))))):
                    raise
                args, kwargs = moved
                return jitted(*args, **kwargs)
        args, kwargs = joined(args, kwargs)
        return tree_map(local_part, jitted(*args, **kwargs))

    for method in ("clear_cache", "eval_shape", "lower", "trace"):
        setattr(call_devices, method, getattr(jitted, method))
    return call_devices  # type: ignore[return-value]


def _part_here(x: Any) -> Any:
    return local_part(x) if isinstance(x, Array) else x


def _movable(devices: Sequence[Device] | None, x: Any) -> Any:
    """An array on several devices, in another order than these, as an uncommitted array."""
    if not isinstance(x, Array) or x.sharding.num_devices == 1:
        return x
    found = x.sharding.device_tuple
    if found == tuple((devices or xla.devices())[: len(found)]):
        return x
    return put_array(x, x.aval, SingleDeviceSharding(found[0]), committed=False)


def _devices_for(size: int) -> list[Device]:
    """The first devices of each process, equally many of each, ordered by process; or else all."""
    every = sorted(xla.devices(), key=lambda device: device.process_index)
    groups = [list(group) for _, group in groupby(every, lambda device: device.process_index)]
    if size >= len(every) or size % len(groups):
        return every
    return [device for group in groups for device in group[: size // len(groups)]]


def _as_devices(devices: Iterable[Device]) -> list[Device]:
    found = list(devices) if isinstance(devices, Iterable) else [devices]
    if not isinstance(devices, Iterable) or not all(
        isinstance(x, xla.device_class()) for x in found
    ):
        raise TypeError(f"pmap: devices must be a sequence of devices, found {shown(devices)}")
    return found


def _spec(name: Hashable, dim: int | None) -> PartitionSpec:
    return PartitionSpec() if dim is None else PartitionSpec(*[None] * dim, name)


def _mesh(role: str, name: Hashable, size: int, devices: Sequence[Device] | None) -> Mesh:
    """The devices of a call, one for each example."""
    around = mesh_in_context.get()
    if around is not None and around.manual_axes:
        raise ValueError(
            f"{role}: it is called where each device runs its own program, in a pmap or shard_map, "
            "so there are no devices to map over. Use vmap there, or shard_map over several axes."
        )
    if size == 0:
        raise ValueError(f"{role}: there are no examples to compute")
    available = _devices_for(size) if devices is None else list(devices)
    if devices is not None and size != len(available):
        raise ValueError(
            f"{role}: there are {counted(size, 'example')} for the {len(available)} devices given"
        )
    if size > len(available):
        raise ValueError(
            f"{role}: there are {counted(size, 'example')} and {counted(len(available), 'device')}."
            " Map the rest by vmap inside. On a CPU, set GLASSJAX_NUM_CPU_DEVICES before the first "
            "array is made."
        )
    return Mesh(np.array(available[:size], dtype=object), (name,))
