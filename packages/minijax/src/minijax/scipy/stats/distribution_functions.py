"""Decorators for distribution functions, formulas of real numbers.

A function that follows from another one has a signature and a docstring, and no body.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from minijax import numpy as jnp
from minijax.numpy.transcendental import real_arrays
from minijax.runtime.operation import operation
from minijax.settings.number_types import require_meeting
from minijax.transforms.custom_derivatives import custom_jvp

Function = Callable[..., Any]


def of_reals(formula: Function) -> Function:
    """Make an operation from a formula: its arguments become real arrays of one inexact dtype."""
    caller = f"{formula.__module__.rpartition('.')[2]}.{formula.__name__}"
    signature = inspect.signature(formula)

    @functools.wraps(formula)
    def function(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        return formula(*real_arrays(caller, *given.args))

    return operation(function)


def exp_of(log_function: Function) -> Callable[[Function], Function]:
    """Decorator: the exponential of another function, of the same arguments."""
    return _after(_exp, log_function)


@custom_jvp
def _exp(x: Any) -> Any:
    # XLA's exponential of a vector that it knows to be NaN in one case is any number in that case.
    return jnp.where(jnp.isnan(x), x, jnp.exp(x))


@_exp.defjvp
def _exp_jvp(primals: Any, tangents: Any) -> Any:
    out = _exp(*primals)
    return out, tangents[0] * out  # and so NaN where that is


def log_of(function: Function) -> Callable[[Function], Function]:
    """Decorator: the logarithm of another function, of the same arguments."""
    return _after(jnp.log, function)


def _after(outer: Function, inner: Function) -> Callable[[Function], Function]:
    def decorate(described: Function) -> Function:
        @functools.wraps(described)
        def function(*args: Any, **kwargs: Any) -> Any:
            require_meeting(*args, *kwargs.values())
            return outer(inner(*args, **kwargs))

        return operation(function)

    return decorate
