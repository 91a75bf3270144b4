"""Modules of distributions, made of their formulas."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any

from glassjax import numpy as jnp
from glassjax.numpy.transcendental import inexact_arrays, real_arrays
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax.settings.names import list_public_names
from glassjax.settings.number_types import require_promotable
from glassjax.transforms.custom_derivatives import custom_jvp

Function = Callable[..., Any]
Functions = Iterable[Function]
Row = Callable[[], Functions]

PACKAGE = "glassjax.scipy.stats"

SUMMARIES = {
    "logpdf": "The logarithm of the density at `{}`.",
    "pdf": "The density at `{}`.",
    "logpmf": "The logarithm of the probability of `{}`.",
    "pmf": "The probability of `{}`.",
    "cdf": "The probability of numbers up to `{}`.",
    "logcdf": "The logarithm of `cdf`.",
    "sf": "The probability of numbers above `{}`.",
    "logsf": "The logarithm of `sf`.",
    "ppf": "The smallest number that is not exceeded with probability `{}`.",
    "isf": "The number that is exceeded with probability `{}`.",
    "entropy": "The entropy.",
}


def module(*names: str) -> Callable[[Row], ModuleType]:
    """Decorator: make a module of `glassjax.scipy.stats` of a function that returns its functions.

    They become operations when one of them is first used. Arguments are arrays, except those that
    are None by default, which are static.

    Arguments:
        names: the names of these functions.
    """

    def decorate(row: Row) -> ModuleType:
        file = inspect.unwrap(row).__code__.co_filename
        name = f"{PACKAGE}.{row.__name__}"
        made = module_from_spec(ModuleSpec(name, None, origin=file))
        namespace = vars(made)

        def __getattr__(asked: str) -> Any:
            if asked not in names:
                raise AttributeError(f"module {name!r} has no attribute {asked!r}")
            for function in row():
                function.__module__, function.__qualname__ = name, function.__name__
                hints: dict[str, Any] = {
                    each.name: None if each.default is None else ArrayLike
                    for each in inspect.signature(function).parameters.values()
                }
                static = tuple(each for each, hint in hints.items() if hint is None)
                hints["return"] = Array
                function.__annotations__ = inspect.unwrap(function).__annotations__ = hints
                namespace.setdefault(function.__name__, operation(static=static)(function))
            return namespace[asked]

        namespace.update(
            __all__=sorted(names),
            __doc__=inspect.getdoc(row),
            __file__=file,
            __getattr__=__getattr__,
        )
        list_public_names(namespace)
        sys.modules[name] = made
        return made

    return decorate


def distribution(
    *point: float, is_real: bool = True, **values: float
) -> Callable[[Row], ModuleType]:
    """Decorator: make a module of a function that returns the formulas of a distribution.

    A function without a formula is the exponential or the logarithm of its counterpart: `pdf` of
    `logpdf`, `logcdf` of `cdf`, `sf` of `logsf`.

    Arguments:
        point: the arguments of examples: one of `pdf`, and the shape parameters.
        is_real: whether arguments must be real.
        values: by the name of each function, its value at this point; of `ppf` and `isf`, those
            for a probability of 0.25.
    """

    def decorate(row: Row) -> ModuleType:
        def functions() -> Functions:
            found = {each.__name__: _promoting(row.__name__, each, is_real) for each in row()}
            for name in values.keys() - found.keys():
                if name.startswith("log"):
                    found[name] = _compose(jnp.log, found[name.removeprefix("log")], name)
                else:
                    found[name] = _compose(_exp, found[f"log{name}"], name)
            for name, function in found.items():
                function.__doc__ = _documentation(row.__name__, function, point, values[name])
            return found.values()

        return module(*values)(functools.wraps(row)(functions))

    return decorate


def _promoting(distribution: str, formula: Function, is_real: bool) -> Function:
    """The formula, with its arguments promoted to arrays of one inexact dtype."""
    name, signature = formula.__name__, inspect.signature(formula)

    @functools.wraps(formula)
    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        given.apply_defaults()
        if is_real:
            return formula(*real_arrays(f"{distribution}.{name}", *given.args))
        return formula(*inexact_arrays(*given.args))

    return function


def _compose(outer: Function, inner: Function, name: str) -> Function:
    """`outer` of a function, of the same arguments."""

    @functools.wraps(inner)
    def function(*args: Any, **kwargs: Any) -> Any:
        require_promotable(*args, *kwargs.values())
        return outer(inner(*args, **kwargs))

    function.__name__ = name
    return function


@custom_jvp
def _exp(x: Any) -> Any:
    # XLA may return any number for the exponential of an element it has proved to be NaN.
    return jnp.where(jnp.isnan(x), x, jnp.exp(x))


@_exp.defjvp
def _exp_jvp(primals: Any, tangents: Any) -> Any:
    out = _exp(*primals)
    return out, tangents[0] * out  # NaN where `out` is


def _documentation(
    distribution: str, function: Function, point: tuple[float, ...], value: float
) -> str:
    name, (first, *_) = function.__name__, inspect.signature(function).parameters
    args = {"ppf": (0.25, *point[1:]), "isf": (0.25, *point[1:]), "entropy": point[1:]}
    call = f"{PACKAGE}.{distribution}.{name}({', '.join(map(repr, args.get(name, point)))})"
    return f"""{SUMMARIES[name].format(first)}

    >>> f"{{{call}:.3f}}"
    '{value:.3f}'
    """
