"""Valid calls of the methods of arrays, and of `x.at[...]`, whose docstrings have no examples."""

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

ARRAY = "Array."
AT = "Array.at."

# By name, the arguments of a call on a matrix of numbers; JAX has all of them.
METHODS: dict[str, dict[str, Any]] = {
    "all": {"axis": 0},
    "any": {"axis": 0},
    "argmax": {"axis": 1},
    "argmin": {"axis": 1},
    "argpartition": {"kth": 1},
    "argsort": {"axis": 1},
    "astype": {"dtype": "float16"},
    "choose": {"choices": [1, 2, 3, 4, 5, 6]},
    "clip": {"min": 1.0, "max": 3.0},
    "compress": {"condition": np.array([True, False]), "axis": 0},
    "cumprod": {"axis": 0},
    "cumsum": {"axis": 0},
    "diagonal": {"offset": 1},
    "dot": {"b": np.ones(3, np.float32)},
    "flatten": {},
    "item": {},
    "max": {"axis": 0},
    "mean": {"axis": 0},
    "min": {"axis": 0},
    "nonzero": {"size": 4},
    "prod": {"axis": 0},
    "ptp": {"axis": 0},
    "ravel": {},
    "repeat": {"repeats": 2, "axis": 0},
    "reshape": {},
    "round": {"decimals": 1},
    "searchsorted": {"v": np.float32(2.0)},
    "sort": {"axis": 0},
    "squeeze": {},
    "std": {"axis": 0},
    "sum": {"axis": 0},
    "swapaxes": {"axis1": 0, "axis2": 1},
    "take": {"indices": np.array([0, 1]), "axis": 0},
    "trace": {"offset": 0},
    "transpose": {},
    "var": {"axis": 0},
    "view": {"dtype": "int32"},
}
UPDATES: dict[str, dict[str, Any]] = {
    name: {"values": 1.0}
    for name in ("add", "divide", "max", "min", "mul", "multiply", "power", "set", "subtract")
} | {
    "apply": {"func": operator.neg},
    "get": {},
}
OPTIONS = {"indices_are_sorted": False, "unique_indices": False, "mode": None}
NOT_MATRICES: dict[str, Any] = {
    "choose": np.array([0, 1, 5]),
    "item": np.float32(2.0),
    "searchsorted": np.arange(4, dtype=np.float32),
}


def names_of_methods() -> list[str]:
    return [ARRAY + name for name in METHODS] + [AT + name for name in UPDATES]


def is_method(name: str) -> bool:
    return name.startswith(ARRAY)


def method_of(name: str) -> Callable[..., Any]:
    """A function of an array and of the arguments of a method; of an index, too, for updates."""
    last = name.rpartition(".")[2]
    if name.startswith(AT):
        return lambda x, index, **arguments: getattr(x.at[index], last)(**arguments)
    if last == "reshape":  # by names it has no shape
        return lambda x, *sizes, **options: x.reshape(*sizes, **options)
    return lambda x, **arguments: getattr(x, last)(**arguments)


def call_of_method(library: Any, name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a call of `method_of(name)`."""
    last = name.rpartition(".")[2]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    array = library.numpy.asarray(NOT_MATRICES.get(last, x))
    if name.startswith(AT):
        return (array, 1), UPDATES[last] | OPTIONS
    return (array, 6) if last == "reshape" else (array,), dict(METHODS[last])


@functools.cache
def parameters_of(name: str) -> list[str]:
    """The names of the parameters of a method besides the array itself, in glassjax."""
    import inspect

    import glassjax

    if name.startswith(AT) or name == f"{ARRAY}reshape":
        return []
    method = getattr(glassjax.Array, name.rpartition(".")[2])
    parameters = list(inspect.signature(method).parameters.values())[1:]
    by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return [parameter.name for parameter in parameters if parameter.kind in by_name]
