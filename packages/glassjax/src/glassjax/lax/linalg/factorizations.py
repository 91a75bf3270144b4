"""Factorizations: Cholesky, LU, QR, Householder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax.primitives.routines as routines
import glassjax_stage2 as stage2
from glassjax.dimensions.expressions import max_size, min_size, surely_at_least, surely_less
from glassjax.lax.barriers import stop_gradient
from glassjax.lax.control_flow.scan import scan
from glassjax.lax.conversion import convert_element_type
from glassjax.lax.dynamic_slicing import dynamic_index_in_dim
from glassjax.lax.elementwise import abs as absolute
from glassjax.lax.elementwise import max as maximum
from glassjax.lax.elementwise import where
from glassjax.lax.linalg import matrices
from glassjax.lax.linalg.solve import minus, triangular_solve
from glassjax.lax.shapes import full, iota
from glassjax.lax.slicing import concatenate, pad, slice
from glassjax.lax.transcendental import rsqrt
from glassjax.primitives.declare import Rule, declare, leading_batch, lower_by
from glassjax.primitives.routines import Routine
from glassjax.primitives.sharding_rules import by_batch
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.lowering import platform_of
from glassjax.runtime.operation import operation, require_dtypes_alike, require_kind
from glassjax.settings.number_types import result_type
from glassjax_stage2 import Primitive, ShapedArray, bind, typeof
from glassjax_stage2.promotion import cast
from glassjax_stage2.tangent import instantiate
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type
from glassjax_stage4 import UndefPrimal

# The Cholesky decomposition, its update, and symmetric products.


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
    x = matrices.matrices_of("cholesky", x, square=True)
    if symmetrize_input:
        x = symmetrized(x)
    return matrices.tril(stage2.bind1(cholesky_p, x))


def symmetrized(x: Any) -> Any:
    """The mean of the matrices and their transposes."""
    return (x + matrices.mH(x)) / 2


def _cholesky_type(x: ShapedArray) -> list[ShapedArray]:
    matrices.check_matrices("cholesky", x, square=True)
    return [x]


def _cholesky_lower(b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value) -> list[Value]:
    """Lower to LAPACK, which is several times faster than XLA's `stablehlo.cholesky`."""
    info = routines.info_type(x.aval.shape[:-2])
    factor, failed = routines.call_routine(
        b,
        "cholesky",
        [x],
        [*out_avals, info],
        x.aval.ndim - 2,
        in_place={0: 0},
        cpu=routines.routine("potrf", x, uplo="L"),
        cuda=Routine("cusolver_potrf_ffi", {"lower": True}),
    )
    return routines.nan_unless_done(b, failed, [factor])


def _cholesky_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """With `l^-1 t l^-H` split into a lower triangle and its transpose, `l` times the former.

    Only the lower triangle of `x` is read, so only the lower triangle of `t` matters, and the real
    part of its diagonal.
    """
    t = instantiate(tangents[0])
    t = matrices.tril(t) + matrices.mH(matrices.tril(t, -1))
    if typeof(t).dtype.kind == "c":
        t = symmetrized(t)
    factor = matrices.tril(stage2.bind1(cholesky_p, *primals))
    right = triangular_solve(factor, t, lower=True, transpose_a=True, conjugate_a=True)
    both = triangular_solve(factor, right, left_side=True, lower=True)
    half = matrices.tril(both) / (1.0 + matrices.eye_like(both))
    return [factor], [matrices.matmul(factor, half)]


declare(
    cholesky_p,
    abstract_eval=matrices.weak_together(_cholesky_type),
    lower=_cholesky_lower,
    vmap=leading_batch(cholesky_p),
    sharding=by_batch(cholesky_p, 2),
    jvp=_cholesky_jvp,
)


def _real_matrices(caller: str, x: Any) -> Any:
    x = matrices.matrices_of(caller, x)
    if matrices.is_complex(x):
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
    require_kind(caller, "f", typeof(a_matrix), typeof(c_matrix))
    require_dtypes_alike(caller, typeof(a_matrix), typeof(c_matrix))
    a, c = (_real_matrices(caller, x) for x in (a_matrix, c_matrix))
    rows = typeof(a).shape[:-1]
    if typeof(c).shape != (*rows, rows[-1]):
        raise ValueError(
            f"{caller}: c must be square, of as many rows as a has, found {typeof(a)}, {typeof(c)}"
        )
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if typeof(factor).dtype.kind not in "biuf":
            raise TypeError(f"{caller}: {name} must be real, found {typeof(factor)}")
    out = alpha * matrices.matmul(a, matrices.mT(a)) + beta * c
    return matrices.tril(out) + matrices.mT(matrices.tril(out, -1)) if symmetrize_output else out


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
    require_kind(caller, "f", typeof(r_matrix), typeof(w_vector))
    require_dtypes_alike(caller, typeof(r_matrix), typeof(w_vector))
    r, w = _real_matrices(caller, r_matrix), w_vector
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
    on_axis = y == 0
    y = where(on_axis, 1, y)  # any nonzero number: `where` discards its quotient
    scale = maximum(absolute(x), absolute(y))
    x, y = x / scale, y / scale
    by_radius = rsqrt(x * x + y * y)
    return where(on_axis, 1, x * by_radius), where(on_axis, 0, y * by_radius)


