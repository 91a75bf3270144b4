"""Sparse arrays, under the names of `jax.experimental.sparse`.

They are pytrees, so that functions of them can be jitted, mapped and differentiated; `grad` and the
other derivatives here return sparse arrays.
"""

# ruff: noqa: F401, F403
import minijax.experimental.sparse.transform as _rules
from minijax.experimental.sparse.api import *
from minijax.experimental.sparse.base import *
from minijax.experimental.sparse.bcoo import *
from minijax.experimental.sparse.bcoo_products import *
from minijax.experimental.sparse.bcoo_shapes import *
from minijax.experimental.sparse.bcsr import *
from minijax.experimental.sparse.coo import *
from minijax.experimental.sparse.transform import *
from minijax.settings.names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
