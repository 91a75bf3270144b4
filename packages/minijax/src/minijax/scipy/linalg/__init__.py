"""Linear algebra, under the names of `scipy.linalg`.

`overwrite_a` and the like, and `check_finite`, make no difference: Arrays are immutable, and input
that is not finite gives NaN.
"""

# ruff: noqa: F403
from minijax.scipy.linalg.decompositions import *
from minijax.scipy.linalg.matrix_functions import *
from minijax.scipy.linalg.solve import *
from minijax.scipy.linalg.special_matrices import *
from minijax.scipy.linalg.sylvester import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
