"""The stages between a function and its results, under the names of `jax.stages`.

`jit(f).trace(*args)` returns a `Traced`, its `lower()` a `Lowered`, and the `compile()` of that a
`Compiled`, which can be called like `f`.
"""

from glassjax.settings.facades import lazy_facade as _lazy_facade

_lazy_facade(
    globals(),
    {
        "glassjax.runtime.stages": "ArgInfo Compiled CompilerOptions Lowered Traced Wrapped",
    },
)
