"""Functions about what is traced and what is computed, not about numbers."""

from __future__ import annotations

from typing import Any

from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.conversion import to_array
from minijax.runtime.operation import operation
from minijax_stage2.shaped_array import typeof_named


@operation
def stage(x: ArrayLike, /) -> Array:
    """`x` as an array, which is traced where a function is.

    Raises:
        TypeError: `x` is not an array or a number.

    >>> minijax.make_jaxpr(lambda: lax.stage(1.0) * 2)().jaxpr.outvars[0].aval.shape
    ()
    """
    typeof_named("stage: x", x)
    return to_array(x)


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Accept a value that nothing else uses. It is computed where it would be without this.

    >>> lax.dce_sink(jnp.ones(3))
    """


__all__ = ["dce_sink", "stage"]
