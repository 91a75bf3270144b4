"""Estimates of the cost of a kernel, for compilers that schedule it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from glassjax.runtime.staging import make_jaxpr
from glassjax.settings.names import set_all
from glassjax_stage2.arguments import require_function
from glassjax_stage3 import Jaxpr, JaxprEqn
from glassjax_stage3.jaxpr import inner_jaxprs


@dataclass(frozen=True)
class CostEstimate:
    """The cost of a kernel.

    Attributes:
        flops: the number of arithmetic operations.
        transcendentals: the number of evaluations of functions such as exp.
        bytes_accessed: the number of bytes that are read and written.
        remote_bytes_transferred: the number of bytes from and to other devices.

    Raises:
        TypeError: one of them is not an int.
    """

    flops: int
    transcendentals: int
    bytes_accessed: int
    remote_bytes_transferred: int = 0

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not isinstance(value, int):
                raise TypeError(
                    f"CostEstimate: {each.name} must be an int, found {value!r} of type "
                    f"{type(value).__name__}"
                )

    def to_json(self) -> bytes:
        """The estimate as a JSON object."""
        items = ", ".join(f'"{each.name}": {getattr(self, each.name)}' for each in fields(self))
        return f"{{{items}}}".encode("ascii")


# Names of primitives.
TRANSCENDENTAL = {
    *("acos", "asin", "atan", "cos", "cosh", "exp", "log", "logistic", "sin", "sinh", "sqrt"),
    *("tan", "tanh"),
}
ARITHMETIC = {
    *("add", "and", "ceil", "div", "floor", "max", "min", "mul", "neg", "not", "or", "round"),
    *("sub", "xor"),
}


def estimate_cost(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> CostEstimate:
    """Estimate the cost of a function, from its jaxpr.

    Each element that an elementwise operation computes counts once; a product of matrices counts
    its multiplications and additions; only arguments and results count as bytes.

    Arguments:
        fun: function of arrays.
        args, kwargs: its arguments, arrays or their types.

    >>> from glassjax.experimental import pallas as pl
    >>> x = glassjax.ShapeDtypeStruct((8, 4), jnp.float32)
    >>> pl.estimate_cost(lambda x: jnp.exp(x) + 1, x)
    CostEstimate(flops=32, transcendentals=32, bytes_accessed=256, remote_bytes_transferred=0)
    """
    require_function("estimate_cost", fun)
    closed = make_jaxpr(fun)(*args, **kwargs)
    flops, transcendentals = _operations(closed)
    moved = [*closed.in_avals, *closed.out_avals]
    size = sum(math.prod(aval.shape) * aval.dtype.itemsize for aval in moved)
    return CostEstimate(flops, transcendentals, size)


def _operations(jaxpr: Jaxpr) -> tuple[int, int]:
    """The numbers of arithmetic operations and of evaluated functions."""
    costs = [_operations_of(eqn) for eqn in jaxpr.eqns]
    return sum(cost[0] for cost in costs), sum(cost[1] for cost in costs)


def _operations_of(eqn: JaxprEqn) -> tuple[int, int]:
    inner = [_operations(each) for each in inner_jaxprs(eqn)]
    if inner:
        times = eqn.params.get("length", 1)
        return times * sum(cost[0] for cost in inner), times * sum(cost[1] for cost in inner)
    name, sizes = eqn.primitive.name, [math.prod(x.aval.shape) for x in eqn.outvars]
    if name in TRANSCENDENTAL:
        return 0, sizes[0]
    if name in ARITHMETIC:
        return sizes[0], 0
    if name == "dot_general":
        (contracted, _), _ = eqn.params["dimension_numbers"]
        return 2 * sizes[0] * math.prod(eqn.invars[0].aval.shape[i] for i in contracted), 0
    if name == "integer_pow":
        power = eqn.params["y"]
        squarings = abs(power).bit_length() - 1 + abs(power).bit_count()
        return sizes[0] * (squarings + (power < 0) if power not in (0, 1) else 0), 0
    return 0, 0


set_all(globals())