# The LU decomposition with partial pivoting, and the functions computed with it.


lu_p = Primitive("lu")
lu_pivots_to_permutation_p = Primitive("lu_pivots_to_permutation")
lu_solve_p = Primitive("lu_solve")


@operation(kinds="fc")
def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """The decomposition of matrices `x`, with their rows permuted, into `l @ u`.

    Returns:
        `l` below the diagonal, without its unit diagonal, and `u` from the diagonal on, in one
        matrix; the row with which each row was swapped in turn; and the resulting permutation:
        `x[permutation]` is `l @ u`. NaN where LAPACK fails.

    >>> a = jnp.array([[1.0, 2.0], [4.0, 8.5]])
    >>> factors, pivots, permutation = lax.linalg.lu(a)
    >>> factors, permutation
    (Array([[ 4.   ,  8.5  ],
           [ 0.25 , -0.125]], dtype=float32), Array([1, 0], dtype=int32))
    """
    return tuple(bind(lu_p, matrices.matrices_of("lu", x)))


def _lu_type(x: ShapedArray) -> list[ShapedArray]:
    matrices.check_matrices("lu", x)
    *lead, m, n = x.shape
    pivots, permutation = (ShapedArray((*lead, k), np.int32) for k in (min_size(m, n), m))
    return [x, pivots, permutation]


def _lu_lower(b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value) -> list[Value]:
    *out_avals, permutation = out_avals
    batch = x.aval.ndim - 2
    info = routines.info_type(x.aval.shape[:-2])
    factors, pivots, failed = routines.call_routine(
        b,
        "lu",
        [x],
        [*out_avals, info],
        batch,
        in_place={0: 0},
        cpu=routines.routine("getrf", x),
        cuda=Routine("cusolver_getrf_ffi"),
    )
    one = b.constant(1, pivots.aval)  # LAPACK counts from 1
    (pivots,) = b.emit(
        f"stablehlo.subtract {pivots.name}, {one.name} : {mlir_type(pivots.aval)}", pivots.aval
    )
    zero = b.constant(0, failed.aval)  # a positive status only says that a matrix is singular
    (failed,) = b.emit(
        f"stablehlo.minimum {failed.name}, {zero.name} : {mlir_type(info)}", failed.aval
    )
    size = permutation.shape[-1]
    permutations = _lu_permutation_lower(b, [permutation], pivots, permutation_size=size)
    return [*routines.nan_unless_done(b, failed, [factors]), pivots, *permutations]


def _lu_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Jvp rule: the lower triangle of `l^-1 t u^-1` changes `l`, the upper triangle changes `u`."""
    factors, *swaps = bind(lu_p, *primals)
    t = matrices.permute_rows(instantiate(tangents[0]), swaps[1])
    lower, upper = square_factors(factors)
    both = triangular_solve(lower, t, left_side=True, lower=True, unit_diagonal=True)
    both = triangular_solve(upper, both)
    change = matrices.matmul(lower, matrices.tril(both, -1)) + matrices.matmul(
        matrices.triu(both), upper
    )
    return [factors, *swaps], [change, *map(stage2.Zero.like, swaps)]


def square_factors(factors: Any) -> tuple[Any, Any]:
    """`l` and `u`, each extended to a square with columns and rows of a unit matrix."""
    *lead, m, n = typeof(factors).shape
    k = min_size(m, n)
    zeros = [0] * len(lead)
    lower = matrices.tril(slice(factors, [*zeros, 0, 0], [*lead, m, k]), -1)
    upper = matrices.triu(slice(factors, [*zeros, 0, 0], [*lead, k, n]))
    dtype = typeof(factors).dtype
    config = [(0, 0, 0)] * len(lead)
    nothing = full((), 0, dtype)
    lower = pad(lower, nothing, [*config, (0, 0, 0), (0, m - k, 0)])
    upper = pad(upper, nothing, [*config, (0, n - k, 0), (0, 0, 0)])
    lower = lower + matrices.eye((*lead, m, m), dtype)
    if n > k:
        rest = matrices.eye((*lead, n, n), dtype) - _leading_eye([*lead, n, n], k, dtype)
        upper = upper + rest
    return lower, upper


def _leading_eye(shape: Sequence[int], k: int, dtype: Any) -> Any:
    """Unit matrices of size `k`, with zeros after them."""
    *lead, n, _ = shape
    config = [(0, 0, 0)] * len(lead) + [(0, n - k, 0)] * 2
    return pad(matrices.eye((*lead, k, k), dtype), full((), 0, dtype), config)


declare(
    lu_p,
    abstract_eval=matrices.weak_together(_lu_type),
    lower=_lu_lower,
    vmap=leading_batch(lu_p),
    sharding=by_batch(lu_p, 2),
    jvp=_lu_jvp,
)


@operation(static="permutation_size")
def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The permutation from swapping row i with row `pivots[i]`, for each i in turn.

    Arguments:
        pivots: ints, along the last axis; other axes are batch axes.
        permutation_size: the number of rows.

    >>> lax.linalg.lu_pivots_to_permutation(jnp.array([2, 2, 2], jnp.int32), 3)
    Array([2, 0, 1], dtype=int32)
    """
    return stage2.bind1(lu_pivots_to_permutation_p, pivots, permutation_size=permutation_size)


