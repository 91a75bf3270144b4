"""Where the largest and the smallest elements are."""

from collections.abc import Callable
from typing import Any

from minijax.arrays import require_no_out
from minijax.lax import promoting as lax
from minijax.numpy.dtypes import default_int
from minijax.numpy.reductions import require_elements
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axis


@operation(static=("axis", "keepdims"))
def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The index of the first largest element along an axis; of all elements where it is None.

    >>> jnp.argmax(jnp.array([1, 5, 2])), jnp.argmax(jnp.array([[1, 9], [8, 2]]), axis=1)
    (Array(1, dtype=int32), Array([1, 0], dtype=int32))
    """
    return _arg("argmax", lax.argmax, a, axis, out, bool(keepdims))


@operation(static=("axis", "keepdims"))
def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The index of the first smallest element along an axis; of all elements where it is None.

    >>> jnp.argmin(jnp.array([4, 1, 2])), jnp.argmin(jnp.array([[1, 9], [8, 2]]), axis=1)
    (Array(1, dtype=int32), Array([0, 1], dtype=int32))
    """
    return _arg("argmin", lax.argmin, a, axis, out, bool(keepdims))


def _arg(
    name: str, function: Callable[..., Any], a: Any, axis: int | None, out: None, keepdims: bool
) -> Any:
    require_no_out(name, out)
    flat = lax.reshape(a, (-1,)) if axis is None else a
    along = canonical_axis(name, 0 if axis is None else axis, typeof(flat).ndim)
    require_elements(name, flat, along)
    index = function(flat, along, default_int())
    if not keepdims:
        return index
    return lax.expand_dims(index, range(typeof(a).ndim) if axis is None else (along,))


__all__ = ["argmax", "argmin"]
