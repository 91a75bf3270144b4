"""Arrays of random keys, made from the words of uint32 that each key consists of, and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
import glassjax_stage3 as stage3
from glassjax.primitives.declare import declare
from glassjax.primitives.sharding_rules import by_batch, require_whole
from glassjax.runtime.lowering import own_lowering_rules
from glassjax.settings.number_types import PRNGImpl, implementation_of, is_key_type
from glassjax.shardings.types import Spec, spec_of
from glassjax_stage2 import Primitive, ShapedArray, bind1
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim

Avals = Sequence[ShapedArray]
UINT32, FLOAT64 = np.dtype(np.uint32), np.dtype(np.float64)

random_wrap_p = Primitive("random_wrap")
random_unwrap_p = Primitive("random_unwrap")


def random_wrap(words: Any, implementation: PRNGImpl) -> Any:
    """Keys from their words: uint32 of shape `(..., *key_shape)`."""
    return bind1(random_wrap_p, words, impl=implementation)


def random_unwrap(keys: Any) -> Any:
    """The words of keys."""
    return bind1(random_unwrap_p, keys)


def _wrap_type(words: ShapedArray, *, impl: PRNGImpl) -> Avals:
    axes = len(impl.key_shape)
    if words.dtype != UINT32 or words.shape[words.ndim - axes :] != impl.key_shape:
        expected = ", ".join(map(str, ("...", *impl.key_shape)))
        raise TypeError(f"random_wrap: expected uint32 of shape ({expected}), found {words}")
    return [ShapedArray(words.shape[: words.ndim - axes], impl.dtype)]


def _unwrap_type(keys: ShapedArray) -> Avals:
    if not is_key_type(keys.dtype):
        raise TypeError(f"random_unwrap: expected keys, found {keys}")
    return [ShapedArray((*keys.shape, *implementation_of(keys.dtype).key_shape), UINT32)]


def _convert_text(
    b: stage3.lowering.FunctionBuilder, operation: str, x: stage3.lowering.Value, out: ShapedArray
) -> stage3.lowering.Value:
    return b.emit(f"stablehlo.{operation} {x.name} : {stage3.lowering.signature([x], [out])}", out)[
        0
    ]


def _reshaped(
    b: stage3.lowering.FunctionBuilder, x: stage3.lowering.Value, shape: tuple[int, ...]
) -> stage3.lowering.Value:
    return x if x.aval.shape == shape else b.reshape(x, shape)


def _reversed_words(
    b: stage3.lowering.FunctionBuilder, words: stage3.lowering.Value
) -> stage3.lowering.Value:
    """The last word comes first in memory."""
    last = words.aval.ndim - 1
    text = (
        f"stablehlo.reverse {words.name}, dims = [{last}] : {stage3.lowering.mlir_type(words.aval)}"
    )
    return b.emit(text, words.aval)[0]


def _sliced(
    b: stage3.lowering.FunctionBuilder, x: stage3.lowering.Value, start: int, limit: int
) -> stage3.lowering.Value:
    """A part of the last axis."""
    sizes = x.aval.shape
    ranges = ", ".join([*(f"0:{size}" for size in sizes[:-1]), f"{start}:{limit}"])
    out = ShapedArray((*sizes[:-1], limit - start), x.aval.dtype)
    return b.emit(
        f"stablehlo.slice {x.name} [{ranges}] : {stage3.lowering.signature([x], [out])}", out
    )[0]


def _joined(
    b: stage3.lowering.FunctionBuilder, *parts: stage3.lowering.Value
) -> stage3.lowering.Value:
    """Arrays joined along the last axis."""
    shape = parts[0].aval.shape
    size = sum(part.aval.shape[-1] for part in parts)
    out = ShapedArray((*shape[:-1], size), parts[0].aval.dtype)
    names = ", ".join(part.name for part in parts)
    types = stage3.lowering.signature(list(parts), [out])
    return b.emit(f"stablehlo.concatenate {names}, dim = {len(shape) - 1} : {types}", out)[0]


def _wrap_lower(
    b: stage3.lowering.FunctionBuilder,
    out_avals: Avals,
    words: stage3.lowering.Value,
    *,
    impl: PRNGImpl,
) -> list[stage3.lowering.Value]:
    (keys,) = out_avals
    shape, count = keys.shape, impl.words
    if count == 1:
        return [_convert_text(b, "reshape", words, keys)]
    words = _reversed_words(b, _reshaped(b, words, (*shape, count)))
    if count == 2:
        return [_convert_text(b, "bitcast_convert", words, keys)]
    if count == 3:
        words = _joined(b, words, b.constant(0, ShapedArray((*shape, 1), UINT32)))
    words = _convert_text(b, "reshape", words, ShapedArray((*shape, 2, 2), UINT32))
    pairs = _convert_text(b, "bitcast_convert", words, ShapedArray((*shape, 2), FLOAT64))
    halves = [
        _convert_text(b, "reshape", _sliced(b, pairs, at, at + 1), ShapedArray(shape, FLOAT64))
        for at in range(2)
    ]
    names = ", ".join(half.name for half in halves)
    return b.emit(f"stablehlo.complex {names} : {stage3.lowering.mlir_type(keys)}", keys)


def _key_halves(
    b: stage3.lowering.FunctionBuilder, keys: stage3.lowering.Value
) -> list[stage3.lowering.Value]:
    """Both halves of keys that are stored as complex numbers."""
    half = ShapedArray(keys.aval.shape, FLOAT64)
    return [_convert_text(b, part, keys, half) for part in ("real", "imag")]


def _unwrap_lower(
    b: stage3.lowering.FunctionBuilder, out_avals: Avals, keys: stage3.lowering.Value
) -> list[stage3.lowering.Value]:
    (out,) = out_avals
    shape, count = keys.aval.shape, implementation_of(keys.aval.dtype).words
    if count == 1:
        return [_convert_text(b, "reshape", keys, out)]
    flat = ShapedArray((*shape, count), UINT32)
    if count == 2:
        words = _convert_text(b, "bitcast_convert", keys, flat)
    else:
        single = ShapedArray((*shape, 1), FLOAT64)
        pairs = _joined(b, *(_convert_text(b, "reshape", x, single) for x in _key_halves(b, keys)))
        words = _convert_text(b, "bitcast_convert", pairs, ShapedArray((*shape, 2, 2), UINT32))
        words = _convert_text(b, "reshape", words, ShapedArray((*shape, 4), UINT32))
        words = _sliced(b, words, 0, count)
    return [_reshaped(b, _reversed_words(b, words), out.shape)]


def by_halves(rule: Any) -> Any:
    """A lowering rule that moves each half of such keys as integers of 64 bits.

    Where an array is sharded over devices, XLA brings chosen elements together by adding them to
    zeros, which keeps integers, but not the bits of all floats.
    """

    def moved(
        b: stage3.lowering.FunctionBuilder,
        out_avals: Avals,
        *operands: stage3.lowering.Value,
        **params: Any,
    ) -> Sequence[stage3.lowering.Value]:
        (out,) = out_avals
        if not is_key_type(out.dtype) or out.dtype[0].kind != "c":
            return rule(b, out_avals, *operands, **params)
        halves = []
        for at in range(2):
            given = [
                _convert_text(b, "bitcast_convert", _key_halves(b, x)[at], _like(x.aval, np.uint64))
                if x.aval.dtype == out.dtype
                else x
                for x in operands
            ]
            (half,) = rule(b, [_like(out, np.uint64)], *given, **params)
            halves.append(_convert_text(b, "bitcast_convert", half, _like(out, FLOAT64)))
        names = ", ".join(half.name for half in halves)
        return b.emit(f"stablehlo.complex {names} : {stage3.lowering.mlir_type(out)}", out)

    return moved


def _like(aval: ShapedArray, dtype: Any) -> ShapedArray:
    return ShapedArray(aval.shape, dtype)


def _key_comparison_lower(direction: str, lower_numbers: Any, combine: str) -> Any:
    """The lowering rule of eq or ne: keys are equal if all of their bits are."""

    def key_comparison_lower(
        b: stage3.lowering.FunctionBuilder,
        out_avals: Avals,
        x: stage3.lowering.Value,
        y: stage3.lowering.Value,
    ) -> list[stage3.lowering.Value]:
        dtype = x.aval.dtype
        if not is_key_type(dtype) or dtype[0].kind != "c":
            return lower_numbers(b, out_avals, x, y)
        (out,) = out_avals
        bits = ShapedArray(out.shape, np.uint64)
        pairs = zip(*(_key_halves(b, b.broadcast(keys, out.shape)) for keys in (x, y)), strict=True)
        found = []
        for pair in pairs:
            one, other = (_convert_text(b, "bitcast_convert", half, bits) for half in pair)
            text = f"stablehlo.compare {direction}, {one.name}, {other.name}, UNSIGNED"
            found += b.emit(f"{text} : {stage3.lowering.signature([one, other], [out])}", out)
        names = ", ".join(each.name for each in found)
        return b.emit(f"stablehlo.{combine} {names} : {stage3.lowering.mlir_type(out)}", out)

    return key_comparison_lower


for _each in (
    stage2.primitives.broadcast_in_dim_p,
    stage2.primitives.reshape_p,
    stage2.primitives.transpose_p,
):
    own_lowering_rules[_each] = by_halves(stage3.lowering.lowering_rules[_each])
own_lowering_rules[stage2.primitives.eq_p] = _key_comparison_lower(
    "EQ", stage3.lowering.lowering_rules[stage2.primitives.eq_p], "and"
)
own_lowering_rules[stage2.primitives.ne_p] = _key_comparison_lower(
    "NE", stage3.lowering.lowering_rules[stage2.primitives.ne_p], "or"
)


def _first_axis_vmap(primitive: Primitive) -> Any:
    def first_axis_vmap(
        axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], /, **params: Any
    ) -> tuple[list[Any], list[BatchDim]]:
        x = move_batch_dim(values[0], axis, dims[0], 0)
        return [bind1(primitive, x, **params)], [0]

    return first_axis_vmap


def _wrap_sharding(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[Spec]:
    """The words of a key, along the last axes, stay together."""
    (words,), (keys,) = in_avals, out_avals
    axes = range(keys.ndim, words.ndim)
    require_whole(random_wrap_p, words, axes, "it holds the words of a key")
    return [spec_of(words)[: keys.ndim]]


declare(
    random_wrap_p,
    abstract_eval=_wrap_type,
    lower=_wrap_lower,
    vmap=_first_axis_vmap(random_wrap_p),
    sharding=_wrap_sharding,
)
declare(
    random_unwrap_p,
    abstract_eval=_unwrap_type,
    lower=_unwrap_lower,
    vmap=_first_axis_vmap(random_unwrap_p),
    sharding=by_batch(random_unwrap_p, 0),
)