def _lu_permutation_type(pivots: ShapedArray, *, permutation_size: int) -> list[ShapedArray]:
    if pivots.ndim < 1 or pivots.dtype.kind not in "iu":
        raise TypeError(f"lu_pivots_to_permutation: expected arrays of ints, found {pivots}")
    if pivots.shape[-1] > permutation_size:
        raise ValueError(
            f"lu_pivots_to_permutation: found {pivots}; it takes at most permutation_size "
            f"({permutation_size}) ints along the last axis"
        )
    return [ShapedArray((*pivots.shape[:-1], permutation_size), pivots.dtype)]


def _lu_permutation_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    pivots: Value,
    *,
    permutation_size: int,
) -> list[Value]:
    """A loop over the row swaps, each for all examples at once; a kernel on a GPU.

    Examples swap different rows, so their swaps are masks; the swaps of one matrix are slices.
    """
    (out,) = out_avals
    *lead, count = pivots.aval.shape
    if platform_of(b) == "cuda" and out.dtype == np.int32:
        kernel = Routine("cu_lu_pivots_to_permutation")
        name = "lu_pivots_to_permutation"
        return routines.call_routine(b, name, [pivots], out_avals, len(lead), cuda=kernel)
    n = len(lead)
    dtype = pivots.aval.dtype
    sign = "UNSIGNED" if dtype.kind == "u" else "SIGNED"
    scalar, column = ShapedArray((), dtype), ShapedArray((*lead, 1), dtype)
    mask = ShapedArray(out.shape, np.bool_)
    (rows,) = b.emit(f"stablehlo.iota dim = {n} : {mlir_type(out)}", out)
    if not count:
        return [rows]
    zero, one, last = (b.constant(value, scalar) for value in (0, 1, count))
    s, o, c, m = map(mlir_type, (scalar, out, column, mask))
    flag = mlir_type(ShapedArray((), np.bool_))
    starts = ", ".join([zero.name] * n + ["%i"])
    broadcast = f"dims = {list(range(n + 1))} : ({c}) -> {o}"
    if lead:
        swap = f"""\
      %is = stablehlo.broadcast_in_dim %i, dims = [] : ({s}) -> {o}
      %js = stablehlo.broadcast_in_dim %j, {broadcast}
      %is_i = stablehlo.compare EQ, {rows.name}, %is, {sign} : ({o}, {o}) -> {m}
      %is_j = stablehlo.compare EQ, {rows.name}, %js, {sign} : ({o}, {o}) -> {m}
      %zeros = stablehlo.constant dense<0> : {o}
      %only_j = stablehlo.select %is_j, %p, %zeros : {m}, {o}
      %sum = stablehlo.reduce(%only_j init: {zero.name}) applies stablehlo.add \
across dimensions = [{n}] : ({o}, {s}) -> {mlir_type(ShapedArray(tuple(lead), dtype))}
      %at_j = stablehlo.broadcast_in_dim %sum, dims = {list(range(n))} \
: ({mlir_type(ShapedArray(tuple(lead), dtype))}) -> {o}
      %at_is = stablehlo.broadcast_in_dim %at_i, {broadcast}
      %put_i = stablehlo.select %is_j, %at_is, %p : {m}, {o}
      %put_j = stablehlo.select %is_i, %at_j, %put_i : {m}, {o}"""
    else:
        swap = f"""\
      %to = stablehlo.reshape %j : ({c}) -> {s}
      %at_j = stablehlo.dynamic_slice %p, %to, sizes = [1] : ({o}, {s}) -> {c}
      %put_i = stablehlo.dynamic_update_slice %p, %at_j, %i : ({o}, {c}, {s}) -> {o}
      %put_j = stablehlo.dynamic_update_slice %put_i, %at_i, %to : ({o}, {c}, {s}) -> {o}"""
    name = b.fresh_name()
    b.lines.append(f"""\
    {name}:2 = stablehlo.while(%i = {zero.name}, %p = {rows.name}) : {s}, {o}
     cond {{
      %more = stablehlo.compare LT, %i, {last.name}, {sign} : ({s}, {s}) -> {flag}
      stablehlo.return %more : {flag}
    }} do {{
      %j = stablehlo.dynamic_slice {pivots.name}, {starts}, sizes = {[*lead, 1]} \
: ({", ".join([mlir_type(pivots.aval), *[s] * (n + 1)])}) -> {c}
      %at_i = stablehlo.dynamic_slice %p, {starts}, sizes = {[*lead, 1]} \
: ({", ".join([o, *[s] * (n + 1)])}) -> {c}
{swap}
      %next = stablehlo.add %i, {one.name} : {s}
      stablehlo.return %next, %put_j : {s}, {o}
    }} {b.location}""")
    return [Value(f"{name}#1", out)]


