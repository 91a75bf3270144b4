"""The decompositions of matrices as the library calls them: integers and booleans become floats.

Users get them from `minijax.lax.linalg`, where most reject these.
"""

from minijax.lax.linalg.eigen import EighImplementation as EighImplementation
from minijax.lax.linalg.eigen import EigImplementation as EigImplementation
from minijax.lax.linalg.eigen import SvdAlgorithm as SvdAlgorithm
from minijax.lax.linalg.eigen import eig as eig
from minijax.lax.linalg.eigen import eigh as eigh
from minijax.lax.linalg.eigen import qdwh as qdwh
from minijax.lax.linalg.eigen import schur as schur
from minijax.lax.linalg.eigen import svd as svd
from minijax.lax.linalg.factorizations import cholesky as cholesky
from minijax.lax.linalg.factorizations import cholesky_update as cholesky_update
from minijax.lax.linalg.factorizations import geqrf as geqrf
from minijax.lax.linalg.factorizations import hessenberg as hessenberg
from minijax.lax.linalg.factorizations import householder_product as householder_product
from minijax.lax.linalg.factorizations import lu as lu
from minijax.lax.linalg.factorizations import lu_pivots_to_permutation as lu_pivots_to_permutation
from minijax.lax.linalg.factorizations import ormqr as ormqr
from minijax.lax.linalg.factorizations import qr as qr
from minijax.lax.linalg.factorizations import symmetric_product as symmetric_product
from minijax.lax.linalg.factorizations import tridiagonal as tridiagonal
from minijax.lax.linalg.solve import triangular_solve as triangular_solve
from minijax.lax.linalg.solve import tridiagonal_solve as tridiagonal_solve
