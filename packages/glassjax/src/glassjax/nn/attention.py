"""Attention: means of values, each weighted by how well its key answers a query."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import glassjax.numpy as jnp
from glassjax import lax
from glassjax.nn.activations import logsumexp, softmax
from glassjax.runtime.array import ArrayLike
from glassjax.runtime.nesting import written_in_jax
from glassjax.runtime.operation import operation
from glassjax_stage2 import typeof
from glassjax_stage2.shaped_array import typeof_named

FLOAT = np.dtype(np.float32)
INT = np.dtype(np.int32)
BOOL = np.dtype(np.bool_)


@operation(static=("is_causal", "local_window_size", "implementation", "return_residual"))
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: Any = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """`softmax(query @ key^T * scale + bias) @ value`, for each head.

    Arguments:
        query: an array of shape `(batch, T, heads, size)`; the batch axis may be left out of this
            and all other arrays.
        key: an array of shape `(batch, S, key heads, size)`. If there are fewer key heads than
            query heads, each serves several consecutive query heads.
        value: an array of the shape of `key`.
        bias: added to the products; broadcasts to `(batch, heads, T, S)`.
        mask: booleans that say which query sees which key; broadcasts to `(batch, heads, T, S)`.
        scale: the factor of the products; `1 / sqrt(size)` by default.
        is_causal: whether to hide from each query the keys after it.
        query_seq_lengths: the number of queries of each element of the batch; the results of the
            others are 0. int32 of shape `(batch,)`.
        key_value_seq_lengths: the number of keys of each element of the batch, likewise.
        local_window_size: the number of keys before and after its position that a query sees; a
            pair, or a number for both.
        implementation: "xla" or None, which mean the same.
        return_residual: whether to return also the logarithms of the denominators of softmax.

    Returns:
        An array of the shape of `query`; with `return_residual` also one of that shape without its
        last axis, which is not differentiated.

    Raises:
        ValueError: shapes or dtypes do not match.
        NotImplementedError: `implementation` is "cudnn".

    >>> x = jnp.arange(6.0).reshape(3, 1, 2)
    >>> out = nn.dot_product_attention(jnp.zeros((3, 1, 2)), x, x, is_causal=True)
    >>> out[:, 0]
    Array([[0., 1.],
           [1., 2.],
           [2., 3.]], dtype=float32)
    """
    if implementation == "cudnn":
        raise NotImplementedError("dot_product_attention: the only implementation is 'xla'")
    if implementation not in (None, "xla"):
        raise ValueError(
            f"dot_product_attention: implementation must be 'xla', found {implementation!r}"
        )
    shape_of_result = jnp.shape(query)
    query, key, value, bias, mask = map(_with_batch, (query, key, value, bias, mask))
    _check_operand("key", key, (None,) * 4)
    if scale is not None and typeof_named("dot_product_attention: scale", scale).dtype.kind == "c":
        raise TypeError(f"dot_product_attention: scale must be real, found {scale}")
    batch, keys, key_heads, size = typeof(key).shape
    _check_operand("value", value, (batch, keys, key_heads, size), typeof(key).dtype)
    _check_operand("query", query, (batch, None, None, size), typeof(key).dtype)
    _check_operand("mask", mask, (None,) * 4, BOOL)
    _check_operand("bias", bias, (None,) * 4)
    _check_operand("query_seq_lengths", query_seq_lengths, (batch,), INT)
    _check_operand("key_value_seq_lengths", key_value_seq_lengths, (batch,), INT)
    _, queries, heads, _ = typeof(query).shape
    if heads % key_heads:
        raise ValueError(
            "dot_product_attention: the number of query heads must be a multiple of the key heads, "
            f"found {heads} and {key_heads}"
        )

    dtype = jnp.promote_types(typeof(query).dtype, FLOAT)
    visible = _mask(
        queries, keys, is_causal, query_seq_lengths, key_value_seq_lengths, local_window_size
    )
    if mask is not None:
        visible.append(_in_groups(mask, key_heads))
    out, residual = _means_by_similarity(
        jnp.reshape(query, (batch, queries, key_heads, heads // key_heads, size)),
        key,
        value,
        np.asarray(1 / math.sqrt(size), dtype)[()] if scale is None else jnp.asarray(scale, dtype),
        None if bias is None else _in_groups(bias, key_heads),
        functools.reduce(jnp.logical_and, visible) if visible else None,
        return_residual,
    )
    if query_seq_lengths is not None:
        is_there = _up_to(queries, query_seq_lengths)[:, :, None, None, None]
        out = out * jnp.astype(is_there, typeof(out).dtype)
    out = jnp.reshape(out, shape_of_result)
    if not return_residual:
        return out
    residual = jnp.reshape(jnp.astype(residual, typeof(key).dtype), shape_of_result[:-1])
    return out, lax.stop_gradient(residual)


@written_in_jax("special")
def _means_by_similarity(
    query: Any, key: Any, value: Any, scale: Any, bias: Any, seen: Any, return_residual: bool
) -> tuple[Any, Any]:
    """The means of the values, and the logarithms of the denominators of their weights.

    The axes of the query are batch, positions, key heads, the heads that each serves, and features.
    """
    logits = jnp.einsum("BTKGH,BSKH->BKGTS", query, key, preferred_element_type=typeof(scale).dtype)
    logits = masked(logits * scale, bias, seen)
    weights = jnp.astype(softmax(logits), typeof(key).dtype)
    out = jnp.einsum("BKGTS,BSKH->BTKGH", weights, value)
    if not return_residual:
        return out, None
    return out, jnp.transpose(logsumexp(logits, axis=-1), (0, 3, 1, 2))


def masked(logits: Any, bias: Any, seen: Any) -> Any:
    """The logits in float32, with a bias added, and hidden where they are not seen."""
    dtype = typeof(logits).dtype
    if bias is not None:
        logits = jnp.astype(logits + bias, dtype)
    if seen is not None:
        hidden = -0.7 * min(np.finfo(dtype).max, np.finfo(FLOAT).max)
        logits = jnp.where(seen, logits, jnp.asarray(hidden, dtype))
    return jnp.astype(logits, FLOAT)


def _mask(
    queries: int,
    keys: int,
    is_causal: bool,
    query_seq_lengths: Any,
    key_value_seq_lengths: Any,
    window: int | tuple[int, int] | None,
) -> list[Any]:
    """Masks of query-key pairs, which broadcast to the shape of the logits."""
    found = []
    if is_causal or window is not None:
        place_of_query = lax.broadcasted_iota(INT, (queries, keys), 0)
        place_of_key = lax.broadcasted_iota(INT, (queries, keys), 1)
    if is_causal:
        found.append(place_of_query >= place_of_key)
    if window is not None:
        before, after = (window, window) if isinstance(window, int) else window
        found.append(place_of_query <= place_of_key + before)
        found.append(place_of_query >= place_of_key - after)
    if query_seq_lengths is not None:
        found.append(_up_to(queries, query_seq_lengths)[:, None, None, :, None])
    if key_value_seq_lengths is not None:
        found.append(_up_to(keys, key_value_seq_lengths)[:, None, None, None, :])
    return found


def _with_batch(x: Any) -> Any:
    """`x` with leading axes of size 1, up to four axes."""
    if x is None:
        return None
    missing = 4 - typeof(x).ndim
    return jnp.expand_dims(x, tuple(range(missing))) if missing > 0 else x


def _check_operand(
    name: str, x: Any, sizes: tuple[int | None, ...], dtype: np.dtype[Any] | None = None
) -> None:
    if x is None:
        return
    aval = typeof(x)
    fits = aval.ndim == len(sizes) and all(
        wanted is None or found == wanted for found, wanted in zip(aval.shape, sizes, strict=True)
    )
    if not fits:
        expected = ", ".join("any" if size is None else str(size) for size in sizes)
        raise ValueError(
            f"dot_product_attention: {name} must have shape ({expected}), found {aval.shape}"
        )
    if dtype is not None and aval.dtype != dtype:
        raise ValueError(
            f"dot_product_attention: {name} must have dtype {dtype}, found {aval.dtype}"
        )


def _in_groups(x: Any, key_heads: int) -> Any:
    """The axis of heads split in two: key heads, and the query heads that each serves."""
    batch, heads, *sizes = typeof(x).shape
    groups = (1, 1) if heads == 1 else (key_heads, heads // key_heads)
    return jnp.reshape(x, (batch, *groups, *sizes))


def _up_to(size: int, lengths: Any) -> Any:
    """Mask the first `lengths` positions, for each element of the batch."""
    return lax.iota(INT, size)[None, :] < lengths[:, None]
