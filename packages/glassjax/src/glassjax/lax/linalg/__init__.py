"""The decompositions of matrices, with the names and strictness of `jax.lax.linalg`.

The primitives of these functions have their names with `_p` after them: `cholesky_p`.
"""

from glassjax.settings.facades import lazy_facade as _lazy_facade
from glassjax.settings.facades import primitives_by as _primitives_by

_lazy_facade(
    globals(),
    {
        ".eigen": "EigImplementation EighImplementation SvdAlgorithm eig eigh qdwh schur svd",
        ".factorizations": """
            cholesky cholesky_update geqrf hessenberg householder_product lu
            lu_pivots_to_permutation ormqr qr symmetric_product tridiagonal
        """,
        ".solve": "triangular_solve tridiagonal_solve",
    },
    otherwise=_primitives_by("primitive_of_linalg"),
)
