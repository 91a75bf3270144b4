"""Arrays of random keys, made from the words of uint32 that each key consists of, and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.primitives.declare import declare
from minijax.primitives.sharding_rules import by_batch, require_whole
from minijax.runtime.lowering import own_lowering_rules
from minijax.settings.number_types import Implementation, implementation_of, is_key_type
from minijax.shardings.types import Division, division_of
from minijax_stage2 import Primitive, ShapedArray, bind1
from minijax_stage2.primitives import broadcast_in_dim_p, eq_p, ne_p, reshape_p, transpose_p
from minijax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from minijax_stage3.lowering import (
    FunctionBuilder,
    Value,
    lowering_rules,
    mlir_type,
    signature,
)

Avals = Sequence[ShapedArray]
UINT32, FLOAT64 = np.dtype(np.uint32), np.dtype(np.float64)

random_wrap_p = Primitive("random_wrap")
random_unwrap_p = Primitive("random_unwrap")


def random_wrap(words: Any, implementation: Implementation) -> Any:
    """Keys from their words: uint32 of shape `(..., *key_shape)`."""
    return bind1(random_wrap_p, words, impl=implementation)


def random_unwrap(keys: Any) -> Any:
    """The words of keys."""
    return bind1(random_unwrap_p, keys)


def _type_of_keys(words: ShapedArray, *, impl: Implementation) -> Avals:
    axes = len(impl.key_shape)
    if words.dtype != UINT32 or words.shape[words.ndim - axes :] != impl.key_shape:
        expected = ", ".join(map(str, ("...", *impl.key_shape)))
        raise TypeError(f"random_wrap: expected uint32 of shape ({expected}), found {words}")
    return [ShapedArray(words.shape[: words.ndim - axes], impl.dtype)]


def _type_of_words(keys: ShapedArray) -> Avals:
    if not is_key_type(keys.dtype):
        raise TypeError(f"random_unwrap: expected keys, found {keys}")
    return [ShapedArray((*keys.shape, *implementation_of(keys.dtype).key_shape), UINT32)]


def _converted(b: FunctionBuilder, operation: str, x: Value, out: ShapedArray) -> Value:
    return b.emit(f"stablehlo.{operation} {x.name} : {signature([x], [out])}", out)[0]


def _reshaped(b: FunctionBuilder, x: Value, shape: tuple[int, ...]) -> Value:
    return x if x.aval.shape == shape else b.reshape(x, shape)


def _reversed_words(b: FunctionBuilder, words: Value) -> Value:
    """The last word comes first in memory."""
    last = words.aval.ndim - 1
    text = f"stablehlo.reverse {words.name}, dims = [{last}] : {mlir_type(words.aval)}"
    return b.emit(text, words.aval)[0]


def _sliced(b: FunctionBuilder, x: Value, start: int, limit: int) -> Value:
    """A part of the last axis."""
    sizes = x.aval.shape
    ranges = ", ".join([*(f"0:{size}" for size in sizes[:-1]), f"{start}:{limit}"])
    out = ShapedArray((*sizes[:-1], limit - start), x.aval.dtype)
    return b.emit(f"stablehlo.slice {x.name} [{ranges}] : {signature([x], [out])}", out)[0]


def _joined(b: FunctionBuilder, *parts: Value) -> Value:
    """Arrays joined along the last axis."""
    shape = parts[0].aval.shape
    size = sum(part.aval.shape[-1] for part in parts)
    out = ShapedArray((*shape[:-1], size), parts[0].aval.dtype)
    names = ", ".join(part.name for part in parts)
    types = signature(list(parts), [out])
    return b.emit(f"stablehlo.concatenate {names}, dim = {len(shape) - 1} : {types}", out)[0]


def _lower_wrap(
    b: FunctionBuilder, out_avals: Avals, words: Value, *, impl: Implementation
) -> list[Value]:
    (keys,) = out_avals
    shape, count = keys.shape, impl.words
    if count == 1:
        return [_converted(b, "reshape", words, keys)]
    words = _reversed_words(b, _reshaped(b, words, (*shape, count)))
    if count == 2:
        return [_converted(b, "bitcast_convert", words, keys)]
    if count == 3:
        words = _joined(b, words, b.constant(0, ShapedArray((*shape, 1), UINT32)))
    words = _converted(b, "reshape", words, ShapedArray((*shape, 2, 2), UINT32))
    pairs = _converted(b, "bitcast_convert", words, ShapedArray((*shape, 2), FLOAT64))
    halves = [
        _converted(b, "reshape", _sliced(b, pairs, at, at + 1), ShapedArray(shape, FLOAT64))
        for at in range(2)
    ]
    names = ", ".join(half.name for half in halves)
    return b.emit(f"stablehlo.complex {names} : {mlir_type(keys)}", keys)


def _halves(b: FunctionBuilder, keys: Value) -> list[Value]:
    """Both halves of keys that are stored as complex numbers."""
    half = ShapedArray(keys.aval.shape, FLOAT64)
    return [_converted(b, part, keys, half) for part in ("real", "imag")]


def _lower_unwrap(b: FunctionBuilder, out_avals: Avals, keys: Value) -> list[Value]:
    (out,) = out_avals
    shape, count = keys.aval.shape, implementation_of(keys.aval.dtype).words
    if count == 1:
        return [_converted(b, "reshape", keys, out)]
    flat = ShapedArray((*shape, count), UINT32)
    if count == 2:
        words = _converted(b, "bitcast_convert", keys, flat)
    else:
        single = ShapedArray((*shape, 1), FLOAT64)
        pairs = _joined(b, *(_converted(b, "reshape", x, single) for x in _halves(b, keys)))
        words = _converted(b, "bitcast_convert", pairs, ShapedArray((*shape, 2, 2), UINT32))
        words = _converted(b, "reshape", words, ShapedArray((*shape, 4), UINT32))
        words = _sliced(b, words, 0, count)
    return [_reshaped(b, _reversed_words(b, words), out.shape)]


def by_halves(rule: Any) -> Any:
    """A lowering rule that moves each half of such keys as integers of 64 bits.

    Where an array is sharded over devices, XLA brings chosen elements together by adding them to
    zeros, which keeps integers, but not the bits of all floats.
    """

    def moved(
        b: FunctionBuilder, out_avals: Avals, *operands: Value, **params: Any
    ) -> Sequence[Value]:
        (out,) = out_avals
        if not is_key_type(out.dtype) or out.dtype[0].kind != "c":
            return rule(b, out_avals, *operands, **params)
        halves = []
        for at in range(2):
            given = [
                _converted(b, "bitcast_convert", _halves(b, x)[at], _like(x.aval, np.uint64))
                if x.aval.dtype == out.dtype
                else x
                for x in operands
            ]
            (half,) = rule(b, [_like(out, np.uint64)], *given, **params)
            halves.append(_converted(b, "bitcast_convert", half, _like(out, FLOAT64)))
        names = ", ".join(half.name for half in halves)
        return b.emit(f"stablehlo.complex {names} : {mlir_type(out)}", out)

    return moved


def _like(aval: ShapedArray, dtype: Any) -> ShapedArray:
    return ShapedArray(aval.shape, dtype)


def _lower_comparison(direction: str, of_numbers: Any, meeting: str) -> Any:
    """The lowering rule of eq or ne: keys are equal if all of their bits are."""

    def rule(b: FunctionBuilder, out_avals: Avals, x: Value, y: Value) -> list[Value]:
        dtype = x.aval.dtype
        if not is_key_type(dtype) or dtype[0].kind != "c":
            return of_numbers(b, out_avals, x, y)
        (out,) = out_avals
        bits = ShapedArray(out.shape, np.uint64)
        pairs = zip(*(_halves(b, b.spread(keys, out.shape)) for keys in (x, y)), strict=True)
        found = []
        for pair in pairs:
            one, other = (_converted(b, "bitcast_convert", half, bits) for half in pair)
            text = f"stablehlo.compare {direction}, {one.name}, {other.name}, UNSIGNED"
            found += b.emit(f"{text} : {signature([one, other], [out])}", out)
        names = ", ".join(each.name for each in found)
        return b.emit(f"stablehlo.{meeting} {names} : {mlir_type(out)}", out)

    return rule


for _each in (broadcast_in_dim_p, reshape_p, transpose_p):
    own_lowering_rules[_each] = by_halves(lowering_rules[_each])
own_lowering_rules[eq_p] = _lower_comparison("EQ", lowering_rules[eq_p], "and")
own_lowering_rules[ne_p] = _lower_comparison("NE", lowering_rules[ne_p], "or")


def _vmap_first(primitive: Primitive) -> Any:
    def rule(
        axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], /, **params: Any
    ) -> tuple[list[Any], list[BatchDim]]:
        x = move_batch_dim(values[0], axis, dims[0], 0)
        return [bind1(primitive, x, **params)], [0]

    return rule


def _division_of_keys(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[Division]:
    """The words of a key, along the last axes, stay together."""
    (words,), (keys,) = in_avals, out_avals
    axes = range(keys.ndim, words.ndim)
    require_whole(random_wrap_p, words, axes, "it holds the words of a key")
    return [division_of(words)[: keys.ndim]]


declare(
    random_wrap_p,
    abstract_eval=_type_of_keys,
    lower=_lower_wrap,
    vmap=_vmap_first(random_wrap_p),
    sharding=_division_of_keys,
)
declare(
    random_unwrap_p,
    abstract_eval=_type_of_words,
    lower=_lower_unwrap,
    vmap=_vmap_first(random_unwrap_p),
    sharding=by_batch(random_unwrap_p, 0),
)
