"""Modules for libraries that extend JAX, under the names of `jax.extend`.

They wrap the mechanisms of `glassjax.core` in JAX's conventions. Primitives and rules that a
library defines with them work in every interpreter; `glassjax.core` is the shorter way.
"""

from typing import Any

from glassjax.extend import backend, core, linear_util
from glassjax.settings.facades import make_module
from glassjax.xla.executables import bindings

lowering = make_module(
    "glassjax.extend.lowering",
    "The context of lowering rules, and of MLIR, under the names of `jax.extend.lowering`.",
    {
        "glassjax.interpreters.mlir": """
            JaxIrContext LoweringRuleContext ModuleContext upstream_dialects
        """,
    },
)
random = make_module(
    "glassjax.extend.random",
    "Implementations of random keys, under the names of `jax.extend.random`.",
    {
        "glassjax.random.keys": "define_prng_impl random_seed seed_with_impl",
        "glassjax.random.prng": """
            rbg:rbg_prng_impl threefry2x32_p threefry_2x32 threefry:threefry_prng_impl
            unsafe_rbg:unsafe_rbg_prng_impl
        """,
    },
)
source_info_util = make_module(
    "glassjax.extend.source_info_util",
    "Places in the user's program, under the names of `jax.extend.source_info_util`.",
    {
        "glassjax.runtime.named_scope": """
            NameStack current_name_stack extend_name_stack new_name_stack reset_name_stack
            set_name_stack summarize transform_name_stack user_context
        """,
        "glassjax_stage2.source": """
            Source:SourceInfo hide_frames_of:register_exclusion user_source:current
            user_source:new_source_info
        """,
    },
)
xla = make_module(
    "glassjax.extend.xla",
    "Functions that change programs while XLA compiles them, as `jax.extend.xla` has them.",
    {
        "glassjax.extend.backend": """
            PipelineStage clear_hlo_module_transformation register_hlo_module_transformation
        """,
    },
)

__all__ = ["backend", "core", "linear_util", "lowering", "random", "source_info_util", "xla"]


def __getattr__(name: str) -> Any:
    if name == "mlir":  # takes a while to import
        return bindings()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
