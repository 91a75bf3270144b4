"""The library's error classes, under the names of `jax.errors` where JAX has them.

Each of them is an `ExplainedError`: its message says what was wrong, where in the user's program,
and how to fix it, and names its page in `errors/pages/`, which `explain_error` prints.
"""

# ruff: noqa: F401, F403
from minijax.errors.classes import *
from minijax.errors.classes import __all__
