"""Linear systems, inverses and determinants.

`overwrite_a` and the like, and `check_finite`, make no difference: Arrays are immutable, and input
that is not finite gives NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minijax.numpy as jnp
from minijax.errors.tracebacks import hiding_frames
from minijax.lax import promoting as lax
from minijax.lax.linalg import promoting as linalg
from minijax.lax.linalg.matrices import (
    inverse_permutation,
    matrices_of,
    permute_rows,
)
from minijax.numpy.products import meet
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.scipy.linalg.decompositions import cholesky
from minijax.settings.promotion import weak_if_all_are
from minijax.settings.public_names import set_all
from minijax_stage2 import typeof
from minijax_stage2.errors import shown
from minijax_stage2.promotion import to_inexact


@hiding_frames
def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """The triangle of `cholesky` and `lower`, for `cho_solve`.

    >>> a = jnp.array([[4.0, 2.0], [2.0, 5.0]])
    >>> factor = minijax.scipy.linalg.cho_factor(a)
    >>> minijax.scipy.linalg.cho_solve(factor, jnp.array([8.0, 12.0])).round(3)
    Array([1., 2.], dtype=float32)
    """
    return cholesky(a, lower), lower


def _solved(caller: str, solve: Callable[..., Any], signature: str, *operands: Any) -> Any:
    """Apply `solve` to batches of matrices, their companions, and vectors or matrices.

    Right-hand sides with one axis less than the matrices are vectors, if their lengths match.

    Arguments:
        caller: the function that an error names.
        solve: function from one of each operand to the solution.
        signature: of the operands before the right-hand sides, as for `jnp.vectorize`.
        operands: the matrices first, the right-hand sides last.
    """
    a, b = typeof(operands[0]), typeof(operands[-1])
    if a.ndim < 2 or not b.ndim:
        raise ValueError(f"{caller}: expected a matrix and a vector or matrix, found {a} and {b}")
    n = a.shape[-1]
    is_vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape[-1] == n)
    if b.shape[-1 if is_vector else -2 :][:1] != (n,):
        raise ValueError(
            f"{caller}: the right-hand sides {b} must have {n} rows, as many as the matrices {a}"
        )
    of_b = "(n)" if is_vector else "(n,k)"
    return jnp.vectorize(solve, signature=f"{signature},{of_b}->{of_b}")(*operands)


@operation(static="lower")
def _cho_solve(c: Any, b: Any, lower: bool) -> Any:
    first = {"left_side": True, "lower": lower}
    back = {"transpose_a": True, "conjugate_a": True}

    def solve(c: Any, b: Any) -> Any:
        x = linalg.triangular_solve(c, b, **first, **({} if lower else back))
        return linalg.triangular_solve(c, x, **first, **(back if lower else {}))

    return _solved("cho_solve", solve, "(n,n)", *(to_inexact(x) for x in meet(c, b)))


def _pair(role: str, source: str, given: Any) -> tuple[Any, Any]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise TypeError(f"{role} must be a pair, as {source} returns it, found {shown(given)}")
    return given[0], given[1]


@hiding_frames
def cho_solve(
    c_and_lower: tuple[Any, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solutions x of `a @ x = b`, from `cho_factor(a)`.

    >>> factor = minijax.scipy.linalg.cho_factor(4.0 * jnp.eye(2), lower=True)
    >>> minijax.scipy.linalg.cho_solve(factor, jnp.array([8.0, 12.0]))
    Array([2., 3.], dtype=float32)
    """
    c, lower = _pair("cho_solve: c_and_lower", "cho_factor", c_and_lower)
    return _cho_solve(c, b, bool(lower))


@operation(static=("trans", "lower", "unit_diagonal", "overwrite_b", "debug", "check_finite"))
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Array:
    """The solutions x of `a @ x = b` for triangular matrices `a`.

    Arguments:
        a: the matrices, of which only one triangle is read.
        b: vectors, or matrices whose columns are right-hand sides.
        trans: 0 or "N"; 1 or "T" for the transpose of `a`; 2 or "C" for the conjugate transpose.
        lower: whether the triangle is the lower one.
        unit_diagonal: whether to assume that the diagonal of `a` is ones.

    Raises:
        ValueError: there is no such `trans`, or `a` and `b` differ in their numbers of rows.

    >>> a, b = jnp.array([[2.0, 0.0], [1.0, 4.0]]), jnp.array([2.0, 9.0])
    >>> minijax.scipy.linalg.solve_triangular(a, b, lower=True)
    Array([1., 2.], dtype=float32)
    """
    op = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}.get(trans)
    if op is None:
        raise ValueError(f"solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C', found {trans}")

    def solve(a: Any, b: Any) -> Any:
        return linalg.triangular_solve(
            a,
            b,
            left_side=True,
            lower=lower,
            transpose_a=op > 0,
            conjugate_a=op == 2,
            unit_diagonal=unit_diagonal,
        )

    return _solved("solve_triangular", solve, "(n,n)", *(to_inexact(x) for x in meet(a, b)))


