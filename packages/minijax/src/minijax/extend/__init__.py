"""Modules for libraries that extend JAX, under the names of `jax.extend`.

They show the mechanisms of `minijax.core` by JAX's conventions. What a library defines by them
works in every interpreter here; `minijax.core` has the shorter way.
"""

from typing import Any

from minijax.extend import backend, core, linear_util, lowering, random, source_info_util, xla
from minijax.xla.executables import bindings

__all__ = ["backend", "core", "linear_util", "lowering", "random", "source_info_util", "xla"]


def __getattr__(name: str) -> Any:
    if name == "mlir":  # which takes a while to import
        return bindings()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
