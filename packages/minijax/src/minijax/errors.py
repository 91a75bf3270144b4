"""The errors that a program can meet, by the names of `jax.errors`."""

from minijax_stage2.errors import (
    ConcretizationTypeError,
    MissingRuleError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    TypePromotionError,
    UnexpectedTracerError,
)
from minijax_stage3 import JaxprTypeError
from minijax_stage3.errors import CompileError, ExecutionError
from minijax_stage3.errors import XLAError as JaxRuntimeError


class NonConcreteBooleanIndexError(ConcretizationTypeError, IndexError):
    """An array was indexed by booleans that are not known while the function is traced."""


__all__ = [
    "CompileError",
    "ConcretizationTypeError",
    "ExecutionError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "MissingRuleError",
    "NonConcreteBooleanIndexError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TypePromotionError",
    "UnexpectedTracerError",
]