declare(
    lu_pivots_to_permutation_p,
    abstract_eval=matrices.weak_together(_lu_permutation_type),
    lower=_lu_permutation_lower,
    vmap=leading_batch(lu_pivots_to_permutation_p),
    sharding=by_batch(lu_pivots_to_permutation_p, 1),
)


@operation
def solve(a: Any, b: Any) -> Any:
    """The solutions x of `a @ x = b`, for square matrices `a` and matrices `b` of matching rows.

    The derivatives are solutions of such systems with the same decomposition.
    """
    factors, _, permutation = lu(stop_gradient(a))
    return stage2.bind1(lu_solve_p, a, factors, permutation, b, transposed=False)


def _solve_by_factors(
    a: Any, factors: Any, permutation: Any, b: Any, *, transposed: bool
) -> list[Any]:
    upper = {"left_side": True, "transpose_a": transposed}
    lower = upper | {"lower": True, "unit_diagonal": True}
    if not transposed:
        x = triangular_solve(factors, matrices.permute_rows(b, permutation), **lower)
        return [triangular_solve(factors, x, **upper)]
    x = triangular_solve(factors, triangular_solve(factors, b, **upper), **lower)
    return [matrices.permute_rows(x, matrices.inverse_permutation(permutation))]


def _lu_solve_type(
    a: ShapedArray,
    factors: ShapedArray,
    permutation: ShapedArray,
    b: ShapedArray,
    *,
    transposed: bool,
) -> list[ShapedArray]:
    matrices.check_matrices("solve", a, square=True)
    if a.dtype != b.dtype or a.shape[:-1] != b.shape[:-1]:
        raise TypeError(f"solve: the right-hand sides {b} do not fit the matrices {a}")
    return [b]


def _lu_solve_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, transposed: bool
) -> tuple[list[Any], list[Any]]:
    """`a x' = b' - a' x`: one system for both changes, and so in reverse.

    The factors are a means: the derivative is that of the solution.
    """
    *matrix, _ = primals
    x = stage2.bind1(lu_solve_p, *primals, transposed=transposed)
    t, *_, change = tangents
    if type(t) is not stage2.Zero:
        change = minus(change, matrices.matmul(matrices.mT(t) if transposed else t, x))
    if type(change) is not stage2.Zero:
        change = stage2.bind1(lu_solve_p, *matrix, change, transposed=transposed)
    return [x], [change]


def _lu_solve_transpose(
    ct: Any, a: Any, factors: Any, permutation: Any, b: UndefPrimal, *, transposed: bool
) -> Any:
    return stage2.bind1(lu_solve_p, a, factors, permutation, ct, transposed=not transposed)


declare(
    lu_solve_p,
    abstract_eval=matrices.weak_together(_lu_solve_type),
    lower=lower_by(_solve_by_factors),
    vmap=leading_batch(lu_solve_p),
    sharding=by_batch(lu_solve_p, 2, 2, 1, 2),
    jvp=_lu_solve_jvp,
    transpose=(None, None, None, _lu_solve_transpose),
)


