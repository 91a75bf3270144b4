"""JAX's programs of functions of linear algebra."""

from functools import partial
from typing import Any

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.lax.control_flow.solves import solve_by_parts, stage_part
from glassjax.lax.linalg import matrices
from glassjax.runtime.operation import operation
from glassjax.transforms.custom_derivatives import custom_jvp
from glassjax.transforms.vmap import vmap
from glassjax.tree_util import tree_structure, treedef_tuple


@operation(static="trans")
def _lu_solve(factors: Any, permutation: Any, b: Any, trans: int) -> Any:
    """The solution of `a @ x = b` for a vector, from the factors of `a` or of its transpose."""
    triangles: tuple[dict[str, bool], ...] = ({"lower": True, "unit_diagonal": True}, {})
    x = jnp.expand_dims(b, 1)
    if not trans:
        x = x[permutation]
    for triangle in reversed(triangles) if trans else triangles:
        x = lax.linalg.triangular_solve(
            factors, x, left_side=True, transpose_a=bool(trans), **triangle
        )
    if trans:
        rows = lax.iota(permutation.dtype, permutation.size)
        x = x[lax.sort_key_val(permutation, rows)[1]]
    return lax.squeeze(x, (1,))


def _solutions(a: Any, b: Any) -> Any:
    """The solutions by one decomposition of each matrix, with derivatives by the equation."""
    if a.ndim > 2 or b.ndim > 2:
        columns = "(n)" if b.ndim == 1 else "(n,k)"
        return jnp.vectorize(_solutions, signature=f"(n,n),{columns}->{columns}")(a, b)
    factors, _, permutation = lax.linalg.lu(lax.stop_gradient(a))

    def product(x: Any, y: Any, axes: Any) -> Any:
        return lax.dot_general(x, y, (axes, ((), ())), precision="highest")

    functions = (
        lambda x: product(a, x, ([1], [0])),
        lambda x: lax.reduce_sum(product(x, a, ([0], [0])), ()),
        lambda b: _lu_solve(factors, permutation, b, 0),
        lambda b: _lu_solve(factors, permutation, b, 1),
    )
    vector = treedef_tuple([tree_structure(0)])

    def solution(b: Any) -> Any:
        return solve_by_parts([stage_part("solve", f, [b.aval], vector) for f in functions], [b])[0]

    return solution(b) if b.ndim == 1 else vmap(solution, 1, 1)(b)


@custom_jvp
def _slogdet_lu(a: Any) -> tuple[Any, Any]:
    """The sign and the logarithm of the absolute value of a determinant, from its factors."""
    factors, pivots, _ = lax.linalg.lu(a)
    diagonal = jnp.diagonal(factors, axis1=-2, axis2=-1)
    is_zero = jnp.any(diagonal == 0, axis=-1)
    swaps = jnp.count_nonzero(pivots != jnp.arange(a.shape[-1], dtype=pivots.dtype), axis=-1)
    if matrices.is_complex(a):
        sign = jnp.prod(diagonal / jnp.abs(diagonal).astype(a.dtype), axis=-1)
    else:
        sign = a.dtype.type(1)
        swaps = swaps + jnp.count_nonzero(diagonal < 0, axis=-1)
    sign = sign * jnp.array(-2 * (swaps % 2) + 1).astype(a.dtype)
    sign = jnp.where(is_zero, a.dtype.type(0), sign)
    log = jnp.sum(jnp.log(jnp.abs(diagonal)), axis=-1)
    return sign, jnp.where(is_zero, log.dtype.type(-np.inf), log)


@_slogdet_lu.defjvp
def _slogdet_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    sign, log = jnp.linalg.slogdet(*primals)
    change = jnp.trace(jnp.linalg.solve(*primals, *tangents), axis1=-1, axis2=-2)
    if not matrices.is_complex(sign):
        return (sign, log), (jnp.zeros_like(sign), change)
    return (sign, log), (sign * 1j * jnp.imag(change), jnp.real(change))


def _slogdet(a: Any) -> tuple[Any, Any]:
    """One decomposition and its derivative by a linear system."""
    return _slogdet_lu(a)


@custom_jvp
def _det_lu(a: Any) -> Any:
    """A determinant, for 3 x 3 matrices by elimination with the largest pivots."""
    if a.shape[-1] != 3:
        sign, log = jnp.linalg.slogdet(a)
        return sign * jnp.exp(log)

    def larger_first(x: Any, y: Any, i: int, sign: Any) -> tuple[Any, Any, Any]:
        swap = jnp.abs(y[i]) > jnp.abs(x[i])
        larger, smaller = jnp.where(swap[None], y, x), jnp.where(swap[None], x, y)
        return larger, smaller, jnp.where(swap, -sign, sign)

    def shares(i: int, x: Any, *rows: Any) -> list[Any]:
        pivot = jnp.where(x[i] == 0, 1, x[i])
        return [jnp.where(x[i] == 0, 0, row[i] / pivot) for row in rows]

    swap = jnp.abs(a[1, 0]) > jnp.abs(a[0, 0])
    x, y = jnp.where(swap[None], a[1], a[0]), jnp.where(swap[None], a[0], a[1])
    x, z, sign = larger_first(x, a[2], 0, jnp.where(swap, -1, 1))
    share_y, share_z = shares(0, x, y, z)
    y, z, sign = larger_first(y - share_y[None] * x, z - share_z[None] * x, 1, sign)
    (share_z,) = shares(1, y, z)
    last = z[2] - share_z * y[2]
    return sign * x[0] * y[1] * last


@_det_lu.defjvp
def _det_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The trace of the cofactors times the change, by factors whose last pivot is replaced."""
    (a,), (change,) = primals, tangents
    n = a.shape[-1]
    factors, pivots, permutation = lax.linalg.lu(a)
    diagonal = jnp.diagonal(factors, axis1=-2, axis2=-1)
    swaps = jnp.count_nonzero(pivots != jnp.arange(n, dtype=pivots.dtype), axis=-1)
    sign = (-2 * (swaps % 2) + 1).astype(a.dtype)
    minors = jnp.cumprod(diagonal, axis=-1) * sign[None]
    factors = factors.at[-1, -1].set(1 / minors[-2])
    upper = partial(lax.linalg.triangular_solve, factors, left_side=True)
    lax.iota("int32", 1)  # unused: the index of a batch
    test = lax.squeeze(upper(jnp.ones(n, a.dtype)[:, None]), (1,))
    is_singular = jnp.tile(jnp.any(jnp.isnan(test) | jnp.isinf(test))[None, None], (n, n))
    rows = jnp.where(is_singular, jnp.zeros_like(change), change)[permutation]
    rows = upper(rows, lower=True, unit_diagonal=True)
    rows = jnp.concatenate([rows[:-1] * minors[-1][None, None], rows[-1:]])
    rows = upper(rows)
    rows = jnp.where(is_singular, jnp.zeros_like(rows), rows)
    return minors[-1], jnp.trace(rows, axis1=-1, axis2=-2)


def _det(a: Any) -> Any:
    """One elimination for each matrix, and a derivative by cofactors."""
    if a.ndim > 2:
        return jnp.vectorize(_det, signature="(n,n)->()")(a)
    return _det_lu(a)
