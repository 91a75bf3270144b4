"""The LU decomposition with partial pivoting, and the functions computed with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import minijax.primitives.lapack as lapack
import minijax.primitives.routines as routines
import minijax_stage2 as stage2
from minijax.lax.indexing.slice_pad_concatenate import pad, slice
from minijax.lax.linalg.matrices import (
    check_matrices,
    eye,
    inverse_permutation,
    matmul,
    matrices_of,
    mT,
    permute_rows,
    tril,
    triu,
    weak_together,
)
from minijax.lax.linalg.triangular_solve import minus, triangular_solve
from minijax.lax.shapes.creation import full
from minijax.lax.stop_gradient import stop_gradient
from minijax.primitives.declare import declare
from minijax.primitives.decomposition import leading_batch, lower_by
from minijax.primitives.routines import Routine
from minijax.primitives.sharding_rules import by_batch
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.lowering import platform_of
from minijax.runtime.operation import operation
from minijax_stage2 import Primitive, ShapedArray, Zero, bind, bind1, typeof
from minijax_stage2.tangent import instantiate
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type
from minijax_stage4 import UndefPrimal

lu_p = Primitive("lu")
lu_pivots_to_permutation_p = Primitive("lu_pivots_to_permutation")
lu_solve_p = Primitive("lu_solve")


@operation
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
    x = matrices_of("lu", x)
    factors, pivots = bind(lu_p, x)
    return factors, pivots, lu_pivots_to_permutation(pivots, typeof(x).shape[-2])


def _types_of_lu(x: ShapedArray) -> list[ShapedArray]:
    check_matrices("lu", x)
    *lead, m, n = x.shape
    return [x, ShapedArray((*lead, min(m, n)), np.int32)]


def _lower_lu(b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value) -> list[Value]:
    batch = x.aval.ndim - 2
    info = routines.info_type(x.aval.shape[:-2])
    factors, pivots, failed = routines.call(
        b,
        "lu",
        [x],
        [*out_avals, info],
        batch,
        in_place={0: 0},
        cpu=lapack.routine("getrf", x),
        cuda=Routine("cusolver_getrf_ffi"),
    )
    one = b.constant(1, pivots.aval)  # LAPACK counts from 1
    (pivots,) = b.emit(
        f"stablehlo.subtract {pivots.name}, {one.name} : {mlir_type(pivots.aval)}", pivots.aval
    )
    zero = b.constant(0, failed.aval)  # a positive number says that a matrix is singular
    (failed,) = b.emit(
        f"stablehlo.minimum {failed.name}, {zero.name} : {mlir_type(info)}", failed.aval
    )
    return [*routines.nan_unless_done(b, failed, [factors]), pivots]


def _jvp_lu(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Jvp rule: the lower triangle of `l^-1 t u^-1` is the change of `l`, the upper that of `u`."""
    factors, pivots = bind(lu_p, *primals)
    m = typeof(factors).shape[-2]
    t = permute_rows(instantiate(tangents[0]), lu_pivots_to_permutation(pivots, m))
    lower, upper = square_factors(factors)
    both = triangular_solve(lower, t, left_side=True, lower=True, unit_diagonal=True)
    both = triangular_solve(upper, both)
    change = stage2.add(matmul(lower, tril(both, -1)), matmul(triu(both), upper))
    return [factors, pivots], [change, Zero.like(pivots)]


def square_factors(factors: Any) -> tuple[Any, Any]:
    """`l` and `u`, each extended to a square with columns and rows of a unit matrix."""
    *lead, m, n = typeof(factors).shape
    k = min(m, n)
    zeros = [0] * len(lead)
    lower = tril(slice(factors, [*zeros, 0, 0], [*lead, m, k]), -1)
    upper = triu(slice(factors, [*zeros, 0, 0], [*lead, k, n]))
    dtype = typeof(factors).dtype
    config = [(0, 0, 0)] * len(lead)
    nothing = full((), 0, dtype)
    lower = pad(lower, nothing, [*config, (0, 0, 0), (0, m - k, 0)])
    upper = pad(upper, nothing, [*config, (0, n - k, 0), (0, 0, 0)])
    lower = stage2.add(lower, eye((*lead, m, m), dtype))
    if n > k:
        rest = stage2.sub(eye((*lead, n, n), dtype), _leading_eye([*lead, n, n], k, dtype))
        upper = stage2.add(upper, rest)
    return lower, upper


def _leading_eye(shape: Sequence[int], k: int, dtype: Any) -> Any:
    """Unit matrices of size `k`, with zeros after them."""
    *lead, n, _ = shape
    config = [(0, 0, 0)] * len(lead) + [(0, n - k, 0)] * 2
    return pad(eye((*lead, k, k), dtype), full((), 0, dtype), config)


