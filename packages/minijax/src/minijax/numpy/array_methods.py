"""The operators and methods of arrays, which are the functions of this package."""

from collections.abc import Callable
from typing import Any

import minijax.numpy as jnp
from minijax.array import Array
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
METHODS: dict[str, Any] = {
    "__neg__": jnp.negative,
    "__abs__": jnp.abs,
    "__invert__": jnp.bitwise_not,
    "__pos__": jnp.positive,
    "__round__": lambda x, ndigits=None: (
        jnp.astype(jnp.round(x), int) if ndigits is None else jnp.round(x, ndigits)
    ),
    "all": jnp.all,
    "any": jnp.any,
    "argmax": jnp.argmax,
    "argmin": jnp.argmin,
    "astype": jnp.astype,
    "clip": jnp.clip,
    "conj": jnp.conj,
    "conjugate": jnp.conjugate,
    "cumprod": jnp.cumprod,
    "cumsum": jnp.cumsum,
    "dot": jnp.dot,
    "imag": property(jnp.imag),
    "max": jnp.max,
    "mean": jnp.mean,
    "min": jnp.min,
    "prod": jnp.prod,
    "ptp": jnp.ptp,
    "ravel": jnp.ravel,
    "real": property(jnp.real),
    "round": jnp.round,
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
