"""The stages between a function and its results, under the names of `jax.stages`.

`jit(f).trace(*args)` returns a `Traced`, its `lower()` a `Lowered`, and the `compile()` of that a
`Compiled`, which can be called like `f`.
"""

# ruff: noqa: F403
from minijax.runtime.stages import *
from minijax.settings.names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
