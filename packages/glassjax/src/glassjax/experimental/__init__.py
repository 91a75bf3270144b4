"""JAX's experimental names, such as `io_callback`; and `plan`."""

from glassjax.callbacks import io_callback
from glassjax.plan import plan
from glassjax.settings.facades import make_module

compilation_cache = make_module(
    "glassjax.experimental.compilation_cache",
    "The directory of compiled programs, under the names of `jax.experimental.compilation_cache`.",
    {"glassjax.runtime.compilation_cache": "reset_cache set_cache_dir"},
)
make_module(
    "glassjax.experimental.compilation_cache.compilation_cache",
    "The same as `glassjax.experimental.compilation_cache`.",
    {"glassjax.runtime.compilation_cache": "reset_cache set_cache_dir"},
)
profiler = make_module(
    "glassjax.experimental.profiler",
    "Costs of instructions, from profiles (`jax.experimental.profiler`).",
    {"glassjax.profiler": "get_profiled_instructions_proto"},
)

__all__ = ["io_callback", "plan"]
