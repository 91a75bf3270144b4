"""The decompositions of matrices, with the names and strictness of `jax.lax.linalg`.

The primitives of these functions have their names with `_p` after them: `cholesky_p`.
"""

from glassjax.lax.linalg.eigen import EighImplementation as EighImplementation
from glassjax.lax.linalg.eigen import EigImplementation as EigImplementation
from glassjax.lax.linalg.eigen import SvdAlgorithm as SvdAlgorithm
from glassjax.lax.linalg.eigen import eig as eig
from glassjax.lax.linalg.eigen import eigh as eigh
from glassjax.lax.linalg.eigen import qdwh as qdwh
from glassjax.lax.linalg.eigen import schur as schur
from glassjax.lax.linalg.eigen import svd as svd
from glassjax.lax.linalg.factorizations import cholesky as cholesky
from glassjax.lax.linalg.factorizations import cholesky_update as cholesky_update
from glassjax.lax.linalg.factorizations import geqrf as geqrf
from glassjax.lax.linalg.factorizations import hessenberg as hessenberg
from glassjax.lax.linalg.factorizations import householder_product as householder_product
from glassjax.lax.linalg.factorizations import lu as lu
from glassjax.lax.linalg.factorizations import lu_pivots_to_permutation as lu_pivots_to_permutation
from glassjax.lax.linalg.factorizations import ormqr as ormqr
from glassjax.lax.linalg.factorizations import qr as qr
from glassjax.lax.linalg.factorizations import symmetric_product as symmetric_product
from glassjax.lax.linalg.factorizations import tridiagonal as tridiagonal
from glassjax.lax.linalg.solve import triangular_solve as triangular_solve
from glassjax.lax.linalg.solve import tridiagonal_solve as tridiagonal_solve
from glassjax_stage2 import Primitive

cholesky_p: Primitive
cholesky_update_p: Primitive
eig_p: Primitive
eigh_p: Primitive
geqrf_p: Primitive
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
