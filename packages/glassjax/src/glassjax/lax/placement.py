"""`device_put`: arrays moved between devices and memories, in programs and outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import xla
from glassjax.errors.arguments import require_fit
from glassjax.lax import sharding as constraints
from glassjax.memory import Space
from glassjax.primitives import axes as mesh_axes
from glassjax.primitives import sparsity_rules
from glassjax.primitives.declare import declare
from glassjax.runtime import array
from glassjax.runtime.evaluation import evaluated_by_library, evaluators
from glassjax.runtime.lowering import constrained, in_memory, platform_of
from glassjax.runtime.places import default_placement
from glassjax.shardings import memories
from glassjax.shardings import sharding as shardings
from glassjax.shardings import types as sharded
from glassjax.shardings.partition_spec import PartitionSpec, with_axis
from glassjax.shardings.sharding import NamedSharding, Sharding
from glassjax_stage2 import ShapedArray, bind, bind1, typeof
from glassjax_stage2.shaped_array import python_scalars
from glassjax_stage2.tree import keystr
from glassjax_stage2.vmap import BatchAxis, BatchDim
from glassjax_stage3.lowering import FunctionBuilder, Value
from glassjax_stage4.transpose import UndefPrimal

_NUMBERS = (*python_scalars, np.ndarray, np.generic)

# Where an array is moved: to devices, to a memory of its devices, or nowhere.
Target = Sharding | Space | None


# The primitive has the operands and parameters of JAX's: `devices` has the target of each operand;
# `srcs`, where it comes from, and `copy_semantics` change no value.


def _type_at(aval: ShapedArray, target: Target) -> ShapedArray:
    if isinstance(target, Space):
        return memories.in_space(aval, target)
    if target is not None and isinstance(aval, mesh_axes.VaryingArray):
        return aval.with_plain(_type_at(aval.plain, target))
    return aval if target is None else sharded.type_at(sharded.unsharded(aval), target)


def _device_put_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *xs: Value,
    devices: Sequence[Target],
    **params: Any,
) -> list[Value]:
    """The operands, constrained to their shardings; XLA for CPUs has one memory for all values."""
    outs = []
    for x, aval, target in zip(xs, out_avals, devices, strict=True):
        if isinstance(target, NamedSharding) and target.num_devices > 1:
            is_open = bool(target.mesh.explicit_axes and target.mesh.auto_axes)
            x = constrained(b, x, target, is_open)
        space = memories.space_of(aval)
        if space is not memories.space_of(x.aval) and platform_of(b) != "cpu":
            x = in_memory(b, x, memories.kind_of_space("device_put", space))
        outs.append(x)
    return outs


def _device_put_vmap(
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    *,
    devices: Sequence[Target],
    **params: Any,
) -> tuple[list[Any], list[BatchDim]]:
    """Shard the batch axis as a constraint does, or leave it as it is over `Explicit` axes."""
    targets = list(devices)
    for number, (x, dim, target) in enumerate(zip(values, dims, devices, strict=True)):
        if isinstance(target, NamedSharding) and dim is not None:
            entry: Any = sharded.spec_of(typeof(x))[dim]
            if not target.mesh.explicit_axes:
                entry = mesh_axes.axis_data(axis).spmd_name or PartitionSpec.UNCONSTRAINED
            targets[number] = target.update(spec=with_axis(target.spec, dim, entry))
    return bind(memories.device_put_p, *values, devices=tuple(targets), **params), list(dims)


def _device_put_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, devices: Sequence[Target], **params: Any
) -> tuple[list[Any], list[Any]]:
    outs = bind(memories.device_put_p, *primals, devices=devices, **params)
    return outs, [
        stage2.Zero.like(out) if type(t) is stage2.Zero else _moved(t, target)
        for out, t, target in zip(outs, tangents, devices, strict=True)
    ]


def _device_put_impl(*xs: Any, devices: Sequence[Target], **params: Any) -> list[Any]:
    return [_put_now(array.to_array(x), target) for x, target in zip(xs, devices, strict=True)]


def _put_now(x: Any, target: Target) -> Any:
    if isinstance(target, Space):
        return array.put_to(x, _in_space(x, target))
    return x if target is None else constraints.constrained_now(x, target)


declare(
    memories.device_put_p,
    abstract_eval=lambda *avals, devices, **params: list(map(_type_at, avals, devices)),
    lower=_device_put_lower,
    vmap=_device_put_vmap,
    sparsity=sparsity_rules.as_operands,
    jvp=_device_put_jvp,
    # the caller gives a cotangent the sharding and the memory of its operand
    transpose=lambda cts, *xs, **params: [
        ct if isinstance(x, UndefPrimal) else None for ct, x in zip(cts, xs, strict=True)
    ],
)
sharded.typed_primitives.add(memories.device_put_p)
evaluators[memories.device_put_p] = _device_put_impl


def _moved(x: Any, target: Target) -> Any:
    """`x`, in a program, at another place."""
    if isinstance(target, NamedSharding) and target.spec.unreduced:
        x = constraints.constrain(x, target)  # its parts are made
    return bind1(memories.device_put_p, x, **memories.put_params(target, copies=False))


def _in_space(x: Any, space: Space) -> Sharding:
    """The sharding of an array, in another memory."""
    kind = memories.kind_of_space("device_put", space)
    lies: Sharding = x.sharding
    return (
        lies if memories.space_of_kind(lies.memory_kind) is space else lies.with_memory_kind(kind)
    )


@evaluated_by_library
def device_put(
    x: Any,
    device: Any = None,
    *,
    src: Any = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> Any:
    """Move all numbers and arrays of a pytree to a device, or shard them over several.

    Arguments:
        x: a pytree of numbers, numpy arrays, Arrays and tracers.
        device: a device, a `Sharding`, a `PartitionSpec` of the mesh in context, a `memory.Space`
            of the devices where it lies, or a pytree prefix of `x` of these; by default Arrays
            stay where they are, and others go to the default device.
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
        _targets("src", src, x)
    paths, treedef = stage2.tree_flatten_with_path(x)
    targets = _targets("device", device, x)
    with xla.explicit_transfers():
        put_leaves = [
            _put_leaf(keystr(path), leaf, target, donate, may_alias)
            for (path, leaf), target in zip(paths, targets, strict=True)
        ]
    return stage2.tree_unflatten(treedef, put_leaves)


