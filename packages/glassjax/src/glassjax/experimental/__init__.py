"""JAX's experimental names, such as `io_callback`; `plan`, `roll`, and sparse Jacobians."""

from glassjax.settings.facades import lazy_facade as _lazy_facade
from glassjax.settings.facades import make_module as _make_module

compilation_cache = _make_module(
    "glassjax.experimental.compilation_cache",
    "The directory of compiled programs, under the names of `jax.experimental.compilation_cache`.",
    {"glassjax.runtime.compilation_cache": "reset_cache set_cache_dir"},
)
_make_module(
    "glassjax.experimental.compilation_cache.compilation_cache",
    "The same as `glassjax.experimental.compilation_cache`.",
    {"glassjax.runtime.compilation_cache": "reset_cache set_cache_dir"},
)
profiler = _make_module(
    "glassjax.experimental.profiler",
    "Costs of instructions, from profiles (`jax.experimental.profiler`).",
    {"glassjax.profiler": "get_profiled_instructions_proto"},
)

_lazy_facade(
    globals(),
    {
        ".": "multihost_utils",
        ".rolled_loops": "roll",
        ".sparse_derivatives.jacobian": "sparse_hessian sparse_jacobian sparsity",
        ".sparse_derivatives.pattern": "Sparsity",
        "glassjax.callbacks": "io_callback",
        "glassjax.plan": "plan",
    },
)
