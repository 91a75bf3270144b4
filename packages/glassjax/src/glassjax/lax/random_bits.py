"""Random bits that XLA itself generates."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassjax.lax.dynamic_slicing import dynamic_update_index_in_dim
from glassjax.lax.shapes import sizes_of
from glassjax.lax.slicing import index_in_dim
from glassjax.primitives.declare import declare, no_derivative
from glassjax.primitives.sharding_rules import whole
from glassjax.runtime.array import Array
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import letter_of
from glassjax_stage2 import Primitive, ShapedArray, bind, bind1
from glassjax_stage2.shaped_array import Shape, dialect
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature


class RandomAlgorithm(enum.IntEnum):
    """Algorithms that make random bits from a state.

    >>> state, algorithm = jnp.zeros(4, jnp.uint32), lax.RandomAlgorithm.RNG_THREE_FRY
    >>> _, bits = lax.rng_bit_generator(state, (2,), algorithm=algorithm)
    >>> bits.dtype
    dtype('uint32')
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


rng_bit_generator_p = Primitive("rng_bit_generator")
rng_uniform_p = Primitive("rng_uniform")

UINT32, UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)


@operation(static=("shape", "dtype", "algorithm", "out_sharding"))
def rng_bit_generator(
    key: Any,
    shape: int | Sequence[int],
    dtype: Any = np.uint32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> tuple[Any, Any]:
    """Random bits from one of XLA's generators.

    Arguments:
        key: the state of the generator: four numbers of uint32, or two of uint64.
        shape: the shape of the bits.
        dtype: an unsigned integer.
        algorithm: one of `RandomAlgorithm`; the default one depends on the device.
        out_sharding: the sharding of the bits over mesh axes of type `Explicit`.

    Returns:
        The next state, and the bits. Under `vmap` over states, the bits of all of them come from
        the first.

    Raises:
        TypeError: `key` is not such a state, or `dtype` not unsigned.
        ValueError: there is no such algorithm.

    >>> state = jnp.zeros(4, jnp.uint32)
    >>> state, bits = lax.rng_bit_generator(state, (3,))
    >>> state, more_bits = lax.rng_bit_generator(state, (3,))
    >>> bool(jnp.all(bits == more_bits))
    False
    """
    caller = "rng_bit_generator"
    dtype = dialect().dtype_of(caller, dtype)
    if letter_of(dtype) != "u":
        raise TypeError(f"{caller}: expected a dtype of unsigned integers, found {dtype}")
    state, bits = bind(
        rng_bit_generator_p,
        key,
        shape=sizes_of(caller, shape),
        dtype=dtype,
        algorithm=RandomAlgorithm(algorithm),
    )
    return state, bits


def _rng_bits_type(
    key: ShapedArray, *, shape: Shape, dtype: np.dtype[Any], algorithm: RandomAlgorithm
) -> list[ShapedArray]:
    if (key.dtype, key.shape) not in ((UINT32, (4,)), (UINT64, (2,))):
        raise TypeError(
            f"rng_bit_generator: a state is four numbers of uint32 or two of uint64, found {key}"
        )
    return [ShapedArray(key.shape, key.dtype), ShapedArray(shape, dtype)]


def _rng_bits_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    key: Value,
    *,
    shape: Shape,
    dtype: np.dtype[Any],
    algorithm: RandomAlgorithm,
) -> list[Value]:
    words_aval, bits_aval = out_avals
    state, pairs = ShapedArray((2,), UINT64), ShapedArray((2, 2), UINT32)
    if words_aval.dtype == UINT32:
        key = _converted(b, "bitcast_convert", _converted(b, "reshape", key, pairs), state)
    name = algorithm.name.removeprefix("RNG_")
    key, bits = b.emit(
        f"stablehlo.rng_bit_generator {key.name}, algorithm = {name} : "
        f"{signature([key], [state, bits_aval])}",
        state,
        bits_aval,
    )
    if words_aval.dtype == UINT32:
        key = _converted(b, "reshape", _converted(b, "bitcast_convert", key, pairs), words_aval)
    return [key, bits]


def _converted(b: FunctionBuilder, operation: str, x: Value, out: ShapedArray) -> Value:
    return b.emit(f"stablehlo.{operation} {x.name} : {signature([x], [out])}", out)[0]


def _rng_bits_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], *, shape: Shape, **params: Any
) -> tuple[list[Any], list[BatchDim]]:
    keys = move_batch_dim(values[0], axis, dims[0], 0)
    if not axis.size:
        return [keys, np.zeros((0, *shape), params["dtype"])], [0, 0]
    first = index_in_dim(keys, 0, keepdims=False)
    state, bits = bind(rng_bit_generator_p, first, shape=(axis.size, *shape), **params)
    return [dynamic_update_index_in_dim(keys, state, 0, 0), bits], [0, 0]


declare(
    rng_bit_generator_p,
    abstract_eval=_rng_bits_type,
    lower=_rng_bits_lower,
    vmap=_rng_bits_vmap,
    sharding=whole,
)


@operation(static="shape")
def rng_uniform(a: Any, b: Any, shape: int | Sequence[int]) -> Array:
    """Uniform numbers from `a` up to `b`, exclusive; new ones each time the program runs.

    Arguments:
        a: the lowest, a scalar.
        b: the limit, a scalar of the same dtype.
        shape: the shape of the result.

    Raises:
        ValueError: `a` and `b` are not scalars, or differ in dtype.
        NotImplementedError: it is mapped or differentiated.

    >>> x = lax.rng_uniform(1.0, 2.0, (100,))
    >>> bool(jnp.all((x >= 1) & (x < 2)))
    True
    """
    return bind1(rng_uniform_p, a, b, shape=sizes_of("rng_uniform", shape))


def _rng_uniform_type(a: ShapedArray, b: ShapedArray, *, shape: Shape) -> list[ShapedArray]:
    if a.shape or b.shape or a.dtype != b.dtype:
        raise ValueError(f"rng_uniform: expected two scalars of one dtype, found {a} and {b}")
    return [ShapedArray(shape, a.dtype, a.weak_type and b.weak_type)]


def _rng_uniform_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], low: Value, limit: Value, *, shape: Shape
) -> list[Value]:
    sizes_aval = ShapedArray((len(shape),), np.int64)
    values = list(shape) if shape else ""
    (sizes,) = b.emit(f"stablehlo.constant dense<{values}> : {mlir_type(sizes_aval)}", sizes_aval)
    operands = [low, limit, sizes]
    names = ", ".join(x.name for x in operands)
    return b.emit(
        f"stablehlo.rng {names}, distribution = UNIFORM : {signature(operands, out_avals)}",
        *out_avals,
    )


declare(
    rng_uniform_p,
    abstract_eval=_rng_uniform_type,
    lower=_rng_uniform_lower,
    jvp=(no_derivative("rng_uniform", "a"), no_derivative("rng_uniform", "b")),
)
