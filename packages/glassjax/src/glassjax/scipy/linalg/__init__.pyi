"""Linear algebra, under the names of `scipy.linalg`.

`overwrite_a` and the like, and `check_finite`, are ignored: Arrays are immutable, and input that is
not finite gives NaN.
"""

from glassjax.scipy.linalg.decompositions import cho_factor as cho_factor
from glassjax.scipy.linalg.decompositions import cho_solve as cho_solve
from glassjax.scipy.linalg.decompositions import cholesky as cholesky
from glassjax.scipy.linalg.decompositions import det as det
from glassjax.scipy.linalg.decompositions import eigh as eigh
from glassjax.scipy.linalg.decompositions import eigh_tridiagonal as eigh_tridiagonal
from glassjax.scipy.linalg.decompositions import hessenberg as hessenberg
from glassjax.scipy.linalg.decompositions import inv as inv
from glassjax.scipy.linalg.decompositions import lu as lu
from glassjax.scipy.linalg.decompositions import lu_factor as lu_factor
from glassjax.scipy.linalg.decompositions import lu_solve as lu_solve
from glassjax.scipy.linalg.decompositions import polar as polar
from glassjax.scipy.linalg.decompositions import qr as qr
from glassjax.scipy.linalg.decompositions import qr_multiply as qr_multiply
from glassjax.scipy.linalg.decompositions import rsf2csf as rsf2csf
from glassjax.scipy.linalg.decompositions import schur as schur
from glassjax.scipy.linalg.decompositions import solve as solve
from glassjax.scipy.linalg.decompositions import solve_sylvester as solve_sylvester
from glassjax.scipy.linalg.decompositions import solve_triangular as solve_triangular
from glassjax.scipy.linalg.decompositions import svd as svd
from glassjax.scipy.linalg.matrices import block_diag as block_diag
from glassjax.scipy.linalg.matrices import circulant as circulant
from glassjax.scipy.linalg.matrices import companion as companion
from glassjax.scipy.linalg.matrices import convolution_matrix as convolution_matrix
from glassjax.scipy.linalg.matrices import dft as dft
from glassjax.scipy.linalg.matrices import expm as expm
from glassjax.scipy.linalg.matrices import expm_frechet as expm_frechet
from glassjax.scipy.linalg.matrices import fiedler as fiedler
from glassjax.scipy.linalg.matrices import fiedler_companion as fiedler_companion
from glassjax.scipy.linalg.matrices import funm as funm
from glassjax.scipy.linalg.matrices import hadamard as hadamard
from glassjax.scipy.linalg.matrices import hankel as hankel
from glassjax.scipy.linalg.matrices import helmert as helmert
from glassjax.scipy.linalg.matrices import hilbert as hilbert
from glassjax.scipy.linalg.matrices import invhilbert as invhilbert
from glassjax.scipy.linalg.matrices import invpascal as invpascal
from glassjax.scipy.linalg.matrices import leslie as leslie
from glassjax.scipy.linalg.matrices import pascal as pascal
from glassjax.scipy.linalg.matrices import sqrtm as sqrtm
from glassjax.scipy.linalg.matrices import toeplitz as toeplitz
