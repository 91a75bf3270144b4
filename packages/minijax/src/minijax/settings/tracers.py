"""The classes of this library's tracers: those of the stages, with the methods of arrays.

A trace asks the types of numbers in force of which class it makes its tracers. Those of this
library answer with a subclass, so a function that it transforms sees what can do all that an Array
can.
"""

from functools import cache
from typing import Any

from minijax_stage2 import Tracer
from minijax_stage2.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)

_REMEDIES = {
    ConcretizationTypeError: "Keep it an array: the functions of minijax.numpy, such as jnp.sin, "
    "and operators take scalars and arrays alike.",
    TracerBoolConversionError: "Use jnp.where(condition, x, y), or lax.cond(condition, f, g, "
    "*operands), or let the branch depend on static values only.",
    TracerIntegerConversionError: "Pass the integer as a static argument, by static_argnums or "
    "static_argnames of jit, or close over it. To make integers of other numbers use "
    "x.astype(int).",
    TracerArrayConversionError: "Use the functions of minijax.numpy in place of numpy's, jnp.sin "
    "for np.sin, or move what needs the numbers out of the transformed function.",
}


class _OfLibrary:
    """Tracers of this library are of this class, too."""

    __slots__ = ()

    def remedy_for(self, error: type[ConcretizationTypeError]) -> str:
        """The way out of an error, in the names of this library."""
        return _REMEDIES[error]


# What tracers can do here that those of the stages cannot: functions and properties by their names.
methods_of_tracers: dict[str, Any] = {}


def _with_array_methods(cls: type[Any]) -> type[Any]:
    """The subclass of a class of tracers that has the methods of this library's arrays."""
    if issubclass(cls, _OfLibrary):
        return cls
    names = {"__slots__": (), "__module__": cls.__module__, "__doc__": cls.__doc__}
    return type(cls.__name__, (_OfLibrary, cls), names | methods_of_tracers)


with_array_methods: Any = cache(_with_array_methods)


def adopted(x: Any) -> Any:
    """A value for functions of this library, where also tracers of a stage have these methods."""
    if not isinstance(x, Tracer) or isinstance(x, _OfLibrary):
        return x
    same = object.__new__(with_array_methods(type(x)))
    for name in [name for cls in type(x).__mro__ for name in getattr(cls, "__slots__", ())]:
        setattr(same, name, getattr(x, name))
    return same
