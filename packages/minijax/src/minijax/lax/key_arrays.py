"""Arrays of random keys, made from the words of uint32 that each key consists of, and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.primitives.declare import declare
from minijax.primitives.sharding_rules import by_batch, require_whole
from minijax.settings.key_dtype import key_dtype
from minijax.shardings.types import Division, division_of
from minijax_stage2 import Primitive, ShapedArray, bind1
from minijax_stage2.vmap import BatchDim, move_batch_dim
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature

Avals = Sequence[ShapedArray]
UINT32 = np.dtype(np.uint32)

random_wrap_p = Primitive("random_wrap")
random_unwrap_p = Primitive("random_unwrap")


def random_wrap(words: Any) -> Any:
    """Keys from their words: uint32 of shape `(..., 2)`, the high word first."""
    return bind1(random_wrap_p, words)


def random_unwrap(keys: Any) -> Any:
    """The words of keys."""
    return bind1(random_unwrap_p, keys)


def _type_of_keys(words: ShapedArray) -> Avals:
    if words.dtype != UINT32 or words.shape[-1:] != (2,):
        raise TypeError(f"random_wrap: expected uint32 of shape (..., 2), found {words}")
    return [ShapedArray(words.shape[:-1], key_dtype)]


def _type_of_words(keys: ShapedArray) -> Avals:
    if keys.dtype != key_dtype:
        raise TypeError(f"random_unwrap: expected keys, found {keys}")
    return [ShapedArray((*keys.shape, 2), UINT32)]


def _reversed_words(b: FunctionBuilder, words: Value) -> Value:
    """The low word comes first in memory."""
    last = words.aval.ndim - 1
    text = f"stablehlo.reverse {words.name}, dims = [{last}] : {mlir_type(words.aval)}"
    return b.emit(text, words.aval)[0]


def _lower_wrap(b: FunctionBuilder, out_avals: Avals, words: Value) -> list[Value]:
    words = _reversed_words(b, words)
    types = signature([words], out_avals)
    return b.emit(f"stablehlo.bitcast_convert {words.name} : {types}", *out_avals)


def _lower_unwrap(b: FunctionBuilder, out_avals: Avals, keys: Value) -> list[Value]:
    types = signature([keys], out_avals)
    (words,) = b.emit(f"stablehlo.bitcast_convert {keys.name} : {types}", *out_avals)
    return [_reversed_words(b, words)]


def _vmap_first(primitive: Primitive) -> Any:
    def rule(
        axis_size: int, values: Sequence[Any], dims: Sequence[BatchDim]
    ) -> tuple[list[Any], list[BatchDim]]:
        x = move_batch_dim(values[0], axis_size, dims[0], 0)
        return [bind1(primitive, x)], [0]

    return rule


def _division_of_keys(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[Division]:
    """The words of a key, along the last axis, stay together."""
    (words,) = in_avals
    require_whole(random_wrap_p, words, [words.ndim - 1], "it holds the words of a key")
    return [division_of(words)[:-1]]


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
