"""JAX's module of types of one's own, as far as libraries need it to be imported.

Methods and properties of types, and zeros as arrays, are here. Types and primitives of one's own
(`HiType`, `HiPrim`) are not: a class can derive from them, and making an object raises an error.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from minijax.runtime.refs import AbstractRef
from minijax_stage2 import ShapedArray, Zero
from minijax_stage2.tangent import instantiate

AbstractValue = ShapedArray


class aval_method:
    """A method of a type that values of the type have, too.

    >>> from minijax.experimental import hijax
    >>> hijax.aval_method(len).fun
    <built-in function len>
    """

    def __init__(self, fun: Callable[..., Any]):
        self.fun = fun


class aval_property:
    """A property of a type that values of the type have, too.

    >>> from minijax.experimental import hijax
    >>> hijax.aval_property(len).fget
    <built-in function len>
    """

    def __init__(self, fget: Callable[[Any], Any]):
        self.fget = fget


def instantiate_zeros(tangent: Any) -> Any:
    """A tangent as an array, if it is a symbolic zero; anything else as it is.

    >>> from minijax.experimental import hijax
    >>> hijax.instantiate_zeros(2.0)
    2.0
    """
    return instantiate(tangent) if isinstance(tangent, Zero) else tangent


class _Absent:
    """A class of JAX that is not here, from which classes can derive."""

    is_absent = True

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"{type(self).__name__}: types and primitives of hijax are not in minijax. A pytree "
            "(tree_util.register_dataclass) may do, or a primitive of minijax.extend.core."
        )


class HiPrim(_Absent):
    """A primitive on types of one's own, which is not here."""


class HiType(_Absent):
    """A type of one's own, which is not here."""


def register_hitype(cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Accept a class of values of a `HiType`; as there are none of these here, do nothing."""


register_hitype.is_absent = True  # type: ignore[attr-defined]

__all__ = [
    "AbstractRef", "AbstractValue", "HiPrim", "HiType", "ShapedArray", "Zero", "aval_method",
    "aval_property", "instantiate_zeros", "register_hitype",
]  # fmt: skip
