"""The errors that a program can meet, by the names of `jax.errors` where they are there.

Each of them is an `ExplainedError`: its message says what was wrong, where in the user's program,
and the way out, and names its page in `errors/pages/`, which `explain_error` prints.
"""

# ruff: noqa: F401, F403
from minijax.errors.classes import *
from minijax.errors.classes import __all__
