"""The stages between a function and its results, by the names of `jax.stages`.

`jit(f).trace(*args)` gives a `Traced`, its `lower()` a `Lowered`, and the `compile()` of that a
`Compiled`, which is called like `f`.
"""

from minijax.runtime.ahead_of_time import ArgInfo, Compiled, Lowered, Traced

__all__ = [
    "ArgInfo",
    "Compiled",
    "Lowered",
    "Traced",
]
