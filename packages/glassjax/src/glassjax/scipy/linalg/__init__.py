"""Linear algebra, under the names of `scipy.linalg`.

`overwrite_a` and the like, and `check_finite`, are ignored: Arrays are immutable, and input that is
not finite gives NaN.
"""

from glassjax.settings.facades import lazy_facade as _lazy_facade

_lazy_facade(
    globals(),
    {
        ".decompositions": """
            cho_factor cho_solve cholesky det eigh eigh_tridiagonal hessenberg inv lu lu_factor
            lu_solve polar qr qr_multiply rsf2csf schur solve solve_sylvester solve_triangular svd
        """,
        ".matrices": """
            block_diag circulant companion convolution_matrix dft expm expm_frechet fiedler
            fiedler_companion funm hadamard hankel helmert hilbert invhilbert invpascal leslie
            pascal sqrtm toeplitz
        """,
    },
)
