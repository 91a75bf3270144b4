"""JAX's programs of functions of linear algebra."""

from typing import Any

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.lax.control_flow.solves import solve_by_parts, stage_part
from glassjax.runtime.operation import operation
from glassjax.transforms.vmap import vmap
from glassjax.tree_util import tree_structure, treedef_tuple


@operation(static="trans")
def _lu_solve(factors: Any, permutation: Any, b: Any, trans: int) -> Any:
    """The solution of `a @ x = b` for a vector, from the factors of `a` or of its transpose."""
    triangles = ({"lower": True, "unit_diagonal": True}, {})
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