def _targets(role: str, given: Any, tree: Any) -> list[Target]:
    """The target of each leaf of a pytree, from a prefix `given`."""
    return [
        entry if isinstance(entry, Space) else shardings.as_sharding("device_put", role, entry)
        for entry in shardings.entries_for("device_put", role, given, tree)
    ]


def placed_result(caller: str, x: Any, device: Any, out_sharding: Any = None) -> Any:
    """`x`, the arrays that a function made, moved to its `device` or `out_sharding`."""
    sharding = shardings.chosen_sharding(caller, device, out_sharding)
    if sharding is not None:
        return stage2.tree_map(lambda leaf: _placed(caller, leaf, sharding), x)
    default = default_placement()
    if default is None or not default.committed or type(x) is not array.Array or x.is_placed:
        return x
    if not array.is_evaluating():
        return x
    return array.put_to(x, default.sharding)


def _placed(caller: str, x: Any, sharding: Sharding) -> Any:
    try:
        sharding.shard_shape(typeof(x).shape)
    except ValueError as error:
        raise ValueError(f"{caller}: {error}") from None
    return _put_leaf("", x, sharding, donate=False, may_alias=None)


def _put_leaf(path: str, leaf: Any, target: Target, donate: bool, may_alias: bool | None) -> Any:
    if isinstance(target, Space):
        memories.kind_of_space("device_put", target)  # raises if it is not one
    if isinstance(leaf, stage2.Tracer):
        if isinstance(target, Sharding) and mesh_axes.names_of_mesh_axes():
            if target.num_devices == 1:  # within a shard_map each device keeps its own value
                target = memories.space_of_kind(target.memory_kind)
            else:
                constraints.require_not_manual(f"device_put: x{path}", target)
        if target is None or (
            isinstance(target, Space) and memories.space_of(typeof(leaf)) is target
        ):
            return leaf
        if isinstance(target, Sharding):
            target.parts(leaf.ndim)
        return _moved(leaf, target)
    try:
        is_here = not isinstance(target, Sharding) or target.is_fully_addressable
        if is_here and isinstance(target, NamedSharding) and isinstance(leaf, _NUMBERS):
            return array.place_numbers(leaf, target)
        x = array.array(leaf)
        sharding = _in_space(x, target) if isinstance(target, Space) else target
        if sharding is not None and not is_here and array.is_readable(x):
            # Imported late: the import takes milliseconds.
            from glassjax.runtime.agreement import require_same_value

            require_same_value(sharding.device_tuple, f"put x{path}", array.read_numbers(x))
        on_device = array.put_to(x, sharding)
    except (TypeError, OverflowError, ValueError) as error:
        raise type(error)(f"device_put: x{path}: {error}") from None
    if donate and isinstance(leaf, array.Array):
        if on_device is leaf:
            on_device = array.alias(leaf)
        leaf.delete_because("donated to `device_put`")
    elif on_device is leaf and may_alias is False:
        on_device = leaf.copy()
    return on_device
