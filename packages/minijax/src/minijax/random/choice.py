"""Random choices: permutations, samples, and categories by their probability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.lax.shapes.creation import sizes_of
from minijax.numpy.dtypes import default_int
from minijax.random.arguments import Shape, new_keys
from minijax.random.bits import random_bits
from minijax.random.continuous import gumbel
from minijax.random.keys import single_key
from minijax.random.uniform import randint, uniform_numbers
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.operation import operation
from minijax.settings.counted import counted
from minijax.shardings.resharding import dividing
from minijax_stage2 import typeof
from minijax_stage2.errors import shown
from minijax_stage2.functions import canonical_axis
from minijax_stage2.promotion import to_inexact
from minijax_stage2.shaped_array import typeof_named


@evaluated_by_library
@dividing
def permutation(
    key: ArrayLike,
    x: ArrayLike,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: Any = None,
) -> Array:
    """`x` in a random order.

    Arguments:
        key: the key.
        x: an array; or an int `n`, which means 0, 1, 2, ... up to `n`, exclusive.
        axis: the axis along which to permute elements.
        independent: whether to permute each row along the axis independently.

    Raises:
        TypeError: `x` is a scalar, but not a known integer.

    >>> from minijax import random
    >>> random.permutation(random.key(0), 5)
    Array([0, 1, 4, 3, 2], dtype=int32)
    """
    aval = typeof_named("permutation: x", x)
    if not aval.shape:
        canonical_axis("permutation", axis, 1)
        return _shuffled_integers(key, max(0, _count("permutation: x", x)))
    return _permutation(key, x, axis, independent)


@operation(static="n")
def _shuffled_integers(key: Any, n: int) -> Any:
    return _shuffle(single_key("permutation", key), lax.iota(default_int(), n), 0)


@operation(static=("axis", "independent"))
def _permutation(key: Any, x: Any, axis: int, independent: bool) -> Any:
    key, shape = single_key("permutation", key), typeof(x).shape
    axis = canonical_axis("permutation", axis, len(shape))
    if independent or len(shape) == 1:
        return _shuffle(key, x, axis)
    return _take(x, _shuffle(key, lax.iota(default_int(), shape[axis]), 0), axis)


def _shuffle(key: Any, x: Any, axis: int) -> Any:
    """Sort by random bits, often enough that ties are unlikely to matter."""
    shape = typeof(x).shape
    size = max(1, math.prod(shape))
    for _ in range(math.ceil(3 * math.log(size) / math.log(2**32 - 1))):
        key, key_of_bits = new_keys(key, 2)
        _, x = lax.sort((random_bits(key_of_bits, 32, shape), x), dimension=axis, num_keys=1)
    return x


@evaluated_by_library
def choice(
    key: ArrayLike,
    a: ArrayLike,
    shape: Shape = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """A random sample of the elements of `a`.

    Arguments:
        key: the key.
        a: an array; or an int `n`, which means 0, 1, 2, ... up to `n`, exclusive.
        shape: the shape of the sample, which replaces `axis` in the result.
        replace: whether to sample with replacement.
        p: the probability of each element; uniform by default.
        axis: the axis along which to sample.
        mode: as for `gumbel`, for samples with probabilities and without replacement.

    Raises:
        TypeError: `a` is a scalar, but not a known integer.
        ValueError: there are too few elements, or `p` does not match them.

    >>> random.choice(random.key(0), jnp.array([10, 20, 30, 40]), (3,), replace=False)
    Array([10, 20, 40], dtype=int32)
    >>> random.choice(random.key(0), 3, (6,), p=jnp.array([0.1, 0.2, 0.7]))
    Array([0, 0, 2, 2, 2, 2], dtype=int32)
    """
    if not isinstance(shape, Sequence):
        raise TypeError(f"choice: shape must be a sequence of ints, found {shown(shape)}")
    aval, sizes = typeof_named("choice: a", a), sizes_of("choice", shape)
    if aval.shape:
        axis = canonical_axis("choice", axis, aval.ndim)
        count = aval.shape[axis]
    else:
        count = _count("choice: a", a)
    draws = math.prod(sizes)
    if draws and count < 1:
        raise ValueError("choice: there is nothing in `a` to choose from")
    if not replace and draws > count:
        raise ValueError(
            f"choice: cannot take {draws} of {counted(count, 'element')} without replacement"
        )
    if p is not None and typeof_named("choice: p", p).shape != (count,):
        raise ValueError(f"choice: p must have shape {(count,)}, found {typeof(p).shape}")
    if aval.shape:
        return _choice(key, a, p, sizes, replace, axis, mode)
    return _choice_of_integers(key, p, count, sizes, replace, mode)


@operation(static=("count", "shape", "replace", "mode"))
def _choice_of_integers(
    key: Any, p: Any, count: int, shape: tuple[int, ...], replace: bool, mode: str | None
) -> Any:
    return lax.reshape(_chosen(key, count, shape, replace, p, mode), shape)


@operation(static=("shape", "replace", "axis", "mode"))
def _choice(
    key: Any,
    a: Any,
    p: Any,
    shape: tuple[int, ...],
    replace: bool,
    axis: int,
    mode: str | None,
) -> Any:
    of_a = typeof(a).shape
    if p is None and not replace:  # the first of them all in a random order
        shuffled = _permutation(key, a, axis, False)
        limits = [*of_a[:axis], math.prod(shape), *of_a[axis + 1 :]]
        taken = lax.slice(shuffled, [0] * len(of_a), limits)
    else:
        taken = _take(a, _chosen(key, of_a[axis], shape, replace, p, mode), axis)
    return lax.reshape(taken, (*of_a[:axis], *shape, *of_a[axis + 1 :]))


def _chosen(
    key: Any, count: int, shape: tuple[int, ...], replace: bool, p: Any, mode: str | None
) -> Any:
    """Return the indices of the elements to take, out of a given number."""
    key, draws = single_key("choice", key), math.prod(shape)
    if p is None:
        if replace:
            return randint(key, shape, 0, count)
        return lax.slice(_shuffled_integers(key, count), (0,), (draws,))
    p = to_inexact(p)
    if not replace:
        scores = lax.add(gumbel(key, (count,), typeof(p).dtype, mode), lax.log(p))
        return lax.convert_element_type(lax.top_k(scores, draws)[1], default_int())
    sums = jnp.cumsum(p)
    total = lax.reshape(lax.slice(sums, (count - 1,), (count,)), ())
    u = uniform_numbers(key, shape, typeof(sums).dtype)
    drawn = lax.mul(total, lax.sub(typeof(sums).dtype.type(1), u))
    return lax.convert_element_type(jnp.searchsorted(sums, drawn), default_int())


@operation(static=("axis", "shape", "replace", "mode", "out_sharding"))
def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: Shape | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Random categories with the probabilities `softmax(logits, axis)`.

    Arguments:
        key: the key.
        logits: logarithms of probabilities, up to a constant.
        axis: the axis of the categories.
        shape: the shape of the result, which must end with that of `logits` without `axis`, the
            default.
        replace: whether to draw with replacement along the additional leading axes.
        mode: as for `gumbel`.

    Returns:
        Integers: the indices of the categories along `axis`.

    Raises:
        ValueError: `shape` does not match, or there are too few categories to draw without
            replacement.

    >>> logits = jnp.log(jnp.array([0.1, 0.2, 0.7]))
    >>> random.categorical(random.key(0), logits, shape=(8,))
    Array([1, 2, 2, 1, 2, 2, 2, 2], dtype=int32)
    """
    key, of_logits = single_key("categorical", key), typeof(logits).shape
    logits = to_inexact(logits)
    axis = canonical_axis("categorical", axis, len(of_logits))
    batch = (*of_logits[:axis], *of_logits[axis + 1 :])
    sizes = batch if shape is None else sizes_of("categorical", shape)
    lead = len(sizes) - len(batch)
    if lead < 0 or sizes[lead:] != batch:
        raise ValueError(f"categorical: shape must end with {batch}, found {sizes}")
    dtype = typeof(logits).dtype
    if replace:
        noise = gumbel(key, (*sizes[:lead], *of_logits), dtype, mode)
        return jnp.argmax(lax.add(noise, logits), axis=lead + axis)
    draws = math.prod(sizes[:lead])
    if draws > of_logits[axis]:
        raise ValueError(
            f"categorical: cannot draw {draws} of {of_logits[axis]} categories without replacement"
        )
    scores = lax.add(gumbel(key, of_logits, dtype, mode), logits)
    _, places = lax.top_k(jnp.moveaxis(scores, axis, -1), draws)
    return lax.reshape(jnp.moveaxis(places, -1, 0), sizes)


def _take(a: Any, indices: Any, axis: int) -> Any:
    """The elements of `a` at these indices of an axis."""
    return jnp.asarray(a)[(slice(None),) * axis + (indices,)]


def _count(role: str, x: Any) -> int:
    """Return the number of elements denoted by a scalar."""
    if typeof(x).dtype.kind not in "iu":
        raise TypeError(f"{role} must be an array with an axis, or an integer, found {typeof(x)}")
    return int(x)


__all__ = ["categorical", "choice", "permutation"]
