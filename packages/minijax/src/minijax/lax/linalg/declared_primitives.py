"""The primitives that `jax.lax.linalg` names, declared for type checkers."""

from minijax_stage2 import Primitive

cholesky_p: Primitive
cholesky_update_p: Primitive
eig_p: Primitive
eigh_p: Primitive
hessenberg_p: Primitive
householder_product_p: Primitive
lu_p: Primitive
lu_pivots_to_permutation_p: Primitive
ormqr_p: Primitive
qr_p: Primitive
schur_p: Primitive
svd_p: Primitive
symmetric_product_p: Primitive
triangular_solve_p: Primitive
tridiagonal_p: Primitive
tridiagonal_solve_p: Primitive
