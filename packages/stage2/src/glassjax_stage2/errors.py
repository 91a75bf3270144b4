"""The errors of arrays and tracers, and the display of values in messages.

If JAX raises a `TypeError` in one place and a `ValueError` in another for the same mistake, the
class is both.
"""

from typing import Any

from glassjax_stage1 import JAXTypeError


class MissingRuleError(NotImplementedError):
    """An interpreter has no rule for a primitive."""


class ConcretizationTypeError(JAXTypeError):
    """A concrete value was required, but the value is not known during tracing."""

    remedy = "Keep it an array: operators take scalars and arrays alike."


class TracerBoolConversionError(ConcretizationTypeError):
    """The truth value of a traced value was requested, by `if`, `while`, `and`, `or` or `not`."""

    remedy = "Use where(condition, x, y), or from stage 4 on cond."


class TracerIntegerConversionError(ConcretizationTypeError):
    """A traced value was used as a Python integer, for instance as an index or a shape."""

    remedy = "To convert use astype; else close over it, or make it static."


class TracerArrayConversionError(ConcretizationTypeError):
    """A traced value was passed to something that needs its numbers, for instance numpy."""

    remedy = "Use the functions of this package in place of numpy's."


class ShapeMismatchError(TypeError, ValueError):
    """Arrays have incompatible shapes, or not the required shape."""


class TreeMismatchError(TypeError, ValueError):
    """Two pytrees that must have the same structure differ."""


class MappedAxisError(ValueError):
    """The axes that `vmap` should map over do not exist, or differ in size."""


class TangentTypeError(TypeError, ValueError):
    """A tangent or cotangent does not have the required shape and dtype."""


class IntegerGradientError(TypeError):
    """A derivative was requested with respect to integers, or of integers."""


def shown(x: Any, length: int = 60) -> str:
    """A value for a message: on one line, cut to `length` with dots.

    >>> shown({"a": "word" * 20}, 20)
    "{'a': 'wordwordwo..."
    """
    try:
        text = " ".join(repr(x).split())
    except Exception:  # from a user's class
        text = f"<{type(x).__name__}>"
    return text if len(text) <= length else text[: length - 3] + "..."
