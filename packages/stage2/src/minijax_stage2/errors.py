"""The errors that a user of arrays and tracers can meet."""

from minijax_stage1.errors import UnexpectedTracerError


class MissingRuleError(NotImplementedError):
    """An interpreter has no rule for a primitive."""


class ConcretizationTypeError(TypeError):
    """A concrete value was needed where the value is not known while the function is traced."""


class TypePromotionError(ValueError):
    """Operands have dtypes that do not meet by themselves."""


class TracerBoolConversionError(ConcretizationTypeError):
    """The truth of a traced value was asked for, by `if`, `while`, `and`, `or` or `not`."""


class TracerIntegerConversionError(ConcretizationTypeError):
    """A traced value was used as a Python integer, for instance as an index or a shape."""


class TracerArrayConversionError(ConcretizationTypeError):
    """A traced value was handed to something that needs its numbers, for instance numpy."""


__all__ = [
    "ConcretizationTypeError",
    "MissingRuleError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TypePromotionError",
    "UnexpectedTracerError",
]
