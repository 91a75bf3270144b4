"""The Cholesky decomposition, its update, and symmetric products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minijax.primitives.lapack as lapack
import minijax.primitives.routines as routines
import minijax_stage2 as stage2
from minijax.lax.control_flow.scan import scan
from minijax.lax.elementwise.abs_and_sign import abs as absolute
from minijax.lax.elementwise.arithmetic import mul
from minijax.lax.elementwise.comparisons import eq
from minijax.lax.elementwise.extremes import max as maximum
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.transcendental import rsqrt
from minijax.lax.indexing.dynamic_slice import dynamic_index_in_dim
from minijax.lax.linalg.matrices import (
    check_matrices,
    eye_like,
    is_complex,
    matmul,
    matrices_of,
    mH,
    mT,
    tril,
    weak_together,
)
from minijax.lax.linalg.triangular_solve import triangular_solve
from minijax.lax.shapes.creation import iota
from minijax.primitives.declare import declare
from minijax.primitives.decomposition import leading_batch
from minijax.primitives.routines import Routine
from minijax.primitives.sharding_rules import by_batch
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import result_type
from minijax_stage2 import Primitive, ShapedArray, bind1, sub, typeof
from minijax_stage2.promotion import cast
from minijax_stage3.lowering import FunctionBuilder, Value

cholesky_p = Primitive("cholesky")


@operation(static="symmetrize_input")
def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """The lower triangular matrices `l` with positive diagonals for which `l @ l^H` is `x`.

    Arguments:
        x: symmetric (Hermitian) positive definite matrices.
        symmetrize_input: whether to take the mean of each matrix and its transpose.

    Returns:
        The matrices; NaN if one of `x` is not positive definite.

    >>> lax.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    x = matrices_of("cholesky", x, square=True)
    if symmetrize_input:
        x = symmetrized(x)
    return tril(bind1(cholesky_p, x))


def symmetrized(x: Any) -> Any:
    """The mean of the matrices and their transposes."""
    return mul(stage2.add(x, mH(x)), stage2.full_like(x, 0.5))


def _type_of_cholesky(x: ShapedArray) -> list[ShapedArray]:
    check_matrices("cholesky", x, square=True)
    return [x]


def _lower_cholesky(b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value) -> list[Value]:
    """Lower to LAPACK, which is several times faster than XLA's `stablehlo.cholesky`."""
    info = routines.info_type(x.aval.shape[:-2])
    factor, failed = routines.call(
        b,
        "cholesky",
        [x],
        [*out_avals, info],
        x.aval.ndim - 2,
        in_place={0: 0},
        cpu=lapack.routine("potrf", x, uplo="L"),
        cuda=Routine("cusolver_potrf_ffi", {"lower": True}),
    )
    return routines.nan_unless_done(b, failed, [factor])


def _jvp_cholesky(t: Any, out: Any, x: Any) -> Any:
    """With `l^-1 t l^-H` split into a lower triangle and its transpose, `l` times the former.

    Only the lower triangle of `x` is read, so only that of `t` matters.
    """
    factor, half = tril(out), _half(t)
    t = stage2.add(half, mH(half))
    right = triangular_solve(factor, t, lower=True, transpose_a=True, conjugate_a=True)
    both = triangular_solve(factor, right, left_side=True, lower=True)
    return matmul(factor, _half(both))


def _half(x: Any) -> Any:
    """The lower triangles with half the diagonals, which add up to `x` with their transposes."""
    on_diagonal = mul(eye_like(x), stage2.full_like(x, 0.5))
    return mul(tril(x), sub(stage2.full_like(x, 1), on_diagonal))


declare(
    cholesky_p,
    abstract_eval=weak_together(_type_of_cholesky),
    lower=_lower_cholesky,
    vmap=leading_batch(cholesky_p),
    sharding=by_batch(cholesky_p, 2),
    jvp=(_jvp_cholesky,),
)


def _real_matrices(caller: str, x: Any) -> Any:
    x = matrices_of(caller, x)
    if is_complex(x):
        raise TypeError(f"{caller}: takes real matrices, found {typeof(x)}")
    return x


@operation(static="symmetrize_output")
def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: Any = 1.0,
    beta: Any = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """`alpha * a @ a^T + beta * c`.

    Arguments:
        a_matrix: real matrices.
        c_matrix: symmetric matrices with the same number of rows.
        alpha, beta: numbers.
        symmetrize_output: whether to copy the lower triangle of the result to the upper.

    Raises:
        ValueError: shapes do not match.
        TypeError: the matrices are complex.

    >>> a, c = jnp.array([[1.0, 2.0]]), jnp.array([[10.0]])
    >>> lax.linalg.symmetric_product(a, c, alpha=2.0, beta=1.0)
    Array([[20.]], dtype=float32)
    """
    caller = "symmetric_product"
    meeting = result_type(typeof(a_matrix), typeof(c_matrix))
    a, c = (_real_matrices(caller, cast(x, meeting)) for x in (a_matrix, c_matrix))
    rows = typeof(a).shape[:-1]
    if typeof(c).shape != (*rows, rows[-1]):
        raise ValueError(
            f"{caller}: c must be square, of as many rows as a has, found {typeof(a)}, {typeof(c)}"
        )
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if typeof(factor).dtype.kind not in "biuf":
            raise TypeError(f"{caller}: {name} must be real, found {typeof(factor)}")
    out = alpha * matmul(a, mT(a)) + beta * c
    return tril(out) + mT(tril(out, -1)) if symmetrize_output else out


@operation
def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The factor of `r^T @ r + w w^T`, from the factor of the first term.

    Rotations of two rows at a time eliminate `w`: far less work than another decomposition.

    Arguments:
        r_matrix: an upper triangular matrix.
        w_vector: a vector with one element for each row of `r_matrix`.

    Returns:
        An upper triangular matrix.

    Raises:
        ValueError: shapes do not match.
        TypeError: they are complex.

    >>> r = lax.linalg.cholesky_update(2.0 * jnp.eye(2), jnp.array([1.0, 0.0]))
    >>> (r.T @ r).round(3)
    Array([[5., 0.],
           [0., 4.]], dtype=float32)
    """
    caller = "cholesky_update"
    meeting = result_type(typeof(r_matrix), typeof(w_vector))
    r = _real_matrices(caller, cast(r_matrix, meeting))
    w = cast(w_vector, typeof(r))
    n = typeof(r).shape[-1]
    if typeof(r).shape != (n, n) or typeof(w).shape != (n,):
        raise ValueError(
            f"{caller}: takes a square matrix and a vector of as many elements as it has rows, "
            f"found {typeof(r)} and {typeof(w)}"
        )

    def rotate(rest: Any, numbered_row: Any) -> tuple[Any, Any]:
        k, row = numbered_row
        cos, sin = _rotation(
            dynamic_index_in_dim(row, k, keepdims=False),
            dynamic_index_in_dim(rest, k, keepdims=False),
        )
        return cos * rest - sin * row, cos * row + sin * rest

    return scan(rotate, w, (iota("int32", n), r))[1]


def _rotation(x: Any, y: Any) -> tuple[Any, Any]:
    """Cosine and sine of the angle of the point (x, y), far from overflow."""
    on_axis = eq(y, 0)
    y = where(on_axis, 1, y)  # a number that divides, whose quotient is not chosen
    scale = maximum(absolute(x), absolute(y))
    x, y = x / scale, y / scale
    by_radius = rsqrt(x * x + y * y)
    return where(on_axis, 1, x * by_radius), where(on_axis, 0, y * by_radius)


__all__ = ["cholesky", "cholesky_update", "symmetric_product"]
