"""Primitives as classes, under the names of `jax.experimental.hijax`.

Types of one's own, `HiType`, are not here: a class can derive from it, and making an object raises
an error.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from minijax.experimental.hijax.accumulators import GradAccum, NullAccum, ValAccum
from minijax.experimental.hijax.derived_rules import (
    bdims_at_front,
    jvp_from_lin,
    linearize_from_jvp,
    unmap_avals,
    vjp_from_jvp,
    vjp_from_lin,
    vmap_rule,
)
from minijax.experimental.hijax.primitive import HiPrim
from minijax.primitives.methods import is_undefined_primal
from minijax.runtime.refs import AbstractRef
from minijax.shardings.shaped_array import ShapedArray
from minijax_stage2 import Zero
from minijax_stage2.shaped_array import aval_rules
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


_REMEDY = "types of hijax are not in minijax. A pytree (tree_util.register_dataclass) may do."


class _Absent:
    """A class of JAX that is not here, from which classes can derive."""

    is_absent = True

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__}: {_REMEDY}")


class HiType(_Absent):
    """A type of one's own, which is not here."""


def register_hitype(cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Accept a class of values of a `HiType`, of which functions of arrays say that they have none.

    Raises:
        NotImplementedError: when a function of arrays is given such a value.
    """

    def refuse(value: Any) -> NoReturn:
        raise NotImplementedError(
            f"a value of type {cls.__name__}, which was registered by register_hitype: {_REMEDY}"
        )

    aval_rules[cls] = refuse


register_hitype.is_absent = True  # type: ignore[attr-defined]

__all__ = [
    "AbstractRef", "AbstractValue", "GradAccum", "HiPrim", "HiType", "NullAccum", "ShapedArray",
    "ValAccum", "Zero", "aval_method", "aval_property", "bdims_at_front", "instantiate_zeros",
    "is_undefined_primal", "jvp_from_lin", "linearize_from_jvp", "register_hitype", "unmap_avals",
    "vjp_from_jvp", "vjp_from_lin", "vmap_rule",
]  # fmt: skip
