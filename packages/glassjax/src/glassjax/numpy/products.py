"""Products of arrays: dot, matmul, tensordot, kron, convolve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dimensions.expressions import surely_at_least
from glassjax.dtypes import DTypeLike
from glassjax.lax.precision import PrecisionLike
from glassjax.lax.products import PRECISION_PARAMS, options
from glassjax.numpy.rearranging import flip
from glassjax.runtime.array import Array, ArrayLike, require_no_out
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import (
    as_weak_as,
    require_no_promotion,
    require_one_count,
    result_type,
)
from glassjax_stage2 import typeof
from glassjax_stage2.functions import canonical_axes, one_int
from glassjax_stage2.promotion import broadcast_shapes, cast, to_inexact

# Products of vectors and matrices.
#
# Common arguments: `precision` is a `lax.Precision`; `preferred_element_type` is the dtype of the
# sums, and of the result; `out_sharding` the sharding of the result over mesh axes of type
# `Explicit`.


def promote_dtypes(*operands: Any) -> list[Array]:
    """The operands with one dtype, their shapes as they are."""
    common = result_type(*map(typeof, operands))
    return [cast(x, common) for x in operands]


def weak_like(out: Any, *operands: Any) -> Any:
    """`out`, weak like the operands that it was computed from."""
    aval, common = typeof(out), result_type(*map(typeof, operands))
    return as_weak_as(common, out) if aval.dtype == common.dtype else out


@operation(static=PRECISION_PARAMS)
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """`a @ b`: the matrix product, over leading axes that broadcast.

    Arguments:
        a: the left operand, with at least one axis.
        b: the right operand, with at least one axis.
        precision, preferred_element_type, out_sharding: as in `lax.dot_general`.

    Raises:
        ValueError: an operand is a scalar, or the contracted sizes differ.

    >>> jnp.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
    Array([12, 34], dtype=int32)
    >>> jnp.matmul(jnp.ones((5, 2, 3)), jnp.ones((3, 4))).shape
    (5, 2, 4)
    """
    params = options("matmul", precision, preferred_element_type, a, b)
    product = _matmul_of_repeated if _repeats_operands(a, b) else stage2.matmul
    out = product(a, b, **params)
    return out if preferred_element_type is not None else weak_like(out, a, b)


def _repeats_operands(a: Any, b: Any) -> bool:
    """Return True if broadcasting the leading axes would repeat an operand or add to its axes."""
    x, y = typeof(a).shape, typeof(b).shape
    if len(x) < 2 or len(y) < 3 or x[-1] != y[-2]:
        return False
    return len(x) != len(y) or 1 in x[:-2] or 1 in y[:-2]


def _matmul_of_repeated(a: Any, b: Any, **params: Any) -> Any:
    """The product of matrices whose leading axes differ, without an operand that is repeated.

    Leading axes of size 1 are dropped; leading axes of one operand become its rows or columns.
    """
    x, y = typeof(a).shape, typeof(b).shape
    lead = broadcast_shapes(x[:-2], y[:-2])
    rank = len(lead)
    own_a = [i + rank + 2 - len(x) for i, size in enumerate(x[:-2]) if size != 1]
    own_b = [i + rank + 2 - len(y) for i, size in enumerate(y[:-2]) if size != 1]
    a, b = (
        stage2.reshape(a, tuple([lead[i] for i in own_a]) + x[-2:]),
        stage2.reshape(b, tuple([lead[i] for i in own_b]) + y[-2:]),
    )
    both = [i for i in own_a if i in own_b]
    contracted = ((len(own_a) + 1,), (len(own_b),))
    batch = tuple([own_a.index(i) for i in both]), tuple([own_b.index(i) for i in both])
    out = stage2.dot_general(a, b, (contracted, batch), **params)
    only_a, only_b = ([i for i in own if i not in both] for own in (own_a, own_b))
    found = [*both, *only_a, rank, *only_b, rank + 1]  # the axes in the order of the product
    out = stage2.transpose(out, [found.index(i) for i in sorted(found)])
    return stage2.reshape(out, (*lead, x[-2], y[-1]))


@operation(static=PRECISION_PARAMS)
def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """The sum of products over the last axis of `a` and the second to last, or only, axis of `b`.

    With a scalar it is the product; for vectors and matrices it is `matmul`.

    Arguments:
        a: the left operand.
        b: the right operand.
        precision, preferred_element_type, out_sharding: as in `lax.dot_general`.

    Raises:
        TypeError: the contracted sizes differ.

    >>> jnp.dot(jnp.array([1, 2]), jnp.array([3, 4]))
    Array(11, dtype=int32)
    >>> jnp.dot(jnp.ones((2, 3)), jnp.ones((3, 4))).shape
    (2, 4)
    """
    ndim_a, ndim_b = typeof(a).ndim, typeof(b).ndim
    contracted = ((ndim_a - 1,), (max(ndim_b - 2, 0),)) if ndim_a and ndim_b else ((), ())
    params = options("dot", precision, preferred_element_type, a, b)
    out = stage2.dot_general(a, b, (contracted, ((), ())), **params)
    return out if preferred_element_type is not None else weak_like(out, a, b)


@operation(static=("precision", "preferred_element_type"))
def vdot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The sum of the products of elements of `a`, conjugated, and `b`, both flattened.

    Arguments:
        a: the left operand.
        b: the right operand, with as many elements.
        precision, preferred_element_type: as in `lax.dot_general`.

    Raises:
        TypeError: sizes differ.

    >>> jnp.vdot(jnp.array([1.0j, 2.0]), jnp.array([1.0j, 3.0]))
    Array(7.+0.j, dtype=complex64)
    """
    require_no_promotion(a, b)
    return dot(
        stage2.reshape(_conjugate(a), (-1,)),
        stage2.reshape(b, (-1,)),
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@operation(static=("axis", "precision", "preferred_element_type"))
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The sums of products along `axis`, `x1` conjugated, over other axes that broadcast.

    Arguments:
        x1, x2: arrays of vectors; the other axes broadcast.
        axis: the axis of the vectors, in both.
        precision, preferred_element_type: as in `lax.dot_general`.

    Raises:
        ValueError: an operand is a scalar, or the sizes of the axis differ.

    >>> jnp.vecdot(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
    Array([12, 34], dtype=int32)
    """
    require_no_promotion(x1, x2)
    a, b = typeof(x1), typeof(x2)
    if not a.ndim or not b.ndim:
        raise ValueError(f"vecdot: operands must have at least one axis, found {a} and {b}")
    require_one_count("vecdot", (a.ndim, b.ndim))
    x1, x2 = stage2.moveaxis(x1, axis, -1), stage2.moveaxis(x2, axis, -1)
    a, b = typeof(x1), typeof(x2)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"vecdot: axis {axis} differs in size, {a.shape[-1]} and {b.shape[-1]}")
    x1, x2 = promote_dtypes(_conjugate(x1), x2)
    shape = broadcast_shapes(a.shape, b.shape)
    x1, x2 = stage2.broadcast_to(x1, shape), stage2.broadcast_to(x2, shape)
    lead, last = tuple(range(len(shape) - 1)), (len(shape) - 1,)
    dtype = typeof(x1).dtype if preferred_element_type is None else preferred_element_type
    return lax.dot_general(x1, x2, ((last, last), (lead, lead)), precision, dtype)


@operation
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The products of matrices `x1` with vectors `x2`, over leading axes that broadcast.

    >>> jnp.matvec(jnp.ones((5, 2, 3)), jnp.ones((5, 3))).shape
    (5, 2)
    """
    _require_axes("matvec", x1, 2, x2, 1)
    require_one_count("matvec", (typeof(x1).ndim - 2, typeof(x2).ndim - 1))
    require_no_promotion(x1, x2)
    return lax.squeeze(matmul(x1, lax.expand_dims(x2, [typeof(x2).ndim])), [-1])


@operation
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The products of vectors `x1`, conjugated, with matrices `x2`, over axes that broadcast.

    >>> jnp.vecmat(jnp.ones((5, 2)), jnp.ones((5, 2, 3))).shape
    (5, 3)
    """
    _require_axes("vecmat", x1, 1, x2, 2)
    require_one_count("vecmat", (typeof(x1).ndim - 1, typeof(x2).ndim - 2))
    require_no_promotion(x1, x2)
    rows = lax.expand_dims(_conjugate(x1), [typeof(x1).ndim - 1])
    return lax.squeeze(matmul(rows, x2), [-2])


def _require_axes(caller: str, x1: Any, least1: int, x2: Any, least2: int) -> None:
    a, b = typeof(x1), typeof(x2)
    if a.ndim < least1 or b.ndim < least2:
        raise ValueError(
            f"{caller}: x1 must have at least {least1} axes and x2 at least {least2}, "
            f"found {a} and {b}"
        )


@operation(like=vdot)
def inner(a: Any, b: Any, *, precision: Any, preferred_element_type: Any) -> Any:
    """The sums of products over the last axes of `a` and `b`; with a scalar the product.

    Arguments:
        a, b: the operands, whose last axes have one size.
        precision, preferred_element_type: as in `lax.dot_general`.

    Raises:
        TypeError: the sizes of the last axes differ.

    >>> jnp.inner(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
    Array([12, 34], dtype=int32)
    """
    ndim_a, ndim_b = typeof(a).ndim, typeof(b).ndim
    contracted = ((ndim_a - 1,), (ndim_b - 1,)) if ndim_a and ndim_b else ((), ())
    params = options("inner", precision, preferred_element_type, None, a, b)
    out = stage2.dot_general(a, b, (contracted, ((), ())), **params)
    return out if preferred_element_type is not None else weak_like(out, a, b)


@operation
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """The products of each element of `a` with each element of `b`, as a matrix.

    Arguments:
        a, b: the operands, flattened.
        out: must be None.

    >>> jnp.outer(jnp.array([1, 2]), jnp.array([10, 20, 30]))
    Array([[10, 20, 30],
           [20, 40, 60]], dtype=int32)
    """
    require_no_promotion(a, b)
    require_no_out("outer", out)
    rows, columns = stage2.reshape(a, (-1,)), stage2.reshape(b, (-1,))
    return stage2.mul(lax.expand_dims(rows, [1]), lax.expand_dims(columns, [0]))


@operation(static=("axes", *PRECISION_PARAMS))
def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | Sequence[Any] = 2,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """The sums of products over several axes of `a` and `b`.

    Arguments:
        a: the left operand.
        b: the right operand.
        axes: the number of last axes of `a` to contract with the first axes of `b`; or a pair of
            the axes of `a` and the axes of `b`, each an int or a sequence of ints.
        precision, preferred_element_type, out_sharding: as in `lax.dot_general`.

    Raises:
        TypeError: `axes` is anything else, or sizes differ.

    >>> jnp.tensordot(jnp.ones((2, 3, 4)), jnp.ones((3, 4, 5)), axes=2).shape
    (2, 5)
    """
    ndim_a, ndim_b = typeof(a).ndim, typeof(b).ndim
    if isinstance(axes, Sequence):
        if len(axes) != 2:
            raise TypeError(f"tensordot: axes must be an int or a pair, found {axes}")
        a_axes, b_axes = (
            canonical_axes("tensordot", x, ndim)
            for x, ndim in zip(axes, (ndim_a, ndim_b), strict=True)
        )
        if len(a_axes) != len(b_axes):
            raise TypeError(f"tensordot: axes must name as many of a as of b, found {axes}")
    else:
        count = one_int("tensordot: axes", axes)
        if not 0 <= count <= min(ndim_a, ndim_b):
            raise TypeError(
                f"tensordot: axes is {count}, but the operands have {ndim_a} and {ndim_b} axes"
            )
        a_axes, b_axes = tuple(range(ndim_a - count, ndim_a)), tuple(range(count))
    params = options("tensordot", precision, preferred_element_type, a, b)
    out = stage2.dot_general(a, b, ((a_axes, b_axes), ((), ())), **params)
    return out if preferred_element_type is not None else weak_like(out, a, b)


@operation
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """The Kronecker product: each element of `a` replaced by its product with `b`.

    >>> jnp.kron(jnp.eye(2, dtype=int), jnp.array([[1, 2]]))
    Array([[1, 2, 0, 0],
           [0, 0, 1, 2]], dtype=int32)
    """
    require_no_promotion(a, b)
    ndim = max(typeof(a).ndim, typeof(b).ndim)
    a, b = (lax.expand_dims(x, range(ndim - typeof(x).ndim)) for x in (a, b))
    products = stage2.mul(
        lax.expand_dims(a, range(1, 2 * ndim, 2)), lax.expand_dims(b, range(0, 2 * ndim, 2))
    )
    sizes = [math.prod(pair) for pair in zip(typeof(a).shape, typeof(b).shape, strict=True)]
    return lax.reshape(products, sizes)


@operation(static=("axisa", "axisb", "axisc", "axis"))
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """The cross products of vectors of three elements.

    Arguments:
        a, b: vectors along one axis; the other axes broadcast.
        axisa, axisb, axisc: the axis of the vectors in `a`, in `b`, and in the result.
        axis: the axis of the vectors in all of them.

    Raises:
        ValueError: vectors do not have three elements, or other axes do not broadcast.

    >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    require_no_promotion(a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = stage2.moveaxis(a, axisa, -1), stage2.moveaxis(b, axisb, -1)
    if not typeof(a).shape[-1] == typeof(b).shape[-1] == 3:
        raise ValueError(
            f"cross: vectors must have 3 elements, found {typeof(a)} and {typeof(b)}; append "
            "a 0 to vectors in the plane"
        )
    (ax, ay, az), (bx, by, bz) = map(_elements, (a, b))
    x = ay * bz - az * by
    y = az * bx - ax * bz
    z = ax * by - ay * bx
    out = lax.concatenate([lax.expand_dims(part, [0]) for part in (x, y, z)], 0)
    return stage2.moveaxis(out, 0, axisc)


def _elements(vectors: Any) -> list[Any]:
    """The three elements of vectors along the last axis."""
    *lead, _ = typeof(vectors).shape
    zeros, last = [0] * len(lead), [len(lead)]
    return [lax.squeeze(lax.slice(vectors, [*zeros, i], [*lead, i + 1]), last) for i in range(3)]


def _conjugate(x: Any) -> Any:
    return lax.conj(x) if typeof(x).dtype.kind == "c" else x


# Sums of products of two sequences, one shifted along the other.


OPTIONS = ("mode", "precision", "preferred_element_type")


@operation(static=OPTIONS)
def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The convolution of two sequences: the coefficients of the product of two polynomials.

    Arguments:
        a, v: the sequences.
        mode: "full" for all sums; "same" for as many as the longer sequence has elements; "valid"
            for those in which the sequences overlap completely.
        precision, preferred_element_type: as in `lax.dot_general`.

    Raises:
        ValueError: an argument is not a sequence or is empty, or `mode` is none of the three.

    >>> jnp.convolve(jnp.array([1, 2, 3]), jnp.array([1, 10]))
    Array([ 1., 12., 23., 30.], dtype=float32)
    >>> jnp.convolve(jnp.array([1.0, 5.0, 3.0]), jnp.array([0.5, 0.5]), mode="valid")
    Array([3., 4.], dtype=float32)
    """
    longer, shorter = _sequences("convolve", a, v)
    # The result in full does not depend on the order.
    if (
        surely_at_least(len_of(shorter), len_of(longer) + 1)
        if mode == "full"
        else (len_of(longer) < len_of(shorter))
    ):
        longer, shorter = shorter, longer
    return _slide("convolve", longer, shorter, mode, precision, preferred_element_type)


@operation(static=OPTIONS)
def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The correlation of two sequences: `convolve` with `v` in reverse order and conjugated.

    Arguments:
        a, v, mode, precision, preferred_element_type: as in `convolve`.

    Raises:
        ValueError: as in `convolve`.

    >>> jnp.correlate(jnp.array([1.0, 2.0, 4.0]), jnp.array([-1.0, 1.0]))
    Array([1., 2.], dtype=float32)
    """
    a, v = _sequences("correlate", a, v)
    if typeof(v).dtype.kind == "c":
        v = lax.conj(v)
    if len_of(a) < len_of(v):  # numpy swaps them and reverses the result
        out = _slide("correlate", v, a, mode, precision, preferred_element_type)
        return lax.rev(out, [0])
    return _slide("correlate", a, v, mode, precision, preferred_element_type)


def len_of(sequence: Any) -> int:
    return typeof(sequence).shape[0]


def _sequences(caller: str, a: Any, v: Any) -> list[Any]:
    for role, x in (("a", a), ("v", v)):
        aval = typeof(x)
        if aval.ndim != 1 or not aval.size:
            raise ValueError(f"{caller}: {role} must have one axis, and elements; found {aval}")
    return [to_inexact(x) for x in promote_dtypes(a, v)]


@operation(static=("caller", *OPTIONS))
def _slide(
    caller: str,
    longer: Any,
    shorter: Any,
    mode: str,
    precision: PrecisionLike,
    preferred_element_type: Any,
) -> Any:
    n = len_of(shorter)
    pads = {"full": (n - 1, n - 1), "same": (n // 2, n - n // 2 - 1), "valid": (0, 0)}
    if mode not in pads:
        raise ValueError(f"{caller}: mode must be 'full', 'same' or 'valid', found {mode!r}")
    if caller == "convolve":
        shorter = flip(shorter)
    out = lax.conv_general_dilated(
        lax.expand_dims(longer, [0, 1]),
        lax.expand_dims(shorter, [0, 1]),
        (1,),
        [pads[mode]],
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    return lax.squeeze(out, [0, 1])
