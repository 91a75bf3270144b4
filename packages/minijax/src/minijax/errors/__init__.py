"""The library's error classes, under the names of `jax.errors` where JAX has them.

A message says what was wrong and how to fix it. Where the error leaves this library, its message
gets the line of the user's program and the name of its page in `errors/pages/`, which
`explain_error` prints.
"""

# ruff: noqa: F401, F403
from minijax.errors.classes import *
from minijax.errors.classes import __all__
