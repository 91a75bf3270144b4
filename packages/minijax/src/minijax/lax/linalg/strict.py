"""The decompositions of matrices that reject what JAX's reject: above all, integers."""

import inspect
from typing import Any

from minijax.lax.strict import Function, checked, require_one_dtype
from minijax.primitives.declare import require_kind
from minijax_stage2 import typeof
from minijax_stage2.source import name_of

# How many of the first arguments must have one dtype, and the kinds of dtypes they may have.
_OPERANDS = {
    "cholesky_update": (2, "f"),
    "eig": (1, "fc"),
    "geqrf": (1, "fc"),
    "hessenberg": (1, "fc"),
    "lu": (1, "fc"),
    "ormqr": (1, "fc"),
    "qr": (1, "fc"),
    "schur": (1, "fc"),
    "svd": (1, "fc"),
    "symmetric_product": (2, "f"),
    "triangular_solve": (2, "fc"),
    "tridiagonal": (1, "fc"),
    "tridiagonal_solve": (4, "fc"),
}


def _of_floats(function: Function, count: int, kinds: str) -> Function:
    name = name_of(function)
    names = list(inspect.signature(function).parameters)[:count]

    def check(*args: Any, **kwargs: Any) -> None:
        given = [*args[:count], *(kwargs[name] for name in names if name in kwargs)]
        require_kind(name, kinds, *map(typeof, given))
        require_one_dtype(name, *given)

    return checked(function, check)


def strict_function(name: str, function: Any) -> Any:
    """The form of a function, called `name`, that users get."""
    return _of_floats(function, *_OPERANDS[name]) if name in _OPERANDS else function