declare(
    lu_p,
    abstract_eval=weak_together(_types_of_lu),
    lower=_lower_lu,
    vmap=leading_batch(lu_p),
    sharding=by_batch(lu_p, 2),
    jvp=_jvp_lu,
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
    return bind1(lu_pivots_to_permutation_p, pivots, permutation_size=permutation_size)


def _type_of_permutation(pivots: ShapedArray, *, permutation_size: int) -> list[ShapedArray]:
    if pivots.ndim < 1 or pivots.dtype.kind not in "iu":
        raise TypeError(f"lu_pivots_to_permutation: expected arrays of ints, found {pivots}")
    if pivots.shape[-1] > permutation_size:
        raise ValueError(
            f"lu_pivots_to_permutation: found {pivots}; it takes at most permutation_size "
            f"({permutation_size}) ints along the last axis"
        )
    return [ShapedArray((*pivots.shape[:-1], permutation_size), pivots.dtype)]


def _lower_permutation(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    pivots: Value,
    *,
    permutation_size: int,
) -> list[Value]:
    """A loop over the row swaps, each for all examples at once; a kernel on a GPU.

    The swaps of examples are masks, for each has its own; those of one matrix are slices.
    """
    (out,) = out_avals
    *lead, count = pivots.aval.shape
    if platform_of(b) == "cuda" and out.dtype == np.int32:
        kernel = Routine("cu_lu_pivots_to_permutation")
        name = "lu_pivots_to_permutation"
        return routines.call(b, name, [pivots], out_avals, len(lead), cuda=kernel)
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
    spread = f"dims = {list(range(n + 1))} : ({c}) -> {o}"
    if lead:
        swap = f"""\
      %is = stablehlo.broadcast_in_dim %i, dims = [] : ({s}) -> {o}
      %js = stablehlo.broadcast_in_dim %j, {spread}
      %is_i = stablehlo.compare EQ, {rows.name}, %is, {sign} : ({o}, {o}) -> {m}
      %is_j = stablehlo.compare EQ, {rows.name}, %js, {sign} : ({o}, {o}) -> {m}
      %zeros = stablehlo.constant dense<0> : {o}
      %only_j = stablehlo.select %is_j, %p, %zeros : {m}, {o}
      %sum = stablehlo.reduce(%only_j init: {zero.name}) applies stablehlo.add \
across dimensions = [{n}] : ({o}, {s}) -> {mlir_type(ShapedArray(tuple(lead), dtype))}
      %at_j = stablehlo.broadcast_in_dim %sum, dims = {list(range(n))} \
: ({mlir_type(ShapedArray(tuple(lead), dtype))}) -> {o}
      %at_is = stablehlo.broadcast_in_dim %at_i, {spread}
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
    abstract_eval=weak_together(_type_of_permutation),
    lower=_lower_permutation,
    vmap=leading_batch(lu_pivots_to_permutation_p),
    sharding=by_batch(lu_pivots_to_permutation_p, 1),
)


@operation
def solve(a: Any, b: Any) -> Any:
    """The solutions x of `a @ x = b`, for square matrices `a` and matrices `b` of matching rows.

    The derivatives are solutions of such systems with the same decomposition.
    """
    factors, _, permutation = lu(stop_gradient(a))
    return bind1(lu_solve_p, a, factors, permutation, b, transposed=False)


def _solve_by_factors(
    a: Any, factors: Any, permutation: Any, b: Any, *, transposed: bool
) -> list[Any]:
    upper = {"left_side": True, "transpose_a": transposed}
    lower = upper | {"lower": True, "unit_diagonal": True}
    if not transposed:
        x = triangular_solve(factors, permute_rows(b, permutation), **lower)
        return [triangular_solve(factors, x, **upper)]
    x = triangular_solve(factors, triangular_solve(factors, b, **upper), **lower)
    return [permute_rows(x, inverse_permutation(permutation))]


def _type_of_solution(
    a: ShapedArray,
    factors: ShapedArray,
    permutation: ShapedArray,
    b: ShapedArray,
    *,
    transposed: bool,
) -> list[ShapedArray]:
    check_matrices("solve", a, square=True)
    if a.dtype != b.dtype or a.shape[:-1] != b.shape[:-1]:
        raise TypeError(f"solve: the right-hand sides {b} do not fit the matrices {a}")
    return [b]


def _jvp_solve(
    primals: Sequence[Any], tangents: Sequence[Any], *, transposed: bool
) -> tuple[list[Any], list[Any]]:
    """`a x' = b' - a' x`: one system for both changes, and so in reverse.

    The factors are a means: the derivative is that of the solution.
    """
    *matrix, _ = primals
    x = bind1(lu_solve_p, *primals, transposed=transposed)
    t, *_, change = tangents
    if type(t) is not Zero:
        change = minus(change, matmul(mT(t) if transposed else t, x))
    if type(change) is not Zero:
        change = bind1(lu_solve_p, *matrix, change, transposed=transposed)
    return [x], [change]


def _transpose_in_sides(
    ct: Any, a: Any, factors: Any, permutation: Any, b: UndefPrimal, *, transposed: bool
) -> Any:
    return bind1(lu_solve_p, a, factors, permutation, ct, transposed=not transposed)


declare(
    lu_solve_p,
    abstract_eval=weak_together(_type_of_solution),
    lower=lower_by(_solve_by_factors),
    vmap=leading_batch(lu_solve_p),
    sharding=by_batch(lu_solve_p, 2, 2, 1, 2),
    jvp=_jvp_solve,
    transpose=(None, None, None, _transpose_in_sides),
)

__all__ = [
    "lu",
    "lu_pivots_to_permutation",
]
