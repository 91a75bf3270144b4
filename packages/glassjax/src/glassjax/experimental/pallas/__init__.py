"""Kernels on blocks of arrays, under the names of `jax.experimental.pallas`.

Kernels are interpreted: XLA compiles a loop over the blocks, on any device. They can be jitted and
mapped, and differentiated in both modes.
"""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from glassjax.settings.facades import lazy_facade as _lazy_facade
from glassjax.settings.facades import make_module as _make_module
from glassjax.settings.names import named as _named


def _absent(module: str) -> _Callable[[str, str], _Any]:
    """The `otherwise` of a facade, for names that interpreted kernels have no use for."""

    def otherwise(facade: str, name: str) -> _Any:
        if name in (_named("glassjax.as_jax.names", "names_of")(module) or ()):
            return _named("glassjax.as_jax.names", "AbsentName")(f"{module}.{name}")
        raise AttributeError(f"module {facade!r} has no attribute {name!r}")

    return otherwise


_lazy_facade(
    globals(),
    {
        ".specs": """
            ANY BlockDim Blocked BlockSpec BoundedSlice Buffered CompilerParams Element GridSpec
            HOST MemoryRef MemorySpace RevisitMode Squeezed no_block_spec squeezed
        """,
        ".pallas_call": "pallas_call pallas_call_p",
        ".grid": "num_programs program_id",
        ".kernels": """
            align_to broadcast_to cdiv debug_print empty empty_like empty_ref_like loop multiple_of
            next_power_of_2 reciprocal run_scoped strides_from_shape when with_scoped
        """,
        ".costs": "CostEstimate estimate_cost",
        "glassjax.numpy.indexing": "Slice ds ds:dslice",
    },
    otherwise=_absent("jax.experimental.pallas"),
)

# Modules of JAX without a file here: what interpreted kernels have of those for other backends.

_make_module(
    "glassjax.experimental.pallas.tpu",
    "The parts of `jax.experimental.pallas.tpu` that interpreted kernels have.",
    {
        "glassjax.experimental.pallas.specs": """
            CMEM CompilerParams HBM PrefetchScalarGridSpec SEMAPHORE SMEM TPUMemorySpace:MemorySpace
            VMEM VMEM_SHARED
        """,
        "glassjax.experimental.pallas.kernels": "reciprocal",
        "glassjax.experimental.pallas.masked": "load store",
    },
    otherwise=_absent("jax.experimental.pallas.tpu"),
)
_make_module(
    "glassjax.experimental.pallas.triton",
    "The parts of `jax.experimental.pallas.triton` that interpreted kernels have.",
    {
        "glassjax.experimental.pallas.specs": "CompilerParams",
        "glassjax.experimental.pallas.kernels": "dot max_contiguous",
        "glassjax.experimental.pallas.masked": """
            atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor
            load store
        """,
    },
    otherwise=_absent("jax.experimental.pallas.triton"),
)
for _name in ("fuser", "mosaic_gpu", "tpu_sc"):
    _make_module(
        f"glassjax.experimental.pallas.{_name}",
        f"`jax.experimental.pallas.{_name}`, which interpreted kernels have no use for.",
        {},
        otherwise=_absent(f"jax.experimental.pallas.{_name}"),
    )
