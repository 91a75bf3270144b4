"""JAX's programs of functions of linear algebra."""

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
    swaps = jnp.count_nonzero(pivots != jnp.arange(a.shape[-1]), axis=-1)
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
    change = jnp.trace(jnp.linalg.solve(*primals, *tangents), axis1=-2, axis2=-1)
    if not matrices.is_complex(sign):
        return (sign, log), (jnp.zeros_like(sign), change)
    return (sign, log), (sign * 1j * jnp.imag(change), jnp.real(change))


def _slogdet(a: Any) -> tuple[Any, Any]:
    """One decomposition and its derivative by a linear system."""
    return _slogdet_lu(a)
