"""Values that hardly any argument may be, made anew for each call, for glassjax and for JAX."""

import types
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np


def _list_in_itself() -> list[Any]:
    itself: list[Any] = [1.0]
    itself.append(itself)
    return itself


def _escaped_tracer(library: Any) -> Any:
    kept = []
    library.make_jaxpr(lambda x: kept.append(x))(1.0)
    return kept[0]


def _deleted_array(library: Any) -> Any:
    x = library.numpy.arange(3.0)
    x.delete()
    return x


# By name, functions of the library. A dict that contains itself is not among them: jaxlib, which
# flattens trees, leaves the stack of Python spoiled by it, for JAX as for us.
BAD_VALUES: dict[str, Callable[[Any], Any]] = {
    "None": lambda library: None,
    "a string": lambda library: "abc",
    "no characters": lambda library: "",
    "bytes": lambda library: b"abc",
    "an object": lambda library: object(),
    "a type": lambda library: int,
    "a module": lambda library: types,
    "a function": lambda library: lambda *args, **kwargs: None,
    "a generator": lambda library: (i for i in range(3)),
    "a dict": lambda library: {"a": 1.0},
    "a set": lambda library: {1},
    "no elements": lambda library: [],
    "an empty array": lambda library: library.numpy.zeros((0, 3)),
    "ragged": lambda library: [[1.0], [2.0, 3.0]],
    "a list in itself": lambda library: _list_in_itself(),
    "Nones": lambda library: [None, None],
    "strings": lambda library: ["a", "b"],
    "a slice": lambda library: slice(None),
    "Ellipsis": lambda library: ...,
    "-1": lambda library: -1,
    "-7": lambda library: -7,
    "10**30": lambda library: 10**30,
    "-10**30": lambda library: -(10**30),
    "a huge size": lambda library: 10**13,
    "huge sizes": lambda library: (10**7, 10**7),
    "1.5": lambda library: 1.5,
    "nan": lambda library: float("nan"),
    "1j": lambda library: 1j,
    "True": lambda library: True,
    "7 axes": lambda library: library.numpy.ones((1, 2, 1, 3, 1, 1, 1)),
    "a scalar": lambda library: library.numpy.float32(2),
    "bools": lambda library: library.numpy.array([True, False]),
    "ints": lambda library: library.numpy.array([[1, -2], [3, 100]]),
    "complex": lambda library: library.numpy.array([1j, 2.0]),
    "a key": lambda library: library.random.key(0),
    "keys": lambda library: library.random.split(library.random.key(0), 3),
    "an escaped tracer": _escaped_tracer,
    "a deleted array": _deleted_array,
    "an array of strings": lambda library: np.array(["a", "b"]),
    "an array of objects": lambda library: np.array([None, "a"]),
    "dates": lambda library: np.array(["2020-01-01"], "datetime64[D]"),
    "a structured array": lambda library: np.zeros(2, [("a", int), ("b", float)]),
    "a long double": lambda library: np.longdouble(1),
    "a fraction": lambda library: Fraction(1, 2),
    "a shape": lambda library: library.ShapeDtypeStruct((3,), np.float32),
    "a dtype": lambda library: np.dtype("int8"),
}
