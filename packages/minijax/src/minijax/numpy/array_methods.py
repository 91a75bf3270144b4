"""The operators and methods of arrays, which are the functions of this package."""

from collections.abc import Callable
from typing import Any

import minijax.numpy as jnp
from minijax.array import Array
from minijax.numpy.at import at
from minijax.numpy.indexing import getitem, iterate
from minijax_stage2.operators import array_methods, operator_of, reflected_operator_of

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": jnp.add,
    "sub": jnp.subtract,
    "mul": jnp.multiply,
    "truediv": jnp.divide,
    "pow": jnp.power,
    "matmul": jnp.matmul,
    "and": jnp.bitwise_and,
    "or": jnp.bitwise_or,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": jnp.equal,
    "ne": jnp.not_equal,
    "lt": jnp.less,
    "le": jnp.less_equal,
    "gt": jnp.greater,
    "ge": jnp.greater_equal,
}
METHODS: dict[str, Callable[..., Any]] = {
    "__neg__": jnp.negative,
    "__abs__": jnp.abs,
    "__getitem__": getitem,
    "__invert__": jnp.bitwise_not,
    "__iter__": iterate,
    "all": jnp.all,
    "any": jnp.any,
    "argmax": jnp.argmax,
    "argmin": jnp.argmin,
    "astype": jnp.astype,
    "at": at,
    "clip": jnp.clip,
    "cumprod": jnp.cumprod,
    "cumsum": jnp.cumsum,
    "dot": jnp.dot,
    "max": jnp.max,
    "mean": jnp.mean,
    "min": jnp.min,
    "prod": jnp.prod,
    "ptp": jnp.ptp,
    "ravel": jnp.ravel,
    "squeeze": jnp.squeeze,
    "std": jnp.std,
    "sum": jnp.sum,
    "swapaxes": jnp.swapaxes,
    "var": jnp.var,
}

for name, function in (OPERATORS | COMPARISONS).items():
    METHODS[f"__{name}__"] = operator_of(function)
for name, function in OPERATORS.items():
    METHODS[f"__r{name}__"] = reflected_operator_of(function)

array_methods.update(METHODS)
for name, function in METHODS.items():
    if name.startswith("__") or hasattr(Array, name):  # where Python looks first
        setattr(Array, name, function)
