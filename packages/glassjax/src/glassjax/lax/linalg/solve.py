"""Triangular and tridiagonal systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax.primitives.routines as routines
import glassjax_stage2 as stage2
from glassjax.lax.elementwise import conj
from glassjax.lax.linalg import matrices
from glassjax.lax.shapes import expand_dims, squeeze
from glassjax.lax.slicing import pad
from glassjax.primitives.declare import declare, leading_batch
from glassjax.primitives.routines import Routine
from glassjax.primitives.sharding_rules import by_batch
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.lowering import platform_of
from glassjax.runtime.operation import operation, require_dtypes_alike, require_kind
from glassjax.shardings import types as sharded
from glassjax_stage2 import ShapedArray, Zero, bind1, typeof
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3.lowering import FunctionBuilder, Value, signature
from glassjax_stage4 import UndefPrimal

# Linear systems with triangular matrices.


triangular_solve_p = stage2.Primitive("triangular_solve")


@operation(static=("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal"))
def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """The solutions x of `op(a) @ x = b`, or of `x @ op(a) = b`, for triangular matrices a.

    Arguments:
        a: the matrices; only one triangle is read.
        b: right-hand sides, or a single vector if `b` has one axis less than `a`.
        left_side: whether `a` is on the left of x.
        lower: whether the triangle is the lower one.
        transpose_a, conjugate_a: what `op` does.
        unit_diagonal: whether to assume that the diagonal of `a` is ones.

    Raises:
        TypeError, ValueError: shapes or dtypes do not match.

    >>> a, b = jnp.array([[2.0, 0.0], [1.0, 4.0]]), jnp.array([[2.0], [9.0]])
    >>> lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    Array([[1.],
           [2.]], dtype=float32)
    """
    require_kind("triangular_solve", "fc", typeof(a), typeof(b))
    require_dtypes_alike("triangular_solve", typeof(a), typeof(b))
    matrices.check_matrices("triangular_solve", typeof(a), True, matrices.DTYPES_OF_XLA)
    is_vector, axis = typeof(b).ndim == typeof(a).ndim - 1, -1 if left_side else -2
    if is_vector:
        b = expand_dims(b, (axis,))
    out = bind1(
        triangular_solve_p,
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a and matrices.is_complex(a),
        unit_diagonal=unit_diagonal,
    )
    return squeeze(out, (axis,)) if is_vector else out


def _triangular_type(a: ShapedArray, b: ShapedArray, **params: bool) -> list[ShapedArray]:
    matrices.check_matrices("triangular_solve", a, True, matrices.DTYPES_OF_XLA)
    contracted = -2 if params["left_side"] else -1
    if a.dtype != b.dtype:
        raise TypeError(f"triangular_solve: dtypes differ: {a} and {b}")
    if a.ndim != b.ndim or a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[contracted]:
        raise TypeError(f"triangular_solve: the right-hand sides {b} do not fit the matrices {a}")
    return [b]


def _triangular_solve_lower(
    builder: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    a: Value,
    b: Value,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> list[Value]:
    """Lower to BLAS, several times faster than XLA's `stablehlo.triangular_solve` on a CPU.

    That remains for dtypes without a BLAS routine, and for GPUs, where it calls cuBLAS.
    """
    if conjugate_a and not transpose_a:
        a = _conjugate(builder, a)
    if platform_of(builder) == "cpu" and routines.has_routines(a.aval.dtype):
        trsm = routines.routine(
            "trsm",
            a,
            side="L" if left_side else "R",
            uplo="L" if lower else "U",
            trans_x="N" if not transpose_a else "C" if conjugate_a else "T",
            diag="U" if unit_diagonal else "N",
        )
        batch = a.aval.ndim - 2
        return routines.call_routine(
            builder, "triangular_solve", [a, b], out_avals, batch, in_place={1: 0}, cpu=trsm
        )
    op = "NO_TRANSPOSE" if not transpose_a else "ADJOINT" if conjugate_a else "TRANSPOSE"
    flags = {"left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal}
    text = ", ".join(f"{name} = {str(flag).lower()}" for name, flag in flags.items())
    return builder.emit(
        f'"stablehlo.triangular_solve"({a.name}, {b.name}) '
        f"<{{{text}, transpose_a = #stablehlo<transpose {op}>}}> : {signature([a, b], out_avals)}",
        *out_avals,
    )


def _conjugate(b: FunctionBuilder, x: Value) -> Value:
    (out,) = b.emit(f'"chlo.conj"({x.name}) : {signature([x], [x.aval])}', x.aval)
    return out


def minus(tangent: Any, change: Any) -> Any:
    """A tangent, which may be a symbolic zero, less a change."""
    return stage2.neg(change) if type(tangent) is Zero else stage2.sub(tangent, change)


def triangle_of(t: Any, *, lower: bool, unit_diagonal: bool, **params: bool) -> Any:
    """The tangent of matrices less what a triangular solve does not read."""
    return matrices.tril(t, -unit_diagonal) if lower else matrices.triu(t, int(unit_diagonal))


def _triangular_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: bool
) -> tuple[list[Any], list[Any]]:
    """`a x' = b' - a' x`: one system for both changes, and so in reverse."""
    a, _ = primals
    x = bind1(triangular_solve_p, *primals, **params)
    t, change = tangents
    if type(t) is not Zero:
        t = triangle_of(t, **params)
        t = matrices.mT(t) if params["transpose_a"] else t
        t = conj(t) if params["conjugate_a"] else t
        change = minus(
            change, matrices.matmul(t, x) if params["left_side"] else matrices.matmul(x, t)
        )
    return [x], [bind1(triangular_solve_p, a, change, **params)]


def _triangular_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], **params: bool
) -> tuple[list[Any], list[BatchDim]]:
    """Batching rule: right-hand sides of one matrix are more columns of one system, or rows."""
    (a, b), (a_dim, b_dim) = values, dims
    if a_dim is not None or b_dim is None or any(sharded.spec_of(typeof(b))):
        return leading_batch(triangular_solve_p)(axis, values, dims, **params)
    place = typeof(b).ndim - (1 if params["left_side"] else 2)
    b = move_batch_dim(b, axis, b_dim, place)
    shape = typeof(b).shape
    merged = (*shape[: place - 1], shape[place - 1] * shape[place], *shape[place + 1 :])
    x = bind1(triangular_solve_p, a, stage2.reshape(b, merged), **params)
    return [stage2.reshape(x, shape)], [place]


def _triangular_transpose(ct: Any, a: Any, b: UndefPrimal, **params: bool) -> Any:
    return bind1(triangular_solve_p, a, ct, **params | {"transpose_a": not params["transpose_a"]})


declare(
    triangular_solve_p,
    abstract_eval=matrices.weak_together(_triangular_type),
    lower=_triangular_solve_lower,
    vmap=_triangular_vmap,
    sharding=by_batch(triangular_solve_p, 2),
    jvp=_triangular_jvp,
    transpose=(None, _triangular_transpose),
)


# Linear systems with tridiagonal matrices.


tridiagonal_solve_p = stage2.Primitive("tridiagonal_solve")


@operation(static="perturb_singular")
def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """The solutions x of `a @ x = b`, for matrices `a` of three diagonals.

    Arguments:
        dl: the diagonal below, as long as `d`: `dl[i]` is `a[i, i - 1]`, and `dl[0]` is ignored.
        d: the diagonal.
        du: the diagonal above: `du[i]` is `a[i, i + 1]`, and the last element is ignored.
        b: matrices with as many rows as `d` has elements.
        perturb_singular: whether to move tiny pivots away from zero, so that singular matrices,
            too, have finite solutions.

    Returns:
        The solutions. NaN where a matrix is singular.

    Raises:
        TypeError: shapes do not match, or `b` is not a matrix.

    >>> import glassjax.numpy as jnp
    >>> ones = jnp.ones(3)
    >>> tridiagonal_solve(0 * ones, 2 * ones, ones, jnp.array([[4.0], [5.0], [6.0]]))[:, 0]
    Array([1.5, 1. , 3. ], dtype=float32)
    """
    avals = [typeof(x) for x in (dl, d, du, b)]
    require_kind("tridiagonal_solve", "fc", *avals)
    require_dtypes_alike("tridiagonal_solve", *avals)
    if typeof(b).ndim < 2:
        raise TypeError(
            f"tridiagonal_solve: b must be a matrix, found {typeof(b)}; b[:, None] is one"
        )
    matrices.check_matrices("tridiagonal_solve", typeof(b))
    return bind1(tridiagonal_solve_p, dl, d, du, b, perturb_singular=perturb_singular)


def _tridiagonal_type(
    dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *, perturb_singular: bool
) -> list[ShapedArray]:
    matrices.check_matrices("tridiagonal_solve", b)
    if not dl.shape == d.shape == du.shape == b.shape[:-1]:
        raise TypeError(
            f"tridiagonal_solve: diagonals {dl}, {d}, {du} must have one shape, which is that of "
            f"the columns of the right-hand sides, {b}"
        )
    return [b]


def _tridiagonal_solve_lower(
    builder: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    dl: Value,
    d: Value,
    du: Value,
    b: Value,
    *,
    perturb_singular: bool,
) -> list[Value]:
    operands = [dl, d, du, b]
    batch = b.aval.ndim - 2
    name = "tridiagonal_solve"
    if perturb_singular:
        return routines.call_routine(
            builder,
            name,
            operands,
            out_avals,
            batch,
            cpu=Routine("tridiagonal_solve_perturbed_ffi"),
            cuda=Routine("cu_tridiagonal_solve_perturbed"),
        )
    if platform_of(builder) == "cuda":
        gtsv2 = Routine("cusparse_gtsv2_ffi")
        return routines.call_routine(
            builder, name, operands, out_avals, batch, in_place={3: 0}, cuda=gtsv2
        )
    outs = [*(x.aval for x in operands), routines.info_type(b.aval.shape[:-2])]
    in_place = {i: i for i in range(len(operands))}
    gtsv = routines.routine("gtsv", dl)
    *_, x, failed = routines.call_routine(builder, name, operands, outs, batch, in_place, cpu=gtsv)
    return routines.nan_unless_done(builder, failed, [x])


def _shifted(x: Any, axis: int, by: int) -> Any:
    """`x` shifted along an axis, counted from the end, and filled with zeros.

    `by` is 1 or -1: towards larger or smaller indices.
    """
    config = [(0, 0, 0)] * typeof(x).ndim
    config[axis] = (by, -by, 0)
    return pad(x, np.zeros((), typeof(x).dtype)[()], config)


def _tridiagonal_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, perturb_singular: bool
) -> tuple[list[Any], list[Any]]:
    """`a x' = b' - a' x`."""
    x = bind1(tridiagonal_solve_p, *primals, perturb_singular=perturb_singular)
    *diagonals, _ = primals
    *diagonal_dots, rhs = tangents
    for t, by in zip(diagonal_dots, (1, 0, -1), strict=True):
        if type(t) is not Zero:
            # Shift after the product: ignored tangents are cut off before they can make a NaN.
            product = expand_dims(_shifted(t, -1, -by) if by else t, (-1,)) * x
            product = _shifted(product, -2, by) if by else product
            rhs = -product if type(rhs) is Zero else rhs + -product
    return [x], [bind1(tridiagonal_solve_p, *diagonals, rhs, perturb_singular=perturb_singular)]


def _tridiagonal_transpose(
    ct: Any, dl: Any, d: Any, du: Any, b: UndefPrimal, *, perturb_singular: bool
) -> Any:
    below, above = _shifted(du, -1, 1), _shifted(dl, -1, -1)
    return bind1(tridiagonal_solve_p, below, d, above, ct, perturb_singular=perturb_singular)


declare(
    tridiagonal_solve_p,
    abstract_eval=matrices.weak_together(_tridiagonal_type),
    lower=_tridiagonal_solve_lower,
    vmap=leading_batch(tridiagonal_solve_p),
    sharding=by_batch(tridiagonal_solve_p, 1, 1, 1, 2),
    jvp=_tridiagonal_jvp,
    transpose=(None, None, None, _tridiagonal_transpose),
)