# The QR decomposition, by Householder's reflections.


geqrf_p = Primitive("geqrf")
geqp3_p = Primitive("geqp3")
householder_product_p = Primitive("householder_product")
qr_p = Primitive("qr")

Avals = Sequence[ShapedArray]


@operation(kinds="fc", static=("pivoting", "full_matrices", "use_magma"))
def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Any, ...]:
    """The decomposition of matrices `x` into `q @ r`: orthonormal columns, and an upper triangle.

    Arguments:
        x: the matrices.
        pivoting: whether to permute columns of `x` so that the diagonal of `r` decreases.
        full_matrices: whether `q` is square, instead of having the minimal number of columns.
        use_magma: ignored on a CPU.

    Returns:
        `q`, `r`, and with `pivoting` the permutation of the columns.

    >>> a = jnp.array([[3.0, 1.0], [4.0, 2.0]])
    >>> q, r = lax.linalg.qr(a, full_matrices=False)
    >>> bool(jnp.allclose(q @ r, a, atol=1e-5))
    True
    """
    x = matrices.matrices_of("qr", x)
    if not pivoting:
        q, r = bind(qr_p, x, full_matrices=full_matrices)
        return q, r
    packed, pivots, taus = bind(geqp3_p, x)
    q, r = _unpacked(packed, taus, full_matrices)
    return q, r, stage2.sub(pivots, np.ones((), np.int32))


@operation(kinds="fc")
def geqrf(a: Any) -> tuple[Any, Any]:
    """The reflections that reduce `a` to an upper triangle, stored below it, and their factors.

    >>> a = jnp.array([[3.0, 1.0], [4.0, 2.0]])
    >>> reflections, taus = lax.linalg.geqrf(a)
    >>> q = lax.linalg.householder_product(reflections, taus)
    >>> bool(jnp.allclose(q @ jnp.triu(reflections), a, atol=1e-5))
    True
    """
    packed, taus = bind(geqrf_p, matrices.matrices_of("geqrf", a))
    return packed, taus


