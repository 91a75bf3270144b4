"""Linear algebra, under the names of `scipy.linalg`.

`overwrite_a` and the like, and `check_finite`, are ignored: Arrays are immutable, and input that is
not finite gives NaN.
"""

from minijax.scipy.linalg.decompositions import cho_factor as cho_factor
from minijax.scipy.linalg.decompositions import cho_solve as cho_solve
from minijax.scipy.linalg.decompositions import cholesky as cholesky
from minijax.scipy.linalg.decompositions import det as det
from minijax.scipy.linalg.decompositions import eigh as eigh
from minijax.scipy.linalg.decompositions import eigh_tridiagonal as eigh_tridiagonal
from minijax.scipy.linalg.decompositions import hessenberg as hessenberg
from minijax.scipy.linalg.decompositions import inv as inv
from minijax.scipy.linalg.decompositions import lu as lu
from minijax.scipy.linalg.decompositions import lu_factor as lu_factor
from minijax.scipy.linalg.decompositions import lu_solve as lu_solve
from minijax.scipy.linalg.decompositions import polar as polar
from minijax.scipy.linalg.decompositions import qr as qr
from minijax.scipy.linalg.decompositions import qr_multiply as qr_multiply
from minijax.scipy.linalg.decompositions import rsf2csf as rsf2csf
from minijax.scipy.linalg.decompositions import schur as schur
from minijax.scipy.linalg.decompositions import solve as solve
from minijax.scipy.linalg.decompositions import solve_sylvester as solve_sylvester
from minijax.scipy.linalg.decompositions import solve_triangular as solve_triangular
from minijax.scipy.linalg.decompositions import svd as svd
from minijax.scipy.linalg.matrices import block_diag as block_diag
from minijax.scipy.linalg.matrices import circulant as circulant
from minijax.scipy.linalg.matrices import companion as companion
from minijax.scipy.linalg.matrices import convolution_matrix as convolution_matrix
from minijax.scipy.linalg.matrices import dft as dft
from minijax.scipy.linalg.matrices import expm as expm
from minijax.scipy.linalg.matrices import expm_frechet as expm_frechet
from minijax.scipy.linalg.matrices import fiedler as fiedler
from minijax.scipy.linalg.matrices import fiedler_companion as fiedler_companion
from minijax.scipy.linalg.matrices import funm as funm
from minijax.scipy.linalg.matrices import hadamard as hadamard
from minijax.scipy.linalg.matrices import hankel as hankel
from minijax.scipy.linalg.matrices import helmert as helmert
from minijax.scipy.linalg.matrices import hilbert as hilbert
from minijax.scipy.linalg.matrices import invhilbert as invhilbert
from minijax.scipy.linalg.matrices import invpascal as invpascal
from minijax.scipy.linalg.matrices import leslie as leslie
from minijax.scipy.linalg.matrices import pascal as pascal
from minijax.scipy.linalg.matrices import sqrtm as sqrtm
from minijax.scipy.linalg.matrices import toeplitz as toeplitz