@operation(static=("lower", "overwrite_a", "overwrite_b", "debug", "check_finite", "assume_a"))
def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """The solutions x of `a @ x = b`; `assume_a` is "gen", "sym", "her" or "pos".

    With "pos", only one triangle of `a` is read: the upper one, or the lower one with `lower`.

    >>> minijax.scipy.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f"solve: assume_a must be gen, sym, her or pos, found {assume_a!r}")
    if assume_a != "pos":
        return jnp.linalg.solve(a, b)
    a, b = meet(a, b)
    x = _solve_positive(matrices_of("solve", a, square=True), b, lower)
    return weak_if_all_are(x, a, b)


def _solve_positive(a: Any, b: Any, lower: bool) -> Any:
    """A solution from one triangle of `a`; derivatives are solutions with the same matrix."""
    a, b = (to_inexact(x) for x in meet(a, b))

    def solve(a: Any, factor: Any, b: Any) -> Any:
        return lax.custom_linear_solve(
            lambda x: jnp.matmul(a, x),
            b,
            lambda _, y: cho_solve((factor, lower), y),
            lambda _, y: jnp.conj(cho_solve((factor, lower), jnp.conj(y))),
        )

    factor = cholesky(lax.stop_gradient(a), lower)
    return _solved("solve", solve, "(n,n),(n,n)", a, factor, b)


@operation(static=("overwrite_a", "check_finite"))
def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """The factors in one matrix, and the exchanged rows, for `lu_solve`.

    >>> a = jnp.array([[2.0, 0.0], [0.0, 4.0]])
    >>> factors, pivots = minijax.scipy.linalg.lu_factor(a)
    >>> factors, pivots
    (Array([[2., 0.],
           [0., 4.]], dtype=float32), Array([0, 1], dtype=int32))
    """
    factors, pivots, _ = linalg.lu(a)
    return factors, pivots


@operation(static=("trans", "overwrite_b", "check_finite"))
def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solutions x of `a @ x = b`, from `lu_factor(a)`; `trans` as in `solve_triangular`.

    >>> factors = minijax.scipy.linalg.lu_factor(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    >>> minijax.scipy.linalg.lu_solve(factors, jnp.array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    """
    factors, pivots = _pair("lu_solve: lu_and_piv", "lu_factor", lu_and_piv)
    if typeof(factors).ndim < 2 or not typeof(pivots).ndim:
        raise ValueError(
            f"lu_solve: lu_and_piv must be matrices and rows, as lu_factor returns them, found "
            f"{typeof(factors)} and {typeof(pivots)}"
        )
    factors, b = (to_inexact(x) for x in meet(factors, b))
    permutation = linalg.lu_pivots_to_permutation(pivots, typeof(factors).shape[-1])

    def solve(factors: Any, permutation: Any, x: Any) -> Any:
        is_vector = typeof(x).ndim == 1
        x = lax.expand_dims(x, [1]) if is_vector else x
        if trans == 0:
            x = solve_triangular(factors, permute_rows(x, permutation), 0, True, True)
            x = solve_triangular(factors, x)
        else:
            x = solve_triangular(factors, x, trans)
            x = solve_triangular(factors, x, trans, True, True)
            x = permute_rows(x, inverse_permutation(permutation))
        return lax.squeeze(x, [1]) if is_vector else x

    return _solved("lu_solve", solve, "(n,n),(n)", factors, permutation, b)


@operation(static=("overwrite_a", "check_finite"))
def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverse of square matrices.

    >>> minijax.scipy.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return jnp.linalg.inv(a)


@operation(static=("overwrite_a", "check_finite"))
def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinants of square matrices.

    >>> f"{minijax.scipy.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]])):.2f}"
    '-2.00'
    """
    return jnp.linalg.det(a)


set_all(globals())