@operation
def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The product of the reflections given by the columns of `a` and the factors `taus`.

    >>> reflections, taus = lax.linalg.geqrf(jnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> q = lax.linalg.householder_product(reflections, taus)
    >>> bool(jnp.allclose(q.T @ q, jnp.eye(2), atol=1e-5))
    True
    """
    return stage2.bind1(householder_product_p, a, taus)


def _unpacked(packed: Any, taus: Any, full_matrices: bool) -> tuple[Any, Any]:
    """Both factors, from the reflections in the one matrix that LAPACK returns."""
    *lead, m, n = typeof(packed).shape
    k = min_size(m, n)
    columns = m if full_matrices else k
    zeros = [0] * len(lead)
    wide = packed
    if not surely_at_least(n, columns):
        config = [*[(0, 0, 0)] * (len(lead) + 1), (0, max_size(columns - n, 0), 0)]
        wide = pad(wide, full((), 0, typeof(packed).dtype), config)
    if not surely_at_least(columns, typeof(wide).shape[-1]):
        wide = slice(wide, [*zeros, 0, 0], [*lead, m, columns])
    q = stage2.bind1(householder_product_p, wide, taus)
    r = matrices.triu(slice(packed, [*zeros, 0, 0], [*lead, columns, n]))
    return q, r


def _taus_type(x: ShapedArray) -> ShapedArray:
    *lead, m, n = x.shape
    return ShapedArray((*lead, min_size(m, n)), x.dtype)


def _geqrf_type(x: ShapedArray) -> list[ShapedArray]:
    matrices.check_matrices("qr", x)
    return [x, _taus_type(x)]


def _geqrf_lower(b: FunctionBuilder, out_avals: Avals, x: Value) -> list[Value]:
    return routines.call_routine(
        b,
        "geqrf",
        [x],
        out_avals,
        x.aval.ndim - 2,
        in_place={0: 0},
        cpu=routines.routine("geqrf", x),
        cuda=Routine("cusolver_geqrf_ffi"),
    )


declare(
    geqrf_p,
    abstract_eval=matrices.weak_together(_geqrf_type),
    lower=_geqrf_lower,
    vmap=leading_batch(geqrf_p),
    sharding=by_batch(geqrf_p, 2),
    jvp=lambda primals, tangents: _no_derivative("geqrf"),
)


def _geqp3_type(x: ShapedArray) -> list[ShapedArray]:
    matrices.check_matrices("qr", x)
    pivots = ShapedArray((*x.shape[:-2], x.shape[-1]), np.int32)
    return [x, pivots, _taus_type(x)]


def _geqp3_lower(b: FunctionBuilder, out_avals: Avals, x: Value) -> list[Value]:
    free = b.constant(0, out_avals[1])  # every column may be pivoted
    return routines.call_routine(
        b,
        "qr with pivoting",
        [x, free],
        out_avals,
        x.aval.ndim - 2,
        in_place={0: 0, 1: 1},
        cpu=routines.routine("geqp3", x),
        cuda=Routine("cuhybrid_geqp3", {"magma": "auto"}),
    )


declare(
    geqp3_p,
    abstract_eval=matrices.weak_together(_geqp3_type),
    lower=_geqp3_lower,
    vmap=leading_batch(geqp3_p),
    sharding=by_batch(geqp3_p, 2),
    jvp=lambda primals, tangents: _no_derivative("qr with pivoting"),
)


def _householder_product_type(a: ShapedArray, taus: ShapedArray) -> list[ShapedArray]:
    matrices.check_matrices("householder_product", a)
    *lead, m, n = a.shape
    if (
        surely_less(m, n)
        or not taus.ndim
        or taus.shape[:-1] != tuple(lead)
        or surely_less(n, taus.shape[-1])
        or taus.dtype != a.dtype
    ):
        raise ValueError(f"householder_product: matrices {a} and factors {taus} do not fit")
    return [a]


def _householder_product_lower(
    b: FunctionBuilder, out_avals: Avals, a: Value, taus: Value
) -> list[Value]:
    return routines.call_routine(
        b,
        "householder_product",
        [a, taus],
        out_avals,
        a.aval.ndim - 2,
        in_place={0: 0},
        cpu=routines.routine(("orgqr", "ungqr"), a),
        cuda=Routine("cusolver_orgqr_ffi"),
    )


declare(
    householder_product_p,
    abstract_eval=matrices.weak_together(_householder_product_type),
    lower=_householder_product_lower,
    vmap=leading_batch(householder_product_p),
    sharding=by_batch(householder_product_p, 2, 1),
    jvp=lambda primals, tangents: _no_derivative("householder_product"),
)


def _no_derivative(name: str) -> Any:
    raise NotImplementedError(f"{name} has no derivative; qr without pivoting has one")


def _factors(x: Any, *, full_matrices: bool) -> list[Any]:
    packed, taus = bind(geqrf_p, x)
    return list(_unpacked(packed, taus, full_matrices))


def _qr_type(x: ShapedArray, *, full_matrices: bool) -> list[ShapedArray]:
    matrices.check_matrices("qr", x)
    *lead, m, n = x.shape
    k = m if full_matrices else min_size(m, n)
    return [ShapedArray((*lead, m, k), x.dtype), ShapedArray((*lead, k, n), x.dtype)]


def _qr_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, full_matrices: bool
) -> tuple[list[Any], list[Any]]:
    """The derivative of as many columns as `q` has; others are `q` times columns of `r`."""
    (x,), t = primals, instantiate(tangents[0])
    m, n = typeof(x).shape[-2:]
    q, r = bind(qr_p, x, full_matrices=full_matrices)
    k = min_size(m, n)
    thin, square = _columns(q, 0, k), _columns(_slice_rows(r, 0, k), 0, k)
    thin_dot, square_dot = _thin_qr_jvp(thin, square, _columns(t, 0, k))
    if m < n:
        products = (
            matrices.matmul(matrices.mH(thin_dot), _columns(x, k, n)),
            matrices.matmul(matrices.mH(thin), _columns(t, k, n)),
        )
        return [q, r], [thin_dot, _beside(square_dot, stage2.add(*products))]
    if full_matrices and m > n:
        below = full(typeof(_slice_rows(r, k, m)).shape, 0, typeof(r).dtype)
        others = _complement_jvp(thin, thin_dot)
        return [q, r], [_beside(thin_dot, others), _above(square_dot, below)]
    return [q, r], [thin_dot, square_dot]


def _thin_qr_jvp(q: Any, r: Any, t: Any) -> tuple[Any, Any]:
    """`q^H dq` is antisymmetric, `dr` an upper triangle: so `q^H t r^-1` is split."""
    by_r = triangular_solve(r, t)
    both = matrices.matmul(matrices.mH(q), by_r)
    below = matrices.tril(both, -1)
    rotation = below - matrices.mH(below)
    if matrices.is_complex(q):  # the diagonal of `r` stays real
        imaginary = both - convert_element_type(matrices.real_part(both), typeof(both).dtype)
        rotation = rotation + matrices.eye_like(both) * imaginary
    change = both - rotation
    return by_r - matrices.matmul(q, change), matrices.matmul(change, r)


def _complement_jvp(q: Any, q_dot: Any) -> Any:
    """The derivative of the other columns, which the reflections of `q` determine.

    With unit columns `e`, the product of the reflections is `e - v t v^H`, of `v` a lower
    trapezoid; so the others are `e + (q - e_q) share^H`, where `share` times the upper rows of
    `q - e_q` are its lower ones.
    """
    m, n = typeof(q).shape[-2:]
    upper, lower = (
        _slice_rows(q, 0, n) - matrices.eye_like(_slice_rows(q, 0, n)),
        _slice_rows(q, n, m),
    )
    apart = _above(upper, lower)
    share = matrices.mH(solve(matrices.mH(upper), matrices.mH(lower)))
    rest = _slice_rows(q_dot, n, m) - matrices.matmul(share, _slice_rows(q_dot, 0, n))
    share_dot = matrices.mH(solve(matrices.mH(upper), matrices.mH(rest)))
    return matrices.matmul(q_dot, matrices.mH(share)) + matrices.matmul(
        apart, matrices.mH(share_dot)
    )


def _beside(x: Any, y: Any) -> Any:
    return concatenate([x, y], typeof(x).ndim - 1)


def _above(x: Any, y: Any) -> Any:
    return concatenate([x, y], typeof(x).ndim - 2)


def _slice_rows(x: Any, start: int, stop: int) -> Any:
    *lead, _, n = typeof(x).shape
    return slice(x, [*[0] * len(lead), start, 0], [*lead, stop, n])


def _columns(x: Any, start: int, stop: int) -> Any:
    *lead, m, _ = typeof(x).shape
    return slice(x, [*[0] * len(lead), 0, start], [*lead, m, stop])


declare(
    qr_p,
    abstract_eval=matrices.weak_together(_qr_type),
    lower=lower_by(_factors),
    vmap=leading_batch(qr_p),
    sharding=by_batch(qr_p, 2),
    jvp=_qr_jvp,
)


# Reductions of matrices by Householder reflections, and products with these in factored form.


hessenberg_p = Primitive("hessenberg")
tridiagonal_p = Primitive("tridiagonal")
ormqr_p = Primitive("ormqr")


def _householder_no_derivative(name: str) -> Rule:
    def householder_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        raise NotImplementedError(f"{name} has no derivative")

    return householder_jvp


@operation(kinds="fc")
def hessenberg(a: ArrayLike) -> tuple[Array, Array]:
    """The Hessenberg form of square matrices: zeros below the first subdiagonal.

    Arguments:
        a: the matrices, at least 1 by 1.

    Returns:
        Matrices with that form in their upper triangle and first subdiagonal, and the reflections
        below; and the factors of these.

    Raises:
        ValueError: the matrices are not square, or empty.

    >>> a = jnp.arange(9.0).reshape(3, 3)
    >>> reflections, taus = lax.linalg.hessenberg(a)
    >>> reflections.shape, taus.shape
    ((3, 3), (2,))
    """
    packed, taus = bind(hessenberg_p, matrices.matrices_of("hessenberg", a, square=True))
    return packed, taus


def _check_reducible(name: str, a: ShapedArray) -> None:
    matrices.check_matrices(name, a, square=True)
    if not a.shape[-1]:
        raise ValueError(f"{name}: takes matrices of at least one row, found {a}")


def _hessenberg_type(a: ShapedArray) -> list[ShapedArray]:
    _check_reducible("hessenberg", a)
    return [a, ShapedArray((*a.shape[:-2], a.shape[-1] - 1), a.dtype)]


def _hessenberg_lower(b: FunctionBuilder, out_avals: Avals, a: Value) -> list[Value]:
    outs = [*out_avals, routines.info_type(a.aval.shape[:-2])]
    *reduced, failed = routines.call_routine(
        b,
        "hessenberg",
        [a],
        outs,
        a.aval.ndim - 2,
        in_place={0: 0},
        cpu=routines.routine("gehrd", a, low=1, high=a.aval.shape[-1]),
    )
    return routines.nan_unless_done(b, failed, reduced)


declare(
    hessenberg_p,
    abstract_eval=matrices.weak_together(_hessenberg_type),
    lower=_hessenberg_lower,
    vmap=leading_batch(hessenberg_p),
    sharding=by_batch(hessenberg_p, 2),
    jvp=_householder_no_derivative("hessenberg"),
)


@operation(kinds="fc", static="lower")
def tridiagonal(a: ArrayLike, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """The tridiagonal form of symmetric (Hermitian) matrices.

    Arguments:
        a: the matrices, at least 1 by 1.
        lower: whether to read their lower triangle instead of the upper.

    Returns:
        Matrices that hold that form, and the reflections in the rest of the triangle; the diagonal;
        the diagonal next to it; and the factors of the reflections.

    Raises:
        ValueError: the matrices are not square, or empty.

    >>> a = jnp.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]])
    >>> _, diagonal, beside, _ = lax.linalg.tridiagonal(a)
    >>> f"{jnp.sum(diagonal):.2f}", beside.shape
    ('12.00', (2,))
    """
    packed, d, e, taus = bind(
        tridiagonal_p, matrices.matrices_of("tridiagonal", a, True), lower=lower
    )
    return packed, d, e, taus


def _tridiagonal_type(a: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    _check_reducible("tridiagonal", a)
    *lead, n, _ = a.shape
    real = matrices.real_dtype(a.dtype)
    sides = (*lead, n - 1)
    return [a, ShapedArray((*lead, n), real), ShapedArray(sides, real), ShapedArray(sides, a.dtype)]


def _tridiagonal_lower(
    b: FunctionBuilder, out_avals: Avals, a: Value, *, lower: bool
) -> list[Value]:
    outs = [*out_avals, routines.info_type(a.aval.shape[:-2])]
    *reduced, failed = routines.call_routine(
        b,
        "tridiagonal",
        [a],
        outs,
        a.aval.ndim - 2,
        in_place={0: 0},
        cpu=routines.routine(("sytrd", "hetrd"), a, uplo="L" if lower else "U"),
        cuda=Routine("cusolver_sytrd_ffi", {"lower": lower}),
    )
    return routines.nan_unless_done(b, failed, reduced)


declare(
    tridiagonal_p,
    abstract_eval=matrices.weak_together(_tridiagonal_type),
    lower=_tridiagonal_lower,
    vmap=leading_batch(tridiagonal_p),
    sharding=by_batch(tridiagonal_p, 2),
    jvp=_householder_no_derivative("tridiagonal"),
)


@operation(static=("left", "transpose"))
def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """Matrices `c` multiplied by a product of Householder reflections.

    Arguments:
        a, taus: the reflections and their factors, as `geqrf` returns them.
        c: the matrices.
        left: whether to multiply by the reflections from the left.
        transpose: whether to transpose and conjugate their product.

    Raises:
        ValueError: shapes do not match.

    >>> reflections, taus = lax.linalg.geqrf(jnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> q = lax.linalg.ormqr(reflections, taus, jnp.eye(2))
    >>> bool(jnp.allclose(q, lax.linalg.householder_product(reflections, taus), atol=1e-5))
    True
    """
    require_kind("ormqr", "fc", typeof(a))
    common = result_type(*map(typeof, (a, taus, c)))
    a, taus, c = (cast(x, common) for x in (a, taus, c))
    return stage2.bind1(
        ormqr_p, matrices.matrices_of("ormqr", a), taus, c, left=left, transpose=transpose
    )


def _ormqr_type(
    a: ShapedArray, taus: ShapedArray, c: ShapedArray, *, left: bool, transpose: bool
) -> list[ShapedArray]:
    for x in (a, c):
        matrices.check_matrices("ormqr", x)
    if not taus.ndim:
        raise ValueError(f"ormqr: taus must have an axis, found {taus}")
    *lead, m, n = a.shape
    fits = taus.shape[:-1] == tuple(lead) == c.shape[:-2] and taus.shape[-1] <= min_size(m, n)
    if not fits or c.shape[-2 if left else -1] != m:
        raise ValueError(
            f"ormqr: reflections {a} with factors {taus} cannot multiply matrices {c} from the "
            f"{'left' if left else 'right'}"
        )
    return [c]


def _ormqr_lower(
    b: FunctionBuilder,
    out_avals: Avals,
    a: Value,
    taus: Value,
    c: Value,
    *,
    left: bool,
    transpose: bool,
) -> list[Value]:
    flags = {"left": left, "transpose": transpose}
    return routines.call_routine(
        b,
        "ormqr",
        [a, taus, c],
        out_avals,
        a.aval.ndim - 2,
        in_place={2: 0},
        cpu=routines.routine(("ormqr", "unmqr"), a, **flags),
        cuda=Routine("cusolver_ormqr_ffi", flags),
    )


declare(
    ormqr_p,
    abstract_eval=matrices.weak_together(_ormqr_type),
    lower=_ormqr_lower,
    vmap=leading_batch(ormqr_p),
    sharding=by_batch(ormqr_p, 2, 1, 2),
    jvp=_householder_no_derivative("ormqr"),
)
