"""Iterative solvers of linear systems, which use only products with the matrix.

In each function `A` is a square matrix, or a linear function from arrays like `b` to arrays like
`b`; `b` is an array or a pytree of arrays, and so is the solution.
"""

from minijax.scipy.sparse.conjugate_gradients import bicgstab, cg
from minijax.scipy.sparse.minimal_residuals import gmres

__all__ = [
    "bicgstab", "cg", "gmres",
]  # fmt: skip
