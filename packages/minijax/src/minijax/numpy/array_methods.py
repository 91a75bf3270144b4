"""The operators and methods of arrays, which are the functions of this package."""

from collections.abc import Callable
from typing import Any

import numpy as np

import minijax.numpy as jnp
from minijax import lax
from minijax.array import Array
from minijax.numpy.at import at
from minijax.numpy.indexing import getitem, iterate
from minijax_stage2.operators import array_methods, operator_of, reflected_operator_of

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": jnp.add,
    "sub": jnp.subtract,
    "mul": jnp.multiply,
    "truediv": jnp.divide,
    "floordiv": jnp.floor_divide,
    "mod": jnp.remainder,
    "divmod": jnp.divmod,
    "pow": jnp.power,
    "matmul": jnp.matmul,
    "and": jnp.bitwise_and,
    "or": jnp.bitwise_or,
    "xor": jnp.bitwise_xor,
    "lshift": jnp.left_shift,
    "rshift": jnp.right_shift,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": jnp.equal,
    "ne": jnp.not_equal,
    "lt": jnp.less,
    "le": jnp.less_equal,
    "gt": jnp.greater,
    "ge": jnp.greater_equal,
}


def _compress(
    self: Any,
    condition: Any,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: Any = 0,
) -> Any:
    """The elements along an axis where `condition` holds."""
    return jnp.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


def _reshape(self: Any, *shape: Any, order: str = "C") -> Any:
    """The array with another shape of the same size; one size may be -1."""
    return jnp.reshape(self, shape[0] if len(shape) == 1 else shape, order)


def _view(self: Any, dtype: Any = None, type: None = None) -> Any:
    """The bits of the array, read as another dtype; the last axis grows or shrinks as needed."""
    if type is not None:
        raise NotImplementedError(f"view: type must be None, found {type!r}")
    if dtype is None:
        return self
    old, new = np.dtype(self.dtype).itemsize, np.dtype(dtype).itemsize
    if not self.ndim and old != new:
        raise ValueError(f"view: the scalar {self.aval} has no axis to grow or shrink")
    if old < new:
        if self.shape[-1] * old % new:
            raise ValueError(f"view: the last axis of {self.aval} holds no whole {np.dtype(dtype)}")
        self = jnp.reshape(self, (*self.shape[:-1], -1, new // old))
    out = lax.bitcast_convert_type(self, dtype)
    return jnp.reshape(out, (*out.shape[:-2], -1)) if old > new else out


METHODS: dict[str, Any] = {
    "__neg__": jnp.negative,
    "__abs__": jnp.abs,
    "__getitem__": getitem,
    "__invert__": jnp.bitwise_not,
    "__iter__": iterate,
    "__pos__": jnp.positive,
    "__round__": lambda x, ndigits=None: (
        jnp.astype(jnp.round(x), int) if ndigits is None else jnp.round(x, ndigits)
    ),
    "all": jnp.all,
    "any": jnp.any,
    "argpartition": jnp.argpartition,
    "argsort": jnp.argsort,
    "argmax": jnp.argmax,
    "argmin": jnp.argmin,
    "astype": jnp.astype,
    "at": at,
    "choose": jnp.choose,
    "clip": jnp.clip,
    "compress": _compress,
    "diagonal": jnp.diagonal,
    "cumprod": jnp.cumprod,
    "cumsum": jnp.cumsum,
    "dot": jnp.dot,
    "flatten": jnp.ravel,
    "mT": property(jnp.matrix_transpose),
    "conj": jnp.conj,
    "conjugate": jnp.conjugate,
    "imag": property(jnp.imag),
    "max": jnp.max,
    "mean": jnp.mean,
    "min": jnp.min,
    "nonzero": jnp.nonzero,
    "prod": jnp.prod,
    "ptp": jnp.ptp,
    "ravel": jnp.ravel,
    "reshape": _reshape,
    "repeat": jnp.repeat,
    "real": property(jnp.real),
    "round": jnp.round,
    "searchsorted": jnp.searchsorted,
    "sort": jnp.sort,
    "squeeze": jnp.squeeze,
    "std": jnp.std,
    "sum": jnp.sum,
    "swapaxes": jnp.swapaxes,
    "take": jnp.take,
    "trace": jnp.trace,
    "var": jnp.var,
    "view": _view,
}

for name, function in (OPERATORS | COMPARISONS).items():
    METHODS[f"__{name}__"] = operator_of(function)
for name, function in OPERATORS.items():
    METHODS[f"__r{name}__"] = reflected_operator_of(function)

array_methods.update(METHODS)
for name, function in METHODS.items():
    if name.startswith("__") or hasattr(Array, name):  # where Python looks first
        setattr(Array, name, function)
